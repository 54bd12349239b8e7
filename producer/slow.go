package producer

import (
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// slowly leaves the writing to a goroutine until it is plain again. err is what came of the
// record that was sent, nil where none was. The caller holds mu.
func (r *Run) slowly(err error) {
	r.stage = slow
	if r.gone() || !r.p.spawn(&r.p.wg, func() { r.writeSlowly(err) }) {
		r.shut(ErrClosed)
		r.noMore()
	}
}

func (r *Run) writeSlowly(sent error) {
	if err := r.catchUp(sent); err != nil {
		r.fail(err)
	}
	r.mu.Lock()
	r.stage = resting
	r.mu.Unlock()
	r.send()
}

// catchUp stores records for as long as the next one is not plain. Before them it settles
// what became of the one of which sent came.
func (r *Run) catchUp(sent error) error {
	if sent != nil {
		seq, err := r.p.store.Resolve(r.ctx, r.id, &r.flight.record, r.prev, sent)
		if err != nil {
			return err
		}
		r.landed(seq, 1)
	}
	for r.gathered() {
		last := r.flight.last
		if err := r.noteAsked(last); err != nil {
			return err
		}
		seq, messages, err := r.append()
		if err != nil {
			return err
		}
		if r.landed(seq, messages) {
			r.noteResolved(last)
		}
	}
	return nil
}

// landed is arrived for the slow way. It says whether questions are to be seen to.
func (r *Run) landed(streamSeq uint64, messages int) (asked bool) {
	r.tellStored()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived(streamSeq, messages)
	return len(r.asking) > 0
}

// gathered takes the next record out of the queue, and waits while the log is about to drop
// what no segment covers. It is false when nothing is to be sent, or in the plain way.
func (r *Run) gathered() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.short = false }()
	for !r.gone() && r.ready() && !r.plain() {
		if !r.full() {
			r.depart()
			return true
		}
		if !r.short {
			r.short = true
			r.stalled()
		}
		r.checkpointIfDue() // no record that arrives begins it, where it was read back full
		changed := r.changed.wait()
		r.mu.Unlock()
		select {
		case <-changed:
		case <-r.ctx.Done():
		}
		r.mu.Lock()
	}
	return false
}

// full says whether the next record has to wait for a segment. The caller holds mu.
func (r *Run) full() bool {
	size := r.queue.first()
	return r.history.full(size, messages(size, r.p.recordLimit(size)))
}

// stalled tells that publishing waits for a checkpoint. The caller holds mu.
func (r *Run) stalled() {
	r.p.log.Warn("publishing waits: the log is about to drop events that no segment holds",
		"run", r.id, "stored", r.acked, "covered", r.history.covered)
	if f := r.p.cfg.Metrics.Stalled; f != nil {
		f()
	}
}

// maxParts is how many messages one event may need. It leaves the other half of the
// replay window to everything else.
const maxParts = subjects.MaxRecordsPerRun / 2

// fitsAll is a body that every broker takes.
const fitsAll = runs.MinPayload - subjects.HeaderRoom

// recordLimit is how large the body of one message may be: at least so large that one of this
// size fits, if it may be that large. What fits every broker asks no connection, which all
// runs share, and which may be busy.
func (p *Producer) recordLimit(size int) int {
	if size <= fitsAll {
		return fitsAll
	}
	return int(p.store.Conn().MaxPayload()) - subjects.HeaderRoom
}

// messages is how many messages a body of this size takes.
func messages(size, limit int) int { return max(1, (size+limit-1)/limit) }

// parts is how many messages the next record is: more than one only for an event that is
// larger than a message. The caller holds mu.
func (r *Run) parts() int {
	b := &r.queue.batches[0]
	if b.n > 1 {
		return 1
	}
	return messages(len(b.body), r.p.recordLimit(len(b.body)))
}

// append stores what was taken out of the queue behind the run's newest record, an event that
// is larger than a message in parts. What a writer that dies within the parts leaves behind
// was never acknowledged, and readers pass over it.
func (r *Run) append() (streamSeq uint64, parts int, err error) {
	b := r.flight.batch
	limit := r.p.recordLimit(len(b.body))
	if parts = 1; b.n == 1 {
		parts = messages(len(b.body), limit)
	}
	prev := r.prev
	for i := 1; i <= parts; i++ {
		rec := r.flight.record
		if parts > 1 {
			rec.Kind, rec.Part, rec.Parts = subjects.KindPart, i, parts
			rec.Body = b.body[(i-1)*limit : min(i*limit, len(b.body))]
			if i < parts {
				rec.Last, rec.Count = b.last-1, 0
			}
		}
		if prev, err = r.p.store.Append(r.ctx, r.id, &rec, prev); err != nil {
			return 0, 0, err
		}
	}
	return prev, parts, nil
}
