package turns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// The kinds of turn that mean something here; an application has its own besides.
const (
	KindSend      = "send"      // a message; the default
	KindRetry     = "retry"     // the last message again: supersedes
	KindEdit      = "edit"      // the last message, changed: supersedes
	KindSteer     = "steer"     // a message for the run that is answering
	KindApproval  = "approval"  // the answer to what a run has ended to ask
	KindHeartbeat = "heartbeat" // the application's own start: never supersedes
	KindCanvas    = "canvas"
)

// Limits of what names things, in bytes.
const (
	MaxKind        = 64
	MaxClientToken = 128
	maxHeaders     = 64
	maxHeaderBytes = 16 << 10
)

// Turn is one request to produce in a chat, as it is stored until its run leaves.
type Turn struct {
	TurnID string            `json:"turn_id"`
	RunID  subjects.RunID    `json:"run_id"`
	Realm  subjects.Realm    `json:"realm,omitempty"`
	ChatID string            `json:"chat_id"`
	Owner  string            `json:"owner,omitempty"`
	Kind   string            `json:"kind"`
	Input  json.RawMessage   `json:"-"` // byte for byte as it was sent
	Header map[string]string `json:"header,omitempty"`
	SentAt time.Time         `json:"sent_at"`
	Trace  subjects.Trace    `json:"trace,omitzero"` // in which it was sent
}

// encode makes what is stored: a line of JSON, and the input as it is. Inside the JSON
// it would be written anew, and be up to six times as large.
func (t *Turn) encode() ([]byte, error) {
	head, err := json.Marshal(t)
	return append(append(head, '\n'), t.Input...), err
}

func parseTurn(stored []byte) (*Turn, error) {
	head, input, ok := bytes.Cut(stored, []byte{'\n'})
	if !ok {
		return nil, errors.New("no head line")
	}
	t := &Turn{Input: input}
	return t, json.Unmarshal(head, t)
}

// SendRequest asks for a turn.
type SendRequest struct {
	Realm  subjects.Realm // whose chat it is
	ChatID string         // required; see subjects.CheckChatID
	Owner  string         // at most subjects.MaxOutside bytes; "" for none
	Kind   string         // at most MaxKind bytes; "" means send
	// Input is a JSON object: an AG-UI RunAgentInput or {"text":"…"}.
	Input json.RawMessage // required
	// Header holds headers of the client's request that its agent may see.
	Header map[string]string
	// Trace is where in a trace it is sent; the zero value is in none.
	Trace subjects.Trace
	// ClientToken makes a repeated send give the first one's run; at most
	// MaxClientToken bytes, "" for none.
	ClientToken string
	// OnActive is what to do about an active run. "" means what suits the kind: retry and edit
	// supersede, any other is refused.
	OnActive runs.OnActive

	replace subjects.RunID // see runs.StartRequest
}

func (r *SendRequest) check(maxInput int) error {
	if err := subjects.CheckChatID(r.ChatID); err != nil {
		return fmt.Errorf("%w: chat_id is %w; allowed are 1 to %d bytes of valid UTF-8", ErrOptions, err, subjects.MaxOutside)
	}
	if _, err := subjects.ParseRealm(string(r.Realm)); err != nil {
		return fmt.Errorf("%w: realm is %.40q; allowed are those that subjects.NewRealm gives", ErrOptions, r.Realm)
	}
	for _, f := range []struct {
		name, value string
		limit       int
	}{
		{"owner", r.Owner, subjects.MaxOutside},
		{"kind", r.Kind, MaxKind},
		{"client_token", r.ClientToken, MaxClientToken},
	} {
		if len(f.value) > f.limit || !utf8.ValidString(f.value) {
			return fmt.Errorf("%w: %s has %d bytes; allowed are up to %d bytes of valid UTF-8", ErrOptions, f.name, len(f.value), f.limit)
		}
	}
	if err := checkInput(r.Input, maxInput); err != nil {
		return err
	}
	headers := 0
	for k, v := range r.Header {
		headers += len(k) + len(v)
	}
	if len(r.Header) > maxHeaders || headers > maxHeaderBytes {
		return fmt.Errorf("%w: %d forwarded headers of %d bytes; allowed are %d of %d bytes",
			ErrOptions, len(r.Header), headers, maxHeaders, maxHeaderBytes)
	}
	if r.Kind == "" {
		r.Kind = KindSend
	}
	return r.checkOnActive()
}

func (r *SendRequest) checkOnActive() error {
	supersedes := r.Kind == KindRetry || r.Kind == KindEdit
	switch r.OnActive {
	case "":
		r.OnActive = runs.Reject
		if supersedes {
			r.OnActive = runs.Supersede
		}
	case runs.Supersede:
		if r.Kind == KindHeartbeat {
			return fmt.Errorf("%w: a turn of kind heartbeat never supersedes; allowed are on_active reject and queue", ErrOptions)
		}
	case runs.Reject, runs.Behind:
	default:
		return fmt.Errorf("%w: on_active is %.40q; allowed are reject, queue and supersede", ErrOptions, r.OnActive)
	}
	return nil
}

// checkInput says whether an input may be stored: one JSON object within its size.
func checkInput(input json.RawMessage, limit int) error {
	switch trimmed := bytes.TrimLeft(input, " \t\r\n"); {
	case len(input) == 0:
		return fmt.Errorf(`%w: input is missing; it is a RunAgentInput or {"text":"…"}`, ErrOptions)
	case len(input) > limit:
		return fmt.Errorf("%w: input has %d bytes; allowed are %d", ErrOptions, len(input), limit)
	case len(trimmed) == 0, trimmed[0] != '{', !json.Valid(input), !utf8.Valid(input):
		return fmt.Errorf(`%w: input is no JSON object; it is a RunAgentInput or {"text":"…"}`, ErrOptions)
	}
	var in struct {
		Text     json.RawMessage `json:"text"`
		Messages json.RawMessage `json:"messages"`
		Resume   json.RawMessage `json:"resume"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return fmt.Errorf("%w: input: %w", ErrOptions, err)
	}
	if in.Text == nil && in.Messages == nil && in.Resume == nil {
		return fmt.Errorf(`%w: input has neither text nor messages; it is a RunAgentInput or {"text":"…"}`, ErrOptions)
	}
	if m := in.Messages; m != nil && m[0] != '[' && string(m) != "null" {
		return fmt.Errorf("%w: input.messages is no array", ErrOptions)
	}
	if in.Messages == nil && in.Resume == nil && (len(in.Text) == 0 || in.Text[0] != '"') {
		return fmt.Errorf("%w: input.text is no string", ErrOptions)
	}
	return nil
}
