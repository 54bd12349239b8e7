package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/report"
)

// idle measures what observers cost that get nothing.
func idle() Workload {
	w := Workload{
		Name:    "idle",
		Summary: "observers to whom nothing is sent: memory of relay and broker for each",
		Run:     runIdle,
		Flags:   []string{"--lease", "10m"},
		Window:  20 * time.Second, // past the first comment that keeps a silent stream alive
	}
	for _, runs := range []int{1, 1000} {
		name := "10,000 observers of one run"
		if runs > 1 {
			name = fmt.Sprintf("10,000 observers of %s runs", thousands(runs))
		}
		w.Cases = append(w.Cases, Case{Name: name, Short: runs > 1, Runs: runs, Observers: 10_000, Size: 200})
	}
	return w
}

func runIdle(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	r, relay, err := env.idlers(ctx, env.fabric(), c)
	if err != nil {
		return nil, err
	}
	to, err := env.floorTarget(ctx)
	if err != nil {
		return nil, err
	}
	bare, least, err := env.idlers(ctx, to, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", to.system, err)
	}
	r.Against(bare)
	r.Add("beyond a bare connection", "KiB", relay-least).AtMost(20)
	r.Figure("broker, each").AtMost(1)
	return []report.Result{r, bare}, nil
}

// idlers measures one system, and gives what each observer takes of the process that
// serves it, in KiB.
func (e *Env) idlers(ctx context.Context, to target, c Case) (r report.Result, each float64, err error) {
	r = e.Result(c, to.system)
	// The first ones warm up what does not depend on how many there are.
	p, first, err := e.gather(ctx, to, Case{Runs: c.Runs, Observers: max(c.Observers/20, c.Runs), Size: c.Size})
	if err != nil {
		return r, 0, err
	}
	defer p.close()
	first.close()
	if err := sleep(ctx, min(e.Duration, 2*time.Second)); err != nil {
		return r, 0, err
	}
	crowd, err := newCrowd(to)
	if err != nil {
		return r, 0, err
	}
	defer crowd.close()
	heap := e.heap(ctx, to)
	w := e.Begin(ctx, c)
	for i, d := range p.feeds {
		crowd.add(&d.at, share(c.Observers, c.Runs, i))
	}
	begin := time.Now()
	if err := crowd.join(ctx); err != nil {
		return r, 0, err
	}
	came := time.Since(begin)
	if err := sleep(ctx, e.Duration); err != nil {
		return r, 0, err
	}
	use := w.End()
	per := func(name string) float64 {
		return float64(use.After[name]-use.Before[name]) / 1024 / float64(c.Observers)
	}
	each = per(to.server)
	r.Add("server, each", "KiB", each)
	if after := e.heap(ctx, to); after > 0 {
		r.Add("heap and stacks, each", "KiB", (after-heap)/1024/float64(c.Observers))
	}
	if !to.bare {
		r.Add("broker, each", "KiB", per(Broker))
	}
	r.Add("came in", "s", came.Seconds())
	r.CPUShare = use.Share()
	sum, err := crowd.finish(ctx, p)
	if err != nil {
		return r, 0, err
	}
	r.Counts = counted(sum, 0)
	r.Note = said(r.Note, crowd.returns > 0, "observers lost their connection %d times", crowd.returns)
	return r, each, err
}

// heap is what the relay's Go runtime has in use, in bytes; 0 where it does not say.
func (e *Env) heap(ctx context.Context, to target) (bytes float64) {
	if to.bare {
		return 0
	}
	c, err := client.Dial(ctx, to.addr, client.Options{})
	if err != nil {
		return 0
	}
	defer c.Close()
	status, text, err := c.Get("/metrics")
	if err != nil || status != http.StatusOK {
		return 0
	}
	return metric(text, "go_memstats_heap_inuse_bytes") + metric(text, "go_memstats_stack_inuse_bytes")
}
