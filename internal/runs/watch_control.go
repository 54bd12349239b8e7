package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/subjects"
)

// How soon, and at most how rarely, stored controls are looked for besides being
// listened to: interest takes a moment to spread through a cluster, and what is
// republished is at most once.
const (
	firstControlCheck = 100 * time.Millisecond
	lastControlCheck  = 10 * time.Second
)

// WatchControls calls f for every control of a run behind a stream sequence, in order,
// each once: those that are stored already and those that come. A ControlEnded has no
// place in that order and may come more than once. It blocks until ctx is done, and
// returns only then, or when the connection cannot subscribe.
func (s *Store) WatchControls(ctx context.Context, id subjects.RunID, after uint64, f func(Control)) error {
	var mu sync.Mutex
	var live []Control
	wake := make(chan struct{}, 1)
	sub, err := s.nc.Subscribe(subjects.LiveControlsSubject(id), func(m *nats.Msg) {
		c, err := liveControl(id, m)
		if err != nil {
			s.log.Warn("a live control cannot be read", "run", id, "error", err)
		} else {
			mu.Lock()
			live = append(live, c)
			mu.Unlock()
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return fmt.Errorf("listening for the controls of run %s: %w", id, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	check := firstControlCheck
	given := map[uint64]bool{}
	from := after
	for {
		back := s.Reconnected()
		stored, err := s.Controls(ctx, id, from)
		if err != nil && ctx.Err() == nil {
			s.log.Debug("the controls of a run cannot be looked for; asking again", "run", id, "error", err)
		}
		mu.Lock()
		all := slices.Concat(stored, live)
		live = nil
		mu.Unlock()
		deliver(all, given, f)
		// What woke us needs only what is newer than what is known to be stored; now and
		// then all is looked at, whatever a replica has shown.
		for _, c := range stored {
			from = max(from, c.Seq)
		}
		again := time.NewTimer(check)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil
		case <-wake:
		case <-back:
			from, check = after, firstControlCheck
		case <-again.C:
			from, check = after, min(4*check, lastControlCheck)
		}
		again.Stop()
	}
}

// deliver hands out what was not given before, in order. A replica that lags may show an
// older control after a newer one was heard, so it is not enough to remember the newest.
func deliver(all []Control, given map[uint64]bool, f func(Control)) {
	slices.SortStableFunc(all, func(a, b Control) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, c := range all {
		if c.Kind != ControlEnded {
			if given[c.Seq] {
				continue
			}
			given[c.Seq] = true
		}
		f(c)
	}
}
