package agui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// A chat whose client sends nothing but texts: the agent is told all that was said before, with ids that do not change,
// and the state; a retry and an edit take the last turn's place.
func TestTextsComeWithWhatWasSaidBefore(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(a *asked) {
		if bytes.Contains(a.Messages, []byte("slow")) {
			a.hold(nil)
		}
		a.say(a.answer("", append(says(fmt.Sprint("m", a.n), fmt.Sprint("answer ", a.n)),
			fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/n%d","value":true}]}`, a.n))...))
	})
	c := newChain(t, u.url)
	send := func(text, more string) subjects.RunID {
		id := c.post(http.StatusAccepted, "/chat/send", `{"chat_id":"a b/é","input":{"text":%q}%s}`, text, more).RunID
		require.Equal(t, subjects.ReasonDone, c.over(id).End.Reason)
		return id
	}
	first, second := send("one", ""), send("two", "")
	retried := send("two", `,"kind":"retry"`)
	edited := send("2", `,"kind":"edit"`)
	last := send("three", "")
	// One that is still being answered is no turn that was saved: what is said instead takes nobody else's place.
	slow := c.post(http.StatusAccepted, "/chat/send", `{"chat_id":"a b/é","input":{"text":"slow"}}`).RunID
	harness.Eventually(t, "the agent is asked", func() bool { return len(u.requests()) == 6 })
	instead := send("fast", `,"kind":"edit"`)
	require.True(t, c.over(slow).End.Superseded)
	c.over(c.post(http.StatusAccepted, "/chat/send", `{"chat_id":"other","input":{"text":"hello"}}`).RunID)

	user := func(id subjects.RunID, text string) string {
		return fmt.Sprintf(`{"id":"user-%s","role":"user","content":%q}`, id, text)
	}
	said := func(n int) string { return fmt.Sprintf(`{"id":"m%d","role":"assistant","content":"answer %d"}`, n, n) }
	requests := u.requests()
	for i, want := range []struct{ messages, state string }{
		{user(first, "one"), `{}`},
		{user(first, "one") + "," + said(0) + "," + user(second, "two"), `{"n0":true}`},
		{user(first, "one") + "," + said(0) + "," + user(retried, "two"), `{"n0":true}`},
		{user(first, "one") + "," + said(0) + "," + user(edited, "2"), `{"n0":true}`},
		{user(first, "one") + "," + said(0) + "," + user(edited, "2") + "," + said(3) + "," + user(last, "three"), `{"n0":true,"n3":true}`},
		{user(first, "one") + "," + said(0) + "," + user(edited, "2") + "," + said(3) + "," + user(last, "three") + "," + said(4) +
			"," + user(slow, "slow"), `{"n0":true,"n3":true,"n4":true}`},
		{user(first, "one") + "," + said(0) + "," + user(edited, "2") + "," + said(3) + "," + user(last, "three") + "," + said(4) +
			"," + user(instead, "fast"), `{"n0":true,"n3":true,"n4":true}`},
	} {
		require.JSONEq(t, "["+want.messages+"]", string(requests[i].Messages), "request %d", i)
		require.JSONEq(t, want.state, string(requests[i].State), "request %d", i)
		require.Equal(t, "a b/é", requests[i].ThreadID)
	}
	var other []json.RawMessage
	require.NoError(t, json.Unmarshal(requests[7].Messages, &other))
	require.Len(t, other, 1, "another chat's messages are nobody else's")
}
