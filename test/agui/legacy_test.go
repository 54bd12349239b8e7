package agui_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// visit is one stock client that comes to one recorded run after some of its events.
type visit struct {
	recording
	before int // events that are stored when the client comes
}

// The claim of this package: a run that went through the fabric leaves the stock client with what the agent itself
// leaves it with, whenever the client came.
func TestStockClientReadsLegacyWire(t *testing.T) {
	t.Parallel()
	for _, when := range []struct {
		name   string
		before func(events int) int
	}{
		{"before the first event", func(int) int { return 0 }},
		{"after the first event", func(int) int { return 1 }},
		{"in the middle", func(n int) int { return n / 2 }},
		{"before the last event", func(n int) int { return n - 1 }},
		{"while the run is saved", func(n int) int { return n }},
	} {
		t.Run(when.name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			var visits []visit
			for _, r := range recordings(t) {
				visits = append(visits, visit{r, when.before(len(r.events))})
			}
			f.receive(visits)
		})
	}
}

// receive runs the recordings through the fabric, each with a client that comes at its time, and holds what the clients
// end up with against the golden files. One process reads them all, so the runs follow its pace.
func (f *fabric) receive(visits []visit) {
	jobs := make([]job, len(visits))
	running := make([]*producer.Run, len(visits))
	for i, v := range visits {
		jobs[i] = job{v.input, f.tap.url}
		running[i] = f.Start(f.producer, v.threadID(f.t))
		f.publish(running[i], v.events[:v.before])
	}
	client := start(f.t, jobs...)
	for i, v := range visits {
		client.await(f.tap.opened)
		first := max(v.before, 1) // what the client's snapshot is of
		f.publish(running[i], v.events[v.before:first])
		client.await(f.tap.fed)
		f.publish(running[i], v.events[first:])
		f.finish(running[i], producer.FinishOptions{Save: func(context.Context) error { return nil }})
	}
	for i, got := range client.wait() {
		v := visits[i]
		f.t.Run(v.name, func(t *testing.T) {
			requireGolden(t, v.recording, got)
			if v.before <= 1 {
				// Nothing was folded, so what the client got is what the agent sent.
				_, body := f.tap.answer(t, i)
				require.Equal(t, string(v.sse), body, "not the agent's own bytes")
			}
		})
	}
}

// A run that ended and was not saved is still there to read, as one snapshot.
func TestStockClientReadsLegacyWireAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	all := recordings(t)
	jobs := make([]job, len(all))
	for i, r := range all {
		run := f.Start(f.producer, r.threadID(t))
		f.publish(run, r.events)
		f.finish(run, producer.FinishOptions{})
		jobs[i] = job{r.input, f.tap.url}
	}
	for i, got := range read(t, jobs...) {
		t.Run(all[i].name, func(t *testing.T) { requireGolden(t, all[i], got) })
	}
}

// Once a run is saved there is nothing to watch: 204, which the stock client cannot read.
func TestStockClientRejectsIdleChat(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	r := load(t, "copilotkit-text")
	run := f.Start(f.producer, r.threadID(t))
	f.publish(run, r.events)
	f.finish(run, producer.FinishOptions{Save: func(context.Context) error { return nil }})
	require.Equal(t, "rejected", read(t, job{r.input, f.tap.url})[0].Outcome)
	status, _ := f.tap.answer(t, 0)
	require.Equal(t, http.StatusNoContent, status)
}

// fabric is a relay as shipped, a producer, and a tap before the relay.
type fabric struct {
	*harness.Fabric
	t        *testing.T
	relay    *harness.Relay
	producer *producer.Producer
	tap      *tap
}

func newFabric(t *testing.T) *fabric {
	t.Helper()
	h := harness.New(t, harness.Config{})
	relay := h.Relay(harness.RelayConfig{})
	return &fabric{Fabric: h, t: t, relay: relay, producer: h.Producer(h.Connect()), tap: newTap(t, relay.URL)}
}

// publish returns when the events are stored.
func (f *fabric) publish(run *producer.Run, events [][]byte) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), harness.Patience)
	defer cancel()
	for _, event := range events {
		_, err := run.Publish(ctx, event)
		require.NoError(f.t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(f.t, err)
}

// finish returns when the run's end is stored.
func (f *fabric) finish(run *producer.Run, opt producer.FinishOptions) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), harness.Patience)
	defer cancel()
	_, err := run.Finish(ctx, opt)
	require.NoError(f.t, err)
}

// await waits for what the client makes happen, as long as the client is at work.
func (r *reading) await(happened <-chan struct{}) {
	r.t.Helper()
	select {
	case <-happened:
	case <-time.After(harness.Patience):
		require.Fail(r.t, "the client did not come that far", "it said: %s", r.stdout.String())
	}
}
