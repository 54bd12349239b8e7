package permissions_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/app"
)

const (
	configFile = "../../deploy/nats/nats-server.conf"

	// patience bounds waits that are expected to be short.
	patience = 2 * time.Minute
)

var roles = []string{"relay", "worker", "producer", "janitor", "provisioner"}

func TestMain(m *testing.M) {
	for _, role := range roles {
		if err := os.Setenv("REJOIN_"+strings.ToUpper(role)+"_PASSWORD", password(role)); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func password(role string) string { return "pw-of-" + role }

// broker is a server with the file's configuration.
type broker struct {
	*testing.T
	server *server.Server

	mu   sync.Mutex
	said []string // what it has refused, in its own words
}

func boot(t *testing.T) *broker {
	t.Helper()
	opts, err := server.ProcessConfigFile(configFile)
	require.NoError(t, err)
	opts.Host, opts.Port = "127.0.0.1", server.RANDOM_PORT
	opts.StoreDir = t.TempDir()
	opts.NoSigs = true
	b := &broker{T: t}
	b.server, err = server.NewServer(opts)
	require.NoError(t, err)
	b.server.SetLoggerV2(b, false, false, false)
	b.server.Start()
	t.Cleanup(func() {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	})
	require.True(t, b.server.ReadyForConnections(patience))
	return b
}

// The server's log. What it refuses is an error, or a warning, that says so.

func (b *broker) line(format string, v []any) {
	if text := fmt.Sprintf(format, v...); strings.Contains(text, "iolation") {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.said = append(b.said, text)
	}
}

func (b *broker) Noticef(format string, v ...any) { b.line(format, v) }
func (b *broker) Warnf(format string, v ...any)   { b.line(format, v) }
func (b *broker) Errorf(format string, v ...any)  { b.line(format, v) }
func (b *broker) Fatalf(format string, v ...any)  { b.line(format, v) }
func (b *broker) Debugf(string, ...any)           {}
func (b *broker) Tracef(string, ...any)           {}

func (b *broker) refused() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.said)
}

// as is how the product connects as a role.
func (b *broker) as(role string) app.Config {
	return app.Config{
		NATS: strings.Replace(b.server.ClientURL(), "nats://", "nats://"+role+":"+password(role)+"@", 1),
		Conn: app.ConnConfig{InboxPrefix: inbox(role)}, Addr: "127.0.0.1:0",
		NoJanitor: true, Lease: 2 * time.Second, Grace: 10 * time.Second,
	}
}

// inbox is the prefix that the file gives to a role.
func inbox(role string) string { return "_INBOX_" + role }

// connect connects as a role, as a program of its own would.
func (b *broker) connect(role string, opts ...nats.Option) *nats.Conn {
	b.Helper()
	nc, err := nats.Connect(b.server.ClientURL(), append([]nats.Option{nats.UserInfo(role, password(role)),
		nats.CustomInboxPrefix(inbox(role)), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1)}, opts...)...)
	require.NoError(b, err)
	b.Cleanup(nc.Close)
	return nc
}
