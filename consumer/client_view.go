package consumer

import (
	"fmt"
	"slices"

	"github.com/rejoin/rejoin/subjects"
)

// View holds what an observer has of a run: the events of the last snapshot and
// those after it. The zero value is empty and ready. It grows with the run; it is
// not safe for concurrent use.
type View struct {
	run    subjects.RunID
	seq    uint64
	events []byte
	end    *subjects.End
}

// Apply takes up a frame. A snapshot replaces everything, of whichever run it is;
// an event that is held already changes nothing. The error wraps ErrGap for a
// frame that does not follow what is held, which it leaves as it is.
func (v *View) Apply(f Frame) error {
	if v.run == "" && (f.Seq == 0 || f.Type == Event && f.Seq == 1) {
		v.run = f.RunID // from the very start there is nothing to replace
	}
	switch {
	case f.Type == Snapshot:
		// The frame's events are shared with others: clipped, so that the first
		// append copies them.
		*v = View{run: f.RunID, seq: f.Seq, events: slices.Clip(f.Events)}
	case f.RunID != v.run:
		return fmt.Errorf("%w: %s of run %q in a view of %q", ErrGap, f.Type, f.RunID, v.run)
	case f.Type == Event && f.Seq <= v.seq:
	case f.Type == Event && f.Seq == v.seq+1:
		if len(v.events) > 0 {
			v.events = append(v.events, '\n')
		}
		v.events = append(v.events, f.Event...)
		v.seq = f.Seq
	case f.Type == End && f.Seq == v.seq:
		v.end = &f.End
	case f.Type != Synced || f.Seq > v.seq:
		return fmt.Errorf("%w: %s with seq %d after seq %d", ErrGap, f.Type, f.Seq, v.seq)
	}
	return nil
}

// RunID is the run held, "" before the first snapshot.
func (v *View) RunID() subjects.RunID { return v.run }

// Seq is the seq of the last event held.
func (v *View) Seq() uint64 { return v.seq }

// Events are the raw events held as NDJSON, joined by '\n'. They stay as they
// are when further frames are applied; the caller must not change them.
func (v *View) Events() []byte { return v.events }

// End is the run's end, nil while it is unknown.
func (v *View) End() *subjects.End { return v.end }
