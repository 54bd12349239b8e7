package producer

import (
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// stage is how far the newest record of a run is on its way into the log. There is never more
// than one on its way, and each is sent only behind the acknowledgement of the one before.
//
//	resting  none is on its way. Whoever has something to send sends it, mostly the one
//	         who publishes: an idle run needs no goroutine for that.
//	sent     one is with the broker. Who hears its acknowledgement notes it, and sends
//	         what has gathered meanwhile; see answered.
//	slow     something else has to be waited for, and a goroutine does; see slow.go.
//	over     nothing is sent any more, and written is closed.
//
// It is guarded by the run's mutex. From sent only answered goes on, from slow only the
// goroutine; everybody else finds the run at rest or leaves it alone.
type stage int

const (
	resting stage = iota
	sent
	slow
	over
)

// flight is the record that is on its way while the stage is sent or slow.
type flight struct {
	batch
	record subjects.Record
	since  time.Time
}

// send sends what is ready, if the run is at rest.
func (r *Run) send() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next()
}

// advance is send for who waits for nothing. The caller holds mu.
func (r *Run) advance() {
	if r.stage == resting && r.queue.first() > fitsAll && r.p.spawn(&r.p.wg, r.send) {
		return // what the broker takes is the connection's to say, which may be busy
	}
	r.next()
}

// next goes on from rest, if there is something to do. The caller holds mu.
func (r *Run) next() {
	switch {
	case r.stage != resting:
	case r.gone():
		r.noMore()
	case r.ready() && r.plain():
		r.depart()
		r.stage = sent
		if err := r.out.Send(&r.flight.record, r.prev); err != nil {
			r.slowly(err)
		}
	case r.ready():
		r.slowly(nil)
	case r.closing && len(r.queue.batches) == 0:
		r.noMore()
	}
}

// plain says that the next record needs nothing but its acknowledgement. The caller holds mu.
func (r *Run) plain() bool {
	return len(r.asking) == 0 && r.parts() == 1 && !r.full()
}

// depart takes the next record out of the queue. The caller holds mu.
func (r *Run) depart() {
	b := r.queue.take(r.p.recordLimit(r.queue.first()))
	r.flight = flight{batch: b, since: time.Now(), record: subjects.Record{
		Kind: subjects.KindEvents, Last: b.last, Count: b.n, Writer: r.writer, Body: b.body}}
}

// answered hears what became of the record that was sent, from whoever hears that for all
// runs: it waits for nothing.
func (r *Run) answered(streamSeq uint64, err error) {
	if err == nil {
		r.tellStored()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.slowly(err)
		return
	}
	r.arrived(streamSeq, 1)
	r.stage = resting
	r.advance()
}

// arrived notes that what was on its way is stored, in so many messages. The caller holds mu.
func (r *Run) arrived(streamSeq uint64, messages int) {
	b := r.flight.batch
	r.flight = flight{}
	r.prev, r.acked = streamSeq, b.last
	copied := r.history.add(stored{batch: b, streamSeq: streamSeq, messages: messages})
	r.queue.stored(b, copied && r.stage == sent) // else it may be on its way a second time
	r.checkpointIfDue()
	r.changed.wake()
}

func (r *Run) tellStored() {
	if f := r.p.cfg.Metrics.Stored; f != nil {
		f(r.flight.n, len(r.flight.body), time.Since(r.flight.since))
	}
}

// gone says whether the run cannot be written any more. The caller holds mu.
func (r *Run) gone() bool {
	if r.ctx.Err() != nil {
		r.shut(ErrClosed)
	}
	return r.err != nil
}

// noMore ends the writing. The caller holds mu.
func (r *Run) noMore() {
	if r.stage != over {
		r.stage = over
		close(r.written)
	}
}

// neverWrites is for a run whose writing has not begun.
func (r *Run) neverWrites() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noMore()
}

// interrupt ends the writing once the run's context is done.
func (r *Run) interrupt() {
	r.out.Withdraw()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance()
}
