package app

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
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

func newAgent(cfg Config, a AgentConfig, store *runs.Store, saved *history.History) (*agentParts, error) {
	log := cfg.Logger.With("part", "agent")
	nothing := func(context.Context) error { return nil }
	if a.Custom != nil {
		return &agentParts{a.Custom, nothing}, nil
	}
	switch a.Kind {
	case AgentDemo:
		return &agentParts{demo.NewAgent(a.Demo), nothing}, nil
	case AgentAGUI:
		made, err := agui.New(agui.Config{URL: a.URL, Header: a.Header, Earlier: earlier(store, saved, log), Logger: log})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		return &agentParts{made, func(context.Context) error {
			made.Close()
			return nil
		}}, nil
	case AgentACP:
		if err := startable(a.Command); err != nil {
			return nil, err
		}
		made, err := acp.New(acp.Config{Command: a.Command, Dir: a.Dir, Root: a.Root, AuthMethod: a.AuthMethod,
			IdleLimit: a.Idle, MaxProcesses: a.MaxProcesses, Version: cfg.Version, Logger: log})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		return &agentParts{made, made.Close}, nil
	}
	return nil, fmt.Errorf("%w: the agent is %.40q; allowed are demo, agui and acp", ErrConfig, a.Kind)
}

// startable says at once, and not in somebody's turn, that a program is not there.
func startable(command []string) error {
	if len(command) == 0 || strings.ContainsRune(command[0], filepath.Separator) && !filepath.IsAbs(command[0]) {
		return nil // where it is depends on the folder in which it is started
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("%w: the agent's program cannot be started: %w", ErrConfig, err)
	}
	return nil
}
