package demo_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay/demo"
)

func ask(t *testing.T, h http.Handler, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	resp := w.Result()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func page() http.Handler { return demo.Handler(demo.Config{}) }

// What the page may load and who may show it is said with every answer, errors too.
func TestEveryAnswerHoldsThePageToItsOrigin(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/demo", "/demo/demo.js", "/demo/demo.css", "/demo/setup", "/demo/missing"} {
		resp, _ := ask(t, page(), http.MethodGet, path)
		h := resp.Header
		require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", h.Get("Content-Security-Policy"), path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "same-origin", h.Get("Referrer-Policy"), path)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), path)
	}
}

func TestFilesHaveTheirTypesAndAreAskedForAgainOnlyWhenTheyChange(t *testing.T) {
	t.Parallel()
	for path, mediaType := range map[string]string{
		"/demo": "text/html; charset=utf-8", "/demo/demo.js": "text/javascript; charset=utf-8",
		"/demo/demo.css": "text/css; charset=utf-8", "/demo/icon.svg": "image/svg+xml",
	} {
		resp, body := ask(t, page(), http.MethodGet, path)
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.Equal(t, mediaType, resp.Header.Get("Content-Type"))
		require.Equal(t, "no-cache", resp.Header.Get("Cache-Control"))
		require.NotEmpty(t, body)
		tag := resp.Header.Get("ETag")
		resp, body = ask(t, page(), http.MethodGet, path, "If-None-Match", tag)
		require.Equal(t, http.StatusNotModified, resp.StatusCode)
		require.Empty(t, body)
		resp, body = ask(t, page(), http.MethodHead, path)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Empty(t, body)
	}
}

// The page names no file that is not embedded, nothing that its policy would refuse, and
// nothing elsewhere; and every file that is embedded is used.
func TestThePageIsComplete(t *testing.T) {
	t.Parallel()
	_, html := ask(t, page(), http.MethodGet, "/demo")
	used := map[string]bool{"index.html": true}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if strings.HasPrefix(m[1], "#") {
			continue
		}
		require.True(t, strings.HasPrefix(m[1], "/demo/"), "%s is of another place", m[1])
		resp, _ := ask(t, page(), http.MethodGet, m[1])
		require.Equal(t, http.StatusOK, resp.StatusCode, m[1])
		used[strings.TrimPrefix(m[1], "/demo/")] = true
	}
	require.NotRegexp(t, `<style|\sstyle=|\son[a-z]+=|<script>|javascript:|https?:`, html)
	entries, err := fs.ReadDir(os.DirFS("dist"), ".")
	require.NoError(t, err)
	for _, e := range entries {
		require.True(t, used[e.Name()], "dist/%s is not used", e.Name())
	}
	for _, name := range []string{"demo.js", "demo.css"} {
		_, body := ask(t, page(), http.MethodGet, "/demo/"+name)
		require.NotRegexp(t, `\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|sourceMappingURL)\b|@import|url\((?:["']?https?:)`, body, name)
	}
}

func TestOtherPathsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/demo/index.html", "/demo/missing.js", "/demo/kill", "/demo/..%2findex.html", "/demo/a/b"} {
		resp, _ := ask(t, page(), http.MethodGet, path)
		require.Equal(t, http.StatusNotFound, resp.StatusCode, path)
	}
	resp, _ := ask(t, page(), http.MethodGet, "/demo/?chat=a%20b")
	require.Equal(t, http.StatusPermanentRedirect, resp.StatusCode)
	require.Equal(t, "/demo?chat=a%20b", resp.Header.Get("Location"))
}

func TestThePageIsToldWhatItCanDo(t *testing.T) {
	t.Parallel()
	_, body := ask(t, page(), http.MethodGet, "/demo/setup")
	require.JSONEq(t, `{"tokens":false,"kill":false,"agent":false,"lease_ms":0}`, body)
	h := demo.Handler(demo.Config{Tokens: true, Agent: true, Lease: 15 * time.Second, Kill: func() demo.Death { return demo.Death{} }})
	_, body = ask(t, h, http.MethodGet, "/demo/setup")
	require.JSONEq(t, `{"tokens":true,"kill":true,"agent":true,"lease_ms":15000}`, body)
}

func TestThePageKillsAndNobodyElse(t *testing.T) {
	t.Parallel()
	kills := 0
	h := demo.Handler(demo.Config{Kill: func() demo.Death { kills++; return demo.Death{Lease: 15 * time.Second, Back: 2 * time.Second} }})
	for _, header := range [][]string{
		{"Origin", "https://elsewhere.example"},
		{"Origin", "null"},
		{"Origin", "http://example.com", "Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Origin", "http://example.com:81"},
	} {
		resp, body := ask(t, h, http.MethodPost, "/demo/kill", header...)
		require.Equal(t, http.StatusForbidden, resp.StatusCode, header)
		require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
		require.Contains(t, body, "from the demo's own page only")
	}
	require.Zero(t, kills)
	for _, header := range [][]string{nil, {"Origin", "http://example.com"}, {"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"}} {
		resp, body := ask(t, h, http.MethodPost, "/demo/kill", header...)
		require.Equal(t, http.StatusAccepted, resp.StatusCode, header)
		require.JSONEq(t, `{"status":"killed","lease_ms":15000,"back_ms":2000}`, body)
	}
	require.Equal(t, 3, kills)
	resp, body := ask(t, page(), http.MethodPost, "/demo/kill")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	require.Contains(t, body, "no producer in this process")
}
