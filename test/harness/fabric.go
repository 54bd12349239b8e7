package harness

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/proxy"
)

// Patience bounds every wait; nothing is expected to need it.
const Patience = 2 * time.Minute

// Fabric is one test's broker and what is connected to it.
type Fabric struct {
	testing.TB
	Broker *natsd.Server // nil where it is a process of its own
	url    string
	cfg    Config
}

// Config of a fabric; the zero value suits most tests.
type Config struct {
	Broker     natsd.Config  // without a listener unless set
	URL        string        // of a broker in a process of its own instead
	Partitions int           // 0 means 2
	Lease      time.Duration // 0 means 15 s
	Log        bool          // show the parts' logs
	LogTo      slog.Handler  // takes them instead; nil means nothing does
}

// New boots a broker. It listens on the loopback interface when cfg says so, which
// a test that cuts connections or restarts the broker needs.
func New(t testing.TB, cfg Config) *Fabric {
	t.Helper()
	if cfg.Partitions == 0 {
		cfg.Partitions = 2
	}
	if cfg.URL != "" {
		return &Fabric{TB: t, url: cfg.URL, cfg: cfg}
	}
	broker, err := natsd.Start(cfg.Broker)
	require.NoError(t, err)
	t.Cleanup(broker.Shutdown)
	return &Fabric{TB: t, Broker: broker, url: broker.ClientURL(), cfg: cfg}
}

// Networked is the broker configuration for tests that cut or restart.
func Networked(t testing.TB) natsd.Config {
	return natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()}
}

func (f *Fabric) logger(who string) *slog.Logger {
	if f.cfg.LogTo != nil {
		return slog.New(f.cfg.LogTo).With("who", who)
	}
	if !f.cfg.Log {
		return nil
	}
	return slog.New(slog.NewTextHandler(f.Output(), nil)).With("who", who)
}

// Link is one connection to the broker. Proxy is nil where the broker has no listener.
type Link struct {
	NC    *nats.Conn
	Store *runs.Store
	Proxy *proxy.Proxy
}

// Connect opens a connection as a relay or a producer does: it never gives up, and
// what is published while it is down fails at once.
func (f *Fabric) Connect() *Link {
	f.Helper()
	opts := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(10*time.Millisecond, 10*time.Millisecond),
	}
	l := &Link{}
	var err error
	if f.url != "" {
		l.Proxy, err = proxy.Start(strings.TrimPrefix(f.url, "nats://"))
		require.NoError(f, err)
		f.Cleanup(l.Proxy.Close)
		l.NC, err = nats.Connect("nats://"+l.Proxy.Addr(), append(opts, nats.IgnoreDiscoveredServers())...)
	} else {
		l.NC, err = f.Broker.Connect(opts...)
	}
	require.NoError(f, err)
	f.Cleanup(l.NC.Close)
	l.Store, err = runs.Open(context.Background(), l.NC, runs.Config{Partitions: f.cfg.Partitions, Provision: true})
	require.NoError(f, err)
	f.Cleanup(l.Store.Close)
	return l
}

// Producer opens a producer on a link. It is closed with the test.
func (f *Fabric) Producer(l *Link) *producer.Producer {
	f.Helper()
	p, err := producer.Open(context.Background(), l.Store, producer.Config{Lease: f.cfg.Lease, Logger: f.logger("producer")})
	require.NoError(f, err)
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		_ = p.Close(ctx)
	})
	return p
}

// Start starts a run in a chat.
func (f *Fabric) Start(p *producer.Producer, chat string) *producer.Run {
	f.Helper()
	r, err := p.Start(f.ctx(), producer.StartOptions{ChatID: chat})
	require.NoError(f, err)
	return r
}

func (f *Fabric) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	f.Cleanup(cancel)
	return ctx
}

// Delta is the ith event of a run of numbered text, from 1: what it says is "i ".
func Delta(i uint64) []byte {
	return fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d "}`, i)
}

// Text is what the first n events of such a run say, for n up to 200,000.
func Text(n uint64) string {
	said := numbered()
	return said.text[:said.ends[n]]
}

// numbered is said once for all tests: some of them ask for it thousands of times.
var numbered = sync.OnceValue(func() (said struct {
	text string
	ends []int
}) {
	var b []byte
	said.ends = append(said.ends, 0)
	for i := range uint64(200_000) {
		b = append(strconv.AppendUint(b, i+1, 10), ' ')
		said.ends = append(said.ends, len(b))
	}
	said.text = string(b)
	return said
})

// Publish publishes the events from..to of a run of numbered text and waits until
// they are stored.
func (f *Fabric) Publish(r *producer.Run, from, to uint64) {
	f.Helper()
	ctx := f.ctx()
	for i := from; i <= to; i++ {
		seq, err := r.Publish(ctx, Delta(i))
		require.NoError(f, err)
		require.Equal(f, i, seq)
	}
	stored, err := r.Flush(ctx)
	require.NoError(f, err)
	require.Equal(f, to, stored)
}
