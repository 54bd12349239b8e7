package runs

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// script answers questions one by one, when it is told to.
type script struct {
	asked  chan string
	answer chan message
}

func (s *script) get(ctx context.Context, who string) func() (message, error) {
	return func() (message, error) {
		s.asked <- who
		select {
		case m := <-s.answer:
			return m, nil
		case <-ctx.Done():
			return message{}, errors.New("broken off")
		}
	}
}

// has says whether a question is under way, and whether another one waits for it.
func (t *together) has(what string, next bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.asking[what]
	return q != nil && (!next || q.next != nil)
}

func until(f func() bool) {
	for !f() {
		runtime.Gosched()
	}
}

func TestACrowdSharesTheQuestionAfterTheOneUnderWay(t *testing.T) {
	t.Parallel()
	tog := together{asking: map[string]*shared{}}
	s := script{asked: make(chan string), answer: make(chan message)}
	var wg sync.WaitGroup
	ask := func(ctx context.Context, who string, want uint64, wantErr error) {
		wg.Go(func() {
			m, err := tog.ask(ctx, "x", s.get(ctx, who))
			if m.seq != want || !errors.Is(err, wantErr) {
				t.Errorf("%s got %d, %v, and not %d, %v", who, m.seq, err, want, wantErr)
			}
		})
	}
	ask(t.Context(), "first", 1, nil)
	require.Equal(t, "first", <-s.asked)
	ask(t.Context(), "second", 2, nil)
	until(func() bool { return tog.has("x", true) })
	for range 20 {
		ask(t.Context(), "crowd", 2, nil)
	}
	s.answer <- message{seq: 1}
	require.Equal(t, "second", <-s.asked)
	s.answer <- message{seq: 2}
	answered := make(chan struct{})
	go func() { wg.Wait(); close(answered) }()
	for { // one of the crowd may have come after the second was sent
		select {
		case <-s.asked:
			s.answer <- message{seq: 2}
			continue
		case <-answered:
		}
		break
	}
	require.Empty(t, tog.asking)
}

// Whoever shares a question with somebody who leaves asks it.
func TestAnAskerWhoLeavesTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before it is sent", "while it is under way"} {
		tog := together{asking: map[string]*shared{}}
		s := script{asked: make(chan string), answer: make(chan message)}
		var wg sync.WaitGroup
		ask := func(ctx context.Context, who string, want error) {
			wg.Go(func() {
				_, err := tog.ask(ctx, "x", s.get(ctx, who))
				if !errors.Is(err, want) {
					t.Errorf("%s, %s: %v", when, who, err)
				}
			})
		}
		ctx, leave := context.WithCancel(t.Context())
		ask(t.Context(), "first", nil)
		require.Equal(t, "first", <-s.asked)
		ask(ctx, "leaver", context.Canceled)
		until(func() bool { return tog.has("x", true) })
		ask(t.Context(), "stayer", nil)
		if when == "before it is sent" {
			leave()
		}
		s.answer <- message{seq: 1}
		over := make(chan struct{})
		go func() { wg.Wait(); close(over) }()
		for open := true; open; {
			select {
			case who := <-s.asked:
				if who == "leaver" {
					leave()
				} else {
					s.answer <- message{seq: 2}
				}
			case <-over:
				open = false
			}
		}
		leave()
		require.Empty(t, tog.asking)
	}
}
