package ingest

import (
	"bytes"
	"context"

	"github.com/rejoin/rejoin/producer"
)

// feed carries the lines of one request into a run.
type feed struct {
	runs *sessions
	held *session
	run  *producer.Run
	over <-chan struct{} // closed when the caller may bring no more; nil for never

	at       uint64   // number of the next line, 0 where the request gives none
	accepted int      // lines that were not stored before
	first    uint64   // number of the first of them
	kept     [][]byte // lines that could still be repeated, see retake
	settled  bool     // one is stored, or must not be repeated
}

// line publishes one line.
func (f *feed) line(ctx context.Context, line []byte) error {
	err := f.publish(ctx, line)
	if movable(err) && f.repeatable() {
		if err = f.retake(ctx); err == nil {
			err = f.publish(ctx, line)
		}
	}
	if err == nil && !f.settled {
		f.kept = append(f.kept, bytes.Clone(line))
	}
	return err
}

func (f *feed) publish(ctx context.Context, line []byte) error {
	var seq uint64
	var err error
	fresh := true
	if f.at == 0 {
		seq, err = f.run.Publish(ctx, line)
	} else {
		seq = f.at
		fresh, err = f.run.PublishAt(ctx, seq, line)
	}
	if err != nil {
		return err
	}
	if f.at > 0 {
		f.at++
	}
	if fresh {
		f.accepted++
		if f.first == 0 {
			f.first = seq
		}
	}
	if f.first > 0 && f.run.StoredSeq() >= f.first {
		f.settled, f.kept = true, nil
	}
	return nil
}

// settle makes sure that the run is this process's: before a body that may not be
// repeated is read, and where this process's own numbers would decide.
func (f *feed) settle(ctx context.Context) error {
	if f.settled {
		return nil
	}
	f.settled = true
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
	if err := f.settle(ctx); err != nil {
		return err
	}
	if next := f.run.LastSeq() + 1; f.at > next {
		return &producer.GapError{Expected: next}
	}
	return nil
}

// flush waits until all lines are stored, and gives the run's last number.
func (f *feed) flush(ctx context.Context) (uint64, error) {
	if f.first == 0 {
		if err := f.settle(ctx); err != nil {
			return 0, err
		}
	}
	last, err := f.run.Flush(ctx)
	if movable(err) && f.repeatable() {
		if err = f.retake(ctx); err == nil {
			last, err = f.run.Flush(ctx)
		}
	}
	return last, err
}

// repeatable says that nothing of this request is stored, and that all of it is kept.
func (f *feed) repeatable() bool {
	return !f.settled && (f.first == 0 || f.run.StoredSeq() < f.first)
}

// retake takes the run back and publishes again what this request brought. The run had
// moved to another process before the request: nothing of it is stored, since the
// first record after a takeover is where a writer learns of it.
func (f *feed) retake(ctx context.Context) error {
	f.settled = true // once
	run, err := f.runs.retake(ctx, f.held, f.run)
	if err != nil {
		return err
	}
	f.run = run
	kept := f.kept
	if f.at > 0 {
		f.at -= uint64(len(kept))
	}
	f.accepted, f.first, f.kept = 0, 0, nil
	for _, line := range kept {
		if err := f.publish(ctx, line); err != nil {
			return err
		}
	}
	return nil
}
