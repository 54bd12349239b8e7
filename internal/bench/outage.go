package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// outageTime is how long the broker is away.
const outageTime = 2 * time.Second

// outage measures how soon observers go on after the broker was killed.
func outage() Workload {
	w := Workload{
		Name:    "outage",
		Summary: "the broker is killed and started again under many observers: until all have an event published after that",
		Run:     runOutage,
		Flags:   []string{"--lease", "10m"}, // runs are silent while observers come
	}
	for _, c := range []struct{ observers, runs int }{{1000, 100}, {10_000, 100}, {10_000, 1000}} {
		w.Cases = append(w.Cases, Case{Name: fmt.Sprintf("%s observers of %s runs", thousands(c.observers), thousands(c.runs)),
			Short: c.runs == 100 && c.observers == 10_000, Runs: c.runs, Observers: c.observers, Size: 200})
	}
	return w
}

func runOutage(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	r := env.Result(c, report.Rejoin)
	p, crowd, err := env.gather(ctx, env.fabric(), c)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer crowd.close()
	times := 3
	if env.Short {
		times = 1
	}
	var answered, stored, all, each stats.Histogram
	if err := p.loop.Do(func() { p.repeat = true }); err != nil {
		return nil, err
	}
	w := env.Begin(ctx, c)
	for i := range times {
		env.KillBroker()
		if err := sleep(ctx, outageTime); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := env.RestartBroker(ctx); err != nil {
			return nil, err
		}
		answered.Record(time.Since(begin))
		if err := crowd.catchUp(uint64(missed + i + 1)); err != nil {
			return nil, err
		}
		if err := p.burst(ctx, 1); err != nil {
			return nil, err
		}
		stored.Record(time.Since(crowd.since))
		if err := crowd.wait(ctx, "observers to get the event", func() bool { return crowd.left == 0 }); err != nil {
			return nil, err
		}
		all.Record(crowd.last.Sub(crowd.since))
		each.Merge(&crowd.caught)
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	use := w.End()
	sum, err := crowd.finish(ctx, p)
	if err != nil {
		return nil, err
	}
	r.Counts = counted(sum, 0)
	r.CPUShare = use.Share()
	delete(r.CPUShare, Broker) // it is another process at the end
	f := r.Millis("all current p50", all.Quantile(0.5))
	if c.Observers == 10_000 {
		f.AtMost(2000)
	}
	r.Millis("all current max", all.Max())
	r.Millis("one current p50", each.Quantile(0.5))
	r.Millis("events stored p50", stored.Quantile(0.5))
	r.Millis("broker started in", answered.Quantile(0.5))
	r.Note = said("", true, "%d outages of %v, counted from when the broker answers", times, outageTime)
	r.Note = said(r.Note, crowd.returns > 0, "observers lost their stream %d times", crowd.returns)
	r.Note = said(r.Note, crowd.refused > 0, "observers were refused %d times", crowd.refused)
	return []report.Result{r}, err
}
