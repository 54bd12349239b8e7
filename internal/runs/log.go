package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// Stored is a record as the broker keeps it.
type Stored struct {
	subjects.Record
	StreamSeq uint64
	Time      time.Time // the broker's clock
}

// End is the end that the record holds, nil for every other kind of record. A
// record of KindEnd whose body cannot be read counts as an error that was not saved.
func (st *Stored) End() *subjects.End {
	if st.Kind != subjects.KindEnd {
		return nil
	}
	var e subjects.End
	if err := json.Unmarshal(st.Body, &e); err != nil {
		return &subjects.End{Reason: subjects.ReasonError}
	}
	return &e
}

// Last reads a run's newest record at the leader. It returns ErrNotFound when the
// log holds none, ErrLogLost when there is no such stream.
func (s *Store) Last(ctx context.Context, id subjects.RunID) (Stored, error) {
	if id.Partition() < 0 {
		return Stored{}, fmt.Errorf("run %.60q: %w", id, ErrNotFound)
	}
	m, err := s.lastOf(ctx, subjects.RunsStream(id.Partition()), subjects.RunSubject(id))
	if err != nil {
		return Stored{}, err
	}
	return stored(m)
}

func stored(m message) (Stored, error) {
	r, err := subjects.ParseRecord(m.header, m.data)
	if err != nil {
		return Stored{}, fmt.Errorf("message %d on %s: %w", m.seq, m.subject, err)
	}
	return Stored{Record: r, StreamSeq: m.seq, Time: m.time}, nil
}

// How Append waits between attempts, and how often it wants to be told that the
// log is gone before it believes it: a server that is coming up may say so too.
const (
	firstRetry   = 10 * time.Millisecond
	longestRetry = time.Second
	lostAfter    = 6
)

// Append stores r as the successor of the record at stream sequence prev (0: as
// the first), and returns r's stream sequence. A lost or late acknowledgement is
// settled at the leader: Append returns only when it knows that r is stored once,
// or that it never will be. It gives up when ctx does, and only then is the outcome
// unknown; the error wraps ctx's. Otherwise the error is *EndedError, ErrFenced,
// ErrLogLost, or one that no repetition would mend. r must not change meanwhile.
func (s *Store) Append(ctx context.Context, id subjects.RunID, r *subjects.Record, prev uint64) (uint64, error) {
	seq, err := s.deliver(ctx, recordMsg(id, r, prev))
	if err == nil {
		return seq, nil
	}
	return s.Resolve(ctx, id, r, prev, err)
}

// Resolve is the rest of Append for a record that was sent once, by an Appender, and err came
// of that.
func (s *Store) Resolve(ctx context.Context, id subjects.RunID, r *subjects.Record, prev uint64, err error) (uint64, error) {
	wait, lost := firstRetry, 0
	for attempt := 1; ; attempt++ {
		if hopeless(err) {
			return 0, err
		}
		seq, settled := s.settle(ctx, id, r, prev)
		switch {
		case settled == nil && seq > 0:
			return seq, nil
		case errors.Is(settled, ErrFenced):
			return 0, settled
		case errors.Is(settled, ErrLogLost):
			if lost++; lost >= lostAfter {
				return 0, settled
			}
		}
		if attempt == 3 || attempt%30 == 0 {
			s.log.Warn("the broker does not take a record; trying again", "run", id, "attempt", attempt, "error", err)
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("record not known to be stored: %w (last: %w)", ctx.Err(), err)
		case <-s.Reconnected():
		case <-time.After(wait):
		}
		wait = min(2*wait, longestRetry)
		if seq, err = s.deliver(ctx, recordMsg(id, r, prev)); err == nil {
			return seq, nil
		}
	}
}

// recordMsg is the message of a record that the fence lets in behind prev only.
func recordMsg(id subjects.RunID, r *subjects.Record, prev uint64) *nats.Msg {
	m := r.Msg(subjects.RunSubject(id))
	m.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(prev, 10)}
	return m
}

// hopeless says whether publishing the same bytes again can never succeed.
func hopeless(err error) bool {
	if errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed) {
		return true
	}
	const exceedsMaximum = 10054
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == exceedsMaximum
}

// settle finds out at the leader what became of r: its stream sequence when it is
// stored, 0 and no error when the run still ends with the record before it.
func (s *Store) settle(ctx context.Context, id subjects.RunID, r *subjects.Record, prev uint64) (uint64, error) {
	last, err := s.Last(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound) && prev == 0:
		return 0, nil
	case errors.Is(err, ErrNotFound):
		return 0, ErrLogLost
	case err != nil:
		return 0, err
	case last.StreamSeq == prev:
		return 0, nil
	case last.is(r):
		return last.StreamSeq, nil
	}
	// Another writer's record is the last. Ours may stand before it, its ack lost; the
	// fence leaves one place for it.
	m, err := s.firstOf(ctx, subjects.RunsStream(id.Partition()), subjects.RunSubject(id), prev+1)
	if err == nil {
		var next Stored
		if next, err = stored(m); err == nil && next.is(r) {
			return next.StreamSeq, nil
		}
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	if end := last.End(); end != nil {
		return 0, &EndedError{End: *end, Seq: last.Last}
	}
	return 0, fmt.Errorf("%w: writer %.40q", ErrFenced, last.Writer)
}

// is says whether the stored record is r: a writer makes each of its records once.
func (st *Stored) is(r *subjects.Record) bool {
	return st.Writer == r.Writer && st.Kind == r.Kind && st.Last == r.Last && st.Part == r.Part
}
