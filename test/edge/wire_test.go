package edge_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// post is the head of a request on its own connection.
func post(path string, header ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + strings.Join(append(header, "\r\n"), "\r\n")
}

// Headers that lie, that are there twice, that are too many, or that break lines.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	a := attacked(t, nil)
	a.watched(t)
	client := browser(t)
	started := ask(t, client, http.MethodPost, a.URL+"/runs", `{"chat_id":"h"}`)
	events := started.Header.Get("Location") + "/events"
	require.Equal(t, http.StatusCreated, started.StatusCode)
	line := string(harness.Delta(1))
	for _, seq := range []string{"0", "-1", "+1", "1.0", "1e0", "9007199254740992", strings.Repeat("1", 5000), "1,1", "1, 2", "\"1\"", mark, "0x1", "१"} {
		resp := ask(t, client, http.MethodPost, a.URL+events, line, "Rejoin-First-Seq", seq)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, "%.40q", seq)
	}
	resp := ask(t, client, http.MethodPost, a.URL+events, line, "Rejoin-First-Seq", "1", "Rejoin-First-Seq", "1")
	require.Equal(t, http.StatusBadRequest, resp.StatusCode, "a number is given once")

	for _, header := range [][]string{
		{"Origin", mark}, {"Origin", "null"}, {"Origin", page, "Origin", "https://evil.example"}, {"Origin", strings.Repeat("x", 20<<10)},
		{"Traceparent", mark}, {"Traceparent", "00-" + strings.Repeat("0", 32) + "-" + strings.Repeat("0", 16) + "-01"}, {"Traceparent", strings.Repeat("f", 9000), "Tracestate", strings.Repeat(mark+"=1,", 500)},
		{"If-None-Match", strings.Repeat(`"x",`, 5000)}, {"If-None-Match", mark}, {"Accept", strings.Repeat("a/b,", 5000)}, {"Accept", mark + "/*;q=NaN"}, {"Accept-Encoding", "gzip;q=1e999"},
		{"Content-Type", mark + "\u2028"}, {"Content-Encoding", "gzip"}, {"Expect", "200-nothing"}, {"Range", "bytes=0-0,1-1,2-2"}, {"X-Forwarded-For", mark}, {"X-Forwarded-To-Agent", mark + "\u2028\u202e"},
		{"Cookie", strings.Repeat("a=b;", 4000)}, {"X-Http-Method-Override", "DELETE"}, {"Upgrade", "websocket", "Connection", "Upgrade"}, {"Upgrade", "h2c", "Connection", "Upgrade, HTTP2-Settings", "HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA"},
	} {
		for _, c := range []struct{ method, path, body string }{{"POST", "/chat/live", harness.Live("none")}, {"GET", "/runs/" + string(a.run.ID()) + "/snapshot", ""},
			{"POST", "/chat/send", `{"chat_id":"x","input":{"text":"x"},"on_active":"queue"}`}, {"GET", "/runs/active", ""}, {"GET", "/metrics", ""}, {"OPTIONS", "/chat/live", ""}, {"POST", "/runs/x/end", "{}"}} {
			resp := ask(t, client, c.method, a.URL+c.path, c.body, header...)
			refusedOrHarmless(t, resp.StatusCode, c.path, fmt.Sprintf(" %.80q", header))
			require.NotContains(t, resp.Header.Get("Access-Control-Allow-Origin"), mark)
			resp.Body.Close()
		}
	}

	for name, c := range map[string]struct {
		request string
		want    []int // any of them; 0 is a connection closed without an answer
	}{
		"100 KiB":             {post("/chat/live", "X-Long: "+strings.Repeat("x", 100<<10)), []int{431}},
		"many":                {post("/chat/live", strings.Repeat("X-Many: x\r\n", 8<<10)+"X-Last: x"), []int{431}},
		"a long path":         {"GET /" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{431, 414}},
		"no host":             {"GET /readyz HTTP/1.1\r\n\r\n", []int{400}},
		"two hosts":           {"GET /readyz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", []int{400}},
		"a host of its own":   {"GET /readyz HTTP/1.1\r\nHost: " + mark + "/../%00\r\nConnection: close\r\n\r\n", []int{400}},
		"an absolute target":  {"GET http://" + mark + ".example/readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{200}},
		"a name with a space": {post("/chat/live", "X Y: z", "Content-Length: 0"), []int{400}},
		"a space after it":    {post("/chat/live", "Content-Length : 2") + "{}", []int{400}},
		"a folded line":       {post("/chat/live", "X-Fold: a\r\n b", "Content-Length: 0"), []int{400}},
		"a bare CR":           {post("/chat/live", "X-Bare: a\rX-Forged: b", "Content-Length: 0"), []int{400}},
		"NUL":                 {post("/chat/live", "X-Nul: a\x00b", "Content-Length: 0"), []int{400}},
		"no HTTP":             {mark + "\n\n" + mark, []int{400}},
		"TLS":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + mark + "\r\n\r\n", []int{400}},
		"HTTP/0.9":            {"GET /readyz\r\n\r\n", []int{400}},
		"HTTP/9.9":            {"GET /readyz HTTP/9.9\r\nHost: x\r\n\r\n", []int{505, 400}},
		"a method's name":     {mark + " /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{405, 404}},
		"a path with breaks":  {"GET /runs/a\nb HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		"a path of escapes":   {"GET /runs/%0d%0aSet-Cookie:%20x=1/snapshot HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{404}},
		"dots":                {"GET /runs/../metrics/../runs/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{404}},
		"two slashes":         {"GET //runs//x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{404}},
		"a negative length":   {post("/chat/live", "Content-Length: -1"), []int{400}},
		"two lengths":         {post("/chat/live", "Content-Length: 2", "Content-Length: 3") + "{}x", []int{400}},
		"a list of lengths":   {post("/chat/live", "Content-Length: 2, 3") + "{}x", []int{400}},
		"a signed length":     {post("/chat/live", "Content-Length: +2") + "{}", []int{400}},
		"a huge length":       {post("/chat/live", "Content-Length: 99999999999999999999") + "{}", []int{400}},
		"too long a length":   {post("/chat/live", "Content-Length: 100") + "{}", []int{400, 0}},
		"too long for events": {post(events, "Content-Length: 1000") + line + "\n" + line, []int{400, 0}},
		"a chunk's extension": {post("/chat/live", "Transfer-Encoding: chunked") + "2;" + strings.Repeat("x", 64<<10) + "\r\n{}\r\n0\r\n\r\n", []int{400}},
		"a chunk's length":    {post("/chat/live", "Transfer-Encoding: chunked") + "-2\r\n{}\r\n0\r\n\r\n", []int{400}},
		"a huge chunk":        {post("/chat/live", "Transfer-Encoding: chunked") + "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n", []int{400}},
		"a trailer":           {post("/chat/live", "Transfer-Encoding: chunked", "Trailer: Authorization") + "2\r\n{}\r\n0\r\nAuthorization: Bearer " + mark + "\r\n\r\n", []int{400}},
		"an unknown coding":   {post("/chat/live", "Transfer-Encoding: gzip, chunked") + "2\r\n{}\r\n0\r\n\r\n", []int{400, 501}},
		"a coding hidden":     {post("/chat/live", "Transfer-Encoding: \x0bchunked") + "2\r\n{}\r\n0\r\n\r\n", []int{400, 501}},
		"a coding twice":      {post("/chat/live", "Transfer-Encoding: chunked", "Transfer-Encoding: identity") + "0\r\n\r\n", []int{400, 501}},
	} {
		got := answers(t, raw(t, a.URL, c.request))
		if len(got) == 0 {
			got = []int{0}
		}
		require.Len(t, got, 1, name)
		require.Contains(t, c.want, got[0], name)
	}
	a.unharmed(t)
}

// smuggled are requests that two parsers could take for one, or for two.
func smuggled(inner string) map[string]string {
	head := "POST /chat/live HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	return map[string]string{
		"CL.TE":       head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", 5+len(inner), inner),
		"TE.CL":       head + fmt.Sprintf("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(inner), inner),
		"TE.TE":       head + fmt.Sprintf("Content-Length: 4\r\nTransfer-Encoding: chunked\r\nTransfer-encoding: x\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(inner), inner),
		"space":       head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n%s", 5+len(inner), inner),
		"tab":         head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n%s", 5+len(inner), inner),
		"bare LF":     strings.ReplaceAll(head, "\r\n", "\n") + fmt.Sprintf("Content-Length: %d\nX: y\n\n%s", len(inner), inner),
		"two lengths": head + fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner),
		"GET":         "GET /readyz HTTP/1.1\r\nHost: x\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(inner), inner),
	}
}

// What is hidden in a request reaches no handler of its own through nginx: neither does
// it do anything, nor is somebody else's answer replaced by its. Without nginx a
// connection is one client's, who gains nothing by hiding what it could have asked.
func TestHostileSmuggling(t *testing.T) {
	t.Parallel()
	a := attacked(t, nil)
	a.watched(t)
	n := deployed(t, a.URL)
	inner := "POST /runs HTTP/1.1\r\nHost: x\r\nContent-Length: 25\r\n\r\n" + `{"chat_id":"` + mark + `---"}` + "     "
	for name, request := range smuggled(inner) {
		last := "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		got := answers(t, spoken(t, n.url, request+last, false))
		require.NotEmpty(t, got, name)
		require.NotContains(t, got, http.StatusCreated, name)
		// Whoever comes next over the same connections to the relay gets its own answer.
		for range 3 {
			resp := ask(t, browser(t), http.MethodGet, n.url+"/runs/"+string(a.run.ID()), "")
			require.Equal(t, http.StatusOK, resp.StatusCode, name)
			require.Contains(t, all(t, resp), string(a.run.ID()), name)
		}
	}
	body := all(t, ask(t, browser(t), http.MethodGet, a.URL+"/runs/active", "", "Accept", "application/json"))
	require.NotContains(t, body, mark, "nothing was begun")
	a.unharmed(t)
}

// Whoever sends slowly, or nothing, is answered or cut within a bounded time, on every
// route, and whether anybody wants the body or not. (A producer's open body of events is
// meant to stay open; its run's lease and the bound on runs are its limits.)
func TestHostileSlowness(t *testing.T) {
	t.Parallel()
	a := attacked(t, nil)
	a.watched(t)
	heads := map[string]string{
		"no request":      "",
		"half a line":     "GET /rea",
		"half the header": "POST /chat/live HTTP/1.1\r\nHost: x\r\nX-Slow: ",
	}
	for _, path := range []string{"/chat/live", "/chat/send", "/chat/steer-send", "/chat", "/chat/stop", "/chat/answer", "/runs", "/runs/x/end", "/runs/x/heartbeat", "/runs/x/events", "/nowhere", "/livez"} {
		heads["POST "+path] = "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
		heads["chunks "+path] = "POST " + path + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
	}
	heads["too much"] = "POST /runs HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat(" ", 70<<10)
	for _, path := range []string{"/chat/live?chat_id=none", "/runs/" + string(a.run.ID()), "/runs/" + string(a.run.ID()) + "/snapshot", "/runs/x/controls", "/runs/active", "/chat/x/history", "/chat/x/session", "/livez", "/readyz", "/metrics", "/openapi.json", "/admin/switch", "/nowhere"} {
		heads["GET "+path] = "GET " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
	}
	ended := make(chan string, len(heads))
	for name, head := range heads {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a.URL, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		_, err = io.WriteString(conn, head)
		require.NoError(t, err)
		go func() {
			_, _ = io.Copy(io.Discard, conn) // until the relay closes
			ended <- name
		}()
	}
	late := time.After(harness.Patience)
	for len(heads) > 0 {
		select {
		case name := <-ended:
			delete(heads, name)
		case <-late:
			require.FailNow(t, "the relay still waits", "%v", heads)
		}
	}
	a.unharmed(t)
}
