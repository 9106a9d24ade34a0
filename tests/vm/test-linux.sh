#!/bin/sh
# SPDX-License-Identifier: MIT
# Traces the process tree of Debian's kernel in QEMU TCG, as `./dev demo --linux` shows it: events,
# names, a filter, self-patched sites, an orderly end. Skips (77), with the reason, if QEMU, busybox
# or the kernel is missing.
set -eu
guest=$1 procwatch=$(realpath "$2") ringside=$(realpath "$3")
for tool in qemu-system-x86_64 busybox cpio; do
	command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
kernel=$("$guest/fetch-kernel" 2>&1 | tail -n 1)
[ -r "$kernel" ] || { echo "skipped: $kernel"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export XDG_RUNTIME_DIR="$work" RINGSIDE_PROCWATCH="$procwatch"
mkdir "$work/bin"; ln -s "$ringside" "$work/bin/ringside"; PATH=$work/bin:$PATH
chmod 700 "$work"

echo "accelerator: tcg"
"$guest/demo.sh" --name linux-test >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
failed=$work/failed; : >"$failed"
expect() { # COUNT PATTERN: at least so many lines
	n=$(grep -c -E "$2" "$work/out" || true)
	[ "$n" -ge "$1" ] || echo "FAILED: $n of $1 lines: $2" >>"$failed"
}
expect 1 'proc:exec: comm=work.sh pid=[0-9]+ ppid=[0-9]+ argv=/bin/sh /work.sh'
expect 1 '^ +sort-[0-9]+ .* proc:exec: comm=sort pid=[0-9]+ ppid=[0-9]+ argv=/bin/sort -r numbers'
expect 10 '^ +work.sh-[0-9]+ .* proc:fork: comm=work.sh '
expect 1 'proc:exit: .* status=3 signal=none'
expect 1 'proc:exit: .* status=0 signal=KILL'
expect 2 '^ +cat-[0-9]+ .* io:read: fd=[0-9]+ count=[0-9]+ result=8893'
# The filter rejected all small values, and accepted a large one.
awk '/ io:(read|write): fd=/ { n = $0; sub(/.*result=/, "", n); if (n + 0 <= 4000) print "FAILED: " $0 }' \
	"$work/out" >>"$failed"
# The fork event of a child comes before its other events.
awk '/ proc:fork: / { c = $0; sub(/.*child=/, "", c); known[c + 0] = 1 }
	/ proc:exec: / { p = $0; sub(/.* pid=/, "", p); if (n++ && !known[p + 0]) print "FAILED: " $0 }' \
	"$work/out" >>"$failed"
grep -q 'work.sh ended with 0' "$work/err" || echo "FAILED: the guest's console" >>"$failed"
[ ! -s "$failed" ] || { cat "$work/out" "$work/err" "$failed"; exit 1; }
grep -c ' proc:[a-z]*: ' "$work/out"
