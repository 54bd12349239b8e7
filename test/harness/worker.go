package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/subjects"
)

// WorkerRole is the role of a test binary that answers turns; see Roles. It is the
// worker as it is shipped, with an agent that takes note of what it begins.
const WorkerRole = "worker"

const (
	noteEnv = "REJOIN_TEST_NOTE"
	paceEnv = "REJOIN_TEST_PACE"
)

// PlayWorker is what a process in WorkerRole does, until its standard input ends.
func PlayWorker() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := playWorker(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func playWorker(ctx context.Context) error {
	lease, err := time.ParseDuration(os.Getenv(leaseEnv))
	if err != nil {
		return err
	}
	pace, err := time.ParseDuration(os.Getenv(paceEnv))
	if err != nil {
		return err
	}
	log, err := app.NewLogger(os.Stderr, "warn", "text")
	if err != nil {
		return err
	}
	return app.RunWorker(ctx, app.Config{NATS: os.Getenv(natsEnv), Lease: lease, Logger: log,
		Worker: &app.WorkerConfig{Agent: app.AgentConfig{Custom: &noting{os.Getenv(noteEnv), pace}}, Concurrency: 8}}, nil)
}

// noting is an agent that writes down which run it begins, and says the numbers up to
// the one it is asked for. Asked to "ask", it puts a question instead.
type noting struct {
	file string
	pace time.Duration
}

func (n *noting) Run(ctx context.Context, t agent.Turn) error {
	r := t.Request()
	if err := note(n.file, fmt.Sprintln(r.RunID, os.Getpid())); err != nil {
		return err
	}
	if agui.UserText(r.Input) == "ask" {
		_, err := t.Ask(ctx, agent.Question{Name: "test.permission", Options: []string{"yes", "no"}})
		return err
	}
	upTo, err := strconv.ParseUint(agui.UserText(r.Input), 10, 64)
	if err != nil {
		return err
	}
	start := fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`)
	if err := t.Publish(ctx, start); err != nil {
		return err
	}
	due := time.NewTicker(n.pace)
	defer due.Stop()
	for i := range upTo {
		if err := t.Publish(ctx, Delta(i+1)); err != nil {
			return err
		}
		select {
		case <-due.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// note appends a line to a file in one piece, also when several processes do.
func note(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}

// WorkerProcess starts a worker in a process of its own. What it begins is written to
// the file, the run's id and the worker's process id on a line; the agent says a number each time pace has passed. The
// fabric's broker needs a listener.
func (f *Fabric) WorkerProcess(file string, pace time.Duration) *Process {
	f.Helper()
	lease := f.cfg.Lease
	if lease == 0 {
		lease = subjects.Lease
	}
	return Role(f, WorkerRole, natsEnv+"="+f.url, noteEnv+"="+file, paceEnv+"="+pace.String(), leaseEnv+"="+lease.String())
}
