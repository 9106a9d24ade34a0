#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside ktrace` of the demo guest, whose kernel has a task for the host's commands.

    ktrace_guest.py RINGSIDE DEMO_GUEST kvm|tcg
"""
import os
import re
import signal
import sys
import tempfile

from harness import Background, Ringside, check, need, wait_for

RINGSIDE, GUEST, ACCEL = sys.argv[1:]
rs = Ringside(RINGSIDE)
LINE = re.compile(r'^ +(\d+) (\S+) +([A-Z]{3,4}) ', re.M)


def shown(*options):
    """What the next records are: pairs of a process id and a kind."""
    r = rs('kdump', '--new', '--duration', '30', *options, 'd')
    check(r.code == 0, f'kdump: {r.code} {r.err!r}')
    return {(int(pid), kind) for pid, _, kind in LINE.findall(r.out)}


def ktrace(*args):
    r = rs('ktrace', *args, 'd')
    check(r.code == 0, f'ktrace {args}: {r.out + r.err!r}')
    return int(r.out.split()[0])


def test():
    wait_for('a task for commands', lambda: rs('ktrace', '-C', 'd').code == 0)
    check(ktrace('-t', 'c', '-p', '1') == 1, 'one process')
    got = shown('--count', '20')
    check({pid for pid, _ in got} == {1}, f'which alone is traced: {got}')
    check({'CALL', 'RET'} <= {kind for _, kind in got}, f'with its calls: {got}')
    check(ktrace('-t', 'c', '-i', '-p', '1') == 1, 'the same, with its children to come')
    got = shown('--count', '60')
    check(len({pid for pid, _ in got}) > 1, f'they are traced, too: {got}')
    check(ktrace('-c', '-p', '1') == 1, 'no longer init itself')
    check(ktrace('-C') >= 0, 'nobody any more')
    check(not shown('--duration', '0.5'), 'so nothing is written')
    check(ktrace('-d', '-t', 'w', '-p', '1') > 1, 'init and its descendants')
    got = shown('--count', '40')
    check(len({pid for pid, _ in got}) > 1 and {kind for _, kind in got} == {'CSW'},
          f'context switches of several: {got}')
    r = rs('ktrace', '-p', '123456', 'd')
    check(r.code == 3 and 'no such process' in r.err, f'nobody has this id: {r.err!r}')
    check(rs('pause', 'd').code == 0, 'a pause')
    r = rs('ktrace', '-p', '1', 'd')
    check(r.code == 1 and 'paused' in r.err, f'in which nothing can be asked: {r.err!r}')
    check(rs('resume', 'd').code == 0 and ktrace('-p', '1') == 1, 'and which ends')


def main():
    need(ACCEL)
    with tempfile.TemporaryDirectory() as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        session = Background(rs, 'run', '--name', 'd', '--accel', ACCEL, '--serial', 'none', '--text',
                             '/dev/null', GUEST, ready=lambda: rs('list', '-q', '-s', 'd').out)
        try:
            test()
        finally:
            session.end(signal.SIGTERM)


main()
