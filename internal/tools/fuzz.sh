#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME, one after the other, and
# fails at the end if any of them failed.
set -euo pipefail

mapfile -t targets < <(find . -name node_modules -prune -o -name '*_test.go' -exec \
	grep -oHE '^func Fuzz[A-Za-z0-9_]*' {} + | sort -u)
[[ ${#targets[@]} -gt 0 ]] || { echo "fuzz: no targets" >&2; exit 1; }

failed=()
for target in "${targets[@]}"; do
	dir=$(dirname "${target%%:*}") name=${target##*:func }
	echo "== $dir $name"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$FUZZTIME" "$dir" || failed+=("$dir $name")
done
echo "fuzz: ${#targets[@]} targets, ${#failed[@]} failed"
[[ ${#failed[@]} -eq 0 ]] || { printf 'FAILED %s\n' "${failed[@]}" >&2; exit 1; }
