package limits_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// SLOW-02: 1,000 readers that stop reading, half of them in the middle of a snapshot and
// half in the middle of live events, beside 1,000 that read. Those are cut off and leave
// nothing behind; these miss nothing and are hardly later than before.
func TestSLOW02_AThousandStalledBesideAThousandThatRead(t *testing.T) {
	t.Parallel()
	const readers, stalled = 1000, 1000
	const deadline = 10 * time.Second // of a write, as it is by default
	ctx := bounded(t)
	broker := harness.NewBroker(t)
	f := harness.New(t, harness.Config{URL: broker.URL})
	f.Connect() // makes the streams
	relay := f.RelayProcess("--write-timeout", deadline.String(), "--log-level", "warn")
	relay.Start()
	relay.Ready()
	p := f.Producer(f.Connect())
	run, heavy := f.Start(p, "live"), f.Start(p, "heavy")
	for range 16 {
		publish(ctx, t, heavy, tick(128<<10))
	}

	var late lags
	var reading sync.WaitGroup
	dial := &net.Dialer{Timeout: harness.Patience}
	for i := range readers {
		conn, err := begin(ctx, dial, relay.URL, "live")
		require.NoError(t, err)
		reading.Go(func() {
			defer conn.Close()
			if err := follow(conn, &late); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	harness.Eventually(t, "all are served", func() bool { return number(t, relay, `rejoin_frames_total{type="STREAM_SNAPSHOT"}`) == readers })
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	publishUntil := func(met func() bool) {
		for i := 0; i%10 != 0 || !met(); i++ {
			<-pace.C
			publish(ctx, t, run, tick(2<<10))
		}
	}
	for range 2 { // once to warm up
		late.next()
		from := time.Now()
		publishUntil(func() bool { return time.Since(from) > 4*time.Second })
	}
	before := held(t, relay, broker)

	late.next()
	from := time.Now()
	attached := make(chan error, 1)
	go func() {
		defer close(attached)
		defer late.next()
		for i := range stalled {
			time.Sleep(2 * time.Millisecond) // they come within a few seconds, not all at once
			conn, err := begin(ctx, &narrow, relay.URL, []string{"live", "heavy"}[i%2])
			if err != nil {
				attached <- err
				return
			}
			t.Cleanup(func() { conn.Close() }) // and nothing is ever read
		}
	}()
	most := 0.0
	publishUntil(func() bool {
		most = max(most, number(t, relay, "rejoin_replay_held_bytes"))
		return number(t, relay, `rejoin_streams_closed_total{cause="stalled"}`)+number(t, relay, `rejoin_streams_closed_total{cause="client"}`) == stalled
	})
	require.NoError(t, <-attached)
	took := time.Since(from)
	require.Less(t, most, float64(32<<20), "a snapshot of 2 MiB is held once, not for each")

	late.next()
	from2 := time.Now()
	publishUntil(func() bool { return time.Since(from2) > 4*time.Second })
	late.next()
	for phase, what := range map[int]string{2: "before", 3: "while others came", 4: "while they were stalled and cut", 5: "afterwards"} {
		p99 := late.p99(phase)
		t.Logf("p99 of %d readers %s: %v (%.1f times)", readers, what, p99, p99.Seconds()/late.p99(2).Seconds())
		if phase > 2 { // generous, since the machine may be busy, and less than waiting for one that has stalled
			require.Less(t, p99, max(deadline/2, 2*late.p99(2)), what)
		}
	}
	t.Logf("%d were cut within %v; at most %.1f MiB held", stalled, took.Round(time.Second), most/(1<<20))
	require.EqualValues(t, readers, number(t, relay, "rejoin_observers"))
	harness.Eventually(t, "everything is as it was", func() bool { return held(t, relay, broker).within(before) })
	t.Logf("before %+v, after %+v", before, held(t, relay, broker))
	_, err := run.Finish(ctx, producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	reading.Wait()
}

// holdings are what a relay holds, and a broker for it.
type holdings struct {
	files, goroutines, heap, replay float64
	broker                          harness.Held
}

func held(t *testing.T, r *harness.Rejoin, b *harness.Broker) holdings {
	t.Helper()
	return holdings{files: number(t, r, "process_open_fds"), goroutines: number(t, r, "go_goroutines"),
		heap: number(t, r, "go_memstats_heap_alloc_bytes"), replay: number(t, r, "rejoin_replay_held_bytes"), broker: b.Monitor.AtRest()}
}

// within says whether it is no more than before, the odd goroutine and garbage aside.
func (h holdings) within(before holdings) bool {
	return h.files <= before.files+3 && h.goroutines <= before.goroutines+10 && h.heap <= before.heap+8<<20 &&
		h.replay == 0 && h.broker.Consumers <= before.broker.Consumers && h.broker.Connections == before.broker.Connections &&
		h.broker.Subscriptions <= before.broker.Subscriptions
}
