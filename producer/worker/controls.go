package worker

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
)

// listen takes in what is sent to the run. A stop shows by itself, see producer.Run.
func (j *job) listen(ctx context.Context) {
	for {
		c, err := j.run.NextControl(ctx)
		if err != nil {
			return // the run is over, or nobody listens any more
		}
		switch c.Kind {
		case producer.ControlAnswer:
			j.mu.Lock()
			open := j.questions[c.ID]
			ours := open != nil && open.closes // whoever closes a question tells it
			j.mu.Unlock()
			switch {
			case open == nil:
			case !c.Closed:
				j.give(open, c)
			case !ours:
				j.refused(ctx, open, c.Reason)
			}
		case producer.ControlInput:
			j.input(c)
		}
	}
}

// input takes in one message for the running turn. One that overtakes another, which
// a lagging replica has not shown yet, waits for it.
func (j *job) input(c producer.Control) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.Closed || c.Input() <= j.inputs {
		return
	}
	j.ahead[c.Input()] = c
	for {
		next, ok := j.ahead[j.inputs+1]
		if !ok {
			return
		}
		j.inputs++
		delete(j.ahead, j.inputs)
		j.message(next)
	}
}

// message hands a message to the agent. The caller holds mu.
func (j *job) message(c producer.Control) {
	if j.steering != nil && !j.sealed {
		select {
		case j.steering <- c.Body:
			return
		default: // so many are waiting that the agent does not look
		}
	}
	j.late = append(j.late, c.Body)
}

// takeEarly makes the messages that came before the turn began a part of what it asks.
func (j *job) takeEarly(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	early, err := j.run.Inputs(ctx)
	if err == nil && j.steering == nil {
		// The agent takes none while it answers: from now on a message is a turn of its own.
		known := 0
		if len(early) > 0 {
			known = early[len(early)-1].Input()
		}
		var missed []producer.Control
		missed, err = j.run.CloseInputs(ctx, known)
		early = append(early, missed...)
	}
	if err != nil {
		j.log.Warn("messages from before the turn began may have to follow it", "error", err)
	}
	for _, c := range early {
		merged, err := withMessage(j.req.Input, c.Body, string(j.req.RunID), c.Input())
		if err != nil {
			j.log.Warn("a message cannot be made a part of the turn; it follows it", "error", err)
			return
		}
		j.req.Input, j.inputs = merged, c.Input()
	}
}

// leftOver are the messages that were accepted and that this turn has not answered. None is
// accepted any more once it returns without an error.
func (j *job) leftOver(ctx context.Context) ([]json.RawMessage, error) {
	j.mu.Lock()
	known := j.inputs
	j.mu.Unlock()
	missed, err := j.run.CloseInputs(ctx, known)
	j.mu.Lock()
	defer j.mu.Unlock()
	var left []json.RawMessage
	for j.steering != nil {
		select {
		case body := <-j.steering:
			left = append(left, body)
			continue
		default:
		}
		break
	}
	left = append(left, j.late...)
	j.late = nil
	for _, c := range missed {
		if n := c.Input(); n > j.inputs {
			j.inputs = n
			left = append(left, c.Body)
		}
	}
	return left, err
}

// reasonOf is a cause of a turn's end as its events tell it.
func reasonOf(cause error) string {
	switch {
	case errors.Is(cause, agent.ErrStopped):
		return "stopped"
	case errors.Is(cause, agent.ErrSuperseded):
		return "superseded"
	case errors.Is(cause, agent.ErrDraining):
		return "worker_stopped"
	}
	return "withdrawn"
}
