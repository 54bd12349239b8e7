package app

import (
	"log/slog"
	"net/http"

	"github.com/rejoin/rejoin/producer/demo"
	page "github.com/rejoin/rejoin/relay/demo"
)

// page is what serves the demo's page; nil where there is none.
func (p *relayParts) page() http.Handler {
	if !p.cfg.Page {
		return nil
	}
	c := page.Config{
		Lease:  p.cfg.Lease,
		Tokens: p.cfg.Auth.Kind == AuthJWT,
		Agent:  p.cfg.Worker != nil && p.cfg.Worker.Agent.Kind == AgentDemo,
	}
	if p.mortal != nil {
		c.Kill = p.mortal.kill
	}
	return page.Handler(c)
}

// killable says whether the demo's worker is to be one that can be killed.
func (c Config) killable() bool {
	return c.Page && c.NATS == "" && c.Worker != nil && c.Worker.Agent.Kind == AgentDemo && c.Worker.Agent.Custom == nil
}

// loop is what produces runs to watch.
func (c Config) loop(log *slog.Logger) demo.Config {
	d := c.DemoConfig
	d.Logger = log.With("part", "demo")
	d.Stop = c.Grace * 3 / 20
	return d
}
