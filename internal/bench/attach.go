package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/stamp"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// attachBuffer is what an observer reads at once who gets megabytes.
const attachBuffer = 256 << 10

// attaching is one observer that comes, gets what it lacks, and leaves.
type attaching struct {
	conn   *client.Conn
	ledger stamp.Ledger
	scan   stamp.Scanner
	until  uint64 // the event that it leaves with; 0 means that it leaves when it is told that nothing is missing

	first, whole time.Time
	bytes        int // of frames
	refused      error
}

// Frame keeps account of what comes.
func (a *attaching) Frame(f *client.Frame, at time.Time) {
	if a.first.IsZero() {
		a.first = at
	}
	a.bytes += len(f.Data)
	snapshot := f.Type == client.Snapshot
	if f.First {
		a.scan.Reset()
		if snapshot {
			a.ledger.Begin()
		}
	}
	for n := range a.scan.Scan(f.Data) {
		if snapshot {
			a.ledger.AddSnapshot(n)
		} else {
			a.ledger.Add(n)
		}
	}
	if !f.Last {
		return
	}
	if snapshot {
		a.ledger.Replace()
	}
	if a.whole.IsZero() && (f.Type == client.Synced || a.until > 0 && a.ledger.Next() > a.until) {
		a.whole = at
		_ = a.conn.Close()
	}
}

// Answer is what comes instead of a stream, or ends it too early.
func (a *attaching) Answer(status int, body []byte, _ time.Time) {
	a.refused = fmt.Errorf("the stream ended, or there was none: %d %.200q", status, body)
}

// Closed is for others.
func (a *attaching) Closed(error) {}

// attachTimes are those of many observers, each counted from before it dials.
type attachTimes struct {
	first, whole stats.Histogram
	counts       stamp.Counts
	bytes        int // that one of them got
}

// attach lets one observer come: on a connection of its own, until it has event last.
func (t *attachTimes) attach(ctx context.Context, addr, path string, from, last uint64) error {
	a := &attaching{ledger: stamp.From(from), until: last}
	if from == last {
		a.until = 0
	}
	begin := time.Now()
	conn, err := client.Dial(ctx, addr, client.Options{Buffer: attachBuffer})
	if err != nil {
		return err
	}
	defer conn.Close()
	a.conn = conn
	late := time.AfterFunc(patience, func() { _ = conn.Close() })
	defer late.Stop()
	if err := conn.Watch(path, a); !errors.Is(err, client.ErrClosed) {
		return errors.Join(err, a.refused)
	}
	if a.whole.IsZero() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("an observer got %d of %d events in %v", a.ledger.Next()-1, last, patience)
	}
	t.first.Record(a.first.Sub(begin))
	t.whole.Record(a.whole.Sub(begin))
	t.counts.Add(a.ledger.Counts(last))
	t.bytes = a.bytes
	return nil
}
