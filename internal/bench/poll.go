package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/report"
)

// How the clients of poll follow a run.
const (
	followNobody   = "" // for what the run costs by itself
	followOpen     = "open observer"
	followSnapshot = "polls the snapshot"
	followSession  = "polls the session"
)

// pollEvery is between two questions of one client.
const pollEvery = 1500 * time.Millisecond

// poll measures what a client costs that keeps a stream open, beside one that asks again
// and again.
func poll() Workload {
	return Workload{
		Name:    "poll",
		Summary: "a client that keeps a stream open beside one that asks for the snapshot, or the session, every 1.5 s",
		Cases:   []Case{{Name: "100 clients of one run × 20/s", Short: true, Runs: 1, Observers: 100, Rate: 20, Size: 200}},
		Run:     runPoll,
		Window:  time.Minute,
	}
}

func runPoll(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	r := env.Result(c, report.Rejoin)
	var alone, opened float64
	var openBytes float64
	for _, how := range []string{followNobody, followOpen, followSnapshot, followSession} {
		name := how
		if how == followNobody {
			name = "no client"
		}
		env.Say("%s, %v", name, env.Duration)
		use, received, err := env.follow(ctx, c, how, name, &r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		cpu := float64(use.CPU[Relay].Microseconds()) / use.Took.Seconds()
		if how == followNobody {
			alone = cpu
			continue
		}
		bytes := float64(received) / 1024 / use.Took.Seconds() / float64(c.Observers)
		cpu = max(0, cpu-alone) / float64(c.Observers)
		f := r.Add(how+", CPU", "µs/s", cpu)
		if how == followOpen {
			opened, openBytes = cpu, bytes
			r.CPUShare = use.Share()
		} else {
			f.Relative(opened, followOpen)
		}
		f = r.Add(how+", received", "KiB/s", bytes)
		if how != followOpen {
			f.Relative(openBytes, followOpen)
		}
	}
	r.Note = "each a client: the relay's CPU beyond what the run costs without any, and the bytes on the client's connection; CPU shares are those with open observers"
	return []report.Result{r}, nil
}

// follow measures a run of its own while the clients follow it.
func (e *Env) follow(ctx context.Context, c Case, how, name string, r *report.Result) (use Use, received int64, err error) {
	to := e.fabric()
	p, err := newPacer(to, strings.ReplaceAll(name, " ", "-"), 1, c.Size, false)
	if err != nil {
		return use, 0, err
	}
	defer p.close()
	if err := p.open(ctx); err != nil {
		return use, 0, err
	}
	at := p.feeds[0].at
	f := newFollowers(ctx, to.addr)
	defer f.stop()
	switch how {
	case followOpen:
		err = f.open(c.Observers, client.LivePath(at.chat, at.run))
	case followSnapshot:
		f.poll(c.Observers, "/runs/"+at.run+"/snapshot", true)
	case followSession:
		f.poll(c.Observers, "/chat/"+at.chat+"/session", false)
	}
	if err != nil {
		return use, 0, err
	}
	start := time.Now().Add(50 * time.Millisecond)
	if err := p.begin(start, c.Rate, warmUp+e.Duration); err != nil {
		return use, 0, err
	}
	if err := sleep(ctx, time.Until(start.Add(warmUp))); err != nil {
		return use, 0, err
	}
	w := e.Begin(ctx, c)
	before := f.received.Load()
	err = sleep(ctx, e.Duration)
	received = f.received.Load() - before
	use = w.End()
	if err != nil {
		return use, 0, err
	}
	last, err := p.finish(ctx)
	if err != nil {
		return use, 0, err
	}
	counts, err := f.finish(last)
	counts.Late = p.late().Late
	r.Counts.Add(counts)
	return use, received, err
}
