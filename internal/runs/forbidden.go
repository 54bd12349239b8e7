package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// refusalCheck is how often it is looked whether the broker refused what was asked.
const refusalCheck = 20 * time.Millisecond

// apiTimeout bounds one question about streams and consumers: making one on a cluster may
// take a leader's election, and a broker that is coming up may forget what it was asked.
const apiTimeout = 10 * time.Second

// allowed asks something on a subject, and does not wait for an answer that never comes
// where the user may not: the broker answers a forbidden request with nothing, and says
// so beside it. The error then wraps ErrForbidden and names the subject.
func (s *Store) allowed(ctx context.Context, subject string, ask func(context.Context) error) error {
	asking, stop := context.WithTimeout(ctx, apiTimeout)
	defer stop()
	before := s.nc.LastError()
	done := make(chan error, 1)
	go func() { done <- ask(asking) }()
	look := time.NewTicker(refusalCheck)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-look.C:
			said := s.nc.LastError()
			if errors.Is(said, before) {
				continue
			}
			refused := s.refusal(said, subject)
			if refused == nil {
				continue
			}
			stop()
			if err := <-done; err == nil {
				return nil
			}
			return refused
		}
	}
}

// refusal is what err, an error of the connection, means for somebody who asked on the
// subject: that he may not, or that he may not receive the answer; nil for anything else.
func (s *Store) refusal(err error, subject string) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	inbox := cmp.Or(s.nc.Opts.InboxPrefix, strings.TrimSuffix(nats.InboxPrefix, "."))
	switch text := err.Error(); {
	case strings.Contains(text, `"`+subject+`"`):
		return fmt.Errorf("%w to publish to %s", ErrForbidden, subject)
	case strings.Contains(text, `Subscription to "`+inbox+`.`):
		return fmt.Errorf("%w to receive answers below %s; has it an inbox prefix of its own?", ErrForbidden, inbox)
	}
	return nil
}
