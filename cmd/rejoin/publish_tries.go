package main

import (
	"context"
	"errors"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// tries counts attempts that brought nothing.
type tries struct {
	api   *api
	n     int
	since time.Time
}

func (a *api) tries() *tries { return &tries{api: a, since: time.Now()} }

// succeeded begins anew.
func (t *tries) succeeded() { t.n, t.since = 0, time.Now() }

// again waits and says whether to try once more after err.
func (t *tries) again(ctx context.Context, err error) bool {
	if !temporary(err) || ctx.Err() != nil || time.Since(t.since) >= t.api.patience {
		return false
	}
	delay := consumer.Backoff{Max: 5 * time.Second}.Delay(t.n)
	var p *problemError
	if errors.As(err, &p) {
		delay += p.after
	}
	t.n++
	t.api.log.Warn("not answered; trying again", "attempt", t.n, "delay", delay.Round(time.Millisecond), "error", printable(err.Error()))
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
