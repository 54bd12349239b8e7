package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/test/harness"
)

// step is a place in a relay where a reader can be made to stand still.
type step string

const (
	subscribed    step = "subscribed"     // the run was found, its tail hears what comes; nothing is read yet
	logRead       step = "log read"       // a page of the log was read
	snapshotBuilt step = "snapshot built" // and nothing of it sent
	atHead        step = "at the head"    // everything so far was given out, and nothing flushed
)

// gate stops the first reader that comes to a step.
type gate struct {
	t       *testing.T
	at      step
	reached chan struct{}
	opened  chan struct{}
}

func newGate(t *testing.T, at step) *gate {
	return &gate{t: t, at: at, reached: make(chan struct{}, 1), opened: make(chan struct{})}
}

// steps is for a relay that has the gate in it.
func (g *gate) steps() consumer.HubMetrics {
	return consumer.HubMetrics{
		Tails: func(delta int) {
			if delta > 0 {
				g.pass(subscribed)
			}
		},
		Replay:   func(int) { g.pass(logRead) },
		Snapshot: func(string) { g.pass(snapshotBuilt) },
		CatchUp:  func(time.Duration) { g.pass(atHead) },
	}
}

func (g *gate) pass(at step) {
	if at != g.at {
		return
	}
	select {
	case g.reached <- struct{}{}:
		select {
		case <-g.opened:
		case <-g.t.Context().Done():
		}
	default: // not the first
	}
}

// wait returns when a reader stands at the gate.
func (g *gate) wait() {
	g.t.Helper()
	select {
	case <-g.reached:
		g.reached <- struct{}{} // nobody else is stopped
	case <-time.After(harness.Patience):
		require.FailNow(g.t, "no reader came to the step", string(g.at))
	}
}

// open lets the reader go on.
func (g *gate) open() { close(g.opened) }
