package browser_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// stage is where runs are played: turns, that somebody sent, and runs that a producer starts by itself. Each chat has at
// most one at a time that the script speaks in.
type stage struct {
	t        *testing.T
	fabric   *harness.Fabric
	producer *producer.Producer
	owner    string // whose chats they are; "" where nobody is authenticated

	mu    sync.Mutex
	parts map[string]*part // the newest one of each chat
	begun map[string]chan *part
}

// part is one run that is being spoken in.
type part struct {
	run     subjects.RunID
	input   json.RawMessage
	publish func(context.Context, []byte) error
	ask     func(context.Context, agent.Question) (agent.Answer, error)
	end     func(finish)
	stopped <-chan struct{}
	busy    sync.WaitGroup // of what is asked
	saying  sync.WaitGroup // of what is said
}

// finish is how a run is to end.
type finish struct {
	Fail   string `json:"fail"`   // what went wrong; "" for nothing
	Saved  bool   `json:"saved"`  // of a producer's own run: whether its answer is
	Reason string `json:"reason"` // of a producer's own run
}

func newStage(t *testing.T, f *harness.Fabric) *stage {
	return &stage{t: t, fabric: f, producer: f.Producer(f.Connect()), parts: map[string]*part{}, begun: map[string]chan *part{}}
}

// Run is the agent: it says nothing by itself but what it was asked, as agents do so that other tabs see it.
func (s *stage) Run(ctx context.Context, t agent.Turn) error {
	req := t.Request()
	thread, run := agui.InputIDs(req.Input)
	thread, run = cmp.Or(thread, req.ChatID), cmp.Or(run, string(req.RunID))
	if err := t.Publish(ctx, agui.NewRunStarted(thread, run, agui.RunInput(thread, run, req.Input, nil))); err != nil {
		return err
	}
	over := make(chan finish, 1)
	p := &part{run: t.Request().RunID, input: t.Request().Input, publish: t.Publish, ask: t.Ask, stopped: ctx.Done(),
		end: func(f finish) { over <- f }}
	s.enter(t.Request().ChatID, p)
	defer p.busy.Wait()
	defer p.saying.Wait()
	select {
	case f := <-over:
		if f.Fail != "" {
			return fmt.Errorf("%s", f.Fail)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *stage) enter(chat string, p *part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[chat] = p
	s.queue(chat) <- p
}

// queue holds the runs of a chat that have begun and were not awaited yet. Callers hold mu.
func (s *stage) queue(chat string) chan *part {
	if s.begun[chat] == nil {
		s.begun[chat] = make(chan *part, 64)
	}
	return s.begun[chat]
}

// speaking is the chat's newest run.
func (s *stage) speaking(chat string) *part {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotNil(s.t, s.parts[chat], "nothing has begun in the chat %q", chat)
	return s.parts[chat]
}

// start begins a run that nobody sent a message for.
func (s *stage) start(chat string) subjects.RunID {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	opts := producer.StartOptions{ChatID: chat, Owner: s.owner}
	var err error
	if s.owner != "" {
		opts.Realm, err = subjects.NewRealm("", s.owner)
		require.NoError(s.t, err)
	}
	run, err := s.producer.Start(ctx, opts)
	require.NoError(s.t, err)
	p := &part{run: run.ID(), publish: func(ctx context.Context, e []byte) error {
		if _, err := run.Publish(ctx, e); err != nil {
			return err
		}
		_, err := run.Flush(ctx)
		return err
	}, end: func(f finish) {
		ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
		defer cancel()
		_, err := run.Finish(ctx, producer.FinishOptions{Persisted: f.Saved, Reason: subjects.Reason(f.Reason)})
		require.NoError(s.t, err)
	}}
	s.enter(chat, p)
	return run.ID()
}

// line is what most actions are told.
type line struct {
	Chat   string            `json:"chat"`
	Events []json.RawMessage `json:"events"`
	Every  int               `json:"every"` // milliseconds between events that are said in the background; 0: at once
	finish
	Question struct {
		Name    string         `json:"name"`
		Value   map[string]any `json:"value"`
		Options []string       `json:"options"`
	} `json:"question"`
}

func (s *stage) actions() actions {
	read := func(a ask) (l line) {
		a.into(&l)
		return l
	}
	return actions{
		// begun waits for the next run of a chat, and says what it was asked.
		"begun": func(a ask) any {
			chat := read(a).Chat
			s.mu.Lock()
			queue := s.queue(chat)
			s.mu.Unlock()
			select {
			case p := <-queue:
				return map[string]any{"run": p.run, "input": p.input}
			case <-time.After(harness.Patience):
				require.FailNow(a.t, "no run begins", "in the chat %q", chat)
				return nil
			}
		},
		"start": func(a ask) any { return s.start(read(a).Chat) },
		"say": func(a ask) any {
			l := read(a)
			p := s.speaking(l.Chat)
			if l.Every == 0 {
				require.NoError(a.t, s.say(p, l.Events, 0))
				return nil
			}
			a.t.Cleanup(p.saying.Wait)
			p.saying.Go(func() {
				if err := s.say(p, l.Events, time.Duration(l.Every)*time.Millisecond); err != nil {
					a.t.Logf("the run %s takes no more: %v", p.run, err)
				}
			})
			return nil
		},
		// said waits until what is being said in the background has been said.
		"said": func(a ask) any { s.speaking(read(a).Chat).saying.Wait(); return nil },
		"ask": func(a ask) any { // and goes on when there is an answer, which it says
			l := read(a)
			p := s.speaking(l.Chat)
			p.busy.Go(func() {
				answer, err := p.ask(context.Background(), agent.Question{Name: l.Question.Name, Value: l.Question.Value, Options: l.Question.Options})
				if err == nil {
					e, _ := json.Marshal(map[string]any{"type": "CUSTOM", "name": "told", "value": answer.Outcome})
					_ = p.publish(context.Background(), e)
				}
			})
			return nil
		},
		"end": func(a ask) any {
			l := read(a)
			s.speaking(l.Chat).end(l.finish)
			return nil
		},
	}
}

func (s *stage) say(p *part, events []json.RawMessage, every time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	for _, e := range events {
		if err := p.publish(ctx, e); err != nil {
			return err
		}
		if every > 0 {
			select {
			case <-time.After(every):
			case <-p.stopped:
				return nil
			}
		}
	}
	return nil
}
