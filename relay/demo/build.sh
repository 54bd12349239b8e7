#!/usr/bin/env bash
# Makes dist/ (or the folder given) out of page/ and the browser client: the same sources give the same bytes.
# consumer/web has the compiler and the bundler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
out=$(realpath -m "${1:-dist}")
bin=../../consumer/web/node_modules/.bin
"$bin/tsc" -p page
rm -rf "$out"
mkdir -p "$out"
"$bin/esbuild" page/main.ts --bundle --minify --format=esm --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning --outfile="$out/demo.js"
"$bin/esbuild" page/style.css --minify --target=chrome125 --charset=utf8 --log-level=warning --outfile="$out/demo.css"
cp page/index.html page/icon.svg "$out"
