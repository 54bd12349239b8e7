package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/probe"
)

var probeCommand = command{
	name: "probe",
	about: config.About{
		Summary: "check a deployment from outside: is every observer given exactly what was published?",
		Text: `Makes a run at a pace in a chat of its own, over HTTP alone, and watches it as observers do: two at once,
of whom one stops reading for a while; one that drops off and comes back; some that come late, with every kind
of cursor, while the run goes on and after its end. Every event, its number and every snapshot must be exactly
what was published. The run ends with the probe, also when that is interrupted.

Exit codes: 0 every check passed; 1 one failed, or nothing could be checked; 2 a flag is wrong; 130 interrupted
with Ctrl-C.`,
		Examples: []string{
			"rejoin probe --url https://rejoin.example.com",
			"rejoin probe --events 600 --rate 100 --json | jq -c .",
			"rejoin probe --after 30s,2m,10m --retain 5m",
		},
	},
	flags: func(s *config.Set) action {
		var url string
		var json bool
		c := probe.Config{Events: 60, Rate: 20, Patience: 10 * time.Second, MaxLag: 2 * time.Second}
		urlFlag(s, &url)
		var by credential
		credentialFlags(s, &by)
		s.Add(config.Number(&c.Events, probe.MinEvents, probe.MaxEvents), "events", "Events of the run.")
		s.Add(config.Number(&c.Rate, 1, probe.MaxRate), "rate", "Events a second.")
		s.Add(timeList(&c.After), "after",
			"When to look what is still retained, counted from the run's end. Several times are separated by commas,\nor the flag is given several times.")
		s.Add(config.Duration(&c.Retain, 0, day), "retain",
			"How long the deployment is meant to retain ended runs, for --after. 0 means that it is not known: then a run\nmay be gone, but never be there in part.")
		s.Add(config.Duration(&c.Patience, 100*time.Millisecond, time.Hour), "patience", "How long an answer, or the next event, may take.")
		s.Add(config.Duration(&c.MaxLag, time.Millisecond, time.Hour), "max-lag",
			"How long an event may take to reach an observer while another one does not read.")
		s.Add(config.Switch(&json), "json", "Print each check as one line of JSON.")
		return func(ctx context.Context, std stdio) error {
			var err error
			if c.Token, err = by.source(s); err != nil {
				return err
			}
			c.URL = url
			return runProbe(ctx, c, json, std)
		}
	},
}

// runProbe probes, prints each check as it is made, and the verdict.
func runProbe(ctx context.Context, c probe.Config, json bool, std stdio) error {
	out := &checkPrinter{w: std.out, json: json, safe: isTerminal(std.out)}
	from := time.Now()
	err := probe.Run(ctx, c, out.check)
	took := time.Since(from).Round(10 * time.Millisecond)
	switch {
	case out.err != nil:
		return out.err
	case err == nil:
		return out.verdict(fmt.Sprintf("%s keeps the contract: %s passed in %v", printable(config.Shown(c.URL)), counted(out.n, "check"), took))
	case errors.Is(err, probe.ErrFailed):
		if err := out.verdict(fmt.Sprintf("%s FAILED: %v; it took %v", printable(config.Shown(c.URL)), err, took)); err != nil {
			return err
		}
		return &exitError{exitFailed, ""}
	case errors.Is(err, probe.ErrUnchecked):
		why := fmt.Sprintf("%s %s%s", printable(config.Shown(c.URL)), printable(err.Error()), hint(err, c.URL))
		if json {
			return &exitError{exitFailed, why}
		}
		if err := out.verdict(why); err != nil {
			return err
		}
		return &exitError{exitFailed, ""}
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, "interrupted"}
	}
	return err
}
