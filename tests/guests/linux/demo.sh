#!/bin/sh
# SPDX-License-Identifier: MIT
# The Linux demo, `./dev demo --linux`: Debian's own kernel in QEMU runs a shell script, and we
# trace its process tree and I/O. The guest starts no service of ours. The host
# switches the events on.
set -eu
here=$(dirname "$0")

procwatch=${RINGSIDE_PROCWATCH:?run this in the development shell: meson devenv -C build}
[ -x "$procwatch" ] || { echo "demo.sh: $procwatch is not built" >&2; exit 1; }

kernel=$("$here/fetch-kernel")
initrd=$(mktemp "${TMPDIR:-/tmp}/ringside-initrd.XXXXXX")
console=$(mktemp "${TMPDIR:-/tmp}/ringside-console.XXXXXX")
trap 'rm -f "$initrd" "$console"' EXIT INT TERM
"$here/mk-initramfs" "$initrd" "$here/init" "/bin/procwatch=$procwatch" "/work.sh=$here/work.sh"

echo "Booting $(basename "$kernel") under TCG (about 10 s); tracing proc:*, and io:* of more than 4000 bytes." >&2
ringside run --accel tcg --initrd "$initrd" --mem 512M --cpus 2 \
	--append "console=ttyS0 quiet panic=-1" --serial "$console" \
	-e 'proc:*' -e 'io:*' -f 'io:*: result > 4000' "$@" "$kernel"
echo "--- the guest's console:" >&2
cat "$console" >&2
