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
	single bool // each event is a request of its own; otherwise bodies are streamed

	feeds    []*feed
	started  int
	ready    int
	over     int
	done     bool // connections may be lost now
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
	f := &pacer{to: to, loop: loop, stop: stop, size: size, single: single}
	for i := range n {
		f.feeds = append(f.feeds, &feed{pacer: f, at: to.place(name, i)})
	}
	return f, nil
}

// close ends all connections, and leaves the runs as they are.
func (f *pacer) close() {
	_ = f.loop.Do(func() { f.done = true })
	f.stop()
}

// open makes the runs, some at a time, with the event that begins their message.
func (f *pacer) open(ctx context.Context) error {
	if err := f.loop.Do(func() {
		for range min(joining, len(f.feeds)) {
			f.next()
		}
	}); err != nil {
		return err
	}
	return f.wait(ctx, "runs to be made", func() bool { return f.ready == len(f.feeds) })
}

func (f *pacer) next() {
	if f.started < len(f.feeds) {
		d := f.feeds[f.started]
		f.started++
		if err := d.start(); err != nil {
			f.fail(err)
		}
	}
}

// begin sends from start on, rate events a second of each run, for a time.
func (f *pacer) begin(start time.Time, rate int, d time.Duration) error {
	return f.loop.Do(func() {
		f.schedule = stats.Schedule{Start: start, Every: time.Second / time.Duration(rate), Streams: len(f.feeds)}
		f.sends, f.most = 0, uint64(d/f.schedule.Every)*uint64(len(f.feeds))
		f.loop.At(start, f.tick)
	})
}

// tick sends what is due.
func (f *pacer) tick(now time.Time) time.Time {
	for f.sends < f.most && f.failed == nil {
		due := f.schedule.Due(f.sends)
		if due.After(now) {
			return maxTime(due, now.Add(pulse))
		}
		f.lateness.Sent(due, now)
		if err := f.feeds[f.schedule.Stream(f.sends)].event(due.UnixMicro()); err != nil {
			f.fail(fmt.Errorf("an event cannot be sent: %w", err))
		}
		f.sends++
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
func (f *pacer) finish(ctx context.Context) (last uint64, err error) {
	if err := f.wait(ctx, "events to be sent", func() bool { return f.sends >= f.most }); err != nil {
		return 0, err
	}
	if err := f.loop.Do(func() {
		for _, d := range f.feeds {
			last = d.n
			if err := d.close(); err != nil {
				f.fail(err)
			}
		}
	}); err != nil {
		return 0, err
	}
	return last, f.wait(ctx, "runs to end", func() bool { return f.over == len(f.feeds) })
}

// late is how well it kept its pace.
func (f *pacer) late() (l stats.Lateness) {
	_ = f.loop.Do(func() { l = f.lateness })
	return l
}

func (f *pacer) fail(err error) {
	if f.failed == nil {
		f.failed = err
	}
}

// wait waits until done says so, which is asked on the loop.
func (f *pacer) wait(ctx context.Context, what string, done func() bool) error {
	for begin := time.Now(); ; {
		var yes bool
		var why error
		if err := f.loop.Do(func() { yes, why = done(), f.failed }); err != nil {
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
