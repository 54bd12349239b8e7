package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
)

// warmUp is how long a pace is kept before anything is measured.
const warmUp = time.Second

// single is the mode of a case whose events are requests of their own.
const single = "single"

// paced measures latency at a pace: c.Runs runs of c.Rate events a second, watched by
// c.Observers observers in all, spread evenly.
func (e *Env) paced(ctx context.Context, to target, c Case) (r report.Result, use Use, err error) {
	r = e.Result(c, to.system)
	p, crowd, err := e.steady(ctx, to, c)
	if err != nil {
		return r, use, err
	}
	defer p.close()
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
	if all, err = newCrowd(to); err != nil {
		p.close()
		return nil, nil, err
	}
	if err = p.open(ctx); err == nil {
		for i, d := range p.feeds {
			all.add(&d.at, share(c.Observers, c.Runs, i))
		}
		err = all.join(ctx)
	}
	if err != nil {
		p.close()
		all.close()
	}
	return p, all, err
}

// share is how many of n are the ith one's of many.
func share(n, of, i int) int { return n*(i+1)/of - n*i/of }

// window warms up and measures, while the pacer sends.
func (e *Env) window(ctx context.Context, p *pacer, crowd *crowd, c Case) (use Use, err error) {
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
func (c *crowd) finish(ctx context.Context, p *pacer) (sum stamp.Counts, err error) {
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
func (e *Env) latencies(r *report.Result, p *pacer, crowd *crowd, use Use, last uint64) error {
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
