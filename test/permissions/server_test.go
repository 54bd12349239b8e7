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
	log    refusals
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
	b.server.SetLoggerV2(&b.log, false, false, false)
	b.server.Start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("refused: ", b.log.all())
		}
		b.server.Shutdown()
		b.server.WaitForShutdown()
	})
	require.True(t, b.server.ReadyForConnections(patience))
	return b
}

// refusals are what the server says in its log of what it has refused to anybody.
type refusals struct {
	mu   sync.Mutex
	said []string
}

func (r *refusals) line(format string, v []any) {
	if text := fmt.Sprintf(format, v...); strings.Contains(text, "iolation") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, text)
	}
}

func (r *refusals) Noticef(format string, v ...any) { r.line(format, v) }
func (r *refusals) Warnf(format string, v ...any)   { r.line(format, v) }
func (r *refusals) Errorf(format string, v ...any)  { r.line(format, v) }
func (r *refusals) Fatalf(format string, v ...any)  { r.line(format, v) }
func (r *refusals) Debugf(string, ...any)           {}
func (r *refusals) Tracef(string, ...any)           {}

func (r *refusals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said)
}

// as is how the product connects as a role.
func (b *broker) as(role string) app.Config {
	return app.Config{
		NATS: strings.Replace(b.server.ClientURL(), "nats://", "nats://"+role+":"+password(role)+"@", 1),
		Conn: app.ConnConfig{InboxPrefix: inbox(role)}, Addr: "127.0.0.1:0",
		NoJanitor: true, Lease: 4 * time.Second, Grace: 10 * time.Second,
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
