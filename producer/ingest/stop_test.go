package ingest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

// stop asks for a run to be stopped, as a relay does.
func (n *node) stop(t testing.TB, path string) {
	t.Helper()
	_, won, err := n.store.PutControl(within(t), subjects.RunID(strings.TrimPrefix(path, "/runs/")), runs.Control{Kind: runs.ControlStop})
	require.NoError(t, err)
	require.True(t, won)
}

func TestARunIsStoppedWithoutItsProducer(t *testing.T) {
	t.Parallel()
	s := broker(t)
	patient, n := newNode(t, s, ingest.Config{StopGrace: time.Hour}), newNode(t, s, ingest.Config{StopGrace: time.Millisecond})
	path := patient.start(t, "c")
	require.Equal(t, 200, patient.post(t, path+"/events", ndjson(1, 2)).status)
	patient.stop(t, path)
	require.Equal(t, 200, patient.post(t, path+"/events", ndjson(3, 3)).status, "it has a moment")
	// Here it has less, perhaps less than this call takes.
	require.Contains(t, []int{204, 409}, n.post(t, path+"/heartbeat", "").status)
	require.Equal(t, subjects.End{Reason: subjects.ReasonStopped}, n.waitEnd(t, path))
	n.wantEvents(t, path, 3)
	for _, n := range []*node{n, patient} {
		n.post(t, path+"/events", ndjson(4, 4)).isProblem(t, http.StatusConflict, "run_ended")
		n.post(t, path+"/end", `{"persisted":true}`).isProblem(t, http.StatusConflict, "run_ended")
		require.Equal(t, 200, n.post(t, path+"/end", `{"reason":"stopped"}`).status)
	}
}

// The producer's own end counts, where it comes.
func TestARunThatIsStoppedByItsProducer(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{StopGrace: time.Hour})
	path := n.start(t, "c")
	n.stop(t, path)
	require.Equal(t, 200, n.post(t, path+"/end", `{"persisted":true,"reason":"stopped"}`).status)
	require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, n.waitEnd(t, path))
}

// A process that goes while a run is about to be stopped leaves that to the next one.
func TestAStopOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	s := broker(t)
	a, b := newNode(t, s, ingest.Config{StopGrace: time.Hour}), newNode(t, s, ingest.Config{StopGrace: 3 * time.Second}) // more than the heartbeat takes
	path := a.start(t, "c")
	a.stop(t, path)
	require.NoError(t, a.handler.Close(within(t)))
	_, end := a.logged(t, path)
	require.Nil(t, end)
	require.Equal(t, 204, b.post(t, path+"/heartbeat", "").status)
	require.Equal(t, subjects.End{Reason: subjects.ReasonStopped}, b.waitEnd(t, path))
}

func TestATurnsRunIsNotWrittenBeforeItHasBegun(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	s, err := n.store.StartRun(within(t), runs.StartRequest{
		Entry: runs.Entry{ChatID: "c", State: runs.StateQueued}, OnActive: runs.Reject})
	require.NoError(t, err)
	path := "/runs/" + string(s.RunID)
	n.post(t, path+"/events", ndjson(1, 1)).isProblem(t, http.StatusConflict, "not_begun")
	n.post(t, path+"/heartbeat", "").isProblem(t, http.StatusConflict, "not_begun")
	n.post(t, path+"/end", `{}`).isProblem(t, http.StatusConflict, "not_begun")
	e, err := n.store.Entry(within(t), s.RunID)
	require.NoError(t, err)
	require.Equal(t, runs.StateQueued, e.State)
}
