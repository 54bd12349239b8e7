package active

import (
	"bytes"
	"cmp"
	"encoding/json"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Run is a run as the feed shows it. It is never changed once made.
type Run struct {
	RunID     subjects.RunID `json:"run_id"`
	ChatID    string         `json:"chat_id"`
	Kind      string         `json:"kind"`
	State     runs.State     `json:"state"`
	StartedAt time.Time      `json:"started_at"`
	// End is nil unless State is ended, and also nil where a run was removed before it had
	// an end.
	*subjects.End

	realm   subjects.Realm
	encode  sync.Once
	encoded []byte
}

// shown is the run of an entry in a state, with its end only if that state is ended.
func shown(e *runs.Entry, state runs.State) *Run {
	r := &Run{RunID: e.RunID, ChatID: e.ChatID, Kind: cmp.Or(e.Kind, "send"), State: state, StartedAt: e.StartedAt, realm: e.Realm}
	if state == runs.StateEnded {
		r.End = e.End
	}
	return r
}

// over is the run when it has ended; end may be nil.
func (r *Run) over(end *subjects.End) *Run {
	return &Run{RunID: r.RunID, ChatID: r.ChatID, Kind: r.Kind, State: runs.StateEnded, StartedAt: r.StartedAt, End: end, realm: r.realm}
}

// JSON is the run as one JSON object, made once for all who want it. It must not be
// changed.
func (r *Run) JSON() []byte {
	r.encode.Do(func() {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			panic(err) // strings, booleans and a time of this age always marshal
		}
		r.encoded = bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
	})
	return r.encoded
}

// newer orders runs by when they started, the newest first.
func newer(a, b *Run) int {
	return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.RunID, a.RunID))
}
