package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// patience bounds every wait of these tests; nothing is expected to need it.
const patience = 2 * time.Minute

// fabric is a broker of one test and a relay on it that serves over real HTTP.
type fabric struct {
	t      testing.TB
	broker *natsd.Server
	store  *runs.Store
	hub    *consumer.Hub
	relay  *relay.Server
	url    string
	client *http.Client
	logs   *logs
	narrow *atomic.Int32 // how many of the next connections have room for little in the kernel

	stop   context.CancelFunc // begins the drain
	served chan error         // what Serve returned
}

// newFabric starts broker, hub and relay; change may alter the configuration.
func newFabric(t testing.TB, change func(*relay.Config)) *fabric {
	t.Helper()
	f := &fabric{t: t, logs: &logs{}, narrow: new(atomic.Int32), served: make(chan error, 1)}
	var err error
	f.broker, err = natsd.Start(natsd.Config{})
	require.NoError(t, err)
	t.Cleanup(f.broker.Shutdown)
	nc, err := f.broker.Connect(nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	f.store, err = runs.Open(t.Context(), nc, runs.Config{Partitions: 1, Provision: true})
	require.NoError(t, err)
	t.Cleanup(f.store.Close)

	metrics := relay.NewMetrics(nil)
	f.hub = consumer.NewHub(consumer.HubConfig{Store: f.store, Metrics: metrics.Hub()})
	t.Cleanup(f.hub.Close)
	cfg := relay.Config{Hub: f.hub, Store: f.store, Metrics: metrics, DrainWindow: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(f.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(&cfg)
	}
	f.relay, err = relay.New(cfg)
	require.NoError(t, err)
	f.serve()
	return f
}

func (f *fabric) serve() {
	f.t.Helper()
	ln, err := new(net.ListenConfig).Listen(f.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	f.url = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	go func() { f.served <- f.relay.Serve(ctx, narrowing{ln, f.narrow}) }()
	transport := &http.Transport{DisableCompression: true}
	f.client = &http.Client{Transport: transport}
	f.t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		f.drained()
	})
}

// narrowing is a listener whose next connections have room for little. Who stalls on one is
// noticed with the first events, however slowly they are published, and before the kernel
// gives the connection up.
type narrowing struct {
	net.Listener
	next *atomic.Int32
}

func (l narrowing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil && l.next.Load() > 0 {
		l.next.Add(-1)
		err = conn.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	return conn, err
}

// drained waits until Serve has returned, and wants nil from it.
func (f *fabric) drained() {
	f.t.Helper()
	select {
	case err := <-f.served:
		require.NoError(f.t, err)
		f.served <- nil
	case <-time.After(patience):
		f.t.Fatal("Serve has not returned")
	}
}

// logs gathers what the relay logs.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// run writes a run by hand, record by record.
type run struct {
	f     *fabric
	entry *runs.Entry
	prev  uint64
	seq   uint64
	fold  agui.Fold
	from  uint64 // first seq of the open segment
	marks int
}

// start makes a run the chat's newest.
func (f *fabric) start(chat string) *run {
	f.t.Helper()
	ctx := f.t.Context()
	p, err := f.store.Pointer(ctx, "", chat)
	require.NoError(f.t, err)
	r := &run{f: f, from: 1, entry: &runs.Entry{RunID: f.store.NewRunID(), ChatID: chat, Generation: p.Generation + 1,
		State: runs.StateRunning, Writer: nuid.Next(), StartedAt: time.Now().UTC()}}
	r.append(subjects.Record{Kind: subjects.KindStart})
	r.entry.FirstStreamSeq = r.prev
	require.NoError(f.t, f.store.CreateEntry(ctx, r.entry))
	p.Advance(r.entry.RunID, r.entry.Generation, "")
	require.NoError(f.t, f.store.SetPointer(ctx, p))
	return r
}

func (r *run) id() string { return string(r.entry.RunID) }

func (r *run) append(rec subjects.Record) {
	r.f.t.Helper()
	rec.Writer = r.entry.Writer
	seq, err := r.f.store.Append(r.f.t.Context(), r.entry.RunID, &rec, r.prev)
	require.NoError(r.f.t, err)
	r.prev = seq
}

// publish appends the events in one record.
func (r *run) publish(events ...string) {
	r.f.t.Helper()
	r.seq += uint64(len(events))
	body := []byte(strings.Join(events, "\n"))
	_, err := r.fold.AddLines(body)
	require.NoError(r.f.t, err)
	r.append(subjects.Record{Kind: subjects.KindEvents, Last: r.seq, Count: len(events), Body: body})
}

// deltas publishes n events of text, each a record: "1 ", "2 ", and so on.
func (r *run) deltas(n int) {
	r.f.t.Helper()
	for range n {
		r.publish(delta(r.seq + 1))
	}
}

func delta(i uint64) string {
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d "}`, i)
}

// text is what deltas up to seq say.
func text(seq uint64) string {
	var b strings.Builder
	for i := range seq {
		fmt.Fprintf(&b, "%d ", i+1)
	}
	return b.String()
}

// checkpoint stores what was published as the next segment.
func (r *run) checkpoint() {
	r.f.t.Helper()
	ctx := r.f.t.Context()
	seg := subjects.Segment{From: r.from, To: r.seq, StreamSeq: r.prev, Writer: r.entry.Writer}
	require.NoError(r.f.t, r.f.store.CreateSegment(ctx, r.entry.RunID, r.marks, seg, r.fold.Cut()))
	r.from, r.marks = r.seq+1, r.marks+1
	_, err := r.f.store.ChangeEntry(ctx, r.entry.RunID, func(e *runs.Entry) error {
		e.Segments, e.Seq = r.marks, r.seq
		e.AddMark(runs.Mark{Seq: r.seq, StreamSeq: r.prev})
		return nil
	})
	require.NoError(r.f.t, err)
}

func (r *run) finish(end subjects.End) {
	r.f.t.Helper()
	r.append(subjects.EndRecord(end, r.seq, r.entry.Writer))
	_, err := r.f.store.Seal(r.f.t.Context(), r.entry.RunID, end, r.seq)
	require.NoError(r.f.t, err)
}

// evict removes the run as the janitor does.
func (r *run) evict() {
	r.f.t.Helper()
	require.NoError(r.f.t, r.f.store.Evict(r.f.t.Context(), r.entry.RunID))
}

var (
	done   = subjects.End{Persisted: true, Reason: subjects.ReasonDone}
	failed = subjects.End{Reason: subjects.ReasonSaveFailed}
)
