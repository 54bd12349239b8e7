package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/demo"
)

// life is one process that mortal pretends to be.
type life struct {
	cfg      Config // with a logger that is silent after death
	link     *link
	nc       *nats.Conn
	store    *runs.Store
	producer *producer.Producer
	worker   *workerParts

	dead atomic.Bool
	died chan struct{}
	once sync.Once
}

// begin makes a life that does nothing yet.
func (m *mortal) begin(ctx context.Context) (_ *life, err error) {
	l := &life{cfg: m.cfg, link: &link{server: m.server}, died: make(chan struct{})}
	l.cfg.Logger = slog.New(&lastWords{m.cfg.Logger.Handler(), &l.dead})
	defer func() {
		if err != nil {
			l.die()
			l.end()
		}
	}()
	opts, err := options(l.cfg, "rejoin-demo", make(chan error, 1))
	if err != nil {
		return nil, err
	}
	if l.nc, err = m.server.Connect(append(opts, nats.InProcessServer(l.link))...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroker, err)
	}
	// The relay has made or found the streams by now, and watches over them.
	if l.store, err = runs.Open(ctx, l.nc, runs.Config{LeaveRemoval: true, Domain: l.cfg.Conn.Domain, Logger: l.cfg.Logger}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroker, err)
	}
	l.producer, err = producer.Open(ctx, l.store, producer.Config{Lease: l.cfg.Lease, MaxEventBytes: l.cfg.MaxEvent,
		Metrics: m.produced, Logger: l.cfg.Logger.With("part", "producer")})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroker, err)
	}
	l.worker, err = newWorker(l.cfg, &broker{nc: l.nc, store: l.store}, l.producer, m.worked, m.grace)
	return l, err
}

// live takes turns, and after a while also produces what is watched without them, until
// ctx is done or it dies. Nothing of it is left then. A predecessor's run that nobody has
// ended yet is not superseded by what it produces: it is there to be seen ending.
func (l *life) live(ctx context.Context, hurry <-chan struct{}, loopAfter time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	var parts sync.WaitGroup
	parts.Go(func() {
		select {
		case <-l.died:
			cancel()
		case <-hurry:
		case <-over:
		}
		l.worker.worker.Hurry()
	})
	if l.cfg.Demo {
		parts.Go(func() {
			if pause(ctx, loopAfter) {
				demo.Loop(ctx, l.producer, l.cfg.loop(l.cfg.Logger))
			}
		})
	}
	l.worker.gone(l.worker.run(ctx, nil), hurry)
	close(over)
	cancel() // nothing is produced without a worker
	parts.Wait()
	l.end()
}

// die is kill -9 as far as anybody else can see: from here on nothing of it reaches the
// broker, what was on its way is lost, and its log is silent. What is left of it in
// this process comes to its end by itself. It may be called more than once.
func (l *life) die() {
	l.once.Do(func() {
		l.dead.Store(true)
		l.link.cut()
		if l.nc != nil {
			l.nc.Close()
		}
		close(l.died)
	})
}

// end lets go of what a life had. One that has died has nothing to say any more; any other
// says good-bye first.
func (l *life) end() {
	patience, cancel := context.WithTimeout(context.Background(), l.cfg.Grace*3/20)
	defer cancel()
	if l.dead.Load() {
		cancel()
	}
	if l.producer != nil {
		if err := l.producer.Close(patience); err != nil {
			l.cfg.Logger.Warn("not every run of the demo has its end; janitors see to it", "error", err)
		}
	}
	if l.store != nil {
		l.store.Close()
	}
	l.die() // with everything said
}
