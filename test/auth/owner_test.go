package auth_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// AUTH-01: somebody with a good token of their own asks for what is another's, by its
// chat, by its run, and by both mixed with their own. Each answer is the one for what does
// not exist, and nothing leaks by what is live, by errors, by snapshots or by numbers.
// (No chat is ever shared, so that none can cease to be while it is watched: a credential
// that is withdrawn is in expiry_test.go.)
func TestAUTH01OfAnothersRunNothingIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, mallory := range []who{bob, elsewhere} {
		victim, own := w.owned(ann), w.owned(mallory)
		nobodys := unknown()
		token := w.token(mallory)
		for _, c := range []struct {
			method, path string
			body         func(target) string
		}{
			{"POST", "/chat/live", func(t target) string { return harness.Live(t.chat) }},
			{"POST", "/chat/live", func(t target) string { return harness.Live(t.chat, "run_id", t.run, "after_seq", 0) }},
			{"POST", "/chat/live", func(t target) string { return harness.Live(t.chat, "wait_ms", 1) }},
			{"POST", "/chat/stop", func(t target) string { return body("chat_id", t.chat, "run_id", t.run) }},
			{"POST", "/chat/stop", func(t target) string { return body("chat_id", own.chat, "run_id", t.run) }},
			{"POST", "/chat/stop", func(t target) string { return body("chat_id", t.chat, "run_id", own.run) }},
			{"POST", "/chat/stop", func(t target) string { return body("chat_id", t.chat, "client_token", "x") }},
			{"POST", "/chat/answer", func(t target) string { return reply(t.chat, t.run) }},
			{"POST", "/chat/answer", func(t target) string { return reply(own.chat, t.run) }},
			{"POST", "/chat/answer", func(t target) string { return reply(t.chat, own.run) }},
			{"GET", "/chat/live?chat_id=CHAT&run_id=RUN", nil},
			{"GET", "/runs/RUN", nil},
			{"GET", "/runs/RUN/snapshot", nil},
			{"GET", "/chat/CHAT/session", nil},
			{"GET", "/chat/CHAT/history", nil},
		} {
			ask := func(t target) answer {
				in := ""
				if c.body != nil {
					in = c.body(t)
				}
				return w.do(token, c.method, strings.NewReplacer("RUN", t.run, "CHAT", t.chat).Replace(c.path), in)
			}
			foreign, missing := ask(victim), ask(nobodys)
			require.Equal(t, missing.status, foreign.status, "%s %s", c.method, c.path)
			require.Equal(t, nobodys.hide(missing.body), victim.hide(foreign.body), "%s %s", c.method, c.path)
			for _, name := range []string{"Content-Type", "Cache-Control", "Etag", "Rejoin-Run-Id"} {
				require.Equal(t, missing.header.Get(name), foreign.header.Get(name), "%s %s: %s", c.method, c.path, name)
			}
		}
		// Their own chat with the victim's run as the cursor is their own chat.
		a := w.do(token, http.MethodPost, "/chat/live", harness.Live(own.chat, "run_id", victim.run, "after_seq", 0))
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, own.run, a.header.Get("Rejoin-Run-Id"))
		require.Equal(t, []string{own.run}, w.active(mallory))
		w.unharmed(victim)

		// A resume token goes no further than its run: another's does not help, nor one's own.
		resume := w.resume(mallory, own)
		for _, q := range []string{"chat_id=" + victim.chat, "chat_id=" + victim.chat + "&run_id=" + victim.run, "chat_id=" + own.chat + "&run_id=" + victim.run} {
			require.Equal(t, http.StatusNoContent, w.do("", http.MethodGet, "/chat/live?"+q+"&resume_token="+url.QueryEscape(resume), "").status, q)
			require.Equal(t, http.StatusNoContent, w.do(resume, http.MethodGet, "/chat/live?"+q, "").status, q)
		}
		for _, b := range []string{harness.Live(victim.chat), harness.Live(victim.chat, "run_id", victim.run), harness.Live(victim.chat, "run_id", own.run),
			harness.Live(own.chat, "run_id", victim.run)} {
			require.Equal(t, http.StatusNoContent, w.do(resume, http.MethodPost, "/chat/live", b).status, b)
		}
		numbers := w.do("", http.MethodGet, "/metrics", "").body
		for _, secret := range []string{victim.run, victim.chat, own.run, own.chat, "acme", "globex"} {
			require.NotContains(t, numbers, secret)
		}
	}
}

func reply(chat, run string) string {
	return body("chat_id", chat, "run_id", run, "request_id", "q", "outcome", map[string]string{"outcome": "selected", "optionId": "yes"})
}

// OPS-03: who calls, and of which tenant, with what credential, is in no number, and the
// number of series stays as it is however many they are.
func TestOPS03TenantsAndUsersMakeNoSeries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	const word = "zebra"
	everything := func(i int) {
		by := who{fmt.Sprint(word, "-tenant-", i), fmt.Sprint(word, "-user-", i), "observer"}
		run := w.owned(by)
		good, bad := w.token(by), w.sign(newKey(fmt.Sprint(word, "-key-", i)), claims(by, nil))
		resume := w.resume(by, run)
		for _, token := range []string{good, bad, resume, ""} {
			w.do(token, http.MethodPost, "/chat/live", harness.Live(run.chat))
			w.do(token, http.MethodGet, "/runs/"+run.run, "")
			w.do(token, http.MethodGet, "/runs/active", "")
		}
		w.becomes(by, w.send(by, "sent", "hi"), "ended")
		admin := w.token(who{by.tenant, by.user, "admin"})
		for _, percent := range []int{100, 0} {
			w.want(http.StatusOK, admin, http.MethodPut, "/admin/switch", body("percent", percent, "reason", word), nil)
		}
	}
	numbers := func() (text string, series []string) {
		text = w.do("", http.MethodGet, "/metrics", "").body
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				series = append(series, line[:strings.LastIndexByte(line, ' ')])
			}
		}
		return text, series
	}
	everything(0)
	numbers() // asking is counted, too
	_, before := numbers()
	for i := range 25 {
		everything(i + 1)
	}
	text, after := numbers()
	require.ElementsMatch(t, before, after)
	require.Less(t, len(after), 500)
	require.NotContains(t, text, word)
}
