package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rejoin/rejoin/internal/bench/proc"
	"github.com/rejoin/rejoin/internal/bench/report"
)

// Config says what to measure, and how.
type Config struct {
	Executable string        // required; the rejoin binary, from which the processes are started
	Workloads  []string      // by name; none means all
	Case       string        // only cases with this in their name
	Cases      []Case        // of each of them, in place of its own; none means its own
	Short      bool          // the cases of a short round only
	Duration   time.Duration // of a case with a pace; 0 means the workload's own, a part of it in a short round
	Rounds     int           // of each case, of which figures are medians; 0 means 1

	Partitions   int           // 0 means the fabric's default
	SyncInterval time.Duration // of the broker; 0 means its default, two minutes
	MemLimit     int           // GOMEMLIMIT of the processes in bytes; 0 means none
	Profile      string        // directory for profiles; "" means none are taken

	Commit string              // what is measured, as results say it
	Log    io.Writer           // what is being done; nil means nothing is said
	Each   func(report.Result) // gets each result as it is made; nil means nobody does
}

// Run measures what cfg asks for and returns the results. The error wraps ErrNone, ErrWrong
// (then with all results), is the context's, or says which case could not be measured; the
// results before it are returned too.
func Run(ctx context.Context, cfg Config) ([]report.Result, error) {
	chosen, err := cfg.chosen()
	if err != nil {
		return nil, err
	}
	var all []report.Result
	for _, w := range chosen {
		for _, c := range w.Cases {
			results, err := cfg.rounds(ctx, w, c)
			if err != nil {
				return all, fmt.Errorf("%s, %s: %w", w.Name, c.Name, err)
			}
			for _, r := range results {
				if cfg.Each != nil {
					cfg.Each(r)
				}
			}
			all = append(all, results...)
		}
	}
	return all, judge(all)
}

// judge says whether every result is right; how fast does not matter.
func judge(all []report.Result) error {
	wrong := 0
	for _, r := range all {
		if r.Counts.Wrong() {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%w in %d of %d results", ErrWrong, wrong, len(all))
	}
	return nil
}

// rounds measures a case as often as asked for.
func (c *Config) rounds(ctx context.Context, w Workload, k Case) ([]report.Result, error) {
	var rounds [][]report.Result
	for i := range max(c.Rounds, 1) {
		more := ""
		if c.Rounds > 1 {
			more = fmt.Sprintf(", round %d of %d", i+1, c.Rounds)
		}
		say(c.Log, "%s: %s%s", w.Name, k.Name, more)
		results, err := c.measure(ctx, w, k)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, results)
	}
	return report.Medians(rounds), nil
}

// measure measures a case once, on a fabric of its own.
func (c *Config) measure(ctx context.Context, w Workload, k Case) ([]report.Result, error) {
	env := &Env{Short: c.Short, Duration: c.window(w), Procs: new(proc.Set), cfg: c, workload: w.Name, flags: w.Flags, machine: c.machine()}
	defer env.stop()
	if err := env.start(ctx); err != nil {
		return nil, err
	}
	return w.Run(ctx, env, k)
}

// window is how long a case of a workload is measured.
func (c *Config) window(w Workload) time.Duration {
	full := cmp.Or(w.Window, 10*time.Second)
	switch {
	case c.Duration > 0:
		return c.Duration
	case c.Short:
		return max(3*time.Second, full/10)
	}
	return full
}
