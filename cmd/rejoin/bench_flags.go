package main

import (
	"slices"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/bench"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/subjects"
)

// benchFlags are those of rejoin bench besides what goes into bench.Config.
type benchFlags struct {
	workloads     string
	json, compare string
}

func (f *benchFlags) add(s *config.Set, c *bench.Config) {
	c.Rounds = 1
	names := benchNames()
	s.Add(config.Text(&f.workloads, "NAME[,NAME]", "one or more of "+strings.Join(names, ", ")+", separated by commas", func(list string) bool {
		for name := range strings.SplitSeq(list, ",") {
			if !slices.Contains(names, name) {
				return false
			}
		}
		return true
	}), "workload", "What to measure. Without it, everything.")
	s.Add(config.Text(&c.Case, "TEXT", "any part of the name of a case", nil), "case", "Only cases with this in their name.")
	s.Add(config.Switch(&c.Short), "short", "A few cases of each workload, and less time for each: minutes instead of an hour.")
	s.Add(config.Duration(&c.Duration, 0, time.Hour), "duration", "How long a case with a pace is measured. 0 means 10s, for poll 1m; with --short 3s and 6s.")
	s.Add(config.Number(&c.Rounds, 1, 100), "rounds", "How often each case is measured; figures are then medians.")
	s.Add(config.Number(&c.Partitions, 0, subjects.MaxPartitions), "partitions", "Streams that runs are spread over. 0 means as many as a new fabric has.")
	s.Add(config.Duration(&c.SyncInterval, 0, time.Hour), "sync-interval",
		"How often the broker syncs its files to the disk. 0 means NATS's own default, 2m. It stands beside every figure.")
	s.Add(config.Size(&c.MemLimit, 0, 1<<31-1), "memlimit", "GOMEMLIMIT of relay and broker. 0 means none.")
	s.Add(config.Text(&f.json, "FILE", "the name of a file, which is written anew, or - for standard output", nil), "json",
		"Keep each result as one line of JSON. With - the table goes to standard error.")
	s.Add(config.Text(&f.compare, "FILE", "the name of a file that --json has written", nil), "compare",
		"Show old, new and their ratio for each figure that is in the file too.")
	s.Add(config.Text(&c.Profile, "DIR", "the name of a directory, which is created where it is missing", nil), "profile",
		"Take profiles of relay and broker (cpu, allocs, heap, mutex, block, goroutine) while each case is measured;\nfigures are then somewhat worse. \"go tool pprof\" shows them.")
}

func benchNames() (names []string) {
	for _, w := range bench.Workloads() {
		names = append(names, w.Name)
	}
	return names
}
