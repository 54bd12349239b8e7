package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// eager comes back at once, each time on a connection of its own.
func eager(url string) *consumer.Client {
	return &consumer.Client{BaseURL: url, Backoff: consumer.Backoff{Base: time.Microsecond},
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// TERM-06: the connection ends at every byte of the answer in turn, from the first of
// the header to the last of the end. The client comes back with what it has, ends with
// exactly what was published, and takes nothing but STREAM_END for the end.
func TestTERM06_ConnectionsCutAtEveryByte(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	front, url := f.Front(r)
	run := f.Start(r.Producer, "c")
	events := talk("m", "ein\n", "zwei 日本 🌦")
	publish(t, run, events...)
	finish(t, run, false)
	client := eager(url)
	ctx := bounded(t)
	// read watches the run once and says how many connections that took.
	read := func(w consumer.Watch) (*held, int) {
		before := front.Taken()
		h := &held{run: w.RunID}
		s := client.Watch(ctx, w)
		defer s.Close()
		for h.end == nil {
			f, err := s.Next(ctx)
			require.NoError(t, err)
			require.NoError(t, h.apply(f))
		}
		_, err := s.Next(ctx)
		require.ErrorIs(t, err, consumer.ErrPersistence) // it was not saved, and that is final
		return h, front.Taken() - before
	}
	for name, w := range map[string]consumer.Watch{
		"events":   {ChatID: "c", RunID: run.ID(), AfterSeq: new(uint64)},
		"snapshot": {ChatID: "c"},
	} {
		// Every byte of the end, and of what comes before it some.
		whole := size(t, r.URL, w)
		cut, connections := 0, 2
		for connections > 1 { // one is enough when nothing is lacking but the end of the body
			cut++
			if cut < whole-200 {
				cut += 6
			}
			var h *held
			front.CutAfter(cut)
			h, connections = read(w)
			require.Equal(t, reduce(events), h.state(), "%s cut after %d bytes", name, cut)
			require.Equal(t, subjects.End{Reason: subjects.ReasonDone}, *h.end)
			require.LessOrEqual(t, connections, 2)
		}
		require.Less(t, cut, whole)
		require.Greater(t, cut, whole-20, "%s: not the whole answer was cut", name)
	}
}

// size is how many bytes a relay sends for a watch, header and all.
func size(t *testing.T, url string, w consumer.Watch) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	body := harness.Live(w.ChatID)
	if w.AfterSeq != nil {
		body = harness.Live(w.ChatID, "run_id", w.RunID, "after_seq", *w.AfterSeq)
	}
	_, err = fmt.Fprintf(conn, "POST /chat/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	return len(answer)
}

// TERM-06 and TERM-08: a relay closes its streams by age while the run goes on. The
// response is well formed, says when to come back, and has no end; a reader by hand and
// the client both go on, and see one end when the run has one.
func TestTERM08_ClosedByAgeIsNoEnd(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{MaxStreamAge: 30 * time.Millisecond}})
	front, url := f.Front(r)
	run := f.Start(r.Producer, "c")
	f.Publish(run, 1, 1)

	client, s := &harness.Observer{}, eager(url).Watch(t.Context(), consumer.Watch{ChatID: "c"})
	defer s.Close()
	ended := make(chan error, 1)
	ctx := bounded(t)
	go func() { ended <- client.ToEnd(ctx, s) }()

	o, seq := &harness.Observer{}, uint64(1)
	for round := 0; round < 10 || front.Taken() < 4; round++ {
		body, header := harness.Live("c"), []string(nil)
		method := http.MethodPost
		if o.RunID != "" {
			method, body, header = http.MethodGet, "", []string{"Last-Event-ID", fmt.Sprintf("%s:%d", o.RunID, o.Seq)}
		}
		c := ask(t, method, r.URL+"/chat/live?chat_id=c", body, header...)
		require.ErrorIs(t, o.Until(ctx, c, run.LastSeq()+1), io.EOF)
		require.Nil(t, o.End)
		require.NoError(t, o.Holds(seq))
		require.Positive(t, c.Retry())
		c.Close()
		seq++
		f.Publish(run, seq, seq) // while nobody is there
	}
	finish(t, run, true)
	require.NoError(t, <-ended)
	require.NoError(t, client.Holds(seq))
	require.Equal(t, 1, client.Snapshots, "it came back with its cursor every time")
	require.True(t, client.End.Persisted)
	for o.End == nil { // it may be closed by age once more
		_ = o.ToEnd(ctx, watch(t, r.URL, harness.Live("c", "run_id", o.RunID, "after_seq", o.Seq)))
		require.NoError(t, ctx.Err())
	}
	require.NoError(t, o.Holds(seq))
}

// An answer that breaks off is no answer: neither a snapshot without SSE nor a legacy
// stream can be taken for whole.
func TestTERM06_WhatBreaksOffIsNotWhole(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	front, url := f.Front(r)
	run := f.Start(r.Producer, "c")
	publish(t, run, turn("c")...)
	finish(t, run, false)
	for n := 300; n < 900; n += 37 {
		front.CutAfter(n)
		_, err := (&consumer.Client{BaseURL: url, HTTP: eager(url).HTTP}).Snapshot(t.Context(), run.ID(), "")
		require.Error(t, err)
		front.CutAfter(n)
		c, err := harness.Ask(context.Background(), http.MethodPost, url+"/chat/live", `{"chat_id":"c"}`)
		for err == nil {
			_, err = c.Message()
		}
		require.False(t, errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF), "a clean close after %d bytes", n)
	}
}
