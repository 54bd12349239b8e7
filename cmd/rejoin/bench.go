package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/bench"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/config"
)

var benchCommand = command{
	name: "bench",
	about: config.About{
		Summary: "measure this build on this machine, beside what the same work costs at least",
		Text:    benchText(),
		Examples: []string{
			"rejoin bench --short",
			"rejoin bench --workload resume,live --json results.jsonl",
			"rejoin bench --workload resume --case 10,000 --rounds 3 --compare results.jsonl",
			"rejoin bench --workload fanout --profile profiles",
		},
	},
	flags: func(s *config.Set) action {
		var c bench.Config
		var f benchFlags
		f.add(s, &c)
		return func(ctx context.Context, std stdio) error { return runBench(ctx, c, f, std) }
	},
}

// benchText explains the workloads.
func benchText() string {
	var b strings.Builder
	b.WriteString(`Starts a broker with files, a relay, and for comparison a bare SSE server, each a process of its own on the
loopback interface and in a temporary directory, and puts them to work over HTTP. Every case has a fabric of its
own. The machine should have nothing else to do.

Load is open-loop: events are due at fixed times, and latency counts from when they were due, so that whatever is
slow delays nothing but itself. Every event carries its number: a result in which one is missing, doubled or out of
order is marked, and the exit code is 1. The generator's own CPU stands beside the relay's and the broker's: where
it is near a whole core, the generator is what was measured. Ratios are to floors measured in the same run.

Workloads:
`)
	for _, w := range bench.Workloads() {
		fmt.Fprintf(&b, "  %-10s %s\n", w.Name, w.Summary)
	}
	b.WriteString("\nExit codes: 0 measured; 1 something was wrong or could not be measured; 2 a flag is wrong; 130 interrupted.")
	return b.String()
}

// runBench measures, shows each result as it is made, and compares.
func runBench(ctx context.Context, c bench.Config, f benchFlags, std stdio) (err error) {
	if f.workloads != "" {
		c.Workloads = strings.Split(f.workloads, ",")
	}
	if c.Executable, err = os.Executable(); err != nil {
		return err
	}
	var before []report.Result
	if f.compare != "" {
		if before, err = readResults(f.compare); err != nil {
			return err
		}
	}
	out := std.out
	var lines io.Writer
	switch f.json {
	case "":
	case "-":
		lines, out = std.out, std.err
	default:
		file, err := os.Create(f.json)
		if err != nil {
			return fmt.Errorf("--json: %w", err)
		}
		defer file.Close()
		lines = file
	}
	c.Log = std.err
	if v := app.ReadVersion(version); version != "" || v.Commit == "unknown" {
		c.Commit = v.Version
	} else {
		c.Commit = v.Commit
	}
	table := report.NewTable(out)
	var writing error
	c.Each = func(r report.Result) {
		err := table.Add(r)
		if lines != nil {
			err = errors.Join(err, report.WriteLine(lines, r))
		}
		writing = errors.Join(writing, err)
	}
	results, err := bench.Run(ctx, c)
	if f.compare != "" && len(results) > 0 {
		fmt.Fprintf(out, "\nbeside %s: old, new, new to old\n", printable(f.compare))
		writing = errors.Join(writing, report.Compare(out, before, results))
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, "interrupted"}
	case errors.Is(err, bench.ErrNone):
		return &config.UsageError{Text: "rejoin bench: --workload and --case: " + err.Error()}
	case err != nil:
		return err
	}
	return writing
}

func readResults(name string) ([]report.Result, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	defer f.Close()
	results, err := report.ReadLines(f)
	if err != nil {
		return nil, fmt.Errorf("--compare %s: %w", name, err)
	}
	return results, nil
}
