#!/usr/bin/env bash
# Checks the types of everything and runs the tests in test/, or those named. With --build it stops before
# running any, with --built it runs what that has made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
only=
case ${1:-} in --build | --built) only=$1 && shift ;; esac
if [[ $only != --built ]]; then
  node_modules/.bin/tsc -p tsconfig.json
  rm -rf build
  node_modules/.bin/esbuild 'src/*.ts' 'test/*.ts' --outdir=build --outbase=. --format=esm --target=node20 --sourcemap=inline --log-level=warning
fi
[[ $only != --build ]] || exit 0
files=("$@")
[[ ${#files[@]} -gt 0 ]] || files=(build/test/*.test.js)
exec node --enable-source-maps --test "${files[@]}"
