package main

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/worker"
)

var workerCommand = command{
	name: "worker",
	about: config.About{
		Summary: "answer turns: claim what was sent to chats and run an agent for it",
		Text: `Any number of workers share the turns of a fabric. Each turn is begun once: when a worker dies, what it had
begun ends as abandoned and what it had not goes to another. It also runs a janitor.

SIGTERM: it claims no more, lets turns end by themselves for the time of --grace, then stops and ends the rest.`,
		Examples: []string{
			"rejoin worker --nats nats://127.0.0.1:4222 --agent demo",
			"rejoin worker --nats nats://127.0.0.1:4222 --agent agui --url http://127.0.0.1:8000/agent",
			"rejoin worker --nats nats://127.0.0.1:4222 --agent acp --root ~/project -- npx some-acp-agent",
			"rejoin worker --nats nats://127.0.0.1:4222 --agent agui --url http://agent/ --save-url https://app.example/turns",
		},
	},
	flags: func(s *config.Set) action {
		cfg := app.Config{Version: version}
		var provision, sweep bool
		var log logFlags
		var w workerFlags
		brokerFlags(s, &cfg)
		w.add(s, "", false)
		cfg.Grace = 30 * time.Second
		s.Add(config.Duration(&cfg.Grace, 0, time.Hour), "grace",
			"How long turns may go on after the first SIGTERM or SIGINT; a second one hurries.")
		streamFlags(s, &cfg, &provision)
		janitorFlag(s, &sweep)
		runFlags(s, &cfg)
		opsFlags(s, &cfg)
		traceFlags(s, &cfg)
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			if err := brokerNamed(s, &cfg, " For one inside this process: rejoin dev --agent …"); err != nil {
				return err
			}
			worker, err := w.config(s)
			if err != nil {
				return err
			}
			logger, err := std.logger(log)
			if err != nil {
				return err
			}
			cfg.Worker, cfg.Logger, cfg.NoProvision, cfg.NoJanitor = worker, logger, !provision, !sweep
			hurry := make(chan struct{})
			std.stop.onSecond(cfg.Grace+workerExtra, func() { close(hurry) })
			return withFlag(app.RunWorker(ctx, cfg, hurry))
		}
	},
}

// workerExtra is what ending turns and processes may take besides the grace.
const workerExtra = 25 * time.Second

// workerFlags say which agent answers turns, and how they are saved.
type workerFlags struct {
	agent, url, root, dir, auth string
	headers, command            []string
	idle                        time.Duration
	processes, concurrency      int
	save, saveURL, saveSecret   string
	saveTimeout                 time.Duration
}

// agentNone leaves the turns to workers in other processes.
const agentNone = "none"

// add declares the flags. agent is the default; elsewhere says that agentNone is allowed.
func (w *workerFlags) add(s *config.Set, agent string, elsewhere bool) {
	kinds := []string{app.AgentDemo, app.AgentAGUI, app.AgentACP}
	about := "What answers: demo, which needs no model; agui, an AG-UI agent at --url; acp, an agent of the Agent\nClient Protocol, started as the command behind \"--\"."
	if elsewhere {
		kinds = append(kinds, agentNone)
		about += "\nnone leaves turns to workers in other processes, which come in at --nats-addr."
	}
	w.agent, w.concurrency, w.save, w.saveTimeout = agent, worker.DefaultConcurrency, "history", producer.DefaultSaveTimeout
	w.idle, w.processes = 5*time.Minute, 32
	s.Add(config.OneOf(&w.agent, kinds...), "agent", about)
	s.Add(config.Text(&w.url, "URL", "an http or https URL", isHTTP), "url", "agui: where the agent takes a POST.")
	s.Add(config.Secret(config.List(&w.headers, "HEADER", "\"Name: value\", with its colon", isHeader)), "agent-header",
		"agui: sent with every request to the agent. May be given more than once; in the environment one a line.")
	s.Add(config.Text(&w.dir, "DIR", "the name of a directory", nil), "agent-dir", "acp: where the agent works. Without it in --root, or here.")
	s.Add(config.Text(&w.root, "DIR", "the name of a directory", nil), "root",
		"acp: the folder whose files the agent may read and write through its client, and run commands in.\nWithout it, none.")
	s.Add(config.Text(&w.auth, "METHOD", "the id of a method that the agent offers", nil), "auth-method",
		"acp: how to log in, where the agent asks for it.")
	s.Add(config.Duration(&w.idle, time.Second, day), "agent-idle", "acp: how long a process is kept for its chat's next turn.")
	s.Add(config.Number(&w.processes, 1, 10_000), "agent-processes", "acp: how many processes there may be at once.")
	s.Add(config.Number(&w.concurrency, 1, 100_000), "concurrency", "Turns answered at once.")
	s.Add(config.OneOf(&w.save, "history", "none"), "save",
		"Where answered turns are saved: in the built-in history, or nowhere, and then no run ends as persisted.\n--save-url saves them there instead.")
	s.Add(config.Text(&w.saveURL, "URL", "an http or https URL", isHTTP), "save-url",
		"Where to POST each answered turn, with an idempotency key, until it is accepted or the time is over. A 2xx\nmeans saved; 409, 410 and 412 that the chat has moved on.")
	s.Add(config.Secret(config.Text(&w.saveSecret, "SECRET", "the secret that the receiver checks signatures with", nil)), "save-secret",
		"Signs what is sent to --save-url. Better given in the environment.")
	s.Add(config.Duration(&w.saveTimeout, 100*time.Millisecond, time.Hour), "save-timeout",
		"How long saving a turn may take, before its run ends as not persisted.")
	s.Rest(&w.command, "COMMAND", "acp: the agent's program and its arguments")
}

// config is what the flags say, nil for agentNone. The error is that they do not fit together.
func (w *workerFlags) config(s *config.Set) (*app.WorkerConfig, error) {
	switch {
	case w.agent == "":
		return nil, s.Wrong("--agent is missing; allowed is one of demo, agui, acp")
	case w.agent == app.AgentAGUI && w.url == "":
		return nil, s.Wrong("--agent agui needs --url: where is the agent?")
	case w.agent == app.AgentACP && len(w.command) == 0:
		return nil, s.Wrong("--agent acp needs a command behind \"--\", such as: -- npx some-acp-agent")
	case w.agent != app.AgentACP && len(w.command) > 0:
		return nil, s.Wrong("there is an argument %s; a command is only for --agent acp", s.Word(w.command[0]))
	case w.agent != app.AgentAGUI && w.url != "":
		return nil, s.Wrong("--url (REJOIN_URL) is only for --agent agui, and says where the agent is; --agent is %q", w.agent)
	case w.saveSecret != "" && w.saveURL == "":
		return nil, s.Wrong("--save-secret (REJOIN_SAVE_SECRET) is only for --save-url")
	case w.agent == agentNone:
		return nil, nil
	}
	header := http.Header{}
	for _, line := range w.headers {
		name, value, _ := strings.Cut(line, ":")
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return &app.WorkerConfig{
		Agent: app.AgentConfig{Kind: w.agent, URL: w.url, Header: header, Command: w.command, Dir: w.dir, Root: w.root,
			AuthMethod: w.auth, Idle: w.idle, MaxProcesses: w.processes},
		Concurrency: w.concurrency, SaveTimeout: w.saveTimeout, SaveURL: w.saveURL, SaveSecret: w.saveSecret,
		NoSave: w.save == "none",
	}, nil
}

func isHeader(s string) bool {
	name, value, ok := strings.Cut(s, ":")
	return ok && isHeaderName(strings.TrimSpace(name)) && !strings.ContainsFunc(value, unicode.IsControl)
}

// headerName is what RFC 9110 calls a token.
var headerName = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")

func isHeaderName(s string) bool { return headerName.MatchString(s) }

// turnFlags say what of a client's request an agent gets.
func turnFlags(s *config.Set, forward *string) {
	s.Add(config.Secret(config.Text(forward, "NAME[,NAME]", "names of headers without values, separated by commas", func(s string) bool {
		for name := range strings.SplitSeq(s, ",") {
			if !isHeaderName(strings.TrimSpace(name)) {
				return false
			}
		}
		return true
	})), "forward-headers", "Headers of the requests that send turns, which their agents get too. They are stored with the turn.")
}

// forwarded is the value of --forward-headers.
func forwarded(names string) []string {
	var all []string
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, http.CanonicalHeaderKey(name))
		}
	}
	return all
}
