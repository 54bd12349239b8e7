package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// hearing is an agent that takes messages and may not look at them.
type hearing func(ctx context.Context, t agent.Turn) error

func (h hearing) Run(ctx context.Context, t agent.Turn) error { return h(ctx, t) }
func (h hearing) TakesSteering() bool                         { return true }

// The broker is away for longer than any one step may take, just when a turn ends that was
// given a message which it did not look at. The message is the next turn.
func TestAMessageOutlivesAnOutageAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{Broker: harness.Networked(t), Lease: time.Minute})
	heard, given := make(chan string, 8), make(chan struct{})
	wk := w.Worker(hearing(func(ctx context.Context, t agent.Turn) error {
		said := agui.UserText(t.Request().Input)
		heard <- said
		if said == "first" {
			<-given
		}
		return nil
	}), worker.Config{})
	id := w.send("c", "first", runs.Reject)
	require.Equal(t, "first", <-heard)
	var once sync.Once
	wk.Proxy.Tap(proxy.Up, func(b []byte) {
		if bytes.Contains(b, []byte("HPUB rejoin.control."+string(id)+".input.")) {
			once.Do(func() {
				wk.Proxy.Refuse(true)
				wk.Proxy.Cut()
				time.AfterFunc(7*time.Second, func() { wk.Proxy.Refuse(false) })
			})
		}
	})
	a := w.post(0, "/chat/steer-send", fields{"chat_id": "c", "input": text("second")})
	require.Equal(t, http.StatusAccepted, a.Status, a.Body)
	require.Equal(t, id, a.RunID)
	close(given)
	require.Equal(t, subjects.ReasonDone, w.ended(id).Reason)
	select {
	case said := <-heard:
		require.Equal(t, "second", said)
	case <-time.After(harness.Patience):
		require.Fail(t, "the message is lost")
	}
}

// Messages for a run that nobody answers yet are bounded by what they say, not by
// their number alone; each that was accepted is heard.
func TestSteeringFloodIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{})
	id := w.send("c", "first", runs.Reject)
	const each = 900 << 10
	accepted := 0
	for range 40 {
		a := w.post(accepted%2, "/chat/steer-send", fields{"chat_id": "c", "input": text(strings.Repeat("x", each))})
		if a.Status != http.StatusAccepted {
			require.Equal(t, http.StatusTooManyRequests, a.Status, a.Body)
			break
		}
		require.Equal(t, id, a.RunID)
		accepted++
	}
	require.Positive(t, accepted)
	require.LessOrEqual(t, accepted*each, 4<<20)
	heard := make(chan json.RawMessage, 1)
	w.Worker(agent.Func(func(_ context.Context, t agent.Turn) error {
		heard <- t.Request().Input
		return nil
	}), worker.Config{})
	require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, w.ended(id))
	require.GreaterOrEqual(t, len(<-heard), accepted*each)
}
