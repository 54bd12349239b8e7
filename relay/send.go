package relay

import (
	"context"
	"errors"
	"net/http"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// sender is what brings a message to its chat: Send or Steer of the queue.
type sender func(context.Context, turns.SendRequest) (turns.Sent, error)

// send serves POST /chat/send.
func (s *Server) send(w http.ResponseWriter, r *http.Request) error {
	return s.enqueue(w, r, s.cfg.Turns.Send)
}

// steerSend serves POST /chat/steer-send.
func (s *Server) steerSend(w http.ResponseWriter, r *http.Request) error {
	return s.enqueue(w, r, s.cfg.Turns.Steer)
}

func (s *Server) enqueue(w http.ResponseWriter, r *http.Request, do sender) error {
	m, leave, err := s.readMessage(w, r)
	if err != nil {
		return err
	}
	defer leave()
	sent, err := s.bring(m, do)
	if err != nil {
		return err
	}
	traceRun(tracing.Current(r.Context()), sent.ChatID, sent.RunID)
	return writeStatus(w, http.StatusAccepted, map[string]any{"chat_id": sent.ChatID, "turn_id": sent.TurnID, "run_id": sent.RunID})
}

// bring brings a message to its chat, whether or not the client waits for the answer.
func (s *Server) bring(m *message, do sender) (turns.Sent, error) {
	ctx, cancel := s.acting()
	defer cancel()
	sent, err := do(ctx, m.SendRequest)
	if err != nil {
		return sent, s.turnFailure(err, errNoRun)
	}
	s.metrics.turns.WithLabelValues(howSent(sent)).Inc()
	return sent, nil
}

// howSent is a label of a metric.
func howSent(sent turns.Sent) string {
	switch {
	case sent.Repeated:
		return "repeated"
	case sent.Steered:
		return "steered"
	case sent.Behind:
		return "queued"
	}
	return "started"
}

// chat serves POST /chat: a message, and then its run's own stream. Whether there is
// room for the stream, and whether the chat may be watched, is settled before the message
// is sent.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) error {
	if !canFlush(w) {
		return errNoFlush
	}
	m, leave, err := s.readMessage(w, r)
	if err != nil {
		return err
	}
	defer leave()
	bring := func(context.Context) (turns.Sent, error) { return s.bring(m, s.cfg.Turns.Send) }
	return s.answered(w, r, m, leave, bring, &watch{legacy: m.legacy, synced: m.synced})
}

// answered brings a message and serves its run's stream. leave may be called twice.
func (s *Server) answered(w http.ResponseWriter, r *http.Request, m *message, leave func(), bring func(context.Context) (turns.Sent, error), q *watch) error {
	o, ctx, err := s.observers.admit(r.Context())
	if err == nil {
		defer o.done()
		err = o.stream()
	}
	if err == nil {
		var gone func()
		if gone, err = s.switches.enter(o, m.Realm, m.ChatID); err == nil {
			defer gone()
		}
	}
	var sent turns.Sent
	if err == nil {
		sent, err = bring(ctx)
	}
	if err == nil && sent.Repeated {
		_, err = s.entryOf(ctx, sent.RunID) // one that has left is no stream
	}
	if err == nil {
		err = o.watches(sent.RunID)
	}
	leave() // the stream may last for hours
	if err != nil {
		s.refused(err)
		return err
	}
	traceRun(tracing.Current(ctx), sent.ChatID, sent.RunID)
	find := func(ctx context.Context) (*runs.Entry, error) { return s.entryOf(ctx, sent.RunID) }
	s.stream(ctx, w, r, o, q.wire(), &lateReader{hub: s.cfg.Hub, id: sent.RunID, find: find, opt: q.options()})
	return nil
}

// entryOf reads a run's entry; the error is runs.ErrNotFound, ctx's or
// consumer.ErrBrokerUnavailable.
func (s *Server) entryOf(ctx context.Context, id subjects.RunID) (*runs.Entry, error) {
	e, err := s.cfg.Store.Entry(ctx, id)
	switch {
	case err == nil, errors.Is(err, runs.ErrNotFound), errors.Is(err, context.Canceled):
		return e, err
	}
	return nil, brokerFailure(err)
}
