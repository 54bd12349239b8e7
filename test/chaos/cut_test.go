package chaos_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// An idle worker's connection is cut, or the broker restarts. A turn that is sent once it
// is back does not wait until the worker happens to ask again.
func TestAnIdleWorkerOutlivesCuts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{Broker: harness.Networked(t)})
	wk := w.Worker(agent.Func(func(context.Context, agent.Turn) error { return nil }), worker.Config{})
	w.ended(w.send("c", "hi", runs.Reject))
	const rounds = 5
	late := 0
	for round := range rounds {
		switch round {
		case 0:
			require.NoError(t, w.Broker.Restart())
		case 1:
			back := wk.Store.Reconnected()
			wk.Proxy.Cut()
			<-back
		default: // the turn comes while the worker is away
			wk.Proxy.Refuse(true)
			wk.Proxy.Cut()
		}
		var id subjects.RunID
		harness.Eventually(t, "a relay takes it", func() bool {
			a := w.post(0, "/chat/send", fields{"chat_id": "d", "input": text("hi"), "client_token": string(rune('a' + round))})
			id = a.RunID
			return a.Status == http.StatusAccepted
		})
		wk.Proxy.Refuse(false)
		from := time.Now()
		harness.Eventually(t, "it is answered", func() bool {
			e, err := w.own.Store.Entry(context.Background(), id)
			return err == nil && !e.Active()
		})
		if time.Since(from) > 8*time.Second {
			late++
		}
	}
	// Whoever asks anew only after some silence takes ten seconds, nearly always. A busy machine
	// may take as long now and then.
	require.Less(t, late, rounds/2)
}
