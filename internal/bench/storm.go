package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// What observers of a storm miss, and how many storms there are.
const (
	missed      = 20
	storms      = 5
	stormsShort = 3
)

// queued is the mode of a storm of which no more come at a time than a server's queue
// of connections to be accepted holds on Linux, 4,096: of those beyond it each one waits
// for a second, whatever the server is.
const (
	queued  = "queued"
	atATime = 4000
)

// storm measures how soon observers who were all cut off have what they missed.
func storm() Workload {
	w := Workload{
		Name:    "storm",
		Summary: "all observers drop, 20 events are published, all come back at once with their cursors",
		Run:     runStorm,
		Flags:   []string{"--lease", "10m"}, // most runs are silent between storms
	}
	for _, c := range []struct {
		observers, runs int
		mode            string
	}{{1000, 100, ""}, {10_000, 100, ""}, {10_000, 100, queued}, {1000, 1, ""}, {10_000, 1, ""}, {1000, 1000, ""}} {
		name := fmt.Sprintf("%s observers of %s runs", thousands(c.observers), thousands(c.runs))
		if c.runs == 1 {
			name = thousands(c.observers) + " observers of one run"
		}
		if c.mode == queued {
			name += fmt.Sprintf(", %s at a time", thousands(atATime))
		}
		w.Cases = append(w.Cases, Case{Name: name, Mode: c.mode, Short: c.runs == 100 && c.mode == "", Runs: c.runs, Observers: c.observers, Size: 200, Rate: 50})
	}
	return w
}

func runStorm(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	r, err := env.storms(ctx, env.fabric(), c)
	if err != nil {
		return nil, err
	}
	if most := 150.0; c.Runs == 100 {
		if c.Observers == 10_000 {
			most = 2000
		}
		r.Figure("all caught up p50").AtMost(most)
		if f := r.Figure("publishing meanwhile p99"); f != nil {
			f.AtMost(50)
		}
	}
	to, err := env.floorTarget(ctx)
	if err != nil {
		return nil, err
	}
	bare, err := env.storms(ctx, to, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", to.system, err)
	}
	r.Against(bare)
	return []report.Result{r, bare}, nil
}

// storms measures one system.
func (e *Env) storms(ctx context.Context, to target, c Case) (r report.Result, err error) {
	r = e.Result(c, to.system)
	p, crowd, err := e.gather(ctx, to, c)
	if err != nil {
		return r, err
	}
	defer p.close()
	defer crowd.close()
	probe, err := e.newProbe(ctx, to, c)
	if err != nil {
		return r, err
	}
	defer probe.close()
	before, err := probe.alone(ctx, e.Duration/2)
	if err != nil {
		return r, err
	}
	times := storms
	if e.Short {
		times = stormsShort
	}
	most := c.Observers
	if c.Mode == queued {
		most = atATime
	}
	var all, each stats.Histogram
	full := overflows()
	w := e.Begin(ctx, c)
	for i := range times {
		if err := e.oneStorm(ctx, p, crowd, probe, uint64(missed*(i+2)), most); err != nil {
			return r, err
		}
		all.Record(crowd.last.Sub(crowd.since))
		each.Merge(&crowd.caught)
	}
	use := w.End()
	full = overflows() - full
	sum, err := crowd.finish(ctx, p)
	if err != nil {
		return r, err
	}
	r.Counts = counted(sum, 0)
	r.CPUShare = use.Share()
	r.Millis("all caught up p50", all.Quantile(0.5))
	r.Millis("all caught up max", all.Max())
	r.Millis("one caught up p50", each.Quantile(0.5))
	err = probe.report(ctx, &r, before)
	r.Note = said(r.Note, true, "%d storms", times)
	r.Note = said(r.Note, full > 0, "%d connections waited for a second since the accept queue was full", full)
	r.Note = said(r.Note, crowd.refused > 0, "observers were refused %d times", crowd.refused)
	r.Note = said(r.Note, crowd.returns > 0, "observers lost their connection %d times", crowd.returns)
	return r, err
}

// gather makes the runs, with as many events as are missed in a storm, and has all
// observers come.
func (e *Env) gather(ctx context.Context, to target, c Case) (p *pacer, all *crowd, err error) {
	if p, err = newPacer(to, "chat", c.Runs, c.Size, true); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := p.open(ctx); err != nil {
		return nil, nil, err
	}
	if err := p.burst(ctx, missed); err != nil {
		return nil, nil, err
	}
	if all, err = newCrowd(to); err != nil {
		return nil, nil, err
	}
	for i, d := range p.feeds {
		all.add(&d.at, share(c.Observers, c.Runs, i))
	}
	if err = all.join(ctx); err == nil {
		if err = all.catchUp(missed); err == nil {
			err = all.wait(ctx, "observers to have what there is", func() bool { return all.left == 0 })
		}
	}
	if err != nil {
		all.close()
	}
	return p, all, err
}

// oneStorm has all leave, publishes what they miss, and waits until they are back and
// have all up to want.
func (e *Env) oneStorm(ctx context.Context, p *pacer, all *crowd, probe *probe, want uint64, most int) error {
	if err := all.leave(); err != nil {
		return err
	}
	if err := p.burst(ctx, missed); err != nil {
		return err
	}
	if err := probe.measure(true); err != nil {
		return err
	}
	if err := all.storm(want, most); err != nil {
		return err
	}
	if err := all.wait(ctx, "observers to catch up", func() bool { return all.left == 0 }); err != nil {
		return err
	}
	if err := probe.measure(false); err != nil {
		return err
	}
	return sleep(ctx, time.Second)
}
