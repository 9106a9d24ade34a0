#!/bin/sh
# SPDX-License-Identifier: MIT
# What an outsider has: Ringside is installed into a folder of its own, the tutorial's guest and
# program are built out of the tree by the tutorial's own commands, and the program, of each
# compiler, is traced by the installed command.
# usage: installed.sh SOURCE_ROOT BUILD_ROOT MESON
set -eu
tutorials=$1/docs/tutorials
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/run"
export XDG_RUNTIME_DIR="$dir/run"
DESTDIR="$dir/kit" "$3" install -C "$2" --no-rebuild --quiet

cd "$dir"
cp "$tutorials/first-program.c" "$tutorials/first-guest.c" .
pc=$(find kit -name ringside-hosted.pc)
ringside=$(find kit -name ringside -path '*/bin/*')
export PKG_CONFIG_PATH="$dir/${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$dir/kit"
command_for() {
	sed -n "s/^    \(gcc -O2 .* $1\.c .*\)/\1/p" "$tutorials/first-guest.md" | grep .
}
sh -c "$(command_for first-guest)"
build=$(command_for first-program)

for cc in gcc clang; do
	command -v $cc >/dev/null || { echo "no $cc here"; continue; }
	for more in '' -static; do
		sh -c "$cc $more -Wall -Wextra -Werror ${build#gcc}"
		./program
		out=$("$ringside" run -e 'kitchen:*' --hosted ./program)
		for text in 'kitchen:cooked: dish=soup minutes=0' 'kitchen:cooked: dish=tea minutes=29'; do
			case $out in
			*"$text"*) ;;
			*) echo "$cc $more: no '$text' in:"; echo "$out"; exit 1 ;;
			esac
		done
	done
done
