#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""losses.py ACCEL RINGSIDE DEMO_GUEST: what is shown and what is lost is all that was emitted.

Guests flood small rings, with and without a filter, in both modes. Each event that the filter let
through is either printed or counted as lost, in its place, up to the end of the guest.
"""
import signal
import subprocess
import sys
import time

from harness import Flood, Ringside, check, need, run_tests

ACCEL, RINGSIDE, DEMO = sys.argv[1:4]
COUNT = 3000000 if ACCEL == 'kvm' else 300000
rs = Ringside(RINGSIDE)


def losses(mode, step, options, pause):
    """Runs a flood to its end. `pause`: seconds that its reader looks away."""
    flood = Flood(step, begun=True)
    run = rs.start('run', '--accel', ACCEL, '--cpus', '2', '--ring-size', '32K', '--mode', mode, '-e',
                   'load:flood', *options, '--append', f'flood count={COUNT}', DEMO,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if pause:
        first = [run.stdout.readline() for _ in range(1000)]
        run.send_signal(signal.SIGSTOP)
        time.sleep(pause)
        run.send_signal(signal.SIGCONT)
        flood.read(first)
    flood.read(run.stdout)
    said = run.stderr.read().decode(errors='replace')
    code = run.wait(60)
    what = f'{mode}, 1 of {step}'
    check(code == 0 and '# events:' in said, f'{what}: {code} {said[-300:]}')
    check(not flood.wrong, f'{what}: each loss is in its place: {flood.wrong[:3]}')
    total, lost = flood.events + sum(flood.lost.values()), sum(flood.lost.values())
    check(total == 2 * -(-COUNT // step), f'{what}: {flood.events} printed + {lost} lost = {total}')
    return lost


def test_overwrite():
    lost = losses('overwrite', 1, [], 0)
    check(lost > 0, f'{lost} were lost at all')
    losses('overwrite', 1, [], 0.5)


def test_filter():
    losses('overwrite', 4, ['-f', 'load:flood: sequence & 3 == 0'], 0)
    losses('overwrite', 1024, ['-f', 'load:flood: sequence & 1023 == 0'], 0)


def test_drop():
    losses('drop', 1, [], 0)
    losses('drop', 4, ['-f', 'load:flood: sequence & 3 == 0'], 0.5)


need(ACCEL)
run_tests([test_overwrite, test_filter, test_drop], sys.argv[4:])
