package app_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
)

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

// A NATS server that was started without -js answers no question about streams.
func TestABrokerWithoutJetStreamIsSaid(t *testing.T) {
	t.Parallel()
	url := broker(t, func(o *server.Options) { o.JetStream = false })
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	defer nc.Close()
	_, err = runs.Open(t.Context(), nc, runs.Config{Provision: true})
	require.ErrorIs(t, err, nats.ErrNoResponders)
	require.ErrorContains(t, err, "JetStream (-js)")
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
