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
	sure uint64 // where from is only a guess: a place that is not
	asm  assembler
	page []runs.Stored
	read window // what a tail may have, once it leads up to that
	room *share // nil where somebody else answers for the bytes
	hold *hold  // nil without room
	asks func() // is told before a page is asked for; may be nil
}

const (
	// pageRoom is what a page takes before it is known how large it is: a page that
	// is full.
	pageRoom = 1 << 20

	// recordRoom is what a record takes besides its body.
	recordRoom = 512
)

// next returns the first block that holds an event after seq. ok is false when the
// log, as whoever answered sees it, has nothing more. errWindow says that the
// event after seq is not in the log any more.
func (p *replay) next(ctx context.Context, seq uint64) (b block, ok bool, err error) {
	for {
		for len(p.page) > 0 {
			st := p.page[0]
			p.page = p.page[1:]
			p.from = st.StreamSeq + 1
			b, ok, _ = p.asm.add(&st.Record, st.StreamSeq)
			if !ok || b.last <= seq {
				continue
			}
			if b.first <= seq+1 {
				p.sure = 0
				p.read.add(b)
				return b, true, nil
			}
			if p.sure == 0 {
				return block{}, false, errWindow
			}
			p.guessedWrong()
		}
		err := p.turn(ctx)
		switch {
		case err == nil && len(p.page) == 0 && p.sure > 0:
			p.guessedWrong() // the run's end stands far behind its last event
		case err != nil || len(p.page) == 0:
			return block{}, false, err
		}
	}
}

// guessedWrong begins anew at the place that is no guess.
func (p *replay) guessedWrong() {
	p.from, p.sure, p.page, p.asm = p.sure, 0, nil, assembler{}
}

// turn asks for the next page, for which there has to be room.
func (p *replay) turn(ctx context.Context) error {
	p.page = nil
	if p.asks != nil {
		p.asks()
	}
	if err := p.reserve(ctx); err != nil {
		return err
	}
	page, err := p.ask(ctx)
	p.fill(page)
	if err != nil {
		return err
	}
	p.page = page
	if n := p.hub.cfg.Metrics.Replay; n != nil && len(page) > 0 {
		n(int(page[len(page)-1].Last - page[0].Prev()))
	}
	return nil
}

// reserve gives back what the page before took, and waits for room for another. Who
// holds the beginning of an event that is stored in parts does not wait: others may be
// waiting for that.
func (p *replay) reserve(ctx context.Context) error {
	if p.room == nil {
		return nil
	}
	open := int64(len(p.asm.body))
	if open > 0 {
		p.room.set(open + pageRoom)
		return nil
	}
	p.hold.end()
	p.room.set(0)
	return p.room.wait(ctx, pageRoom)
}

// fill corrects the room to what the page takes.
func (p *replay) fill(page []runs.Stored) {
	if p.room == nil {
		return
	}
	n := int64(len(p.asm.body))
	for i := range page {
		n += int64(len(page[i].Body)) + recordRoom
	}
	p.room.set(n)
	p.hold.begin(n)
}

// ask reads a page. How many ask at once is bounded, since each keeps publishers from
// the stream for a moment.
func (p *replay) ask(ctx context.Context) ([]runs.Stored, error) {
	if err := p.hub.catchUps.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer p.hub.catchUps.Release(1)
	page, err := p.hub.store.Page(ctx, p.id, p.from)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	return page, nil
}
