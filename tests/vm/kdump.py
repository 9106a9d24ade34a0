#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside kdump` of a running session: what a traced program does, in the form of kdump(1).

    kdump.py RINGSIDE HOSTED_KTRACE
"""
import glob
import os
import re
import signal
import sys
import tempfile

from harness import Background, Ringside, check, wait_for

RINGSIDE, PROGRAM = sys.argv[1:]
rs = Ringside(RINGSIDE)
HEAD = re.compile(r'^ *\d+ hosted-ktrace ((?:CALL|RET |NAMI|GIO |USER)  .*)$')
ROUND = [r'CALL  open(0x1000,0)', r'NAMI  "/no/such\x1b[2Jfile"',
         r'RET   open -1 errno 2 No such file or directory', r'GIO   fd 3 read 5 bytes',
         r'RET   read 5', r'USER  "mark" 9 bytes']


def heads(text):
    return [m[1] for m in map(HEAD.match, text.splitlines()) if m]


def test_kdump_shows_what_a_program_does():
    r = rs('kdump', '--duration', '0.1', 'k')
    check(r.code == 0 and not r.out, f'nothing is on, and kdump switches nothing on: {r}')
    check(r.err.count('all events of ktrace are off') == 1, f'which it says, once: {r}')
    r = rs('enable', '-s', 'k', 'ktrace:*')
    check(r.code == 0, f'its events are switched on as any: {r}')
    r = rs('kdump', '--count', '30', '--duration', '50', 'k')
    got = heads(r.out)
    check(r.code == 0 and len(got) == 30, f'so many records, each with a line: {r}')
    first = got.index(ROUND[0])
    check(got[first:first + 6] == ROUND, f'a round of them: {got[first:first + 6]}')
    check('\n       "hello"\n' in r.out and '\x1b' not in r.out, 'with data, and nothing raw')
    r = rs('kdump', '-t', 'n', '--count', '5', '--duration', '50', 'k')
    check(set(heads(r.out)) == {ROUND[1]} and len(heads(r.out)) == 5, f'-t chooses: {r}')
    r = rs('kdump', '-u', 'mark', '--count', '3', '--duration', '50', 'k')
    check(r.out == 'I am here\n' * 3, f'-u shows the data alone: {r}')
    r = rs('kdump', '-TR', '-t', 'u', '--count', '2', '--duration', '50', 'k')
    check(' 0.000000 USER' in r.out.splitlines()[0], f'-TR counts from the first line: {r}')
    with tempfile.NamedTemporaryFile('w', suffix='.calls') as names:
        names.write('# ours\n2 openat_of_ours\n\n')
        names.flush()
        r = rs('kdump', '--calls', names.name, '-t', 'c', '--count', '6', '--duration', '50', 'k')
        check('CALL  openat_of_ours(' in r.out and 'RET   [0] 5' in r.out, f'names of ours: {r}')
        names.write('open 2\n')
        names.flush()
        r = rs('kdump', '--calls', names.name, 'k')
        check(r.code == 2 and 'line 4' in r.err, f'a line that is wrong is named: {r}')
    with tempfile.NamedTemporaryFile('w') as names:
        names.write('# \n' * (1 << 19) + '2 open\n')
        names.flush()
        r = rs('kdump', '--calls', names.name, 'k')
        check(r.code == 1 and '1024 KiB at most' in r.err, f'a file without end is not read: {r}')
    r = rs('kdump', '--calls', '/dev/zero', 'k')
    check(r.code == 1 and '1024 KiB at most' in r.err, f'nor a device: {r}')
    r = rs('kdump', '--calls', '/no/such', 'k')
    check(r.code == 1 and r.err == 'ringside: /no/such: No such file or directory\n', f'{r}')
    r = rs('kdump', '-t', 'cz', 'k')
    check(r.code == 2 and "'z'" in r.err, f'an unknown letter is named: {r}')
    r = rs('disable', '-s', 'k', 'ktrace:namei')
    r = rs('kdump', '--new', '--count', '30', '--duration', '50', 'k')
    check(not any(h.startswith('NAMI') for h in heads(r.out)), f'what is off is not shown: {r}')


def test_a_session_that_is_killed_is_no_success(session):
    followers = [Background(rs, *verb, 'k') for verb in (('kdump',), ('trace',))]
    for follower in followers:
        wait_for('output', lambda: follower.read(follower.out))
    programs = []
    for children in glob.glob(f'/proc/{session.process.pid}/task/*/children'):
        with open(children) as f:
            programs += map(int, f.read().split())
    check(programs, 'it has a program')
    session.process.kill()
    for follower in followers:
        check(follower.process.wait(60) == 1, 'it fails')
        check(follower.said().endswith('ringside: the session went away\n'), f'and says why: {follower.said()}')
    for program in programs:
        os.kill(program, signal.SIGKILL)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        session = Background(rs, 'run', '--name', 'k', '--text', '/dev/null', '--hosted', PROGRAM, '0xffe',
                             ready=lambda: rs('list', '-q', '-s', 'k').out)
        try:
            test_kdump_shows_what_a_program_does()
            test_a_session_that_is_killed_is_no_success(session)
        finally:
            session.end(signal.SIGTERM)


main()
