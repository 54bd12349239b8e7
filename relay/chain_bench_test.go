package relay_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rejoin/rejoin/relay"
)

// nowhere is a response writer that costs nothing.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}

// BenchmarkChain is what stands before a producer's handler, without net/http itself.
func BenchmarkChain(b *testing.B) {
	f := newFabric(b, func(c *relay.Config) {
		c.Producer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	})
	r := request(b.Context(), b, http.MethodPost, f.url+"/runs/0-x/events", strings.Repeat("x", 200))
	w := nowhere{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		f.relay.Handler().ServeHTTP(w, r)
	}
}
