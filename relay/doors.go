package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// Clients of other ecosystems, as they are, have one request for everything: it brings a message
// and watches its run, and it is repeated when the connection was lost. They can leave a run
// but not stop it. So here what was asked is its own client token, and what is asked next
// takes the chat.

// doors are the routes for such clients.
func (s *Server) doors() []route {
	return []route{
		{http.MethodPost, "/agui/{chat_id}", observing, s.handle(s.agui)},
		{http.MethodPost, "/api/chat", observing, s.handle(s.uiChat)},
		{http.MethodGet, "/api/chat/{chat_id}/stream", observing, s.handle(s.uiResume)},
	}
}

// manners say how a message is to be taken, where a client of another ecosystem says so.
type manners struct {
	Kind        string  `json:"kind"`
	ClientToken string  `json:"client_token"`
	OnActive    *string `json:"on_active"`
}

// on gives a message its manners. asked is what is asked, nil for nothing: the same again
// is the same message, unless its kind is to make a new run of it.
func (w manners) on(m *message, asked any) error {
	m.Kind, m.ClientToken, m.asksNothing = w.Kind, w.ClientToken, asked == nil
	if err := m.onActive(w.OnActive); err != nil {
		return err
	}
	if w.OnActive == nil && asked != nil && m.Kind != turns.KindHeartbeat {
		m.OnActive = runs.Supersede
	}
	again := m.Kind == turns.KindRetry || m.Kind == turns.KindEdit
	if m.ClientToken == "" && asked != nil && !again {
		raw, err := json.Marshal(asked) // of values that were JSON: members in order, one way to write each
		if err != nil {
			return err
		}
		m.ClientToken, m.derived = tokenOf(raw), true
	}
	return nil
}

func tokenOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "asked-" + hex.EncodeToString(sum[:16])
}

// bringOnce brings a message that may have been brought before. A run that failed is no
// answer: asking again is asking anew. One that nobody asks anything of is watched.
func (s *Server) bringOnce(ctx context.Context, m *message) (turns.Sent, error) {
	const remembered = 16 // tokens of a chat
	var sent turns.Sent
	for range remembered + 1 {
		var err error
		sent, err = s.bring(m, s.cfg.Turns.Send)
		var active *problem.Error
		if m.asksNothing && errors.As(err, &active) && active.Code == problem.AlreadyStreaming {
			id, _ := active.Extra["run_id"].(string)
			return turns.Sent{ChatID: m.ChatID, RunID: subjects.RunID(id), Repeated: true}, nil
		}
		if err != nil || !sent.Repeated || !m.derived {
			return sent, err
		}
		failed, err := s.failed(ctx, sent.RunID)
		if err != nil || !failed {
			return sent, err
		}
		m.ClientToken = tokenOf([]byte(m.ClientToken + " " + string(sent.RunID)))
	}
	return sent, nil
}

// failed says whether a run is over without an answer that could be shown again. One that another
// run has replaced is not asked for anew: it would take the chat back.
func (s *Server) failed(ctx context.Context, id subjects.RunID) (bool, error) {
	e, err := s.entryOf(ctx, id)
	if errors.Is(err, runs.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	end := e.End
	if end == nil {
		if _, end, err = s.cfg.Hub.Head(ctx, e); err != nil || end == nil {
			return false, err
		}
	}
	if end.Superseded {
		return false, nil
	}
	switch end.Reason {
	case subjects.ReasonError, subjects.ReasonAbandoned, subjects.ReasonStopped, subjects.ReasonSaveFailed:
		return true, nil
	}
	return false, nil
}
