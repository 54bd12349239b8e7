package relay

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Why an observer is not admitted, or is told to leave.
var (
	errDraining = errors.New("the relay is shutting down")
	errFull     = errors.New("too many observers")
)

// observers are the open requests that watch or wait for a run: admitted up to a
// limit, told to leave when they are old or when the relay goes.
type observers struct {
	limit  int
	maxAge time.Duration
	window time.Duration // over which a drain spreads the departures

	count    atomic.Int64 // of open
	mu       sync.Mutex
	guard    *credentials // nil where nobody is authenticated
	owners   quota[subjects.Realm]
	writers  quota[subjects.Realm] // producers that are told of their runs
	runs     quota[subjects.RunID]
	open     map[*observer]struct{}
	taken    int // places of those
	draining bool
	empty    chan struct{} // closed once draining and nobody is left
}

// observer is one of them. While it waits for a run, being told to leave cancels
// it; once it streams, leave gets the cause and the stream ends between frames.
type observer struct {
	all       *observers
	owner     subjects.Realm
	of        *quota[subjects.Realm] // which of them counts the owner
	places    int                    // how many it takes: one, but for a shared stream
	run       subjects.RunID         // "" until watches
	leave     chan cause
	cancel    context.CancelCauseFunc
	timer     *time.Timer // set once it streams
	left      func()      // tells its credential's guard
	streaming bool
}

func newObservers(limit int, maxAge, window time.Duration) *observers {
	return &observers{limit: limit, maxAge: maxAge, window: window, writers: quota[subjects.Realm]{limit: max(1, limit/2)},
		open: map[*observer]struct{}{}, empty: make(chan struct{})}
}

// admit takes an observer in; the error is errDraining, errFull or errOwnerFull. The
// context returned ends with errDraining when it has to leave while waiting, or at once.
func (all *observers) admit(ctx context.Context) (*observer, context.Context, error) {
	return all.admitTo(ctx, &all.owners, 1)
}

// admitMany is admit for an observer of several chats, which counts as so many.
func (all *observers) admitMany(ctx context.Context, places int) (*observer, context.Context, error) {
	return all.admitTo(ctx, &all.owners, places)
}

// admitWriter is admit for a producer that wants to be told of a run: it has as many as it has
// runs, but no single one takes more than half of the places.
func (all *observers) admitWriter(ctx context.Context) (*observer, context.Context, error) {
	return all.admitTo(ctx, &all.writers, 1)
}

func (all *observers) admitTo(ctx context.Context, of *quota[subjects.Realm], places int) (*observer, context.Context, error) {
	owner := ownerOf(ctx)
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case all.draining:
		return nil, nil, errDraining
	case all.taken+places > all.limit:
		return nil, nil, errFull
	case !of.take(owner, places):
		return nil, nil, errOwnerFull
	}
	ctx, cancel := context.WithCancelCause(ctx)
	o := &observer{all: all, owner: owner, of: of, places: places, leave: make(chan cause, 1), cancel: cancel}
	all.open[o] = struct{}{}
	all.taken += places
	all.count.Store(int64(all.taken))
	o.left = all.guard.enter(o, identity(ctx))
	return o, ctx, nil
}

// watches says which run the observer watches, once that is known. The error is errRunFull.
func (o *observer) watches(run subjects.RunID) error {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if !o.all.runs.take(run, 1) {
		return errRunFull
	}
	o.run = run
	return nil
}

// watchesToo is watches for one of several runs; leave is called when that is over. The error
// is errRunFull.
func (o *observer) watchesToo(run subjects.RunID) (leave func(), err error) {
	all := o.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.runs.take(run, 1) {
		return nil, errRunFull
	}
	return func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.runs.give(run, 1)
	}, nil
}

// stream says that the observer has its run now, and starts its age. The error is
// errDraining.
func (o *observer) stream() error {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if o.all.draining {
		return errDraining
	}
	o.streaming = true
	age := jitter(o.all.maxAge, o.all.maxAge/10)
	o.timer = time.AfterFunc(age, func() { o.tell(causeAge) })
	return nil
}

// tell makes the observer leave; what it was told first counts.
func (o *observer) tell(c cause) {
	select {
	case o.leave <- c:
	default:
	}
}

// done gives the observer's place back. It may be called twice.
func (o *observer) done() {
	o.cancel(nil)
	all := o.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if _, ok := all.open[o]; !ok {
		return
	}
	if o.timer != nil {
		o.timer.Stop()
	}
	delete(all.open, o)
	all.taken -= o.places
	all.count.Store(int64(all.taken))
	o.left()
	o.of.give(o.owner, o.places)
	all.runs.give(o.run, 1)
	if all.draining && len(all.open) == 0 {
		close(all.empty)
	}
}

// drain admits nobody from now on, sends away who waits, and tells the streams to
// leave at times spread over the window. It reports whether this was the first call.
func (all *observers) drain() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.draining {
		return false
	}
	all.draining = true
	if len(all.open) == 0 {
		close(all.empty)
	}
	for o := range all.open {
		if !o.streaming {
			o.cancel(errDraining)
			continue
		}
		o.timer.Stop()
		o.timer = time.AfterFunc(rand.N(all.window+1), func() { o.tell(causeDrain) })
	}
	return true
}

// hurry tells everybody to leave now, also those who are in the middle of reading
// from the broker.
func (all *observers) hurry() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for o := range all.open {
		o.tell(causeDrain)
		o.cancel(errDraining)
	}
}

func (all *observers) isDraining() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.draining
}

// jitter is d, up to spread more or less.
func jitter(d, spread time.Duration) time.Duration {
	return d - spread + rand.N(2*spread+1)
}
