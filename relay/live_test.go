package relay_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
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
