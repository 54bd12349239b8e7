package bench

import (
	"context"
	"time"

	"github.com/rejoin/rejoin/internal/bench/proc"
)

// Window is a time over which something is measured.
type Window struct {
	env    *Env
	from   time.Time
	before map[string]proc.Usage
	prof   *profiles
}

// Use is what the processes used over a window, by name: Relay, Broker, Generator, Floor.
type Use struct {
	Took   time.Duration
	CPU    map[string]time.Duration
	Before map[string]int64 // bytes of memory held at the beginning
	After  map[string]int64 // and at the end
}

// Begin opens a window, and begins the profiles if any are asked for. Where a system does
// not say what processes use, the window's Use is empty.
func (e *Env) Begin(ctx context.Context, c Case) *Window {
	w := &Window{env: e, prof: e.beginProfiles(ctx, c)}
	w.before = e.usage()
	w.from = time.Now()
	return w
}

// End closes the window.
func (w *Window) End() Use {
	took := time.Since(w.from)
	after := w.env.usage()
	w.prof.end()
	u := Use{Took: took, CPU: map[string]time.Duration{}, Before: map[string]int64{}, After: map[string]int64{}}
	for name, a := range after {
		if b, ok := w.before[name]; ok {
			u.CPU[name] = a.CPU - b.CPU
			u.Before[name] = b.RSS
			u.After[name] = a.RSS
		}
	}
	return u
}

// Share is the CPU time as a part of the time that passed: 100 is one core.
func (u Use) Share() map[string]float64 {
	share := map[string]float64{}
	for name, cpu := range u.CPU {
		share[name] = 100 * float64(cpu) / float64(max(u.Took, 1))
	}
	return share
}

// usage is what each process uses now.
func (e *Env) usage() map[string]proc.Usage {
	all := map[string]proc.Usage{}
	for name, child := range map[string]*proc.Child{Relay: e.relay, Broker: e.broker, Floor: e.floor} {
		if child == nil {
			continue
		}
		if u, err := child.Usage(); err == nil {
			all[name] = u
		}
	}
	if u, err := proc.Self(); err == nil {
		all[Generator] = u
	}
	return all
}
