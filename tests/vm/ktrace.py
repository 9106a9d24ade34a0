#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside ktrace` chooses the processes of a running guest that write what kdump shows.

    ktrace.py RINGSIDE HOSTED_KTRACE
"""
import glob
import os
import re
import signal
import sys
import tempfile
import time

from harness import Background, Ringside, check

RINGSIDE, PROGRAM = sys.argv[1:]
rs = Ringside(RINGSIDE)


class Guest:
    """A session called `k` with programs of these arguments; `pids`: theirs."""

    def __init__(self, *programs):
        args = []
        for i, program in enumerate(programs):
            args += ['--and'] * (i > 0) + ['--source', 'abc'[i], '--hosted', PROGRAM, *program]
        self.session = Background(rs, 'run', '--name', 'k', '--text', '/dev/null', *args,
                                  ready=lambda: rs('list', '-q', '-s', 'k').out.count('ktrace:csw')
                                  == len(programs))

    def __enter__(self):
        self.pids = []
        for children in glob.glob(f'/proc/{self.session.process.pid}/task/*/children'):
            with open(children) as f:
                self.pids += map(int, f.read().split())
        return self

    def __exit__(self, *why):
        self.session.end(signal.SIGTERM)


def ktrace(*args, code=0, says=''):
    r = rs('ktrace', *map(str, args), 'k')
    check(r.code == code and says in r.out + r.err, f'ktrace {args}: {r.code} {r.out + r.err!r}')
    return r


def kinds():
    """What is written now: kinds of records, and labels of user records."""
    r = rs('kdump', '--new', '--duration', '0.2', 'k')
    check(r.code == 0, f'kdump: {r.code} {r.err!r}')
    return set(re.findall(r'hosted-ktrace\s+([A-Z]{3,4}) ', r.out)) | \
        set(re.findall(r'USER  "(\w+)"', r.out))


def on():
    return {e['name'] for e in rs.json('list', 'k') if e['enabled']}


ALL = {'CALL', 'RET', 'NAMI', 'GIO', 'USER', 'mark'}


def test_choose():
    with Guest(['0']) as guest:
        pid = guest.pids[0]
        check(kinds() == set(), 'at first nobody is traced')
        ktrace('-p', pid, says='1 process is traced\n')
        check(kinds() == ALL, 'what it does is shown, without more ado')
        ktrace('-c', '-t', 'nu', '-p', pid, says='1 process is traced less\n')
        check(kinds() == {'CALL', 'RET', 'GIO'}, '-c takes points away')
        ktrace('-c', '-p', pid, says='1 process is traced no more\n')
        check(kinds() == set(), 'or all of them')
        ktrace('-t', 'n', '-p', pid)
        check(kinds() == {'NAMI'}, '-t names the points')
        ktrace('-q', '-t', 'i', '-p', pid)
        check(kinds() == {'NAMI', 'GIO'}, 'which are added to those that are traced')
        check({'genio', 'syscall'} <= on() and 'csw' in on(), f'events stay on: {on()}')
        ktrace('-C', says='1 process is traced no more\n')
        check(kinds() == set(), '-C ends all tracing')
        check(not on(), f'and switches the events off: {on()}')
        ktrace('-C', says='0 processes are traced no more\n')


def test_several_processes():
    with Guest(['0']) as guest:
        pid = guest.pids[0]
        ktrace('-t', 'u', '-g', pid, says='2 processes are traced\n')
        check(kinds() == {'USER', 'mark', 'child'}, '-g: the group')
        ktrace('-C')
        ktrace('-d', '-t', 'u', '-p', pid)
        check(kinds() >= {'USER', 'mark', 'child'}, '-d: descendants')
        ktrace('-C')
        ktrace('-i', '-t', 'u', '-p', pid, says='1 process is traced\n')
        check(kinds() == {'USER', 'mark', 'newborn'}, '-i: children to come')
        ktrace('-C')
        ktrace('-p', pid + 5000000, '-t', 'u', says='1 process')
        check(kinds() == {'USER', 'child'}, 'one of several')


def test_wrong():
    with Guest(['0', 'orphan']) as guest:
        pid = guest.pids[0]
        ktrace('-p', pid, '-t', 'cz', code=2, says="no letter 'z'")
        ktrace('-p', pid, '-t', '', code=2, says='no letter')
        ktrace('-p', pid, '-t', 'p', code=2, says="'p'")
        ktrace(code=2, says='which process?')
        ktrace('-p', 1, '-g', 1, code=2, says='-p or -g?')
        ktrace('-p', 0, code=2, says='1 to 2147483647')
        ktrace('-g', 1 << 31, code=2, says='1 to 2147483647')
        ktrace('-C', '-p', pid, code=2, says='goes alone')
        ktrace('-C', '-c', code=2, says='-c or -C?')
        ktrace('-p', pid + 100, code=3, says='no such process')
        ktrace('-c', '-g', pid + 100, code=3, says='no such process')
        ktrace('-d', '-p', pid, code=1, says='cannot do that')
        ktrace('-p', pid, '--source', 'nowhere', code=3, says="no source 'nowhere'")
        check(not on(), f'nothing is on after all that: {on()}')
        check(rs('pause', 'k').code == 0, 'paused')
        ktrace('-p', pid, code=1, says='is paused')
        check(rs('resume', 'k').code == 0, 'it goes on')
        ktrace('-p', pid)


def test_deaf():
    with Guest(['0', 'deaf']) as guest:
        r = ktrace('-p', guest.pids[0], code=1, says='takes no commands')
        check(r.err.count('\n') == 1, f'in one line: {r}')


def test_stuck():
    with Guest(['0', 'stuck']) as guest:
        begun = time.monotonic()
        r = ktrace('-p', guest.pids[0], code=1, says='did not carry out the command in time')
        took = time.monotonic() - begun
        check(r.err.count('\n') == 1 and took > 4.9, f'after five seconds, {took:.1f}, in one line: {r}')
        check(rs('stat', 'k').code == 0, 'the session goes on')
        ktrace('-p', guest.pids[0], code=1, says='no task of the guest took the command in time')


def test_several_sources():
    with Guest(['0'], ['0'], ['0', 'deaf']) as guest:
        a, b = sorted(guest.pids)[:2]
        ktrace('-p', a, '-t', 'n', says='1 process is traced\n')
        check(kinds() == {'NAMI'}, 'the one that has the process')
        ktrace('-p', a, '--source', 'b', code=3, says='no such process')
        ktrace('-p', b, '--source', 'b', '-t', 'i', says='1 process')
        check(kinds() == {'NAMI', 'GIO'}, 'each in its source')
        ktrace('-C', '--source', 'b', says='1 process is')
        check(kinds() == {'NAMI'}, 'the other source stays as it is')
        ktrace('-p', a, '--source', 'c', code=1, says='takes no commands')
        ktrace('-p', b)
        ktrace('-C', says='2 processes are traced no more\n')
        check(kinds() == set(), '-C: in all sources')


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        for test in (test_choose, test_several_processes, test_wrong, test_deaf, test_stuck,
                     test_several_sources):
            print('---', test.__name__, flush=True)
            test()


main()
