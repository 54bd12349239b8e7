#!/usr/bin/env bash
# Fails if a Go file is not formatted, and names it.
set -euo pipefail

mapfile -t files < <(find . -name node_modules -prune -o -name '*.go' -print)
unformatted=$(gofmt -l "${files[@]}")
if [[ -n $unformatted ]]; then
	echo "not formatted (run gofmt -w):" >&2
	echo "$unformatted" >&2
	exit 1
fi
