package consumer

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rejoin/rejoin/subjects"
)

// Watch says what to watch.
type Watch struct {
	ChatID string         // required: 1–256 bytes of valid UTF-8
	RunID  subjects.RunID // "" means the chat's current run

	// AfterSeq is the last seq of RunID that the caller has applied, 0 before the
	// first. With it the stream goes on from there, by replay or by a snapshot as
	// the relay sees fit; nil means a snapshot first.
	AfterSeq *uint64

	Wait   time.Duration // how long to wait for a run to appear in an idle chat; 0 means not at all
	Synced bool          // ask for a Synced frame when replay has caught up with live
	Follow bool          // after a superseded run's End go on with the run that took the chat
}

// maxWaitAsked is where relays clamp wait_ms. A longer wait is made of several requests.
const maxWaitAsked = 30 * time.Second

const maxChatID = 256

func (w *Watch) check() error {
	switch {
	case w.ChatID == "" || len(w.ChatID) > maxChatID || !utf8.ValidString(w.ChatID):
		return fmt.Errorf("chat id %.40q: want 1–%d bytes of valid UTF-8, got %d bytes", w.ChatID, maxChatID, len(w.ChatID))
	case !utf8.ValidString(string(w.RunID)):
		return fmt.Errorf("run id %.40q: want valid UTF-8", w.RunID)
	case w.AfterSeq != nil && w.RunID == "":
		return fmt.Errorf("after_seq %d without a run id: a cursor is both", *w.AfterSeq)
	case w.AfterSeq != nil && *w.AfterSeq > subjects.MaxSeq:
		return fmt.Errorf("after_seq %d: want at most 2^53-1", *w.AfterSeq)
	case w.Wait < 0:
		return fmt.Errorf("wait %v: want 0 or more", w.Wait)
	}
	return nil
}

// liveRequest is the body of POST /chat/live.
type liveRequest struct {
	ChatID   string         `json:"chat_id"`
	Protocol int            `json:"protocol"`
	WaitMS   int64          `json:"wait_ms,omitempty"`
	RunID    subjects.RunID `json:"run_id,omitempty"`
	AfterSeq *uint64        `json:"after_seq,omitempty"`
	Synced   bool           `json:"synced,omitempty"`
}

// body is the request for what the stream needs next.
func (s *Stream) body(wait time.Duration) []byte {
	r := liveRequest{
		ChatID:   s.watch.ChatID,
		Protocol: 1,
		WaitMS:   wait.Milliseconds(),
		RunID:    s.named,
		Synced:   s.watch.Synced,
	}
	if s.pos.held {
		r.RunID, r.AfterSeq = s.pos.run, &s.pos.seq
	}
	data, _ := json.Marshal(r) // cannot fail: strings and integers
	return data
}

// patience is how much of Watch.Wait is left, in whole milliseconds rounded up.
func (s *Stream) patience() time.Duration {
	if s.started() {
		return 0
	}
	if s.waitUntil.IsZero() {
		s.waitUntil = time.Now().Add(s.watch.Wait)
	}
	left := time.Until(s.waitUntil)
	return max(0, (left + time.Millisecond - 1).Truncate(time.Millisecond))
}
