package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/stamp"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// errRefused is the error of an observer that was not let in.
var errRefused = errors.New("an observer was refused")

// crowd is many observers, on one thread. Its fields belong to the goroutine of its loop:
// others come to them through do and wait.
type crowd struct {
	to   target
	loop *client.Loop
	stop func()
	over bool // nobody comes back any more

	all     []*observer
	queue   []*observer // come when others have joined
	waiting []*observer // were refused
	dialled int

	from, until int64 // events due then, in Unix µs, are measured
	latency     stats.Histogram
	frames      uint64 // events read in that time, whenever they were due
	events      uint64 // read so far

	want   uint64    // the event that makes an observer caught up
	since  time.Time // from when on that is measured
	left   int       // how many are not
	last   time.Time // when the last one was
	caught stats.Histogram

	joined, ended int
	refused       int // how often, and the last time
	refusal       error
	returns       int
	failed        error
}

// joining is how many observers come at once where it is not meant to be a storm.
const joining = 100

// newCrowd makes a crowd without observers. It has to be closed.
func newCrowd(to target) (*crowd, error) {
	loop, stop, err := runLoop(to.addr)
	if err != nil {
		return nil, err
	}
	return &crowd{to: to, loop: loop, stop: stop, want: never}, nil
}

// never is the event that nobody gets.
const never = ^uint64(0)

// runLoop runs a loop until it is stopped.
func runLoop(addr string) (loop *client.Loop, stop func(), err error) {
	if loop, err = client.NewLoop(addr); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = loop.Run(ctx) }) // if it fails, so does what is asked of it
	return loop, func() {
		cancel()
		running.Wait()
	}, nil
}

// close ends all connections.
func (c *crowd) close() {
	_ = c.loop.Do(func() { c.over = true })
	c.stop()
}

// add gets n observers of a place to know. They come with join.
func (c *crowd) add(at *place, n int) {
	for range n {
		c.all = append(c.all, &observer{crowd: c, at: at, away: true})
	}
}

// join has all come who are away, some at a time, and waits until they have.
func (c *crowd) join(ctx context.Context) error {
	if err := c.loop.Do(func() {
		for _, o := range c.all {
			if o.away {
				o.away, o.joined = false, false
				c.queue = append(c.queue, o)
			}
		}
		for range min(joining, len(c.queue)) {
			c.next()
		}
	}); err != nil {
		return err
	}
	return c.wait(ctx, "observers to come", func() bool { return c.joined == len(c.all) })
}

func (c *crowd) joins() {
	c.joined++
	c.next()
}

func (c *crowd) next() {
	if len(c.queue) > 0 {
		o := c.queue[0]
		c.queue = c.queue[1:]
		c.dial(o)
	}
}

// leave has all go at once.
func (c *crowd) leave() error {
	return c.loop.Do(func() {
		c.joined = 0
		for _, o := range c.all {
			o.away = true
			if o.sock != nil {
				o.sock.Close()
			}
		}
	})
}

// storm has all come back at once, with their cursors, as fast as they can dial, but no
// more than most of them before others have got something. It is measured from now on
// until they have event want.
func (c *crowd) storm(want uint64, most int) error {
	const some = 50 // between two looks at what has arrived
	return c.loop.Do(func() {
		for _, o := range c.all {
			o.away, o.joined = false, false
		}
		c.expect(want)
		rest := c.all
		c.loop.At(c.since, func(now time.Time) time.Time {
			coming := len(c.all) - len(rest) - c.joined
			for range min(some, len(rest), most-coming) {
				c.dial(rest[0])
				rest = rest[1:]
			}
			if len(rest) == 0 {
				return time.Time{}
			}
			return now.Add(pulse / 2)
		})
	})
}

// dial has an observer come with its cursor.
func (c *crowd) dial(o *observer) {
	cursor := o.seq
	if c.to.bare && o.ledger.Next() > 1 {
		cursor = o.ledger.Next() // one more than its number: the event that begins the message
	}
	o.status = 0
	sock, err := c.loop.Dial(client.Source(c.dialled), o)
	if err == nil {
		c.dialled++
		o.sock = sock
		err = sock.Write(client.AppendGet(nil, c.loop.Host(), c.to.watch(*o.at, cursor)))
	}
	if err != nil {
		c.fail(fmt.Errorf("an observer cannot come: %w", err))
	}
}

// again has those come who were refused.
func (c *crowd) again() {
	waiting := c.waiting
	c.waiting = nil
	for _, o := range waiting {
		c.dial(o)
	}
}

// catchUp says what all have to get, and that the time until they have is measured from
// now.
func (c *crowd) catchUp(want uint64) error { return c.loop.Do(func() { c.expect(want) }) }

func (c *crowd) expect(want uint64) {
	c.want, c.since, c.left, c.caught = want, time.Now(), 0, stats.Histogram{}
	for _, o := range c.all {
		if o.caught = o.ledger.Next() > want; !o.caught {
			c.left++
		}
	}
}

// catches is told of each that has caught up.
func (c *crowd) catches(at time.Time) {
	c.left--
	c.last = at
	c.caught.Record(at.Sub(c.since))
}

// arrived is told of each event that came live.
func (c *crowd) arrived(due int64, at time.Time) {
	now := at.UnixMicro()
	if due >= c.from && due < c.until {
		c.latency.Record(time.Duration(now-due) * time.Microsecond)
	}
	if now >= c.from && now < c.until {
		c.frames++
	}
	c.events++
}

func (c *crowd) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
}

// wait waits until done says so, which is asked on the loop, for as long as something
// arrives. Those who were refused meanwhile try again.
func (c *crowd) wait(ctx context.Context, what string, done func() bool) error {
	const look = 5 * time.Millisecond
	begin, came := time.Now(), uint64(0)
	for again := begin.Add(10 * look); ; {
		var yes bool
		var why error
		if err := c.loop.Do(func() {
			yes, why = done(), c.failed
			if all := c.events + uint64(c.joined+c.ended); all > came {
				begin, came = time.Now(), all // slow, but it goes on
			}
			if now := time.Now(); now.After(again) {
				again = now.Add(10 * look)
				c.again()
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
			return fmt.Errorf("%s did not happen within %v: %d of %d have come, %d not caught up, %d have ended: %w",
				what, patience, c.joined, len(c.all), c.left, c.ended, errors.Join(c.refusal, context.DeadlineExceeded))
		}
		if err := sleep(ctx, look); err != nil {
			return err
		}
	}
}

// counts sums up what all hold who should have everything up to last.
func (c *crowd) counts(last uint64) (sum stamp.Counts, err error) {
	err = c.loop.Do(func() {
		for _, o := range c.all {
			sum.Add(o.ledger.Counts(last))
		}
	})
	return sum, err
}

// sleep waits for a time.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
