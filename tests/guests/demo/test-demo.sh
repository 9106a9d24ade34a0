#!/bin/sh
# SPDX-License-Identifier: MIT
# `./dev demo` runs to its end, and what it shows behind its filter is there and passes the filter.
# usage: test-demo.sh RINGSIDE DEMO_GUEST
set -eu
export PATH="$(dirname "$1"):$PATH" RINGSIDE_GUESTS="$(dirname "$2")"
[ -w /dev/kvm ] || { echo "/dev/kvm is not usable here"; exit 77; }
out=$("${0%/*}/demo.sh" 2>&1) || { echo "$out"; exit 1; }
shown=$(echo "$out" | sed -n '/==> A filter/,/==> Changing/p' | grep -v ringside)
echo "$shown"
echo "$shown" | grep -q 'sched:switch: .* next_comm=lz-' || { echo "no event"; exit 1; }
if echo "$shown" | grep 'sched:' | grep -v 'filter\| is off' |
	grep -v 'sched:switch: prev_comm=[^l].* next_comm=lz-'; then
	echo "these do not pass"
	exit 1
fi
