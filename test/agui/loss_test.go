package agui_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// losses are the ways in which a run can be over without its agent having finished it. A stock client takes the end of
// the stream for success, so each has to reach it as an error.
var losses = []struct {
	name string
	code string
	lose func(*fabric, *producer.Run)
}{
	{"the producer is lost", "abandoned", func(f *fabric, run *producer.Run) {
		require.NoError(f.t, run.Close())
	}},
	{"a newer run takes the chat", "superseded", func(f *fabric, _ *producer.Run) {
		f.Start(f.producer, load(f.t, lossy).threadID(f.t))
	}},
	{"the run is stopped", "stopped", func(f *fabric, run *producer.Run) {
		f.finish(run, producer.FinishOptions{Reason: subjects.ReasonStopped})
	}},
	{"the run fails", "error", func(f *fabric, run *producer.Run) {
		f.finish(run, producer.FinishOptions{Reason: subjects.ReasonError})
	}},
	{"the save fails", "save_failed", func(f *fabric, run *producer.Run) {
		f.finish(run, producer.FinishOptions{Save: func(context.Context) error { return errors.New("disk full") }})
	}},
	{"the relay goes away", "stream_closed", func(f *fabric, _ *producer.Run) { f.relay.Stop() }},
}

// lossy is the recording that is cut short, in the middle of a tool call.
const (
	lossy  = "copilotkit-tools"
	losing = 9
)

func TestStockClientIsToldOfLoss(t *testing.T) {
	t.Parallel()
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			r := load(t, lossy)
			run := f.Start(f.producer, r.threadID(t))
			f.publish(run, r.events[:losing])
			client := start(t, job{r.input, f.tap.url})
			client.waitFor(1)
			loss.lose(f, run)
			requireLoss(t, client.wait()[0], loss.code)
		})
	}
}

// Whoever comes after the loss is told of it as well, behind what there was.
func TestStockClientIsToldOfLossAfterwards(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	r := load(t, lossy)
	run := f.Start(f.producer, r.threadID(t))
	f.publish(run, r.events[:losing])
	require.NoError(t, run.Close())
	requireLoss(t, read(t, job{r.input, f.tap.url})[0], "abandoned")
}

func requireLoss(t *testing.T, got verdict, code string) {
	t.Helper()
	require.Equal(t, "error", got.Outcome, "%+v", got.Error)
	require.NotEmpty(t, got.Events)
	var last struct{ Type, Code string }
	require.NoError(t, json.Unmarshal(got.Events[len(got.Events)-1], &last))
	require.Equal(t, "RUN_ERROR", last.Type)
	require.Equal(t, code, last.Code)
	require.Contains(t, string(got.Messages), "the weather in Kraków", "what came before the loss")
}
