package ingest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

// patience bounds every wait of these tests; reaching it is a failure.
const patience = 2 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func broker(t testing.TB) *natsd.Server {
	t.Helper()
	s, err := natsd.Start(natsd.Config{})
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	return s
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(string(bytes.TrimSpace(b)))
	return len(b), nil
}

// node is one process that serves the requests.
type node struct {
	store    *runs.Store
	producer *producer.Producer
	handler  *ingest.Handler
	server   *httptest.Server
	client   *http.Client
}

func newNode(t testing.TB, s *natsd.Server, cfg ingest.Config, opts ...nats.Option) *node {
	t.Helper()
	log := slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	nc, err := s.Connect(append(opts, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	store, err := runs.Open(within(t), nc, runs.Config{Provision: true, Partitions: 1, Logger: log})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	p, err := producer.Open(within(t), store, producer.Config{MaxEventBytes: cfg.MaxEventBytes, Logger: log})
	require.NoError(t, err)
	cfg.Producer, cfg.Logger = p, log
	h := ingest.New(cfg)
	router := chi.NewRouter()
	h.Routes(router)
	n := &node{store: store, producer: p, handler: h, server: httptest.NewServer(router)}
	n.client = n.server.Client()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = h.Close(ctx)
		n.server.CloseClientConnections()
		n.server.Close()
		_ = p.Close(ctx)
	})
	return n
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (a answer) seq(name string) uint64 {
	n, _ := a.body[name].(json.Number)
	v, _ := strconv.ParseUint(n.String(), 10, 64)
	return v
}

func (n *node) post(t testing.TB, path, body string, header ...string) answer {
	t.Helper()
	return n.postBody(t, path, strings.NewReader(body), header...)
}

func (n *node) postBody(t testing.TB, path string, body io.Reader, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, n.server.URL+path, body)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := n.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	return read(t, resp)
}

func read(t testing.TB, resp *http.Response) answer {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := answer{status: resp.StatusCode, header: resp.Header, body: map[string]any{}}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		require.NoError(t, d.Decode(&a.body), "%s", raw)
	}
	return a
}

// start starts a run and gives its path.
func (n *node) start(t testing.TB, chat string) string {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"chat_id": chat})
	a := n.post(t, "/runs", string(body))
	require.Equal(t, http.StatusCreated, a.status, a.body)
	return "/runs/" + a.body["run_id"].(string)
}

func event(i int) string { return fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%d}`, i) }

// ndjson is the events from one number to another, one a line.
func ndjson(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteString(event(i) + "\n")
	}
	return b.String()
}

// logged gives the events in a run's log, and its end.
func (n *node) logged(t testing.TB, path string) (events []string, end *subjects.End) {
	t.Helper()
	id, err := subjects.ParseRunID(strings.TrimPrefix(path, "/runs/"))
	require.NoError(t, err)
	var from, last uint64
	for {
		page, err := n.store.Page(within(t), id, from)
		require.NoError(t, err)
		if len(page) == 0 {
			return events, end
		}
		for _, rec := range page {
			from = rec.StreamSeq + 1
			require.Nil(t, end, "a record after the end")
			require.Equal(t, last, rec.Prev(), "a gap or a repetition in the log")
			last = rec.Last
			if rec.Kind == subjects.KindEvents {
				events = append(events, strings.Split(string(rec.Body), "\n")...)
			}
			end = rec.End()
		}
	}
}

// wantEvents asserts that the log holds events 1 to n, once each and in order.
func (n *node) wantEvents(t testing.TB, path string, count int) {
	t.Helper()
	got, _ := n.logged(t, path)
	require.Equal(t, strings.TrimSuffix(ndjson(1, count), "\n"), strings.Join(got, "\n"))
}

func (a answer) isProblem(t testing.TB, status int, code string) {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	require.Equal(t, code, a.body["code"], a.body)
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	require.EqualValues(t, status, a.seq("status"))
	require.NotEmpty(t, a.body["detail"])
	require.NotEmpty(t, a.body["title"])
	require.NotEmpty(t, a.body["type"])
}
