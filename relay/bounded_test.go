package relay_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/relay"
)

// A producer's request is told when its credential is over: when it expires, and when its
// key is withdrawn.
func TestAProducersRequestIsToldWhenItsCredentialIsOver(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*passing{"expired": {life: 3 * time.Second}, "withdrawn": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{})
			f := newFabric(t, func(c *relay.Config) {
				c.Auth = p
				c.Producer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					close(begun)
					select {
					case <-auth.Over(r.Context()):
						w.WriteHeader(http.StatusNoContent)
					case <-r.Context().Done():
					case <-time.After(patience):
					}
				})
			})
			go func() {
				<-begun
				p.gone.Store(name == "withdrawn")
			}()
			a := f.do(http.MethodPost, "/runs/x/events", "", as("t/p/producer")...)
			require.Equal(t, http.StatusNoContent, a.status)
		})
	}
}
