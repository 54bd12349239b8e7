package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// scripted is an ACP agent that does what a test wants. It is a process of its own.
type scripted struct {
	in *bufio.Reader

	session string
	prompts int // how many there were
}

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// play is what a copy of the test binary does: it is the agent of that name.
func play(name string) {
	a := &scripted{in: bufio.NewReader(os.Stdin), session: fmt.Sprintf("s-%d", os.Getpid())}
	script, ok := scripts[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such script:", name)
		os.Exit(9)
	}
	script(a)
}

// hear reads the next message. The end of input ends the process, as it should.
func (a *scripted) hear() message {
	line, err := a.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		fmt.Fprintf(os.Stderr, "not JSON: %.100q\n", line)
		os.Exit(8)
	}
	return m
}

// write writes as is, in one write.
func (a *scripted) write(text string) { _, _ = io.WriteString(os.Stdout, text) }

func (a *scripted) say(v any) {
	b, _ := json.Marshal(v)
	a.write(string(b) + "\n")
}

type object = map[string]any

func (a *scripted) reply(m message, result any) {
	a.say(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

func (a *scripted) refuse(m message, code int, text string) {
	a.say(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": code, "message": text}})
}

func (a *scripted) request(id any, method string, params object) {
	params["sessionId"] = a.session
	a.say(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// text is the line of an update with text in it.
func (a *scripted) text(text string) string {
	b, _ := json.Marshal(object{"jsonrpc": "2.0", "method": "session/update", "params": object{
		"sessionId": a.session,
		"update":    object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}},
	}})
	return string(b) + "\n"
}

func (a *scripted) done(m message, reason string) { a.reply(m, object{"stopReason": reason}) }

// permission asks for one. The options are yes and no.
func (a *scripted) permission(id any) {
	a.request(id, "session/request_permission", object{
		"toolCall": object{"toolCallId": fmt.Sprint("call-", id), "title": "a deed"},
		"options":  []object{{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}},
	})
}

// hello answers what comes before the first prompt, and gives that.
func (a *scripted) hello() message { return a.helloWith(object{}) }

func (a *scripted) helloWith(capabilities object) message {
	for {
		m := a.hear()
		switch m.Method {
		case "initialize":
			a.reply(m, object{"protocolVersion": 1, "agentCapabilities": capabilities})
		case "session/new":
			a.reply(m, object{"sessionId": a.session})
		case "session/load", "session/resume":
			var p struct{ SessionID string }
			_ = json.Unmarshal(m.Params, &p)
			a.session = p.SessionID
			a.write(a.text("replayed"))
			a.reply(m, object{})
		case "session/prompt":
			a.prompts++
			return m
		}
	}
}

// prompt waits for the next prompt.
func (a *scripted) prompt() message {
	for {
		if m := a.hear(); m.Method == "session/prompt" {
			a.prompts++
			return m
		}
	}
}

// asked is what a prompt says.
func asked(m message) string {
	var p struct {
		Prompt []struct{ Text string }
	}
	_ = json.Unmarshal(m.Params, &p)
	var texts []string
	for _, b := range p.Prompt {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "|")
}

// answers reads the answers to that many requests, in order of their ids, and says each.
func (a *scripted) answers(n int) {
	got := map[string]string{}
	for len(got) < n {
		m := a.hear()
		switch {
		case m.Method != "":
			got[m.Method] = ""
			n++
		case len(m.Error) > 0:
			got[string(m.ID)] = "error " + string(m.Error)
		default:
			got[string(m.ID)] = string(m.Result)
		}
	}
	b, _ := json.Marshal(got)
	a.write(a.text(string(b)))
}
