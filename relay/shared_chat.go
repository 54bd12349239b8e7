package relay

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// sharedChat is one chat of a shared stream. Its goroutine watches one run after the other,
// and waits for the next in between.
type sharedChat struct {
	of     *shared
	wire   placed
	q      watch          // the cursor: the client's own, then where the stream is
	after  subjects.RunID // the run whose end was sent last, "" for none
	frames int

	run atomic.Pointer[lateReader] // what is being watched; nil in between
}

// A run that cannot be had at the moment is asked for again after a while, since the other
// chats go on: one that has as many observers as it may have, and one that is on its way out.
const (
	firstLook   = 250 * time.Millisecond
	longestLook = 15 * time.Second
)

// watch returns why the whole stream has to end.
func (c *sharedChat) watch(ctx context.Context) error {
	look := firstLook
	for {
		e, err := c.find(ctx)
		if err != nil {
			return err
		}
		moved := false
		leave, err := c.of.observer.watchesToo(e.RunID)
		if err == nil {
			moved, err = c.serve(ctx, e)
			leave()
		}
		if moved {
			look = firstLook
		}
		switch {
		case err == nil: // the run has ended
			c.q.run, c.q.after, c.after = "", nil, e.RunID
			continue
		case !errors.Is(err, errRunFull) && !errors.Is(err, consumer.ErrGone):
			return err
		}
		c.of.server.refused(err)
		if err := pause(ctx, jitter(look, look/4)); err != nil {
			return err
		}
		look = min(2*look, longestLook)
	}
}

// pause returns nil after d, or why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	again := time.NewTimer(d)
	defer again.Stop()
	select {
	case <-again.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find waits for a run without an end. Where there is none, and no end has said so, the
// observer is told.
func (c *sharedChat) find(ctx context.Context) (*runs.Entry, error) {
	req := c.q.find()
	req.Wait, req.After, req.Patience = consumer.Forever, c.after, c.of.server.cfg.BrokerPatience
	if c.after == "" {
		req.Idle = c.idle
	}
	e, err := c.of.server.cfg.Hub.Find(ctx, req)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return e, err
}

// idle says what a 204 says elsewhere.
func (c *sharedChat) idle() {
	err := c.of.sink.put(func(out *chunks) {
		out.text(c.wire.line)
		out.text(`data: {"type":"STREAM_IDLE"}` + "\n\n")
	})
	if err == nil {
		_ = c.of.sink.flush() // an error has ended the stream
	}
}

// serve brings the frames of one run; moved says that there were any. No error means that it
// has ended.
func (c *sharedChat) serve(ctx context.Context, e *runs.Entry) (moved bool, err error) {
	s := c.of.server
	run := &lateReader{hub: s.cfg.Hub, id: e.RunID, entry: e, opt: c.q.options()}
	run.opt.Asks = c.of.sink.lingers
	c.run.Store(run)
	defer run.close()
	defer c.run.Store(nil)
	st := &stream{wire: c.wire, sink: c.of.sink, brokerPatience: s.cfg.BrokerPatience, count: s.metrics.frames}
	if err = st.serve(ctx, run); err == nil {
		err = c.of.sink.flush()
	}
	c.frames += st.frames
	if moved = st.frames > 0; moved {
		c.q.run, c.q.after, c.after = e.RunID, &st.at, ""
	}
	return moved, err
}

// placed is the wire of one chat among others: that of protocol 1, with the chat's place as
// the name of each message.
type placed struct {
	protocol1
	line string
}

func newPlaced(n int) placed { return placed{line: "event: " + strconv.Itoa(n) + "\n"} }

func (p placed) frame(c *chunks, f *consumer.Frame) error {
	c.text(p.line)
	return p.protocol1.frame(c, f)
}
