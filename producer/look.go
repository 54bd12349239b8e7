package producer

import (
	"maps"
	"slices"
	"time"
)

// look asks whether this process's runs are still its own, whenever the connection has come
// back and once in a lease time besides. Somebody may have ended them, and what
// told so was lost: a run whose agent is silent would not learn of it.
func (p *Producer) look() {
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.store.Reconnected():
		case <-time.After(p.lease.TTL()):
		}
		p.mu.Lock()
		all := slices.Collect(maps.Keys(p.runs))
		p.mu.Unlock()
		for _, r := range all {
			if !r.silent() {
				continue // it learns by itself
			}
			// A server that is coming up may not show a log yet: only what is there counts.
			last, err := p.store.Last(p.ctx, r.id)
			if err == nil && last.Writer != r.writer {
				err = r.Check(p.ctx)
			}
			if err != nil && !definite(err) {
				break // the broker is away, for the other runs too
			}
		}
	}
}

// silent says that nothing of the run is on its way to the broker.
func (r *Run) silent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal() == nil && r.acked == r.assigned
}
