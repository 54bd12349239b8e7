package relay_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

func TestSnapshotThenLiveThenEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(3)
	o := f.live(`{"chat_id":"c","protocol":1,"synced":true}`)
	require.Equal(t, "text/event-stream", o.resp.Header.Get("Content-Type"))
	require.Equal(t, "no-store, no-transform", o.resp.Header.Get("Cache-Control"))
	require.Equal(t, "no", o.resp.Header.Get("X-Accel-Buffering"))
	require.Equal(t, r.id(), o.resp.Header.Get("Rejoin-Run-Id"))
	require.Equal(t, consumer.Snapshot, o.next().Type)
	require.Equal(t, consumer.Synced, o.next().Type)
	r.deltas(2)
	o.until(5)
	r.finish(done)
	o.toEnd()
	require.Equal(t, text(5), o.text)
	require.Equal(t, 1, o.snapshots)
	require.True(t, o.end.End.Persisted)
}

func TestGoodCursorReplaysWhatFollows(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(5)
	r.finish(done)
	for after := range uint64(6) {
		o := f.live(fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q,"after_seq":%d}`, r.id(), after))
		o.seq, o.text = after, text(after)
		o.toEnd()
		require.Zero(t, o.snapshots)
		require.Equal(t, text(5), o.text)
	}
}

// Who has the end of a run, and says so, is not given it again, saved or not, and gets the chat's next one.
func TestARunWhoseEndIsKnownIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(3)
	r.finish(subjects.End{Reason: subjects.ReasonError})
	again := f.live(`{"chat_id":"c","protocol":1}`)
	again.toEnd()
	require.Equal(t, text(3), again.text, "a run that was not saved is given to who asks afresh")
	body := fmt.Sprintf(`{"chat_id":"c","protocol":1,"ended_run_id":%q`, r.id())
	require.Equal(t, http.StatusNoContent, f.do(http.MethodPost, "/chat/live", body+`}`).status)
	require.Equal(t, http.StatusNoContent, f.do(http.MethodPost, "/chat/live", body+`,"wait_ms":50}`).status)

	next := make(chan *run, 1)
	go func() { next <- f.start("c") }()
	o := f.live(body + `,"wait_ms":30000}`)
	n := <-next
	n.deltas(2)
	n.finish(done)
	o.toEnd()
	require.Equal(t, n.id(), o.resp.Header.Get("Rejoin-Run-Id"))
	require.Equal(t, text(2), o.text)
}
