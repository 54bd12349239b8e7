package relay

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

const (
	// pingFor is how long an answer of the broker counts, so that probes cost it
	// nothing however many there are.
	pingFor = time.Second

	// pingTimeout is how long the broker may take to answer. Probes commonly give
	// up after a second or two.
	pingTimeout = time.Second
)

// health remembers for a moment whether the broker answered.
type health struct {
	ping func(context.Context) error

	mu  sync.Mutex
	at  time.Time
	err error
}

// check asks the broker, unless it was asked just now. Callers that come meanwhile
// wait for the same answer.
func (h *health) check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) < pingFor {
		return h.err
	}
	// Not the request's context: the answer is for everybody.
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	h.err = h.ping(ctx)
	h.at = time.Now()
	return h.err
}

// livez says that the process answers requests.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, map[string]string{"status": "alive"})
}

// readyz says that the relay can serve, or why it cannot.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) error {
	if s.observers.isDraining() {
		return errDraining
	}
	if err := s.health.check(); err != nil {
		return fmt.Errorf("%w: %w", consumer.ErrBrokerUnavailable, err)
	}
	return writeJSON(w, map[string]string{"status": "ready"})
}
