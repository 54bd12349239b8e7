package bench

import (
	"context"
	"fmt"

	"github.com/rejoin/rejoin/internal/bench/report"
)

// fanout measures one run that many watch.
func fanout() Workload {
	w := Workload{
		Name:    "fanout",
		Summary: "one run of 50 events/s and many observers: latency, and CPU for each frame delivered",
		Run:     runFanout,
	}
	for _, n := range []int{1, 10, 100, 1000, 5000} {
		w.Cases = append(w.Cases, Case{Name: thousands(n) + " observers × 50/s", Short: n == 100 || n == 1000,
			Runs: 1, Observers: n, Rate: 50, Size: 200})
	}
	return w
}

func runFanout(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	r, _, err := env.paced(ctx, env.fabric(), c)
	if err != nil {
		return nil, err
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
	if c.Observers == 1000 {
		r.Figure("p50").AtMost(5)
		r.Figure("p99").AtMost(10)
		r.Figure("CPU per frame").RatioAtMost(1.5)
	}
	return []report.Result{r, bare}, nil
}
