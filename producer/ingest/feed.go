package ingest

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/producer"
)

// feed carries the lines of one request into a run.
type feed struct {
	runs *sessions
	held *session
	run  *producer.Run
	in   *lines
	over <-chan struct{} // closed when the caller may bring no more; nil for never

	from     uint64 // number of the first line, 0 where the request gives none
	at       uint64 // number of the next one
	accepted int    // lines that were not stored before
	first    uint64 // number of the first of them
	settled  bool   // one is stored, or must not be repeated
}

// take publishes a whole body and gives the run's last number once all of it is stored. A run
// that had moved to another process before the request is taken back once: nothing of the
// request is stored then, since the first record after a takeover is where a writer learns of
// it, and all of it is kept until one is.
func (f *feed) take(ctx context.Context) (last uint64, err error) {
	last, err = f.pass(ctx)
	if !movable(err) || f.isSettled() {
		return last, err
	}
	ctx, cancel := f.lasting(ctx)
	defer cancel()
	run, err := f.runs.retake(ctx, f.held, f.run)
	if err != nil {
		return 0, err
	}
	f.in.rewind()
	f.settle()
	f.run, f.accepted, f.first = run, 0, 0
	return f.pass(ctx)
}

// pass publishes the body from its first line on and waits until all of it is stored.
func (f *feed) pass(ctx context.Context) (last uint64, err error) {
	f.at = f.from
	if err := f.follows(ctx); err != nil {
		return 0, err
	}
	over := f.body(ctx)
	if p := (*problem.Error)(nil); over != nil && !errors.As(over, &p) {
		return 0, over
	}
	ctx, cancel := f.lasting(ctx)
	defer cancel()
	// What came before a line that is refused is stored before that is said.
	if f.first == 0 {
		if err := f.check(ctx); err != nil {
			return 0, err
		}
	}
	if last, err = f.run.Flush(ctx); err != nil {
		return 0, err
	}
	return last, over
}

// gathering is how long the beginning of a short body waits for the rest of it, so that all of
// it is stored at once. The rest is nearly always there already.
const gathering = 2 * time.Millisecond

// body publishes a body's lines as they arrive. A line that is refused is a problem
// that names it.
func (f *feed) body(ctx context.Context) error {
	release := func() {}
	defer func() { release() }()
	for begun := false; ; begun = true {
		events, err := f.in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errBody) {
			return f.broken()
		}
		line := f.in.n
		if err == nil {
			if !begun && !f.in.whole() && !f.settled {
				release = f.run.Hold(gathering)
			}
			var taken int
			taken, err = f.publish(ctx, events)
			line += taken + 1
		}
		if err != nil {
			return refused(err, line)
		}
	}
}

// refused is why the body is not read further: a line that is refused, or whatever else.
func refused(err error, line int) error {
	var event *producer.EventError
	var p *problem.Error
	if errors.As(err, &event) || errors.As(err, &p) {
		return problemOf(err).With("line", line)
	}
	return err
}

// broken says why the body broke off.
func (f *feed) broken() error {
	if lost := f.run.Err(); lost != nil {
		return lost // that is why reading was interrupted
	}
	if closed(f.over) {
		return errExpired.With("accepted", f.accepted)
	}
	line := f.in.n + 1
	return problem.New(problem.BadRequest, "the body broke off in line %d; the lines before it are stored", line).With("line", line)
}

// expiredTimeout bounds how long it is tried to store what came before the credential of
// its producer was over.
const expiredTimeout = 10 * time.Second

// lasting is ctx, or what is left to a caller who may bring no more: the context went with
// the reading then, see serveStream.
func (f *feed) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	if !closed(f.over) {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), expiredTimeout)
}

// publish publishes lines, and says how many there is nothing more to do about.
func (f *feed) publish(ctx context.Context, events [][]byte) (int, error) {
	p, err := f.run.PublishAll(ctx, f.at, events)
	if f.at > 0 {
		f.at += uint64(p.Taken)
	}
	f.accepted += p.Fresh
	if f.first == 0 {
		f.first = p.First
	}
	f.isSettled()
	return p.Taken, err
}

// isSettled says that a line of this request is stored, or must not be repeated.
func (f *feed) isSettled() bool {
	if !f.settled && f.first > 0 && f.run.StoredSeq() >= f.first {
		f.settle()
	}
	return f.settled
}

func (f *feed) settle() {
	f.settled = true
	f.in.forget()
}

// check makes sure that the run is this process's: before a body that may not be
// repeated is read, and where this process's own numbers would decide.
func (f *feed) check(ctx context.Context) error {
	if f.settled {
		return nil
	}
	f.settle()
	err := f.run.Check(ctx)
	if movable(err) {
		f.run, err = f.runs.retake(ctx, f.held, f.run)
	}
	return err
}

// follows says whether the first line's number leaves no gap.
func (f *feed) follows(ctx context.Context) error {
	if f.at <= f.run.LastSeq()+1 {
		return nil
	}
	if err := f.check(ctx); err != nil {
		return err
	}
	if next := f.run.LastSeq() + 1; f.at > next {
		return &producer.GapError{Expected: next}
	}
	return nil
}
