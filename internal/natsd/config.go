package natsd

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Limits of a server whose store is temporary. They are stated instead of
// left to the server, which would otherwise derive the store limit from the
// free disk space and so let a test pass or fail by what else fills the disk.
const (
	tempMaxMemory = 1 << 30
	tempMaxStore  = 16 << 30
)

// defaultStartTimeout is generous: a store of some GiB is read back at start.
const defaultStartTimeout = 30 * time.Second

// maxPayloadLimit is the most the server supports for one message.
const maxPayloadLimit = 64 << 20

// Config says which server Start starts. The zero value is a server without
// a network listener on a temporary store.
type Config struct {
	// Listen is the host:port to accept clients on; port 0 takes a free one.
	// "" means in-process connections only.
	Listen string

	// StoreDir holds JetStream's files and is kept at Shutdown. "" means a
	// temporary directory, removed at Shutdown.
	StoreDir string

	// Name is the server's name. "" means a random one.
	Name string

	// SyncInterval is how often files are synced to disk. 0 means the
	// server's default, two minutes.
	SyncInterval time.Duration

	// SyncAlways syncs after every write; SyncInterval then does not matter.
	SyncAlways bool

	// MaxPayload is the largest message in bytes. 0 means 1 MiB.
	MaxPayload int32

	// MaxMemory and MaxStore bound what memory and file streams may hold
	// together, in bytes. 0 means 1 GiB and 16 GiB on a temporary store, else
	// what the server derives from the machine.
	MaxMemory, MaxStore int64

	// StartTimeout bounds the wait for the server to be ready. 0 means 30 s.
	StartTimeout time.Duration

	// Logger receives the server's log lines. nil means none are kept.
	Logger *slog.Logger

	// Tune has the last word on the server's options (accounts, permissions,
	// a cluster). It is called at every start, with fresh options. nil means
	// nothing is changed.
	Tune func(*server.Options)
}

// withDefaults returns c with its zero values replaced, or an error that
// wraps ErrConfig.
func (c Config) withDefaults() (Config, error) {
	if c.Listen != "" {
		if _, _, err := splitListen(c.Listen); err != nil {
			return c, err
		}
	}
	if c.MaxPayload < 0 || c.MaxPayload > maxPayloadLimit {
		return c, fmt.Errorf("%w: MaxPayload is %d, allowed are 0 to %d bytes", ErrConfig, c.MaxPayload, maxPayloadLimit)
	}
	if c.MaxMemory < 0 || c.MaxStore < 0 {
		return c, fmt.Errorf("%w: MaxMemory is %d and MaxStore %d, neither may be negative", ErrConfig, c.MaxMemory, c.MaxStore)
	}
	if c.SyncInterval < 0 || c.StartTimeout < 0 {
		return c, fmt.Errorf("%w: SyncInterval is %v and StartTimeout %v, neither may be negative", ErrConfig, c.SyncInterval, c.StartTimeout)
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	if c.StoreDir == "" {
		if c.MaxMemory == 0 {
			c.MaxMemory = tempMaxMemory
		}
		if c.MaxStore == 0 {
			c.MaxStore = tempMaxStore
		}
	}
	return c, nil
}

// options are the server options for c, listening on listen and storing in dir.
func (c Config) options(listen, dir string) (*server.Options, error) {
	o := &server.Options{
		ServerName:             c.Name,
		JetStream:              true,
		StoreDir:               dir,
		SyncInterval:           c.SyncInterval,
		SyncAlways:             c.SyncAlways,
		MaxPayload:             c.MaxPayload,
		JetStreamMaxMemory:     c.MaxMemory,
		JetStreamMaxStore:      c.MaxStore,
		DisableJetStreamBanner: true,
		NoSigs:                 true,
	}
	if listen == "" {
		o.DontListen = true
	} else {
		host, port, err := splitListen(listen)
		if err != nil {
			return nil, err
		}
		o.Host, o.Port = host, port
		if port == 0 {
			o.Port = server.RANDOM_PORT
		}
	}
	if c.Tune != nil {
		c.Tune(o)
	}
	return o, nil
}

func splitListen(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("%w: Listen is %q, allowed is host:port: %w", ErrConfig, addr, err)
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%w: Listen is %q, allowed are ports 0 to 65535", ErrConfig, addr)
	}
	return host, int(n), nil
}
