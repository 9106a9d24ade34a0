#!/bin/sh
# SPDX-License-Identifier: MIT
# Man pages are clean mdoc, and each verb of the command has one.
#     man.sh SOURCE_ROOT RINGSIDE
command -v mandoc >/dev/null || { echo "mandoc is not here"; exit 77; }
command=$(realpath "$2")
cd "$1/docs/man" || exit 1
bad=0
for page in *.1; do
	if target=$(sed -n 's|^\.so man1/||p' "$page") && [ -n "$target" ]; then
		[ -f "$target" ] || { echo "$page: no $target"; bad=1; }
		continue
	fi
	# Which manuals are there, and in its index, depends on this machine, not on the page.
	mandoc -Tlint "$page" 2>&1 | grep -v -e 'referenced manual not found' \
		-e 'outdated mandoc.db' && bad=1
done
# Each page is installed.
for page in *.1; do
	grep -q "'$page'" meson.build || { echo "meson.build does not install $page"; bad=1; }
done
verbs=$("$command" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ -n "$verbs" ] || { echo "no verb found in --help"; bad=1; }
for verb in $verbs; do
	[ -f "ringside-$verb.1" ] || { echo "no page for $verb"; bad=1; }
	# An option with two meanings has neither.
	"$command" "$verb" --help | sed -n 's/^  \(-.,\)\{0,1\} *--\([a-z-]*\).*/\2/p' | sort | uniq -d |
		grep . && { echo "$verb: an option is there twice"; bad=1; }
	# Every long option of the verb is on its page.
	for option in $("$command" "$verb" --help | sed -n 's/.* --\([a-z-]*\).*/\1/p'); do
		[ "$option" = help ] && continue
		page="ringside-$verb.1"
		target=$(sed -n 's|^\.so man1/||p' "$page")
		[ -n "$target" ] && page=$target
		[ "$verb" = attach ] && page="ringside-attach.1 ringside-run.1"
		grep -q -e "-$option" $page || { echo "$page: no --$option"; bad=1; }
	done
done
exit $bad
