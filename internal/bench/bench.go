package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/bench/report"
)

// Workload is one kind of work.
type Workload struct {
	Name    string // one word
	Summary string // what it measures, in one line
	Cases   []Case // in the order in which they run
	// Window is how long a case with a pace is measured, in a full round. 0 means 10 s.
	Window time.Duration
	// Flags are those of rejoin relay that the work needs besides; with all others as they
	// are by themselves, and room for 15,000 observers.
	Flags []string
	// Run measures one case on env's fabric, which nothing used before. It returns the
	// results of rejoin and of the floors that it measured beside it, rejoin's first.
	Run func(ctx context.Context, env *Env, c Case) ([]report.Result, error)
}

// Case is one point of a workload. Which fields matter is the workload's own affair.
type Case struct {
	Name  string // unique within the workload
	Short bool   // belongs to a short round

	Events    int    // of a run
	Size      int    // bytes of an event
	Runs      int    // written, or watched, at once
	Observers int    // in all
	Others    int    // runs that only exist
	Rate      int    // events a second of a run
	Batch     int    // events a request; 0 means a streamed body
	Mode      string // what else tells it from others
}

// Workloads are all there are, in the order in which they run.
func Workloads() []Workload {
	return []Workload{resume(), live(), fanout(), ingest(), storm(), outage(), idle(), crosstalk(), poll()}
}

// chosen are the workloads of which something is to run, with the cases that are.
func (c *Config) chosen() ([]Workload, error) {
	all := Workloads()
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
	}
	for _, name := range c.Workloads {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%w: there is no workload %.40q, allowed are %s", ErrNone, name, strings.Join(names, ", "))
		}
	}
	var chosen []Workload
	for _, w := range all {
		if len(c.Workloads) > 0 && !slices.Contains(c.Workloads, w.Name) {
			continue
		}
		if len(c.Cases) > 0 {
			w.Cases = c.Cases
		}
		w.Cases = slices.DeleteFunc(slices.Clone(w.Cases), func(k Case) bool {
			return c.Short && !k.Short || !strings.Contains(k.Name, c.Case)
		})
		if len(w.Cases) > 0 {
			chosen = append(chosen, w)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: no case's name has %.40q in it", ErrNone, c.Case)
	}
	return chosen, nil
}
