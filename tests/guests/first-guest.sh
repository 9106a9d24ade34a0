#!/bin/sh
# SPDX-License-Identifier: MIT
# The tutorial's guest: docs/tutorials/first-guest.md prints its text, it builds outside of the tree
# with the tutorial's own commands, and it runs.
# usage: first-guest.sh SOURCE_ROOT PKG_CONFIG_DIR BOOT_GUEST
set -eu
tutorials=$1/docs/tutorials
export PKG_CONFIG_PATH="$2"
boot_guest=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$tutorials/first-guest.c" "$tutorials/Makefile" "$dir"
cd "$dir"

sed -n '/^```c$/,/^```$/p' "$tutorials/first-guest.md" | sed '1d;$d' >from-page.c
cmp first-guest.c from-page.c || { echo "first-guest.md and first-guest.c differ"; exit 1; }
[ "$(wc -l <first-guest.c)" -le 30 ] || { echo "more than 30 lines"; exit 1; }

sh -c "$(sed -n 's/^    \(gcc -O2 .*first-guest\.c .*\)/\1/p' "$tutorials/first-guest.md")"
mv kitchen by-hand
make
cmp kitchen by-hand

# The same guest in ring 0.
printf '#include <rs_baremetal.h>\nconst uint32_t rs_ring = 0;\n' >ring0.c
gcc -O2 $(pkg-config --cflags ringside-baremetal) -o kitchen0 first-guest.c ring0.c \
	$(pkg-config --libs ringside-baremetal)

ran=0
for guest in kitchen kitchen0; do
	if [ -w /dev/kvm ] && [ -x "$boot_guest" ]; then
		out=$("$boot_guest" --seconds=30 $guest "dishes=3") || { echo "KVM: $guest failed: $out"; exit 1; }
		case $out in
		*"3 dishes cooked"*) ran=1 ;;
		*) echo "KVM: $guest: $out"; exit 1 ;;
		esac
	fi
	if command -v qemu-system-x86_64 >/dev/null; then
		out=$(timeout 60 qemu-system-x86_64 -accel tcg -nodefaults -display none -no-reboot \
			-serial stdio -kernel $guest -append dishes=3)
		case $out in
		*"3 dishes cooked"*) ran=1 ;;
		*) echo "QEMU: $guest: $out"; exit 1 ;;
		esac
	fi
done
[ $ran = 1 ] || { echo "neither /dev/kvm nor QEMU here"; exit 77; }
