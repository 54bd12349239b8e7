package chats_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// start starts a run over HTTP and gives its path.
func (f *fabric) start(chat string) (subjects.RunID, string) {
	f.Helper()
	a := f.post(0, "/runs", `{"chat_id":%q}`, chat)
	require.Equal(f, http.StatusCreated, a.Status, a.Body)
	return a.RunID, "/runs/" + string(a.RunID)
}

// A producer in any language: it asks, hears the answer, is told to stop, and ends.
func TestAProducerOverHTTPIsAnsweredAndStopped(t *testing.T) {
	t.Parallel()
	f := newFabricWith(t, ingest.Config{StopGrace: time.Hour})
	id, path := f.start("c")
	controls := f.open(1, http.MethodGet, path+"/controls", "")
	require.Equal(t, http.StatusOK, f.do(0, http.MethodPost, path+"/events", question("q")).Status)
	require.Equal(t, "waiting", f.state(id))
	require.Equal(t, http.StatusBadRequest, f.answer(1, id, "q", `{"outcome":"selected","optionId":"maybe"}`).Status)
	require.Equal(t, http.StatusOK, f.answer(1, id, "q", no).Status)
	m := message(f, controls)
	require.Equal(t, "answer", m.Event)
	require.JSONEq(t, fmt.Sprintf(`{"type":"answer","run_id":%q,"request_id":"q","outcome":%s}`, id, no), string(m.Data))
	require.Equal(t, http.StatusOK, f.do(1, http.MethodPost, path+"/events", resolved("q", "selected")).Status)
	f.asks(id, 0)
	require.Equal(t, "running", f.state(id))

	require.Equal(t, http.StatusAccepted, f.stop(0, "c", id).Status)
	require.Equal(t, "stop", message(f, controls).Event)
	require.Equal(t, http.StatusOK, f.do(0, http.MethodPost, path+"/end", `{"persisted":true,"reason":"stopped"}`).Status)
	require.Equal(t, "end", message(f, controls).Event)
	closed(f, controls)
	require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, *f.watch(1, harness.Live("c", "run_id", id), nil).End)
}

// One that does not listen is stopped without it. What it sends until then counts, on an
// open request too; afterwards it learns that the run is over.
func TestAProducerOverHTTPThatDoesNotListenIsStopped(t *testing.T) {
	t.Parallel()
	f := newFabricWith(t, ingest.Config{StopGrace: 10 * time.Second}) // more than what follows takes
	id, path := f.start("c")
	body, in := io.Pipe()
	type result struct {
		status int
		body   string
	}
	answered := make(chan result, 1)
	go func() {
		req, err := http.NewRequestWithContext(f.within(), http.MethodPost, f.urls[0]+path+"/events", body)
		if err != nil {
			panic(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- result{body: err.Error()}
			return
		}
		defer resp.Body.Close()
		all, _ := io.ReadAll(bufio.NewReader(resp.Body))
		answered <- result{resp.StatusCode, string(all)}
	}()
	line := func(i uint64) error { _, err := in.Write(append(harness.Delta(i), '\n')); return err }
	require.NoError(t, line(1))
	watching := f.open(1, http.MethodPost, "/chat/live", harness.Live("c"))
	_, err := harness.See(f.within(), watching, func(s *harness.Seen) bool { return len(s.Events) == 1 })
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, f.stop(1, "c", id).Status)
	require.NoError(t, line(2), "the request is not broken off at once")

	seen := f.watch(1, harness.Live("c", "run_id", id, "after_seq", 0), nil)
	require.Equal(t, subjects.End{Reason: subjects.ReasonStopped}, *seen.End)
	require.Equal(t, harness.Text(2), text(seen))
	got := <-answered
	require.Equal(t, http.StatusConflict, got.status, got.body)
	require.Contains(t, got.body, `"code":"run_ended"`)
	_ = in.Close()
	for relay := range f.urls {
		a := f.do(relay, http.MethodPost, path+"/events", string(harness.Delta(3)))
		require.Equal(t, http.StatusConflict, a.Status)
		require.Equal(t, "run_ended", a.Code)
		require.Equal(t, http.StatusConflict, f.do(relay, http.MethodPost, path+"/heartbeat", "").Status)
	}
	require.Equal(t, http.StatusOK, f.do(0, http.MethodPost, path+"/end", `{"reason":"stopped"}`).Status, "the same end again")
	require.Equal(t, http.StatusConflict, f.do(0, http.MethodPost, path+"/end", `{"persisted":true}`).Status)
}

// A run that moved to another relay is stopped there.
func TestAStopFindsTheRelayThatHoldsTheRun(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id, path := f.start("c")
	require.Equal(t, http.StatusOK, f.do(0, http.MethodPost, path+"/events", string(harness.Delta(1))).Status)
	require.Equal(t, http.StatusOK, f.do(1, http.MethodPost, path+"/events", string(harness.Delta(2))).Status)
	require.Equal(t, http.StatusAccepted, f.stop(0, "c", id).Status)
	seen := f.watch(0, harness.Live("c", "run_id", id), nil)
	require.Equal(t, subjects.End{Reason: subjects.ReasonStopped}, *seen.End)
	require.Equal(t, harness.Text(2), text(seen))
}

// What a turn has made, its worker writes and nobody else.
func TestATurnsRunIsNotTakenOverOverHTTP(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id := f.send("c", "")
	for _, path := range []string{"/events", "/heartbeat", "/end"} {
		a := f.do(1, http.MethodPost, "/runs/"+string(id)+path, `{}`)
		require.Equal(t, http.StatusConflict, a.Status, path+a.Body)
		require.Equal(t, "not_begun", a.Code)
	}
	require.Equal(t, "queued", f.state(id))
	r := f.begin(false)
	f.Publish(r, 1, 3)
	f.finish(r, done)
}
