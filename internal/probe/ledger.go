package probe

import (
	"bytes"
	"fmt"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// ledger is what one observer has been given of the run. It is pure: frames go in, and
// the first that does not belong where it stands is an error.
type ledger struct {
	plan *plan
	run  subjects.RunID

	seq       uint64
	cursor    bool // it came with a good cursor, or has had a frame
	begun     bool // a frame has come on this connection
	snapshots int
	events    int
	others    int
	ended     bool
}

// maxOthers bounds the frames that bring nothing new.
const maxOthers = 100

// apply takes up a frame with the id of its SSE message.
func (l *ledger) apply(id string, f *consumer.Frame) error {
	if want := fmt.Sprintf("%s:%d", f.RunID, f.Seq); id != want {
		return fmt.Errorf("%s with the id %.80q, want %q", f.Type, id, want)
	}
	if f.RunID != l.run {
		return fmt.Errorf("%s of the run %.60q", f.Type, f.RunID)
	}
	err := l.take(f)
	l.cursor, l.begun = true, true
	return err
}

func (l *ledger) take(f *consumer.Frame) error {
	switch f.Type {
	case consumer.Snapshot:
		if l.snapshots++; l.snapshots > maxOthers {
			return fmt.Errorf("snapshots without end")
		}
		if f.Seq < l.seq {
			return fmt.Errorf("a snapshot with seq %d after seq %d: it goes back", f.Seq, l.seq)
		}
		if l.cursor && !l.begun {
			return fmt.Errorf("a snapshot with seq %d in place of what follows seq %d; is the gap threshold lower than that?", f.Seq, l.seq)
		}
		l.seq = f.Seq
		return l.plan.checkSnapshot(f.Seq, f.Events)
	case consumer.Event:
		return l.event(f)
	case consumer.End:
		return l.end(f)
	}
	if l.others++; l.others > maxOthers {
		return fmt.Errorf("%s again and again", f.Type)
	}
	if f.Seq != l.seq {
		return fmt.Errorf("%s with seq %d after seq %d", f.Type, f.Seq, l.seq)
	}
	return nil
}

func (l *ledger) event(f *consumer.Frame) error {
	switch {
	case !l.cursor:
		return fmt.Errorf("the first frame is event %d, want a snapshot", f.Seq)
	case f.Seq > l.plan.n:
		return fmt.Errorf("event %d of a run of %d events", f.Seq, l.plan.n)
	case f.Seq <= l.seq:
		return fmt.Errorf("event %d after seq %d: a repetition", f.Seq, l.seq)
	case f.Seq > l.seq+1:
		return fmt.Errorf("event %d after seq %d: %d lost", f.Seq, l.seq, f.Seq-l.seq-1)
	}
	if want := l.plan.event(f.Seq); !bytes.Equal(f.Event, want) {
		return fmt.Errorf("event %d is %.120q, published was %q", f.Seq, f.Event, want)
	}
	l.seq++
	l.events++
	return nil
}

func (l *ledger) end(f *consumer.Frame) error {
	switch {
	case f.Seq != l.seq:
		return fmt.Errorf("the end says seq %d after seq %d", f.Seq, l.seq)
	case l.seq != l.plan.n:
		return fmt.Errorf("the end came after %d of %d events", l.seq, l.plan.n)
	}
	l.ended = true
	return checkEnd(f.End)
}

// checkEnd says whether an end is the one that the probe gives its run.
func checkEnd(e subjects.End) error {
	if e != (subjects.End{Persisted: true, Reason: subjects.ReasonDone}) {
		return fmt.Errorf("the end says persisted:%v superseded:%v reason:%.40q next_run_id:%.60q, want persisted:true reason:\"done\"",
			e.Persisted, e.Superseded, string(e.Reason), e.NextRunID)
	}
	return nil
}

// got says in words what the observer was given.
func (l *ledger) got() string {
	s := counted(l.events, "event")
	if l.snapshots > 0 {
		s = counted(l.snapshots, "snapshot") + ", " + s
	}
	if l.ended {
		s += ", end"
	}
	return s
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
