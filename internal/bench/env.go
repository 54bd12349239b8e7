package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/bench/proc"
	"github.com/rejoin/rejoin/internal/bench/report"
)

// Env is what a workload has: a fabric of its own, and what was asked for. One goroutine
// uses it.
type Env struct {
	Relay string // host:port of the relay
	NATS  string // URL of the broker

	Short    bool          // a short round: seconds, not minutes
	Duration time.Duration // how long a case with a pace is measured

	Procs  *proc.Set
	broker *proc.Child
	relay  *proc.Child
	floor  *proc.Child // nil until Floor

	cfg      *Config
	workload string
	flags    []string // of the relay
	dir      string   // temporary, of this case alone
	machine  report.Result
	windows  int // of which profiles were taken
}

// Result begins a result of a case on a system, such as report.Rejoin.
func (e *Env) Result(c Case, system string) report.Result {
	r := e.machine
	r.Date = time.Now().UTC().Truncate(time.Second)
	r.Workload, r.Case, r.System = e.workload, c.Name, system
	return r
}

// Say tells whoever waits what is being done.
func (e *Env) Say(format string, args ...any) { say(e.cfg.Log, "  "+format, args...) }

// Connect connects to the broker, for the floors that need no relay. The caller closes the
// connection.
func (e *Env) Connect(ctx context.Context) (*nats.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nats.Connect(e.NATS, nats.Name("rejoin-bench"), nats.MaxReconnects(-1))
}

func say(w io.Writer, format string, args ...any) {
	if w != nil {
		fmt.Fprintf(w, format+"\n", args...)
	}
}
