package producer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// DefaultSaveTimeout is how long an application's save may take unless Finish is
// told otherwise.
const DefaultSaveTimeout = 30 * time.Second

var errSavePanicked = errors.New("the save panicked")

// save runs the application's save. It returns when the save does or when its time
// or ctx is over, whichever is first: one that ignores its context is waited for
// by Producer.Close alone.
func (p *Producer) save(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	if limit <= 0 {
		limit = DefaultSaveTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	from := time.Now()
	verdict := make(chan error, 1)
	p.saving.Add(1)
	if !p.spawn(&p.saves, func() {
		defer p.saving.Add(-1)
		verdict <- p.call(ctx, f)
	}) {
		p.saving.Add(-1)
		return ErrClosed
	}
	var err error
	select {
	case err = <-verdict:
	case <-ctx.Done():
		select {
		case err = <-verdict: // both at once: the save knows better
		default:
			err = fmt.Errorf("save not finished: %w", ctx.Err())
		}
	}
	if f := p.cfg.Metrics.Saved; f != nil {
		f(time.Since(from), err)
	}
	return err
}

// call runs the save and makes a panic an error.
func (p *Producer) call(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("a save panicked", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errSavePanicked, v)
		}
	}()
	return f(ctx)
}
