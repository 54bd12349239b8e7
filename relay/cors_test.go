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

// Who has no credential, or not the right one, can read that, and asks for permission to
// send one without having it.
func TestPROXY03_RefusalsCanBeReadToo(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	f := newFabric(t, func(c *relay.Config) { c.Auth, c.Origins = tokens{}, []string{app} })
	for token, status := range map[string]int{"": 401, "expired": 401, "away": 503, "t/u/admin": 403, "t/u/observer": 204} {
		header := []string{"Origin", app}
		if token != "" {
			header = append(header, as(token)...)
		}
		a := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, header...)
		require.Equal(t, status, a.status, "%q: %s", token, a.body)
		require.Equal(t, app, a.header.Get("Access-Control-Allow-Origin"), token)
		if status == http.StatusUnauthorized {
			require.Contains(t, a.header.Get("Access-Control-Expose-Headers"), http.CanonicalHeaderKey("WWW-Authenticate"))
		}
	}
	a := f.do(http.MethodOptions, "/chat/live", "", "Origin", app, "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type,last-event-id")
	require.Equal(t, http.StatusNoContent, a.status, a.body)
	require.Equal(t, app, a.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, strings.ToLower(a.header.Get("Access-Control-Allow-Headers")), "authorization")
}
