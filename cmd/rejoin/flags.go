package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// day bounds times that nobody means to be longer.
const day = 24 * time.Hour

func hostPort(p *string) config.Value {
	return config.Text(p, "HOST:PORT", "HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080 or :8080; port 0 takes a free one", isHostPort)
}

func isHostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// runFlags say how long runs live.
func runFlags(s *config.Set, c *app.Config) {
	c.Lease, c.Retain = subjects.Lease, subjects.Retention
	s.Add(config.Seconds(&c.Lease, runs.MinLease, day), "lease",
		"How long a producer may be silent before its runs end as abandoned. From its last sign of life until they\nhave ended it takes up to about twice the lease of the process that produces.")
	s.Add(config.Duration(&c.Retain, time.Second, subjects.LogMaxAge), "retain", "How long an ended run can still be replayed.")
	c.TurnTTL = subjects.TurnTTL
	s.Add(config.Duration(&c.TurnTTL, time.Second, subjects.LogMaxAge), "turn-ttl",
		"How long a turn whose time has come may wait for a worker before it ends as an error.")
	s.Add(config.Number(&c.MaxEnded, 0, 1_000_000), "max-ended",
		"How many ended runs one owner may keep within that time. 0 means 64 for each owner.\nAny other number also bounds those that name no owner, all together.")
}

// serveFlags say what a relay serves.
func serveFlags(s *config.Set, c *app.Config) {
	c.Addr, c.Grace = app.DefaultAddr, app.DefaultGrace
	c.GapThreshold, c.MaxEvent = subjects.GapThreshold, subjects.MaxEventBytes
	s.Add(hostPort(&c.Addr), "addr", "Where to serve HTTP. Beyond the loopback interface it takes --auth jwt, or a gateway before it and --insecure.")
	s.Add(config.Number(&c.GapThreshold, 1, subjects.GapThreshold), "gap-threshold",
		"Events that an observer may be behind and still get them one by one; past it, it gets a snapshot.")
	s.Add(config.Size(&c.MaxEvent, 1<<10, 64<<20), "max-event", "The largest event.")
	limitFlags(s, c)
	s.Add(config.Duration(&c.Grace, 500*time.Millisecond, time.Hour), "grace",
		"How long stopping may take after the first SIGTERM or SIGINT; a second one hurries.")
	browserFlags(s, c)
	authFlags(s, c)
}

// flagOf names the flag behind an error of an App. The first that fits counts.
var flagOf = []struct {
	err  error
	flag string
}{
	{app.ErrBrokerAddr, "nats-addr"},
	{app.ErrOpsAddr, "ops-addr"},
	{app.ErrAddrInUse, "addr"},
	{app.ErrStore, "store"},
	{app.ErrStoreInUse, "store"},
	{app.ErrContext, "nats-context"},
	{app.ErrCreds, "nats-creds"},
	{app.ErrNKey, "nats-nkey"},
	{app.ErrCA, "nats-ca"},
	{app.ErrCert, "nats-cert"},
	{app.ErrReplicas, "replicas"},
	{app.ErrResume, "resume-keys"},
	{relay.ErrOrigins, "cors-origin"},
}

// withFlag adds to the error of an App which flag is at fault.
func withFlag(err error) error {
	for _, f := range flagOf {
		if errors.Is(err, f.err) {
			return fmt.Errorf("%w (--%s, %s)", err, f.flag, config.Env(f.flag))
		}
	}
	return err
}

// logFlags say what is logged.
type logFlags struct{ level, format string }

func (l *logFlags) add(s *config.Set) {
	l.level, l.format = "info", "text"
	s.Add(config.OneOf(&l.level, "debug", "info", "warn", "error"), "log-level", "What is logged, to standard error.")
	s.Add(config.OneOf(&l.format, "text", "json"), "log-format", "What log lines look like.")
}

func (l logFlags) logger(w io.Writer) (*slog.Logger, error) {
	return app.NewLogger(w, l.level, l.format)
}
