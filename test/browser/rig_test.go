package browser_test

import (
	"maps"
	"os"
	"testing"

	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/test/harness"
)

// rig is a broker, two relays behind a site, and a worker whose agent says what it is told to.
type rig struct {
	*harness.Fabric
	t      *testing.T
	relays [2]*harness.Relay
	site   *site
	stage  *stage
}

// rigConfig changes what a rig is made of.
type rigConfig struct {
	fabric harness.Config
	relay  harness.RelayConfig
	files  map[string]file // what the site serves itself
}

func newRig(t *testing.T, cfg rigConfig) *rig {
	t.Helper()
	cfg.fabric.Log = cfg.fabric.Log || os.Getenv("VERBOSE") != ""
	r := &rig{Fabric: harness.New(t, cfg.fabric), t: t}
	for i := range r.relays {
		r.relays[i] = r.Relay(cfg.relay)
	}
	r.stage = newStage(t, r.Fabric)
	r.Worker(r.stage, worker.Config{Concurrency: 32})
	r.site = newSite(t, r.relays[0].URL, cfg.files)
	return r
}

// play runs a script against the rig. more are further actions, env further words for the script.
func (r *rig) play(script string, more actions, env ...string) {
	r.t.Helper()
	r.site.play(r.t, script, []string{r.relays[0].URL, r.relays[1].URL}, r.stage, more, env...)
}

// play runs a script with what a site before those relays, and a stage, can do.
func (s *site) play(t *testing.T, script string, relays []string, on *stage, more actions, env ...string) {
	t.Helper()
	do := s.actions(relays...)
	if on != nil {
		maps.Copy(do, on.actions())
	}
	maps.Copy(do, more)
	play(t, script, do, append(env, "SITE="+s.url)...)
}
