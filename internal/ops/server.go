package ops

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Limits of the HTTP server. Nothing here takes a body or streams.
const (
	readTimeout    = 5 * time.Second
	writeTimeout   = 15 * time.Second // more than a scrape may take
	idleTimeout    = time.Minute
	maxHeaderBytes = 8 << 10

	// closeTimeout is how long answers that are under way get to go out.
	closeTimeout = time.Second
)

// errStarting is why a process is not ready before it has said when it is.
var errStarting = errors.New("it is starting")

// Server serves Handler on a listener of its own. A nil Server is one that nobody asked
// for: its methods do nothing.
type Server struct {
	srv   *http.Server
	addr  string
	log   *slog.Logger
	ready atomic.Pointer[func() error]
	wg    sync.WaitGroup
}

// Start serves on ln, which is then the server's, until Close. Until Ready is called
// the process is alive and not ready. log may be nil.
func Start(ln net.Listener, g prometheus.Gatherer, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{addr: ln.Addr().String(), log: log}
	s.Ready(func() error { return errStarting })
	s.srv = &http.Server{
		Handler:        Handler(g, func() error { return (*s.ready.Load())() }),
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.wg.Go(func() {
		if err := s.srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and numbers are not served any more", "error", err)
		}
	})
	return s
}

// Addr is the host:port it serves on, "" for a nil Server.
func (s *Server) Addr() string {
	if s == nil {
		return ""
	}
	return s.addr
}

// Ready says from now on who knows whether the process is ready. The function is called from
// many goroutines at once.
func (s *Server) Ready(ready func() error) {
	if s != nil {
		s.ready.Store(&ready)
	}
}

// Close stops serving and waits, a second at the most for answers that are under way.
func (s *Server) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.srv.Shutdown(ctx) != nil {
		_ = s.srv.Close()
	}
	s.wg.Wait()
}
