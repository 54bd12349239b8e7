package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// FindRequest names what an observer wants to watch.
type FindRequest struct {
	Realm  subjects.Realm // whose chat it is
	ChatID string
	RunID  subjects.RunID // the run of its cursor, "" for none; any string is allowed
	Wait   time.Duration  // how long to wait for a run in an idle chat

	// After is for who has seen the end of a run of the chat and waits for the next one, "" for
	// nobody: any run but this is that one, however short it was. RunID is "" then.
	After subjects.RunID
	// Idle, unless nil, is called once where there is nothing at first and it is waited.
	Idle func()
	// Patience is how long the broker may be away while it is waited; 0 means as long as Wait.
	Patience time.Duration
}

// Forever is a Wait without an end.
const Forever = time.Duration(1<<63 - 1)

// longestCheck bounds the time between two questions of who waits for longer: what is lost of
// a change is found within it.
const longestCheck = time.Minute

// Find decides which run an observer watches: the chat's newest one, which is the
// active one where any is. A run whose turn waits behind others is watched by its id.
// It returns ErrIdle when nothing is registered for the
// chat, or when the newest run has ended, was saved, and the request names no run.
// With Wait it returns ErrIdle only after that time, and as soon as a run appears
// it returns that run, also one that has ended by then. With Patience it returns
// ErrBrokerUnavailable once the broker has been away for that long. Other errors are ErrBrokerUnavailable, ctx's, and those of
// subjects.Token for a chat id that is too long.
func (h *Hub) Find(ctx context.Context, req FindRequest) (*runs.Entry, error) {
	f := finder{hub: h, req: req, looked: req.After != "", first: req.After}
	if req.Wait <= 0 {
		return f.current(ctx)
	}
	deadline := time.NewTimer(req.Wait)
	defer deadline.Stop()
	moved := make(chan struct{}, 1)
	stop, err := h.store.WatchPointer(req.Realm, req.ChatID, func() {
		select {
		case moved <- struct{}{}:
		default:
		}
	})
	if errors.Is(err, subjects.ErrTooLong) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	defer stop()
	// A change can be missed: while interest in it spreads through a cluster, or
	// with the connection. So it is also asked for, ever more rarely.
	recheck := firstCheck
	for {
		back := h.store.Reconnected()
		e, err := f.current(ctx)
		switch {
		case errors.Is(err, ErrIdle):
			f.idle()
		case !errors.Is(err, ErrBrokerUnavailable), f.away():
			return e, err
		}
		again := time.NewTimer(f.untilCheck(recheck))
		select {
		case <-moved:
		case <-back:
			recheck = firstCheck
		case <-again.C:
			recheck = min(2*recheck, longestCheck)
		case <-deadline.C:
			again.Stop()
			return f.current(ctx) // what appeared up to now is delivered
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		}
		again.Stop()
	}
}

// finder looks for the run of one request, again and again.
type finder struct {
	hub    *Hub
	req    FindRequest
	looked bool           // at the pointer
	first  subjects.RunID // what it named then
	told   bool           // that the chat is idle
	since  time.Time      // when the broker was first found away; zero while it answers
}

// idle follows a question to which the answer was that there is nothing.
func (f *finder) idle() {
	f.since = time.Time{}
	if !f.told && f.req.Idle != nil {
		f.req.Idle()
	}
	f.told = true
}

// away follows a question that was not answered, and says whether that is so for too long.
func (f *finder) away() bool {
	if f.since.IsZero() {
		f.since = time.Now()
	}
	return f.req.Patience > 0 && time.Since(f.since) >= f.req.Patience
}

// untilCheck is how long to wait for a change, d at most: the last question while the broker is
// away is when patience ends.
func (f *finder) untilCheck(d time.Duration) time.Duration {
	if f.since.IsZero() || f.req.Patience <= 0 {
		return d
	}
	return max(0, min(d, f.req.Patience-time.Since(f.since)))
}

// current finds the run without waiting.
func (f *finder) current(ctx context.Context) (*runs.Entry, error) {
	h, req := f.hub, f.req
	p, err := h.store.Pointer(ctx, req.Realm, req.ChatID)
	if errors.Is(err, subjects.ErrTooLong) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	if !f.looked {
		f.looked, f.first = true, p.RunID
	}
	if req.RunID == p.RunID {
		// Its observer comes back, and the run is where it was.
		if e := h.known(req.RunID); e != nil && e.Realm == req.Realm && e.ChatID == req.ChatID {
			return e, nil
		}
	}
	if req.RunID != p.RunID && slices.Contains(p.Queue, req.RunID) {
		if e, err := h.entryOf(ctx, req, req.RunID); !errors.Is(err, ErrIdle) {
			return e, err
		}
	}
	var e *runs.Entry
	err = ErrIdle
	if req.After == "" || p.RunID != req.After {
		e, err = h.entryOf(ctx, req, p.RunID)
	}
	if errors.Is(err, ErrIdle) && req.RunID != "" && req.RunID != p.RunID {
		// The pointer is gone, or dangles for the moment of an eviction: the run
		// that was asked for may still be there.
		e, err = h.entryOf(ctx, req, req.RunID)
	}
	// A run that was there before, and is saved, is in the history; one that came while it was
	// waited for is what was waited for, however short it was.
	if err == nil && req.RunID == "" && p.RunID == f.first && e.End != nil && e.End.Persisted {
		err = ErrIdle
	}
	if errors.Is(err, ErrIdle) && len(p.Queue) > 0 {
		return h.entryOf(ctx, req, p.Queue[0]) // its time is about to come
	}
	return e, err
}

// entryOf reads the entry of a run of the chat; ErrIdle where there is none.
func (h *Hub) entryOf(ctx context.Context, req FindRequest, id subjects.RunID) (*runs.Entry, error) {
	if _, err := subjects.ParseRunID(string(id)); err != nil {
		return nil, ErrIdle
	}
	e, err := h.store.Entry(ctx, id)
	if errors.Is(err, runs.ErrNotFound) {
		return nil, ErrIdle
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	if e.Realm != req.Realm || e.ChatID != req.ChatID {
		return nil, ErrIdle
	}
	return e, nil
}
