package worker_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// fabric is a broker with somebody who sends turns and somebody who watches runs.
type fabric struct {
	*harness.Fabric
	store *runs.Store
	queue *turns.Queue
	// watch reads a run up to its end, or until until says so.
	watch func(id subjects.RunID, until func(*harness.Seen) bool) *harness.Seen
}

func newFabric(t testing.TB, cfg harness.Config) *fabric {
	t.Helper()
	f := harness.New(t, cfg)
	l := f.Connect()
	hub := f.Hub(l)
	return &fabric{Fabric: f, store: l.Store, queue: turns.New(l.Store, turns.Config{}),
		watch: func(id subjects.RunID, until func(*harness.Seen) bool) *harness.Seen {
			return f.Watch(hub, l, id, until)
		}}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	t.Cleanup(cancel)
	return ctx
}

// saves keeps what was saved, and may be told to fail.
type saves struct {
	mu    sync.Mutex
	turns []*save.Turn
	do    func(context.Context) error
}

func (s *saves) Save(ctx context.Context, t *save.Turn) error {
	if s.do != nil {
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, t)
	return nil
}

func (s *saves) of(id subjects.RunID) *save.Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.RunID == id {
			return t
		}
	}
	return nil
}

// running is a worker that runs until it is stopped, or the test ends.
type running struct {
	*worker.Worker
	t    testing.TB
	stop context.CancelFunc
	done chan error
	once sync.Once
}

// work starts a worker on a connection of its own.
func (f *fabric) work(a agent.Agent, cfg worker.Config) *running {
	f.Helper()
	l := f.Connect()
	cfg.Producer, cfg.Turns, cfg.Agent = f.Producer(l), turns.New(l.Store, turns.Config{}), a
	w, err := worker.New(cfg)
	require.NoError(f, err)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Worker: w, t: f, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- w.Run(ctx) }()
	f.Cleanup(func() { r.end() })
	return r
}

// end tells the worker to stop and waits for it.
func (r *running) end() {
	r.once.Do(func() {
		r.stop()
		require.NoError(r.t, <-r.done)
	})
}

func (f *fabric) send(chat, text string, more ...func(*turns.SendRequest)) subjects.RunID {
	f.Helper()
	input, err := json.Marshal(map[string]string{"text": text})
	require.NoError(f, err)
	r := turns.SendRequest{ChatID: chat, Input: input}
	for _, m := range more {
		m(&r)
	}
	sent, err := f.queue.Send(within(f), r)
	require.NoError(f, err)
	return sent.RunID
}

// says is an agent that answers with a text.
func says(text string) agent.Agent {
	return agent.Func(func(ctx context.Context, t agent.Turn) error {
		return t.Publish(ctx, chunk(text))
	})
}

func chunk(text string) []byte {
	raw, err := json.Marshal(map[string]string{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": text})
	if err != nil {
		panic(err)
	}
	return raw
}
