package consumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// errWindow says that the log no longer holds the events that come next.
var errWindow = errors.New("the events after the cursor are no longer in the log")

// replay reads a run's blocks from the log, oldest first, a page at a time. It
// holds nothing on the broker between pages, so it may rest for as long as its
// observer is slow, and be dropped at any moment.
type replay struct {
	hub  *Hub
	id   subjects.RunID
	from uint64 // stream sequence to read on from
	asm  assembler
	page []runs.Stored
}

// next returns the first block that holds an event after seq. ok is false when the
// log, as whoever answered sees it, has nothing more. errWindow says that the
// event after seq is not in the log any more.
func (p *replay) next(ctx context.Context, seq uint64) (b block, ok bool, err error) {
	for {
		for len(p.page) > 0 {
			st := p.page[0]
			p.page = p.page[1:]
			p.from = st.StreamSeq + 1
			if b, ok = p.take(&st); ok && b.last > seq {
				if b.first > seq+1 {
					return block{}, false, errWindow
				}
				return b, true, nil
			}
		}
		if err := p.read(ctx); err != nil || len(p.page) == 0 {
			return block{}, false, err
		}
	}
}

func (p *replay) take(st *runs.Stored) (block, bool) {
	b, ok, _ := p.asm.add(&st.Record)
	return b, ok
}

// read asks for the next page. How many ask at once is bounded, since each keeps
// publishers from the stream for a moment.
func (p *replay) read(ctx context.Context) error {
	if err := p.hub.catchUps.Acquire(ctx, 1); err != nil {
		return err
	}
	defer p.hub.catchUps.Release(1)
	page, err := p.hub.store.Page(ctx, p.id, p.from)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	p.page = page
	if n := p.hub.cfg.Metrics.Replay; n != nil && len(page) > 0 {
		n(int(page[len(page)-1].Last - page[0].Prev()))
	}
	return nil
}
