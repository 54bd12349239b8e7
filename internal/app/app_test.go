package app_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

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
