package relay

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/internal/turns"
)

const (
	// envelope is what the body of a message may have besides its input.
	envelope = maxBody

	// roomBytes bounds the bodies of messages that are taken in at once. Each is held
	// about three times while it is read, checked and stored.
	roomBytes = 128 << 20

	// asideBytes bounds, likewise, the bodies of answers: they pass when there is no room for
	// anything else.
	asideBytes = 32 << 20

	// actTimeout bounds what is done for a request once its body has been read. It goes on
	// when the client leaves: what was sent is sent.
	actTimeout = 15 * time.Second
)

// message is what a request brings to a chat.
type message struct {
	turns.SendRequest
	legacy bool
	synced bool

	derived     bool   // the client token is not the client's own
	asksNothing bool   // it is to watch what there is
	messageID   string // by which the client knows the answer already; "" for none
	reset       []byte // takes back what the client has of the answer; nil where that is nothing
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
	return s.readMessageAs(w, r, s.parseMessage)
}

// readMessageAs is readMessage for bodies of another form.
func (s *Server) readMessageAs(w http.ResponseWriter, r *http.Request, parse func([]byte) (*message, error)) (m *message, leave func(), err error) {
	if err := s.maySend(r.Context()); err != nil {
		return nil, nil, err
	}
	in := &roomed{ReadCloser: r.Body, room: s.room}
	r.Body = in
	body, err := readBody(w, r, int64(s.cfg.Turns.MaxInput()+envelope))
	if err == nil {
		m, err = parse(body)
	}
	if err != nil {
		s.sendRefused(err)
		in.leave()
		return nil, nil, err
	}
	m.Header = forwarded(r.Header, s.cfg.ForwardHeaders)
	id := identity(r.Context())
	m.Realm, m.Owner = id.Realm, id.Owner
	m.Trace = tracing.Of(r.Context())
	return m, in.leave, nil
}

// roomed is a body that takes room as it arrives, so that one that does not arrive
// takes none.
type roomed struct {
	io.ReadCloser
	room        *semaphore.Weighted
	free        int64 // how much of it takes none
	read, taken int64
}

// roomStep is how much room is taken at a time.
const roomStep = 64 << 10

// Read reads on as long as there is room; errBusy says that there is none.
func (b *roomed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for b.read += int64(n); b.taken < b.read-b.free; b.taken += roomStep {
		if !b.room.TryAcquire(roomStep) {
			return 0, errBusy
		}
	}
	return n, err
}

// inRoom makes a request's body take room but for its first 64 KiB. leave gives it back.
func inRoom(r *http.Request, room *semaphore.Weighted) (leave func()) {
	in := &roomed{ReadCloser: r.Body, room: room, free: maxBody}
	r.Body = in
	return in.leave
}

func (b *roomed) leave() {
	b.room.Release(b.taken)
	b.taken = 0
}

// outsideRoom is a body whose rest is thrown away: that takes no room from anybody.
func outsideRoom(body io.ReadCloser) io.ReadCloser {
	if in, ok := body.(*roomed); ok {
		in.leave()
		return in.ReadCloser
	}
	return body
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
	if err := s.checkInput(m.Input); err != nil {
		return nil, err
	}
	return m, m.onActive(in.OnActive)
}

// checkInput bounds an input.
func (s *Server) checkInput(input json.RawMessage) error {
	if limit := s.cfg.Turns.MaxInput(); len(input) > limit {
		return problem.New(problem.TooLarge, "input has %d bytes; allowed are %d", len(input), limit)
	}
	return nil
}

// onActive takes the field on_active, nil where it is missing.
func (m *message) onActive(on *string) error {
	if on == nil {
		return nil
	}
	if *on == "" {
		return problem.New(problem.BadRequest, "on_active is empty; allowed are reject, queue and supersede")
	}
	m.OnActive = runs.OnActive(*on)
	return nil
}

// acting is the context of what is done for a request whose body has been read.
func (s *Server) acting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.base, actTimeout)
}
