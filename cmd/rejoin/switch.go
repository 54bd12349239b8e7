package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/killswitch"
)

var switchCommand = command{
	name: "switch",
	about: config.About{
		Summary: "turn watching off, or on again, on all relays within a second",
		Text: `off: relays answer 503 switched_off to whoever wants to watch, and close open streams between frames. on: they do not.
25%: that part of the chats is off, always the same ones; more of them when it grows. With --tenant for the
chats of one tenant, otherwise for all; where both are set, the larger one counts. Without a word it prints what is set.

Producers and agents go on, and so do sending, stopping, answering, saved turns and snapshots: clients fall back to
those. What is set stays set when everything is restarted.`,
		Examples: []string{
			"rejoin switch --nats nats://127.0.0.1:4222",
			"rejoin switch --nats nats://127.0.0.1:4222 --reason \"broker is overloaded\" off",
			"rejoin switch --nats nats://127.0.0.1:4222 --tenant acme 25%",
			"rejoin switch --nats nats://127.0.0.1:4222 on",
		},
	},
	flags: func(s *config.Set) action {
		cfg := app.Config{Version: version}
		var log logFlags
		var words []string
		set := killswitch.Setting{By: "rejoin switch"}
		var tenant string
		brokerFlags(s, &cfg)
		s.Add(config.Text(&tenant, "TENANT", "the name of a tenant", nil), "tenant",
			"Whose chats. Without it, all; \"\" is the tenant of those who are not authenticated.")
		s.Add(config.Text(&set.Reason, "TEXT", "up to 256 bytes", func(s string) bool { return len(s) <= killswitch.MaxReason }),
			"reason", "Why, for people and logs.")
		s.Rest(&words, "off|on|PERCENT%", "what to set, as the last word")
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			percent, ok := percentOff(words)
			if len(words) > 0 && !ok {
				return s.Wrong("what to set is %.60q; allowed is one of off, on, and a percentage such as 25%%, as the last word, behind all flags",
					config.Shown(strings.Join(words, " ")))
			}
			if err := brokerNamed(s, &cfg, ""); err != nil {
				return err
			}
			target := killswitch.Everybody
			if s.Given("tenant") {
				target = killswitch.Tenant(tenant)
			}
			var to *killswitch.Setting // nil: print what is set
			if ok {
				set.Percent = percent
				to = &set
			}
			logger, err := std.logger(log)
			if err != nil {
				return err
			}
			cfg.Logger = logger
			all, err := app.Switches(ctx, cfg, target, to)
			if err != nil {
				return withFlag(err)
			}
			printSwitches(std.out, all)
			return nil
		}
	},
}

// percentOff is the percentage of chats that a word turns off.
func percentOff(words []string) (percent int, ok bool) {
	if len(words) != 1 {
		return 0, false
	}
	switch words[0] {
	case "off":
		return 100, true
	case "on":
		return 0, true
	}
	digits, ok := strings.CutSuffix(words[0], "%")
	n, err := strconv.ParseUint(digits, 10, 8)
	return int(n), ok && err == nil && n <= 100
}

// printSwitches prints what is set, one a line.
func printSwitches(w io.Writer, all []killswitch.Named) {
	if len(all) == 0 {
		fmt.Fprintln(w, "nothing is switched off")
	}
	for _, one := range all {
		is := "on"
		switch {
		case one.Percent >= 100:
			is = "off"
		case one.Percent > 0:
			is = strconv.Itoa(one.Percent) + "% off"
		}
		fmt.Fprintf(w, "%s: %s, since %s, by %s", one.Target, is, one.At.UTC().Format(time.RFC3339), printable(one.By))
		if one.Reason != "" {
			fmt.Fprintf(w, ": %s", printable(one.Reason))
		}
		fmt.Fprintln(w)
	}
}
