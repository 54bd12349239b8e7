package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/producer/acp/process"
	"github.com/rejoin/rejoin/producer/acp/rpc"
)

const (
	// endGrace is how long a process may take to end when its input has, and again
	// after SIGTERM.
	endGrace = 500 * time.Millisecond
	// exitGrace is how long an exit may be behind the end of what the process wrote.
	exitGrace = 300 * time.Millisecond
	// drainGrace is how long what a process wrote may take to be read after its exit:
	// something else may hold its output open.
	drainGrace = time.Second
	// maxQuote is how much of an agent's own words errors and logs have, in bytes.
	maxQuote = 300
	// maxNotes is how much of one kind is logged of a process; the rest is only counted.
	maxNotes = 20
)

// conn is one process of the agent, with one session.
type conn struct {
	cfg  *Config
	log  *slog.Logger
	proc *process.Process
	peer *rpc.Peer
	caps capabilities // set by ready

	files     *files     // nil without a root
	terminals *terminals // nil without a root

	failed chan struct{} // closed when err is set
	err    error         // why it is over, for people

	mu      sync.Mutex
	session string
	turn    *turn    // nil between turns
	keeping bool     // updates wait for the session's first turn
	kept    []update // those that do
	size    int      // bytes of kept
	junk    string   // the last line of output that was no message

	dropped atomic.Int64 // updates that came between turns, or were nobody's
}

// start starts a process. The caller has to serve it.
func start(cfg *Config, root *os.Root) (*conn, error) {
	c := &conn{cfg: cfg, failed: make(chan struct{}), keeping: true}
	var err error
	c.proc, err = process.Start(process.Config{Command: cfg.Command, Dir: cfg.Dir, Env: cfg.Env, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	c.log = cfg.Logger.With("pid", c.proc.Pid())
	c.peer = rpc.New(c.proc.Stdout, c.proc.Stdin, rpc.Config{
		Handler: c, MaxLine: cfg.MaxLine, WriteTimeout: cfg.WriteTimeout, Junk: c.skipped,
	})
	if root != nil {
		c.files = newFiles(root, cfg.Root)
		c.terminals = &terminals{files: c.files, env: cfg.Env}
	}
	c.log.Debug("an agent process was started")
	return c, nil
}

// serve runs the connection until the process has ended, with all that belongs to it.
func (c *conn) serve() {
	var watch sync.WaitGroup
	watch.Go(c.watch)
	reason := c.peer.Run()
	c.err = c.explain(reason)
	close(c.failed)
	if c.terminals != nil {
		c.terminals.close()
	}
	c.proc.End(endGrace)
	exit := c.proc.Wait()
	watch.Wait()
	c.log.Debug("an agent process has ended", "why", c.err, "exit", exit.String(),
		"lines_skipped", c.peer.Junk(), "responses_unknown", c.peer.Unknown(), "updates_dropped", c.dropped.Load())
}

// watch ends the connection of a process that has ended, even if its output has not.
func (c *conn) watch() {
	select {
	case <-c.proc.Exited():
	case <-c.peer.Done():
		return
	}
	late := time.NewTimer(drainGrace)
	defer late.Stop()
	select {
	case <-late.C:
		c.peer.Fail(rpc.ErrEnded)
	case <-c.peer.Done():
	}
}

// explain says for people why the connection is over.
func (c *conn) explain(reason error) error {
	var how string
	switch {
	case errors.Is(reason, rpc.ErrEnded):
		how = "it has closed its output"
	case errors.Is(reason, rpc.ErrRefused):
		how = "it has closed its input"
	case errors.Is(reason, rpc.ErrStalled):
		how = fmt.Sprintf("it has not read its input for %s", c.cfg.WriteTimeout)
	default:
		return reason // our own doing, or a line too long
	}
	if within(exitGrace, c.proc.Exited()) {
		within(exitGrace, c.proc.Told())
		how = "it ended with " + c.proc.Exit().String()
	}
	if last := c.proc.LastLine(); last != "" {
		how += ": " + last
	}
	return fmt.Errorf("%w: %s", ErrGone, how)
}

func within(d time.Duration, done <-chan struct{}) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}

// close ends the process in good order, kill at once. Neither waits.
func (c *conn) close() { c.peer.Close() }

func (c *conn) kill(why error) {
	c.peer.Fail(why)
	c.proc.Kill()
}

func (c *conn) alive() bool { return c.peer.Err() == nil }

// fresh reports whether an idle process is fit for a turn. It may have died just now:
// its closed input shows that before its output does.
func (c *conn) fresh() bool { return c.alive() && !c.proc.Deaf() }

// usable reports whether the process may get another turn.
func (c *conn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != "" && c.alive()
}

func (c *conn) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// skipped notes a line of output that was no message.
func (c *conn) skipped(line []byte) {
	text := process.Clean(line[:min(len(line), 4*maxQuote)], maxQuote)
	if text == "" {
		return
	}
	c.mu.Lock()
	c.junk = text
	c.mu.Unlock()
	if c.peer.Junk() <= maxNotes { // the rest is counted
		c.log.Debug("a line of the agent's output was skipped", "line", text)
	}
}

// call calls a method of the agent. The error is for people, and an *rpc.Error if it is
// the agent's.
func (c *conn) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	result, err := c.peer.Call(ctx, method, params)
	if err == nil {
		return result, nil
	}
	return nil, c.because(ctx, method, err)
}

// because turns the error of a call into one for people.
func (c *conn) because(ctx context.Context, method string, err error) error {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		e.Message = process.Clean([]byte(e.Message), maxQuote)
		return fmt.Errorf("%s: %w", method, e)
	}
	if c.alive() {
		return err // the cause of ctx
	}
	select {
	case <-c.failed:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
