package browser_test

import (
	"testing"
	"time"

	"github.com/rejoin/rejoin/test/harness"
)

// PROXY-03: a page of another origin reads every status, comes back with a cursor and a token, and is told at once where it
// may not.
func TestPROXY03_AnotherOrigin(t *testing.T) {
	t.Parallel()
	screen(t)
	pages := newSite(t, "http://127.0.0.1:1", blank(t))
	who := newIssuer(t)
	cfg := harness.RelayConfig{}
	cfg.Relay.Origins, cfg.Relay.Auth, cfg.Relay.MaxObservers = []string{pages.url}, who, 1
	r := newRig(t, rigConfig{relay: cfg})
	r.stage.owner = user
	r.play("cors", nil, "PAGES="+pages.url, "TOKEN="+who.token(time.Hour), "EXPIRED="+who.token(-time.Hour))
}
