package consumer

import (
	"sync"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// tail is what a relay holds of one run that it has observers for. It hears the
// run's records as the broker republishes them, at most once and perhaps not at
// all: its blocks are always contiguous, and known says how far the run has come as
// far as anyone has told. Whatever lies between is for a reader to replay.
type tail struct {
	id subjects.RunID

	mu  sync.Mutex
	asm assembler
	window
	known  uint64        // the highest seq heard of
	stream uint64        // stream sequence of a record that ended there; 0 where it is not known
	end    *subjects.End // once heard of; then known is the seq of the last event
	lost   bool          // the log is gone, as far as the broker knows: nothing can be replayed
	gone   bool          // the run is gone altogether
	heard  bool          // something came since the last check
	away   bool          // the broker did not answer the last question about the run
	waking
}

func newTail(id subjects.RunID) *tail { return &tail{id: id} }

// apply takes a record, from the live subject or from asking for the last one.
func (t *tail) apply(st *runs.Stored) {
	end := st.End()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = true
	t.lost = false // a server that comes up may say so of what it has
	t.answered()
	b, ok, broken := t.asm.add(&st.Record, st.StreamSeq)
	if ok {
		t.copy(b)
	}
	if end == nil && st.Last <= t.known && !broken {
		return
	}
	if st.Last >= t.known {
		t.known, t.stream = st.Last, st.StreamSeq
	}
	if end != nil && t.end == nil {
		t.end, t.known = end, st.Last
	}
	t.tell()
}

// standing is where a reader stands towards its tail.
type standing struct {
	block  block         // holds the next event, where ok
	ok     bool          //
	behind uint64        // how many events the reader has to replay first
	stream uint64        // then: where in the stream a record that holds the newest event is; 0 where it is not known
	end    *subjects.End // the reader has everything, and this is the end
	lost   bool          // the log is gone, and the reader may lack events
	gone   bool
	away   bool            // the reader has everything that is known, and nobody can say whether there is more
	wake   <-chan struct{} // where there is nothing to do: yields at the next change
}

// after says what a reader that has every event up to seq should do next.
func (t *tail) after(seq uint64) standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	var st standing
	if n := len(t.blocks); n > 0 && seq >= t.blocks[0].first-1 && seq < t.blocks[n-1].last {
		st.block, st.ok = find(t.blocks, seq+1), true
		return st
	}
	switch {
	case t.gone:
		st.gone = true
	case t.lost && seq < t.known:
		st.lost, st.end = true, t.end
	case seq < t.known:
		st.behind, st.stream = t.known-seq, t.stream
	case t.end != nil:
		st.end = t.end
	default:
		st.away, st.wake = t.away, t.wait()
	}
	return st
}

// head is the highest seq heard of, and the end where it is known.
func (t *tail) head() (uint64, *subjects.End) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known, t.end
}

// kept is the seq up to which the broker still has everything, as far as is known.
func (t *tail) kept() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return 0
	}
	return t.known
}

// takeHeard says whether anything came since it was last asked.
func (t *tail) takeHeard() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	heard := t.heard
	t.heard = false
	return heard
}

// lose notes that the log is gone. An entry that tells of the end ends the readers;
// without an entry there is nothing left to read.
func (t *tail) lose(e *runs.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = true
	t.answered()
	if e == nil {
		t.gone = true
	} else if e.End != nil && t.end == nil {
		t.end, t.known = e.End, max(t.known, e.Seq)
	}
	t.tell()
}

// unanswered notes that the broker could not be asked how far the run has come.
func (t *tail) unanswered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.away {
		t.away = true
		t.tell()
	}
}

// answered ends that. Callers hold mu.
func (t *tail) answered() {
	if t.away {
		t.away = false
		t.tell()
	}
}

// departed says that the run has left, or is leaving: of a run that was saved, nothing
// but an eviction takes events away. seq is how far a reader could come.
func (t *tail) departed(seq uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone || t.lost && seq < t.known && t.end != nil && t.end.Persisted
}

// broken says that something is wrong with the run: its log is gone, or the broker did not
// answer for it.
func (t *tail) broken() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone || t.lost || t.away
}

// finished says that nothing new can come.
func (t *tail) finished() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end != nil || t.gone
}
