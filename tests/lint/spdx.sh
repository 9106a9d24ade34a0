#!/bin/sh
# SPDX-License-Identifier: MIT
# Each source file names its licence within its first three lines, once.
cd "$1" || exit 1
files=$(git ls-files '*.c' '*.h' '*.S' '*.py' '*.sh' '*.build' '*.pml' '*.ld' '*.xml' dev .ci/run 2>/dev/null)
[ -n "$files" ] || { echo "git lists no files here"; exit 77; }
bad=0
for file in $files; do
	[ -f "$file" ] || continue
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' || {
		echo "$file: no SPDX line"
		bad=1
	}
done
exit $bad
