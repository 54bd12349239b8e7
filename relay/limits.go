package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// errOverdue is for an observer that reads so slowly that it stands in the way of others.
var errOverdue = fmt.Errorf("%w: too slow while others wait: %w", errWrite, os.ErrDeadlineExceeded)

// waited is the error of something that had no turn within the time it was given; ctx is
// the request's own.
func waited(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}
