#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Call stacks, and names of functions in place of addresses: live and from a file alike.

    stacks.py KIND RINGSIDE GUEST
"""
import json
import os
import re
import shutil
import signal
import sys

from harness import DOC, Background, Ringside, check, need, run_tests, wait_for

KIND, RINGSIDE, GUEST = sys.argv[1:4]
rs = Ringside(RINGSIDE)
# An event, and functions that are above it in some record, from the inside out.
if KIND == 'hosted':
    EVENT, ABOVE = 'pool:take', ['work']
else:
    EVENT, ABOVE = 'sched:switch', ['task_sleep', 'rs_on_syscall', 'handle', 'rs_switch_first']
FRAME = re.compile(r'^ => (\S+?)(?:\+0x([0-9a-f]+))?$')


def start(program, *options):
    args = ['--hosted', program, '1000000'] if KIND == 'hosted' else ['--accel', KIND, program]
    return Background(rs, 'run', '--name', 's', '-q', *options, *args,
                      ready=lambda: EVENT in rs('list', '-q', '-s', 's').out)


def depth():
    row, = [e for e in rs.json('list', '-s', 's', '--json') if f'{e["system"]}:{e["name"]}' == EVENT]
    return row['stack'], {o['name']: o['stack'] for o in row['owners']}


def records(text):
    """Of each record its stack: the names and offsets, or addresses without an offset."""
    out = []
    for line in text.splitlines():
        frame = FRAME.match(line)
        if frame:
            out[-1].append(frame.groups())
        elif f': {EVENT}: ' in line:
            out.append([])
    return out


def has_in_order(stack, names):
    rest = iter([name for name, _ in stack])
    return all(name in rest for name in names)


def lines(text):
    """Without the names of tasks: the guest keeps few of a pid, and gives new ones all the time."""
    return [re.sub(r'^ *\S+-(\d+) +\[', r'\1 [', line)
            for line in text.splitlines() if line and not line.startswith('#')]


def check_shown(directory, program):
    """The same text by trace and by report, and by report where the program is not any more."""
    wait_for('stacks', lambda: records(rs('trace', '-s', 's', '-n', '50').out)[-1:] not in ([], [[]]))
    rs('disable', '-s', 's', EVENT)
    file = os.path.join(directory, 'trace')
    shown = rs('trace', '-s', 's', '--duration', '0.5').out
    r = rs('record', '-s', 's', '-o', file, '--duration', '0.3')
    check(r.code == 0, f'it is recorded: {r}')
    stacks = [s for s in records(shown) if s]
    check(any(has_in_order(s, ABOVE) for s in stacks), f'functions are named: {stacks[:2]}')
    check(max(map(len, stacks)) <= 8, 'no stack is deeper than was asked for')
    numbers = rs('trace', '-s', 's', '--duration', '0.3', '--no-symbols').out
    check('+0x' not in numbers and ' => 0x' in numbers, 'addresses, if that is wanted')
    rows = [json.loads(line) for line in rs('trace', '-s', 's', '--duration', '0.3', '--json').out.splitlines()]
    for row in rows[:50]:
        DOC.check('Trace: an event', row)
    check(any(len(r.get('stack', ())) == len(r.get('symbols', ())) > 0 for r in rows), 'JSON has both')
    os.unlink(program)
    check(lines(rs('report', file).out) == lines(shown), f'the file shows the same: {len(shown)} bytes')
    check(lines(rs('report', '--no-symbols', file).out) == lines(numbers), 'and the same addresses')
    return file


def check_by_hand(file, other, built):
    """Symbols of another build are not taken."""
    before = rs('report', file).out
    r = rs('report', '--symbols', other, file)
    check(r.out == before and 'not used' in r.err, f'a program of another build id is not believed: {r.err}')
    got = rs('report', '--symbols', built, file)
    check(got.code == 0 and got.out == before and not got.err, 'the right one says the same')
    r = rs('report', '--symbols', '/etc/passwd', file)
    check(r.code == 1 and 'no list of symbols' in r.err, f'a file without symbols is refused: {r}')
    r = rs('report', '--symbols', built, '--no-symbols', file)
    check(r.code == 2, 'both together make no sense')


def check_owners():
    def ask(verb, *args):
        r = rs(verb, '-s', 's', EVENT, *args)
        check(r.code == 0, f'{verb} {args}: {r}')

    ask('enable', '--owner', 'other', '--stack=3')
    check(depth() == (3, {'other': 3}), f'another owner asks: {depth()}')
    ask('enable', '--stack')
    check(depth() == (16, {'host': 16, 'other': 3}), f'the most that any wants: {depth()}')
    ask('disable')
    check(depth() == (3, {'other': 3}), f'one leaves: {depth()}')
    ask('enable', '--owner', 'other')
    check(depth() == (0, {'other': 0}), f'a later request takes it back: {depth()}')
    ask('disable', '--owner', 'other')
    for wrong in '0', '65', '-1', 'deep':
        check(rs('enable', '-s', 's', f'--stack={wrong}', EVENT).code == 2, f'--stack={wrong} is refused')
    check('frames of stack' not in rs('list', '-s', 's').out, 'nothing is left')


def test_stacks():
    directory = os.environ['XDG_RUNTIME_DIR']
    program = shutil.copy(GUEST, os.path.join(directory, 'program'))
    session = start(program)
    try:
        rs('enable', '-s', 's', '--stack=8', EVENT)
        check('with 8 frames of stack' in rs('list', '-s', 's').out, 'list shows it')
        file = check_shown(directory, program)
        check_owners()
    finally:
        session.end(signal.SIGTERM)
    check_by_hand(file, RINGSIDE, GUEST)


def test_run_shows_them():
    """Asked for before the guest is there; and an event without a stack has none."""
    args = ['--hosted', GUEST, '60'] if KIND == 'hosted' else ['--accel', KIND, GUEST]
    r = rs('run', '-e', EVENT, '--stack=4', '-n', '5', '--duration', '20', *args)
    stacks = [s for s in records(r.out) if s]
    check(stacks and max(map(len, stacks)) <= 4, f'run -e --stack: {r.out[-1000:]}')
    check(any(offset for s in stacks for _, offset in s), 'with names')
    r = rs('run', '-e', EVENT, '-n', '5', '--duration', '20', *args)
    check(records(r.out) and not any(records(r.out)), 'without --stack there is none')
    check(rs('run', '--stack', *args).code == 2, '--stack without -e is refused')


if KIND != 'hosted':
    need(KIND)
run_tests([test_stacks, test_run_shows_them], sys.argv[4:])
