package harness

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// Seen is what was seen of one run so far.
type Seen struct {
	RunID  subjects.RunID
	Seq    uint64
	State  *State
	Events []string // one by one, a snapshot's in folded form
	Types  []string // of the events
	End    *subjects.End
}

// Hub reads runs over a link. It is closed with the test.
func (f *Fabric) Hub(l *Link) *consumer.Hub {
	h := consumer.NewHub(consumer.HubConfig{Store: l.Store})
	f.Cleanup(h.Close)
	return h
}

// Watch reads a run up to its end, or until until says so.
func (f *Fabric) Watch(h *consumer.Hub, l *Link, id subjects.RunID, until func(*Seen) bool) *Seen {
	f.Helper()
	ctx := f.ctx()
	e, err := l.Store.Entry(ctx, id)
	require.NoError(f, err)
	r, err := h.Open(ctx, e, consumer.ReadOptions{})
	require.NoError(f, err)
	defer r.Close()
	s, err := See(ctx, r, until)
	require.NoError(f, err)
	return s
}

// See reads what a source gives up to the end, or until until says so.
func See(ctx context.Context, from source, until func(*Seen) bool) (*Seen, error) {
	s := &Seen{State: Reduce(nil)}
	return s, s.More(ctx, from, until)
}

// More reads on, up to the end, or until until says so.
func (s *Seen) More(ctx context.Context, from source, until func(*Seen) bool) error {
	for {
		frame, err := from.Next(ctx)
		switch {
		case s.End != nil && (errors.Is(err, io.EOF) || errors.Is(err, consumer.ErrPersistence) || errors.Is(err, consumer.ErrSuperseded)):
			return nil
		case err != nil:
			return err
		}
		switch frame.Type {
		case consumer.Snapshot:
			*s = Seen{State: Reduce(nil)}
			s.add(string(frame.Folded().Join()))
		case consumer.Event:
			s.add(string(frame.Event))
		case consumer.End:
			s.End = &frame.End
		}
		s.RunID, s.Seq = frame.RunID, frame.Seq
		if s.End == nil && until != nil && until(s) {
			return nil
		}
	}
}

func (s *Seen) add(lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		if line == "" {
			continue
		}
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(line), &e) // the state says what is no event
		s.Events, s.Types = append(s.Events, line), append(s.Types, e.Type)
	}
	s.State.Apply([]byte(lines))
}

// RequestID is the id of the question that is open, "" for none.
func (s *Seen) RequestID() string {
	for _, who := range s.State.Pending() {
		if id, ok := strings.CutPrefix(who, "prompt "); ok {
			return id
		}
	}
	return ""
}

// Asks says whether a question is open.
func Asks(s *Seen) bool { return s.RequestID() != "" }
