package browser_test

import (
	"testing"

	"github.com/rejoin/rejoin/test/harness"
)

// The network is cut and comes back, relays die and are replaced: the text is exact, nothing is shown twice, and what was
// received is kept when it gives up.
func TestCutsAndDeadRelays(t *testing.T) {
	t.Parallel()
	screen(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	st := newStage(t, f)
	relays := []*harness.Rejoin{f.RelayProcess(), f.RelayProcess()}
	for _, r := range relays {
		r.Start()
		r.Ready()
	}
	site := newSite(t, relays[0].URL, client(t))
	which := func(a ask) *harness.Rejoin {
		var i int
		a.into(&i)
		return relays[i]
	}
	site.play(t, "cuts", []string{relays[0].URL, relays[1].URL}, st, actions{
		"kill": func(a ask) any { which(a).Kill(); return nil },
		"boot": func(a ask) any {
			which(a).Start()
			which(a).Ready()
			return nil
		},
		"drain": func(a ask) any {
			which(a).Terminate()
			return which(a).Exit()
		},
	})
}
