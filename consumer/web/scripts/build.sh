#!/usr/bin/env bash
# Makes dist/ (or the folder given) out of src/: one ES module and its types a file, unbundled and
# readable, so that whoever bundles an application takes only what it uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-dist}
rm -rf "$out"
node_modules/.bin/tsc -p tsconfig.build.json --outDir "$out"
