package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// Observer applies the frames of one run as a client does, and says so when one does
// not follow. The zero value holds nothing.
type Observer struct {
	RunID     subjects.RunID
	Seq       uint64
	Snapshots int
	Events    int           // received one by one
	End       *subjects.End // once it came

	text strings.Builder
}

// Text is what the observed deltas say.
func (o *Observer) Text() string { return o.text.String() }

// At puts the observer where it has the first n events of a run of numbered text.
func At(id subjects.RunID, n uint64) *Observer {
	o := &Observer{RunID: id, Seq: n}
	o.text.WriteString(Text(n))
	return o
}

// Cursor is where the observer stands, nil where it holds nothing.
func (o *Observer) Cursor() *consumer.Cursor {
	if o.RunID == "" {
		return nil
	}
	return &consumer.Cursor{RunID: o.RunID, AfterSeq: o.Seq}
}

// Apply takes a frame. The error says what the frame breaks.
func (o *Observer) Apply(f consumer.Frame) error {
	if o.End != nil {
		return fmt.Errorf("%v %d after the end", f.Type, f.Seq)
	}
	switch f.Type {
	case consumer.Snapshot:
		o.Snapshots++
		o.RunID, o.Seq = f.RunID, f.Seq
		o.text.Reset()
		for line := range f.Folded().Lines() {
			if err := o.add(line); err != nil {
				return err
			}
		}
		return nil
	case consumer.Event:
		o.Events++
		if f.RunID != o.RunID && o.RunID != "" || f.Seq != o.Seq+1 {
			return fmt.Errorf("event %s:%d does not follow %s:%d", f.RunID, f.Seq, o.RunID, o.Seq)
		}
		o.RunID, o.Seq = f.RunID, f.Seq
		return o.add(f.Event)
	case consumer.Synced:
		return nil
	case consumer.End:
		if f.RunID != o.RunID || f.Seq != o.Seq {
			return fmt.Errorf("end of %s at %d, but the observer is at %s:%d", f.RunID, f.Seq, o.RunID, o.Seq)
		}
		o.End = &f.End
		return nil
	}
	return fmt.Errorf("frame of type %v", f.Type)
}

func (o *Observer) add(raw []byte) error {
	var e agui.Event
	if err := agui.Scan(raw, &e); err != nil {
		return err
	}
	o.text.Write(e.Delta())
	return nil
}

// source is a Reader or a client's Stream.
type source interface {
	Next(context.Context) (consumer.Frame, error)
}

// Until applies frames until the observer has seq, or the end.
func (o *Observer) Until(ctx context.Context, from source, seq uint64) error {
	for o.Seq < seq && o.End == nil {
		f, err := from.Next(ctx)
		if err != nil {
			return fmt.Errorf("at %d: %w", o.Seq, err)
		}
		if err := o.Apply(f); err != nil {
			return err
		}
	}
	return nil
}

// ToEnd applies frames up to the end and what a source says after it.
func (o *Observer) ToEnd(ctx context.Context, from source) error {
	for {
		f, err := from.Next(ctx)
		if o.End != nil && (errors.Is(err, io.EOF) || errors.Is(err, consumer.ErrPersistence) || errors.Is(err, consumer.ErrSuperseded)) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("at %d: %w", o.Seq, err)
		}
		if err := o.Apply(f); err != nil {
			return err
		}
	}
}

// Holds says how the observer differs from one that has all of the first n events of
// a run of numbered text, nil when it does not.
func (o *Observer) Holds(n uint64) error {
	want := Text(n)
	if o.Seq == n && o.Text() == want {
		return nil
	}
	got := o.Text()
	same := 0
	for same < len(got) && same < len(want) && got[same] == want[same] {
		same++
	}
	return fmt.Errorf("at seq %d of %d; text of %d bytes, want %d, the same up to byte %d", o.Seq, n, len(got), len(want), same)
}
