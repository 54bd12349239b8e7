package relay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
)

// What a chat does not have.
var (
	errNoRun      = problem.New(problem.NotFound, "the chat has no run of that run_id, or of that client_token")
	errNoQuestion = problem.New(problem.NotFound, "the chat has no such run, or the run no open question of that request_id; GET /runs/{run_id} names those that are open")
)

// errBusy is the answer while messages, or saved turns, take all the room they may.
var errBusy = errors.New("too much at once")

// turnFailure maps an error of the queue to what a client may learn of it. missing is
// what is said when there is no such thing.
func (s *Server) turnFailure(err error, missing *problem.Error) error {
	var active *runs.AlreadyStreamingError
	var stale *turns.StaleError
	var answered *turns.AnsweredError
	switch {
	case errors.As(err, &active):
		return problem.New(problem.AlreadyStreaming, "the chat has an active run; watch it, or send with on_active queue or supersede").
			With("run_id", string(active.RunID))
	case errors.As(err, &stale):
		return problem.New(problem.StaleRun, "the run is over: reason %s, persisted %t", stale.End.Reason, stale.End.Persisted).
			With("run_id", string(stale.RunID)).With("reason", string(stale.End.Reason)).With("persisted", stale.End.Persisted)
	case errors.As(err, &answered):
		return problem.New(problem.AlreadyAnswered, "the question has another answer, which is in outcome").With("outcome", answered.Outcome)
	case errors.Is(err, turns.ErrOptions):
		return problem.New(problem.BadRequest, "%s", strings.TrimPrefix(err.Error(), turns.ErrOptions.Error()+": "))
	case errors.Is(err, turns.ErrQueueFull):
		return problem.New(problem.TooManyRequests, "%s", err.Error()).After(time.Second + rand.N(4*time.Second))
	case errors.Is(err, turns.ErrNotFound):
		return missing
	case s.base.Err() != nil:
		return errDraining
	}
	return brokerFailure(err)
}

// brokerFailure is for what comes from the broker, or its absence.
func brokerFailure(err error) error { return fmt.Errorf("%w: %w", consumer.ErrBrokerUnavailable, err) }
