package agui

import (
	"context"
	"errors"
	"fmt"
	"io"

	events "github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/producer/agent"
)

// Agent is an AG-UI HTTP agent as a worker runs it.
type Agent struct{ cfg Config }

// New makes an Agent. It does not connect.
func New(cfg Config) (*Agent, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Agent{cfg}, nil
}

// Close lets go of the connections that are kept for later turns.
func (a *Agent) Close() { a.cfg.Client.CloseIdleConnections() }

// Run posts the turn's input and publishes the events of the answer. A RunAgentInput
// is sent as it came; {"text":"…"} becomes one with the chat's earlier messages. The
// error is one of this package's, what Publish returned, or context.Cause(ctx).
func (a *Agent) Run(ctx context.Context, t agent.Turn) (err error) {
	body, err := a.input(ctx, t.Request())
	if err != nil {
		return err
	}
	inside, span := tracing.Child(ctx, "POST", tracing.Client)
	defer func() {
		if err != nil && ctx.Err() == nil {
			span.Fail("the agent's answer is none, or not whole")
		}
		span.End()
	}()
	watched, w := newWatch(inside, a.cfg.IdleTimeout)
	defer w.close()
	answer, err := a.post(watched, w, t.Request(), body)
	if err != nil {
		return w.because(err)
	}
	span.Number("http.response.status_code", int64(answer.StatusCode))
	defer func() { _ = answer.Body.Close() }()
	if err := a.check(answer, w); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return a.publish(ctx, t, newStream(w.reader(answer.Body), a.cfg.MaxEventBytes), w)
}

// publish passes the events on until the answer is over.
func (a *Agent) publish(ctx context.Context, t agent.Turn, s *stream, w *watch) error {
	var e events.Event
	last := &last{agent: a, turn: t, watch: w}
	headless := false // the answer began without RUN_STARTED, and a worker has put one there
	for n := 0; ; n++ {
		data, err := s.next()
		if err == nil {
			if err = events.Scan(data, &e); err != nil {
				err = fmt.Errorf("%w: %w", ErrMalformed, err)
			}
		}
		switch {
		case err == nil:
		case last.event == nil:
			return a.failed(t.Request(), w, err)
		case ended(err):
			return last.publish(ctx)
		default:
			continue // after a RUN_FINISHED, what is no event means nothing
		}
		event := e.Raw
		switch {
		case n == 0:
			headless = e.Type != events.RunStarted
		case headless && e.Type == events.RunStarted && last.event == nil:
			event, headless = aside(event), false
		}
		if err := last.before(ctx, e.Type); err != nil {
			return err
		}
		if e.Type == events.RunFinished {
			last.hold(event)
			continue
		}
		if err := t.Publish(ctx, event); err != nil || e.Type == events.RunError {
			return err
		}
	}
}

// ended says that nothing can be read any more, for whatever reason.
func ended(err error) bool { return err != nil && !errors.Is(err, ErrMalformed) }

// failed puts the reason why an answer cannot be read on into words.
func (a *Agent) failed(r *agent.Request, w *watch, err error) error {
	if cause := w.because(nil); cause != nil {
		return cause
	}
	switch {
	case errors.Is(err, io.EOF):
		return ErrNoTerminal
	case errors.Is(err, ErrMalformed), errors.Is(err, ErrTooLarge):
		return err
	}
	a.cfg.Logger.Warn("the agent's answer broke off", "run", r.RunID, "error", err)
	return ErrBroken
}
