package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/killswitch"
)

// Switches reads the kill switches of a fabric; where set is not nil, it is stored for
// target before. Of cfg it uses what concerns the broker. The error is ErrSetting, ErrTooMany
// of package killswitch, or as of RunJanitor.
func Switches(ctx context.Context, cfg Config, target killswitch.Target, set *killswitch.Setting) ([]killswitch.Named, error) {
	cfg.NoProvision = true
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if set != nil {
		if err := set.Check(); err != nil {
			return nil, err
		}
	}
	b, err := openBroker(ctx, cfg, "rejoin-switch")
	if err != nil {
		return nil, err
	}
	defer b.close()
	ctx, cancel := context.WithTimeout(ctx, cfg.Connect)
	defer cancel()
	if set != nil {
		if err := killswitch.Set(ctx, b.store, target, *set); err != nil {
			return nil, switchFailure(err)
		}
	}
	all, err := killswitch.List(ctx, b.store)
	if err != nil {
		return nil, switchFailure(err)
	}
	return all, nil
}

func switchFailure(err error) error {
	if errors.Is(err, killswitch.ErrSetting) || errors.Is(err, killswitch.ErrTooMany) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBroker, err)
}
