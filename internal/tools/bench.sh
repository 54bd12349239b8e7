#!/usr/bin/env bash
# Runs the benchmarks, keeps their output under test/bench/results with date,
# machine and commit, and compares it with BASE (the newest kept file unless
# set): benchstat prints both and the ratio.
set -euo pipefail

results=test/bench/results
mkdir -p "$results"
base=${BASE:-$(find "$results" -name '*.gobench.txt' | sort | tail -1)}
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
out=$results/$(date -u +%Y-%m-%dT%H%M%SZ)-$commit.gobench.txt

{
	echo "date: $(date -u +%FT%TZ)"
	echo "commit: $commit"
	echo "cores: $(nproc)"
	echo "go: $(go env GOVERSION)"
	go test -run '^$' -bench "$BENCH" -benchmem -count "$COUNT" -timeout 60m $PKG |
		grep -Ev '^(\?|ok|PASS)'
} | tee "$out"

echo "== kept as $out"
bin/benchstat -ignore date,commit ${base:+"before=$base"} "after=$out"
