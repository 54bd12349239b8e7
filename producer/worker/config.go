package worker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/subjects"
)

// ErrConfig is wrapped by New's error for a configuration that cannot work.
var ErrConfig = errors.New("worker configuration")

// Config says how a Worker that New makes works; Options are for Connect.
type Config struct {
	Producer *producer.Producer // required; writes the runs
	Turns    *turns.Queue       // required
	Agent    agent.Agent        // required
	// Saver saves the turns. nil saves nothing, and every run ends as not persisted.
	Saver save.Saver

	Concurrency  int           // turns at once; 0 means DefaultConcurrency
	SaveTimeout  time.Duration // how long a save may take; 0 means producer.DefaultSaveTimeout
	StopPatience time.Duration // what a stopped agent has for its last words; 0 means 1 s
	// Grace is how long turns may go on once Run's context is done; 0 means none: the
	// agents are told to stop at once.
	Grace time.Duration

	// Tracing records spans of the turns; nil records none. The trace that a turn was sent in
	// goes on to its agent and its saver all the same.
	Tracing trace.TracerProvider

	Metrics Metrics
	Logger  *slog.Logger // may be nil
}

// DefaultConcurrency is how many turns a worker runs at once. Agents mostly wait for
// a model.
const DefaultConcurrency = 16

const (
	defaultStopPatience = time.Second
	// linger is how long a place is kept for an agent that does not return.
	linger = 10 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.Producer == nil || c.Turns == nil || c.Agent == nil {
		return c, fmt.Errorf("%w: Producer, Turns and Agent are required", ErrConfig)
	}
	if c.Concurrency < 0 || c.SaveTimeout < 0 || c.StopPatience < 0 || c.Grace < 0 {
		return c, fmt.Errorf("%w: no number and no time may be negative", ErrConfig)
	}
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	c.StopPatience = cmp.Or(c.StopPatience, defaultStopPatience)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Metrics is told what happens. A nil function is not called. They are called from many
// goroutines at once and must not block.
type Metrics struct {
	Claimed func()                                           // a turn was taken out of the work queue
	Begun   func()                                           // its run was begun by this worker
	Running func(delta int)                                  // turns being answered
	Waited  func(time.Duration)                              // from sending a turn to its beginning, by two clocks
	Done    func(reason subjects.Reason, took time.Duration) // a turn is over, as far as this worker is concerned
	Lost    func()                                           // a turn's run was ended by somebody else
	Failed  func(how Failure)                                // a turn's agent failed
	Asked   func()                                           // a question was put
	Asking  func(delta int)                                  // questions that wait for their answer
}

// Failure is how an agent failed.
type Failure string

// How agents fail.
const (
	FailedError Failure = "error" // it returned an error
	FailedPanic Failure = "panic"
	FailedStuck Failure = "stuck" // it did not stop when it was told to
)

func (m *Metrics) failed(how Failure) {
	if m.Failed != nil {
		m.Failed(how)
	}
}
