package relay

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

const (
	// rowEvent is the largest event that a row is written. A larger one goes through each
	// stream's own buffer: what a member does not take at once is kept for it.
	rowEvent = 16 << 10
	// rowBatch is up to what size events that are ready together share a write.
	rowBatch = 32 << 10
	// rowTurn is after how many writes others get a turn: a millisecond or two. With 32, a
	// row of 500 waited often enough beside a crowd that came to be twice as late.
	rowTurn = 128
)

// row is some of the observers that have everything so far of one run: one goroutine reads
// on for all of them, and writes without ever waiting for one.
type row struct {
	of     *audience
	reader func(context.Context) (*consumer.Reader, error)
	cancel context.CancelFunc
	quiet  *time.Timer
	batch  batch

	mu      sync.Mutex
	members []*member // nil for those who have left
	free    []int     // where they were
	n       int       // who is there
	sent    uint64    // the last seq that is given out, or is just being
	over    bool
}

// newRow starts a row with its first member.
func newRow(a *audience, m *member) *row {
	all := a.of
	ctx, cancel := context.WithCancel(all.ctx)
	entry, at := m.source.entry, consumer.Cursor{RunID: a.id, AfterSeq: m.seq}
	r := &row{of: a, cancel: cancel, sent: m.seq}
	r.reader = func(ctx context.Context) (*consumer.Reader, error) {
		return all.hub.Open(ctx, entry, consumer.ReadOptions{Cursor: &at})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet = time.AfterFunc(all.quiet, r.comment)
	r.sit(m)
	all.wg.Go(func() { r.run(ctx) })
	return r
}

// run reads and writes until nobody is there, or what comes next is not for a row.
func (r *row) run(ctx context.Context) {
	defer r.end()
	reader, err := r.reader(ctx)
	if err != nil {
		return
	}
	defer reader.Close()
	for {
		r.batch.reset()
		idle, err := r.batch.fill(ctx, reader)
		if r.batch.events > 0 {
			r.pass()
			r.quiet.Reset(r.of.of.quiet)
		}
		switch {
		case err != nil:
			return
		case r.batch.other.Type != 0:
			r.giveOut(&r.batch.other)
			return
		case !idle:
			continue
		}
		select {
		case <-reader.Changed():
		case <-ctx.Done():
			return
		}
	}
}

// pass writes the batch to everybody who follows it.
func (r *row) pass() {
	chunk, payload := r.batch.chunk()
	first, last, served := r.batch.first, r.batch.last, 0
	now := r.of.of.spread()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = last
	for i := 0; i < len(r.members); i++ {
		m := r.members[i]
		switch {
		case m == nil, m.seq >= last: // it has come with these
		case m.seq+1 != first:
			r.giveBack(m)
		default:
			m.seq, m.frames = last, m.frames+r.batch.events
			r.send(m, chunk, payload, now)
			served++
		}
		if i%rowTurn == rowTurn-1 {
			r.turn()
		}
	}
	r.compact()
	r.of.of.count.add(consumer.Event, served*r.batch.events)
}

// comment fills a silence. It runs on the timer.
func (r *row) comment() {
	chunk, now := []byte("3\r\n:\n\n\r\n"), r.of.of.spread()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; i < len(r.members) && !r.over; i++ {
		if m := r.members[i]; m != nil {
			r.send(m, chunk, len(":\n\n"), now)
		}
		if i%rowTurn == rowTurn-1 {
			r.turn()
		}
	}
	if !r.over {
		r.quiet.Reset(r.of.of.quiet)
	}
}

// turn lets others have the processor, and those who want to leave the lock. Members may
// come and go meanwhile; their order stays, unless it is pass that is waited for.
func (r *row) turn() {
	r.mu.Unlock()
	runtime.Gosched()
	r.mu.Lock()
}

// send writes a chunk to one member, who is given back if it does not take all of it.
// Callers hold mu.
func (r *row) send(m *member, chunk []byte, payload int, now time.Duration) {
	if s := &m.sink.spread; s.due(now) {
		more := s.append(nil)
		chunk, payload = appendChunk(append([]byte(nil), chunk...), more), payload+len(more)
	}
	n, err := m.sink.out.direct.try(chunk)
	m.bytes += uint64(payload)
	switch {
	case err != nil:
		m.err = wrapWrite(err)
		r.giveBack(m)
	case n < len(chunk):
		m.rest = append([]byte(nil), chunk[n:]...)
		r.giveBack(m)
	}
}

// add takes one more in, if it has all that was given out. Callers hold the audience's lock.
func (r *row) add(m *member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || m.seq < r.sent {
		return false
	}
	r.sit(m)
	return true
}

func (r *row) sit(m *member) {
	m.row, m.at, m.sitting = r, len(r.members), true
	r.n++
	if i := len(r.free) - 1; i >= 0 { // a silent row does not grow with those who come and go
		m.at, r.free = r.free[i], r.free[:i]
		r.members[m.at] = m
		return
	}
	r.members = append(r.members, m)
}

// giveBack wakes a member's stream, for which nothing is done here any more. Callers hold mu.
func (r *row) giveBack(m *member) {
	r.remove(m)
	m.back <- struct{}{} // there is room
}

// remove takes a member out; the last one ends the row. Callers hold mu.
func (r *row) remove(m *member) {
	m.sitting = false
	r.members[m.at] = nil
	r.free = append(r.free, m.at)
	if r.n--; r.n == 0 {
		r.over = true
		r.cancel()
	}
}

// compact closes the gaps of those who have left. Callers hold mu.
func (r *row) compact() {
	if r.n == len(r.members) {
		return
	}
	kept := r.members[:0]
	for _, m := range r.members {
		if m != nil {
			m.at = len(kept)
			kept = append(kept, m)
		}
	}
	clear(r.members[len(kept):])
	r.members, r.free = kept, r.free[:0]
}

// size is how many are there.
func (r *row) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// giveOut gives everybody back with a frame that is not for a row.
func (r *row) giveOut(f *consumer.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members {
		if m != nil && m.seq == r.sent {
			m.frame = *f
		}
	}
}

// end gives back whoever is left.
func (r *row) end() {
	r.cancel()
	r.of.without(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.quiet.Stop()
	for _, m := range r.members {
		if m != nil {
			r.giveBack(m)
		}
	}
}
