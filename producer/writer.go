package producer

import (
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// maxParts is how many messages one event may need. It leaves the other half of the
// replay window to everything else.
const maxParts = subjects.MaxRecordsPerRun / 2

// recordLimit is how large the body of one message may be: at least so large that one of this
// size fits, if it may be that large. What fits every broker asks no connection, which all
// runs share.
func (p *Producer) recordLimit(size int) int {
	if least := runs.MinPayload - subjects.HeaderRoom; size <= least {
		return least
	}
	return int(p.store.Conn().MaxPayload()) - subjects.HeaderRoom
}

// write stores what is published, one record at a time: while one is in flight the
// next gathers.
func (r *Run) write() {
	defer close(r.written)
	for {
		b, ok := r.gathered()
		if !ok {
			return
		}
		if err := r.noteAsked(b.last); err != nil {
			r.fail(err)
			return
		}
		from := time.Now()
		s, err := r.append(b)
		if err != nil {
			r.fail(err)
			return
		}
		if f := r.p.cfg.Metrics.Stored; f != nil {
			f(b.n, len(b.body), time.Since(from))
		}
		r.mu.Lock()
		r.queue.stored(b)
		r.acked = b.last
		r.history.add(s)
		r.checkpointIfDue()
		r.changed.wake()
		asked := len(r.asking) > 0
		r.mu.Unlock()
		if asked {
			r.noteResolved(b.last)
		}
	}
}

// gathered waits for events and takes the next record's; false when there is
// nothing more to write.
func (r *Run) gathered() (batch, bool) {
	stalled := false
	for {
		r.mu.Lock()
		switch {
		case r.err != nil, r.ctx.Err() != nil:
			r.mu.Unlock()
			r.fail(ErrClosed)
			return batch{}, false
		case r.ready():
			size := len(r.queue.batches[0].body)
			limit := r.p.recordLimit(size)
			if !r.history.full(size, messages(size, limit)) {
				b := r.queue.take(limit)
				r.mu.Unlock()
				return b, true
			}
			if !stalled {
				stalled = true
				r.stalled()
			}
		case r.closing:
			r.mu.Unlock()
			return batch{}, false
		}
		r.idle = true
		r.mu.Unlock()
		select {
		case <-r.wake:
		case <-r.ctx.Done():
		}
	}
}

// messages is how many messages a body of this size takes.
func messages(size, limit int) int { return max(1, (size+limit-1)/limit) }

// stalled tells that publishing waits for a checkpoint.
func (r *Run) stalled() {
	r.p.log.Warn("publishing waits: the log is about to drop events that no segment holds",
		"run", r.id, "stored", r.acked, "covered", r.history.covered)
	if f := r.p.cfg.Metrics.Stalled; f != nil {
		f()
	}
}

// append stores a batch behind the run's newest record, an event that is larger than
// a message in parts. What a writer that dies within the parts leaves behind was
// never acknowledged, and readers pass over it.
func (r *Run) append(b batch) (stored, error) {
	limit := r.p.recordLimit(len(b.body))
	parts := messages(len(b.body), limit)
	if parts == 1 || b.n > 1 {
		parts = 1
	}
	for i := 1; i <= parts; i++ {
		rec := subjects.Record{Kind: subjects.KindEvents, Last: b.last, Count: b.n, Writer: r.writer, Body: b.body}
		if parts > 1 {
			rec.Kind, rec.Part, rec.Parts = subjects.KindPart, i, parts
			rec.Body = b.body[(i-1)*limit : min(i*limit, len(b.body))]
			if i < parts {
				rec.Last, rec.Count = b.last-1, 0
			}
		}
		seq, err := r.p.store.Append(r.ctx, r.id, &rec, r.prev)
		if err != nil {
			return stored{}, err
		}
		r.mu.Lock()
		r.prev = seq
		r.mu.Unlock()
	}
	return stored{batch: b, streamSeq: r.prev, messages: parts}, nil
}
