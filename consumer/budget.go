package consumer

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// budget bounds the bytes of logs and snapshots that a process holds for its observers.
// Who wants some waits for its turn, in order of arrival; who holds some corrects how
// much without waiting, so that nobody waits for others while others wait for it. What
// is held may therefore be more than the limit for a while, and then nobody is let in.
type budget struct {
	limit int64
	told  func(bytes int64, waiting int) // may be nil; called with mu held

	mu      sync.Mutex
	held    int64
	queue   list.List // of *request
	waiting atomic.Int64
}

// request is one that waits. turn is closed once it has its bytes.
type request struct {
	bytes int64
	turn  chan struct{}
}

// take waits for n bytes. More than there are altogether counts as all of them. The
// error is ctx's; then nothing is taken.
func (b *budget) take(ctx context.Context, n int64) (int64, error) {
	n = min(n, b.limit)
	b.mu.Lock()
	if b.queue.Len() == 0 && b.fits(n) {
		b.held += n
		b.tell()
		b.mu.Unlock()
		return n, nil
	}
	r := &request{bytes: n, turn: make(chan struct{})}
	at := b.queue.PushBack(r)
	b.tell()
	b.mu.Unlock()
	select {
	case <-r.turn:
		return n, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-r.turn: // at the same moment
		b.held -= n
	default:
		b.queue.Remove(at)
	}
	b.admit() // whoever stood behind it may fit
	return 0, ctx.Err()
}

// change adds to what is held, or gives some back. It never waits.
func (b *budget) change(delta int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += delta
	b.admit()
}

// fits says whether n more bytes are within the limit. Where nothing is held, anything
// is. Callers hold mu.
func (b *budget) fits(n int64) bool { return b.held <= 0 || b.held+n <= b.limit }

// admit lets in who fits, in order. Callers hold mu.
func (b *budget) admit() {
	for b.queue.Len() > 0 {
		r := b.queue.Front().Value.(*request)
		if !b.fits(r.bytes) {
			break
		}
		b.queue.Remove(b.queue.Front())
		b.held += r.bytes
		close(r.turn)
	}
	b.tell()
}

func (b *budget) tell() {
	b.waiting.Store(int64(b.queue.Len()))
	if b.told != nil {
		b.told(b.held, b.queue.Len())
	}
}

// share is what one holder has of a budget. One goroutine at a time changes it.
type share struct {
	of   *budget
	held int64
}

// wait takes n bytes in turn, where nothing is held yet. The error is ctx's.
func (s *share) wait(ctx context.Context, n int64) (err error) {
	s.held, err = s.of.take(ctx, n)
	return err
}

// set corrects what is held; set(0) gives all of it back. It does not wait.
func (s *share) set(n int64) {
	if n != s.held {
		s.of.change(n - s.held)
		s.held = n
	}
}

// hold is since when, and how much, an observer has had something in hand that is being
// written to it. It may be asked about from any goroutine.
type hold struct {
	since atomic.Int64 // Unix nanoseconds; 0 while there is nothing
	bytes atomic.Int64
}

func (h *hold) begin(bytes int64) {
	h.bytes.Store(bytes)
	h.since.Store(time.Now().UnixNano())
}

func (h *hold) end() { h.since.Store(0) }

// perMiB is how much longer than HubConfig.HoldTime each MiB may be held while others
// wait: 8 Mbit a second is what a poor connection has.
const perMiB = time.Second

// overdue says that others wait, and that what is held has been held for too long: its
// observer reads, or it would have been cut off, but so slowly that it stands in
// everybody's way.
func (h *hold) overdue(b *budget, patience time.Duration) bool {
	since := h.since.Load()
	if since == 0 || b.waiting.Load() == 0 {
		return false
	}
	allowed := patience + time.Duration(h.bytes.Load()>>20)*perMiB
	return time.Since(time.Unix(0, since)) > allowed
}
