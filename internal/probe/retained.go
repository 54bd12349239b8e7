package probe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errPartly: one way of reading shows the run and another does not.
var errPartly = errors.New("only one of stream and snapshot shows the run")

// retained looks what is left of the run some time after its end: all of it, or nothing.
func (p *prober) retained(ctx context.Context, after time.Duration) {
	expected := "the whole run, or nothing of it"
	must := p.cfg.Retain > after
	if must {
		expected = "the whole run"
	}
	p.check("after "+after.String(), expected, func() (string, error) {
		there, err := p.there(ctx)
		if errors.Is(err, errPartly) { // it may be leaving at this moment
			if err := sleep(ctx, p.cfg.Patience/4); err != nil {
				return "", err
			}
			there, err = p.there(ctx)
		}
		switch {
		case err != nil:
			return "", err
		case !there && must:
			return "", fmt.Errorf("gone, although runs are retained for %v", p.cfg.Retain)
		case !there:
			return "gone", nil
		}
		return "whole", nil
	})
}

// there says whether the run can still be had. Whoever shows it must show all of it.
func (p *prober) there(ctx context.Context) (bool, error) {
	_, errSnapshot := p.snapshot(ctx, "")
	if errSnapshot != nil && !errors.Is(errSnapshot, errIdle) {
		return false, errSnapshot
	}
	o := p.observe(at(0))
	errStream := o.follow(ctx, watch{run: p.run, after: at(0)})
	if errStream != nil && !errors.Is(errStream, errIdle) {
		return false, errStream
	}
	if (errSnapshot == nil) != (errStream == nil) {
		return false, errPartly
	}
	return errStream == nil, nil
}
