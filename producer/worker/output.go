package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
)

// Publish implements agent.Turn. A cancelled context does not keep the event back: an
// agent that was told to stop still has its last words.
func (j *job) Publish(_ context.Context, event []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.publish(event)
}

// Recall implements agent.Memory.
func (j *job) Recall(ctx context.Context) ([]byte, error) { return j.run.Recall(ctx) }

// Remember implements agent.Memory.
func (j *job) Remember(ctx context.Context, value []byte) error { return j.run.Remember(ctx, value) }

// publish publishes an agent's event where it may stand. The caller holds mu.
func (j *job) publish(event []byte) error {
	if j.sealed {
		return agent.ErrOver
	}
	var e agui.Event
	if err := agui.Scan(event, &e); err != nil {
		return j.send(event, nil) // the run says what is wrong with it
	}
	switch {
	case j.open.Terminal() != "" && !(j.open.Terminal() == agui.RunFinished && e.Type == agui.RunStarted):
		j.log.Debug("an event after the last one is dropped", "type", string(e.TypeName()))
		return nil
	case !j.open.Started() && e.Type != agui.RunStarted && e.Type != agui.RunError:
		if err := j.start(); err != nil {
			return err
		}
	}
	return j.send(event, &e)
}

// start publishes the RUN_STARTED of an agent that begins without.
func (j *job) start() error {
	thread, run := agui.InputIDs(j.req.Input)
	if thread == "" {
		thread = j.req.ChatID
	}
	if run == "" {
		run = string(j.req.RunID)
	}
	return j.sendOwn(agui.NewRunStarted(thread, run, agui.RunInput(thread, run, j.req.Input, nil)))
}

// sendOwn publishes an event of the worker's. The caller holds mu.
func (j *job) sendOwn(events ...[]byte) error {
	for _, event := range events {
		var e agui.Event
		if err := agui.Scan(event, &e); err != nil {
			return fmt.Errorf("an event of the worker's own is none: %w", err)
		}
		if err := j.send(event, &e); err != nil {
			return err
		}
	}
	return nil
}

// send hands an event to the run. It waits while the run's buffer is full, until the
// run is over. The caller holds mu.
func (j *job) send(event []byte, e *agui.Event) error {
	_, err := j.run.Publish(j.w.hard, event)
	if err == nil && e != nil {
		j.open.Add(e)
	}
	return turnError(err)
}

// turnError is an error of the run as an agent is told it.
func turnError(err error) error {
	var refused *producer.EventError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w: %w", agent.ErrOver, err)
}
