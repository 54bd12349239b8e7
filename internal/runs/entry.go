package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// State is what a run is doing, as its entry says.
type State string

// The states an entry can be in.
const (
	StateQueued    State = "queued" // its turn waits for a worker, or behind another run
	StateRunning   State = "running"
	StateWaiting   State = "waiting"   // for an answer; never stored, see Entry.Doing
	StateFinishing State = "finishing" // every event is stored, the application is saving
	StateEnded     State = "ended"
)

// Mark is a place where replay may start: the record at StreamSeq holds Seq as its
// last event.
type Mark struct {
	Seq       uint64 `json:"seq"`
	StreamSeq uint64 `json:"stream_seq"`
}

// An entry keeps marks at least markEvents apart and at most maxMarks of them, so
// that they span more than the replay window and the entry stays small. A replay
// reads at most markEvents, or one segment, more than it needs.
const (
	markEvents = 128
	maxMarks   = 48
)

// Entry is what the bucket knows of one run. Its writer changes it at checkpoints
// and at the end; whoever ends an orphaned run changes it too.
type Entry struct {
	RunID          subjects.RunID `json:"run_id"`
	Realm          subjects.Realm `json:"realm,omitempty"`
	ChatID         string         `json:"chat_id"`
	Owner          string         `json:"owner,omitempty"`
	Kind           string         `json:"kind,omitempty"` // the turn's kind; "" means send
	TurnID         string         `json:"turn_id,omitempty"`
	Generation     uint64         `json:"generation"` // place in the chat: higher is newer; 0 while it waits behind another run
	State          State          `json:"state"`
	Producer       string         `json:"producer"`            // the lease that keeps the run alive
	Writer         string         `json:"writer"`              // who may write the log
	ClaimStreamSeq uint64         `json:"claim_stream_seq"`    // the start or takeover record that made Writer the writer
	FirstStreamSeq uint64         `json:"first_stream_seq"`    // the start record
	Marks          []Mark         `json:"marks,omitempty"`     // oldest first
	Segments       int            `json:"segments"`            // how many are stored; more may be
	Seq            uint64         `json:"seq"`                 // newest seq at the last checkpoint or the end
	Steerable      bool           `json:"steerable,omitempty"` // its agent takes messages while it answers
	Questions      []Question     `json:"questions,omitempty"` // those that are open
	Trace          subjects.Trace `json:"trace,omitzero"`      // in which the run was asked for
	StartedAt      time.Time      `json:"started_at"`
	EndedAt        time.Time      `json:"ended_at,omitzero"`
	End            *subjects.End  `json:"end,omitempty"`

	revision uint64
}

// AddMark notes a place where replay may start. Seqs must not fall.
func (e *Entry) AddMark(m Mark) {
	if n := len(e.Marks); n > 0 && m.Seq < e.Marks[n-1].Seq+markEvents {
		return
	}
	e.Marks = append(e.Marks, m)
	if extra := len(e.Marks) - maxMarks; extra > 0 {
		e.Marks = append(e.Marks[:0:0], e.Marks[extra:]...)
	}
}

// ReplayFrom is where to start reading for the events after afterSeq: the newest mark at
// or before it, else the run's first record.
func (e *Entry) ReplayFrom(afterSeq uint64) Mark {
	from := Mark{StreamSeq: e.FirstStreamSeq}
	for _, m := range e.Marks {
		if m.Seq > afterSeq {
			break
		}
		from = m
	}
	return from
}

// Active says whether the run has no end yet.
func (e *Entry) Active() bool { return e.End == nil }

// Doing is what the run is doing as the outside sees it: a run that has open questions
// waits for them, also one that has ended for their sake.
func (e *Entry) Doing() State {
	for _, q := range e.Questions {
		if q.Interrupt == (e.End != nil) && e.State != StateQueued {
			return StateWaiting
		}
	}
	return e.State
}

// Entry reads a run's entry at the leader; ErrNotFound where there is none.
func (s *Store) Entry(ctx context.Context, id subjects.RunID) (*Entry, error) {
	m, err := s.value(ctx, subjects.KeySubject(subjects.RunKey(id)))
	if err != nil {
		return nil, err
	}
	return parseEntry(m)
}

func parseEntry(m message) (*Entry, error) {
	e := &Entry{revision: m.seq}
	if err := json.Unmarshal(m.data, e); err != nil {
		return nil, fmt.Errorf("entry at %s: %w", m.subject, err)
	}
	return e, nil
}

// CreateEntry stores a new run's entry; ErrConflict where one exists.
func (s *Store) CreateEntry(ctx context.Context, e *Entry) error {
	e.revision = 0
	return s.UpdateEntry(ctx, e)
}

// UpdateEntry replaces the entry that e was read from. ErrConflict says that it was
// changed since: read again and decide again. An unknown outcome is settled first.
func (s *Store) UpdateEntry(ctx context.Context, e *Entry) error {
	value, err := encode(e)
	if err != nil {
		return err
	}
	e.revision, err = s.settleKey(ctx, subjects.KeySubject(subjects.RunKey(e.RunID)), value, e.revision)
	return err
}

// ChangeEntry reads a run's entry, applies change and stores it, again and again
// until nobody came in between. change returning an error ends it with that error.
func (s *Store) ChangeEntry(ctx context.Context, id subjects.RunID, change func(*Entry) error) (*Entry, error) {
	for {
		e, err := s.Entry(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := change(e); err != nil {
			return e, err
		}
		err = s.UpdateEntry(ctx, e)
		if !errors.Is(err, ErrConflict) {
			return e, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// encode is json.Marshal that leaves <, > and & as they are, so that what was sent
// from outside does not become six times as large.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// value reads a key at the leader; a deleted one is ErrNotFound.
func (s *Store) value(ctx context.Context, subject string) (message, error) {
	m, err := s.lastOf(ctx, subjects.BucketStream, subject)
	if err == nil && m.deleted() {
		err = ErrNotFound
	}
	return m, err
}

// settleKey stores value over the revision expect and settles an unknown outcome: a
// value at the leader that carries this attempt's token is ours.
func (s *Store) settleKey(ctx context.Context, subject string, value []byte, expect uint64) (uint64, error) {
	wait, token := firstRetry, nuid.Next()
	for {
		try, done := s.untilReconnect(ctx)
		revision, err := s.putKey(try, subject, value, expect, token)
		done()
		if err == nil || hopeless(err) {
			return revision, err
		}
		try, done = s.untilReconnect(ctx)
		m, readErr := s.lastOf(try, subjects.BucketStream, subject)
		done()
		switch {
		case readErr == nil && m.header.Get(putHeader) == token:
			return m.seq, nil
		case readErr == nil && m.seq != expect,
			errors.Is(readErr, ErrNotFound) && expect != 0:
			return expect, ErrConflict
		}
		select {
		case <-ctx.Done():
			return expect, fmt.Errorf("%s not known to be stored: %w (last: %w)", subject, ctx.Err(), err)
		case <-s.Reconnected():
		case <-time.After(wait):
		}
		wait = min(2*wait, longestRetry)
	}
}
