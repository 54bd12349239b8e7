package relay

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/subjects"
)

// watch is what a request to watch a chat asks for.
type watch struct {
	realm  subjects.Realm
	chat   string
	legacy bool
	reset  []byte  // of the legacy wire; may be nil
	ui     *uiWire // nil for any other wire
	wait   time.Duration
	run    subjects.RunID // "" for none; any string is possible
	after  *uint64        // nil for none
	ended  subjects.RunID // whose end the client has, and which it does not want again; "" for none
	synced bool
}

// find is the question which run to watch.
func (q watch) find() consumer.FindRequest {
	req := consumer.FindRequest{Realm: q.realm, ChatID: q.chat, RunID: q.run, Wait: q.wait}
	if q.run == "" {
		req.After = q.ended
	}
	return req
}

// options say where to begin in the run that was found. A legacy client has no
// cursor, since nothing ever told it a seq.
func (q watch) options() consumer.ReadOptions {
	opt := consumer.ReadOptions{Synced: q.synced && !q.legacy}
	if q.run != "" && q.after != nil && !q.legacy {
		opt.Cursor = &consumer.Cursor{RunID: q.run, AfterSeq: *q.after}
	}
	return opt
}

func (q watch) wire() wire {
	switch {
	case q.ui != nil:
		return q.ui
	case q.legacy:
		return &legacy{reset: q.reset}
	}
	return protocol1{}
}

// fields are those of a body, protocol 1's own or a stock client's RunAgentInput.
type fields struct {
	ChatID     *string         `json:"chat_id"`
	ThreadID   *string         `json:"threadId"`
	Protocol   json.RawMessage `json:"protocol"`
	WaitMS     milliseconds    `json:"wait_ms"`
	RunID      string          `json:"run_id"`
	AfterSeq   problem.Int     `json:"after_seq"`
	EndedRunID string          `json:"ended_run_id"`
	Synced     bool            `json:"synced"`
}

// parseBody reads the body of POST /chat/live.
func parseBody(w http.ResponseWriter, r *http.Request) (watch, error) {
	body, err := readBody(w, r, maxLegacyBody)
	if err != nil {
		return watch{}, err
	}
	var in fields
	if err := problem.Decode(body, &in); err != nil {
		return watch{}, err
	}
	legacy := in.Protocol == nil
	if !legacy && len(body) > maxBody {
		return watch{}, tooLarge(maxBody)
	}
	return in.watch(legacy)
}

// readBody reads a body of at most limit bytes within the time it may have.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		problem.Linger(w, outsideRoom(r.Body))
		return nil, tooLarge(int(limit))
	case errors.Is(err, errBusy):
		return nil, err
	case err != nil:
		return nil, problem.New(problem.BadRequest, "the body did not arrive whole").Because(err)
	}
	// From here on a read only tells that the client has left.
	_ = rc.SetReadDeadline(time.Time{})
	return body, nil
}

func (in fields) watch(legacy bool) (watch, error) {
	q := watch{legacy: legacy, wait: time.Duration(in.WaitMS), run: subjects.RunID(in.RunID), ended: subjects.RunID(in.EndedRunID), synced: in.Synced}
	if err := checkProtocol(in.Protocol); err != nil {
		return q, err
	}
	var err error
	if q.chat, err = chatOf(in.ChatID, in.ThreadID); err != nil {
		return q, err
	}
	if err := in.AfterSeq.Check("after_seq", 0, subjects.MaxSeq); err != nil {
		return q, err
	}
	if in.AfterSeq.Set {
		after := uint64(in.AfterSeq.N)
		q.after = &after
	}
	return q, nil
}

// checkProtocol refuses a protocol that is not spoken here; nil is the legacy wire.
func checkProtocol(protocol json.RawMessage) error {
	if protocol == nil || string(protocol) == "1" {
		return nil
	}
	return problem.New(problem.UnsupportedProtocol, "protocol must be 1, or absent for plain AG-UI events")
}

// chatOf is the chat that a body names: with chat_id, or as a stock client does.
func chatOf(chatID, threadID *string) (string, error) {
	name, chat := "chat_id", chatID
	if chat == nil && threadID != nil {
		name, chat = "threadId", threadID
	}
	if chat == nil {
		chat = new(string)
	}
	if err := subjects.CheckChatID(*chat); err != nil {
		return "", problem.New(problem.BadRequest, "%s is %s; allowed are 1 to 256 bytes of valid UTF-8", name, err)
	}
	return *chat, nil
}

// milliseconds is a wait: an integer in plain digits, from 0 on, however large,
// clamped to MaxWait.
type milliseconds time.Duration

// MaxWait is the longest that any relay lets a request wait for a run to appear.
const MaxWait = 30 * time.Second

// UnmarshalJSON implements json.Unmarshaler; package problem names the field.
func (m *milliseconds) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // one out of range is as large as can be
		return problem.New(problem.BadRequest, "must be an integer from 0 on, in plain digits")
	}
	*m = milliseconds(time.Duration(min(n, uint64(MaxWait/time.Millisecond))) * time.Millisecond)
	return nil
}
