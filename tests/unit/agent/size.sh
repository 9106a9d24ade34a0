#!/bin/sh
# SPDX-License-Identifier: MIT
# The agent takes little memory in a kernel that links it, whatever the number of CPUs.
#     size.sh NM LIBRARY
total=$("$1" -S "$2" | awk '$3 ~ /^[bBdDC]$/ { print $2 }' |
	while read -r hex; do echo $((0x$hex)); done | awk '{ n += $1 } END { print n + 0 }')
echo "$total bytes of data"
[ "$total" -ge 1024 ] || { echo "that cannot be: its own state alone is larger"; exit 1; }
[ "$total" -lt 8192 ] || { echo "8192 were promised"; exit 1; }
