package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Agent answers turns. One Agent serves all chats of a worker: Run is called at once
// for as many turns as the worker takes, but never twice at once for one chat unless
// the turn before was told to stop and has not returned.
type Agent interface {
	// Run answers one turn and returns when there is nothing more to say.
	//
	// nil ends the turn well: what is still open is closed and RUN_FINISHED follows,
	// unless the agent has published its own terminal event. An error becomes a
	// RUN_ERROR with its text, which people see, unless there was a terminal event.
	//
	// ctx ends when the turn has to stop; context.Cause(ctx) says why, see ErrStopped.
	// What is published within the second after that still counts. Then the turn
	// ends without the agent, which has to return all the same.
	Run(ctx context.Context, t Turn) error
}

// Func is an Agent that is only a function.
type Func func(ctx context.Context, t Turn) error

// Run calls f.
func (f Func) Run(ctx context.Context, t Turn) error { return f(ctx, t) }

// Steerable is implemented by agents that take further messages while they answer.
// Messages for any other agent start the chat's next turn.
type Steerable interface {
	TakesSteering() bool
}

// Memory is implemented by the turns of a worker: a small value that an agent keeps of a
// chat from one turn to the next, on whatever worker that is. Nobody else sees it.
type Memory interface {
	// Recall gives what was kept last, nil for nothing.
	Recall(ctx context.Context) ([]byte, error)
	// Remember keeps at most subjects.MaxMemory bytes, for subjects.MemoryTTL, in place of
	// what was kept before.
	Remember(ctx context.Context, value []byte) error
}

// Turn is one turn as its agent sees it. Its methods may be called at once from
// anywhere; events published by one goroutine keep their order.
type Turn interface {
	// Request is what was asked. It must not be changed.
	Request() *Request

	// Publish publishes one AG-UI event, as it is. It returns before the event is
	// stored, and waits while too much is not. The first event of a turn should be
	// RUN_STARTED; where it is neither that nor RUN_ERROR, one is put before it.
	// Events after a RUN_ERROR, and after a RUN_FINISHED anything but a new
	// RUN_STARTED, are dropped without an error.
	//
	// The error matches ErrOver when nothing can be published any more. Any other
	// error refuses this one event, and the turn goes on.
	Publish(ctx context.Context, event []byte) error

	// Ask puts a question before whoever watches and waits for the answer, as long
	// as it takes. What was published before is stored before the question, the
	// answer is published and stored before Ask returns. Several questions may be
	// open at once.
	//
	// The error is not nil exactly when there will be no answer: it is
	// context.Cause(ctx), or matches ErrOver, or ErrTooMany. The question is closed then.
	Ask(ctx context.Context, q Question) (Answer, error)

	// Steering gives the messages that were sent to the running turn, in order: each
	// an input as in Request.Input. It is never closed and nil for an agent that is
	// not Steerable. What is not taken when the turn ends starts the next one.
	Steering() <-chan json.RawMessage
}

// Request is what a turn asks.
type Request struct {
	Realm  subjects.Realm // whose chat it is
	ChatID string
	Owner  string // "" for none
	TurnID string
	RunID  subjects.RunID
	Kind   string // send, retry, edit, steer, approval, heartbeat, canvas, or the application's own

	// Input is a JSON object: an AG-UI RunAgentInput as the client sent it, or
	// {"text":"…"}.
	Input json.RawMessage

	// Header holds the headers of the client's request that the operator lets
	// through, by canonical name. It may be nil.
	Header map[string]string

	SentAt time.Time
}
