package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rejoin/rejoin/producer/acp/process"
	"github.com/rejoin/rejoin/producer/acp/rpc"
)

// protocolVersion is the one version of ACP that we speak.
const protocolVersion = 1

// object is a JSON object to send.
type object = map[string]any

// capabilities are what we use of what an agent says it can do.
type capabilities struct {
	Load    bool `json:"loadSession"`
	Session struct {
		Resume json.RawMessage `json:"resume"`
	} `json:"sessionCapabilities"`
	Prompt struct {
		Image    bool `json:"image"`
		Audio    bool `json:"audio"`
		Embedded bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
}

func (c *capabilities) resumes() bool {
	return len(c.Session.Resume) > 0 && string(c.Session.Resume) != "null"
}

// ready makes a new process ready for its first turn, with the session known if the agent
// can take that up, else with a new one.
func (c *conn) ready(ctx context.Context, known string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.StartTimeout, errLate)
	defer cancel()
	err := c.handshake(ctx, known)
	switch {
	case errors.Is(err, errLate):
		return c.notReady()
	case err == nil || errors.Is(err, ErrLogin) || context.Cause(ctx) != nil:
		return err
	}
	return fmt.Errorf("%w: %w", ErrStart, err)
}

var errLate = errors.New("too late")

// notReady says what is known of an agent that does not answer.
func (c *conn) notReady() error {
	c.mu.Lock()
	junk := c.junk
	c.mu.Unlock()
	text := fmt.Sprintf("it was not ready within %s", c.cfg.StartTimeout)
	if n := c.peer.Junk(); n > 0 {
		text += fmt.Sprintf("; %d lines of its output were no messages, the last one: %s", n, junk)
	}
	if last := c.proc.LastLine(); last != "" {
		text += "; it said: " + last
	}
	return fmt.Errorf("%w: %s", ErrStart, text)
}

func (c *conn) handshake(ctx context.Context, known string) error {
	methods, err := c.initialize(ctx)
	if err != nil {
		return err
	}
	authenticated := false
	if c.cfg.AuthMethod != "" && len(methods) > 0 {
		if !slices.Contains(methods, c.cfg.AuthMethod) {
			return fmt.Errorf("%w: it has no method %q, but %s", ErrLogin, c.cfg.AuthMethod, strings.Join(methods, ", "))
		}
		if err := c.authenticate(ctx); err != nil {
			return err
		}
		authenticated = true
	}
	err = c.open(ctx, known)
	if e, ok := errors.AsType[*rpc.Error](err); !ok || e.Code != rpc.CodeAuthRequired {
		return err
	}
	switch {
	case c.cfg.AuthMethod == "":
		return fmt.Errorf("%w: configure one of its methods (%s): %w", ErrLogin, strings.Join(methods, ", "), err)
	case authenticated:
		return fmt.Errorf("%w: %s was not enough: %w", ErrLogin, c.cfg.AuthMethod, err)
	}
	if err := c.authenticate(ctx); err != nil {
		return err
	}
	return c.open(ctx, known)
}

// initialize says hello and gives the ids of the ways to log in.
func (c *conn) initialize(ctx context.Context) (methods []string, err error) {
	able := c.files != nil
	result, err := c.call(ctx, "initialize", object{
		"protocolVersion": protocolVersion,
		"clientCapabilities": object{
			"fs":          object{"readTextFile": able, "writeTextFile": able},
			"terminal":    able,
			"elicitation": object{"form": object{}},
		},
		"clientInfo": object{"name": "rejoin", "title": "Rejoin", "version": c.cfg.Version},
	})
	if err != nil {
		return nil, err
	}
	var hello struct {
		ProtocolVersion   json.RawMessage `json:"protocolVersion"`
		AgentCapabilities json.RawMessage `json:"agentCapabilities"`
		AuthMethods       json.RawMessage `json:"authMethods"`
	}
	if err := json.Unmarshal(result, &hello); err != nil {
		return nil, fmt.Errorf("the answer to initialize is no object: %w", err)
	}
	if string(hello.ProtocolVersion) != fmt.Sprint(protocolVersion) {
		return nil, fmt.Errorf("it speaks version %s of ACP and not version %d", process.Clean(hello.ProtocolVersion, 20), protocolVersion)
	}
	// What is not as it should be counts as not said: the protocol asks for that.
	_ = json.Unmarshal(hello.AgentCapabilities, &c.caps)
	var offered []struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(hello.AuthMethods, &offered)
	for _, m := range offered {
		methods = append(methods, process.Clean([]byte(m.ID), maxQuote))
	}
	return methods, nil
}

func (c *conn) authenticate(ctx context.Context) error {
	_, err := c.call(ctx, "authenticate", object{"methodId": c.cfg.AuthMethod})
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return fmt.Errorf("%w: %w", ErrLogin, e)
	}
	return err
}

// open opens the session. One that is known and cannot be taken up is replaced: the
// agent has forgotten the chat then, which is better than no chat.
func (c *conn) open(ctx context.Context, known string) error {
	method := ""
	switch {
	case known == "":
	case c.caps.resumes():
		method = "session/resume"
	case c.caps.Load:
		method = "session/load"
	}
	if method != "" {
		err := c.enter(ctx, method, known)
		if e, ok := errors.AsType[*rpc.Error](err); !ok || e.Code == rpc.CodeAuthRequired {
			return err
		}
		c.log.Warn("the agent could not take up its session, it gets a new one", "method", method, "error", err)
	}
	return c.enter(ctx, "session/new", "")
}

// enter enters a session, known or new. The history that an agent replays of a known one
// is dropped: it was published when it happened. What it says of a new one is kept for
// the first turn, also what it says before the session has its id.
func (c *conn) enter(ctx context.Context, method, known string) error {
	params := object{"cwd": c.cfg.Dir, "mcpServers": []any{}}
	if known != "" {
		params["sessionId"] = known
	}
	c.mu.Lock()
	c.keeping, c.kept, c.size = known == "", nil, 0
	c.mu.Unlock()
	result, err := c.call(ctx, method, params)
	if err != nil {
		return err
	}
	id := known
	if known == "" {
		var s struct {
			SessionID string `json:"sessionId"`
		}
		if err := json.Unmarshal(result, &s); err != nil || s.SessionID == "" {
			return fmt.Errorf("its answer to %s has no sessionId", method)
		}
		id = s.SessionID
	}
	c.mu.Lock()
	c.session = id
	c.mu.Unlock()
	return nil
}
