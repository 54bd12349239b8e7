package browser_test

import (
	"testing"
	"time"

	"github.com/rejoin/rejoin/test/harness"
)

// AUTH-02: a token that expires in mid-run is refreshed once, however many requests find out, and nothing is repeated; a
// refresh that fails is tried again.
func TestAUTH02_TokensExpire(t *testing.T) {
	t.Parallel()
	screen(t)
	who := newIssuer(t)
	cfg := harness.RelayConfig{}
	cfg.Relay.Auth = who
	r := newRig(t, rigConfig{relay: cfg, files: client(t)})
	r.stage.owner = user
	r.play("auth", actions{"token": func(a ask) any {
		var seconds int
		a.into(&seconds)
		return who.token(time.Duration(seconds) * time.Second)
	}})
}
