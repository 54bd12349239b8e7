package relay

import (
	"context"
	"net/http"
	"time"
)

// lastWait is how long broken-off streams get to notice.
const lastWait = time.Second

// Drain makes the relay unready at once: whoever asks for a stream or waits for a
// run is answered 503, and open streams are closed between frames, spread over
// Config.DrainWindow. A second call closes those that are left now and ends all
// other requests. Drain does not wait, and may be called at any time.
func (s *Server) Drain() {
	if s.observers.drain() {
		s.log.Info("draining", "window", s.cfg.DrainWindow)
		return
	}
	s.observers.hurry()
	s.breakOff(errDraining)
}

// shutDown drains, and returns when all requests are over or DrainTimeout is. The
// listener stays open for as long as there are streams: whoever asks meanwhile is
// told to go elsewhere instead of finding nobody.
func (s *Server) shutDown(srv *http.Server) {
	from := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.DrainTimeout)
	defer cancel()
	// A hurried drain gives requests that are stuck in the middle of a body a moment
	// to notice, and then no more.
	defer context.AfterFunc(s.base, func() { time.AfterFunc(lastWait, cancel) })()
	if !s.observers.isDraining() {
		s.Drain()
	}
	srv.SetKeepAlivesEnabled(false)
	s.awaitEmpty(min(s.cfg.DrainWindow+lastWait, s.cfg.DrainTimeout))
	s.observers.hurry()
	if err := srv.Shutdown(ctx); err != nil {
		s.log.Warn("some requests did not end in time and are broken off", "after", s.cfg.DrainTimeout)
		s.breakOff(errDraining)
		_ = srv.Close()
		s.awaitEmpty(lastWait)
	}
	s.breakOff(errDraining)
	s.log.Info("drained", "took", time.Since(from).Round(time.Millisecond))
}

// awaitEmpty waits until there are no streams, but no longer than most.
func (s *Server) awaitEmpty(most time.Duration) {
	over := time.NewTimer(most)
	defer over.Stop()
	select {
	case <-s.observers.empty:
	case <-over.C:
	}
}
