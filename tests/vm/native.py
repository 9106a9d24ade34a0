#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Filters as machine code in a guest that really runs.

    native.py kvm|tcg|hosted RINGSIDE GUEST

Exits 77, with the reason, if the accelerator is missing.
"""
import json
import os
import signal
import subprocess
import sys

from harness import Background, Ringside, check, need, run_tests, wait_for

KIND, RINGSIDE, GUEST = sys.argv[1:4]
rs = Ringside(RINGSIDE)
if KIND == 'hosted':
    EVENT, FIELD, ONE, TEXT, GLOB = 'pool:take', 'worker', 1, 'words:longest', '*e*'
else:
    EVENT, FIELD, ONE, TEXT, GLOB = 'sched:switch', 'prev_pid', 3, 'sched:switch', '*l*c*'


def arguments(name, *options):
    guest = ['--hosted', *GUEST.split()] if KIND == 'hosted' else ['--accel', KIND, GUEST]
    return ['run', '--name', name, '--json', '--ring-size', '16M', *options, *guest]


def row(name, event):
    answer = rs('list', '-s', name, '--json', event)
    return json.loads(answer.out) if answer.code == 0 else {}


def start(name, *options):
    return Background(rs, *arguments(name, *options), ready=lambda: row(name, EVENT))


def is_native(name, event, text):
    found = row(name, event)
    return found.get('filter') == text and found['native'] and found['no_native'] is None


def records(text):
    return [line for line in map(json.loads, text.splitlines()) if 'event' in line]


def end(p):
    code, out, err = p.end(signal.SIGINT)
    check(code == 0, f'it ends: {err[-300:]}')
    return records(out.decode())


def fields(record):
    return record['fields']


def test_native():
    """A filter on a number and one on a text are machine code, and decide as they should."""
    p = start('n', '-e', EVENT, '-f', f'{EVENT}: {FIELD} & 1')
    wait_for('it as machine code', lambda: is_native('n', EVENT, f'{FIELD} & 1'))
    stat = json.loads(rs('stat', 'n', '--json').out)
    check(stat['native_filters'] >= 1 and stat['native_left'] > 0 and not stat['native_full'], f'stat: {stat}')
    verbose = rs('list', 'n', '-v', EVENT).out
    check('filter: as machine code' in verbose, f'list -v says so: {verbose}')
    check('native: ' in rs('stat', 'n').out, 'stat says so')
    wait_for('a record', lambda: b'"event"' in p.read(p.out))
    got = end(p)
    check(got and all(fields(r)[FIELD] & 1 for r in got),
          'only what the filter lets through is recorded')


def test_text():
    """A glob, which needs a table beside the code."""
    name = 'word' if KIND == 'hosted' else 'next_comm'
    p = start('t', '-e', TEXT, '-f', f'{TEXT}: {name} ~ {GLOB}')
    wait_for('it as machine code', lambda: is_native('t', TEXT, f'{name} ~ {GLOB}'))
    wait_for('a record', lambda: b'"event"' in p.read(p.out))
    got = end(p)
    wanted = [c for c in GLOB if c != '*']
    for record in got:
        at = 0
        for letter in wanted:
            at = fields(record)[name].find(letter, at) + 1
            check(at > 0, f'{fields(record)[name]} matches {GLOB}')


def numbers(p, name):
    return [fields(r)[FIELD] for r in records(p.read(p.out).decode(errors='replace').rsplit('\n', 1)[0])]


def test_changes():
    """Filters change at full speed: at each moment one of them decides, and never another."""
    texts = [f'{FIELD} == {ONE}', f'{FIELD} == 0 && CPU < 999', f'{FIELD} == {ONE} && CPU != 998']
    p = start('c', '-e', EVENT, '-f', f'{EVENT}: {texts[0]}')
    for turn in range(12):
        text = texts[turn % 3]
        r = rs('filter', 'c', f'{EVENT}: {text}')
        check(r.code == 0, r.err)
        if turn % 4 == 3:
            wait_for(f'{text} as machine code', lambda: is_native('c', EVENT, text))
    got = end(p)
    check({fields(r)[FIELD] for r in got} <= {0, ONE}, 'no record that no filter lets through')


def test_all():
    """Filters that let all pass, changed at full speed: nothing is lost or comes twice."""
    p = start('a', '-e', EVENT, '-f', f'{EVENT}: job >= 0')
    for turn in range(30):
        r = rs('filter', 'a', f'{EVENT}: job != {4000000000 + turn}' + (' || CPU > 5' if turn % 2 else ''))
        check(r.code == 0, r.err)
    got = end(p)
    jobs = sorted(fields(r)['job'] for r in got)
    check(len(jobs) > 1 and jobs == list(range(jobs[0], jobs[0] + len(jobs))), 'each job once')


def test_full():
    """The pool fills up: filters go on as programs, and that is said."""
    p = start('f', '-e', EVENT, '-f', f'{EVENT}: {FIELD} >= 0')
    many = ' || '.join(f'{FIELD} == {10000 + i}' for i in range(120))
    for turn in range(40):
        text = f'{FIELD} == {ONE} || {many} || {FIELD} == {turn + 50000}'
        check(rs('filter', 'f', f'{EVENT}: {text}').code == 0, 'a long filter is taken')
        found = wait_for('it is looked at', lambda: (r := row('f', EVENT)) and (r['native'] or r['no_native']) and r)
        if not found['native']:
            break
    else:
        check(False, 'the pool is full in the end')
    check('full' in row('f', EVENT)['no_native'], f'it says why: {row("f", EVENT)["no_native"]}')
    check(json.loads(rs('stat', 'f', '--json').out)['native_full'] >= 1, 'stat counts it')
    check('as a program, since' in rs('list', 'f', '-v', EVENT).out, 'list -v says so')
    at = len(numbers(p, 'f'))
    wait_for('a record', lambda: len(numbers(p, 'f')) > at + 2)
    check(set(numbers(p, 'f')[at + 1:]) == {ONE}, 'the program decides')
    end(p)


def test_again():
    """What one guest's pool holds is no matter of the next guest's."""
    left = []
    for name in ('g', 'h'):
        p = start(name, '-e', EVENT, '-f', f'{EVENT}: {FIELD} == {ONE}')
        wait_for('it as machine code', lambda: row(name, EVENT)['native'])
        left.append(json.loads(rs('stat', name, '--json').out)['native_left'])
        end(p)
    check(left[0] == left[1], 'each guest has a pool of its own')


def test_itself():
    """The host does not write the text of a program that patches itself."""
    program = subprocess.Popen(GUEST.split(), stdout=subprocess.DEVNULL)
    try:
        wait_for('the program', lambda: len(os.listdir(f'/proc/{program.pid}/task')) > 2)
        p = Background(rs, 'attach', '--name', 's', '--json', '-e', EVENT, '-f', f'{EVENT}: {FIELD} == {ONE}',
                       '--pid', str(program.pid), ready=lambda: row('s', EVENT))
        why = wait_for('why not', lambda: row('s', EVENT)['no_native'])
        check('does not write' in why and not row('s', EVENT)['native'], f'it is a program: {why}')
        wait_for('a record', lambda: b'"event"' in p.read(p.out))
        check({fields(r)[FIELD] for r in end(p)} == {ONE}, 'which decides')
    finally:
        program.kill()
        program.wait()


need(KIND)
TESTS = {'hosted': [test_native, test_text, test_changes, test_all, test_full, test_itself],
         'kvm': [test_native, test_text, test_changes, test_full],
         'tcg': [test_native, test_text, test_changes, test_again]}
run_tests(TESTS[KIND], sys.argv[4:])
