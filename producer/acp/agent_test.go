package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
	"github.com/rejoin/rejoin/producer/agent"
)

var basicScripts = map[string]func(*scripted){
	// echo says what it was asked, in which session and as which process.
	"echo": func(a *scripted) { a.echo(a.hello()) },
	"echo that loads": func(a *scripted) {
		a.echo(a.helloWith(object{"loadSession": true}))
	},
	"echo that resumes": func(a *scripted) {
		a.echo(a.helloWith(object{"loadSession": true, "sessionCapabilities": object{"resume": object{}}}))
	},
	"forgetful": func(a *scripted) {
		a.reply(a.hear(), object{"protocolVersion": 1, "agentCapabilities": object{"loadSession": true}})
		m := a.hear()
		if m.Method == "session/load" {
			a.refuse(m, -32002, "no such session")
			m = a.hear()
		}
		a.reply(m, object{"sessionId": a.session})
		a.echo(a.prompt())
	},
	"one that shows its params": func(a *scripted) {
		m := a.hear()
		all := string(m.Params)
		a.reply(m, object{"protocolVersion": 1, "agentCapabilities": object{"promptCapabilities": object{"image": true}}})
		m = a.hear()
		all += "\n" + string(m.Params)
		a.reply(m, object{"sessionId": a.session})
		m = a.prompt()
		a.write(a.text(all + "\n" + string(m.Params)))
		a.done(m, "end_turn")
		a.hear()
	},
	"one that wants a login": func(a *scripted) {
		a.login(true)
	},
	"one that wants a login it does not name": func(a *scripted) {
		a.login(false)
	},
	"one of the future": func(a *scripted) {
		a.reply(a.hear(), object{"protocolVersion": 2})
		a.hear()
	},
	"one that says nothing": func(a *scripted) {
		a.write("Downloading the internet...\n")
		fmt.Fprintln(os.Stderr, "no network")
		for {
			a.hear()
		}
	},
	"one that fails": func(a *scripted) {
		m := a.hello()
		a.write(a.text("half"))
		a.refuse(m, -32603, "the model is\x1b[31m overloaded")
		a.echo(a.prompt())
	},
	"one whose login expires": func(a *scripted) {
		a.refuse(a.hello(), -32000, "your login has expired")
		a.hear()
	},
	"refusing": func(a *scripted) {
		a.done(a.hello(), "refusal")
		a.hear()
	},
}

func (a *scripted) echo(m message) {
	for {
		a.write(a.text(fmt.Sprintf("%s %s %d %d", asked(m), a.session, os.Getpid(), a.prompts)))
		a.done(m, "end_turn")
		m = a.prompt()
	}
}

func (a *scripted) login(named bool) {
	methods := []object{}
	if named {
		methods = append(methods, object{"id": "key", "name": "a key"}, object{"id": "browser", "name": "a browser"})
	}
	in := false
	for {
		m := a.hear()
		switch {
		case m.Method == "initialize":
			a.reply(m, object{"protocolVersion": 1, "authMethods": methods})
		case m.Method == "authenticate":
			in = strings.Contains(string(m.Params), "key")
			a.say(object{"jsonrpc": "2.0", "id": m.ID}) // undefined, in JSON
		case !in:
			a.refuse(m, -32000, "log in first")
		case m.Method == "session/new":
			a.reply(m, object{"sessionId": a.session})
		default:
			a.write(a.text("welcome"))
			a.done(m, "end_turn")
		}
	}
}

func TestATurnIsAnsweredAndItsProcessKept(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "echo")
	one := newTurn(t, "c", "one")
	first := strings.Fields(one.finished(a))
	require.Equal(t, "one", first[0])
	require.Equal(t, "end_turn", one.last().Result.StopReason)
	require.Contains(t, one.all()[0], "RUN_STARTED")

	second := strings.Fields(newTurn(t, "c", "two").finished(a))
	require.Equal(t, append([]string{"two"}, append(first[1:3], "2")...), second, "same session, same process, second prompt")
	other := strings.Fields(newTurn(t, "d", "three").finished(a))
	require.NotEqual(t, first[2], other[2], "another chat has another process")
}

func TestTheLongestIdleProcessMakesRoom(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "echo", func(c *acp.Config) { c.MaxProcesses = 2 })
	c := strings.Fields(newTurn(t, "c", "1").finished(a))
	d := strings.Fields(newTurn(t, "d", "2").finished(a))
	require.Equal(t, c[2], strings.Fields(newTurn(t, "c", "3").finished(a))[2])
	newTurn(t, "e", "4").finished(a)
	require.Equal(t, c[2], strings.Fields(newTurn(t, "c", "5").finished(a))[2], "it was not the longest idle one")
	require.NotEqual(t, d[2], strings.Fields(newTurn(t, "d", "6").finished(a))[2])
}

func TestAllProcessesBusyIsAnError(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "blocked", func(c *acp.Config) { c.MaxProcesses = 1 })
	busy := newTurn(t, "c", "1")
	over := busy.begin(a)
	busy.until(1, "acp.permission.request")
	late := newTurn(t, "d", "2")
	require.ErrorIs(t, late.run(a), acp.ErrBusy)
	require.Equal(t, "agent_busy", late.last().Code)
	require.Contains(t, late.last().Message, "1 may run at once")
	busy.stop(agent.ErrStopped)
	_ = busy.wait(over)
}

func TestAnIdleProcessEnds(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "echo", func(c *acp.Config) { c.IdleLimit = time.Millisecond })
	first := strings.Fields(newTurn(t, "c", "one").finished(a))
	require.Eventually(t, func() bool { return !lives(t, first[2]) }, patience, time.Millisecond)
	require.NotEqual(t, first[2], strings.Fields(newTurn(t, "c", "two").finished(a))[2])
}

func TestALostProcessIsFollowedByTheSameSession(t *testing.T) {
	t.Parallel()
	for script, same := range map[string]bool{"echo that loads": true, "echo that resumes": true, "echo": false, "forgetful": false} {
		log := &testLog{t: t, wants: "an agent process has ended", seen: make(chan struct{}, 10)}
		a := newAgent(t, script, func(c *acp.Config) { c.Logger = slogger(log) })
		first := strings.Fields(newTurn(t, "c", "one").finished(a))
		killed(t, first[2])
		log.wait()
		second := strings.Fields(newTurn(t, "c", "two").finished(a))
		require.Len(t, second, 4, "nothing is replayed")
		require.Equal(t, "two", second[0])
		require.Equal(t, same, first[1] == second[1], "%s: the same session", script)
		require.NotEqual(t, first[2], second[2])
	}
}

func TestWhatTheAgentIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, root := range []string{"", dir} {
		a := newAgent(t, "one that shows its params", func(c *acp.Config) { c.Root, c.Dir, c.Version = root, dir, "1.2" })
		r := newTurn(t, "c", "x")
		r.req.Input = json.RawMessage(`{"threadId":"c","runId":"r","messages":[
			{"id":"1","role":"user","content":"old"},{"id":"2","role":"assistant","content":"no"},
			{"id":"3","role":"user","content":[
				{"type":"text","text":"look"},
				{"type":"image","source":{"type":"data","value":"aW1n","mimeType":"image/png"}},
				{"type":"binary","mimeType":"application/pdf","url":"https://example.org/a/b.pdf?x=1"},
				{"type":"binary","mimeType":"application/zip","data":"emlw","filename":"all.zip"}]},
			{"id":"4","role":"assistant","content":"no"}]}`)
		told := strings.Split(r.finished(a), "\n")
		able := fmt.Sprint(root != "")
		require.JSONEq(t, `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":`+able+`,"writeTextFile":`+able+`},"terminal":`+able+`,"elicitation":{"form":{}}},"clientInfo":{"name":"rejoin","title":"Rejoin","version":"1.2"}}`, told[0])
		require.JSONEq(t, `{"cwd":"`+dir+`","mcpServers":[]}`, told[1])
		var p struct {
			SessionID string          `json:"sessionId"`
			Prompt    json.RawMessage `json:"prompt"`
		}
		require.NoError(t, json.Unmarshal([]byte(told[2]), &p))
		require.JSONEq(t, `[{"type":"text","text":"look"},{"type":"image","data":"aW1n","mimeType":"image/png"},
			{"type":"resource_link","uri":"https://example.org/a/b.pdf?x=1","name":"b.pdf","mimeType":"application/pdf"},
			{"type":"text","text":"[The user attached all.zip, which cannot be shown to you.]"}]`, string(p.Prompt))
	}
}

func TestInputsThatPromptNobody(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "echo")
	for _, input := range []string{`{}`, `{"text":" "}`, `{"messages":[]}`, `{"messages":[{"role":"assistant","content":"x"}]}`, `{"messages":[{"role":"user","content":7}]}`, `[]`} {
		r := newTurn(t, "c", "x")
		r.req.Input = json.RawMessage(input)
		require.ErrorIs(t, r.run(a), acp.ErrInput, input)
		require.Equal(t, "bad_input", r.last().Code)
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"one that wants a login", "one that wants a login it does not name"} {
		a := newAgent(t, script, func(c *acp.Config) { c.AuthMethod = "key" })
		require.Equal(t, "welcome", newTurn(t, "c", "x").finished(a))
	}
	for method, want := range map[string]string{
		"":        "key, browser",
		"browser": "browser was not enough",
		"other":   `no method "other", but key, browser`,
	} {
		a := newAgent(t, "one that wants a login", func(c *acp.Config) { c.AuthMethod = method })
		r := newTurn(t, "c", "x")
		require.ErrorIs(t, r.run(a), acp.ErrLogin)
		require.Contains(t, r.last().Message, want)
		require.Equal(t, "agent_login", r.last().Code)
	}
}

func TestALoginThatExpires(t *testing.T) {
	t.Parallel()
	r := newTurn(t, "c", "x")
	require.ErrorIs(t, r.run(newAgent(t, "one whose login expires")), acp.ErrLogin)
	require.Contains(t, r.last().Message, "your login has expired")
}

func TestAgentsThatDoNotStart(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"one of the future":     "version 2 of ACP and not version 1",
		"one that says nothing": "Downloading the internet",
		"no script at all":      "exit code 9: no such script",
	} {
		a := newAgent(t, script, func(c *acp.Config) {
			if script == "one that says nothing" {
				c.StartTimeout = 5 * time.Second // in which a busy machine has it begun to speak
			}
		})
		r := newTurn(t, "c", "x")
		require.ErrorIs(t, r.run(a), acp.ErrStart)
		require.Contains(t, r.last().Message, want)
		require.Equal(t, "agent_start", r.last().Code)
	}
	a := newAgent(t, "echo", func(c *acp.Config) { c.Command = []string{filepath.Join(t.TempDir(), "gone")} })
	r := newTurn(t, "c", "x")
	require.ErrorIs(t, r.run(a), acp.ErrStart)
}

func TestAnErrorOfThePromptEndsTheTurnAndNotTheProcess(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "one that fails")
	r := newTurn(t, "c", "one")
	require.ErrorContains(t, r.run(a), "the model is overloaded")
	require.Equal(t, "half", r.text())
	require.Equal(t, "agent_error", r.last().Code)
	require.Contains(t, newTurn(t, "c", "two").finished(a), "two")
}

func TestARefusalIsAResult(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "refusing")
	r := newTurn(t, "c", "one")
	require.Empty(t, r.finished(a))
	require.Equal(t, "refusal", r.last().Result.StopReason)
}

func TestConfigsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, cfg := range []acp.Config{{}, {Command: []string{""}}, {Command: []string{"x"}, MaxLine: -1}, {Command: []string{"x"}, Dir: "/does/not/exist"}, {Command: []string{"x"}, Root: "/etc/hosts"}} {
		_, err := acp.New(cfg)
		require.Error(t, err)
	}
}

func TestAClosedAgentAnswersNothing(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "blocked")
	r := newTurn(t, "c", "x")
	over := r.begin(a)
	r.until(1, "acp.permission.request")
	require.NoError(t, a.Close(t.Context()))
	_ = r.wait(over)
	require.ErrorIs(t, newTurn(t, "c", "y").run(a), acp.ErrClosed)
	require.NoError(t, a.Close(t.Context()))
}
