package relay_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

const (
	runStarted  = `{"type":"RUN_STARTED","threadId":"c","runId":"a"}`
	runFinished = `{"type":"RUN_FINISHED","threadId":"c","runId":"a"}`
	runError    = `{"type":"RUN_ERROR","message":"no"}`
)

// stock opens a stream the way a stock client does.
func (f *fabric) stock(chat string) *observer {
	f.t.Helper()
	return f.open(http.MethodPost, "/chat/live", fmt.Sprintf(
		`{"threadId":%q,"runId":"theirs","state":{},"messages":[],"tools":[],"context":[],"forwardedProps":{},"protocolVersion":"1.0"}`, chat),
		"Accept", "text/event-stream")
}

// events reads n events from a legacy stream.
func (o *observer) events(n int) (all []string) {
	o.t.Helper()
	for range n {
		m, err := o.sse.Next()
		require.NoError(o.t, err)
		require.Empty(o.t, m.ID)
		require.Empty(o.t, m.Event)
		all = append(all, string(m.Data))
	}
	return all
}

func TestLegacyWireIsPlainEvents(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.publish(runStarted)
	r.deltas(1)
	o := f.stock("c")
	require.Equal(t, "text/event-stream", o.resp.Header.Get("Content-Type"))
	require.Equal(t, r.id(), o.resp.Header.Get("Rejoin-Run-Id"))
	require.Equal(t, []string{runStarted, delta(2)}, o.events(2))
	r.publish(delta(3), runFinished)
	require.Equal(t, []string{delta(3), runFinished}, o.events(2))
	// An agent that goes on after its terminal event is passed on as it is: what a
	// client makes of that, it has to make of it here too.
	const late = `{"type":"CUSTOM","name":"late"}`
	r.publish(late)
	require.Equal(t, []string{late}, o.events(1))
	r.finish(done)
	o.closed()

	// With a chat_id, and without a protocol, it is the same wire; a cursor means nothing there.
	r2 := f.start("c")
	r2.publish(runStarted, runFinished)
	o = f.live(fmt.Sprintf(`{"chat_id":"c","run_id":%q,"after_seq":1,"synced":true}`, r2.id()))
	require.Equal(t, []string{runStarted, runFinished}, o.events(2))
}

func TestLegacyEnds(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	for name, c := range map[string]struct {
		events []string
		end    subjects.End
		code   string // of the RUN_ERROR; "" for a clean close
	}{
		"done":                 {[]string{runStarted}, done, ""},
		"finished":             {[]string{runStarted, runFinished}, done, ""},
		"superseded":           {[]string{runStarted}, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded}, "superseded"},
		"abandoned":            {[]string{runStarted}, subjects.End{Reason: subjects.ReasonAbandoned}, "abandoned"},
		"stopped":              {[]string{runStarted}, subjects.End{Reason: subjects.ReasonStopped}, "stopped"},
		"error":                {[]string{runStarted}, subjects.End{Reason: subjects.ReasonError}, "error"},
		"save failed":          {[]string{runStarted}, failed, "save_failed"},
		"skipped":              {[]string{runStarted}, subjects.End{Reason: subjects.ReasonSkipped}, "skipped"},
		"nothing published":    {nil, subjects.End{Reason: subjects.ReasonAbandoned}, "abandoned"},
		"finished, superseded": {[]string{runStarted, runFinished}, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded}, ""},
		"failed, abandoned":    {[]string{runStarted, runError}, subjects.End{Reason: subjects.ReasonAbandoned}, ""},
	} {
		r := f.start(name)
		if len(c.events) > 0 {
			r.publish(c.events...)
		}
		o := f.stock(name)
		require.Equal(t, c.events, o.events(len(c.events)), name)
		r.finish(c.end)
		if c.code != "" {
			o.errored(c.code)
		}
		o.closed()
	}
}

// errored wants a RUN_ERROR of ours next.
func (o *observer) errored(code string) {
	o.t.Helper()
	var e struct{ Type, Message, Code string }
	require.NoError(o.t, json.Unmarshal([]byte(o.events(1)[0]), &e))
	require.Equal(o.t, "RUN_ERROR", e.Type)
	require.Equal(o.t, code, e.Code)
	require.NotEmpty(o.t, e.Message)
}

// A stock client takes the end of the response for success.
func TestLegacyStreamThatIsCutShortIsAnError(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	open, over := f.start("open"), f.start("over")
	open.publish(runStarted)
	over.publish(runStarted, runFinished)
	a, b := f.stock("open"), f.stock("over")
	a.events(1)
	b.events(2)
	f.stop()
	a.errored("stream_closed")
	a.closed()
	b.closed()
	f.drained()
}

// Byte for byte: nothing but data lines and comments, LF only.
func TestLegacyFraming(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.publish(runStarted, runFinished)
	r.finish(failed)
	ctx := t.Context()
	resp, err := f.client.Do(request(ctx, t, http.MethodPost, f.url+"/chat/live", `{"threadId":"c"}`))
	require.NoError(t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, ":\n\ndata: "+runStarted+"\n\ndata: "+runFinished+"\n\n", string(all))
}
