package runs

import (
	"context"
	"errors"
	"sync"
)

// together lets callers who ask the same thing at the same time share a question: a crowd
// that comes back to one chat costs the broker what one of them does. A caller never gets
// an answer to a question that was sent before it came, or it could miss what it has
// itself just caused: who comes while one is under way shares the next.
type together struct {
	mu     sync.Mutex
	asking map[string]*shared // the one under way, by what is asked
}

// shared is a question with its answer, once done is closed.
type shared struct {
	done   chan struct{}
	answer message
	err    error
	left   bool    // whoever was to ask it has gone; guarded by together.mu
	next   *shared // for who came while this one was under way; likewise
}

// errLeft is the answer to a shared question whose asker has given up.
var errLeft = errors.New("who asked has left")

// ask answers with what get returns, to this caller or to another who shares the question.
// The answer is not to be changed. The error is get's, or ctx's.
func (t *together) ask(ctx context.Context, what string, get func() (message, error)) (message, error) {
	for {
		q, before := t.join(what)
		if before == nil { // another one asks it
			select {
			case <-q.done:
			case <-ctx.Done():
				return message{}, ctx.Err()
			}
		} else {
			t.lead(ctx, what, q, before, get)
		}
		if !errors.Is(q.err, errLeft) {
			return q.answer, q.err
		}
		if before != nil {
			return message{}, ctx.Err()
		}
	}
}

// closedChan is of a question that has been answered.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// join gives the question to wait for, or, with what has to be over before, the one to
// ask.
func (t *together) join(what string) (q *shared, before <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.asking[what]
	switch {
	case now == nil:
		q = &shared{done: make(chan struct{})}
		t.asking[what] = q
		return q, closedChan
	case now.next == nil:
		now.next = &shared{done: make(chan struct{})}
		return now.next, now.done
	}
	return now.next, nil
}

// lead asks once the question before is over.
func (t *together) lead(ctx context.Context, what string, q *shared, before <-chan struct{}, get func() (message, error)) {
	select {
	case <-before:
		q.answer, q.err = get()
		if q.err != nil && ctx.Err() != nil {
			q.err = errLeft // that is this caller's own trouble
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.over(what, q)
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		q.err, q.left = errLeft, true
		if t.asking[what] == q {
			t.over(what, q)
		} // else the one under way sees to it
	}
}

// over makes way for the question after q. Callers hold mu.
func (t *together) over(what string, q *shared) {
	switch next := q.next; {
	case next == nil:
		delete(t.asking, what)
	case next.left:
		t.over(what, next)
	default:
		t.asking[what] = next
	}
	close(q.done)
}
