package consumer

import (
	"cmp"
	"container/list"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// observed is a tail with what keeps it fed: a subscription, a timer for silence,
// and the count of its readers.
type observed struct {
	tail  *tail
	hub   *Hub
	refs  int         // guarded by hub.mu, as the next two
	entry *runs.Entry // as it was found at some time; may be nil
	kept  *list.Element
	sub   *nats.Subscription

	mu       sync.Mutex
	timer    *time.Timer
	wait     time.Duration
	answered bool // the last check was
	resting  bool // nobody reads: it hears, and does not ask
	stopped  bool
}

// firstCheck is when a new tail first asks whether it missed anything; the time
// doubles up to HubConfig.Silence. In a cluster, interest takes a moment to reach
// the server that republishes.
const firstCheck = 100 * time.Millisecond

var channelSeed = maphash.MakeSeed()

// observe gives the tail of a run, subscribed before it returns: the subscription
// travels ahead of any question that the caller asks afterwards. The run's entry may be
// nil where it is not at hand.
func (h *Hub) observe(id subjects.RunID, e *runs.Entry) (o *observed, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return nil, false, fmt.Errorf("%w: the relay is closing", ErrBrokerUnavailable)
	}
	if o := h.tails[id]; o != nil {
		o.entry = cmp.Or(e, o.entry)
		if o.refs++; o.refs == 1 {
			h.kept.take(o)
			h.count(1)
			o.recheck(firstCheck)
		}
		return o, false, nil
	}
	o = &observed{tail: newTail(id), hub: h, refs: 1, entry: e, wait: firstCheck}
	ch := h.live[maphash.String(channelSeed, string(id))%uint64(len(h.live))]
	o.sub, err = h.store.Conn().ChanSubscribe(subjects.LiveSubject(id), ch)
	if err != nil {
		return nil, false, fmt.Errorf("%w: subscribing to the run: %w", ErrBrokerUnavailable, err)
	}
	o.timer = time.AfterFunc(o.wait, o.check)
	h.tails[id] = o
	h.count(1)
	return o, true, nil
}

// leave gives one reader's hold on a tail back. The tail is kept for a while.
func (h *Hub) leave(o *observed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.refs--; o.refs > 0 {
		return
	}
	h.count(-1)
	if h.ctx.Err() != nil || h.cfg.Linger < 0 || o.tail.broken() {
		h.drop(o)
		return
	}
	o.rest()
	h.kept.put(o, time.Now())
	for h.kept.over() {
		h.dropOldest()
	}
}

// drop forgets a tail. Callers hold mu.
func (h *Hub) drop(o *observed) {
	delete(h.tails, o.tail.id)
	o.stop()
}

func (h *Hub) count(delta int) {
	if h.cfg.Metrics.Tails != nil {
		h.cfg.Metrics.Tails(delta)
	}
}

// stop ends subscription and timer; a check under way ends by itself.
func (o *observed) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
		return
	}
	o.stopped = true
	o.timer.Stop()
	_ = o.sub.Unsubscribe() // fails only when the connection is closed
}

// recheck makes the tail ask after a time, as when it was new.
func (o *observed) recheck(after time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.stopped {
		o.resting, o.wait = false, firstCheck
		o.timer.Reset(after)
	}
}

// rest makes the tail ask no more, until recheck.
func (o *observed) rest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resting = true
	o.timer.Stop()
}

// check asks for the run's last record when nothing was heard for a while, so that
// a lost last message reaches the readers within a bound. It runs on the timer.
func (o *observed) check() {
	o.hub.mu.Lock()
	if o.hub.ctx.Err() != nil {
		o.hub.mu.Unlock()
		return
	}
	o.hub.wg.Add(1) // under mu, so that Close, which takes it, sees the call
	o.hub.mu.Unlock()
	defer o.hub.wg.Done()

	// Whatever is heard reveals by its seqs what was missed before it.
	answered := true
	if !o.tail.takeHeard() && !o.tail.finished() {
		answered = o.ask()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.stopped && !o.resting {
		if o.answered && !answered {
			o.wait = firstCheck // and ever more rarely, for as long as this lasts
		}
		o.answered = answered
		o.wait = min(2*o.wait, o.hub.cfg.Silence)
		o.timer.Reset(o.wait)
	}
}

// ask says whether the broker answered.
func (o *observed) ask() bool {
	h := o.hub
	if h.checks.Acquire(h.ctx, 1) != nil {
		return false
	}
	defer h.checks.Release(1)
	before, end := o.tail.head()
	if err := h.refresh(h.ctx, o.tail); err != nil {
		h.log.Debug("a quiet run could not be checked; trying again", "run", o.tail.id, "error", err)
		o.tail.unanswered()
		return false
	}
	after, endAfter := o.tail.head()
	if (after > before || endAfter != end) && h.cfg.Metrics.SilenceFound != nil {
		h.cfg.Metrics.SilenceFound()
	}
	o.tail.takeHeard()
	return true
}
