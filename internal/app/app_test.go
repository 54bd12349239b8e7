package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/subjects"
)

func TestDevServesALiveRun(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{Demo: true, DemoConfig: demo.Config{Rate: 500, Sentences: 3, Pause: time.Hour}})
	s := (&consumer.Client{BaseURL: r.URL()}).Watch(r.ctx(), consumer.Watch{ChatID: demo.DefaultChat, Wait: patience})
	defer s.Close()
	var view consumer.View
	for {
		f, err := s.Next(r.ctx())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.NoError(t, view.Apply(f))
	}
	require.True(t, view.End().Persisted)
	require.Equal(t, subjects.ReasonDone, view.End().Reason)
	var want uint64
	for range demo.Script(demo.DefaultChat, 1, 3) {
		want++
	}
	require.Equal(t, want, view.Seq())
	require.Contains(t, string(view.Events()), `"RUN_FINISHED"`)
}

func TestItProbesWellUntilItIsStopped(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{})
	for _, path := range []string{"/livez", "/readyz"} {
		status, body := r.ask(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, status, body)
	}
	r.http.CloseIdleConnections()
	r.stop()
	require.NoError(t, r.wait())
	_, err := net.DialTimeout("tcp", r.Addr(), time.Second)
	require.Error(t, err, "nobody listens any more")
}

// An open stream ends between frames and without an end, and a run that is fed over HTTP
// can be fed on by whoever comes next.
func TestStoppingEndsStreamsAndLeavesRuns(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	first := boot(t, app.Config{Store: store})
	id := first.start(`{"chat_id":"c"}`)
	events := "/runs/" + id + "/events"
	status, body := first.ask(http.MethodPost, events, `{"type":"A"}`)
	require.Equal(t, http.StatusOK, status, body)

	req, err := http.NewRequestWithContext(first.ctx(), http.MethodPost, first.URL()+"/chat/live",
		strings.NewReader(`{"chat_id":"c","protocol":1,"synced":true}`))
	require.NoError(t, err)
	resp, err := first.http.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	dec := consumer.NewDecoder(resp.Body)
	for range 2 { // the snapshot, and that nothing is missing
		_, err = dec.Next()
		require.NoError(t, err)
	}
	first.stop()
	_, err = dec.Next()
	require.ErrorIs(t, err, io.EOF)
	require.Positive(t, dec.Retry(), "it was told when to come back")
	require.NoError(t, first.wait())

	second := boot(t, app.Config{Store: store})
	status, body = second.ask(http.MethodPost, events, `{"type":"B"}`)
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"accepted":1,"last_seq":2}`, body)
}

// A run that goes on for ever does not keep the process, and has its end.
func TestTheDemoIsStoppedWithTheProcess(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	r := boot(t, app.Config{Store: store, Demo: true, DemoConfig: demo.Config{Rate: 100}})
	s := (&consumer.Client{BaseURL: r.URL()}).Watch(r.ctx(), consumer.Watch{ChatID: demo.DefaultChat, Wait: patience})
	_, err := s.Next(r.ctx())
	require.NoError(t, err)
	id, _ := s.Cursor()
	s.Close()
	r.stop()
	require.NoError(t, r.wait())

	r = boot(t, app.Config{Store: store})
	snap, err := (&consumer.Client{BaseURL: r.URL()}).Snapshot(r.ctx(), id, "")
	require.NoError(t, err)
	require.NotNil(t, snap.End)
	require.Equal(t, subjects.ReasonStopped, snap.End.Reason)
}

func TestHurryCutsStoppingShort(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{Grace: time.Hour}) // so long that only hurrying ends it
	id := r.start(`{"chat_id":"c"}`)
	rd, w := io.Pipe()
	defer w.Close()
	req, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, r.URL()+"/chat/live",
		strings.NewReader(`{"chat_id":"c","protocol":1}`))
	require.NoError(t, err)
	resp, err := r.http.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	go func() {
		_, _ = io.Copy(io.Discard, resp.Body)
		rd.Close()
	}()
	req, err = http.NewRequestWithContext(r.ctx(), http.MethodPost, r.URL()+"/runs/"+id+"/events", rd)
	require.NoError(t, err)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if resp, err := r.http.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	_, err = w.Write([]byte(`{"type":"A"}` + "\n"))
	require.NoError(t, err)
	r.stop()
	r.Hurry()
	require.NoError(t, r.wait())
	<-answered
}

func TestABusyAddressIsSaid(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	a, err := app.New(app.Config{Addr: ln.Addr().String()})
	require.NoError(t, err)
	err = a.Run(t.Context())
	require.ErrorIs(t, err, app.ErrAddrInUse)
	require.Contains(t, err.Error(), ln.Addr().String())
}

func TestAStoreHasOneProcess(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	r := boot(t, app.Config{Store: store})
	second, err := app.New(app.Config{Addr: "127.0.0.1:0", Store: store})
	require.NoError(t, err)
	err = second.Run(t.Context())
	require.ErrorIs(t, err, app.ErrStoreInUse)
	require.ErrorContains(t, err, store)
	r.stop()
	require.NoError(t, r.wait())
	boot(t, app.Config{Store: store})
}

// A broker that refuses the relay from now on ends it: going on without would only
// look like serving.
func TestAConnectionClosedForGoodEndsIt(t *testing.T) {
	t.Parallel()
	var password atomic.Value
	password.Store("one")
	broker, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0", Tune: func(o *server.Options) {
		o.Username, o.Password = "relay", password.Load().(string)
	}})
	require.NoError(t, err)
	defer broker.Shutdown()
	url := strings.Replace(broker.ClientURL(), "nats://", "nats://relay:one@", 1)
	r := boot(t, app.Config{NATS: url})
	password.Store("two")
	require.NoError(t, broker.Restart())
	err = r.wait()
	require.ErrorIs(t, err, app.ErrBrokerLost)
	require.ErrorContains(t, err, "Authorization")

	a, err := app.New(app.Config{Addr: "127.0.0.1:0", NATS: url, Connect: time.Hour})
	require.NoError(t, err)
	require.ErrorIs(t, a.Run(t.Context()), app.ErrBroker, "and a new one does not wait for it to change")
}

// The same for a worker alone.
func TestAWorkerWhoseConnectionIsClosedForGoodEnds(t *testing.T) {
	t.Parallel()
	var password atomic.Value
	password.Store("one")
	broker, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0", Tune: func(o *server.Options) {
		o.Username, o.Password = "worker", password.Load().(string)
	}})
	require.NoError(t, err)
	defer broker.Shutdown()
	working := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- app.RunWorker(t.Context(), app.Config{
			NATS:   strings.Replace(broker.ClientURL(), "nats://", "nats://worker:one@", 1),
			Logger: slog.New(&sees{Handler: slog.DiscardHandler, text: "taking turns", seen: working}),
			Worker: &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentDemo}}}, nil)
	}()
	<-working
	password.Store("two")
	require.NoError(t, broker.Restart())
	select {
	case err = <-done:
	case <-time.After(patience):
		t.Fatal("it goes on without a broker")
	}
	require.ErrorIs(t, err, app.ErrBrokerLost)
	require.ErrorContains(t, err, "Authorization")
}

// The same for a janitor, whose user is gone once the broker has read its configuration
// anew.
func TestAJanitorWhoseConnectionIsClosedForGoodEnds(t *testing.T) {
	t.Parallel()
	var user atomic.Value
	user.Store("janitor")
	broker, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0", Tune: func(o *server.Options) {
		o.Users = []*server.User{{Username: user.Load().(string), Password: "one"}}
	}})
	require.NoError(t, err)
	defer broker.Shutdown()
	sweeping := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- app.RunJanitor(t.Context(), app.Config{
			NATS:   strings.Replace(broker.ClientURL(), "nats://", "nats://janitor:one@", 1),
			Logger: slog.New(&sees{Handler: slog.DiscardHandler, text: "sweeping", seen: sweeping})})
	}()
	<-sweeping
	user.Store("nobody")
	require.NoError(t, broker.Restart())
	select {
	case err = <-done:
	case <-time.After(patience):
		t.Fatal("it goes on without a broker")
	}
	require.ErrorIs(t, err, app.ErrBrokerLost)
	require.ErrorContains(t, err, "Authorization")
}

// sees tells when a text is logged.
type sees struct {
	slog.Handler
	text string
	seen chan struct{}
	once sync.Once
}

func (s *sees) Enabled(context.Context, slog.Level) bool { return true }

func (s *sees) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s *sees) Handle(_ context.Context, r slog.Record) error {
	if r.Message == s.text {
		s.once.Do(func() { close(s.seen) })
	}
	return nil
}

func TestABrokerThatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	ln.Close()
	a, err := app.New(app.Config{Addr: "127.0.0.1:0", NATS: "nats://user:hunter2@" + addr, Connect: time.Millisecond})
	require.NoError(t, err)
	err = a.Run(t.Context())
	require.ErrorIs(t, err, app.ErrBroker)
	require.Contains(t, err.Error(), addr)
	require.NotContains(t, err.Error(), "hunter2")
	require.ErrorIs(t, app.RunJanitor(t.Context(), app.Config{NATS: "nats://" + addr, Connect: time.Millisecond}), app.ErrBroker)
}

// A relay may be started before its broker.
func TestABrokerMayComeLater(t *testing.T) {
	t.Parallel()
	broker, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer broker.Shutdown()
	broker.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	a, err := app.New(app.Config{Addr: "127.0.0.1:0", NATS: broker.ClientURL(), Connect: patience})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	require.NoError(t, broker.Restart())
	select {
	case <-a.Ready():
	case err := <-done:
		t.Fatalf("gave up: %v", err)
	case <-time.After(patience):
		t.Fatal("not ready")
	}
	cancel()
	require.NoError(t, <-done)
}

func TestBeingStoppedWhileWaitingForABrokerIsNoError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, err := app.New(app.Config{Addr: "127.0.0.1:0", NATS: "nats://127.0.0.1:1", Connect: time.Hour})
	require.NoError(t, err)
	err = a.Run(ctx)
	if err != nil { // the address may already have been refused for the same reason
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestMissingStreamsAreSaidWhereTheyMayNotBeMade(t *testing.T) {
	t.Parallel()
	broker, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer broker.Shutdown()
	a, err := app.New(app.Config{Addr: "127.0.0.1:0", NATS: broker.ClientURL(), NoProvision: true, Connect: time.Hour})
	require.NoError(t, err)
	require.ErrorIs(t, a.Run(t.Context()), runs.ErrNotProvisioned)
}

func TestTwoRelaysShareABroker(t *testing.T) {
	t.Parallel()
	one := boot(t, app.Config{NATSAddr: "127.0.0.1:0", Partitions: 2})
	two := boot(t, app.Config{NATS: one.Broker().ClientURL()})
	require.Nil(t, two.Broker())
	id := one.start(`{"chat_id":"c"}`)
	for i, r := range []*running{one, two, one} { // the run moves with its producer
		status, body := r.ask(http.MethodPost, "/runs/"+id+"/events", `{"type":"A"}`)
		require.Equal(t, http.StatusOK, status, body)
		require.JSONEq(t, fmt.Sprintf(`{"accepted":1,"last_seq":%d}`, i+1), body)
	}
	status, body := two.ask(http.MethodPost, "/runs/"+id+"/end", `{"persisted":true}`)
	require.Equal(t, http.StatusOK, status, body)
}

func TestPartitionsThatAreKeptAreSaid(t *testing.T) {
	t.Parallel()
	one := boot(t, app.Config{NATSAddr: "127.0.0.1:0", Partitions: 3})
	for asked, want := range map[int]string{0: "", 2: "asked=2 kept=3", 3: ""} {
		var b strings.Builder
		log, err := app.NewLogger(&b, "warn", "text")
		require.NoError(t, err)
		two := boot(t, app.Config{NATS: one.Broker().ClientURL(), Partitions: asked, Logger: log})
		two.stop()
		require.NoError(t, two.wait())
		require.Contains(t, b.String(), want)
		require.Equal(t, want != "", strings.Contains(b.String(), "partitions"), b.String())
	}
}

// A janitor alone ends what a dead producer left: here a producer whose process lost
// its lease, since its broker keeps leases in memory and the process is stopped.
func TestAJanitorAlone(t *testing.T) {
	t.Parallel()
	broker, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer broker.Shutdown()
	r := boot(t, app.Config{NATS: broker.ClientURL(), Lease: time.Hour})
	id := r.start(`{"chat_id":"c"}`)
	r.http.CloseIdleConnections()
	r.stop()
	require.NoError(t, r.wait()) // it handed the run over, and nobody takes it

	nc, err := broker.Connect()
	require.NoError(t, err)
	defer nc.Close()
	store, err := runs.Open(t.Context(), nc, runs.Config{})
	require.NoError(t, err)
	defer store.Close()
	hub := consumer.NewHub(consumer.HubConfig{Store: store})
	defer hub.Close()
	e, err := store.Entry(t.Context(), subjects.RunID(id))
	require.NoError(t, err)
	require.Nil(t, e.End)
	reader, err := hub.Open(t.Context(), e, consumer.ReadOptions{})
	require.NoError(t, err)
	defer reader.Close()

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- app.RunJanitor(ctx, app.Config{NATS: broker.ClientURL(), Lease: time.Second}) }()
	reading, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var f consumer.Frame
	for f.Type != consumer.End {
		f, err = reader.Next(reading)
		require.NoError(t, err)
	}
	require.Equal(t, subjects.ReasonAbandoned, f.End.Reason)
	cancel()
	require.NoError(t, <-done)
}

func TestWhatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  app.Config
		says string
	}{
		{app.Config{NATS: "nats://h", Store: "d"}, "exclude each other"},
		{app.Config{NATS: "nats://h", NATSAddr: ":1"}, "exclude each other"},
		{app.Config{Conn: app.ConnConfig{Creds: "f"}}, "Conn"},
		{app.Config{Lease: time.Millisecond}, "allowed are 1s"},
		{app.Config{GapThreshold: subjects.GapThreshold + 1}, "allowed are 1 to 4096"},
		{app.Config{Partitions: -1}, "negative"},
		{app.Config{Grace: -1}, "negative"},
	} {
		_, err := app.New(c.cfg)
		require.ErrorIs(t, err, app.ErrConfig)
		require.ErrorContains(t, err, c.says)
	}
	a, err := app.New(app.Config{Addr: "999.1.1.1:0", Auth: app.AuthConfig{Insecure: true}})
	require.NoError(t, err)
	require.ErrorIs(t, a.Run(t.Context()), app.ErrConfig)
	_, err = app.NewLogger(io.Discard, "loud", "text")
	require.ErrorContains(t, err, "debug, info, warn, error")
	_, err = app.NewLogger(io.Discard, "info", "xml")
	require.ErrorContains(t, err, "text, json")
}

func TestAProgramThatIsNotThereIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"no-such-program-anywhere", "/no/such/program"} {
		a, err := app.New(app.Config{Addr: "127.0.0.1:0", Worker: &app.WorkerConfig{Agent: app.AgentConfig{
			Kind: app.AgentACP, Command: []string{command}}}})
		require.NoError(t, err)
		err = a.Run(t.Context())
		require.ErrorIs(t, err, app.ErrConfig)
		require.ErrorContains(t, err, command)
	}
}
