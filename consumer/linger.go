package consumer

import (
	"container/list"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// A tail goes on to hear its run for a while after its last observer has left: a page that
// is loaded anew, a phone that wakes up and a client whose stream was cut come back within
// seconds, and then find in memory what they missed. These bound how many tails nobody
// reads, and what they hold: as measured when they are left, and four times in the time
// that they are kept.
const (
	keptTails = 2048
	keptBytes = 32 << 20
)

// DefaultLinger is HubConfig.Linger unless set.
const DefaultLinger = 30 * time.Second

// kept is the tails that nobody reads, those that were left first in front. Guarded by the
// hub's lock.
type kept struct {
	list  list.List // of *leftTail
	bytes int
}

type leftTail struct {
	*observed
	since time.Time
	bytes int
}

func (k *kept) put(o *observed, now time.Time) {
	l := &leftTail{o, now, o.tail.size()}
	o.kept = k.list.PushBack(l)
	k.bytes += l.bytes
}

// take removes a tail, if it is there.
func (k *kept) take(o *observed) {
	if o.kept == nil {
		return
	}
	k.bytes -= k.list.Remove(o.kept).(*leftTail).bytes
	o.kept = nil
}

// measure finds out what the tails hold by now: they go on to hear.
func (k *kept) measure() {
	k.bytes = 0
	for at := k.list.Front(); at != nil; at = at.Next() {
		l := at.Value.(*leftTail)
		l.bytes = l.tail.size()
		k.bytes += l.bytes
	}
}

// over says that there are more than may be.
func (k *kept) over() bool { return k.list.Len() > keptTails || k.bytes > keptBytes }

// oldest is the tail that was left first, nil where there is none.
func (k *kept) oldest() *leftTail {
	if k.list.Len() == 0 {
		return nil
	}
	return k.list.Front().Value.(*leftTail)
}

// dropOldest drops the tail that was left first, which there is. Callers hold mu.
func (h *Hub) dropOldest() {
	o := h.kept.oldest().observed
	h.kept.take(o)
	h.drop(o)
}

// sweep drops what has lingered for long enough: tails, and segments that nobody asked for.
func (h *Hub) sweep() {
	every := time.NewTicker(h.cfg.Linger/4 + time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case now := <-every.C:
			h.mu.Lock()
			for o := h.kept.oldest(); o != nil && now.Sub(o.since) >= h.cfg.Linger; o = h.kept.oldest() {
				h.dropOldest()
			}
			for h.kept.measure(); h.kept.over(); {
				h.dropOldest()
			}
			h.mu.Unlock()
			h.segments.dropUnused(now.Add(-h.cfg.Linger))
		}
	}
}

// known is the entry of a run that has a tail, as it was found at some time: what never
// changes of it can be relied on. It is nil where there is none.
func (h *Hub) known(id subjects.RunID) *runs.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.tails[id]; o != nil && o.entry != nil && o.entry.FirstStreamSeq > 0 && !o.tail.broken() {
		return o.entry
	}
	return nil
}
