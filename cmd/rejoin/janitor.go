package main

import (
	"context"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
)

var janitorCommand = command{
	name: "janitor",
	about: config.About{
		Summary: "end runs whose producer is gone, and evict old ones, without serving anything",
		Text: `Every relay does this too; a janitor of its own is for fabrics whose relays come and go. Any number
may run at once. Give it the same --lease, --retain and --max-ended as the relays.`,
		Examples: []string{
			"rejoin janitor --nats nats://127.0.0.1:4222",
			"rejoin janitor --nats nats://127.0.0.1:4222 --retain 1h --log-format json",
		},
	},
	flags: func(s *config.Set) action {
		cfg := app.Config{Version: version}
		var provision bool
		var log logFlags
		brokerFlags(s, &cfg)
		streamFlags(s, &cfg, &provision)
		runFlags(s, &cfg)
		opsFlags(s, &cfg)
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			if err := brokerNamed(s, &cfg, ""); err != nil {
				return err
			}
			logger, err := std.logger(log)
			if err != nil {
				return err
			}
			cfg.Logger, cfg.NoProvision = logger, !provision
			return withFlag(app.RunJanitor(ctx, cfg))
		}
	},
}
