package consumer

import (
	"fmt"

	"github.com/rejoin/rejoin/subjects"
)

// position is what a client has applied: its cursor, and how far it has ever
// been. It is pure: frames go in, verdicts come out.
type position struct {
	run  subjects.RunID
	seq  uint64
	held bool // run and seq are a cursor

	marks []mark // newest last, at most maxMarks
}

// mark is the furthest seq applied of one run.
type mark struct {
	run   subjects.RunID
	seq   uint64
	ended bool // its end was delivered, and the client went on to a newer run
}

// maxMarks bounds how many runs are remembered. It only has to be longer than
// any circle of runs that a confused relay could send a client through.
const maxMarks = 64

// verdict is what to do with a frame.
type verdict struct {
	deliver  bool // it is new to the application
	progress bool // the client is now further than it ever was
}

// start takes up the cursor that an application came with.
func (p *position) start(run subjects.RunID, seq uint64) {
	p.run, p.seq, p.held = run, seq, true
	p.advance()
}

// apply moves the cursor over f. An error wraps ErrGap: f does not follow what is
// held, so the connection is of no use and the cursor stays where it was.
func (p *position) apply(f Frame) (verdict, error) {
	if f.Type == Snapshot {
		if i := p.find(f.RunID); i >= 0 && p.marks[i].ended {
			return verdict{}, fmt.Errorf("%w: snapshot of run %q again, which a newer run had superseded", ErrGap, f.RunID)
		}
		p.run, p.seq, p.held = f.RunID, f.Seq, true
		return verdict{deliver: true, progress: p.advance()}, nil
	}
	if f.RunID != p.run { // or no snapshot came before it
		return verdict{}, fmt.Errorf("%w: %s of run %q while watching %q", ErrGap, f.Type, f.RunID, p.run)
	}
	switch {
	case f.Type == Event && f.Seq <= p.seq:
		return verdict{}, nil // a repeat
	case f.Type == Event && f.Seq == p.seq+1:
		p.seq = f.Seq
		return verdict{deliver: true, progress: p.advance()}, nil
	case f.Type != Event && f.Seq == p.seq:
		return verdict{deliver: true, progress: f.Type == End}, nil
	}
	return verdict{}, fmt.Errorf("%w: %s with seq %d after seq %d", ErrGap, f.Type, f.Seq, p.seq)
}

// leave forgets the cursor of a run whose end was delivered: a newer one follows.
func (p *position) leave() {
	if i := p.find(p.run); i >= 0 {
		p.marks[i].ended = true
	}
	p.run, p.seq, p.held = "", 0, false
}

// advance reports whether the cursor stands where it has never been, and remembers it.
func (p *position) advance() bool {
	i := p.find(p.run)
	if i < 0 {
		if len(p.marks) == maxMarks {
			p.marks = append(p.marks[:0], p.marks[1:]...)
		}
		p.marks = append(p.marks, mark{run: p.run, seq: p.seq})
		return true
	}
	if p.seq <= p.marks[i].seq {
		return false
	}
	p.marks[i].seq = p.seq
	return true
}

func (p *position) find(run subjects.RunID) int {
	for i := len(p.marks) - 1; i >= 0; i-- {
		if p.marks[i].run == run {
			return i
		}
	}
	return -1
}
