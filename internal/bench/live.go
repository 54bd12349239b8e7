package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/bench/floor"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// live measures how soon an event is with the one observer of its run.
func live() Workload {
	w := Workload{
		Name:    "live",
		Summary: "many runs of 20 events/s, one observer each: from when an event is due until it is read",
		Run:     runLive,
	}
	for _, mode := range []string{"", single, direct} {
		for _, n := range []int{1, 100, 1000} {
			name := thousands(n) + " runs × 20/s, " + comes[mode]
			w.Cases = append(w.Cases, Case{Name: name, Short: n != 1 && (n == 1000 || mode == ""),
				Runs: n, Observers: n, Rate: 20, Size: 200, Batch: batchOf(mode), Mode: mode})
		}
	}
	return w
}

// comes says how events come.
var comes = map[string]string{"": "streamed bodies", single: "one event a request", direct: "native producers"}

func batchOf(mode string) int {
	if mode == single {
		return 1
	}
	return 0
}

func runLive(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	r, _, err := env.paced(ctx, env.fabric(), c)
	if err != nil {
		return nil, err
	}
	if c.Runs == 1000 && c.Mode != single {
		r.Figure("p50").AtMost(1)
		r.Figure("p99").AtMost(20)
	}
	if c.Mode == direct {
		plain, err := env.livePubSub(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", report.BareNATS, err)
		}
		r.Against(plain)
		return []report.Result{r, plain}, nil
	}
	to, err := env.floorTarget(ctx)
	if err != nil {
		return nil, err
	}
	bare, _, err := env.paced(ctx, to, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", to.system, err)
	}
	r.Against(bare)
	if c.Mode != "" {
		return []report.Result{r, bare}, nil
	}
	plain, err := env.livePubSub(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", report.BareNATS, err)
	}
	return []report.Result{r, bare, plain}, nil
}

// livePubSub measures the same events as bare NATS passes them on.
func (e *Env) livePubSub(ctx context.Context, c Case) (r report.Result, err error) {
	r = e.Result(c, report.BareNATS)
	out, err := e.Connect(ctx)
	if err != nil {
		return r, err
	}
	defer out.Close()
	in, err := e.Connect(ctx)
	if err != nil {
		return r, err
	}
	defer in.Close()

	start := time.Now().Add(100 * time.Millisecond)
	from, until := start.Add(warmUp), start.Add(warmUp+e.Duration)
	var mu sync.Mutex // for what the callback writes
	var latency stats.Histogram
	ledgers := make([]stamp.Ledger, c.Runs)
	pubsub, err := floor.NewPubSub(out, in, func(run int, data []byte) {
		now := time.Now()
		n, due, ok := stamp.First(data)
		mu.Lock()
		defer mu.Unlock()
		if ok && run < len(ledgers) {
			ledgers[run].Add(n)
			if due >= from.UnixMicro() && due < until.UnixMicro() {
				latency.Record(now.Sub(time.UnixMicro(due)))
			}
		}
	})
	if err != nil {
		return r, err
	}
	defer func() { _ = pubsub.Close() }()
	every := time.Second / time.Duration(c.Rate)
	s := stats.Schedule{Start: start, Every: every, Streams: c.Runs}
	per := uint64(until.Sub(start) / every)
	late, use, err := e.publish(ctx, c, pubsub, s, per, from, until)
	if err != nil {
		return r, err
	}
	var sum stamp.Counts
	for begin := time.Now(); ; {
		mu.Lock()
		sum = stamp.Counts{}
		for i := range ledgers {
			sum.Add(ledgers[i].Counts(per))
		}
		mu.Unlock()
		if sum.Missing == 0 || time.Since(begin) > patience {
			break
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return r, err
		}
	}
	mu.Lock()
	defer mu.Unlock()
	r.Counts = counted(sum, late.Late)
	r.CPUShare = use.Share()
	r.Millis("p50", latency.Quantile(0.5))
	r.Millis("p99", latency.Quantile(0.99))
	r.Millis("max", latency.Max())
	return r, nil
}

// publish publishes per events of each stream of a schedule. It is flushed at each look
// at what is due, so that nothing waits for company.
func (e *Env) publish(ctx context.Context, c Case, to *floor.PubSub, s stats.Schedule, per uint64, from, until time.Time) (late stats.Lateness, use Use, err error) {
	loop, stop, err := runLoop(e.Relay) // it only keeps time
	if err != nil {
		return late, use, err
	}
	defer stop()
	sent := make(chan error, 1)
	var k uint64
	var event []byte
	tick := func(now time.Time) time.Time {
		for k < per*uint64(s.Streams) {
			due := s.Due(k)
			if due.After(now) {
				return maxTime(due, now.Add(pulse))
			}
			late.Sent(due, now)
			event = stamp.Append(event[:0], k/uint64(s.Streams)+1, due.UnixMicro(), c.Size)
			if err := to.Publish(s.Stream(k), event); err != nil {
				sent <- err
				return time.Time{}
			}
			k++
			now = time.Now()
		}
		sent <- to.Flush()
		return time.Time{}
	}
	if err := loop.Do(func() { loop.At(s.Start, tick) }); err != nil {
		return late, use, err
	}
	if err := sleep(ctx, time.Until(from)); err != nil {
		return late, use, err
	}
	w := e.Begin(ctx, c)
	err = sleep(ctx, time.Until(until))
	use = w.End()
	if err != nil {
		return late, use, err
	}
	select {
	case err = <-sent:
	case <-time.After(patience):
		err = context.DeadlineExceeded
	}
	return late, use, err
}
