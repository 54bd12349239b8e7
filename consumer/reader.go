package consumer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Cursor is where an observer stands: it has every event of the run up to AfterSeq.
type Cursor struct {
	RunID    subjects.RunID
	AfterSeq uint64
}

// ReadOptions says where a reader begins.
type ReadOptions struct {
	Cursor *Cursor // nil: with a snapshot
	Synced bool    // give one Synced frame when replay has caught up with live
	Asks   func()  // is called by Poll before it asks the broker, or waits for its turn to; may be nil
}

// Reader gives one observer the frames of one run: a snapshot or what follows its
// cursor, then everything as it is published, then the end. It pulls: nothing is
// queued for it, and a slow observer only falls behind. A reader has no goroutine
// and is not safe for concurrent use.
type Reader struct {
	hub   *Hub
	obs   *observed
	id    subjects.RunID
	entry *runs.Entry
	from  runs.Mark // where a replay may start: a known record, at or before seq; zero: ask

	seq    uint64                       // the last event given out
	placed bool                         // seq is what the observer has
	cause  string                       // why a snapshot comes next; "" when none does
	rest   []byte                       // the events after seq that are at hand, one a line
	read   place                        // where they end in the block they are from
	log    *replay                      // set while catching up
	stuck  int                          // reads in a row that brought nothing
	room   share                        // what the replay takes of the hub's budget
	paged  hold                         // the page at hand
	given  atomic.Pointer[SnapshotData] // the one being given out: others share it meanwhile

	salvaged bool // since the log was lost, the segments were tried
	synced   bool // a Synced frame is still owed
	asks     func()
	attached time.Time
	done     bool
	wake     <-chan struct{}
}

// Open attaches to a run. The cursor is used when it is of this run, not past its
// head and not too far behind; otherwise the first frame is a snapshot. Whether the
// log still holds what follows the cursor turns out while reading, with the same
// result. The error is ErrGone, ErrBrokerUnavailable or ctx's.
func (h *Hub) Open(ctx context.Context, e *runs.Entry, opt ReadOptions) (*Reader, error) {
	o, fresh, err := h.observe(e.RunID, e)
	if err != nil {
		return nil, err
	}
	r := &Reader{hub: h, obs: o, id: e.RunID, entry: e, synced: opt.Synced, asks: opt.Asks, attached: time.Now(), room: share{of: h.budget}}
	if r.asks == nil {
		r.asks = func() {}
	}
	known, _ := o.tail.head()
	ahead := opt.Cursor != nil && opt.Cursor.AfterSeq > known
	if fresh || ahead || known == 0 {
		if err := h.refresh(ctx, o.tail); err != nil {
			h.leave(o)
			return nil, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
		}
		known, _ = o.tail.head()
		if o.tail.departed(known) {
			h.leave(o)
			return nil, ErrGone
		}
	}
	switch c := opt.Cursor; {
	case c == nil:
		r.cause = "attach"
	case c.RunID != e.RunID:
		r.cause = "replaced"
	case c.AfterSeq > known:
		r.cause = "ahead"
	case known-c.AfterSeq > h.cfg.GapThreshold:
		r.cause = "window"
	default:
		r.seq, r.from, r.placed = c.AfterSeq, e.ReplayFrom(c.AfterSeq), true
	}
	return r, nil
}

// RunID is the run being read.
func (r *Reader) RunID() subjects.RunID { return r.id }

// Close lets go of the run. It may be called twice.
func (r *Reader) Close() {
	r.endReplay()
	r.given.Swap(nil).Release()
	if r.obs != nil {
		r.hub.leave(r.obs)
		r.obs = nil
	}
}

// Overdue says that the frames at hand have been held for longer than they may while
// others wait for their room; see HubConfig.HoldTime. Whoever writes them to the
// observer gives it up then. It may be called at any time, from any goroutine.
func (r *Reader) Overdue() bool {
	return r.given.Load().Overdue() || r.paged.overdue(r.hub.budget, r.hub.cfg.HoldTime)
}

// Changed yields, once, when Poll may have something again. It belongs to the last call
// of Poll, when that returned nothing or could not know whether there is more, and
// misses nothing that came since; after any other it is nil.
func (r *Reader) Changed() <-chan struct{} { return r.wake }

// Next waits for the next frame. After the End frame it returns io.EOF. Its errors
// are Poll's and ctx's.
func (r *Reader) Next(ctx context.Context) (Frame, error) {
	for {
		f, ok, err := r.Poll(ctx)
		if ok || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		case <-r.wake:
		}
	}
}

// Poll returns the next frame if there is one; ok is false when the observer has
// everything so far. It does not wait for the producer, but it asks the broker
// while the observer is catching up. After the End frame it returns io.EOF. Other
// errors are ErrGone, ErrBrokerUnavailable, and ctx's, after which Poll may be
// called again. ErrBrokerUnavailable is also for an observer that has everything that
// is known, while the broker cannot be asked whether there is more.
func (r *Reader) Poll(ctx context.Context) (f Frame, ok bool, err error) {
	r.wake = nil
	r.given.Swap(nil).Release()
	for {
		if len(r.rest) > 0 {
			return r.event(), true, nil
		}
		if r.done {
			return Frame{}, false, io.EOF
		}
		if r.cause != "" {
			if f, ok, err := r.snapshot(ctx); ok || err != nil {
				return f, ok, err
			}
		}
		st := r.obs.tail.after(r.seq)
		switch {
		case st.ok:
			r.endReplay()
			r.stuck = 0
			r.from = runs.Mark{Seq: st.block.last, StreamSeq: st.block.stream}
			r.take(st.block)
		case st.gone:
			return Frame{}, false, ErrGone
		case st.lost && !r.salvaged:
			r.salvaged = true
			r.cause = "gap"
		case st.behind > r.hub.cfg.GapThreshold:
			r.fallBehind("gap")
		case st.behind > 0:
			if err := r.catchUp(ctx, &st); err != nil {
				return Frame{}, false, err
			}
		case r.synced:
			r.synced = false
			r.atHead()
			return Frame{Type: Synced, RunID: r.id, Seq: r.seq}, true, nil
		case st.end != nil:
			r.done = true
			r.atHead()
			return Frame{Type: End, RunID: r.id, Seq: r.seq, End: *st.end}, true, nil
		default:
			r.atHead()
			r.wake = st.wake
			if st.away {
				return Frame{}, false, fmt.Errorf("%w: run %s could not be checked", ErrBrokerUnavailable, r.id)
			}
			return Frame{}, false, nil
		}
	}
}

// event takes the next event from the block at hand.
func (r *Reader) event() Frame {
	line, rest, _ := bytes.Cut(r.rest, []byte{'\n'})
	r.rest = rest
	r.seq++
	return Frame{Type: Event, RunID: r.id, Seq: r.seq, Event: line}
}

// place is where in a block a reader is, of which it has read everything up to seq: a block
// that begins with the same event has the same bytes up to there.
type place struct {
	first, seq uint64
	offset     int // of the event after seq
}

func (r *Reader) take(b block) {
	if p := r.read; p.first == b.first && p.seq == r.seq {
		r.rest = b.body[p.offset:]
	} else {
		r.rest = b.after(r.seq)
	}
	r.read = place{b.first, b.last, len(b.body) + len("\n")}
	r.salvaged = false
}

// atHead notes the first time that the observer has everything.
func (r *Reader) atHead() {
	r.endReplay()
	r.stuck = 0
	if !r.attached.IsZero() && r.hub.cfg.Metrics.CatchUp != nil {
		r.hub.cfg.Metrics.CatchUp(time.Since(r.attached))
	}
	r.attached = time.Time{}
}
