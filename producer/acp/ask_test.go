package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
	"github.com/rejoin/rejoin/producer/agent"
)

var askScripts = map[string]func(*scripted){
	"permission": func(a *scripted) {
		m := a.hello()
		a.write(a.text("before"))
		a.permission(0)
		a.answers(1)
		a.done(m, "end_turn")
		a.hear()
	},
	// blocked asks once for each character of its prompt's text, and says what it got.
	"blocked": func(a *scripted) {
		m := a.hello()
		n := len(asked(m))
		for i := range n {
			a.permission(i)
		}
		a.answers(n)
		a.done(m, "cancelled")
		a.echo(a.prompt())
	},
	"asks after the cancel": func(a *scripted) {
		m := a.hello()
		a.write(a.text("working"))
		for a.hear().Method != "session/cancel" {
		}
		a.permission(1)
		a.answers(1)
		a.done(m, "cancelled")
		a.write(a.text(" late"))
		a.echo(a.prompt())
	},
	"asks and answers at once": func(a *scripted) {
		m := a.hello()
		a.permission(1)
		a.done(m, "end_turn")
		a.hear()
		a.echo(a.prompt())
	},
	"ignores the cancel": func(a *scripted) {
		a.hello()
		a.write(a.text(fmt.Sprint("working ", os.Getpid())))
		for {
			a.hear()
		}
	},
	"fails on cancel": func(a *scripted) {
		m := a.hello()
		a.write(a.text("working"))
		for a.hear().Method != "session/cancel" {
		}
		a.refuse(m, -32800, "cancelled")
		a.echo(a.prompt())
	},
	"form": func(a *scripted) {
		m := a.hello()
		a.request(1, "elicitation/create", object{"mode": "form", "message": "your name?", "requestedSchema": object{"type": "object", "properties": object{"name": object{"type": "string"}}}})
		a.answers(1)
		a.done(m, "end_turn")
		a.hear()
	},
	"page": func(a *scripted) {
		m := a.hello()
		a.request(1, "elicitation/create", object{"mode": "url", "message": "log in", "elicitationId": "e1", "url": "https://example.org/login?secret=42"})
		a.answers(1)
		a.done(m, "end_turn")
		a.hear()
	},
	"odd questions": func(a *scripted) {
		m := a.hello()
		a.request(1, "session/request_permission", object{})
		a.request(2, "elicitation/create", object{"mode": "dance", "message": "x"})
		a.say(object{"jsonrpc": "2.0", "id": 3, "method": "session/request_permission", "params": object{"sessionId": "another"}})
		a.say(object{"jsonrpc": "2.0", "id": 4, "method": "fs/read_text_file", "params": object{"path": "/etc/passwd"}})
		a.say(object{"jsonrpc": "2.0", "id": 5, "method": "terminal/create", "params": object{"command": "id"}})
		a.say(object{"jsonrpc": "2.0", "id": 6, "method": "_x/y"})
		a.say(object{"jsonrpc": "2.0", "id": 7, "method": "_x/y", "params": []int{1}})
		a.answers(7)
		a.done(m, "end_turn")
		a.hear()
	},
}

func TestAPermissionIsAskedAfterAllBeforeIt(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]string{
		"yes": `{"0":"{\"outcome\":{\"optionId\":\"yes\",\"outcome\":\"selected\"}}"}`,
		"no":  `{"0":"{\"outcome\":{\"optionId\":\"no\",\"outcome\":\"selected\"}}"}`,
		"":    `{"0":"{\"outcome\":{\"outcome\":\"cancelled\"}}"}`,
	} {
		r := newTurn(t, "c", "x")
		r.answer = func(q agent.Question) json.RawMessage {
			require.Equal(t, "acp.permission", q.Name)
			require.Equal(t, []string{"yes", "no"}, q.Options)
			require.Equal(t, "before", r.text())
			if option == "" {
				return whole(`{"outcome":"cancelled"}`)
			}
			return selected(option)
		}
		require.Equal(t, "before"+want, r.finished(newAgent(t, "permission")))
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]string{
		`{"action":"accept","content":{"name":"Ada","n":1.50}}`: `{"1":"{\"action\":\"accept\",\"content\":{\"name\":\"Ada\",\"n\":1.50}}"}`,
		`{"action":"accept"}`:  `{"1":"{\"action\":\"accept\"}"}`,
		`{"action":"decline"}`: `{"1":"{\"action\":\"decline\"}"}`,
		`{"action":"cancel"}`:  `{"1":"{\"action\":\"cancel\"}"}`,
		`{"something":"else"}`: `{"1":"{\"action\":\"cancel\"}"}`,
	} {
		r := newTurn(t, "c", "x")
		r.answer = func(q agent.Question) json.RawMessage {
			require.Equal(t, "acp.elicitation", q.Name)
			require.Empty(t, q.Options)
			return json.RawMessage(outcome)
		}
		require.Equal(t, want, r.finished(newAgent(t, "form")))
	}
}

func TestTheAddressOfAPageIsNotStored(t *testing.T) {
	t.Parallel()
	r := newTurn(t, "c", "x")
	r.answer = func(q agent.Question) json.RawMessage {
		b, err := json.Marshal(q.Value)
		require.NoError(t, err)
		require.NotContains(t, string(b), "secret")
		require.Contains(t, string(b), "example.org")
		return whole(`{"action":"accept"}`)
	}
	require.Equal(t, `{"1":"{\"action\":\"accept\"}"}`, r.finished(newAgent(t, "page")))
}

func TestQuestionsThatAreNone(t *testing.T) {
	t.Parallel()
	r := newTurn(t, "c", "x")
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(r.finished(newAgent(t, "odd questions"))), &got))
	for id, code := range map[string]string{"1": "-32602", "2": "-32602", "3": "-32602", "4": "-32601", "5": "-32601", "6": "-32601", "7": "-32601"} {
		require.Contains(t, got[id], code, id)
	}
	require.Empty(t, r.questions)
}

func TestAPP04_StopWhilePermissionsAreOpen(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		a := newAgent(t, "blocked")
		r := newTurn(t, "c", strings.Repeat("x", n))
		over := r.begin(a)
		r.until(n, "acp.permission.request")
		r.stop(agent.ErrStopped)
		require.NoError(t, r.wait(over))
		var got map[string]string
		require.NoError(t, json.Unmarshal([]byte(r.text()), &got))
		require.Len(t, got, n+1)
		require.Contains(t, got, "session/cancel")
		for i := range n {
			require.JSONEq(t, `{"outcome":{"outcome":"cancelled"}}`, got[fmt.Sprint(i)])
		}
		require.Equal(t, "cancelled", r.last().Result.StopReason)
		require.Equal(t, "cancelled", r.last().Outcome.Type)
		require.Contains(t, newTurn(t, "c", "next").finished(a), "next", "the process has stayed")
	}
}

func TestAPP04_ANewMessageWhileAPermissionIsOpen(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "blocked")
	r := newTurn(t, "c", "x")
	over := r.begin(a)
	r.until(1, "acp.permission.request")
	next := newTurn(t, "c", "next")
	nextOver := next.begin(a)
	r.stop(agent.ErrSuperseded)
	require.NoError(t, r.wait(over))
	require.NoError(t, next.wait(nextOver))
	require.Contains(t, next.text(), "next")
	require.Equal(t, "cancelled", r.last().Result.StopReason)
}

func TestAPP04_WhatIsAskedAfterTheCancelIsCancelled(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "asks after the cancel")
	r := newTurn(t, "c", "x")
	over := r.begin(a)
	r.until(1, "working")
	r.stop(agent.ErrStopped)
	require.NoError(t, r.wait(over))
	require.Equal(t, `working{"1":"{\"outcome\":{\"outcome\":\"cancelled\"}}"} late`, r.text())
	require.Empty(t, r.questions)
	require.Contains(t, newTurn(t, "c", "next").finished(a), "next")
}

func TestAnAnsweredPromptClosesItsQuestions(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "asks and answers at once")
	r := newTurn(t, "c", "x")
	r.finished(a)
	r.until(1, "acp.permission.resolved")
	require.Contains(t, newTurn(t, "c", "next").finished(a), "next")
}

func TestSTOP02_AnAgentThatIgnoresTheCancelIsKilled(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "ignores the cancel", func(c *acp.Config) { c.CancelTimeout = 100 * time.Millisecond })
	r := newTurn(t, "c", "x")
	over := r.begin(a)
	r.until(1, "working")
	r.stop(agent.ErrStopped)
	require.ErrorIs(t, r.wait(over), agent.ErrStopped)
	require.NotContains(t, strings.Join(r.all(), "\n"), "RUN_ERROR")
	gone(t, strings.Fields(r.text())[1])
}

func TestSTOP02_ACancelAnsweredWithAnError(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "fails on cancel")
	r := newTurn(t, "c", "x")
	over := r.begin(a)
	r.until(1, "working")
	r.stop(agent.ErrStopped)
	require.ErrorIs(t, r.wait(over), agent.ErrStopped)
	require.Contains(t, newTurn(t, "c", "next").finished(a), "next")
}

func TestSTOP02_AStopWhileTheAgentStarts(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "one that says nothing")
	r := newTurn(t, "c", "x")
	over := r.begin(a)
	r.until(1, "RUN_STARTED")
	r.stop(agent.ErrStopped)
	require.ErrorIs(t, r.wait(over), agent.ErrStopped)
}

func TestSTOP02_ATurnThatIsOverIsCancelled(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "fails on cancel")
	r := newTurn(t, "c", "x")
	r.refuse = func(event string) error {
		if strings.Contains(event, "working") {
			return agent.ErrOver
		}
		return nil
	}
	require.ErrorIs(t, r.run(a), agent.ErrOver)
}

func TestTheNextTurnKillsAProcessThatItWaitsForTooLong(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "ignores the cancel", func(c *acp.Config) { c.CancelTimeout = 100 * time.Millisecond })
	r := newTurn(t, "c", "x")
	over := r.begin(a)
	r.until(1, "working")
	next := newTurn(t, "c", "y")
	nextOver := next.begin(a)
	require.ErrorIs(t, r.wait(over), acp.ErrReplaced)
	next.until(1, "working")
	next.stop(agent.ErrStopped)
	_ = next.wait(nextOver)
}
