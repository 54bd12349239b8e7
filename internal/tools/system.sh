#!/usr/bin/env bash
# Installs the Debian packages whose commands are missing: system.sh LIST,
# each line of LIST a command and its package.
set -euo pipefail

missing=()
while read -r command package _; do
	[[ -z $command || $command == \#* ]] && continue
	command -v "$command" >/dev/null || missing+=("$package")
done <"$1"
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "setup: missing Debian packages: ${missing[*]}"
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
	echo "setup: install them, or run as root on Debian: apt-get install ${missing[*]}" >&2
	exit 1
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
