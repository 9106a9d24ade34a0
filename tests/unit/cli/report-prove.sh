#!/bin/sh
# SPDX-License-Identifier: MIT
# report-prove.sh SAMPLE: prove comes to the verdict that the TAP report says.
command -v prove >/dev/null || { echo "prove is not here"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$1" tap >"$dir/all.tap" && "$1" tap good >"$dir/good.tap" || exit 1
for report in all good; do
	[ "$(head -n 1 "$dir/$report.tap")" = 'TAP version 14' ] || { echo "no version"; exit 1; }
done
# Before 3.48 it refuses version 14 as such, and reads as 13 what is the same for it.
if ! perl -MTAP::Parser -e 'exit(TAP::Parser->VERSION < 3.48)'; then
	echo "this prove does not know version 14: read as 13"
	sed -i '1s/14/13/' "$dir/all.tap" "$dir/good.tap"
fi
expect() {
	grep -qF -e "$1" "$dir/said" || { echo "prove does not say: $1"; cat "$dir/said"; exit 1; }
}
prove "$dir/good.tap" >"$dir/said" 2>&1 || { cat "$dir/said"; exit 1; }
expect 'Tests=4,'
expect 'Result: PASS'
prove "$dir/all.tap" >"$dir/said" 2>&1 && { cat "$dir/said"; exit 1; }
expect 'Failed 3/7 subtests'
expect '(less 1 skipped subtest: 3 okay)'
expect 'Failed tests:  2-4'
expect 'Result: FAIL'
grep -i -e 'parse error' -e 'bailout' -e 'todo' "$dir/said" && exit 1
# Which tests were skipped, and what the parser of prove complains of.
for report in good:2 all:5; do
	perl -MTAP::Parser -e '
		my ($path, $skipped) = @ARGV;
		my $parser = TAP::Parser->new({source => $path});
		$parser->run;
		my $said = join(" ", $parser->skipped, $parser->todo, $parser->parse_errors);
		$said eq $skipped or die "skipped: $said, not $skipped\n"' \
		"$dir/${report%:*}.tap" "${report#*:}" || exit 1
done
