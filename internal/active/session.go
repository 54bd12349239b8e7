package active

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

const (
	// heardBacklog is how many changes may wait to be applied. They come in bursts when
	// many runs start at once, and one is applied in some 20 µs.
	heardBacklog = 4096

	// firstReread is when everything is read for the second time. In a cluster, interest
	// takes a moment to spread, and what changes in that moment is not heard.
	firstReread = 250 * time.Millisecond

	// restShare bounds what reads cost: a session rests for so many times as long as its
	// last read took, but for no more than longestRest times Config.Reread.
	restShare   = 20
	longestRest = 4

	// askAtOnce is how many doubted runs the leader is asked for after one read.
	askAtOnce = 64
)

// session is one span of time in which somebody asks: a mirror, kept up to date by two
// goroutines, and the rooms of the realms that are watched.
type session struct {
	feed   *Feed
	cancel context.CancelFunc
	heard  *runs.Listener
	missed chan struct{} // a change is known to be missed
	ready  chan struct{} // closed when everything has been read once

	mu     sync.Mutex
	mirror *mirror
	rooms  map[subjects.Realm]*room
	broken error // why the last read failed
	ended  bool
}

// begin starts a session. Callers hold mu.
func (f *Feed) begin() (*session, error) {
	heard, err := f.cfg.Store.Listen(heardBacklog)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{feed: f, cancel: cancel, heard: heard, missed: make(chan struct{}, 1), ready: make(chan struct{}),
		mirror: newMirror(), rooms: map[subjects.Realm]*room{}}
	f.wg.Go(func() {
		defer s.end()
		var wg sync.WaitGroup
		wg.Go(func() { s.listen(ctx) })
		s.reread(ctx)
		wg.Wait()
	})
	return s, nil
}

// end closes what the session has open.
func (s *session) end() {
	s.heard.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, r := range s.rooms {
		r.close()
	}
}

// listen applies changes as they are heard.
func (s *session) listen(ctx context.Context) {
	var missed uint64
	for {
		c, err := s.heard.Next(ctx)
		if err != nil {
			return
		}
		s.change(func(m *mirror) { m.apply(c) })
		if n := s.heard.Missed(); n > missed {
			missed = n
			select {
			case s.missed <- struct{}{}:
			default:
			}
		}
	}
}

// change alters the mirror and hands on what became visible.
func (s *session) change(alter func(*mirror)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	alter(s.mirror)
	for _, run := range s.mirror.takeChanged() {
		if r := s.rooms[run.realm]; r != nil {
			r.add(run)
		}
	}
}

// reread reads everything, again and again, ever more rarely as long as nothing happens
// that may have hidden a change.
func (s *session) reread(ctx context.Context) {
	store, wait, failing := s.feed.cfg.Store, firstReread, false
	for {
		back := store.Reconnected()
		from := time.Now()
		again, err := s.readAll(ctx)
		if ctx.Err() != nil {
			return
		}
		rest := min(restShare*time.Since(from), longestRest*s.feed.cfg.Reread)
		if err != nil {
			if !failing {
				s.feed.log.Warn("the live runs cannot be read; asking until they can", "error", err)
			}
			rest = 0
		}
		failing = err != nil
		if again || err != nil {
			wait = firstReread
		}
		pause := time.NewTimer(max(wait+rand.N(wait/4+1), rest))
		wait = min(2*wait, s.feed.cfg.Reread)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		case <-back:
			wait = firstReread
		case <-s.missed:
			wait = firstReread
			pause.Reset(max(wait, rest))
			select {
			case <-ctx.Done():
			case <-back:
			case <-pause.C:
			}
		}
		pause.Stop()
	}
}

// readAll reads everything once and asks the leader about what is in doubt. again says
// that another read should follow soon.
func (s *session) readAll(ctx context.Context) (again bool, err error) {
	store := s.feed.cfg.Store
	s.change((*mirror).beginRead)
	err = store.EachEntryAndPointer(ctx, func(c runs.Change) {
		s.change(func(m *mirror) { m.show(c) })
	})
	var ask []doubted
	if err == nil {
		s.change(func(m *mirror) { ask, again = m.endRead() })
	}
	for _, d := range ask[:min(len(ask), askAtOnce)] {
		var e *runs.Entry
		e, err = store.Entry(ctx, d.id)
		if errors.Is(err, runs.ErrNotFound) {
			e, err = nil, nil
		}
		if err != nil {
			break
		}
		revision := d.revision
		if e != nil {
			revision = e.Revision()
		}
		s.change(func(m *mirror) { m.settle(d, revision, e) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
	if err == nil {
		select {
		case <-s.ready:
		default:
			close(s.ready)
		}
	}
	return again || len(ask) > askAtOnce, err
}

// awaitReady returns nil once everything is known. What is known of a broker that has gone
// away is no answer for somebody who comes new.
func (s *session) awaitReady(ctx context.Context) error {
	patience := time.NewTimer(s.feed.cfg.Patience)
	defer patience.Stop()
	ready := true
	select {
	case <-s.ready:
	case <-patience.C:
		ready = false
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if status := s.feed.cfg.Store.Conn().Status(); status != nats.CONNECTED {
		return fmt.Errorf("%w: the connection is %v", ErrUnavailable, status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return ErrClosed
	case s.broken != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, s.broken)
	case !ready:
		return fmt.Errorf("%w: reading them takes long", ErrUnavailable)
	}
	return nil
}

// join makes a subscription to a realm.
func (s *session) join(realm subjects.Realm) *Subscription {
	sub := &Subscription{realm: realm, session: s}
	s.mu.Lock()
	live := s.mirror.live[realm]
	sub.Runs = make([]*Run, 0, len(live))
	for _, run := range live {
		sub.Runs = append(sub.Runs, run)
	}
	r := s.rooms[realm]
	if r == nil {
		r = newRoom(s.feed.cfg.Backlog)
		s.rooms[realm] = r
	}
	r.join(sub)
	if s.ended {
		r.close()
	}
	s.mu.Unlock()
	slices.SortFunc(sub.Runs, newer)
	if most := s.feed.cfg.MaxRuns; len(sub.Runs) > most {
		sub.Runs, sub.Truncated = slices.Clip(sub.Runs[:most]), true
	}
	return sub
}

// leave ends a subscription. A room that nobody is in any more goes.
func (s *session) leave(sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !sub.room.leave(sub) && s.rooms[sub.realm] == sub.room {
		delete(s.rooms, sub.realm)
	}
}
