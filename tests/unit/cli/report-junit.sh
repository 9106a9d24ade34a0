#!/bin/sh
# SPDX-License-Identifier: MIT
# report-junit.sh SAMPLE SCHEMA: xmllint accepts the report, and not one that breaks the schema.
command -v xmllint >/dev/null || { echo "xmllint is not here"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$1" junit >"$dir/all.xml" && "$1" junit good >"$dir/good.xml" || exit 1
for report in all good; do
	xmllint --noout --schema "$2" "$dir/$report.xml" || exit 1
done
sed 's/ classname=/ class-name=/' "$dir/all.xml" >"$dir/bad.xml"
xmllint --noout --schema "$2" "$dir/bad.xml" 2>/dev/null && { echo "the schema accepts all"; exit 1; }
# XPath's count of each verdict.
for what in 'testcase=7' 'failure=1' 'error=2' 'skipped=1'; do
	count=$(xmllint --xpath "count(//${what%=*})" "$dir/all.xml")
	[ "$count" = "${what#*=}" ] || { echo "$count of $what"; exit 1; }
done
