package acp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/rejoin/rejoin/producer/acp/process"
	"github.com/rejoin/rejoin/producer/acp/rpc"
)

const (
	maxTerminals = 16
	maxOutput    = 1 << 20 // bytes of a terminal's output that are kept
	shownOutput  = 4 << 10 // and that a tool call shows
)

// terminals are those of one session: commands that its agent runs through us.
type terminals struct {
	files *files
	env   []string // of commands; nil means our own

	mu   sync.Mutex
	byID map[string]*terminal
	last int
	work sync.WaitGroup // terminals, and requests that wait for them
}

type terminal struct {
	proc *process.Process
	out  output
	done chan struct{} // closed when it has ended and all its output is read
}

// serve serves a request for a terminal, if it is one.
func (ts *terminals) serve(method string, params json.RawMessage, reply rpc.Reply) bool {
	if method == "terminal/create" {
		reply(ts.create(params))
		return true
	}
	act, ok := map[string]func(*terminal, rpc.Reply){
		"terminal/output":        (*terminal).output,
		"terminal/kill":          func(t *terminal, reply rpc.Reply) { t.proc.Kill(); reply(object{}, nil) },
		"terminal/release":       func(t *terminal, reply rpc.Reply) { t.proc.Kill(); reply(object{}, nil) },
		"terminal/wait_for_exit": ts.wait,
	}[method]
	if !ok {
		return false
	}
	t, err := ts.find(params, method == "terminal/release")
	if err != nil {
		reply(nil, err)
		return true
	}
	act(t, reply)
	return true
}

func (ts *terminals) create(params json.RawMessage) (any, error) {
	var p struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Dir     string   `json:"cwd"`
		Env     []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"env"`
		Limit *uint64 `json:"outputByteLimit"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	dir := ts.files.names[0]
	if p.Dir != "" {
		rel, err := ts.files.inside(p.Dir)
		if err != nil {
			return nil, err
		}
		if at, err := ts.files.root.Stat(rel); err != nil || !at.IsDir() {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "%.300q is no folder", p.Dir)
		}
		dir = filepath.Join(dir, rel)
	}
	env := ts.env
	if env == nil {
		env = os.Environ()
	}
	env = slices.Clip(env)
	for _, e := range p.Env {
		env = append(env, e.Name+"="+e.Value)
	}
	limit := maxOutput
	if p.Limit != nil {
		limit = int(min(*p.Limit, maxOutput))
	}
	id, err := ts.start(process.Config{Command: append([]string{p.Command}, p.Args...), Dir: dir, Env: env, Terminal: true}, limit)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInternal, "%v", err)
	}
	return object{"terminalId": id}, nil
}

func (ts *terminals) start(cfg process.Config, limit int) (id string, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.byID) >= maxTerminals {
		return "", fmt.Errorf("there are %d terminals already; release one first", maxTerminals)
	}
	t := &terminal{out: output{limit: limit}, done: make(chan struct{})}
	if t.proc, err = process.Start(cfg); err != nil {
		return "", err
	}
	ts.last++
	id = "terminal-" + strconv.Itoa(ts.last)
	if ts.byID == nil {
		ts.byID = map[string]*terminal{}
	}
	ts.byID[id] = t
	ts.work.Go(t.run)
	return id, nil
}

// run reads what a terminal prints until it has ended.
func (t *terminal) run() {
	read := make(chan struct{})
	go func() {
		defer close(read)
		t.out.fill(t.proc.Stdout)
	}()
	<-t.proc.Exited()
	within(drainGrace, read) // what has left its group may hold its output for ever
	t.proc.Wait()
	<-read
	close(t.done)
}

func (ts *terminals) find(params json.RawMessage, remove bool) (*terminal, error) {
	var p struct {
		ID string `json:"terminalId"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[p.ID]
	if t == nil {
		return nil, rpc.Errorf(rpc.CodeNotFound, "there is no terminal %.100q", p.ID)
	}
	if remove {
		delete(ts.byID, p.ID)
	}
	return t, nil
}

func (t *terminal) output(reply rpc.Reply) {
	text, cut := t.out.last(maxOutput)
	result := object{"output": text, "truncated": cut, "exitStatus": nil}
	select {
	case <-t.done:
		result["exitStatus"] = t.exit()
	default:
	}
	reply(result, nil)
}

func (t *terminal) exit() object {
	exit := t.proc.Exit()
	if exit.Signal != "" {
		return object{"exitCode": nil, "signal": exit.Signal}
	}
	return object{"exitCode": exit.Code, "signal": nil}
}

// wait replies when a terminal has ended: released and killed ones do.
func (ts *terminals) wait(t *terminal, reply rpc.Reply) {
	ts.work.Go(func() {
		<-t.done
		reply(t.exit(), nil)
	})
}

// tail is the end of what a terminal has printed, nil where there is no such terminal.
func (ts *terminals) tail(id string) json.RawMessage {
	if ts == nil {
		return nil
	}
	ts.mu.Lock()
	t := ts.byID[id]
	ts.mu.Unlock()
	if t == nil {
		return nil
	}
	text, cut := t.out.last(shownOutput)
	b, _ := json.Marshal(object{"output": text, "truncated": cut})
	return b
}

// close kills all terminals and waits for them. No request comes any more.
func (ts *terminals) close() {
	ts.mu.Lock()
	for _, t := range ts.byID {
		t.proc.Kill()
	}
	ts.mu.Unlock()
	ts.work.Wait()
}
