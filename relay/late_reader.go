package relay

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// lateReader opens its reader at the first Poll: the broker may need time for it,
// or fail and be asked again, as for any other read.
type lateReader struct {
	hub   *consumer.Hub
	id    subjects.RunID
	entry *runs.Entry // nil until find has found it
	find  func(context.Context) (*runs.Entry, error)
	opt   consumer.ReadOptions // with Asks, from before the first Poll

	reader atomic.Pointer[consumer.Reader]
	moved  bool // the reader is not where the observer is
}

// Poll implements source.
func (l *lateReader) Poll(ctx context.Context) (consumer.Frame, bool, error) {
	r := l.reader.Load()
	if r == nil || l.moved {
		var err error
		if r, err = l.open(ctx); err != nil {
			return consumer.Frame{}, false, err
		}
	}
	return r.Poll(ctx)
}

func (l *lateReader) open(ctx context.Context) (*consumer.Reader, error) {
	l.opt.Asks()
	if l.entry == nil {
		e, err := l.find(ctx)
		if errors.Is(err, runs.ErrNotFound) {
			err = consumer.ErrGone
		}
		if err != nil {
			return nil, err
		}
		l.entry = e
	}
	r, err := l.hub.Open(ctx, l.entry, l.opt)
	if err != nil {
		return nil, err
	}
	if old := l.reader.Swap(r); old != nil {
		old.Close() // only now: it holds what the two share of the run
	}
	l.moved = false
	return r, nil
}

// from is the seq after which the observer wants to begin, 0 where it does not say.
func (l *lateReader) from() uint64 {
	if l.opt.Cursor == nil {
		return 0
	}
	return l.opt.Cursor.AfterSeq
}

// moveTo says that the observer has got everything up to seq by another way.
func (l *lateReader) moveTo(seq uint64) {
	l.opt.Cursor, l.opt.Synced = &consumer.Cursor{RunID: l.id, AfterSeq: seq}, false
	l.moved = true
}

// Changed implements source.
func (l *lateReader) Changed() <-chan struct{} {
	if r := l.reader.Load(); r != nil && !l.moved {
		return r.Changed()
	}
	return nil
}

func (l *lateReader) overdue() bool {
	r := l.reader.Load()
	return r != nil && r.Overdue()
}

func (l *lateReader) close() {
	if r := l.reader.Load(); r != nil {
		r.Close()
	}
}
