package natsd_test

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
)

// patience bounds waits that end at a signal; it is never the thing measured.
const patience = 30 * time.Second

func start(t *testing.T, cfg natsd.Config) *natsd.Server {
	t.Helper()
	s, err := natsd.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t *testing.T, s *natsd.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := s.Connect(opts...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func stream(t *testing.T, nc *nats.Conn, storage jetstream.StorageType) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	st, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{
		Name: "S", Subjects: []string{"s.>"}, Storage: storage,
	})
	require.NoError(t, err)
	return js, st
}

func TestInProcessOnlyHasNoListener(t *testing.T) {
	t.Parallel()
	s := start(t, natsd.Config{})
	require.Empty(t, s.ClientURL())

	js, _ := stream(t, connect(t, s), jetstream.FileStorage)
	ack, err := js.Publish(t.Context(), "s.a", []byte("x"))
	require.NoError(t, err)
	require.EqualValues(t, 1, ack.Sequence)
}

func TestListenerTakesAFreePortAndReportsIt(t *testing.T) {
	t.Parallel()
	s := start(t, natsd.Config{Listen: "127.0.0.1:0", Name: "here"})
	require.NotContains(t, s.ClientURL(), ":0")

	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer nc.Close()
	require.Equal(t, "here", nc.ConnectedServerName())
}

func TestListenOnEveryInterfaceStillYieldsAnAddressToDial(t *testing.T) {
	t.Parallel()
	s := start(t, natsd.Config{Listen: ":0"})
	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	nc.Close()
}

func TestMaxPayloadReachesClients(t *testing.T) {
	t.Parallel()
	s := start(t, natsd.Config{MaxPayload: 4096})
	require.EqualValues(t, 4096, connect(t, s).MaxPayload())
}

func TestTuneHasTheLastWord(t *testing.T) {
	t.Parallel()
	s := start(t, natsd.Config{Listen: "127.0.0.1:0", Tune: func(o *server.Options) {
		o.Users = []*server.User{{Username: "u", Password: "p"}}
	}})
	_, err := s.Connect()
	require.ErrorIs(t, err, nats.ErrAuthorization)
	connect(t, s, nats.UserInfo("u", "p"))
}

// A broker that comes back is on the same address with the same data, and
// clients find it on their own. Fault tests of the whole product rest on it.
func TestRestartKeepsAddressAndData(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]string{"tcp": "127.0.0.1:0", "in process": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, natsd.Config{Listen: listen})
			back := make(chan struct{}, 1)
			nc := connect(t, s, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
				nats.ReconnectHandler(func(*nats.Conn) { back <- struct{}{} }))
			js, _ := stream(t, nc, jetstream.FileStorage)
			_, err := js.Publish(t.Context(), "s.a", []byte("kept"))
			require.NoError(t, err)
			url, dir := s.ClientURL(), s.StoreDir()

			require.NoError(t, s.Restart())
			require.Equal(t, url, s.ClientURL())
			require.Equal(t, dir, s.StoreDir())
			wait(t, back, "the client to reconnect")

			st, err := js.Stream(t.Context(), "S")
			require.NoError(t, err)
			msg, err := st.GetLastMsgForSubject(t.Context(), "s.a")
			require.NoError(t, err)
			require.Equal(t, "kept", string(msg.Data))
		})
	}
}

func TestStopBreaksConnectionsUntilRestart(t *testing.T) {
	t.Parallel()
	s := start(t, natsd.Config{Listen: "127.0.0.1:0"})
	gone := make(chan struct{}, 1)
	connect(t, s, nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { gone <- struct{}{} }))

	s.Stop()
	s.Stop()
	wait(t, gone, "the connection to break")
	_, err := s.Connect()
	require.ErrorIs(t, err, natsd.ErrStopped)

	require.NoError(t, s.Restart())
	connect(t, s)
}

// A second server on a kept store directory finds what the first one left.
func TestStoreDirSurvivesShutdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, natsd.Config{StoreDir: dir})
	js, _ := stream(t, connect(t, first), jetstream.FileStorage)
	_, err := js.Publish(t.Context(), "s.a", nil)
	require.NoError(t, err)
	first.Shutdown()

	second := start(t, natsd.Config{StoreDir: dir})
	js, err = jetstream.New(connect(t, second))
	require.NoError(t, err)
	st, err := js.Stream(t.Context(), "S")
	require.NoError(t, err)
	info, err := st.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, info.State.Msgs)
}

func TestShutdownIsFinalIdempotentAndRemovesATemporaryStore(t *testing.T) {
	t.Parallel()
	s := start(t, natsd.Config{Listen: "127.0.0.1:0"})
	require.DirExists(t, s.StoreDir())
	addr := s.ClientURL()[len("nats://"):]

	s.Shutdown()
	s.Shutdown()
	require.NoDirExists(t, s.StoreDir())
	require.ErrorIs(t, s.Restart(), natsd.ErrStopped)
	_, err := s.Connect()
	require.ErrorIs(t, err, natsd.ErrStopped)

	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	require.NoError(t, err, "the address must be free again")
	require.NoError(t, l.Close())
}

func TestStartSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	taken := start(t, natsd.Config{Listen: "127.0.0.1:0"}).ClientURL()[len("nats://"):]
	file := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	for _, c := range []struct {
		name string
		cfg  natsd.Config
		is   error
		says string
	}{
		{"address in use", natsd.Config{Listen: taken}, natsd.ErrStart, "in use"},
		{"store is a file", natsd.Config{StoreDir: file}, natsd.ErrStart, "JetStream"},
		{"no port", natsd.Config{Listen: "localhost"}, natsd.ErrConfig, "host:port"},
		{"port too high", natsd.Config{Listen: "localhost:70000"}, natsd.ErrConfig, "65535"},
		{"payload too large", natsd.Config{MaxPayload: 1 << 30}, natsd.ErrConfig, "MaxPayload"},
		{"negative limit", natsd.Config{MaxStore: -1}, natsd.ErrConfig, "MaxStore"},
		{"negative time", natsd.Config{SyncInterval: -1}, natsd.ErrConfig, "SyncInterval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := natsd.Start(c.cfg)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func wait(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
	}
}
