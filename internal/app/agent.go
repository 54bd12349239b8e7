package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	iagui "github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/acp"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/agui"
	"github.com/rejoin/rejoin/producer/demo"
)

// The kinds of agent that a worker can run by itself.
const (
	AgentDemo = "demo"
	AgentAGUI = "agui"
	AgentACP  = "acp"
)

// AgentConfig says which agent answers turns. Zero values mean the agents' own defaults.
type AgentConfig struct {
	Kind string // AgentDemo, AgentAGUI or AgentACP

	// Custom is an agent of the caller's, instead of Kind.
	Custom agent.Agent

	Demo demo.AgentConfig

	URL    string      // AgentAGUI: where it takes a POST
	Header http.Header // AgentAGUI: sent with every request

	Command      []string      // AgentACP: the program and its arguments
	Dir          string        // AgentACP: where it works
	Root         string        // AgentACP: the folder it may read, write and run commands in; "" for none
	AuthMethod   string        // AgentACP: how it logs in
	Idle         time.Duration // AgentACP: how long a process waits for its chat's next turn
	MaxProcesses int           // AgentACP
}

// agentParts is an agent with what it takes to be rid of it.
type agentParts struct {
	agent.Agent
	close func(context.Context) error
}

func newAgent(cfg Config, a AgentConfig, saved *history.History) (*agentParts, error) {
	log := cfg.Logger.With("part", "agent")
	nothing := func(context.Context) error { return nil }
	if a.Custom != nil {
		return &agentParts{a.Custom, nothing}, nil
	}
	switch a.Kind {
	case AgentDemo:
		return &agentParts{demo.NewAgent(a.Demo), nothing}, nil
	case AgentAGUI:
		made, err := agui.New(agui.Config{URL: a.URL, Header: a.Header, Earlier: earlier(saved, log), Logger: log})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		return &agentParts{made, func(context.Context) error {
			made.Close()
			return nil
		}}, nil
	case AgentACP:
		made, err := acp.New(acp.Config{Command: a.Command, Dir: a.Dir, Root: a.Root, AuthMethod: a.AuthMethod,
			IdleLimit: a.Idle, MaxProcesses: a.MaxProcesses, Version: cfg.Version, Logger: log})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		return &agentParts{made, made.Close}, nil
	}
	return nil, fmt.Errorf("%w: the agent is %.40q; allowed are demo, agui and acp", ErrConfig, a.Kind)
}

// earlierTurns is how many saved turns of a chat an agent is told that keeps none itself.
const earlierTurns = 50

// earlier gives the chat's earlier messages and its state out of the built-in history, for a
// turn that is only a text. Without a history there are none.
func earlier(saved *history.History, log *slog.Logger) func(context.Context, *agent.Request) (agui.Earlier, error) {
	if saved == nil {
		return nil
	}
	return func(ctx context.Context, r *agent.Request) (agui.Earlier, error) {
		saved, err := saved.Read(ctx, r.Tenant, r.ChatID, earlierTurns)
		if err != nil {
			return agui.Earlier{}, err
		}
		if again := r.Kind == turns.KindRetry || r.Kind == turns.KindEdit; again && len(saved) > 0 {
			saved = saved[:len(saved)-1] // what is said again takes its place
		}
		var all iagui.Messages
		var state iagui.State
		for _, t := range saved {
			var events []json.RawMessage
			err := json.Unmarshal(t.Events, &events)
			if err == nil {
				lines := lines(events)
				err = errors.Join(all.AddTurn(string(t.RunID), t.Input, lines), state.AddTurn(t.Input, lines))
			}
			if err != nil {
				log.Warn("a saved turn cannot be told to the agent as a whole", "run", t.RunID, "error", err)
			}
		}
		return agui.Earlier{Messages: all.List(), State: state.JSON()}, nil
	}
}

// lines puts events one a line.
func lines(events []json.RawMessage) []byte {
	var b []byte
	for _, e := range events {
		b = append(append(b, iagui.OneLine(e)...), '\n')
	}
	return b
}
