package turns_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// A worker is told to stop while it answers: what ends in time is done, what does not
// says so and ends, nothing of it is begun again, and what waits goes to another worker.
func TestAWorkerIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{Broker: harness.Networked(t)})
	w := r.WorkerCommand("--agent", "demo", "--concurrency", "2", "--grace", "4s")
	quick, slow := r.send("quick", "quick approval"), r.send("slow", "tool")
	asking := r.open(0, "quick").until(harness.Asks)
	busy := r.open(1, "slow").until(func(s *harness.Seen) bool { return s.State.Closed["tool wait-"+string(slow)] })
	waiting := r.send("waiting", "quick")
	behind := r.send("slow", "quick", "on_active", "queue")
	w.Terminate()
	other := r.WorkerCommand("--agent", "demo", "--grace", "4s")
	require.Equal(t, http.StatusOK, r.answer(1, "quick", quick, asking.RequestID(), `{"outcome":"selected","optionId":"allow"}`).Status)

	done := &subjects.End{Persisted: true, Reason: subjects.ReasonDone}
	require.Equal(t, done, asking.toEnd().End)
	require.Equal(t, done, r.watch(0, "waiting", waiting).End, "by the other worker")
	busy.toEnd()
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonError}, busy.End)
	require.Equal(t, 1, terminals(busy.Seen))
	require.Contains(t, busy.Events[len(busy.Events)-1], `"code":"worker_stopped"`)
	require.Equal(t, 0, w.Exit())
	require.Equal(t, done, r.watch(0, "slow", behind).End, "what waited behind it, too")
	for chat, turns := range map[string]int{"quick": 1, "slow": 2, "waiting": 1} {
		require.Len(t, r.history(chat), turns, "begun once")
	}
	for _, seen := range []*harness.Seen{asking.Seen, busy.Seen} {
		started := 0
		for _, kind := range seen.Types {
			if kind == "RUN_STARTED" {
				started++
			}
		}
		require.Equal(t, 1, started)
	}
	other.Terminate()
	require.Equal(t, 0, other.Exit())
}
