package producer

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Producer writes the runs of one process, all in the name of one lease. Its
// methods may be called at once from anywhere.
type Producer struct {
	store *runs.Store
	cfg   Config
	log   *slog.Logger
	lease *runs.Lease

	ctx    context.Context // ends when Close has ended what it could
	stop   context.CancelFunc
	wg     sync.WaitGroup // every goroutine but saves
	saves  sync.WaitGroup
	saving atomic.Int32  // saves that have not returned
	own    *runs.Store   // opened by Connect, closed by Close
	tick   chan struct{} // the lease was renewed

	mu      sync.Mutex
	closed  bool // nothing begins any more
	stopped bool // Close waits for what still runs
	runs    map[*Run]struct{}
	later   map[*Run]subjects.End // ends that could not be stored yet; all are in runs
}

// Open claims a lease and keeps it until Close. The store stays the caller's and
// has to outlive the Producer.
func Open(ctx context.Context, store *runs.Store, cfg Config) (*Producer, error) {
	cfg = cfg.withDefaults()
	p := &Producer{store: store, cfg: cfg, log: cfg.Logger, lease: store.NewLease(cfg.Lease),
		tick: make(chan struct{}, 1),
		runs: map[*Run]struct{}{}, later: map[*Run]subjects.End{}}
	if err := p.lease.Renew(ctx); err != nil {
		return nil, err
	}
	p.ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.wg.Go(func() {
		p.lease.Run(p.ctx, func(err error) {
			if err == nil {
				p.poke()
			}
		})
	})
	p.wg.Go(p.endLate)
	p.wg.Go(p.look)
	return p, nil
}

// LeaseID names the lease in the entries of this Producer's runs.
func (p *Producer) LeaseID() string { return p.lease.ID() }

// Close closes every run that was neither finished nor released, see Run.Close, and
// gives the lease up. It waits for all of it until ctx is done; what could not
// be ended by then is left to the janitors. Start and Resume fail from then on.
// ErrSaveRunning says that an application's save ignores its context. A second
// call waits for what the first left running.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	open := slices.Collect(maps.Keys(p.runs))
	p.mu.Unlock()

	var wg sync.WaitGroup
	errs := make([]error, len(open)+1)
	for i, r := range open {
		wg.Go(func() { errs[i] = r.close(ctx) })
	}
	wg.Wait()
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()

	saved := make(chan struct{})
	go func() { // ends with the last save
		p.saves.Wait()
		close(saved)
	}()
	select {
	case <-saved:
	case <-ctx.Done():
		if p.saving.Load() > 0 {
			errs[len(open)] = ErrSaveRunning
		}
	}
	if p.own != nil {
		p.own.Close()
	}
	return errors.Join(errs...)
}

// spawn starts a goroutine that Close waits for; false once Close waits.
func (p *Producer) spawn(wg *sync.WaitGroup, f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		wg.Go(f)
	}
	return !p.stopped
}

// add registers a run that begins to write; ErrClosed after Close.
func (p *Producer) add(r *Run) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.runs[r] = struct{}{}
	p.wg.Go(func() {
		r.listen()
		<-r.ctx.Done()
		r.interrupt()
	})
	return nil
}

// remove forgets a run that is over for this process.
func (p *Producer) remove(r *Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, r)
	delete(p.later, r)
}

func (p *Producer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// check looks an event over and describes it in e.
func (p *Producer) check(event []byte, e *agui.Event) error {
	if err := agui.Scan(event, e); err != nil {
		if len(event) > p.cfg.MaxEventBytes {
			return tooLarge(len(event), p.cfg.MaxEventBytes)
		}
		return &EventError{Err: err}
	}
	if len(e.Raw) > p.cfg.MaxEventBytes {
		return tooLarge(len(e.Raw), p.cfg.MaxEventBytes)
	}
	if limit := p.recordLimit(len(e.Raw)) * maxParts; len(e.Raw) > limit {
		return tooLarge(len(e.Raw), limit)
	}
	return nil
}
