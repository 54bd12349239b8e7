package probe

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// prober is one call of Run.
type prober struct {
	cfg    Config
	client *http.Client
	plan   plan
	chat   string
	run    subjects.RunID // "" until it is started
	ended  bool

	progress *progress
	repeated int // requests of the producer that had to be sent again

	unchecked     error // why nothing can be checked, nil where something can
	report        func(Check)
	over          func() bool // whoever called Run does not want to know any more
	total, failed int
}

// cleanTime is how long ending the run may take once the probe is given up.
const cleanTime = 5 * time.Second

// Run probes a deployment and calls report for each check, in order and from this
// goroutine. It uses a chat of its own, and leaves behind nothing but an ended run, also
// when ctx ends in the middle.
//
// The error is nil when every check passed, else ErrFailed, ErrUnchecked, ErrConfig, or that
// of ctx.
func Run(ctx context.Context, cfg Config, report func(Check)) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	nonce := strings.ToLower(rand.Text())
	p := &prober{cfg: cfg, client: newClient(), plan: plan{nonce: nonce, n: uint64(cfg.Events)},
		chat: "rejoin-probe-" + nonce, progress: newProgress(), report: report,
		over: func() bool { return ctx.Err() != nil }}
	defer p.client.CloseIdleConnections()
	defer p.clean(ctx)
	p.checks(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.unchecked != nil:
		return fmt.Errorf("%w: %w", ErrUnchecked, p.unchecked)
	case p.failed > 0:
		return fmt.Errorf("%w: %d of %d checks failed", ErrFailed, p.failed, p.total)
	}
	return nil
}

// checks goes on as long as what follows can still tell something.
func (p *prober) checks(ctx context.Context) {
	if !p.check("start", "a run in a new chat", func() (string, error) {
		err := p.start(ctx)
		if outside(err) {
			p.unchecked = err
		}
		return "201", err
	}) {
		return
	}
	p.live(ctx)
	if !p.ended || ctx.Err() != nil {
		return
	}
	from := time.Now()
	p.late(ctx)
	for _, d := range p.cfg.After {
		if sleep(ctx, time.Until(from.Add(d))) != nil {
			return
		}
		p.retained(ctx, d)
	}
}

// check makes one check and reports it.
func (p *prober) check(name, expected string, do func() (seen string, err error)) bool {
	from := time.Now()
	seen, err := do()
	return p.verdict(name, expected, seen, err, time.Since(from))
}

func (p *prober) verdict(name, expected, seen string, err error, took time.Duration) bool {
	if err != nil && p.over() {
		return false // it was broken off, which says nothing
	}
	if err != nil {
		seen = err.Error()
	}
	p.total++
	if err != nil {
		p.failed++
	}
	p.report(Check{Name: name, Expected: expected, Seen: seen, OK: err == nil, Took: took})
	return err == nil
}

// clean ends a run that was not ended.
func (p *prober) clean(ctx context.Context) {
	if p.run == "" || p.ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	p.check("clean up", "the run is ended", func() (string, error) {
		_, err := p.end(ctx, false, subjects.ReasonStopped)
		return "stopped", err
	})
}
