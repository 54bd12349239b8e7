package runs

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// Seal writes a run's end into its entry, once the end record is stored or the log
// is lost. An entry that has an end keeps it. It is the last step of every end.
func (s *Store) Seal(ctx context.Context, id subjects.RunID, end subjects.End, seq uint64) (*Entry, error) {
	e, err := s.ChangeEntry(ctx, id, func(e *Entry) error {
		if e.End != nil {
			return ErrEnded
		}
		e.State, e.End, e.EndedAt = StateEnded, &end, time.Now().UTC()
		e.Seq = max(e.Seq, seq)
		return nil
	})
	if errors.Is(err, ErrEnded) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	if err := s.Promote(ctx, e.Realm, e.ChatID); err != nil {
		s.log.Warn("the chat's next turn did not get its time yet; a janitor sees to it", "run", id, "error", err)
	}
	return e, nil
}

// EndRun ends a run that the caller does not write: its producer is gone, or a
// newer run took the chat. It fences whoever writes the run, however fast. A run
// that has an end keeps it, and that end is what is returned. What the run has asked
// and nobody answered is closed before its end; words are events to say before that.
func (s *Store) EndRun(ctx context.Context, id subjects.RunID, end subjects.End, words ...[]byte) (EndedError, error) {
	writer, said := lastWordsBy+nuid.Next(), false
	for {
		last, err := s.Last(ctx, id)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrLogLost) {
			// Nothing to append to: the entry alone tells readers of the end.
			return s.sealed(ctx, id, end, 0)
		}
		if err != nil {
			return EndedError{}, err
		}
		if e := last.End(); e != nil {
			return s.sealed(ctx, id, *e, last.Last)
		}
		said = said || strings.HasPrefix(last.Writer, lastWordsBy) // by somebody who ends it too, or died at it
		if !said {
			// Only what is said fences the writer: until then it may go on and ask something.
			before := last.StreamSeq
			last, err = s.say(ctx, id, end, words, last, writer)
			said = err == nil && last.StreamSeq != before
		}
		if err == nil {
			r := subjects.EndRecord(end, last.Last, writer)
			_, err = s.Append(ctx, id, &r, last.StreamSeq)
		}
		var ended *EndedError
		switch {
		case err == nil:
			s.TellEnded(id)
			return s.sealed(ctx, id, end, last.Last)
		case errors.As(err, &ended):
			return s.sealed(ctx, id, ended.End, ended.Seq)
		case !errors.Is(err, ErrFenced):
			return EndedError{}, err
		}
		// The writer was faster; it can win only as long as it keeps publishing.
		if ctx.Err() != nil {
			return EndedError{}, ctx.Err()
		}
	}
}

// lastWordsBy begins the name of whoever ends a run that it does not write.
const lastWordsBy = "end-"

// say appends the last words of a run that the caller does not write, behind last, and
// returns the record to go on from. Whoever writes the run is fenced by it.
func (s *Store) say(ctx context.Context, id subjects.RunID, end subjects.End, words [][]byte, last Stored, writer string) (Stored, error) {
	e, err := s.Entry(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return last, nil
	}
	if err != nil {
		return last, err
	}
	if e.TurnID != "" {
		if _, err := s.CloseInputs(ctx, id, 0); err != nil {
			return last, err
		}
	}
	closed, err := s.closedInLog(ctx, e, last)
	if err != nil {
		return last, err
	}
	closing, err := s.lastWords(ctx, e, end, func(id string) bool { return !closed[id] })
	if err != nil {
		return last, err
	}
	words = append(slices.Clone(words), closing...)
	if len(words) == 0 || last.terminal() {
		return last, nil // nothing may follow a terminal event; the end tells it
	}
	if err := s.orphan(ctx, e); err != nil {
		return last, err
	}
	r := subjects.Record{Kind: subjects.KindEvents, Last: last.Last + uint64(len(words)), Count: len(words),
		Writer: writer, Body: bytes.Join(words, []byte{'\n'})}
	seq, err := s.Append(ctx, id, &r, last.StreamSeq)
	if err != nil {
		return last, err
	}
	return Stored{Record: r, StreamSeq: seq}, nil
}

// orphan takes a run's producer out of its entry. The last words fence it, and if whoever
// says them dies before the end, a janitor must not wait for a producer that lives and
// can do nothing any more.
func (s *Store) orphan(ctx context.Context, e *Entry) error {
	if e.Producer == "" {
		return nil
	}
	_, err := s.ChangeEntry(ctx, e.RunID, func(e *Entry) error {
		e.Producer = ""
		return nil
	})
	return err
}

// terminal says whether the record's last event is a run's own terminal.
func (st *Stored) terminal() bool {
	if st.Kind != subjects.KindEvents {
		return false
	}
	var e agui.Event
	err := agui.Scan(st.Body[bytes.LastIndexByte(st.Body, '\n')+1:], &e)
	return err == nil && agui.IsTerminal(e.Type)
}

func (s *Store) sealed(ctx context.Context, id subjects.RunID, end subjects.End, seq uint64) (EndedError, error) {
	e, err := s.Seal(ctx, id, end, seq)
	if err != nil {
		return EndedError{}, err
	}
	return EndedError{End: *e.End, Seq: e.Seq}, nil
}
