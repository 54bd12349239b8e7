package relay

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
)

// What the relay answers, besides what is said about single fields.
var (
	errNotFound = problem.New(problem.NotFound, "there is no such run")
	errNoRoute  = problem.New(problem.NotFound, "there is nothing at this path")
	errNoFlush  = problem.New(problem.Internal, "the relay cannot stream: something in front of its server hands out response writers that neither flush nor unwrap")
	errPanic    = problem.New(problem.Internal, "a fault of the server; it has been logged")
)

func tooLarge(limit int) *problem.Error {
	return problem.New(problem.TooLarge, "the body is larger than %d bytes, which is the most allowed here", limit)
}

// unavailable is an answer that says when to try again. The time is spread, or
// those who are refused together come back together.
func unavailable(code, detail string) *problem.Error {
	e := problem.New(code, detail).After(later())
	e.Status = 503
	return e
}

// later is how long to stay away where nothing better is known.
func later() time.Duration { return time.Second + rand.N(4*time.Second) }

// answerTo maps an error of whatever kind to what a client may learn of it. It is
// nil for a client that has left.
func answerTo(ctx context.Context, err error) *problem.Error {
	var p *problem.Error
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause // the relay's own reason, if it has one
	}
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, errDraining):
		return unavailable(problem.Unavailable, "this relay is shutting down; another one can serve this").Because(err)
	case errors.Is(err, errFull):
		return unavailable(problem.TooManyRequests, "this relay has as many streams as it may have; try again later or elsewhere").Because(err)
	case errors.Is(err, errOwnerFull):
		return problem.New(problem.TooManyRequests, "you have as many streams open as you may; close one, or try again later").
			After(later()).Because(err)
	case errors.Is(err, errOwnerSeats):
		return problem.New(problem.TooManyRequests, "you have as many answers of this kind under way as you may; try again later").
			After(later()).Because(err)
	case errors.Is(err, errRunFull):
		return unavailable(problem.TooManyRequests, "the run has as many observers here as it may have; try again later or elsewhere").Because(err)
	case errors.Is(err, errConnections):
		return unavailable(problem.TooManyRequests, "this relay has as many connections as it may have; try again later or elsewhere").Because(err)
	case errors.Is(err, errBusy):
		return unavailable(problem.TooManyRequests, "this relay has as much to do as it may at the moment; try again later or elsewhere").Because(err)
	case errors.Is(err, runs.ErrNotFound), errors.Is(err, consumer.ErrGone):
		return errNotFound
	case errors.Is(err, consumer.ErrBrokerUnavailable):
		return unavailable(problem.Unavailable, "the broker does not answer; try again later").Because(err)
	case errors.Is(err, context.Canceled):
		return nil
	}
	return problem.For(err)
}
