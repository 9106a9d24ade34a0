#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo guest alone, without the command: it does its rounds and ends as told, on each
# accelerator. What it does while it is traced is in tests/specs.
# usage: demo-guest.sh kvm|tcg DEMO BOOT_GUEST
set -eu
accel=$1 demo=$2 boot_guest=$3

want() { # NAME OUTPUT TEXT...
	name=$1 out=$2
	shift 2
	for text; do
		case $out in
		*"$text"*) ;;
		*) echo "$name: no '$text' in:"; echo "$out"; exit 1 ;;
		esac
	done
	echo "$name: good"
}

case $accel in
kvm)
	[ -w /dev/kvm ] || { echo "/dev/kvm is not usable here"; exit 77; }
	run() { "$boot_guest" --cpus="$1" --seconds=30 "$demo" "$2" 2>&1 || true; }
	exit5="end: exit, code 5"
	;;
tcg)
	command -v qemu-system-x86_64 >/dev/null || { echo "no qemu-system-x86_64 here"; exit 77; }
	run() {
		rc=0
		timeout 60 qemu-system-x86_64 -accel tcg -machine "${machine:-pc}" -smp "$1" -m 128 \
			-nodefaults -display none -no-reboot -serial stdio \
			-device isa-debug-exit -kernel "$demo" -append "$2" || rc=$?
		echo "rc=$rc"
	}
	exit5="rc=11"
	;;
esac

want "engines" "$(run 2 "duration=3 engines")" "demo: engines: ok" "0 bad" "demo: ok"
want "exit code" "$(run 2 "crash=exit:5 rounds=1")" "$exit5"
want "panic" "$(run 2 "crash=panic rounds=1")" "panic on vCPU" "the demo was told to panic"
if [ $accel = tcg ]; then
	machine=q35
	want "q35" "$(run 2 "rounds=5")" "5 rounds, 10 compute rounds, 40 page faults, 0 bad, 2 vCPUs"
else
	want "triple fault" "$(run 2 "crash=triple rounds=1")" "end: triple fault"
	want "reset" "$(run 2 "crash=reset rounds=1")" "end: reset"
	want "scribble" "$(run 2 "scribble rounds=2")" "scribbled 2 times" "end: exit, code 0"
	want "no agent" "$(run 2 "noagent rounds=1")" "1 rounds, 2 compute rounds" "requests 0"
fi
