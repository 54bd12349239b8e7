package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/runs"
)

var initCommand = command{
	name: "init",
	about: config.About{
		Summary: "make the streams and buckets in NATS, or bring their settings up to date",
		Text: `Prints what it made, changed and left as it was, and may be run again at any time: after an upgrade, to have more
partitions, to have more copies. It removes nothing, and refuses what would lose something. Once it has run, no
other command needs the right to make or change a stream. deploy/nats has a user for it.`,
		Examples: []string{
			"rejoin init --nats nats://127.0.0.1:4222 --dry-run",
			"rejoin init --nats nats://n1:4222,nats://n2:4222,nats://n3:4222 --replicas 3",
			"rejoin init --nats-context operator --partitions 8",
		},
	},
	flags: func(s *config.Set) action {
		cfg := app.Config{Version: version}
		var dry bool
		var log logFlags
		brokerFlags(s, &cfg)
		replicasFlag(s, &cfg)
		partitionsFlag(s, &cfg)
		s.Add(config.Switch(&dry), "dry-run", "Say what would be done, and do nothing.")
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			if err := brokerNamed(s, &cfg, ""); err != nil {
				return err
			}
			logger, err := std.logger(log)
			if err != nil {
				return err
			}
			cfg.Logger = logger
			made, err := app.Init(ctx, cfg, dry)
			if err != nil {
				return withFlag(err)
			}
			return printAssets(std.out, made, dry)
		}
	},
}

// printAssets writes a table of what was done with each stream.
func printAssets(w io.Writer, made []runs.Asset, dry bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	due := 0
	for _, a := range made {
		done, more := "as it is", ""
		switch {
		case a.Missing && dry:
			done = "to be made"
		case a.Missing:
			done = "made"
		case a.Due():
			more = strings.Join(a.Changes, "; ")
			if done = "changed"; dry {
				done = "to be changed"
			}
		}
		if a.Due() {
			due++
		}
		if more != "" {
			more = "\t" + more
		}
		fmt.Fprintf(table, "%s\t%s%s\n", a.Name, done, more)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	switch {
	case due == 0:
		fmt.Fprintln(w, "nothing to do")
	case dry:
		fmt.Fprintf(w, "%d to do; nothing was changed\n", due)
	}
	return nil
}
