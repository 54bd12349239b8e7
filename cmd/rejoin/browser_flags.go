package main

import (
	"slices"
	"time"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/relay"
)

// browserFlags say what a relay has to know of the browsers that use it, and of the
// proxies between it and them.
func browserFlags(s *config.Set, c *app.Config) {
	s.Add(config.List(&c.Origins, "ORIGIN", "scheme://host or scheme://host:port, https://*.example.com for all hosts below one, or * alone",
		func(origin string) bool { return relay.CheckOrigin(origin) == nil }),
		"cors-origin", "An origin whose pages may use the relay; give it once for each. In the environment one a line.\nWith * every page may, without cookies. None: only pages served from the relay's own origin.")
	c.MaxWait = relay.MaxWait
	s.Add(config.Duration(&c.MaxWait, time.Second, relay.MaxWait), "max-wait",
		"The longest that a request waits for a run to appear (wait_ms), during which nothing is sent. Keep it below\nwhat any proxy before the relay allows for silence.")
}

// checkBrowser says what does not fit together, in the words of the flags.
func checkBrowser(s *config.Set, c *app.Config) error {
	if len(c.Origins) > 1 && slices.Contains(c.Origins, "*") {
		return s.Wrong("--cors-origin is * and %d more; allowed is * alone, which lets every page in, without cookies, or the origins one by one", len(c.Origins)-1)
	}
	return nil
}
