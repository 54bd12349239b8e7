package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// pacer writes many runs at a steady pace, on one thread, whatever becomes of what it
// has sent before. Its fields belong to the goroutine of its loop.
type pacer struct {
	to     target
	loop   *client.Loop
	stop   func()
	size   int  // bytes of an event
	single bool // events come in requests of their own; otherwise bodies are streamed
	repeat bool // requests are repeated until they succeed

	feeds    []*feed
	started  int
	ready    int
	over     int
	stored   int     // answers to events
	again    []*feed // have to repeat their request
	done     bool    // connections may be lost now
	failed   error
	event    []byte
	out      []byte
	schedule stats.Schedule
	sends    uint64 // so far
	most     uint64 // how many there are to be
	lateness stats.Lateness
}

// pulse is the least time between two looks at what is due: at 20,000 events a second
// every look is for two. What it adds counts as latency.
const pulse = 100 * time.Microsecond

// newPacer makes a pacer of n runs, which are made by open. It has to be closed.
func newPacer(to target, name string, n, size int, single bool) (*pacer, error) {
	loop, stop, err := runLoop(to.addr)
	if err != nil {
		return nil, err
	}
	p := &pacer{to: to, loop: loop, stop: stop, size: size, single: single}
	for i := range n {
		p.feeds = append(p.feeds, &feed{pacer: p, at: to.place(name, i)})
	}
	return p, nil
}

// close ends all connections, and leaves the runs as they are.
func (p *pacer) close() {
	_ = p.loop.Do(func() { p.done = true })
	p.stop()
}

// open makes the runs, some at a time, with the event that begins their message.
func (p *pacer) open(ctx context.Context) error {
	if err := p.loop.Do(func() {
		for range min(joining, len(p.feeds)) {
			p.next()
		}
	}); err != nil {
		return err
	}
	return p.wait(ctx, "runs to be made", func() bool { return p.ready == len(p.feeds) })
}

func (p *pacer) places() (all []*place) {
	for _, d := range p.feeds {
		all = append(all, &d.at)
	}
	return all
}

func (p *pacer) next() {
	if p.started < len(p.feeds) {
		d := p.feeds[p.started]
		p.started++
		if err := d.start(); err != nil {
			p.fail(err)
		}
	}
}

// begin sends from start on, rate events a second of each run, for a time.
func (p *pacer) begin(start time.Time, rate int, d time.Duration) error {
	return p.loop.Do(func() {
		p.schedule = stats.Schedule{Start: start, Every: time.Second / time.Duration(rate), Streams: len(p.feeds)}
		p.sends, p.most = 0, uint64(d/p.schedule.Every)*uint64(len(p.feeds))
		p.loop.At(start, p.tick)
	})
}

// tick sends what is due. One that is far behind looks at what has arrived in between.
func (p *pacer) tick(now time.Time) time.Time {
	const some = 100
	for i := 0; p.sends < p.most && p.failed == nil; i++ {
		if i == some {
			return now
		}
		due := p.schedule.Due(p.sends)
		if due.After(now) {
			return maxTime(due, now.Add(pulse))
		}
		p.lateness.Sent(due, now)
		if err := p.feeds[p.schedule.Stream(p.sends)].event(due.UnixMicro()); err != nil {
			p.fail(fmt.Errorf("an event cannot be sent: %w", err))
		}
		p.sends++
		now = time.Now()
	}
	return time.Time{}
}

func maxTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// finish waits until everything was sent, and ends the runs once all is stored. It returns
// the number of the last event, which is the same for all.
func (p *pacer) finish(ctx context.Context) (last uint64, err error) {
	if err := p.wait(ctx, "events to be sent", func() bool { return p.sends >= p.most }); err != nil {
		return 0, err
	}
	if err := p.loop.Do(func() {
		for _, d := range p.feeds {
			last = d.n
			if err := d.close(); err != nil {
				p.fail(err)
			}
		}
	}); err != nil {
		return 0, err
	}
	return last, p.wait(ctx, "runs to end", func() bool { return p.over == len(p.feeds) })
}

// enough ends the sending once all runs have equally many events.
func (p *pacer) enough() error {
	return p.loop.Do(func() {
		n := uint64(len(p.feeds))
		p.most = (p.sends + n - 1) / n * n
	})
}

// late is how well it kept its pace.
func (p *pacer) late() (l stats.Lateness) {
	_ = p.loop.Do(func() { l = p.lateness })
	return l
}

func (p *pacer) fail(err error) {
	if p.failed == nil {
		p.failed = err
	}
}

// wait waits until done says so, which is asked on the loop, for as long as there are
// answers.
func (p *pacer) wait(ctx context.Context, what string, done func() bool) error {
	begin, came := time.Now(), 0
	for {
		var yes bool
		var why error
		if err := p.loop.Do(func() {
			p.repeatAll()
			yes, why = done(), p.failed
			if all := p.ready + p.stored + p.over; all > came {
				begin, came = time.Now(), all // slow, but it goes on
			}
		}); err != nil {
			return err
		}
		switch {
		case why != nil:
			return why
		case yes:
			return nil
		case time.Since(begin) > patience:
			return fmt.Errorf("%s did not happen within %v: %w", what, patience, context.DeadlineExceeded)
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}
