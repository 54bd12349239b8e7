package edge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// hostileIDs are names that mean something to somebody on the way.
func hostileIDs() []string {
	return []string{"*", ">", "a.b", "$JS.API.>", "_INBOX.>", "..", ".", "../../metrics", "a/b", "a%2fb", "%00", "%", "'; DROP TABLE runs; --",
		"\xff\xfe", "\xed\xa0\x80", "a\xc3", strings.Repeat("x", 64<<10), strings.Repeat("\u2028", 80), "0-" + strings.Repeat("0", 26), "-1", "{run_id}", "active", "\U0010ffff"}
}

// broken are names with line breaks and the like, n of them in each.
func broken(n int) []string {
	var ids []string
	for some := range slices.Chunk(breaks, n) {
		ids = append(ids, mark+strings.Join(some, mark)+mark)
	}
	return ids
}

// quoted is a JSON string with the very bytes, valid or not.
func quoted(s string) string {
	b, _ := json.Marshal(strings.ToValidUTF8(s, "\x01"))
	return strings.ReplaceAll(string(b), `\u0001`, string([]byte{0xff}))
}

// Every route with every such name, wherever a route takes one.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	a := attacked(t, nil)
	a.watched(t)
	client := browser(t)
	send := func(method, path, body string, header ...string) {
		t.Helper()
		resp := ask(t, client, method, a.URL+path, body, header...)
		refusedOrHarmless(t, resp.StatusCode, method, " ", path, " ", body)
		resp.Body.Close()
	}
	for _, id := range append(hostileIDs(), broken(1)...) {
		if len(id) <= 4<<10 {
			p, q := url.PathEscape(id), url.QueryEscape(id)
			for _, rest := range []string{"", "/snapshot", "/controls"} {
				send("GET", "/runs/"+p+rest, "")
			}
			for _, rest := range []string{"/events", "/heartbeat", "/end"} {
				send("POST", "/runs/"+p+rest, "{}")
			}
			send("GET", "/chat/"+p+"/history", "")
			send("GET", "/chat/"+p+"/session", "")
			send("GET", "/chat/"+p+"/history?limit="+q, "")
			for _, query := range []string{"chat_id=" + q, "chat_id=" + bystander + "&run_id=" + q, "chat_id=none&synced=" + q, "chat_id=none&wait_ms=" + q,
				"chat_id=none&protocol=" + q, "chat_id=none&" + q + "=" + q, "chat_id=none&resume_token=" + q} {
				send("GET", "/chat/live?"+query, "")
			}
			send(http.MethodPatch, "/"+p, "")
			send(http.MethodGet, "/"+p+"/"+p, "")
		}
	}
	for _, id := range append(hostileIDs(), broken(6)...) {
		j := quoted(id)
		for path, bodies := range map[string][]string{
			"/chat/live":       {`{"chat_id":%s}`, `{"chat_id":%s,"protocol":1}`, `{"threadId":%s}`, `{"chat_id":"none","run_id":%s,"protocol":1}`, `{"chat_id":"none","protocol":%s}`, `{%s:%[1]s}`},
			"/chat/send":       {`{"chat_id":%s,"input":{"text":"x"}}`, `{"chat_id":"n","input":{"text":%s},"kind":%[1]s,"client_token":%[1]s,"on_active":"queue"}`, `{"chat_id":"n","input":{"text":"x"},"on_active":%s}`, `{"threadId":%s,"messages":[]}`},
			"/chat/steer-send": {`{"chat_id":%s,"input":{"text":"x"},"kind":%[1]s}`},
			"/chat/stop":       {`{"chat_id":%s,"run_id":%[1]s}`, `{"chat_id":%s,"client_token":%[1]s}`, `{"chat_id":"` + bystander + `","run_id":%s,"reason":%[1]s}`},
			"/chat/answer":     {`{"chat_id":%s,"run_id":%[1]s,"request_id":%[1]s,"outcome":{"x":%[1]s}}`},
			"/runs":            {`{"chat_id":%s}`, `{"chat_id":%s,"owner":%[1]s,"kind":%[1]s,"client_token":%[1]s}`, `{"chat_id":"n","on_active":%s}`},
			"/chat":            {`{"chat_id":"n","input":{"text":"x"},"kind":%s,"on_active":%[1]s}`},
		} {
			for _, body := range bodies {
				send("POST", path, fmt.Sprintf(body, j))
			}
		}
		send("PUT", "/admin/switch", fmt.Sprintf(`{"percent":0,"tenant":%s,"reason":%[1]s}`, j))
	}
	// What came of it is told on these, and each is what it should be.
	for _, path := range []string{"/runs/active", "/admin/switch"} {
		body := all(t, ask(t, client, http.MethodGet, a.URL+path, "", "Accept", "application/json"))
		require.True(t, json.Valid([]byte(body)), path)
	}
	a.unharmed(t)
}

// Bodies that are no JSON, or too much of it.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	a := attacked(t, nil)
	a.watched(t)
	client := browser(t)
	deep := strings.Repeat(`{"a":[`, 5_000) + strings.Repeat(`]}`, 5_000)
	for path, good := range map[string]string{
		"/chat/live": harness.Live("none"), "/chat/send": `{"chat_id":"b","input":{"text":"x"}}`, "/chat/steer-send": `{"chat_id":"b","input":{"text":"x"}}`,
		"/chat": `{"chat_id":"b"}`, "/chat/stop": `{"chat_id":"b","run_id":"x"}`, "/chat/answer": `{"chat_id":"b","run_id":"x","request_id":"x","outcome":{}}`,
		"/runs": `{"chat_id":"b"}`, "/runs/x/events": `{"type":"X"}`, "/runs/x/heartbeat": "", "/runs/x/end": "{}", "/admin/switch": `{"percent":0}`,
	} {
		method := http.MethodPost
		if path == "/admin/switch" {
			method = http.MethodPut
		}
		for _, body := range []string{"", " ", "\n\n\n", "null", "[]", "7", `"x"`, "true", "NaN", "{", "}", "{}{}", good + "x", good + good, "\ufeff" + good, "\x00", good + "\x00",
			"{'chat_id':'b'}", "chat_id=b&input=x", "<xml/>", strings.Repeat("[", 60_000), deep, `{"chat_id":` + deep + `}`, `{"x":` + deep + `,"chat_id":"none","protocol":1}`,
			`{"chat_id":1e999}`, `{"chat_id":"none","wait_ms":1e999,"protocol":1}`, `{"chat_id":"none","after_seq":` + strings.Repeat("9", 40_000) + `}`, `{"percent":1e2}`, `{"percent":-0}`,
			`{"chat_id":"none","chat_id":"none","protocol":1,"protocol":1}`, `{"chat_id":"none","CHAT_ID":"other","Chat_id":7}`, `{"__proto__":{"x":1},"constructor":1}`,
			`{"chat_id":"\ud800"}`, `{"chat_id":"none","input":{"text":"\udc00"}}`, "{\"chat_id\":\"\xc3\x28\"}", `{"` + strings.Repeat("k", 60_000) + `":1}`,
			"{" + strings.Repeat(`"`+mark+`":1,`, 4_000) + `"x":1}`, mark + "\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n"} {
			resp := ask(t, client, method, a.URL+path, body)
			refusedOrHarmless(t, resp.StatusCode, path, fmt.Sprintf(" %.100q", body))
			resp.Body.Close()
		}
	}
	a.unharmed(t)
}

// Cursors that no relay gave out, and credentials that nobody did.
func TestHostileCursorsAndTokens(t *testing.T) {
	t.Parallel()
	a := attacked(t, func(c *harness.RelayConfig) { c.Relay.Auth = roles{} })
	observer := []string{"Authorization", "Bearer observer"}
	producers := []string{"Authorization", "Bearer producer"}
	// What is watched is not this user's: it is written beside the relay.
	resp := ask(t, browser(t), http.MethodPost, a.URL+"/runs", `{"chat_id":"mine","owner":"u"}`, producers...)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	var mine struct {
		RunID string `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(all(t, resp)), &mine))
	events := func(from, to uint64) {
		var lines strings.Builder
		for i := from; i <= to; i++ {
			lines.Write(harness.Delta(i))
			lines.WriteByte('\n')
		}
		resp := ask(t, browser(t), http.MethodPost, a.URL+"/runs/"+mine.RunID+"/events", lines.String(), producers...)
		require.Equal(t, http.StatusOK, resp.StatusCode, all(t, resp))
	}
	events(1, 3)
	client := browser(t)
	for _, seq := range []string{"-1", "-0", "1.5", "1e1", "9007199254740992", "18446744073709551616", strings.Repeat("9", 1000), "0x1", "٣", "NaN", "null", "true", " 1", "1 ", "+1", "1_0", `"1"`, "[1]", mark} {
		for _, run := range []string{mine.RunID, string(a.run.ID()), "x", "*", "..", mark} {
			resp := ask(t, client, http.MethodPost, a.URL+"/chat/live", fmt.Sprintf(`{"chat_id":"mine","protocol":1,"run_id":%q,"after_seq":%s}`, run, seq), observer...)
			refusedOrHarmless(t, resp.StatusCode, run, seq)
			resp.Body.Close()
			resp = ask(t, client, http.MethodGet, a.URL+"/chat/live?chat_id=mine&run_id="+url.QueryEscape(run)+"&after_seq="+url.QueryEscape(seq), "", observer...)
			refusedOrHarmless(t, resp.StatusCode, run, seq)
			resp.Body.Close()
			resp = ask(t, client, http.MethodGet, a.URL+"/chat/live?chat_id=mine", "", append([]string{"Last-Event-ID", run + ":" + seq}, observer...)...)
			refusedOrHarmless(t, resp.StatusCode, run, seq)
			resp.Body.Close()
		}
	}
	for _, id := range []string{"", ":", "::", ":1", mine.RunID, mine.RunID + ":", mine.RunID + ":3:3", strings.Repeat("a:1,", 500), mark + ":\u2028"} {
		resp := ask(t, client, http.MethodGet, a.URL+"/chat/live?chat_id=mine", "", append([]string{"Last-Event-ID", id}, observer...)...)
		refusedOrHarmless(t, resp.StatusCode, id)
		resp.Body.Close()
		resp = ask(t, client, http.MethodGet, a.URL+"/runs/"+mine.RunID+"/controls", "", append([]string{"Last-Event-ID", id}, producers...)...)
		refusedOrHarmless(t, resp.StatusCode, id)
		resp.Body.Close()
	}
	secret := mark + "-s3cret"
	for _, token := range []string{"Bearer " + secret, "bearer " + secret, "Basic " + secret, secret, "Bearer", "Bearer  ", "Bearer a.b.c", "Bearer " + strings.Repeat("x", 20<<10),
		"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1In0.", "Bearer observer producer", "Bearer observer\tx", "Digest username=\"" + secret + "\"", "Bearer \xff\xfe"} {
		resp := ask(t, client, http.MethodGet, a.URL+"/runs/"+mine.RunID, "", "Authorization", token)
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "%.40q", token)
		require.NotContains(t, all(t, resp)+fmt.Sprint(resp.Header), secret)
	}
	for _, token := range []string{secret, "observer", "a.b.c", strings.Repeat("x", 9<<10), "%0d%0a" + secret, "%00"} {
		resp := ask(t, client, http.MethodGet, a.URL+"/chat/live?chat_id=mine&resume_token="+token, "")
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "%.40q", token)
		require.NotContains(t, all(t, resp)+fmt.Sprint(resp.Header), secret)
	}
	resp = ask(t, client, http.MethodGet, a.URL+"/runs/"+mine.RunID, "", "Authorization", "Bearer observer", "Authorization", "Bearer producer")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "two credentials are none")
	for _, log := range []*kept{a.text, a.json} {
		require.NotContains(t, log.String(), secret)
	}
	// It still serves, and exactly.
	events(4, 6)
	w := watch(t, client, http.MethodPost, a.URL+"/chat/live", harness.Live("mine", "run_id", mine.RunID, "after_seq", 3), observer...)
	o := harness.At("", 3)
	require.NoError(t, o.Until(t.Context(), w, 6))
	require.NoError(t, o.Holds(6))
	a.goodText(t)
	a.goodJSON(t)
}
