package relay

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
)

const (
	// envelope is what the body of a message may have besides its input.
	envelope = maxBody

	// roomBytes bounds what the bodies of messages, and saved turns on their way out,
	// take at once.
	roomBytes = 256 << 20

	// actTimeout bounds what is done for a request once its body has been read. It goes on
	// when the client leaves: what was sent is sent.
	actTimeout = 15 * time.Second
)

// message is what a request brings to a chat.
type message struct {
	turns.SendRequest
	legacy bool
	synced bool
}

// messageFields are those of its body: protocol 1's own, or a stock client's
// RunAgentInput, which is the input by itself.
type messageFields struct {
	ChatID      *string         `json:"chat_id"`
	ThreadID    *string         `json:"threadId"`
	Protocol    json.RawMessage `json:"protocol"`
	Input       json.RawMessage `json:"input"`
	Kind        string          `json:"kind"`
	ClientToken string          `json:"client_token"`
	OnActive    *string         `json:"on_active"`
	Synced      bool            `json:"synced"`
}

// readMessage reads a message. leave gives back the room that it takes.
func (s *Server) readMessage(w http.ResponseWriter, r *http.Request) (m *message, leave func(), err error) {
	limit := int64(s.cfg.Turns.MaxInput() + envelope)
	size := limit
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	if !s.room.TryAcquire(size) {
		return nil, nil, errBusy
	}
	leave = func() { s.room.Release(size) }
	body, err := readBody(w, r, limit)
	if err == nil {
		m, err = s.parseMessage(body)
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	m.Header = forwarded(r.Header, s.cfg.ForwardHeaders)
	return m, leave, nil
}

func (s *Server) parseMessage(body []byte) (*message, error) {
	var in messageFields
	if err := problem.Decode(body, &in); err != nil {
		return nil, err
	}
	if err := checkProtocol(in.Protocol); err != nil {
		return nil, err
	}
	m := &message{legacy: in.Protocol == nil, synced: in.Synced}
	var err error
	if m.ChatID, err = chatOf(in.ChatID, in.ThreadID); err != nil {
		return nil, err
	}
	m.Input, m.Kind, m.ClientToken = in.Input, in.Kind, in.ClientToken
	if in.ChatID == nil {
		m.Input = body
	}
	if limit := s.cfg.Turns.MaxInput(); len(m.Input) > limit {
		return nil, problem.New(problem.TooLarge, "input has %d bytes; allowed are %d", len(m.Input), limit)
	}
	if in.OnActive != nil {
		if *in.OnActive == "" {
			return nil, problem.New(problem.BadRequest, "on_active is empty; allowed are reject, queue and supersede")
		}
		m.OnActive = runs.OnActive(*in.OnActive)
	}
	return m, nil
}

// acting is the context of what is done for a request whose body has been read.
func (s *Server) acting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.base, actTimeout)
}
