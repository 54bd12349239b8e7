#!/usr/bin/env bash
# Installs the Debian packages whose commands are missing: system.sh LIST,
# each line of LIST a command and its package. It starts none of the services
# that a package brings.
set -euo pipefail

PATH=$PATH:/usr/sbin:/sbin # where a server's command is, for users other than root too

missing=()
while read -r command package _; do
	[[ -z $command || $command == \#* ]] && continue
	command -v "$command" >/dev/null || missing+=("$package")
done <"$1"
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "setup: missing Debian packages: ${missing[*]}"
root=()
[[ $(id -u) -eq 0 ]] || root=(sudo -n)
if ! command -v apt-get >/dev/null || ! "${root[@]}" true 2>/dev/null; then
	echo "setup: install them, or run as root or with sudo on Debian: apt-get install ${missing[*]}" >&2
	exit 1
fi

# A package asks this file before it starts its service. One that is there already
# is somebody's own and stays.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
	trap '"${root[@]}" rm -f "$policy"' EXIT
	"${root[@]}" chmod +x "$policy"
fi
"${root[@]}" apt-get update -q
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
