package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Run is a run that this process writes. Its methods may be called at once from
// anywhere; events published by one goroutine keep their order.
//
// A Run has to be given back by exactly one of Finish, Release and Close. Deferring
// Close is right beside any of them: it does nothing to a run that is over.
type Run struct {
	p          *Producer
	id         subjects.RunID
	writer     string // token of this writer of this run
	realm      subjects.Realm
	chat       string
	generation uint64
	unwanted   bool // no pointer names it: it is to be removed instead of ended

	ctx     context.Context // ends when the run is over: what writing and checkpoints run in
	stop    context.CancelFunc
	out     *runs.Appender
	written chan struct{} // closed when nothing is written any more
	done    chan struct{} // closed when nothing can be published any more
	turn    chan struct{} // one place: whoever gives the run back

	stopping chan struct{} // closed when somebody asked for the run to be stopped

	mu       sync.Mutex
	stage    stage
	flight   flight
	queue    queue
	marker   agui.Marker // of what is published
	history  history
	assigned uint64 // newest seq given out
	acked    uint64 // newest seq known to be stored
	prev     uint64 // stream sequence of the newest record
	holds    int    // who lets events wait for more, see Hold
	closing  bool   // nothing more is accepted
	cutting  bool   // a checkpoint goroutine is at work
	all      bool   // checkpoints are to cover everything
	short    bool   // the next record waits for a checkpoint
	err      error  // why nothing can be published any more
	stopped  bool   // stopping is closed
	controls []Control
	asking   []asking        // what the events on their way to the broker ask and close
	open     map[string]bool // questions asked and not closed, interrupts left out
	terminal bool            // the newest event but for questions' is RUN_FINISHED or RUN_ERROR
	changed  signal          // anything above

	entry *runs.Entry // as last stored; the checkpoints' own

	ending ending // guarded by turn
}

// signal wakes whoever waits for a change. It is guarded by the run's mutex, and
// costs nothing while nobody waits.
type signal struct{ c chan struct{} }

func (s *signal) wait() <-chan struct{} {
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *signal) wake() {
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}

func (p *Producer) newRun(e *runs.Entry, prev uint64) *Run {
	r := &Run{p: p, id: e.RunID, writer: e.Writer, realm: e.Realm, chat: e.ChatID, generation: e.Generation,
		written: make(chan struct{}), done: make(chan struct{}),
		turn: make(chan struct{}, 1), stopping: make(chan struct{}), prev: prev, entry: e,
		open: map[string]bool{}}
	for _, q := range e.Questions {
		if !q.Interrupt {
			r.open[q.RequestID] = true
		}
	}
	r.ctx, r.stop = context.WithCancel(p.ctx)
	r.out = p.store.Appender(r.id, r.answered)
	return r
}

// ID is the run's id.
func (r *Run) ID() subjects.RunID { return r.id }

// Realm is the one of the run's chat.
func (r *Run) Realm() subjects.Realm { return r.realm }

// Generation is the run's place in its chat: the higher the newer.
func (r *Run) Generation() uint64 { return r.generation }

// LastSeq is the number of the newest event that Publish has taken, stored or not; 0
// before the first.
func (r *Run) LastSeq() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.assigned
}

// StoredSeq is the number of the newest event that the broker has acknowledged.
func (r *Run) StoredSeq() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acked
}

// Done is closed when nothing can be published any more: the run was given back,
// or lost to another writer or to the broker. Err says why.
func (r *Run) Done() <-chan struct{} { return r.done }

// Err is nil while the run takes events, and afterwards what Publish returns.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal()
}

func (r *Run) refusal() error {
	if r.err == nil && r.closing {
		return ErrClosed
	}
	return r.err
}

// Check asks the broker's leader whether the run is still this writer's to write, which
// a writer that is silent would otherwise learn with its next event. The error is
// that of Publish, or what kept the broker from answering.
func (r *Run) Check(ctx context.Context) error {
	if err := r.Err(); err != nil {
		return err
	}
	last, err := r.p.store.Last(ctx, r.id)
	switch {
	case errors.Is(err, ErrNotFound):
		err = ErrLogLost
	case err != nil:
		return err
	case last.Writer == r.writer:
		return nil
	case last.Kind == subjects.KindEnd:
		err = &EndedError{End: *last.End(), Seq: last.Last}
	default:
		err = fmt.Errorf("%w: writer %.40q", ErrFenced, last.Writer)
	}
	r.fail(err)
	return err
}

// fail ends publishing for good. Only the first reason counts.
func (r *Run) fail(err error) {
	if errors.Is(err, context.Canceled) {
		err = ErrClosed // ctx ends only when the run is given back
	}
	r.mu.Lock()
	first := r.shut(err)
	r.advance()
	r.mu.Unlock()
	if !first || errors.Is(err, ErrClosed) {
		return
	}
	r.stop()
	r.out.Withdraw()
	if errors.Is(err, ErrFenced) {
		level := slog.LevelWarn
		if errors.Is(err, ErrSuperseded) {
			level = slog.LevelInfo // everyday
		}
		r.p.log.Log(context.Background(), level, "another writer took the run", "run", r.id, "error", err)
		if f := r.p.cfg.Metrics.Fenced; f != nil {
			f()
		}
		return
	}
	r.p.log.Error("the run cannot be written any more", "run", r.id, "error", err)
	r.p.endLater(r, subjects.End{Reason: subjects.ReasonError})
}

// shut is the part of fail that makes it so. It says whether err is the first reason. The
// caller holds mu.
func (r *Run) shut(err error) bool {
	if r.err != nil {
		return false
	}
	r.err = err
	r.queue.drop()
	if !r.closing {
		close(r.done)
	}
	r.closing = true
	r.changed.wake()
	return true
}

// refuse makes Publish return ErrClosed from now on; what it took is still written.
func (r *Run) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closing {
		r.closing = true
		close(r.done)
		r.advance()
	}
}
