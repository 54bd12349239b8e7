package app_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/natsd"
)

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
