package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// BIG-02: a thousand events of 200 KiB. One observer has them one by one while they are
// published, one replays them all afterwards, one gets them as a snapshot.
func TestBIG02_AThousandLargeEvents(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "chat")
	const events, size = 1024, 200 << 10
	want := newDigest()
	_, _ = fmt.Fprintf(want, `"seq":%d,"events":[`, events)

	request := harness.Live("chat", "run_id", run.ID(), "after_seq", 0)
	read := make(chan error, 2)
	observe := func() {
		c, err := harness.Ask(ctx, http.MethodPost, relay.URL+"/chat/live", request)
		if err == nil {
			defer c.Close()
			err = c.Dense(events)
		}
		read <- err
	}
	go observe()
	for i := range uint64(events) {
		e := result(i+1, size)
		if i > 0 {
			_ = want.WriteByte(',')
		}
		_, _ = want.Write(e)
		_, err := run.Publish(ctx, e)
		require.NoError(t, err)
	}
	_, _ = want.WriteString("]}")
	_, err := run.Finish(ctx, producer.FinishOptions{})
	require.NoError(t, err)
	require.NoError(t, <-read)
	go observe()
	require.NoError(t, <-read)
	require.NoError(t, readSnapshot(ctx, relay.URL, want))
}

// BIG-02: the store takes no segment. Nothing is lost: snapshots come from the log alone,
// while the run is live and after its end.
func TestBIG02_WithoutSegmentsTheLogIsEnough(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "chat")
	c := subjects.BucketConfig(1)
	c.MaxMsgSize = 4 << 10
	_, err := admin(t, relay).UpdateStream(ctx, c)
	require.NoError(t, err)

	want := publishResults(ctx, t, run, 2<<20)
	require.NoError(t, readSnapshot(ctx, relay.URL, want))
	_, err = relay.Store.Segment(ctx, run.ID(), 0)
	require.ErrorIs(t, err, producer.ErrNotFound)
	_, err = run.Finish(ctx, producer.FinishOptions{})
	require.NoError(t, err)
	require.NoError(t, readSnapshot(ctx, relay.URL, want))
}
