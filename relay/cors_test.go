package relay_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
)

func TestOriginsAreCheckedBeforeAnythingIsServed(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://example.com", "http://localhost:5173", "https://*.example.com", "https://*.example.com:8443",
		"https://xn--bcher-kva.example", "http://[::1]:8080", "http://10.0.0.1", "capacitor://localhost", "*"} {
		require.NoError(t, relay.CheckOrigin(good), good)
	}
	for _, bad := range []string{"", "null", "example.com", "https://", "https://example.com/", "https://example.com/path", "https://example.com?x",
		"https://example.com#x", "https://user@example.com", "https://example.com:", "https://example.com:port", "https://*", "https://*.com", "https://*.*.example.com",
		"https://a.*.example.com", "https://*example.com", "*.example.com", "https://bücher.example", "https://a b", "https://a\nb", "//example.com", "https:/example.com",
		"https://example.com,https://other.example", strings.Repeat("x", 1000)} {
		require.ErrorContains(t, relay.CheckOrigin(bad), "is no origin; allowed are", "%q", bad)
	}
}

func TestEveryOriginExcludesOthers(t *testing.T) {
	t.Parallel()
	require.NoError(t, relay.CheckOrigins(nil))
	require.NoError(t, relay.CheckOrigins([]string{"*"}))
	require.ErrorIs(t, relay.CheckOrigins([]string{"https://example.com", "*"}), relay.ErrOrigins)
	require.ErrorIs(t, relay.CheckOrigins([]string{"null"}), relay.ErrOrigins)
}

// A panic is answered like everything else, and so is what a producer's handler says.
func TestPROXY03_FaultsCanBeReadToo(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) {
		c.Origins = []string{"https://app.example.com"}
		c.Producer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/end") {
				panic("a fault")
			}
			w.WriteHeader(http.StatusTooManyRequests)
		})
	})
	for path, status := range map[string]int{"/runs/x/end": 500, "/runs/x/heartbeat": 429} {
		a := f.do(http.MethodPost, path, "", "Origin", "https://app.example.com")
		require.Equal(t, status, a.status)
		require.Equal(t, "https://app.example.com", a.header.Get("Access-Control-Allow-Origin"))
	}
}
