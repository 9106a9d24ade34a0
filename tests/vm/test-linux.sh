#!/bin/sh
# SPDX-License-Identifier: MIT
# `./dev demo --linux` runs to its end, and shows the processes of Debian's kernel and the guest's
# console. What it traces is checked by tests/specs/linux. Skips (77), with the reason, if QEMU,
# busybox or the kernel is missing.
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
grep -q 'work.sh ended with 0' "$work/err" || { cat "$work/out" "$work/err"; exit 1; }
grep -c ' proc:[a-z]*: ' "$work/out"
