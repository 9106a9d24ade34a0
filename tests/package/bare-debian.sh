#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs packages in a Debian 12 with nothing but its essential packages, runs the tutorial there,
# and looks whether removing them leaves anything. As root. docs/packaging.md has more.
#     bare-debian.sh PACKAGE.deb...
# Where the mirror has headers of kernels, DKMS builds the module for them.
# RINGSIDE_BARE: a folder that debootstrap has filled before, to be copied.
set -euo pipefail
mirror=${RINGSIDE_MIRROR:-http://deb.debian.org/debian}
tutorial=$(realpath "$(dirname "$0")/../../debian/tests/tutorial")
[ "$(id -u)" = 0 ] || { echo "not root"; exit 1; }
root=$(mktemp -d)

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
in_root() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
# Shows what a command printed only if it fails.
quietly() { "$@" >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }; }
clean_up() {
	for part in dev/kvm proc; do
		mountpoint -q "$root/$part" && umount "$root/$part"
	done
	rm -rf --one-file-system "$root" "$root".*
}
trap clean_up EXIT
# Files of the system. What apt and dpkg note about packages that were there once is theirs, and
# what depmod notes about modules is depmod's.
list_files() {
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./var/cache -o -path ./var/lib/apt \
		-o -path ./var/log -o -path ./var/lib/dpkg -o -path './usr/lib/modules/*/modules.*' \) \
		-prune -o -print | sort)
}
# Of Debian 12's kernel, and of the newest one that its backports have.
install_headers() {
	echo "deb $mirror bookworm-backports main" >"$root/etc/apt/sources.list.d/backports.list"
	in_root apt-get update >"$root.log" 2>&1 &&
		in_root apt-get install -y --no-install-recommends linux-headers-amd64/bookworm >>"$root.log" 2>&1 &&
		in_root apt-get install -y --no-install-recommends -t bookworm-backports linux-headers-amd64 >>"$root.log" 2>&1 ||
		{ tail "$root.log"; say "no headers of kernels here: the module is not built"; }
}
# check_module RELEASE: it was built for this kernel and is found by it.
check_module() {
	local module
	module=$(in_root modinfo -k "$1" -F filename ringside)
	case $module in # as the kernel's own modules are: with .xz, or without
	"/lib/modules/$1/updates/dkms/ringside.ko"*) ;;
	*) say "FAILED: no module for $1, but '$module'"; exit 1 ;;
	esac
	case $(in_root modinfo -F vermagic "$module") in
	"$1 "*) say "the module for $1: $(in_root dkms status -k "$1")" ;;
	*) say "FAILED: it is not for $1"; exit 1 ;;
	esac
}

say "a bare Debian 12 in $root"
if [ -n "${RINGSIDE_BARE:-}" ]; then
	cp -a "$RINGSIDE_BARE/." "$root"
else
	quietly debootstrap --variant=minbase bookworm "$root" "$mirror"
fi
mount -t proc proc "$root/proc"
if [ -c /dev/kvm ]; then
	touch "$root/dev/kvm"
	mount --bind /dev/kvm "$root/dev/kvm"
fi
mkdir "$root/root/packages"
cp "$@" "$root/root/packages"
cp "$tutorial" "$root/root"
quietly in_root apt-get install -y --no-install-recommends gcc g++ libc6-dev python3-gi qemu-system-x86
case " $* " in *ringside-dkms*) install_headers ;; esac
in_root dpkg-query -W -f '${Package}\n' | sort >"$root/root/before.packages"
list_files >"$root.before"

say "install"
quietly in_root sh -c 'apt-get install -y --no-install-recommends /root/packages/*.deb'
ours=$(for package in "$@"; do dpkg-deb -f "$package" Package; done)
in_root dpkg -L $ours | grep -vxF /. | sort -u >"$root.ours"
say "$(wc -l <"$root.ours") paths of: $(echo $ours)"

for release in $(cd "$root" && ls lib/modules 2>/dev/null); do check_module "$release"; done

say "the tutorial"
in_root /root/tutorial

say "purge"
in_root dpkg-query -W -f '${Package}\n' | sort | comm -13 "$root/root/before.packages" - |
	quietly in_root xargs dpkg --purge
list_files >"$root.after"
if ! diff "$root.before" "$root.after"; then
	say "FAILED: files are left, or missing"
	exit 1
fi
left=$(while read -r path; do
	grep -qxF ".$path" "$root.before" || [ ! -e "$root$path" ] || echo "$path"
done <"$root.ours")
left+=$(find "$root" -xdev -name '*ringside*' -not -path "$root/root/*")
[ -z "$left" ] || { say "FAILED: still there: $left"; exit 1; }
say "nothing is left"
