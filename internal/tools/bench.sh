#!/usr/bin/env bash
# Runs the Go benchmarks and a round of rejoin bench (ROUND: short, full or none), keeps
# both under test/bench/results with date, machine and commit, and compares each with the
# newest kept one (BASE names another file of benchmarks, BASE_ROUND another round): old,
# new and ratio.
set -euo pipefail

results=test/bench/results
mkdir -p "$results"

# The newest kept file that ends so; nothing where there is none.
newest() { find "$results" -name "*$1" | sort | tail -1; }

base=${BASE:-$(newest .gobench.txt)}
base_round=${BASE_ROUND:-$(newest .bench.jsonl)}
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
out=$results/$(date -u +%Y-%m-%dT%H%M%SZ)-$commit

# Only what has benchmarks is built.
benchmarks() {
	go list -f '{{.Dir}}' $PKG | while read -r dir; do
		if grep -qs '^func Benchmark' "$dir"/*_test.go; then echo "$dir"; fi
	done
}

{
	echo "date: $(date -u +%FT%TZ)"
	echo "commit: $commit"
	echo "cores: $(nproc)"
	echo "go: $(go env GOVERSION)"
	go test -vet off -run '^$' -bench "$BENCH" -benchtime "$BENCHTIME" -benchmem -count "$COUNT" -timeout 60m $(benchmarks) |
		grep -Ev '^(\?|ok|PASS)'
} | tee "$out.gobench.txt"

echo "== kept as $out.gobench.txt"
bin/benchstat -ignore date,commit ${base:+"before=$base"} "after=$out.gobench.txt"

case $ROUND in
none) exit ;;
short) round=(--short) ;;
full) round=() ;;
*)
	echo "ROUND is \"$ROUND\"; allowed are short, full, none" >&2
	exit 2
	;;
esac
echo
status=0
bin/rejoin bench "${round[@]}" --json "$out.bench.jsonl" ${base_round:+--compare "$base_round"} || status=$?
echo "== kept as $out.bench.jsonl"
exit $status
