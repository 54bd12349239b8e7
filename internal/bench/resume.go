package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/floor"
	"github.com/rejoin/rejoin/internal/bench/report"
)

// How many observers come, one at a time, and how far back those are that have a cursor.
const (
	attaches      = 100
	attachesShort = 60
	back          = 100
)

// Modes of resume.
const (
	oneRun   = ""           // all attach to one run
	distinct = "distinct"   // each to a run that nobody has read
	oneByOne = "one by one" // likewise, and every event was stored by itself, as at an agent's pace
)

// warming is how many of three runs that are read once are only read so that relay and
// broker have the memory that they have after a while; the others are measured.
const warming = 3

// resume measures how soon an observer that comes has what it lacks.
func resume() Workload {
	w := Workload{
		Name:    "resume",
		Summary: "an observer attaches to a run that goes on: cold, from 100 events back, and from its head",
		Run:     runResume,
		Flags:   []string{"--lease", "10m"}, // its runs are silent while they are read
	}
	for _, size := range []int{200, 1024} {
		for _, n := range []int{100, 4096, 10_000, 100_000} {
			w.Cases = append(w.Cases, Case{Name: fmt.Sprintf("%s × %s", thousands(n), bytesText(size)),
				Short: n == 10_000 || n == 100_000 && size == 200, Events: n, Size: size, Runs: 1})
		}
	}
	w.Cases = append(w.Cases,
		Case{Name: "10,000 × 200 B, each run read once", Short: true, Events: 10_000, Size: 200, Runs: 40 * warming, Mode: distinct},
		Case{Name: "10,000 × 200 B stored one by one, each run read once", Events: 10_000, Size: 200, Runs: 20 * warming, Mode: oneByOne},
		Case{Name: "10,000 × 200 B beside 1,000 runs", Short: true, Events: 10_000, Size: 200, Runs: 1, Others: 1000})
	return w
}

// attachPlan is what observers of a run do, in three ways.
type attachPlan struct {
	addr             string
	warm             func(i int) string // path for an observer that is not measured; may be nil
	cold, back, head func(i int) string // path for the ith observer; nil: not measured
	last             uint64             // number of the last event
	back0            uint64             // number that those have who come from back
	times            int
}

func runResume(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	setup, err := client.Dial(ctx, env.Relay, client.Options{})
	if err != nil {
		return nil, err
	}
	defer setup.Close()
	for i := range c.Others {
		if _, err := filled(setup, fmt.Sprintf("other-%d", i), 10, c.Size); err != nil {
			return nil, err
		}
	}
	runs, err := filledRuns(ctx, env.Relay, c)
	if err != nil {
		return nil, err
	}
	if err := settle(ctx); err != nil {
		return nil, err
	}
	chat := func(i int) string { return fmt.Sprintf("chat-%d", i%c.Runs) }
	run := func(i int) string { return runs[i%c.Runs] }
	n, last := uint64(c.Events), uint64(c.Events-1)
	p := attachPlan{addr: env.Relay, last: last, back0: uint64(max(0, int(last)-back)), times: attaches,
		cold: func(i int) string { return client.LivePath(chat(i), run(i)) },
		back: func(i int) string { return client.CursorPath(chat(i), run(i), uint64(max(0, int(n)-back))) },
		head: func(i int) string { return client.CursorPath(chat(i), run(i), n) + "&synced=true" },
	}
	if env.Short {
		p.times = attachesShort
	}
	p.onceEach(c)
	r, bytes, err := env.attachAll(ctx, c, report.Rejoin, p)
	if err != nil {
		return nil, err
	}
	resumeTargets(&r, c)
	bare, err := env.bareResume(ctx, c, p)
	if err != nil {
		return nil, err
	}
	r.Against(bare)
	plain := env.Result(c, report.Copy)
	plain.Millis("cold whole p50", floor.Copy(bytes))
	plain.Note = fmt.Sprintf("of the %d bytes of a snapshot", bytes)
	return []report.Result{r, bare, plain}, nil
}

// onceEach changes the plan, where the case is so, to one in which no run is read twice.
func (p *attachPlan) onceEach(c Case) {
	if c.Mode == oneRun {
		return
	}
	times, cold, back := c.Runs/warming, p.cold, p.back
	p.times, p.head = times, nil
	p.warm = cold
	p.cold = func(i int) string { return cold(times + i) }
	p.back = func(i int) string { return back(2*times + i) }
}

// attachAll measures one system.
func (e *Env) attachAll(ctx context.Context, c Case, system string, p attachPlan) (r report.Result, bytes int, err error) {
	r = e.Result(c, system)
	for i := 0; p.warm != nil && i < p.times; i++ {
		if err := new(attachTimes).attach(ctx, p.addr, p.warm(i), 0, p.last); err != nil {
			return r, 0, fmt.Errorf("%s: %w", system, err)
		}
	}
	w := e.Begin(ctx, c)
	for _, way := range []struct {
		name string
		path func(int) string
		from uint64
	}{{"cold", p.cold, 0}, {"100 back", p.back, p.back0}, {"head", p.head, p.last}} {
		if way.path == nil {
			continue
		}
		var t attachTimes
		for i := range p.times {
			if err := t.attach(ctx, p.addr, way.path(i), way.from, p.last); err != nil {
				return r, 0, fmt.Errorf("%s, %s: %w", system, way.name, err)
			}
		}
		r.Millis(way.name+" first p50", t.first.Quantile(0.5))
		if way.from < p.last {
			r.Millis(way.name+" whole p50", t.whole.Quantile(0.5))
			r.Millis(way.name+" whole p99", t.whole.Quantile(0.99))
		} else {
			r.Millis(way.name+" first p99", t.first.Quantile(0.99))
		}
		r.Counts.Add(counted(t.counts, 0))
		if way.name == "cold" {
			bytes = t.bytes
		}
	}
	r.CPUShare = w.End().Share()
	return r, bytes, nil
}

// bareResume measures the bare SSE server, which has the same events in memory.
func (e *Env) bareResume(ctx context.Context, c Case, p attachPlan) (r report.Result, err error) {
	if p.addr, err = e.Floor(ctx); err != nil {
		return r, err
	}
	setup, err := client.Dial(ctx, p.addr, client.Options{})
	if err != nil {
		return r, err
	}
	defer setup.Close()
	for i := range c.Runs {
		if err := filledTopic(setup, fmt.Sprintf("t%d", i), c.Events, c.Size); err != nil {
			return r, err
		}
	}
	topic := func(i int) string { return topicPath(fmt.Sprintf("t%d", i%c.Runs)) }
	p.cold = func(i int) string { return topic(i) + "?from=0" }
	p.back = func(i int) string { return fmt.Sprintf("%s?from=%d", topic(i), max(0, c.Events-back)) }
	p.head = nil // it has nothing to say there
	p.onceEach(c)
	r, _, err = e.attachAll(ctx, c, report.BareSSE, p)
	return r, err
}

// resumeTargets are what is promised.
func resumeTargets(r *report.Result, c Case) {
	ms := func(name string, d time.Duration) {
		if f := r.Figure(name); f != nil {
			f.AtMost(float64(d) / float64(time.Millisecond))
		}
	}
	if c.Events > back {
		ms("100 back whole p50", 1500*time.Microsecond)
	}
	switch {
	case c.Events == 10_000 && c.Size == 200:
		ms("cold first p50", 3*time.Millisecond)
		ms("cold whole p50", 5*time.Millisecond)
	case c.Events == 10_000 && c.Size == 1024:
		ms("cold whole p50", 20*time.Millisecond)
	case c.Events == 100_000 && c.Size == 200:
		ms("cold whole p50", 40*time.Millisecond)
	}
}
