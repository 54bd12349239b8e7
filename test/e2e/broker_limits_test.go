package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// BRK-04: twenty live runs share their streams with runs that end and are evicted at
// once, and the broker restarts in between. No live reader loses anything.
func TestBRK04_EvictionsDisturbNoLiveRun(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	relay := f.Relay(harness.RelayConfig{Janitor: runs.JanitorConfig{Retention: time.Millisecond, Interval: 100 * time.Millisecond}})
	link := f.Connect()
	p := f.Producer(link)

	const live, events = 20, 400
	restarted := make(chan struct{})
	var both sync.WaitGroup
	for i := range live {
		chat := fmt.Sprintf("live %d", i)
		run := f.Start(p, chat)
		f.Publish(run, 1, 10)
		both.Go(func() {
			err := sit(ctx, relay, chat, i%2 == 0, func(o *harness.Observer, from source) error {
				return errors.Join(o.ToEnd(ctx, from), o.Holds(events))
			})
			if err != nil {
				t.Errorf("reader of %s: %v", chat, err)
			}
		})
		both.Go(func() {
			for n := uint64(11); n <= events; n++ {
				if n == events-50 {
					<-restarted
				}
				_, err := run.Publish(ctx, harness.Delta(n))
				if err == nil {
					_, err = run.Flush(ctx)
				}
				if err != nil {
					t.Errorf("%s: event %d: %v", chat, n, err)
					return
				}
			}
			// Not saved, so that a reader that comes only now is still given the run.
			if _, err := run.Finish(ctx, producer.FinishOptions{}); err != nil {
				t.Errorf("%s: %v", chat, err)
			}
		})
	}
	brief := func(n int) {
		for i := range 20 {
			run := f.Start(p, fmt.Sprintf("brief %d %d", n, i))
			f.Publish(run, 1, 30)
			finish(t, run, true)
		}
	}
	for n := range 4 {
		brief(n)
		if n%2 == 1 {
			require.NoError(t, f.Broker.Restart())
			harness.Eventually(t, "the broker is back", func() bool { return link.Store.Ping(ctx) == nil })
		}
	}
	harness.Eventually(t, "the brief runs are evicted", func() bool { return relay.Number("rejoin_janitor_evicted_total") >= 80 })
	close(restarted)
	both.Wait()
}

// BRK-04: an operator lowers how much of a run the log keeps while runs are live. A
// reader that still needed what is dropped gets a snapshot, and so does one that comes with
// a cursor from before; those that had it notice nothing. A restart changes none of that.
func TestBRK04_ALowerLimitShowsAsASnapshot(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t), Partitions: 1})
	relay := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "chat")
	publishOneByOne(ctx, t, run, 1500)
	current, waiting := openAt(ctx, t, relay, run.ID(), 1499), openAt(ctx, t, relay, run.ID(), 100)
	for _, r := range []reading{current, waiting} {
		require.NoError(t, r.o.Until(ctx, r.from, r.o.Seq+1), "caught in the middle of reading")
	}

	const kept = 512
	c := subjects.RunsConfig(0, 1)
	c.MaxMsgsPerSubject = kept
	_, err := admin(t, relay).UpdateStream(ctx, c)
	require.NoError(t, err)
	late := openAt(ctx, t, relay, run.ID(), 200)
	within := openAt(ctx, t, relay, run.ID(), 1500-kept+2)
	require.NoError(t, f.Broker.Restart())
	publishOneByOne(ctx, t, run, 1800)
	last := openAt(ctx, t, relay, run.ID(), 1799)
	finish(t, run, true)

	for name, want := range map[string]struct {
		reading
		snapshots int
	}{
		"current": {current, 0}, "last": {last, 0}, "waiting": {waiting, 1}, "late": {late, 1}, "within": {within, 1},
	} {
		require.NoError(t, want.o.ToEnd(ctx, want.from), name)
		require.NoError(t, want.o.Holds(1800), name)
		require.Equal(t, want.snapshots, want.o.Snapshots, name)
	}
}

// publishOneByOne publishes numbered text up to a seq, each event a record of its own.
func publishOneByOne(ctx context.Context, t *testing.T, run *producer.Run, to uint64) {
	t.Helper()
	for i := run.LastSeq() + 1; i <= to; i++ {
		_, err := run.Publish(ctx, harness.Delta(i))
		require.NoError(t, err)
		_, err = run.Flush(ctx)
		require.NoError(t, err)
	}
}

// openAt opens a reader of the relay's hub at a cursor; it reads nothing yet.
func openAt(ctx context.Context, t *testing.T, relay *harness.Relay, id subjects.RunID, after uint64) reading {
	t.Helper()
	e, err := relay.Store.Entry(ctx, id)
	require.NoError(t, err)
	r, err := relay.Hub.Open(ctx, e, consumer.ReadOptions{Cursor: &consumer.Cursor{RunID: id, AfterSeq: after}})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return reading{harness.At(id, after), patient{r}}
}
