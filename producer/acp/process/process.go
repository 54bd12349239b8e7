package process

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Config says what to run.
type Config struct {
	Command []string // required: the program, looked up in PATH, and its arguments
	Dir     string   // working directory; "" means ours
	Env     []string // NAME=value pairs; nil means our own environment

	// Terminal makes one output of standard output and standard error, and an empty
	// standard input.
	Terminal bool

	Logger *slog.Logger // for standard error; nil means that it is dropped
}

// Process is a command that runs, or has run. Its methods may be called at once.
type Process struct {
	Stdin  *os.File // nil for a terminal
	Stdout *os.File // closed by Wait

	cmd    *exec.Cmd
	said   *stderr
	errs   *os.File
	told   chan struct{} // closed when all of standard error is read
	exited chan struct{} // closed when it has ended, its group is killed, and it is reaped
	exit   Exit

	mu    sync.Mutex
	alive bool // its process id is still its own
	ended sync.Once
}

// Exit says how a process ended.
type Exit struct {
	Code   int    // -1 when a signal ended it
	Signal string // such as SIGKILL; "" for none
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Start runs a command. The caller has to call End or Kill, then Wait.
func Start(cfg Config) (*Process, error) {
	if len(cfg.Command) == 0 || cfg.Command[0] == "" {
		return nil, errors.New("no command to run")
	}
	if at, err := os.Stat(cfg.Dir); cfg.Dir != "" && (err != nil || !at.IsDir()) {
		return nil, fmt.Errorf("%q is not a folder to run a command in", cfg.Dir)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Process{
		cmd:    exec.Command(cfg.Command[0], cfg.Command[1:]...), //nolint:noctx // ended by End, as a group
		said:   &stderr{log: cfg.Logger},
		told:   make(chan struct{}),
		exited: make(chan struct{}),
		alive:  true,
	}
	p.cmd.Dir, p.cmd.Env = cfg.Dir, cfg.Env
	group(p.cmd)

	theirs, err := p.pipes(cfg.Terminal)
	if err != nil {
		p.closeOurs()
		closeAll(theirs)
		return nil, fmt.Errorf("make pipes for %s: %w", cfg.Command[0], err)
	}
	started := make(chan error, 1)
	go p.live(started)
	err = <-started
	closeAll(theirs)
	if err != nil {
		p.closeOurs()
		return nil, fmt.Errorf("start %s: %w", Clean([]byte(cfg.Command[0]), maxLast), err) // arguments may be secrets
	}
	if p.errs == nil {
		close(p.told)
		return p, nil
	}
	go func() {
		defer close(p.told)
		p.said.drain(p.errs)
	}()
	return p, nil
}

// live is the process's own goroutine, on a thread of its own: under Linux the process
// is killed with the thread that started it, so this one lives as long as it does.
func (p *Process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	reap(p.cmd, p.sweep)
	p.exit = exitOf(p.cmd.ProcessState)
	close(p.exited)
}

// sweep kills what is left of the group of a process that has ended.
func (p *Process) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	signalGroup(p.cmd, kill)
	p.alive = false
}

// pipes makes what the process reads and writes. It gives the process's ends.
func (p *Process) pipes(terminal bool) (theirs []*os.File, err error) {
	pipe := func(ours, its **os.File, reading bool) {
		if err != nil {
			return
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			return
		}
		if !reading {
			r, w = w, r
		}
		*ours, *its = r, w
		theirs = append(theirs, w)
	}
	var in, out, errs *os.File
	pipe(&p.Stdout, &out, true)
	if !terminal {
		pipe(&p.Stdin, &in, false)
		pipe(&p.errs, &errs, true)
	}
	if err != nil {
		return theirs, err
	}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if !terminal {
		p.cmd.Stdin, p.cmd.Stderr = in, errs
	}
	return theirs, nil
}

// Exited is closed when the process has ended and its group was killed.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the process ended. It is only valid when Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// Told is closed when all that the process wrote to standard error has been read.
func (p *Process) Told() <-chan struct{} { return p.told }

// LastLine is the last line the process wrote to standard error, at most 300 bytes.
func (p *Process) LastLine() string { return p.said.lastLine() }

// Pid is the id of the process and of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// End asks the process to end and sees that it does: it closes standard input, sends
// SIGTERM to the group after grace, and SIGKILL after another. It returns when the
// process is gone. A second call waits for the first.
func (p *Process) End(grace time.Duration) {
	p.ended.Do(func() {
		if p.Stdin != nil {
			_ = p.Stdin.Close()
			if p.gone(grace) {
				return
			}
		}
		p.signal(terminate)
		if !p.gone(grace) {
			p.signal(kill)
		}
	})
	<-p.exited
}

// Kill sends SIGKILL to the group.
func (p *Process) Kill() { p.signal(kill) }

// Wait waits until the process is gone and what it wrote to standard error is read, then
// closes Stdin and Stdout.
func (p *Process) Wait() Exit {
	<-p.exited
	if p.errs != nil {
		// What has left the group may hold the pipe open for ever.
		late := time.AfterFunc(time.Second, func() { _ = p.errs.Close() })
		<-p.told
		late.Stop()
	}
	p.closeOurs()
	return p.exit
}

func (p *Process) gone(within time.Duration) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-p.exited:
		return true
	case <-late.C:
		return false
	}
}

// signal sends a signal to the group, unless its id may be another's by now.
func (p *Process) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive {
		signalGroup(p.cmd, s)
	}
}

func (p *Process) closeOurs() { closeAll([]*os.File{p.Stdin, p.Stdout, p.errs}) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
