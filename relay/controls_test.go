package relay_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// controls opens the stream of what a run is sent.
func (f *fabric) controls(id string, header ...string) *observer {
	f.t.Helper()
	return f.open(http.MethodGet, "/runs/"+id+"/controls", "", header...)
}

// control wants a message of that kind next, and gives its id.
func (o *observer) control(event, data string) string {
	o.t.Helper()
	m, err := o.sse.Next()
	require.NoError(o.t, err)
	require.Equal(o.t, event, m.Event)
	require.JSONEq(o.t, data, string(m.Data))
	return m.ID
}

// put stores a control as the queue does, and gives its stream sequence.
func (r *run) put(c runs.Control) string {
	r.f.t.Helper()
	won, ok, err := r.f.store.PutControl(r.f.t.Context(), r.entry.RunID, c)
	require.NoError(r.f.t, err)
	require.True(r.f.t, ok)
	return fmt.Sprint(won.Seq)
}

func TestControlsReachAProducerOverHTTP(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	r := f.start("c")
	before := r.put(runs.Control{Kind: runs.ControlAnswer, ID: "q1", Body: []byte(yes)})
	o := f.controls(r.id())
	require.Equal(t, "text/event-stream", o.resp.Header.Get("Content-Type"))
	require.Equal(t, "no-store, no-transform", o.resp.Header.Get("Cache-Control"))
	require.Equal(t, r.id(), o.runID())
	require.Equal(t, before, o.control("answer", fmt.Sprintf(`{"type":"answer","run_id":%q,"request_id":"q1","outcome":%s}`, r.id(), yes)))

	input := `{"text":"` + long(200_000) + `"}`
	given := r.put(runs.Control{Kind: runs.ControlInput, ID: "1", Body: []byte(input)})
	r.put(runs.Control{Kind: runs.ControlInput, ID: "2", Closed: true}) // of no interest
	require.Equal(t, given, o.control("input", fmt.Sprintf(`{"type":"input","run_id":%q,"input":%s}`, r.id(), input)))
	stop := fmt.Sprintf(`{"type":"stop","run_id":%q,"reason":"enough"}`, r.id())
	f.post(http.StatusAccepted, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q,"reason":"enough"}`, r.id()))
	stopped := o.control("stop", stop)

	// From the last one that arrived on; another connection is another stream.
	again := f.controls(r.id(), "Last-Event-ID", given)
	require.Equal(t, stopped, again.control("stop", stop))
	closed := fmt.Sprintf(`{"type":"closed","run_id":%q,"request_id":"q2","reason":"stopped"}`, r.id())
	r.put(runs.Control{Kind: runs.ControlAnswer, ID: "q2", Closed: true, Reason: "stopped"})
	o.control("closed", closed)
	again.control("closed", closed)
	r.publish(runStarted)
	r.finish(subjects.End{Persisted: true, Reason: subjects.ReasonStopped})
	end := fmt.Sprintf(`{"type":"end","run_id":%q,"seq":1,"persisted":true,"superseded":false,"reason":"stopped"}`, r.id())
	for _, o := range []*observer{o, again} {
		o.control("end", end)
		o.closed()
	}
	late := f.controls(r.id(), "Last-Event-ID", stopped)
	late.control("closed", closed)
	late.control("end", end)
	late.closed()
	require.Contains(t, f.do(http.MethodGet, "/metrics", "").body, `rejoin_streams_opened_total{wire="controls"} 3`)
}

func TestControlsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	for _, id := range []string{"x", "-1", "1.5", "+1", "9007199254740992", r.id() + ":1"} {
		a := f.do(http.MethodGet, "/runs/"+r.id()+"/controls", "", "Last-Event-ID", id)
		require.Equal(t, http.StatusBadRequest, a.status, id)
		require.Contains(t, a.problem(t).Detail, "Last-Event-ID")
	}
	for _, id := range []string{"nonsense", "0-00000000000000000000000000"} {
		require.Equal(t, "not_found", f.do(http.MethodGet, "/runs/"+id+"/controls", "").problem(t).Code)
	}
}

func TestControlsAreAStreamLikeAnother(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.KeepAlive, c.MaxStreamAge = 5*time.Millisecond, 100*time.Millisecond })
	r := f.start("c")
	o := f.controls(r.id())
	o.closed() // of age, without an end
	require.Positive(t, o.sse.Comments())
	require.Positive(t, o.sse.Retry())

	f = newFabric(t, nil)
	o = f.controls(f.start("c").id())
	f.relay.Drain()
	o.closed()
	require.Positive(t, o.sse.Retry())

	f = newFabric(t, nil)
	r = f.start("c")
	o = f.controls(r.id())
	newer := f.start("c")
	_, err := f.store.EndRun(t.Context(), r.entry.RunID,
		subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: newer.entry.RunID})
	require.NoError(t, err)
	o.control("end", fmt.Sprintf(`{"type":"end","run_id":%q,"seq":0,"persisted":false,"superseded":true,"reason":"superseded","next_run_id":%q}`,
		r.id(), newer.id()))
	o.closed()
}

// A run that waits behind another has its controls, and its stream, from the start.
func TestARunThatWaitsForItsTime(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, func(c *relay.Config) { c.KeepAlive = 5 * time.Millisecond })
	first := f.begin(f.send("c", "").RunID)
	first.deltas(1)
	id := f.send("c", `,"on_active":"queue"`).RunID
	o := f.live(fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q,"after_seq":0}`, id))
	require.Equal(t, id, o.runID(), "a cursor at its head, which is its start")
	c := f.controls(id)
	require.Equal(t, first.id(), f.live(`{"chat_id":"c","protocol":1}`).runID())
	first.finish(done)
	r := f.begin(id)
	r.deltas(2)
	r.finish(done)
	o.toEnd()
	require.Zero(t, o.snapshots)
	require.Equal(t, text(2), o.text)
	c.control("end", fmt.Sprintf(`{"type":"end","run_id":%q,"seq":2,"persisted":true,"superseded":false,"reason":"done"}`, id))

	// One that is stopped while it waits.
	first = f.begin(f.send("c", "").RunID)
	id = f.send("c", `,"on_active":"queue"`).RunID
	o = f.live(fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q}`, id))
	require.Equal(t, consumer.Snapshot, o.next().Type)
	f.post(http.StatusAccepted, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, id))
	o.toEnd()
	require.Equal(t, subjects.ReasonStopped, o.end.End.Reason)
	require.Equal(t, "running", f.view(first.id()).State)
}
