package limits_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// balancer leads every new connection to the relay that is in use, and notes when they
// come, as a load balancer does before several relays.
type balancer struct {
	to atomic.Pointer[string]

	mu    sync.Mutex
	since time.Time // nothing is noted before
	came  []time.Duration
}

func (b *balancer) use(r *harness.Rejoin) {
	addr := strings.TrimPrefix(r.URL, "http://")
	b.to.Store(&addr)
}

func (b *balancer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	b.mu.Lock()
	if !b.since.IsZero() {
		b.came = append(b.came, time.Since(b.since))
	}
	b.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, *b.to.Load())
}

// OPS-02: a relay is killed that has 1,000 readers, all of which come back to another one.
// They do so spread over some seconds, none of which has more than a fifth of them, and
// every one of them has every event once.
func TestOPS02_ReadersOfAKilledRelayComeBackSpread(t *testing.T) {
	t.Parallel()
	const readers = 1000
	ctx := bounded(t)
	broker := harness.NewBroker(t)
	f := harness.New(t, harness.Config{URL: broker.URL})
	f.Connect() // makes the streams
	first, second := f.RelayProcess("--log-level", "warn"), f.RelayProcess("--log-level", "warn")
	for _, r := range []*harness.Rejoin{first, second} {
		r.Start()
		r.Ready()
	}
	run := f.Start(f.Producer(f.Connect()), "chat")
	f.Publish(run, 1, 10)

	var b balancer
	b.use(first)
	transport := &http.Transport{DialContext: b.dial, MaxIdleConnsPerHost: readers, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	client := &consumer.Client{BaseURL: "http://relay", HTTP: &http.Client{Transport: transport}}
	seen := make(chan struct{}, 2*readers)
	var reading sync.WaitGroup
	for i := range readers {
		stream := client.Watch(ctx, consumer.Watch{ChatID: "chat"})
		reading.Go(func() {
			defer stream.Close()
			o := &harness.Observer{}
			err := o.Until(ctx, stream, 10)
			seen <- struct{}{}
			if err == nil {
				err = o.Until(ctx, stream, 20)
			}
			seen <- struct{}{}
			if err == nil {
				err = o.ToEnd(ctx, stream)
			}
			if err == nil {
				err = o.Holds(30)
			}
			if err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	for range readers {
		<-seen
	}
	f.Publish(run, 11, 20) // since all of them are there, each is written to
	for range readers {
		<-seen
	}
	b.use(second)
	b.mu.Lock()
	b.since = time.Now()
	b.mu.Unlock()
	held := busy(t)
	first.Kill()
	f.Publish(run, 21, 30)
	harness.Eventually(t, "all are back", func() bool { return number(t, second, "rejoin_observers") == readers })
	_, err := run.Finish(ctx, producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	reading.Wait()

	seconds := map[int]int{}
	for _, at := range b.came {
		seconds[int(at/time.Second)]++
	}
	most := readers/5 + int(held().Seconds()*readers/5) // what a busy machine has held back comes at once
	t.Logf("%d attempts of %d readers, by second: %v, at most %d", len(b.came), readers, seconds, most)
	for s, n := range seconds {
		require.LessOrEqual(t, n, most, "in second %d", s)
	}
}

// busy tells for how long the machine has kept a timer waiting at most, until it is asked.
func busy(t *testing.T) (held func() time.Duration) {
	t.Helper()
	const every = 20 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var most time.Duration
	var watching sync.WaitGroup
	watching.Go(func() {
		for from := time.Now(); ctx.Err() == nil; from = time.Now() {
			select {
			case <-ctx.Done():
			case <-time.After(every):
				most = max(most, time.Since(from)-every)
			}
		}
	})
	t.Cleanup(func() { stop(); watching.Wait() })
	return func() time.Duration {
		stop()
		watching.Wait()
		return most
	}
}
