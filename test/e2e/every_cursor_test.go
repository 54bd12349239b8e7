package e2e_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// fromCursor attaches after the given seq, reads up to the head, and holds what came
// against what was published and the way it came against the rules. A broker that does not
// answer in time is asked again, as by whoever reads.
func fromCursor(ctx context.Context, hub *consumer.Hub, e *runs.Entry, after, head, first uint64) error {
	o := harness.At(e.RunID, min(after, head))
	r, err := hub.Open(ctx, e, consumer.ReadOptions{Cursor: &consumer.Cursor{RunID: e.RunID, AfterSeq: after}, Synced: true})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		f, err := r.Next(ctx)
		if errors.Is(err, consumer.ErrBrokerUnavailable) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		if f.Type == consumer.Synced {
			break
		}
		if err := o.Apply(f); err != nil {
			return err
		}
	}
	if err := o.Holds(head); err != nil {
		return err
	}
	good := after <= head && head-after <= subjects.GapThreshold && after+1 >= first
	if good != (o.Snapshots == 0) {
		return fmt.Errorf("%d snapshots, but the cursor is good: %v", o.Snapshots, good)
	}
	return nil
}
