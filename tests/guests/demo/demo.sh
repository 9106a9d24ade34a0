#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `./dev demo`: the main job in about 15 seconds. Boots the bundled guest. Then it lists its events,
# switches some on, filters them, changes both while the guest runs, and follows the trace, as from
# another terminal. It records a second of it, and looks at the file. It ends with the session's
# summary. It shows every command that it runs.
set -eu

name=demo$$
dir=$(mktemp -d "${TMPDIR:-/tmp}/ringside-demo.XXXXXX")
guest=

clean_up() {
	[ -z "$guest" ] || kill "$guest" 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT

step() { printf '\n\033[1m==> %s\033[0m\n' "$*"; }
show() {
	local word line=ringside
	# As a user would type it: with quotes if the shell would split it.
	for word; do
		case $word in *[!A-Za-z0-9._:/=-]*) word="'$word'" ;; esac
		line+=" $word"
	done
	printf '\033[2m$ %s\033[0m\n' "$line"
	ringside "$@"
}
fail() {
	printf 'demo: %s\n' "$*" >&2
	cat "$dir/log" >&2
	exit 1
}

step "Booting a small kernel: two vCPUs, a scheduler, system calls, page faults, timers"
printf '\033[2m$ ringside run --demo --name %s --cpus 2 -e compute:round\033[0m\n' "$name"
ringside run --demo --name "$name" --cpus 2 -e compute:round "$@" >"$dir/trace" 2>"$dir/log" &
guest=$!
for _ in $(seq 300); do
	ringside list "$name" --names >"$dir/names" 2>/dev/null && [ -s "$dir/names" ] && break
	kill -0 "$guest" 2>/dev/null || fail "the guest ended early"
	sleep 0.1
done
[ -s "$dir/names" ] || fail "the guest's agent did not report within 30 s"

step "Its events, read out of the guest; each site is a 5-byte NOP until it is wanted"
show list "$name"

step "Switching the scheduler's events on: NOP becomes JMP in both vCPUs' text, from outside"
show enable "$name" 'sched:*'
show trace "$name" --new -n 12

step "A filter, compiled on the host, run by the guest before it takes ring space"
# In each round, somebody else hands a CPU to the first compressor.
show filter "$name" 'sched:switch: next_comm ~ "lz-*" && prev_comm !~ "lz-*"'
show disable "$name" sched:wakeup sched:steal
show trace "$name" --new -n 6 | grep -v '^#'

step "Changing both while it runs: scheduler off, memory and system calls on"
show disable "$name" 'sched:*'
show enable "$name" 'mm:*'
show enable "$name" 'syscalls:*'
show filter "$name" 'syscalls:exit: ret > 0 || CPU == 1'

step "Following it live (the first lines of two seconds)"
show trace "$name" --new --duration 2 | head -n 40

step "Recording a second of it, with call stacks, into a file"
show enable "$name" --stack sched:switch
show record -s "$name" --duration 1 -o "$dir/demo.trace"

step "What is in the file, how long a page fault took, and its last events"
show report "$dir/demo.trace" --stat | head -n 12
show report "$dir/demo.trace" --latency mm:page_fault..mm:page_map
show report "$dir/demo.trace" --last 2

step "The same for another tool; others are $(ringside export --to list |
	awk '{ printf "%s%s", sep, $1; sep = ", " }')"
show export "$dir/demo.trace" --to perfetto -o "$dir/demo.perfetto"

step "What it cost"
show stat "$name"

step "Ending the guest; the session sums up"
show stop "$name"
wait "$guest" || true
guest=
sed -n '/^ringside:/p; /^#/p' "$dir/log"
printf '\n%s lines of trace were printed by the session itself meanwhile.\n' \
	"$(grep -vc '^#' "$dir/trace" || true)"
