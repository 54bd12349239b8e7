package relay

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rejoin/rejoin/internal/tracing"
)

// Server is one relay. It holds nothing that its death could lose.
type Server struct {
	cfg         Config
	log         *slog.Logger
	metrics     *Metrics
	observers   *observers
	switches    *switchboard
	tracer      *tracing.Tracer
	credentials *refusedCredentials
	room        *semaphore.Weighted // bytes that messages may take at once
	aside       *semaphore.Weighted // the same for answers
	histories   *seats              // answers with saved turns at once
	paces       *paces
	conns       *connections
	audiences   *audiences
	unready     atomic.Bool
	handler     http.Handler
	base        context.Context
	breakOff    context.CancelCauseFunc // ends every request
}

// New makes a relay that serves once Serve is called, or through Handler. The error
// wraps ErrConfig. The hub and the store stay the caller's, who closes them after
// Serve has returned.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, metrics: cfg.Metrics,
		observers: newObservers(cfg.MaxObservers, cfg.MaxStreamAge, cfg.DrainWindow),
		room:      semaphore.NewWeighted(roomBytes), aside: semaphore.NewWeighted(asideBytes), histories: newSeats(maxHistories),
	}
	if cfg.Auth != nil {
		s.observers.guard = newCredentials(s.stillValid)
	}
	s.credentials = &refusedCredentials{log: s.log, metrics: s.metrics}
	s.tracer = tracing.New(cfg.Tracing)
	s.switches = newSwitchboard(cfg.Switch, s.metrics)
	s.observers.owners.limit, s.observers.runs.limit = cfg.Limits.OwnerObservers, cfg.Limits.RunObservers
	s.paces = newPaces(cfg.Limits)
	s.conns = newConnections(cfg.Limits.Connections, func(n int) { s.metrics.connections.Set(float64(n)) })
	s.base, s.breakOff = context.WithCancelCause(context.Background())
	s.audiences = newAudiences(s.base, cfg.Hub, cfg.KeepAlive, s.observers.spread, s.metrics.frames)
	s.handler = cfg.cross(boundBody(s.routes()))
	return s, nil
}

// Handler serves all routes. Whoever uses it without Serve calls Drain.
func (s *Server) Handler() http.Handler { return s.handler }

// Limits of the HTTP server. There is no write timeout, since streams stay open;
// every write has its own. There is no read timeout either, since a producer's
// request for events may stay open; a body that is read whole has its own.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
)

func (s *Server) server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           s.handler,
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    s.cfg.Limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return s.base },
		ConnContext:       s.connected,
		ConnState:         s.conns.changed,
	}
}

func (s *Server) connected(ctx context.Context, conn net.Conn) context.Context {
	if err := limitSilence(conn, s.cfg.KeepAlive+s.cfg.WriteTimeout); err != nil {
		s.log.Debug("a connection's time for silence cannot be limited", "error", err)
	}
	return context.WithValue(ctx, peerKey{}, &peer{conn: conn, scarce: s.conns.isScarce(conn)})
}

// Serve serves on the listener until ctx is done, then drains and returns nil. It
// is called once. The error, otherwise, is the listener's.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := s.server()
	s.log.Info("limits", "observers", s.cfg.MaxObservers, "connections", s.cfg.Limits.Connections, "files", openFiles())
	g := newGate(ln, s.conns, s.metrics.turnedAway.WithLabelValues("full").Inc)
	defer g.wait()
	defer s.audiences.wait() // all requests are broken off by then, and rows with them
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(g) }()
	select {
	case err := <-failed:
		s.breakOff(err)
		return err
	case <-ctx.Done():
	}
	s.shutDown(srv)
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
