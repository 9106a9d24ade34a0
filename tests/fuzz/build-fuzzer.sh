#!/bin/sh
# SPDX-License-Identifier: MIT
# build-fuzzer.sh CLANG OUTPUT DEPFILE WORKDIR INSTRUMENTS FLAG... -- SOURCE...
# Compiles and links one libFuzzer target, and leaves a make-style dependency file for ninja.
set -eu
clang=$1 output=$2 depfile=$3 work=$4 instruments=$5
shift 5
flags="-std=gnu17 -g -O1 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers
	-Wno-gnu-variable-sized-type-not-at-end -fno-omit-frame-pointer -DRS_FUZZING=1
	$instruments
	$(pkg-config --cflags glib-2.0 gio-unix-2.0 json-glib-1.0 capstone)"
while [ "$1" != -- ]; do
	flags="$flags $1"
	shift
done
shift
mkdir -p "$work"
objects= n=0
: > "$depfile.tmp"
for source; do
	n=$((n + 1))
	# shellcheck disable=SC2086  # flags are words
	"$clang" $flags -MD -MF "$work/$n.d" -MT "$output" -c "$source" -o "$work/$n.o"
	cat "$work/$n.d" >> "$depfile.tmp"
	objects="$objects $work/$n.o"
done
# shellcheck disable=SC2086
"$clang" $instruments $objects -o "$output" \
	$(pkg-config --libs glib-2.0 gio-unix-2.0 json-glib-1.0 capstone) -lpthread
# Ninja wants one rule in a depfile.
{
	printf '%s:' "$output"
	sed -e 's/^[^:]*://' -e 's/\\$//' "$depfile.tmp" | tr -s ' \n' '\n\n' | sort -u | while read -r f; do
		[ -z "$f" ] || printf ' \\\n %s' "$f"
	done
	echo
} > "$depfile"
rm -f "$depfile.tmp"
