package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// SLOW-03: two thousand observers attach and leave at every moment at which one can leave, then
// five hundred come back at once. Afterwards the relay holds no more than before, nor does the
// broker for it. Alone in its process, for the sake of the numbers.
func TestSLOW03_ObserversLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // measures the process
	ctx := bounded(t)
	broker := harness.NewBroker(t)
	f := harness.New(t, harness.Config{URL: broker.URL})
	r := f.Relay(harness.RelayConfig{})
	p := f.Producer(f.Connect())
	live := f.Start(p, "live")
	f.Publish(live, 1, 200)
	ended := f.Start(p, "ended")
	f.Publish(ended, 1, 20)
	_, err := ended.Finish(ctx, producer.FinishOptions{})
	require.NoError(t, err)
	huge := f.Start(p, "huge")
	publishLarge(ctx, t, huge, 40)

	herd(ctx, t, r, live.ID(), 60) // what is made once and kept
	before := holds(t, r, broker)
	before.broker = broker.Monitor.AtRest()
	herd(ctx, t, r, live.ID(), 2000)
	waiters(ctx, t, r, 50)
	storm(ctx, t, r, live.ID(), 500)
	harness.Eventually(t, "nobody is left", func() bool {
		return r.Number("rejoin_observers")+r.Number("rejoin_waiters")+r.Number("rejoin_tails") == 0
	})
	harness.Eventually(t, fmt.Sprintf("everything is as it was: %+v", before), func() bool {
		now := holds(t, r, broker)
		return now.broker == before.broker && now.subscriptions == before.subscriptions &&
			now.goroutines <= before.goroutines+5 && now.files <= before.files+2 && now.heap <= before.heap+4<<20
	})
	f.Publish(live, 201, 210)
	finish(t, live, true)
}

// herd sends observers who leave at once: after an event, before the answer, within a
// snapshot, after the end, while they wait for a run.
func herd(ctx context.Context, t *testing.T, r *harness.Relay, live subjects.RunID, n int) {
	t.Helper()
	within := func(ctx context.Context) error {
		c, err := harness.Ask(ctx, "POST", r.URL+"/chat/live", harness.Live("huge"))
		if err == nil {
			_, err = c.Peek(100)
			c.Close()
		}
		return err
	}
	visits := []func(context.Context) error{
		func(ctx context.Context) error {
			return visit(ctx, r.URL, harness.Live("live", "run_id", live, "after_seq", 199), 1)
		},
		func(ctx context.Context) error { return visit(ctx, r.URL, harness.Live("ended"), 2) },
		func(ctx context.Context) error { return leaveBefore(ctx, r.URL, harness.Live("live")) },
		func(ctx context.Context) error {
			return leaveBefore(ctx, r.URL, harness.Live("idle", "wait_ms", 30000))
		},
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range 16 {
		wg.Go(func() {
			for i := range next {
				visit := visits[i%len(visits)]
				if i%20 == 0 { // the dear ones
					visit = within
				}
				if err := visit(ctx); err != nil {
					t.Errorf("visit %d: %v", i, err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// visit reads so many frames and leaves. Where the broker does not get round to it in time,
// it comes back, as clients do.
func visit(ctx context.Context, url, body string, frames int) error {
	c, err := harness.Ask(ctx, "POST", url+"/chat/live", body)
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Status == http.StatusServiceUnavailable {
		c.Close()
		return visit(ctx, url, body, frames)
	}
	for range frames {
		if _, err := c.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leaveBefore sends a request and leaves before there can be an answer, or while it comes.
func leaveBefore(ctx context.Context, url, body string) error {
	gone, leave := context.WithCancel(ctx)
	sent := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		close(sent)
		if c, err := harness.Ask(gone, "POST", url+"/chat/live", body); err == nil {
			c.Close()
		}
	})
	<-sent
	runtime.Gosched()
	leave()
	wg.Wait()
	return nil
}

// waiters sends observers who wait for a run and leave when all of them wait.
func waiters(ctx context.Context, t *testing.T, r *harness.Relay, n int) {
	t.Helper()
	gone, leave := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c, err := harness.Ask(gone, "POST", r.URL+"/chat/live", harness.Live(fmt.Sprint("idle ", i), "wait_ms", 30000))
			if err == nil {
				t.Errorf("waiter %d got an answer: %d", i, c.Status)
				c.Close()
			}
		})
	}
	harness.Eventually(t, "all wait", func() bool { return r.Number("rejoin_waiters") == float64(n) })
	leave()
	wg.Wait()
}

// storm sends all of them at the same moment.
func storm(ctx context.Context, t *testing.T, r *harness.Relay, live subjects.RunID, n int) {
	t.Helper()
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			if err := visit(ctx, r.URL, harness.Live("live", "run_id", live, "after_seq", i%200), 1); err != nil {
				t.Errorf("reconnect %d: %v", i, err)
			}
		})
	}
	close(start)
	wg.Wait()
}

// holdings is what a process, and a broker for it, hold.
type holdings struct {
	goroutines, files, subscriptions int
	heap                             uint64
	broker                           harness.Held
}

func holds(t *testing.T, r *harness.Relay, b *harness.Broker) holdings {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if !os.IsNotExist(err) { // elsewhere the files are not counted
		require.NoError(t, err)
	}
	return holdings{goroutines: runtime.NumGoroutine(), files: len(files), subscriptions: r.NC.NumSubscriptions(),
		heap: heap(), broker: b.Monitor.Held()}
}
