package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
)

var relayCommand = command{
	name: "relay",
	about: config.About{
		Summary: "serve runs over HTTP from a NATS server or cluster",
		Text: `Serves observers and producers, and runs a janitor. A relay holds nothing that its death could lose: run
as many as you like behind any load balancer.

While the broker is away the relay stays up, unready (/readyz), and its streams wait; it reconnects by itself
for as long as it takes. It exits when the broker refuses its user twice, as after a change of the password.`,
		Examples: []string{
			"rejoin relay --nats nats://127.0.0.1:4222",
			"rejoin relay --nats nats://n1:4222,nats://n2:4222,nats://n3:4222 --replicas 3 --addr :8080 " +
				"--auth jwt --jwks-url https://issuer.example/keys --jwt-issuer https://issuer.example --jwt-audience rejoin --resume-keys resume.jwks",
			"REJOIN_NATS=tls://n1:4222 REJOIN_NATS_CREDS=relay.creds rejoin relay --provision=false",
		},
	},
	flags: func(s *config.Set) action {
		cfg := app.Config{Version: version}
		var provision, sweep bool
		var log logFlags
		var forward string
		brokerFlags(s, &cfg)
		serveFlags(s, &cfg)
		lifecycleFlags(s, &cfg)
		turnFlags(s, &forward)
		streamFlags(s, &cfg, &provision)
		janitorFlag(s, &sweep)
		runFlags(s, &cfg)
		traceFlags(s, &cfg)
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			if err := brokerNamed(s, &cfg, " For one inside this process: rejoin dev"); err != nil {
				return err
			}
			if err := cmp.Or(checkAuth(s, &cfg), checkBrowser(s, &cfg)); err != nil {
				return err
			}
			logger, err := std.logger(log)
			if err != nil {
				return err
			}
			cfg.Logger, cfg.NoProvision, cfg.NoJanitor, cfg.ForwardHeaders = logger, !provision, !sweep, forwarded(forward)
			return runApp(ctx, cfg, std, func(w io.Writer, a *app.App, _ app.Config) {
				fmt.Fprintf(w, "rejoin serves on %s\n", a.URL())
			})
		}
	},
}
