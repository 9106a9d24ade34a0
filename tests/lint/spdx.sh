#!/bin/sh
# SPDX-License-Identifier: MIT
# Each source file names its licence within its first three lines. Others have no place for it,
# or are generated: LICENSE speaks for them.
cd "$1" || exit 1
files=$(git ls-files -co --exclude-standard -- ':!*.md' ':!*.hex' ':!*.expected' ':!*.png' ':!debian' \
	':!LICENSE' ':!VERSION' ':!.gitignore' ':!.ci/packages' 2>/dev/null)
[ -n "$files" ] || { echo "git lists no files here"; exit 77; }
bad=0
for file in $files; do
	[ -f "$file" ] || continue
	first='' second='' third=''
	{ read -r first; read -r second; read -r third; } <"$file"
	case "$first $second $third" in
	*'SPDX-License-Identifier: '*) ;;
	*) echo "$file: no SPDX line"; bad=1 ;;
	esac
done
exit $bad
