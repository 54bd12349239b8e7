package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// BIG-02: a thousand events of 200 KiB. One observer has them one by one while they are
// published, one replays them all afterwards, one gets them as a snapshot. The relay is a
// process of its own, and nothing here holds more than a piece of an event.
func TestBIG02_AThousandLargeEvents(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	dev := harness.NewDev(t, "--demo=false")
	dev.Start()
	dev.Ready()
	id := startOverHTTP(t, dev.URL, "chat")
	const events = 1024

	replay := harness.Live("chat", "run_id", id, "after_seq", 0)
	read := make(chan error, 1)
	observe := func() {
		c, err := harness.Ask(ctx, http.MethodPost, dev.URL+"/chat/live", replay)
		if err != nil {
			read <- err
			return
		}
		defer c.Close()
		for i := 1; i <= events && err == nil; i++ {
			want, got := newDigest(), newDigest()
			_, _ = fmt.Fprintf(want, `"seq":%d,"event":`, i)
			_ = writeLarge(want, i)
			_, _ = want.Write([]byte{'}'})
			if err = c.CopyData(got, `"seq":`); err == nil && got.Sum32() != want.Sum32() {
				err = fmt.Errorf("event %d is not what was published", i)
			}
		}
		read <- err
	}
	go observe()
	body, feed := io.Pipe()
	go func() {
		var err error
		for i := 1; i <= events && err == nil; i++ {
			if err = writeLarge(feed, i); err == nil {
				_, err = feed.Write([]byte{'\n'})
			}
		}
		_ = feed.CloseWithError(err)
	}()
	resp, err := http.Post(dev.URL+"/runs/"+string(id)+"/events", "application/x-ndjson", body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, <-read)
	go observe()
	require.NoError(t, <-read)

	want := newDigest()
	_, _ = fmt.Fprintf(want, `"seq":%d,"events":[`, events)
	for i := 1; i <= events; i++ {
		if i > 1 {
			_, _ = want.Write([]byte{','})
		}
		_ = writeLarge(want, i)
	}
	_, _ = want.Write([]byte("]}"))
	require.NoError(t, readSnapshot(ctx, dev.URL, want))
}

var filling = bytes.Repeat([]byte("x"), 200<<10)

// writeLarge writes the ith event, of 200 KiB, that nothing merges with another.
func writeLarge(w io.Writer, i int) error {
	for _, part := range [][]byte{fmt.Appendf(nil, `{"type":"CUSTOM","name":"large %d","value":"`, i), filling, []byte(`"}`)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
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
