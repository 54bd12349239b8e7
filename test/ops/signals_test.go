package ops_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// watch opens a stream of the chat "chat".
func watch(ctx context.Context, t *testing.T, url string, more ...any) *harness.Conn {
	t.Helper()
	c, err := harness.Ask(ctx, http.MethodPost, url+"/chat/live", harness.Live("chat", more...))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, http.StatusOK, c.Status)
	return c
}

// OPS-01: with a drain delay a relay that is told to stop says at once that it is not ready,
// and serves on whoever comes, until its time is over or a second signal hurries it.
func TestOPS01_ADrainDelayServesOnUntilASecondSignal(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	_, f := broker(t)
	ops := harness.FreeAddr(t)
	r := relay(f, "--drain-delay", "1h", "--ops-addr", ops)
	run := f.Start(f.Producer(f.Connect()), "chat")
	f.Publish(run, 1, 3)
	old, held := watch(ctx, t, r.URL), &harness.Observer{}
	require.NoError(t, held.Until(ctx, old, 3))

	r.Terminate()
	for _, url := range []string{r.URL, "http://" + ops} {
		harness.Eventually(t, "it is unready", func() bool { return status(ctx, url+"/readyz") == http.StatusServiceUnavailable })
		require.Equal(t, http.StatusOK, status(ctx, url+"/livez"))
	}
	late, lateHeld := watch(ctx, t, r.URL), &harness.Observer{}
	f.Publish(run, 4, 6)
	require.NoError(t, held.Until(ctx, old, 6))
	require.NoError(t, lateHeld.Until(ctx, late, 6))

	from := time.Now()
	r.Terminate()
	for _, c := range []*harness.Conn{old, late} {
		_, err := c.Next(ctx)
		require.ErrorIs(t, err, io.EOF)
		require.Positive(t, c.Retry())
	}
	require.Zero(t, r.Exit())
	t.Logf("exit 0 after %v", since(from))
}

// OPS-01: a reader that stopped reading and a producer that does not end its request hold a
// relay up for as long as it may take, and no longer than a second signal allows.
func TestOPS01_ASecondSignalHurries(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	_, f := broker(t)
	r := relay(f, "--grace", "1h", "--write-timeout", "10m")
	run := f.Start(f.Producer(f.Connect()), "chat")
	for range 200 {
		_, err := run.Publish(ctx, fmt.Appendf(nil, `{"type":"CUSTOM","name":"n","value":%q}`, strings.Repeat("x", 64<<10)))
		require.NoError(t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(t, err)
	stalled := watch(ctx, t, r.URL)
	_, err = stalled.Peek(1)
	require.NoError(t, err)

	from := time.Now()
	r.Terminate()
	harness.Eventually(t, "it is unready", func() bool { return status(ctx, r.URL+"/readyz") == http.StatusServiceUnavailable })
	r.Terminate()
	require.Zero(t, r.Exit())
	t.Logf("exit 0 after %v", since(from))
}

// OPS-01: a relay is told to stop while a snapshot of 10 MiB is on its way. Who reads it gets
// all of it, is then sent away between frames, and goes on elsewhere without another snapshot.
func TestOPS01_SIGTERMDuringALargeSnapshot(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	_, f := broker(t)
	first, second := relay(f, "--grace", "2m", "--write-timeout", "2m"), relay(f) // they are read one after the other
	run := f.Start(f.Producer(f.Connect()), "chat")
	const events, size = 160, 64 << 10
	publish := func(n int) {
		for range n {
			i := run.LastSeq() + 1
			_, err := run.Publish(ctx, fmt.Appendf(nil, `{"type":"CUSTOM","name":"n%d","value":%q}`, i, strings.Repeat("x", size)))
			require.NoError(t, err)
		}
		_, err := run.Flush(ctx)
		require.NoError(t, err)
	}
	publish(events)

	front, err := proxy.Start(strings.TrimPrefix(first.URL, "http://"))
	require.NoError(t, err)
	t.Cleanup(front.Close)
	const readers = 5
	var all []*harness.Conn
	for range readers {
		c := watch(ctx, t, "http://"+front.Addr())
		b, err := c.Peek(4 << 10)
		require.NoError(t, err)
		require.Contains(t, string(b), "STREAM_SNAPSHOT")
		all = append(all, c)
	}
	release := front.Hold(proxy.Down)
	defer release()
	from := time.Now()
	first.Terminate()
	harness.Eventually(t, "it is unready", func() bool { return status(ctx, first.URL+"/readyz") == http.StatusServiceUnavailable })
	release()
	for _, c := range all {
		frame, err := c.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, consumer.Snapshot, frame.Type)
		require.EqualValues(t, events, frame.Seq)
		require.Greater(t, len(frame.Events), events*size)
		_, err = c.Next(ctx)
		require.ErrorIs(t, err, io.EOF)
		require.False(t, errors.Is(err, io.ErrUnexpectedEOF))
		require.Positive(t, c.Retry())
	}
	require.Zero(t, first.Exit())
	t.Logf("exit 0 after %v", since(from))

	publish(1)
	_, err = run.Finish(ctx, producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	for range readers {
		c := watch(ctx, t, second.URL, "run_id", run.ID(), "after_seq", events)
		frame, err := c.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, consumer.Event, frame.Type)
		require.EqualValues(t, events+1, frame.Seq)
		frame, err = c.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, consumer.End, frame.Type)
	}
}
