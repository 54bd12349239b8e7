package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/producer/demo"
	page "github.com/rejoin/rejoin/relay/demo"
)

var devCommand = command{
	name: "dev",
	about: config.About{
		Summary: "run everything on this machine: broker, relay, worker, janitor, and a demo run to watch",
		Text: `Runs a NATS server inside this process, serves runs from it over HTTP, and answers what is sent to chats, with
an agent that needs no model unless --agent names another. A page to try it on is at /demo. Without --auth jwt the
chat "demo" always has a run to watch: about a minute of reasoning, a tool call and text, then a pause and the next one.

What is stored is removed at the end, unless --store says where to keep it. SIGTERM and Ctrl-C stop it: streams
are closed between frames, and the exit code is 0.`,
		Examples: []string{
			"rejoin dev",
			"rejoin dev --addr 127.0.0.1:9000 --store ./rejoin-data --demo=false",
			"rejoin dev --lease 2s --retain 30s --nats-addr 127.0.0.1:4222",
			"rejoin dev --agent agui --url http://127.0.0.1:8000/agent",
			"rejoin dev --agent acp --root . -- npx some-acp-agent",
			"rejoin dev --agent none --nats-addr 127.0.0.1:4222",
		},
	},
	flags: func(s *config.Set) action {
		cfg := app.Config{Demo: true, Page: true, Version: version}
		var log logFlags
		var w workerFlags
		var forward string
		serveFlags(s, &cfg)
		lifecycleFlags(s, &cfg)
		s.Add(config.Text(&cfg.Store, "DIR", "the name of a directory, which is created where it is missing", nil), "store",
			"Where the broker keeps its files. Without it they are in a temporary directory, removed at the end.")
		s.Add(hostPort(&cfg.NATSAddr), "nats-addr",
			"Where the broker takes connections from other processes, such as more relays or the nats command.\nIt asks nobody who they are, so that this must be the loopback interface. Without it, none.")
		partitionsFlag(s, &cfg)
		runFlags(s, &cfg)
		w.add(s, app.AgentDemo, true)
		turnFlags(s, &forward)
		s.Add(config.Switch(&cfg.Demo), "demo", "Produce runs to watch in the chat \"demo\"; not with --auth jwt.")
		traceFlags(s, &cfg)
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			if err := cmp.Or(checkAuth(s, &cfg), checkBrowser(s, &cfg)); err != nil {
				return err
			}
			logger, err := std.logger(log)
			if err != nil {
				return err
			}
			cfg.Logger, cfg.ForwardHeaders = logger, forwarded(forward)
			if cfg.Auth.Kind == app.AuthJWT {
				cfg.Demo = false // its chat would be nobody's
			}
			if cfg.Worker, err = w.config(s); err != nil {
				return err
			}
			return runApp(ctx, cfg, std, devWelcome)
		}
	},
}

// runApp runs an App until ctx ends. welcome is written once it serves.
func runApp(ctx context.Context, cfg app.Config, std stdio, welcome func(io.Writer, *app.App, app.Config)) error {
	a, err := app.New(cfg)
	if err != nil {
		return withFlag(err)
	}
	defer leaveRoomForGarbage(std.env).end()
	std.stop.onSecond(cfg.DrainDelay+cfg.Grace, a.Hurry)
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
	if cfg.Worker == nil {
		fmt.Fprint(w, "no agent is in this process: turns wait for workers elsewhere\n")
	}
	fmt.Fprintf(w, "\nTry it in a browser: %s%s\n", a.URL(), page.Path)
	fmt.Fprint(w, "\nOr send a message to a chat, watch the answer, and answer what the agent asks (the request's id is in the events):\n\n")
	if cfg.Auth.Kind == app.AuthJWT {
		fmt.Fprint(w, "(each with -H \"Authorization: Bearer $REJOIN_TOKEN\"; \"rejoin token --help\" says how to make one)\n\n")
	}
	fmt.Fprintf(w, "  curl %s/chat/send -d '{\"chat_id\":\"c\",\"input\":{\"text\":\"hi\"}}'\n", a.URL())
	fmt.Fprintf(w, "  curl -N %s/chat/live -d '{\"chat_id\":\"c\",\"protocol\":1,\"wait_ms\":30000}'\n", a.URL())
	option := "allow" // what the demo agent asks for; another has options of its own
	if cfg.Worker == nil || cfg.Worker.Agent.Kind != app.AgentDemo {
		option = "…"
	}
	fmt.Fprintf(w, "  curl %s/chat/answer -d '{\"chat_id\":\"c\",\"run_id\":\"…\",\"request_id\":\"…\",\"outcome\":{\"outcome\":\"selected\",\"optionId\":%q}}'\n", a.URL(), option)
	if cfg.Demo {
		fmt.Fprintf(w, "\nA run is being produced in the chat %q: rejoin tail --url %s --chat %s\n", demo.DefaultChat, a.URL(), demo.DefaultChat)
	}
}
