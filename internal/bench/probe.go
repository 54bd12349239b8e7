package bench

import (
	"context"
	"time"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// probe is a run of 50 events/s with one observer who stays: how publishing fares while
// something else happens.
type probe struct {
	p     *pacer
	crowd *crowd
}

// newProbe begins one. It has to be closed.
func (e *Env) newProbe(ctx context.Context, to target, c Case) (*probe, error) {
	p, err := newPacer(to, "probe", 1, c.Size, false)
	if err != nil {
		return nil, err
	}
	all, err := newCrowd(to)
	if err != nil {
		p.close()
		return nil, err
	}
	b := &probe{p: p, crowd: all}
	if err := b.begin(ctx, c.Rate); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *probe) begin(ctx context.Context, rate int) error {
	if err := b.p.open(ctx); err != nil {
		return err
	}
	b.crowd.add(&b.p.feeds[0].at, 1)
	if err := b.crowd.join(ctx); err != nil {
		return err
	}
	return b.p.begin(time.Now(), rate, time.Hour)
}

func (b *probe) close() {
	b.p.close()
	b.crowd.close()
}

// measure begins or ends a time of which events are measured. Such times add up.
func (b *probe) measure(on bool) error {
	return b.crowd.loop.Do(func() {
		if now := time.Now().UnixMicro(); on {
			b.crowd.from, b.crowd.until = now, 1<<62
		} else {
			b.crowd.until = now
		}
	})
}

// alone measures for a time, and begins anew.
func (b *probe) alone(ctx context.Context, d time.Duration) (before time.Duration, err error) {
	if err := b.measure(true); err != nil {
		return 0, err
	}
	if err := sleep(ctx, d); err != nil {
		return 0, err
	}
	err = b.crowd.loop.Do(func() {
		before = b.crowd.latency.Quantile(0.99)
		b.crowd.latency, b.crowd.until = stats.Histogram{}, 0
	})
	return before, err
}

// report ends the run and adds what was measured.
func (b *probe) report(ctx context.Context, r *report.Result, before time.Duration) error {
	if err := b.p.enough(); err != nil {
		return err
	}
	sum, err := b.crowd.finish(ctx, b.p)
	if err != nil {
		return err
	}
	r.Counts.Add(counted(sum, b.p.late().Late))
	return b.crowd.loop.Do(func() {
		r.Millis("publishing before p99", before)
		if b.crowd.latency.Count() > 0 { // a storm may be over before the next event is due
			r.Millis("publishing meanwhile p99", b.crowd.latency.Quantile(0.99))
		}
	})
}
