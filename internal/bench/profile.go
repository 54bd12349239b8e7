package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rejoin/rejoin/internal/bench/proc"
	"github.com/rejoin/rejoin/internal/bench/profile"
)

// ProfileEnv is the variable that tells a child at which socket to serve its profiles.
const ProfileEnv = "REJOIN_BENCH_PROFILE"

// profiles are those under way; nil are none.
type profiles struct {
	env    *Env
	ctx    context.Context
	taking []*profile.Taking
}

// beginProfiles begins those of relay, broker and floor, if they are asked for. A profile
// that cannot be taken is said, and is no reason to measure nothing.
func (e *Env) beginProfiles(ctx context.Context, c Case) *profiles {
	if e.cfg.Profile == "" {
		return nil
	}
	p := &profiles{env: e, ctx: ctx}
	if err := os.MkdirAll(e.cfg.Profile, 0o755); err != nil {
		e.Say("no profiles: %v", err)
		return nil
	}
	e.windows++
	for _, child := range []*proc.Child{e.relay, e.broker, e.floor} {
		if child == nil {
			continue
		}
		name := fileName(e.workload, c.Name, fmt.Sprint(e.windows), child.Name())
		t, err := profile.Start(ctx, e.socket(child.Name()), e.cfg.Profile, name)
		if err != nil {
			e.Say("no profiles of the %s: %v", child.Name(), err)
			continue
		}
		p.taking = append(p.taking, t)
	}
	return p
}

func (p *profiles) end() {
	if p == nil {
		return
	}
	for _, t := range p.taking {
		if err := t.Stop(p.ctx); err != nil {
			p.env.Say("%v", err)
		}
	}
}

// socket is where a child serves its profiles.
func (e *Env) socket(name string) string { return filepath.Join(e.dir, name+".profile") }

var noFileName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// fileName joins words to the beginning of a file's name.
func fileName(words ...string) string {
	for i, w := range words {
		words[i] = strings.Trim(noFileName.ReplaceAllString(w, "-"), "-")
	}
	return strings.Join(words, ".")
}
