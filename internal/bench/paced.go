package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// warmUp is how long a pace is kept before anything is measured.
const warmUp = time.Second

// Modes of a case: how its events come, where that is not in streamed bodies.
const (
	single = "single" // each in a request of its own
	direct = "native" // from producers in Go, which need no relay
)

// writers are the producers of a case that has a pace.
type writers interface {
	open(context.Context) error // makes the runs, and what begins their message
	places() []*place           // where they are watched, once they are there
	begin(start time.Time, rate int, d time.Duration) error
	finish(context.Context) (last uint64, err error) // ends the runs, once all is stored
	late() stats.Lateness
	close()
}

func (e *Env) writers(ctx context.Context, to target, c Case) (writers, error) {
	if c.Mode == direct {
		return e.newNative(ctx, to, "chat", c.Runs, c.Size)
	}
	return newPacer(to, "chat", c.Runs, c.Size, c.Mode == single)
}

// paced measures latency at a pace: c.Runs runs of c.Rate events a second, watched by
// c.Observers observers in all, spread evenly.
func (e *Env) paced(ctx context.Context, to target, c Case) (r report.Result, use Use, err error) {
	r = e.Result(c, to.system)
	p, err := e.writers(ctx, to, c)
	if err != nil {
		return r, use, err
	}
	defer p.close()
	crowd, err := watched(ctx, to, p, c)
	if err != nil {
		return r, use, err
	}
	defer crowd.close()
	if use, err = e.window(ctx, p, crowd, c); err != nil {
		return r, use, err
	}
	last, err := p.finish(ctx)
	if err != nil {
		return r, use, err
	}
	if err := crowd.through(ctx, last); err != nil {
		return r, use, err
	}
	return r, use, e.latencies(&r, p, crowd, use, last)
}

// steady makes the runs of a case, to be begun, and has their observers come.
func (e *Env) steady(ctx context.Context, to target, c Case) (p *pacer, all *crowd, err error) {
	if p, err = newPacer(to, "chat", c.Runs, c.Size, c.Mode == single); err != nil {
		return nil, nil, err
	}
	if all, err = watched(ctx, to, p, c); err != nil {
		p.close()
	}
	return p, all, err
}

// watched makes the runs of a case, and has their observers come.
func watched(ctx context.Context, to target, by writers, c Case) (all *crowd, err error) {
	if all, err = newCrowd(to); err != nil {
		return nil, err
	}
	if err = by.open(ctx); err == nil {
		for i, at := range by.places() {
			all.add(at, share(c.Observers, c.Runs, i))
		}
		err = all.join(ctx)
	}
	if err != nil {
		all.close()
	}
	return all, err
}

// share is how many of n are the ith one's of many.
func share(n, of, i int) int { return n*(i+1)/of - n*i/of }

// window warms up and measures, while the pacer sends.
func (e *Env) window(ctx context.Context, p writers, crowd *crowd, c Case) (use Use, err error) {
	start := time.Now().Add(50 * time.Millisecond)
	from, until := start.Add(warmUp), start.Add(warmUp+e.Duration)
	if err := crowd.loop.Do(func() { crowd.from, crowd.until = from.UnixMicro(), until.UnixMicro() }); err != nil {
		return use, err
	}
	if err := p.begin(start, c.Rate, until.Sub(start)); err != nil {
		return use, err
	}
	if err := sleep(ctx, time.Until(from)); err != nil {
		return use, err
	}
	w := e.Begin(ctx, c)
	err = sleep(ctx, time.Until(until))
	return w.End(), err
}

// through waits until all observers have seen the end or, where there is none, the last
// event.
func (c *crowd) through(ctx context.Context, last uint64) error {
	if err := c.catchUp(last); err != nil {
		return err
	}
	return c.wait(ctx, "observers to see the end", func() bool {
		if c.to.bare {
			return c.left == 0
		}
		return c.ended == len(c.all)
	})
}

// finish ends what the observers watch, and gives their account once they have seen that.
func (c *crowd) finish(ctx context.Context, p writers) (sum stamp.Counts, err error) {
	last, err := p.finish(ctx)
	if err == nil {
		err = c.through(ctx, last)
	}
	if err != nil {
		return sum, err
	}
	return c.counts(last)
}

// latencies adds what was measured.
func (e *Env) latencies(r *report.Result, p writers, crowd *crowd, use Use, last uint64) error {
	sum, err := crowd.counts(last)
	if err != nil {
		return err
	}
	late := p.late()
	r.Counts = counted(sum, late.Late)
	r.CPUShare = use.Share()
	return crowd.loop.Do(func() {
		r.Millis("p50", crowd.latency.Quantile(0.5))
		r.Millis("p99", crowd.latency.Quantile(0.99))
		r.Millis("max", crowd.latency.Max())
		if n := crowd.frames; n > 0 {
			cpu := use.CPU[crowd.to.server]
			r.Add("CPU per frame", "µs", float64(cpu)/float64(time.Microsecond)/float64(n))
		}
		r.Note = said(r.Note, late.Worst > 20*time.Millisecond, "the generator was up to %v late", late.Worst.Round(time.Millisecond))
		r.Note = said(r.Note, crowd.returns > 0, "observers had to come back %d times", crowd.returns)
		r.Note = said(r.Note, crowd.refused > 0, "observers were refused %d times", crowd.refused)
	})
}

// said adds to a note what is so.
func said(note string, so bool, format string, args ...any) string {
	if !so {
		return note
	}
	if note != "" {
		note += "; "
	}
	return note + fmt.Sprintf(format, args...)
}
