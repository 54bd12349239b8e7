package acp

import (
	"errors"

	"github.com/rejoin/rejoin/producer/acp/rpc"
)

// What ends a turn besides its context. Each is what people see, with details.
var (
	// ErrBusy: as many processes run as may, and all are answering.
	ErrBusy = errors.New("all agent processes are busy")
	// ErrStart: the agent could not be started, or was not ready in time.
	ErrStart = errors.New("the agent did not start")
	// ErrLogin: the agent wants a login that it was not given.
	ErrLogin = errors.New("the agent wants a login")
	// ErrGone: the agent ended, or closed its input or output, during the turn.
	ErrGone = errors.New("the agent is gone")
	// ErrInput: the turn's input has nothing in it to prompt an agent with.
	ErrInput = errors.New("the input is nothing to prompt an agent with")
	// ErrReplaced: the chat's next turn waited for too long.
	ErrReplaced = errors.New("the chat's next turn did not wait any longer")
	// ErrClosed: the Agent was closed.
	ErrClosed = errors.New("the ACP agent is closed")
)

// codes are those of the RUN_ERROR that each error becomes.
var codes = []struct {
	err  error
	code string
}{
	{ErrBusy, "agent_busy"},
	{ErrLogin, "agent_login"},
	{rpc.ErrLineTooLong, "agent_output"},
	{ErrStart, "agent_start"},
	{ErrGone, "agent_gone"},
	{ErrInput, "bad_input"},
	{ErrClosed, "agent_closed"},
}

func codeOf(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "agent_error"
}
