#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A folder that `./dev demo` configures asks for nothing that .ci/packages has not under demo, and
# `./dev build` can make it one for everything.
# usage: demo-setup.sh SOURCE MESON
set -euo pipefail
source=$1 meson=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "$*"; exit 1; }
# The options, from ./dev itself.
eval "$(grep -E '^(DEMO|ALL)_OPTIONS=\(.*\)$' "$source/dev")"

setup() { "$meson" setup "$@" "$dir/build" "$source" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }; }
# Names of the targets, the one behind the other.
targets() { "$meson" introspect --targets "$dir/build" | grep -o '"name": "[^"]*"' | tr -d ' "' | tr '\n' ' '; }

setup "${DEMO_OPTIONS[@]}"
"$meson" introspect --dependencies "$dir/build" >"$dir/dependencies"
! grep -Ei '"name": "(gtk|libadwaita|gobject-introspection|lttng)' "$dir/dependencies" ||
	fail "the demo is configured with a window"
for target in for-demo for-demo-linux; do
	ninja -C "$dir/build" -t query "$target" >/dev/null || fail "no target $target"
done
case " $(targets)" in *" name:test-"* | *" name:fuzz-"*) fail "the demo's build has tests" ;; esac

setup --reconfigure "${ALL_OPTIONS[@]}"
case " $(targets)" in *" name:test-"*) ;; *) fail "no tests after ./dev build" ;; esac
