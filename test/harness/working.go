package harness

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/producer/worker"
)

// Worker answers turns as it does where it is shipped, in the test's own process.
type Worker struct {
	*Link
	f    *Fabric
	stop context.CancelFunc
	done chan error
	once sync.Once
}

// Worker starts a worker on a connection of its own. It saves in the built-in history
// unless cfg says where else, and is stopped with the test.
func (f *Fabric) Worker(a agent.Agent, cfg worker.Config) *Worker {
	f.Helper()
	l := f.Connect()
	log := f.logger("worker")
	cfg.Producer, cfg.Turns, cfg.Agent, cfg.Logger = f.Producer(l), turns.New(l.Store, turns.Config{Logger: log}), a, log
	if cfg.Saver == nil {
		cfg.Saver = save.NewHistory(history.Open(l.Store))
	}
	made, err := worker.New(cfg)
	require.NoError(f, err)
	ctx, cancel := context.WithCancel(context.Background())
	w := &Worker{Link: l, f: f, stop: cancel, done: make(chan error, 1)}
	go func() { w.done <- made.Run(ctx) }()
	f.Cleanup(w.Stop)
	return w
}

// Stop drains the worker as SIGTERM does, and waits.
func (w *Worker) Stop() {
	w.once.Do(func() {
		w.stop()
		require.NoError(w.f, <-w.done)
	})
}
