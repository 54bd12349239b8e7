#!/usr/bin/env bash
# Runs the tests of the packages given. Those that bring hundreds of readers, processes, browsers or outages
# that others would feel, have the machine for themselves, one after the other.
set -euo pipefail

alone='/test/(bench|browser|chaos|clients|e2e|edge|limits|ops|web)$'
packages=$(go list "$@")
together=$(grep -Ev "$alone" <<<"$packages" || true)
apart=$(grep -E "$alone" <<<"$packages" || true)

status=0
# TESTFLAGS and the lists are words.
[[ -z $together ]] || go test -race -timeout 20m ${TESTFLAGS:-} $together || status=1
[[ -z $apart ]] || go test -race -timeout 20m -p 1 ${TESTFLAGS:-} $apart || status=1
exit "$status"
