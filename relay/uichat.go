package relay

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay/uimessages"
	"github.com/rejoin/rejoin/subjects"
)

// What a client of the AI SDK posts a message for.
const (
	triggerSubmit     = "submit-message"
	triggerRegenerate = "regenerate-message"
)

// uiFields are those of such a client's body. What else it has is the application's, and
// goes to the agent as forwardedProps.
type uiFields struct {
	ID        *string           `json:"id"`
	Messages  []json.RawMessage `json:"messages"`
	Trigger   string            `json:"trigger"`
	MessageID string            `json:"messageId"`
	manners
}

var uiOwn = []string{"id", "messages", "kind", "client_token", "on_active"}

// uiChat serves POST /api/chat: a message, and its run as a UI message stream.
func (s *Server) uiChat(w http.ResponseWriter, r *http.Request) error {
	if !canFlush(w) {
		return errNoFlush
	}
	m, leave, err := s.readMessageAs(w, r, s.parseUIChat)
	if err != nil {
		return err
	}
	defer leave()
	bring := func(ctx context.Context) (turns.Sent, error) { return s.bringOnce(ctx, m) }
	return s.answered(w, r, m, leave, bring, &watch{ui: newUIWire(r, m.messageID)})
}

// uiResume serves GET /api/chat/{chat_id}/stream: the chat's run from its beginning, or 204. A
// client that was cut off names its run, which it then gets whether or not it was saved meanwhile.
func (s *Server) uiResume(w http.ResponseWriter, r *http.Request) error {
	chat, err := pathChat(r)
	if err != nil {
		return err
	}
	run := subjects.RunID(r.URL.Query().Get("run_id"))
	return s.live(w, r, watch{chat: chat, run: run, ui: newUIWire(r, "")})
}

func newUIWire(r *http.Request, messageID string) *uiWire {
	return &uiWire{messageID: messageID, ends: !r.ProtoAtLeast(1, 1)}
}

func (s *Server) parseUIChat(body []byte) (*message, error) {
	var in uiFields
	if err := problem.Decode(body, &in); err != nil {
		return nil, err
	}
	m := &message{}
	if in.ID != nil {
		m.ChatID = *in.ID
	}
	if err := subjects.CheckChatID(m.ChatID); err != nil {
		return nil, problem.New(problem.BadRequest, "id, which names the chat, is %s; allowed are 1 to 256 bytes of valid UTF-8", err)
	}
	if len(in.Messages) == 0 {
		return nil, problem.New(problem.BadRequest, "messages is missing or has none; allowed is the list of the chat's UI messages, the newest last")
	}
	asked, err := in.take(m)
	if err != nil {
		return nil, err
	}
	props, err := in.props(body)
	if err == nil {
		m.Input, err = uimessages.Input(m.ChatID, nuid.Next(), in.Messages, props)
	}
	if err == nil {
		err = s.checkInput(m.Input)
	}
	if err != nil {
		return nil, err
	}
	return m, in.on(m, asked)
}

// take finds out what is asked, and which message the answer becomes a part of: a client whose
// last message is the assistant's adds what comes to that.
func (in *uiFields) take(m *message) (asked any, err error) {
	var last struct{ ID, Role string }
	if json.Unmarshal(in.Messages[len(in.Messages)-1], &last) != nil {
		return nil, problem.New(problem.BadRequest, "the last of messages is no UI message: an object with id, role and parts")
	}
	switch in.Trigger {
	case triggerRegenerate:
		in.Kind = first(in.Kind, turns.KindRetry)
	case triggerSubmit, "":
		switch {
		case last.Role == "assistant":
			m.messageID = last.ID
		case in.MessageID != "" && in.MessageID == last.ID:
			in.Kind = first(in.Kind, turns.KindEdit)
		}
	default:
		return nil, problem.New(problem.BadRequest, "trigger is %.40q; allowed are %s and %s", in.Trigger, triggerSubmit, triggerRegenerate)
	}
	asked, _ = lastOf(in.Messages, func(map[string]any) bool { return true })
	return asked, nil
}

func first(given, otherwise string) string {
	if given != "" {
		return given
	}
	return otherwise
}

// props are the fields that are not looked at here.
func (in *uiFields) props(body []byte) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	for _, own := range uiOwn {
		delete(all, own)
	}
	return marshal(all)
}
