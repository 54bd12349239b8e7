package relay

import (
	"fmt"
	"net/http"

	"github.com/rejoin/rejoin/consumer"
)

// Ready says why the relay cannot serve, nil that it can: it is not about to leave, and
// the broker has answered within the last second or does now.
func (s *Server) Ready() error {
	if s.unready.Load() || s.observers.isDraining() {
		return errDraining
	}
	if err := s.cfg.Canary.Check(); err != nil {
		return fmt.Errorf("%w: %w", consumer.ErrBrokerUnavailable, err)
	}
	return nil
}

// Unready makes the relay say from now on that it is shutting down, and go on serving
// whoever comes all the same: a load balancer takes a moment to see it. Drain says so, too.
func (s *Server) Unready() {
	if !s.unready.Swap(true) {
		s.log.Info("unready: about to drain")
	}
}

// livez says that the process answers requests.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, map[string]string{"status": "alive"})
}

// readyz says that the relay can serve, or why it cannot.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) error {
	if err := s.Ready(); err != nil {
		return err
	}
	return writeJSON(w, map[string]string{"status": "ready"})
}
