package consumer

import (
	"context"
	"fmt"
	"math"

	"github.com/rejoin/rejoin/subjects"
)

// AwaitEnd waits until a run has ended, however long that takes, and gives its end and
// the seq of its last event. It shares the run's tail with whoever watches the run. The
// error is ErrGone, ErrBrokerUnavailable when the hub is closed or cannot subscribe, or
// ctx's; while the broker is away it goes on waiting.
func (h *Hub) AwaitEnd(ctx context.Context, id subjects.RunID) (subjects.End, uint64, error) {
	o, fresh, err := h.observe(id, nil)
	if err != nil {
		return subjects.End{}, 0, err
	}
	defer h.leave(o)
	if fresh {
		_ = h.refresh(ctx, o.tail) // the tail asks again by itself
	}
	for {
		st := o.tail.after(math.MaxUint64) // of somebody who has every event there can be
		switch {
		case st.gone:
			return subjects.End{}, 0, ErrGone
		case st.end != nil:
			seq, _ := o.tail.head()
			return *st.end, seq, nil
		}
		select {
		case <-st.wake:
		case <-h.ctx.Done():
			return subjects.End{}, 0, fmt.Errorf("%w: the relay is closing", ErrBrokerUnavailable)
		case <-ctx.Done():
			return subjects.End{}, 0, ctx.Err()
		}
	}
}
