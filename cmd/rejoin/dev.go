package main

import (
	"context"
	"fmt"
	"io"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/producer/demo"
)

var devCommand = command{
	name: "dev",
	about: config.About{
		Summary: "run everything on this machine: broker, relay, janitor, and a demo run to watch",
		Text: `Runs a NATS server inside this process and serves runs from it over HTTP. The chat "demo" always has a
run to watch: about a minute of reasoning, a tool call and text, then a pause and the next one.

What is stored is removed at the end, unless --store says where to keep it. SIGTERM and Ctrl-C stop it: streams
are closed between frames, and the exit code is 0.`,
		Examples: []string{
			"rejoin dev",
			"rejoin dev --addr :9000 --store ./data --demo=false",
			"rejoin dev --lease 2s --retain 30s --nats-addr 127.0.0.1:4222",
		},
	},
	flags: func(s *config.Set) action {
		cfg := app.Config{Demo: true, Version: version}
		var log logFlags
		serveFlags(s, &cfg)
		s.Add(config.Text(&cfg.Store, "DIR", "the name of a directory, which is created where it is missing", nil), "store",
			"Where the broker keeps its files. Without it they are in a temporary directory, removed at the end.")
		s.Add(hostPort(&cfg.NATSAddr), "nats-addr",
			"Where the broker takes connections from other processes, such as more relays or the nats command.\nWithout it, none.")
		partitionsFlag(s, &cfg)
		runFlags(s, &cfg)
		s.Add(config.Switch(&cfg.Demo), "demo", "Produce runs to watch in the chat \"demo\".")
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			logger, err := std.logger(log)
			if err != nil {
				return err
			}
			cfg.Logger = logger
			return runApp(ctx, cfg, std, devWelcome)
		}
	},
}

// runApp runs an App until ctx ends. welcome is written once it serves.
func runApp(ctx context.Context, cfg app.Config, std stdio, welcome func(io.Writer, *app.App, app.Config)) error {
	a, err := app.New(cfg)
	if err != nil {
		return err
	}
	std.stop.onSecond(cfg.Grace, a.Hurry)
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	select {
	case <-a.Ready():
		welcome(std.out, a, cfg)
		err = <-done
	case err = <-done:
	}
	return withFlag(err)
}

func devWelcome(w io.Writer, a *app.App, cfg app.Config) {
	fmt.Fprintf(w, "rejoin serves on %s\n", a.URL())
	if url := a.Broker().ClientURL(); url != "" {
		fmt.Fprintf(w, "its broker takes connections on %s\n", url)
	}
	chat := "c1"
	if cfg.Demo {
		chat = demo.DefaultChat
		fmt.Fprintf(w, "\nA run is being produced in the chat %q. Watch it, leave with Ctrl-C, and come back:\n\n", chat)
	} else {
		fmt.Fprint(w, "\nWatch a chat, leave with Ctrl-C, and come back with the run's id and the last seq you saw:\n\n")
	}
	fmt.Fprintf(w, "  curl -N %s/chat/live -d '{\"chat_id\":%q,\"protocol\":1,\"wait_ms\":30000}'\n", a.URL(), chat)
	fmt.Fprintf(w, "  curl -N %s/chat/live -d '{\"chat_id\":%q,\"protocol\":1,\"run_id\":\"…\",\"after_seq\":42}'\n\n", a.URL(), chat)
	fmt.Fprintf(w, "or in words: rejoin tail --url %s --chat %s\n", a.URL(), chat)
}
