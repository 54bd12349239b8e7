package bench

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// crosstalk measures what a run that writes as fast as it can does to others.
func crosstalk() Workload {
	return Workload{
		Name:    "crosstalk",
		Summary: "latency of runs of 20 events/s, one observer each: alone, and while another run writes at full speed",
		Run:     runCrosstalk,
		Cases: []Case{
			{Name: "one run × 20/s beside one at full speed", Short: true, Runs: 1, Observers: 1, Rate: 20, Size: 200},
			{Name: "10 runs × 20/s beside one at full speed", Short: true, Runs: 10, Observers: 10, Rate: 20, Size: 200},
		},
	}
}

func runCrosstalk(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	r := env.Result(c, report.Rejoin)
	p, crowd, err := env.steady(ctx, env.fabric(), c)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer crowd.close()
	if err := p.begin(time.Now(), c.Rate, time.Hour); err != nil {
		return nil, err
	}
	alone, err := crowd.measure(ctx, env.Duration)
	if err != nil {
		return nil, err
	}
	loud, err := startLoud(ctx, env.Relay, c.Size)
	if err != nil {
		return nil, err
	}
	w := env.Begin(ctx, c)
	before, since := loud.sent(), time.Now()
	beside, err := crowd.measure(ctx, env.Duration)
	speed := float64(loud.sent()-before) / time.Since(since).Seconds()
	use := w.End()
	if err := loud.stop(); err != nil {
		return nil, fmt.Errorf("the run at full speed: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if err := p.enough(); err != nil {
		return nil, err
	}
	sum, err := crowd.finish(ctx, p)
	if err != nil {
		return nil, err
	}
	r.Counts = counted(sum, p.late().Late)
	r.CPUShare = use.Share()
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		idle := r.Millis("alone "+q.name, alone.Quantile(q.q)).Value
		f := r.Millis("beside "+q.name, beside.Quantile(q.q)).Relative(idle, "alone")
		if q.q == 0.99 {
			f.RatioAtMost(3)
		}
	}
	r.Add("events of the other run", "events/s", speed)
	r.Note = fmt.Sprintf("%d and %d events measured", alone.Count(), beside.Count())
	return []report.Result{r}, err
}

// measure warms up, and gives the latency of the events that are due in the time d after
// that. Those still under way at its end have a second more.
func (c *crowd) measure(ctx context.Context, d time.Duration) (latency stats.Histogram, err error) {
	start := time.Now().Add(warmUp)
	if err := c.loop.Do(func() {
		c.latency, c.from, c.until = stats.Histogram{}, start.UnixMicro(), start.Add(d).UnixMicro()
	}); err != nil {
		return latency, err
	}
	if err := sleep(ctx, time.Until(start.Add(d+time.Second))); err != nil {
		return latency, err
	}
	err = c.loop.Do(func() { latency, c.until = c.latency, 0 })
	return latency, err
}

// loud is a run that is written as fast as the relay takes it.
type loud struct {
	conn *client.Conn
	wg   sync.WaitGroup

	mu   sync.Mutex
	n    uint64
	done bool
	err  error
}

func startLoud(ctx context.Context, addr string, size int) (*loud, error) {
	conn, err := client.Dial(ctx, addr, client.Options{})
	if err != nil {
		return nil, err
	}
	run, err := conn.StartRun("loud")
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	body, err := conn.Stream(client.EventsPath(run), ndjson)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	l := &loud{conn: conn}
	l.wg.Go(func() { l.err = l.write(body, size) })
	return l, nil
}

// write writes until it is told to stop.
func (l *loud) write(body *client.Body, size int) error {
	line := append(stamp.Open(), '\n')
	for n := uint64(0); ; n++ {
		if n%256 == 0 {
			l.mu.Lock()
			l.n = n
			done := l.done
			l.mu.Unlock()
			if done {
				break
			}
		}
		if _, err := body.Write(line); err != nil {
			return err
		}
		line = append(stamp.Append(line[:0], n+1, 0, size), '\n')
	}
	status, answer, err := body.Close()
	if err != nil {
		return err
	}
	return client.Want(http.StatusOK, status, answer)
}

// sent is how many events were taken so far.
func (l *loud) sent() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// stop returns once all is stored.
func (l *loud) stop() error {
	l.mu.Lock()
	l.done = true
	l.mu.Unlock()
	l.wg.Wait()
	_ = l.conn.Close()
	return l.err
}
