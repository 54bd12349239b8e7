package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

func TestARunFollowsItsProducerFromProcessToProcess(t *testing.T) {
	t.Parallel()
	s := broker(t)
	nodes := []*node{newNode(t, s, ingest.Config{}), newNode(t, s, ingest.Config{})}
	path := nodes[0].start(t, "c")
	for i := 1; i <= 40; i += 2 {
		a := nodes[i/2%2].post(t, path+"/events", ndjson(i, i+1))
		require.Equal(t, 200, a.status, a.body)
		require.EqualValues(t, 2, a.seq("accepted"))
		require.EqualValues(t, i+1, a.seq("last_seq"))
	}
	// The same with numbers, every body sent to both.
	for i := 41; i <= 60; i++ {
		for k, n := range nodes {
			a := n.post(t, path+"/events", ndjson(i, i), ingest.FirstSeqHeader, fmt.Sprint(i))
			require.Equal(t, 200, a.status, a.body)
			require.EqualValues(t, 1-k, a.seq("accepted"))
			require.EqualValues(t, i, a.seq("last_seq"))
		}
	}
	// Bodies so long that the process learns in their middle that it had lost the run.
	for i := range 4 {
		a := nodes[i%2].post(t, path+"/events", ndjson(61+3000*i, 60+3000*(i+1)))
		require.Equal(t, 200, a.status, a.body)
		require.EqualValues(t, 3000, a.seq("accepted"))
		require.EqualValues(t, 60+3000*(i+1), a.seq("last_seq"))
	}
	for _, n := range []*node{nodes[0], nodes[1], nodes[0]} {
		require.Equal(t, 204, n.post(t, path+"/heartbeat", "").status)
	}
	require.Equal(t, 200, nodes[1].post(t, path+"/end", `{"persisted":true}`).status)
	require.Equal(t, 200, nodes[0].post(t, path+"/end", `{"persisted":true}`).status)
	nodes[0].post(t, path+"/events", ndjson(1, 1)).isProblem(t, http.StatusConflict, "run_ended")
	nodes[0].wantEvents(t, path, 12_060)
}

// An open body whose run is called for elsewhere, ended, or superseded, is told at once,
// though its producer only waits.
func TestAnOpenBodyLosesItsRun(t *testing.T) {
	t.Parallel()
	s := broker(t)
	a, b := newNode(t, s, ingest.Config{}), newNode(t, s, ingest.Config{})
	for name, tc := range map[string]struct {
		lose func(t *testing.T, path string, open *stream)
		code string
	}{
		"ended here": {func(t *testing.T, path string, _ *stream) {
			require.Equal(t, 200, a.post(t, path+"/end", `{"persisted":true}`).status)
		}, "run_ended"},
		"taken over": {func(t *testing.T, path string, open *stream) {
			require.Equal(t, 200, b.post(t, path+"/events", ndjson(2, 2)).status)
			open.send(t, event(3)+"\n")
		}, "fenced"},
		"superseded": {func(t *testing.T, _ string, open *stream) {
			b.start(t, "superseded")
			open.send(t, event(2)+"\n")
		}, "fenced"},
		"ended there": {func(t *testing.T, path string, open *stream) {
			require.Equal(t, 200, b.post(t, path+"/end", `{"persisted":true}`).status)
			open.send(t, event(2)+"\n")
		}, "run_ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := a.start(t, name)
			open := a.open(t, path)
			open.send(t, event(1)+"\n")
			a.waitFor(t, path, 1)
			tc.lose(t, path, open)
			open.wait(t).isProblem(t, http.StatusConflict, tc.code)
		})
	}
}

func TestTERM07ARunNobodyCallsForIsAbandoned(t *testing.T) {
	t.Parallel()
	abandoned := make(chan struct{}, 10)
	n := newNode(t, broker(t), ingest.Config{Lease: 3 * time.Second, // more than any one step takes
		Metrics: ingest.Metrics{Abandoned: func() { abandoned <- struct{}{} }}})
	silent, called, open := n.start(t, "silent"), n.start(t, "called"), n.start(t, "open")
	require.Equal(t, 200, n.post(t, silent+"/events", ndjson(1, 3)).status)
	body := n.open(t, open)
	body.send(t, event(1)+"\n")
	n.waitFor(t, open, 1)

	beats, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for beats.Err() == nil {
			n.post(t, called+"/heartbeat", "")
			time.Sleep(20 * time.Millisecond) // between beats, many in a lease
		}
	})
	require.Equal(t, subjects.End{Reason: subjects.ReasonAbandoned}, n.waitEnd(t, silent))
	<-abandoned
	a := n.post(t, silent+"/heartbeat", "")
	a.isProblem(t, http.StatusConflict, "run_ended")
	require.Equal(t, "abandoned", a.body["reason"])

	// Both of the others have been without an event for longer than the silent one.
	for _, path := range []string{called, open} {
		_, end := n.logged(t, path)
		require.Nil(t, end, "a call keeps a run alive")
	}
	stop()
	wg.Wait()
	require.Equal(t, subjects.ReasonAbandoned, n.waitEnd(t, called).Reason)
	require.NoError(t, body.w.Close())
	require.Equal(t, 200, body.wait(t).status)
	require.Equal(t, subjects.ReasonAbandoned, n.waitEnd(t, open).Reason)
}

func TestCloseReleasesRunsForOthers(t *testing.T) {
	t.Parallel()
	s := broker(t)
	a, b := newNode(t, s, ingest.Config{}), newNode(t, s, ingest.Config{})
	path, opened := a.start(t, "c"), a.start(t, "d")
	require.Equal(t, 200, a.post(t, path+"/events", ndjson(1, 700)).status)
	open := a.open(t, opened)
	open.send(t, event(1)+"\n")
	a.waitFor(t, opened, 1)

	require.NoError(t, a.handler.Close(within(t)))
	draining := open.wait(t)
	draining.isProblem(t, http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, draining.header.Get("Retry-After"))
	a.post(t, path+"/events", ndjson(701, 701)).isProblem(t, http.StatusServiceUnavailable, "unavailable")
	a.post(t, "/runs", `{"chat_id":"c"}`).isProblem(t, http.StatusServiceUnavailable, "unavailable")

	id, err := subjects.ParseRunID(strings.TrimPrefix(path, "/runs/"))
	require.NoError(t, err)
	e, err := a.store.Entry(within(t), id)
	require.NoError(t, err)
	require.True(t, e.Active(), "released, not ended")
	require.Empty(t, e.Producer)

	require.Equal(t, 200, b.post(t, path+"/events", ndjson(701, 702), ingest.FirstSeqHeader, "701").status)
	require.Equal(t, 200, b.post(t, opened+"/events", ndjson(1, 2), ingest.FirstSeqHeader, "1").status)
	b.wantEvents(t, path, 702)
	b.wantEvents(t, opened, 2)
}

// The broker goes away in the middle of a body, and comes back.
func TestBRK03ABodyOutlivesTheBrokersRestart(t *testing.T) {
	t.Parallel()
	s := broker(t)
	n := newNode(t, s, ingest.Config{})
	path := n.start(t, "c")
	open := n.open(t, path)
	open.send(t, ndjson(1, 50))
	n.waitFor(t, path, 50)
	s.Stop()
	open.send(t, ndjson(51, 100))
	n.post(t, "/runs", `{"chat_id":"d"}`).isProblem(t, http.StatusServiceUnavailable, "unavailable")
	require.NoError(t, s.Restart())
	open.send(t, ndjson(101, 150))
	require.NoError(t, open.w.Close())
	a := open.wait(t)
	require.Equal(t, 200, a.status, a.body)
	require.EqualValues(t, 150, a.seq("accepted"))
	n.wantEvents(t, path, 150)
}
