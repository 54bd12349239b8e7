package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/subjects"
)

// book is what the agents of all workers have done.
type book struct {
	mu       sync.Mutex
	begun    []subjects.RunID
	heard    map[string][]subjects.RunID // by the message's number
	answered map[string]string           // what the agent got, by request id
	release  chan struct{}               // closed when agents that do not listen may return
}

func newBook() *book {
	return &book{heard: map[string][]subjects.RunID{}, answered: map[string]string{}, release: make(chan struct{})}
}

// manners are what an agent may be told to be like. A message is one of them and a number.
var manners = []string{"quick", "quick", "quick", "slow", "slow", "slow", "asks", "asks", "asks", "twice", "twice", "deaf", "deaf", "fails", "panics", "late", "many", "large"}

// acting is an agent that behaves as the turn's first message says.
type acting struct {
	*book
	steerable bool
}

// TakesSteering implements agent.Steerable.
func (a acting) TakesSteering() bool { return a.steerable }

// Run implements agent.Agent.
func (a acting) Run(ctx context.Context, t agent.Turn) error {
	id, words := t.Request().RunID, agui.UserText(t.Request().Input)
	a.mu.Lock()
	a.begun = append(a.begun, id)
	a.mu.Unlock()
	a.hear(id, words)
	manner, _, _ := strings.Cut(words, " ")
	switch manner {
	case "slow":
		return a.slow(ctx, t)
	case "asks":
		return a.ask(ctx, t)
	case "twice":
		second := make(chan error, 1)
		go func() { second <- a.ask(ctx, t) }()
		return errors.Join(a.ask(context.Background(), t), <-second)
	case "deaf":
		if err := say(t, 0, 3); err != nil {
			return err
		}
		select {
		case <-a.release:
		case <-time.After(2 * time.Second):
		}
		return say(t, 3, 5)
	case "fails":
		_ = say(t, 0, 2)
		return errors.New("as it was told")
	case "panics":
		_ = say(t, 0, 2)
		panic("as it was told")
	case "late":
		err := say(t, 0, 2)
		return errors.Join(err, t.Publish(ctx, []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)), say(t, 3, 9), errors.New("late"))
	case "many":
		return say(t, 0, 3000)
	case "large":
		return publish(t, fmt.Sprintf(`{"type":"CUSTOM","name":"large","value":%q}`, strings.Repeat("x", 1500<<10)))
	}
	return say(t, 0, 2)
}

// hear takes note of the messages in a text.
func (b *book) hear(id subjects.RunID, words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range numbers(words) {
		b.heard[n] = append(b.heard[n], id)
	}
}

// numbers are those of the messages in a text.
func numbers(words string) (all []string) {
	for _, w := range strings.Fields(words) {
		if strings.HasPrefix(w, "#") {
			all = append(all, w)
		}
	}
	return all
}

// slow takes a second, and listens meanwhile.
func (a acting) slow(ctx context.Context, t agent.Turn) error {
	for i := range 20 {
		if err := say(t, i, i+1); err != nil {
			return err
		}
		select {
		case m := <-t.Steering():
			a.hear(t.Request().RunID, agui.UserText(m))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func (a acting) ask(ctx context.Context, t agent.Turn) error {
	got, err := t.Ask(ctx, agent.Question{Name: "test.permission", Value: map[string]any{"title": "May I?"}, Options: []string{"yes", "no"}})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, twice := a.answered[got.RequestID]; twice {
		a.answered[got.RequestID] = before + " and then "
	}
	a.answered[got.RequestID] += string(got.Outcome)
	return nil
}

// say says numbers, from one up to before another, in a message that stays open.
func say(t agent.Turn, from, to int) error {
	if from == 0 {
		if err := publish(t, `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`); err != nil {
			return err
		}
	}
	for i := from; i < to; i++ {
		if err := publish(t, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d "}`, i)); err != nil {
			return err
		}
	}
	return nil
}

func publish(t agent.Turn, event string) error {
	return t.Publish(context.Background(), json.RawMessage(event))
}
