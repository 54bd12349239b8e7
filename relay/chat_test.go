package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// chat opens POST /chat and wants a stream.
func (f *fabric) chat(body string) *observer {
	f.t.Helper()
	return f.open(http.MethodPost, "/chat", body)
}

func (o *observer) runID() string { return o.resp.Header.Get("Rejoin-Run-Id") }

func TestChatAnswersWithTheRunsOwnStream(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	o := f.chat(`{"chat_id":"c","protocol":1,"synced":true,"input":{"text":"hi"}}`)
	require.Equal(t, "text/event-stream", o.resp.Header.Get("Content-Type"))
	first := o.next()
	require.Equal(t, consumer.Snapshot, first.Type)
	require.Zero(t, first.Seq)
	require.Equal(t, consumer.Synced, o.next().Type)
	r := f.begin(o.runID())
	r.deltas(2)
	o.until(2)
	// Another is queued behind it, and its sender watches that one.
	behind := f.chat(`{"chat_id":"c","protocol":1,"on_active":"queue","input":{"text":"next"}}`)
	require.NotEqual(t, r.id(), behind.runID())
	require.Zero(t, behind.next().Seq)
	v := f.post(http.StatusConflict, "/chat", `{"chat_id":"c","protocol":1,"input":{"text":"hi"}}`)
	require.Equal(t, "already_streaming", v.Code)
	require.Equal(t, r.id(), v.RunID)
	r.finish(done)
	o.toEnd()
	r = f.begin(behind.runID())
	r.deltas(5)
	r.finish(failed)
	behind.toEnd()
	require.Equal(t, text(5), behind.text)
	require.False(t, behind.end.End.Persisted)
}

// STOP-01: disconnecting is not stopping.
func TestSTOP01_TheRunGoesOnWithoutItsSender(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	for i, wire := range []string{`"chat_id":"c0","protocol":1,"input":{"text":"hi"}`, `"threadId":"c1","messages":[]`} {
		o := f.chat("{" + wire + "}")
		id := o.runID()
		o.close()
		r := f.begin(id)
		r.publish(runStarted, runFinished)
		require.Equal(t, "running", f.view(id).State)
		require.Nil(t, f.view(id).End)
		again := f.live(fmt.Sprintf(`{"chat_id":"c%d","protocol":1}`, i))
		again.until(2)
		r.finish(done)
		again.toEnd()
	}
}

func TestChatRepeatedWithItsToken(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	const body = `{"chat_id":"c","protocol":1,"client_token":"t","input":{"text":"hi"}}`
	a := f.chat(body)
	b := f.chat(body)
	require.Equal(t, a.runID(), b.runID())
	r := f.begin(a.runID())
	r.deltas(3)
	r.finish(done)
	a.toEnd()
	b.toEnd()
	c := f.chat(body) // ended and saved: the stream is the same
	c.toEnd()
	require.Equal(t, r.id(), c.runID())
	require.Equal(t, text(3), c.text)
	r.evict()
	// Its pointer went with it, so that this is another message.
	again := f.chat(body)
	require.NotEqual(t, r.id(), again.runID())
	// Where the chat still knows the token, what it stands for is gone.
	f.send("c", `,"on_active":"supersede"`)
	require.NoError(t, f.store.Evict(t.Context(), subjects.RunID(again.runID())))
	require.Equal(t, "not_found", f.post(http.StatusNotFound, "/chat", body).Code)
	require.Equal(t, again.runID(), f.post(http.StatusAccepted, "/chat/send", body).RunID)
}

func TestAStockClientsBodyIsTheInput(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	body := `{ "threadId":"c", "runId":"theirs", "state":{"n":1.0e2}, "messages":[{"id":"1","role":"user","content":"<&>\u2028"}],` +
		` "tools":[], "context":[], "forwardedProps":{}, "protocolVersion":"1.0" }`
	o := f.chat(body)
	require.Equal(t, body, string(f.turn(o.runID()).Input))
	r := f.begin(o.runID())
	r.publish(runStarted, delta(1), runFinished)
	require.Equal(t, []string{runStarted, delta(1), runFinished}, o.events(3))
	r.finish(done)
	o.closed()

	// The envelope without a protocol is the same wire.
	o = f.chat(`{"chat_id":"c2","input":{"text":"x"}}`)
	require.Equal(t, `{"text":"x"}`, string(f.turn(o.runID()).Input))
	r = f.begin(o.runID())
	r.publish(runStarted)
	require.Equal(t, []string{runStarted}, o.events(1))
	r.finish(subjects.End{Reason: subjects.ReasonStopped})
	o.errored("stopped")
	o.closed()
}

// A request that is refused a stream has sent nothing; what needs no stream is served.
func TestAFullRelaySendsNothingForAStreamItRefuses(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, func(c *relay.Config) { c.MaxObservers = 1 })
	f.start("busy").deltas(1)
	o := f.live(`{"chat_id":"busy","protocol":1}`)
	o.next()
	const body = `{"chat_id":"c","protocol":1,"input":{"text":"hi"}}`
	a := f.do(http.MethodPost, "/chat", body)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "too_many_requests", a.problem(t).Code)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	p, err := f.store.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	require.Empty(t, p.RunID)

	sent := f.send("c", "")
	require.Equal(t, http.StatusServiceUnavailable, f.do(http.MethodGet, "/runs/"+sent.RunID+"/controls", "").status)
	f.post(http.StatusNotFound, "/chat/answer", fmt.Sprintf(`{"chat_id":"c","run_id":%q,"request_id":"q","outcome":{}}`, sent.RunID))
	require.Equal(t, "stopping", f.post(http.StatusAccepted, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, sent.RunID)).Status)
	o.close()
}

func TestADrainingRelaySendsNothingForAStreamItRefuses(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	f.relay.Drain()
	a := f.do(http.MethodPost, "/chat", `{"chat_id":"c","protocol":1,"input":{"text":"hi"}}`)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "unavailable", a.problem(t).Code)
	p, err := f.store.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	require.Empty(t, p.RunID)
}

func TestTurnsAreCounted(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	f.send("secret-chat", `,"client_token":"secret-token"`)
	f.send("secret-chat", `,"client_token":"secret-token"`)
	f.send("secret-chat", `,"on_active":"queue","kind":"secret-kind"`)
	f.post(http.StatusAccepted, "/chat/steer-send", `{"chat_id":"secret-chat","input":{"text":"x"}}`)
	page := f.do(http.MethodGet, "/metrics", "").body
	for how, n := range map[string]int{"started": 1, "queued": 1, "repeated": 1, "steered": 1} {
		require.Contains(t, page, fmt.Sprintf("rejoin_turns_taken_total{how=%q} %d\n", how, n))
	}
	require.Contains(t, page, `rejoin_http_requests_total{method="POST",route="/chat/send",status="2xx"} 3`)
	require.False(t, strings.Contains(page, "secret"))
}
