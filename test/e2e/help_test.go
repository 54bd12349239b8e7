package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// bounded is the test's context with the time that nothing should need.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	t.Cleanup(cancel)
	return ctx
}

// publish publishes events and waits until they are stored.
func publish(t *testing.T, run *producer.Run, events ...string) {
	t.Helper()
	ctx := bounded(t)
	for _, e := range events {
		_, err := run.Publish(ctx, []byte(e))
		require.NoError(t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(t, err)
}

// finish ends a run as done.
func finish(t *testing.T, run *producer.Run, persisted bool) {
	t.Helper()
	_, err := run.Finish(bounded(t), producer.FinishOptions{Persisted: persisted})
	require.NoError(t, err)
}

// once sends one request and leaves its answer open until the test ends.
func once(t *testing.T, method, url, body string, header ...string) *harness.Conn {
	t.Helper()
	c, err := harness.Ask(t.Context(), method, url, body, header...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// ask is once, and again for as long as a relay is too busy to let somebody read, as it
// tells its clients to.
func ask(t *testing.T, method, url, body string, header ...string) *harness.Conn {
	t.Helper()
	ctx := bounded(t)
	for {
		c := once(t, method, url, body, header...)
		reads := method == http.MethodGet || strings.HasSuffix(url, "/chat/live")
		if !reads || c.Status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return c
		}
		c.Close()
	}
}

// watch opens POST /chat/live and wants a stream.
func watch(t *testing.T, url, body string) *harness.Conn {
	t.Helper()
	c := ask(t, http.MethodPost, url+"/chat/live", body)
	require.Equal(t, http.StatusOK, c.Status, body)
	return c
}

// whole is the body of a request that answers at once.
func whole(t *testing.T, c *harness.Conn) string {
	t.Helper()
	body, err := c.Rest()
	require.NoError(t, err)
	return body
}

// held is what an observer has of one run, event by event.
type held struct {
	run       subjects.RunID
	seq       uint64
	events    []string // those of the last snapshot and those after it
	snapshots int
	end       *subjects.End
}

// from is an observer that has the given events of a run.
func from(id subjects.RunID, events []string) *held {
	return &held{run: id, seq: uint64(len(events)), events: append([]string(nil), events...)}
}

func (h *held) apply(f consumer.Frame) error {
	switch {
	case h.end != nil:
		return fmt.Errorf("%v %d after the end", f.Type, f.Seq)
	case f.Type == consumer.Snapshot:
		h.snapshots++
		h.run, h.seq, h.events = f.RunID, f.Seq, nil
		if len(f.Events) > 0 {
			h.events = strings.Split(string(f.Events), "\n")
		}
	case f.RunID != h.run:
		return fmt.Errorf("%v of run %s while watching %s", f.Type, f.RunID, h.run)
	case f.Type == consumer.Event && f.Seq == h.seq+1:
		h.seq++
		h.events = append(h.events, string(f.Event))
	case f.Type == consumer.End && f.Seq == h.seq:
		h.end = &f.End
	case f.Type == consumer.Synced && f.Seq == h.seq:
	default:
		return fmt.Errorf("%v %d does not follow %d", f.Type, f.Seq, h.seq)
	}
	return nil
}

// frame reads one frame.
func (h *held) frame(t *testing.T, c *harness.Conn) consumer.Frame {
	t.Helper()
	f, err := c.Next(t.Context())
	require.NoError(t, err, "at %d", h.seq)
	require.NoError(t, h.apply(f))
	return f
}

// until reads until the observer has seq.
func (h *held) until(t *testing.T, c *harness.Conn, seq uint64) {
	t.Helper()
	for h.seq < seq {
		h.frame(t, c)
	}
}

// toEnd reads to the end, which has to be the last frame of a response that closes.
func (h *held) toEnd(t *testing.T, c *harness.Conn) *held {
	t.Helper()
	for h.end == nil {
		h.frame(t, c)
	}
	_, err := c.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	return h
}

// state is what a client makes of what the observer has.
func (h *held) state() *harness.State { return reduce(h.events) }

func reduce(events []string) *harness.State {
	return harness.Reduce([]byte(strings.Join(events, "\n")))
}

// legacyEvents reads a legacy stream to its close.
func legacyEvents(t *testing.T, c *harness.Conn) (events []string) {
	t.Helper()
	for {
		m, err := c.Message()
		if errors.Is(err, io.EOF) {
			return events
		}
		require.NoError(t, err)
		require.Empty(t, m.ID)
		events = append(events, string(m.Data))
	}
}

// legacySays reads a legacy stream until its deltas say that many bytes.
func legacySays(t *testing.T, c *harness.Conn, bytes int) string {
	t.Helper()
	var said strings.Builder
	for said.Len() < bytes {
		m, err := c.Message()
		require.NoError(t, err, "after %d bytes", said.Len())
		var e agui.Event
		require.NoError(t, agui.Scan(m.Data, &e))
		said.Write(e.Delta())
	}
	return said.String()
}

// byEveryRoute reads an ended run by every route there is, and wants the same state
// and the same end from each: a snapshot, a replay, EventSource, and without SSE.
func byEveryRoute(t *testing.T, url, chat string, id subjects.RunID, want *harness.State, end subjects.End) {
	t.Helper()
	require.Empty(t, want.Unknown)
	check := func(route string, h *held) {
		t.Helper()
		require.Equal(t, id, h.run, route)
		require.Equal(t, end, *h.end, route)
		require.Equal(t, want, h.state(), route)
	}
	check("snapshot", new(held).toEnd(t, watch(t, url, harness.Live(chat, "run_id", id))))
	check("replay", from(id, nil).toEnd(t, watch(t, url, harness.Live(chat, "run_id", id, "after_seq", 0))))
	c := ask(t, http.MethodGet, url+"/chat/live?"+query("chat_id", chat), "", "Last-Event-ID", string(id)+":0")
	require.Equal(t, http.StatusOK, c.Status)
	check("EventSource", from(id, nil).toEnd(t, c))
	c = ask(t, http.MethodGet, url+"/chat/live?"+query("chat_id", chat, "run_id", string(id)), "")
	require.Equal(t, http.StatusOK, c.Status)
	check("EventSource without a cursor", new(held).toEnd(t, c))
	end.NextRunID = "" // a poller is not told
	check("without SSE", poll(t, url, id))
}

// poll reads GET /runs/{run_id}/snapshot.
func poll(t *testing.T, url string, id subjects.RunID) *held {
	t.Helper()
	snap, err := (&consumer.Client{BaseURL: url}).Snapshot(bounded(t), id, "")
	require.NoError(t, err)
	h := &held{run: snap.RunID, seq: snap.Seq, end: snap.End, snapshots: 1}
	if len(snap.Events) > 0 {
		h.events = strings.Split(string(snap.Events), "\n")
	}
	return h
}

// query is a query string of names and values in turn.
func query(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// quoted is a string as JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// talk is a whole text message of several deltas.
func talk(id string, deltas ...string) []string {
	events := []string{fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":%q,"role":"assistant"}`, id)}
	for _, d := range deltas {
		events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":%q,"delta":%s}`, id, quoted(d)))
	}
	return append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":%q}`, id))
}
