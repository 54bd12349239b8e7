package edge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

const page = "https://app.example.com"

// crossing is a relay that pages of some origins may use.
func crossing(t *testing.T, origins ...string) (*harness.Fabric, *harness.Relay) {
	t.Helper()
	cfg := harness.RelayConfig{}
	cfg.Relay.Origins, cfg.Relay.MaxObservers = origins, 1
	cfg.Relay.ForwardHeaders = []string{"X-Tenant-Hint"}
	return fresh(t, cfg)
}

// A page can read every answer, whatever its status: it could not tell a 404 from a
// network that is down otherwise, and would come back for ever.
func TestPROXY03_EveryAnswerCanBeRead(t *testing.T) {
	t.Parallel()
	f, r := crossing(t, "https://other.example", page)
	client := browser(t)
	run := f.Start(r.Producer, "c")
	f.Publish(run, 1, 3)
	runs := r.URL + "/runs/" + string(run.ID())
	tag := ask(t, client, http.MethodGet, runs+"/snapshot", "").Header.Get("ETag")
	nobody := strings.Replace(runs, string(run.ID())[2:6], "zzzz", 1)
	for _, c := range []struct {
		status             int
		method, path, body string
		header             string
	}{
		{200, "GET", r.URL + "/readyz", "", ""},
		{200, "GET", runs, "", ""},
		{200, "POST", r.URL + "/chat/live", harness.Live("c"), ""},
		{200, "GET", r.URL + "/chat/live?chat_id=c", "", ""},
		{201, "POST", r.URL + "/runs", `{"chat_id":"d"}`, ""},
		{202, "POST", r.URL + "/chat/send", `{"chat_id":"e","input":{"text":"hi"}}`, ""},
		{204, "POST", r.URL + "/chat/live", harness.Live("idle"), ""},
		{204, "POST", runs + "/heartbeat", "", ""},
		{304, "GET", runs + "/snapshot", "", tag},
		{400, "POST", r.URL + "/chat/live", "{}", ""},
		{400, "POST", r.URL + "/runs", "{}", ""},
		{400, "POST", runs + "/events", "no JSON", ""},
		{404, "GET", r.URL + "/nowhere", "", ""},
		{404, "GET", nobody, "", ""},
		{404, "POST", nobody + "/end", "{}", ""},
		{405, "GET", r.URL + "/chat/send", "", ""},
		{405, "PUT", r.URL + "/runs", "", ""},
		{409, "POST", r.URL + "/runs", `{"chat_id":"c","on_active":"reject"}`, ""},
		{413, "POST", r.URL + "/chat/live", harness.Live("c") + strings.Repeat(" ", 64<<10), ""},
		{503, "POST", r.URL + "/chat/live", harness.Live("c"), ""},
	} {
		if c.status == http.StatusServiceUnavailable { // the one stream that there may be is open
			w := watch(t, client, http.MethodPost, r.URL+"/chat/live", harness.Live("c"))
			defer w.resp.Body.Close()
		}
		for origin, allowed := range map[string]bool{page: true, "https://evil.example": false, "null": false, page + ".evil": false, "http://app.example.com": false, "": false} {
			if c.status == http.StatusAccepted && !allowed || c.status == http.StatusCreated && !allowed {
				continue // once will do
			}
			header := []string{"Origin", origin}
			if origin == "" {
				header = nil
			}
			if c.header != "" {
				header = append(header, "If-None-Match", c.header)
			}
			what := fmt.Sprintf("%s %s from %q", c.method, c.path, origin)
			resp := ask(t, client, c.method, c.path, c.body, header...)
			require.Equal(t, c.status, resp.StatusCode, what)
			require.Contains(t, strings.Join(resp.Header.Values("Vary"), ","), "Origin", what)
			if allowed {
				require.Equal(t, []string{page}, resp.Header.Values("Access-Control-Allow-Origin"), what)
				require.Equal(t, "true", resp.Header.Get("Access-Control-Allow-Credentials"), what)
				for _, name := range []string{"Rejoin-Run-Id", "Etag", "Retry-After", "Location", "Www-Authenticate"} {
					require.Contains(t, resp.Header.Get("Access-Control-Expose-Headers"), name, what)
				}
			} else {
				for name := range resp.Header {
					require.NotContains(t, name, "Access-Control", what)
				}
			}
			resp.Body.Close()
			harness.Eventually(t, "the place is free", func() bool {
				return c.status == http.StatusServiceUnavailable || r.Number("rejoin_observers") == 0
			})
		}
	}
}

// preflight asks whether a page may do what it is about to.
func preflight(t *testing.T, url, origin, method, headers string) *http.Response {
	t.Helper()
	h := []string{"Origin", origin, "Access-Control-Request-Method", method}
	if headers != "" {
		h = append(h, "Access-Control-Request-Headers", headers)
	}
	resp := ask(t, browser(t), http.MethodOptions, url, "", h...)
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Contains(t, strings.Join(resp.Header.Values("Vary"), ","), "Origin")
	require.Empty(t, all(t, resp))
	return resp
}

// Whatever header brings a cursor or a token back is allowed, or the first request
// would work and every later one fail.
func TestPROXY03_Preflight(t *testing.T) {
	t.Parallel()
	_, r := crossing(t, page, "https://*.pages.example.com", "http://localhost:5173")
	all := "authorization,content-type,if-none-match,last-event-id,rejoin-first-seq,traceparent,tracestate,x-tenant-hint"
	for _, origin := range []string{page, "https://pr-7.pages.example.com", "https://a.b.pages.example.com", "http://localhost:5173"} {
		for _, path := range []string{"/chat/live", "/chat/send", "/runs/x/events", "/runs/x/snapshot", "/nowhere"} {
			for _, method := range []string{"GET", "POST", "PUT"} {
				resp := preflight(t, r.URL+path, origin, method, all)
				require.Equal(t, origin, resp.Header.Get("Access-Control-Allow-Origin"))
				require.Equal(t, method, resp.Header.Get("Access-Control-Allow-Methods"))
				require.Equal(t, all, resp.Header.Get("Access-Control-Allow-Headers"))
				require.Equal(t, "7200", resp.Header.Get("Access-Control-Max-Age"))
				require.Equal(t, "true", resp.Header.Get("Access-Control-Allow-Credentials"))
			}
		}
	}
	refused := func(resp *http.Response) {
		t.Helper()
		for name := range resp.Header {
			require.NotContains(t, name, "Access-Control")
		}
	}
	for _, origin := range []string{"https://evil.example", "null", "https://pages.example.com", "https://evilpages.example.com",
		"http://pr-7.pages.example.com", "https://pr-7.pages.example.com:8443", "http://localhost", "http://localhost:51730", page + "/"} {
		refused(preflight(t, r.URL+"/chat/live", origin, "POST", all))
	}
	refused(preflight(t, r.URL+"/chat/live", page, "DELETE", ""))
	refused(preflight(t, r.URL+"/chat/live", page, "POST", "x-other"))
}

// Every page, when that is said, and then without what could identify its user by itself.
func TestPROXY03_AnyOriginIsWithoutCredentials(t *testing.T) {
	t.Parallel()
	_, r := crossing(t, "*")
	resp := preflight(t, r.URL+"/chat/live", "https://anyone.example", "POST", "authorization,content-type")
	require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"))
	resp = ask(t, browser(t), http.MethodGet, r.URL+"/nowhere", "", "Origin", "https://anyone.example")
	require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"))
}

// Without a list nothing is said, and no preflight is taken.
func TestPROXY03_NoOriginUnlessNamed(t *testing.T) {
	t.Parallel()
	_, r := crossing(t)
	resp := ask(t, browser(t), http.MethodOptions, r.URL+"/chat/live", "", "Origin", page, "Access-Control-Request-Method", "POST")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	resp = ask(t, browser(t), http.MethodPost, r.URL+"/chat/live", harness.Live("idle"), "Origin", page)
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
}
