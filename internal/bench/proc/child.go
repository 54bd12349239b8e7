package proc

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Child is one process that a Set has started. Its methods may be called from any
// goroutine.
type Child struct {
	spec  Spec
	cmd   *exec.Cmd
	stdin io.Closer
	out   io.Closer
	addr  chan string   // gets the address, once
	gone  chan struct{} // closed once it is reaped

	mu   sync.Mutex
	at   string
	said []byte // the last of its standard error
}

// lastWords is how long what a killed child has written is waited for.
const lastWords = time.Second

// keptOutput is how much of what a child says last is kept for the errors about it.
const keptOutput = 16 << 10

func begin(spec Spec) (*Child, error) {
	c := &Child{spec: spec, addr: make(chan string, 1), gone: make(chan struct{})}
	c.cmd = exec.Command(spec.Path, spec.Args...) //nolint:noctx // it outlives the call; Kill ends it
	c.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(spec.Without, func(prefix string) bool { return strings.HasPrefix(v, prefix) })
	}), spec.Env...)
	c.cmd.Stderr = (*errorOutput)(c)
	c.cmd.WaitDelay = lastWords
	tie(c.cmd)
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.out = out
	go c.listen(out)
	return c, nil
}

// listen finds the address in what the child says, and reaps it at its end.
func (c *Child) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for found := false; lines.Scan(); {
		if line := lines.Text(); !found && strings.HasPrefix(line, c.spec.Says) {
			found = true
			c.addr <- line[strings.LastIndexByte(line, ' ')+1:]
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line too long to scan must not block it
	_ = c.cmd.Wait()
	close(c.gone)
}

// ready waits until the child serves.
func (c *Child) ready(ctx context.Context, wait time.Duration) error {
	wait = cmp.Or(wait, defaultWait)
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case at := <-c.addr:
		c.mu.Lock()
		c.at = at
		c.mu.Unlock()
		return nil
	case <-c.gone:
		return c.failed("it ended")
	case <-late.C:
		return c.failed(fmt.Sprintf("it said nothing for %v", wait))
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Child) failed(why string) error {
	if said := c.Said(); said != "" {
		why += ": " + said
	}
	return fmt.Errorf("%w: %s: %s", ErrStart, c.spec.Name, why)
}

// Name is what Spec.Name says.
func (c *Child) Name() string { return c.spec.Name }

// PID is the process's id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Addr is where the child serves, as it has said it.
func (c *Child) Addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Said is the last of what the child wrote to standard error, at most 16 KiB.
func (c *Child) Said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(string(c.said))
}

// Gone is closed once the child has ended and is reaped.
func (c *Child) Gone() <-chan struct{} { return c.gone }

// Usage is what the child uses. The error is ErrUsage, also once it is gone.
func (c *Child) Usage() (Usage, error) {
	select {
	case <-c.gone:
		return Usage{}, fmt.Errorf("%w: %s has ended", ErrUsage, c.spec.Name)
	default:
		return Of(c.PID())
	}
}

// Kill ends the child as a crash does, with SIGKILL, and returns once it is reaped. A
// second call waits for the first.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // fails only where it is gone
	_ = c.stdin.Close()
	select {
	case <-c.gone:
	case <-time.After(lastWords):
		_ = c.out.Close() // a child of its own has it, too, and lives on
		<-c.gone
	}
}

// errorOutput keeps the last of what the child writes.
type errorOutput Child

func (o *errorOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = append(o.said, b...)
	if over := len(o.said) - keptOutput; over > 0 {
		o.said = append(o.said[:0], o.said[over:]...)
	}
	return len(b), nil
}
