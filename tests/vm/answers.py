#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A guest that sleeps until its host answers.

    answers.py kvm|tcg RINGSIDE DEMO

One vCPU of the demo guest halts in RS_HCALL_WAIT. Only the host's nudge wakes it up, since no timer
runs there. The other vCPU goes on making requests. Exits 77 if the accelerator is missing.
"""
import re
import sys
import tempfile
import time

from harness import Ringside, check, need, run_tests

ACCEL, RINGSIDE, DEMO = sys.argv[1:]
rs = Ringside(RINGSIDE)
ROUNDS = 6


def test_wait():
    with tempfile.TemporaryFile('w+') as out, tempfile.NamedTemporaryFile('r') as serial:
        guest = rs.start('run', '--accel', ACCEL, '--name', 'w', '--cpus', '2', '--duration', '100',
                         '--serial', serial.name, '--append', f'watch rounds={ROUNDS}', DEMO,
                         stdout=out, stderr=out)
        changes = 0
        while guest.poll() is None:
            # Slow enough that the guest is asleep at each change.
            time.sleep(0.2)
            changes += rs('disable' if changes % 2 else 'enable', '-s', 'w',
                          'load:flood').code == 0
        out.seek(0)
        text = out.read() + serial.read()
    check(guest.returncode == 0, f'it ends well: {guest.returncode} {text[-800:]}')
    m = re.search(r'(\d+) changes, (\d+) nudges, (\d+) questions meanwhile', text)
    check(m and int(m[1]) == ROUNDS, f'it woke for each of {changes} changes: {m and m[0]}')
    # On a busy machine a change may come before the guest has gone to sleep again.
    check(int(m[2]) > 0, 'by interrupts')
    check(int(m[3]) > 10 * ROUNDS, 'while the other vCPU went on asking')


need(ACCEL)
run_tests([test_wait])
