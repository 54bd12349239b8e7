package natsd

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is one embedded NATS server. Its methods may be called from any
// goroutine.
type Server struct {
	cfg Config

	// running is the live server, nil while stopped. It is read without life,
	// so that Connect never waits for a start or a stop.
	running atomic.Pointer[server.Server]

	// listen is the address in use, with the port that was found free, so that
	// Restart is on the same one. "" without a listener.
	listen atomic.Value

	life sync.Mutex // one start or stop at a time; guards what follows
	dir  string
	temp bool // dir is ours to remove
	done bool // Shutdown was called
}

// Start starts a server and returns when it accepts connections. Errors wrap
// ErrConfig or ErrStart. The caller must call Shutdown.
func Start(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, dir: cfg.StoreDir}
	s.listen.Store(cfg.Listen)
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "rejoin-nats-"); err != nil {
			return nil, fmt.Errorf("%w: temporary store: %w", ErrStart, err)
		}
		s.temp = true
	}
	if err := s.start(); err != nil {
		s.Shutdown()
		return nil, err
	}
	return s, nil
}

// start brings the server up on s.listen and s.dir. The caller holds s.life
// or is the only one who knows s.
func (s *Server) start() error {
	opts, err := s.cfg.options(s.listen.Load().(string), s.dir)
	if err != nil {
		return err
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	log := &logAdapter{log: s.cfg.Logger}
	ns.SetLoggerV2(log, log.enabled(slog.LevelDebug), log.enabled(levelTrace), false)
	ns.Start()

	// A start that failed has said so by now; waiting for it to be ready as
	// well would only take the whole timeout to learn less.
	if reason := log.lastFatal(); reason != "" {
		down(ns)
		return fmt.Errorf("%w: %s", ErrStart, reason)
	}
	if !ns.ReadyForConnections(s.cfg.StartTimeout) {
		down(ns)
		return fmt.Errorf("%w: not ready within %v", ErrStart, s.cfg.StartTimeout)
	}
	if addr := ns.Addr(); addr != nil {
		s.listen.Store(addr.String())
	}
	s.running.Store(ns)
	return nil
}

func down(ns *server.Server) {
	ns.Shutdown()
	ns.WaitForShutdown()
}

// Connect opens a connection to the server: over its listener if it has one,
// else in process. Either kind finds the server again after Restart. The
// error is ErrStopped while the server is stopped.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	if s.running.Load() == nil {
		return nil, ErrStopped
	}
	url := s.ClientURL()
	if url == "" {
		opts = append([]nats.Option{nats.InProcessServer(s)}, opts...)
	}
	return nats.Connect(url, opts...)
}

// InProcessConn opens a raw connection to whichever server runs now. It makes
// Server a nats.InProcessConnProvider; Connect is what most callers want.
func (s *Server) InProcessConn() (net.Conn, error) {
	ns := s.running.Load()
	if ns == nil {
		return nil, ErrStopped
	}
	return ns.InProcessConn()
}

// ClientURL is the address for clients, "" if there is no listener. It stays
// the same while the server is stopped and after Restart.
func (s *Server) ClientURL() string {
	listen := s.listen.Load().(string)
	if listen == "" {
		return ""
	}
	return "nats://" + dialable(listen)
}

// dialable turns a listener on every interface into an address of this host.
func dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

// StoreDir is the directory that holds JetStream's files.
func (s *Server) StoreDir() string { return s.dir }

// Stop takes the server down and keeps its address and store for Restart.
// Connections break. Stopping a stopped server does nothing.
func (s *Server) Stop() {
	s.life.Lock()
	defer s.life.Unlock()
	s.stop()
}

func (s *Server) stop() {
	if ns := s.running.Swap(nil); ns != nil {
		down(ns)
	}
}

// Restart stops the server if it runs and starts it again on the same address
// and the same store, as a broker does after a crash or an upgrade. The error
// wraps ErrStart, or is ErrStopped after Shutdown.
func (s *Server) Restart() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.done {
		return ErrStopped
	}
	s.stop()
	return s.start()
}

// Shutdown stops the server for good and removes its store if that is
// temporary. A second call waits for the first and then does nothing.
func (s *Server) Shutdown() {
	s.life.Lock()
	defer s.life.Unlock()
	s.stop()
	if s.done {
		return
	}
	s.done = true
	if !s.temp {
		return
	}
	if err := os.RemoveAll(s.dir); err != nil && s.cfg.Logger != nil {
		s.cfg.Logger.Warn("temporary store not removed", "dir", s.dir, "err", err)
	}
}
