package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// row is a check that is made at the same time as others.
type row struct {
	name, expected string
	do             func(ctx context.Context) (seen string, err error)

	seen string
	err  error
	took time.Duration
}

// errNotPublished ends the observers of a run that does not go on.
var errNotPublished = errors.New("the run could not be published")

// live publishes the run while observers come, stop reading, drop off and come back.
func (p *prober) live(ctx context.Context) {
	observing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var attached sync.WaitGroup // those who are there from the start
	rows := p.rows(&attached)
	var wg sync.WaitGroup
	for i := range rows {
		r := &rows[i]
		wg.Go(func() {
			from := time.Now()
			r.seen, r.err = r.do(observing)
			r.took = time.Since(from)
		})
	}
	attached.Wait()
	p.check("publish", fmt.Sprintf("%d events stored at %d/s", p.cfg.Events, p.cfg.Rate), func() (string, error) {
		slowest, err := p.publish(ctx)
		if err != nil {
			cancel(errNotPublished)
		}
		return fmt.Sprintf("stored, slowest answer %v, sent again %d times", slowest.Round(time.Millisecond), p.repeated), err
	})
	if observing.Err() == nil {
		p.check("end", "stored, and the same again is no error", p.finish(ctx, cancel))
	}
	wg.Wait() // each observer has its own bound
	for _, r := range rows {
		p.verdict(r.name, r.expected, r.seen, r.err, r.took)
	}
}

// finish ends the run, twice.
func (p *prober) finish(ctx context.Context, cancel context.CancelCauseFunc) func() (string, error) {
	return func() (string, error) {
		for range 2 {
			seq, err := p.end(ctx, true, subjects.ReasonDone)
			if err != nil {
				cancel(fmt.Errorf("the run could not be ended: %w", err))
				return "", err
			}
			p.ended = true
			if seq != p.plan.n {
				return "", fmt.Errorf("seq %d, want %d", seq, p.plan.n)
			}
		}
		return fmt.Sprintf("seq %d, twice", p.plan.n), nil
	}
}

func (p *prober) rows(attached *sync.WaitGroup) []row {
	n := p.plan.n
	stopped, again := n/4, 3*n/4
	w := watch{run: p.run}
	var lag lags
	first, second, third := p.observe(nil), p.observe(nil), p.observe(nil)
	for _, o := range []*observer{first, second, third} {
		attached.Add(1)
		o.attached = attached.Done
	}
	first.each = func(f *consumer.Frame) error {
		if f.Type == consumer.Event {
			lag.add(p.progress.lag(f.Seq), f.Seq > stopped && f.Seq <= again)
		}
		return nil
	}
	rows := []row{
		{name: "first reader", expected: "every event once, then the end", do: p.follows(first, watch{})},
		{name: "second reader", expected: "the same, though it stops reading for a while", do: p.stops(second, w, stopped, again)},
		{name: "independence", expected: fmt.Sprintf("nothing delayed beyond %v while the second does not read", p.cfg.MaxLag)},
		{name: "drop and resume", expected: "exactly what is missing, from the cursor", do: p.resumes(third, w)},
		{name: "joins without cursor", expected: "a snapshot, then what follows", do: p.joins(n/2, p.observe(nil), w)},
		{name: "joins at cursor 0", expected: "every event once", do: p.joins(n/2, p.observe(at(0)), watch{run: p.run, after: at(0)})},
		{name: "joins ahead of the head", expected: "a snapshot, then what follows", do: p.joins(n/2, p.observe(nil), watch{run: p.run, after: at(n + 1000)})},
		{name: "snapshot, polled", expected: "never wrong, never back, the end at last", do: p.polls},
	}
	done := make(chan struct{})
	follow := rows[0].do
	rows[0].do = func(ctx context.Context) (string, error) {
		defer close(done)
		seen, err := follow(ctx)
		return strings.TrimSpace(seen + "; lag " + lag.String()), err
	}
	rows[2].do = func(context.Context) (string, error) {
		<-done // the first reader's is bounded
		return lag.verdict(p.cfg.MaxLag)
	}
	return rows
}

// follows has an observer follow the run. Whoever waits for it to be attached waits no
// longer than it tries.
func (p *prober) follows(o *observer, w watch) func(context.Context) (string, error) {
	attached := o.attached
	var once sync.Once
	if attached != nil {
		o.attached = func() { once.Do(attached) }
	}
	return func(ctx context.Context) (string, error) {
		if attached != nil {
			defer once.Do(attached)
		}
		return o.run(ctx, w)
	}
}

// stops has an observer stop reading after one seq until the run is at another.
func (p *prober) stops(o *observer, w watch, from, to uint64) func(context.Context) (string, error) {
	follow := p.follows(o, w)
	return func(ctx context.Context) (string, error) {
		rested := false
		o.each = func(f *consumer.Frame) error {
			if rested || f.Seq < from {
				return nil
			}
			rested = true
			return p.progress.wait(ctx, to)
		}
		return follow(ctx)
	}
}

// resumes has an observer drop off after a third of the run and come back with its
// cursor after half of it.
func (p *prober) resumes(o *observer, w watch) func(context.Context) (string, error) {
	leave, back := p.plan.n/3, p.plan.n/2
	follow := p.follows(o, w)
	return func(ctx context.Context) (string, error) {
		o.each = func(f *consumer.Frame) error {
			if f.Seq >= leave {
				return errLeft
			}
			return nil
		}
		if seen, err := follow(ctx); err != nil || o.ledger.ended {
			return seen, err
		}
		if err := p.progress.wait(ctx, back); err != nil {
			return "", err
		}
		cursor := o.ledger.seq
		o.each = nil
		seen, err := o.run(ctx, watch{run: p.run, after: at(cursor)})
		return fmt.Sprintf("%s; resumed at %d", seen, cursor), err
	}
}

// joins has an observer come when the run is at a seq.
func (p *prober) joins(seq uint64, o *observer, w watch) func(context.Context) (string, error) {
	follow := p.follows(o, w)
	return func(ctx context.Context) (string, error) {
		if err := p.progress.wait(ctx, seq); err != nil {
			return "", err
		}
		return follow(ctx)
	}
}

// polls asks for snapshots until one has the end.
func (p *prober) polls(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.length()+6*p.cfg.Patience, errors.New("no snapshot has the end"))
	defer cancel()
	pause := min(max(p.cfg.length()/20, 20*time.Millisecond), p.cfg.Patience)
	var seq uint64
	broken := 0
	for n := 1; ; n++ {
		s, err := p.snapshot(ctx, "")
		switch {
		case err != nil && closedEarly(err) && broken < maxReopened:
			broken++
			s.Seq = seq
		case err != nil:
			return "", err
		case s.Seq < seq:
			return "", fmt.Errorf("seq %d after seq %d: it goes back", s.Seq, seq)
		case s.End != nil && s.Seq != p.plan.n:
			return "", fmt.Errorf("the end after %d of %d events", s.Seq, p.plan.n)
		case s.End != nil:
			return counted(n, "poll"), checkEnd(*s.End)
		}
		seq = s.Seq
		if err := sleep(ctx, pause); err != nil {
			return "", err
		}
	}
}

// lags are how long events took to reach an observer. One goroutine adds, and those who
// read come later.
type lags struct {
	n           int
	most, while time.Duration // of all, and of those while another observer did not read
	then        int
}

func (l *lags) add(d time.Duration, while bool) {
	l.n++
	l.most = max(l.most, d)
	if while {
		l.then++
		l.while = max(l.while, d)
	}
}

func (l *lags) String() string { return "at most " + l.most.Round(time.Millisecond).String() }

func (l *lags) verdict(limit time.Duration) (string, error) {
	seen := fmt.Sprintf("%s, the slowest after %v", counted(l.then, "event"), l.while.Round(time.Millisecond))
	if l.then == 0 || l.while > limit {
		return "", errors.New(seen)
	}
	return seen, nil
}
