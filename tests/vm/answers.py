#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A guest that sleeps until its host answers.

    answers.py kvm|tcg RINGSIDE DEMO

One vCPU of the demo guest halts in RS_HCALL_WAIT. Only the host's nudge wakes it up, since no timer
runs there. The other vCPU goes on making requests. Exits 77 if the accelerator is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ACCEL, RINGSIDE, DEMO = sys.argv[1:]
ROUNDS = 6


def check(ok, what):
    if not ok:
        raise AssertionError(what)
    print('ok:', what, flush=True)


def rs(*args):
    return subprocess.run([RINGSIDE, *args], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def test_wait():
    with tempfile.TemporaryFile('w+') as out, tempfile.NamedTemporaryFile('r') as serial:
        guest = subprocess.Popen(
            [RINGSIDE, 'run', '--accel', ACCEL, '--name', 'w', '--cpus', '2', '--duration', '100',
             '--serial', serial.name, '--append', f'watch rounds={ROUNDS}', DEMO],
            stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        changes = 0
        while guest.poll() is None:
            # Slow enough that the guest is asleep at each change.
            time.sleep(0.2)
            changes += rs('disable' if changes % 2 else 'enable', '-s', 'w',
                          'load:flood').returncode == 0
        out.seek(0)
        text = out.read() + serial.read()
    check(guest.returncode == 0, f'it ends well: {guest.returncode} {text[-800:]}')
    m = re.search(r'(\d+) changes, (\d+) nudges, (\d+) questions meanwhile', text)
    check(m and int(m[1]) == ROUNDS, f'it woke for each of {changes} changes: {m and m[0]}')
    # On a busy machine a change may come before the guest has gone to sleep again.
    check(int(m[2]) > 0, 'by interrupts')
    check(int(m[3]) > 10 * ROUNDS, 'while the other vCPU went on asking')


def main():
    if ACCEL == 'kvm' and not os.access('/dev/kvm', os.R_OK | os.W_OK):
        print('skipped: /dev/kvm is not usable here')
        return 77
    if ACCEL == 'tcg' and not shutil.which('qemu-system-x86_64'):
        print('skipped: no qemu-system-x86_64 here')
        return 77
    with tempfile.TemporaryDirectory() as runtime:
        os.environ['XDG_RUNTIME_DIR'] = runtime
        test_wait()
    return 0


sys.exit(main())
