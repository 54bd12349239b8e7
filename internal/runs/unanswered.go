package runs

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
)

// NotConnected gives err, of nats.go, the words of ErrNotConnected where it means that:
// a connection without a reconnect buffer says "outbound buffer limit exceeded". Any other
// error stays as it is.
func NotConnected(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) && !errors.Is(err, ErrNotConnected) {
		return &reworded{ErrNotConnected, err}
	}
	return err
}

// unanswered is why nothing came of what was sent to a subject, as far as the connection
// knows: it is down, or the user may not. before is what the connection's last error was
// when it was sent.
func (s *Store) unanswered(err error, subject string, before error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		if said := s.nc.LastError(); !errors.Is(said, before) {
			if refused := s.refusal(said, subject); refused != nil {
				return &reworded{refused, err}
			}
		}
	}
	return NotConnected(err)
}

// reworded is an error that reads like another one, and is both.
type reworded struct{ as, err error }

func (r *reworded) Error() string   { return r.as.Error() }
func (r *reworded) Unwrap() []error { return []error{r.as, r.err} }
