package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// How Append waits between attempts, and how often it wants to be told that the stream
// is gone before it believes it: a server that is coming up may say so too.
const (
	firstRetry   = 10 * time.Millisecond
	longestRetry = time.Second
	lostAfter    = 6
)

// maxParts bounds the messages of one turn: a chat's subject keeps many more, so that a
// turn never pushes out its own beginning.
const maxParts = subjects.MaxHistoryPerChat / 4

// appending is one call of Append.
type appending struct {
	h       *History
	subject string
	run     subjects.RunID
	writer  string // this call's
	body    []byte
	chunk   int // bytes of one part
	parts   int
}

func (h *History) appending(t *Turn) (*appending, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	subject, err := subjects.HistorySubject(t.Realm, t.ChatID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTurn, err)
	}
	body, err := t.encode()
	if err != nil {
		return nil, err
	}
	a := &appending{h: h, subject: subject, run: t.RunID, writer: nuid.Next(), body: body}
	a.chunk = int(h.store.Conn().MaxPayload()) - subjects.HeaderRoom
	if a.chunk < 1 {
		return nil, fmt.Errorf("%w: the broker takes messages of %d bytes", ErrTooLarge, h.store.Conn().MaxPayload())
	}
	if a.parts = (len(body) + a.chunk - 1) / a.chunk; a.parts > maxParts {
		return nil, fmt.Errorf("%w: %d messages of %d bytes, at most %d are taken", ErrTooLarge, a.parts, a.chunk, maxParts)
	}
	return a, nil
}

// store stores the turn. What to do next always follows from the subject's last message:
// whichever answer was lost, and whoever came in between, the leader knows.
func (a *appending) store(ctx context.Context) error {
	wait, lost := firstRetry, 0
	for {
		err := a.pass(ctx)
		switch {
		case err == nil || hopeless(err):
			return err
		case !errors.Is(err, ErrNoStream):
			lost = 0
		default:
			if lost++; lost >= lostAfter {
				return err
			}
		}
		// Jitter, for two large turns must not break into each other for ever.
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("turn not known to be saved: %w (last: %w)", ctx.Err(), err)
		case <-a.h.store.Reconnected():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, longestRetry)
	}
}

// pass reads the last message and stores what is missing behind it. Any error means to
// look again.
func (a *appending) pass(ctx context.Context) error {
	last, err := a.h.last(ctx, a.subject)
	if err != nil {
		return err
	}
	for !last.holds(a.run) {
		m := mark{run: a.run, part: 1, parts: a.parts, writer: a.writer, before: last.next()}
		if last.writer == a.writer {
			m.part = last.part + 1
		}
		from := (m.part - 1) * a.chunk
		data := a.body[from:min(from+a.chunk, len(a.body))]
		seq, err := a.h.publish(ctx, a.subject, &m, data, last.seq)
		if err != nil {
			return err
		}
		last = stored{mark: m, seq: seq}
	}
	return nil
}
