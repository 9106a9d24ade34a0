#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage.py RINGSIDE GUEST PROGRAM kvm|tcg|hosted|alone|bare: a guest and its own tracepoints."""
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import Background, Ringside, check, need, wait_for

FIRED = [(1, 2), (9, 2), (3, 4), (10, 4), (11, 6)]
PASS = [(9, 2), (10, 4), (11, 6), (9, 9)]
ringside, guest, program, how = sys.argv[1:]
if how in ('kvm', 'tcg', 'bare'):
    need('tcg' if how == 'bare' else how)
alone = how in ('alone', 'bare')  # there is no host
qemu = ['qemu-system-x86_64', '-M', 'microvm', '-nodefaults', '-no-reboot', '-display', 'none', '-serial', 'stdio']
what = {'alone': [program], 'bare': [*qemu, '-kernel', guest], 'hosted': [ringside, 'run', '--json', '--hosted', program]}.get(
    how, [ringside, 'run', '--json', '--accel', how, guest])
with tempfile.TemporaryDirectory() as directory:
    p = subprocess.run(what, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True, timeout=60, env={**os.environ, 'XDG_RUNTIME_DIR': directory})
print(p.stdout, p.stderr, sep='\n')
if alone:
    PASS = [*FIRED, (9, 9)]  # nobody compiles a filter
said = [line for line in (p.stdout + p.stderr).splitlines() if not line.startswith('{')]
records = [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')]
events = [(o['event'], o['fields']['a'], o['fields']['b']) for o in records if 'event' in o]


def test_the_example_is_recorded_as_it_asks():
    check(p.returncode == 0, 'it ends well')
    check(alone or events == [(name, *pair) for pair in PASS for name in ('test', 'test2')],
          'what passes the filter is recorded')
    check(said.count('system usage') == 1 and '2 tracepoints' in said, 'it sees its tracepoints')
    for name in 'test', 'test2':
        check(f'enabled usage:{name}, which reads 1' in said, f'{name} is enabled from inside')
    known = [line for line in said if line.startswith(('name: test', '\tfield:u8 pad[4];\toffset:12;\tsize:4;'))]
    check(len(known) == 2, 'it reads its format file')


def test_the_example_has_both_callbacks():
    for name, size in ('test', 20), ('test2', 16):
        raw = [line for line in said if line.startswith(f'raw callback of {name}:')]
        check(raw == [f'raw callback of {name}: 2 arguments, the first is {a}' for a, _ in FIRED],
              f'each {name} calls its raw callback')
        texts = [line for line in said if line.startswith(f'event callback of {name}:')]
        check(texts == [f'event callback of {name}: {size} bytes, its own: Hello from tracepoint! a={a}, b={b}'
                        for a, b in FIRED], f'each {name} calls its event callback, which reads the record')
    order = [line for line in said if line.startswith(('---', 'fired', 'raw callback of test:'))]
    check(order[:4] == ['--- before ---', 'fired with a=1, b=2', 'fired with a=3, b=4', '--- after ---'],
          'nothing is called before')
    check(order[-3:] == ['--- without callbacks ---', 'fired with a=9, b=9', '--- snapshot ---'],
          'nothing is called afterwards')


def test_the_example_has_a_snapshot_as_text():
    at = said.index('--- snapshot ---')
    count = 2 * len(PASS)
    check(f'# entries-in-buffer/entries-written: {count}/{count} ' in said[at + 3], 'the snapshot has what was recorded')
    lines = [re.fullmatch(r' *(\S+)-(\d+) +\[(\d{3})\] \S{5} +(\d+\.\d{6}): (usage:.*)', line)
             for line in said[at + 1:] if 'Hello from' in line]
    check(all(lines) and [m[5] for m in lines] == [f'usage:{name}: Hello from tracepoint! a={a}, b={b}'
                                                   for a, b in PASS for name in ('test', 'test2')],
          'its lines are the records that a host sees')
    tasks = [(o['comm'], o['pid'], o['cpu']) for o in records if 'event' in o]
    check(alone or [(m[1], int(m[2]), int(m[3])) for m in lines] == tasks, '… of the same tasks and CPUs')
    check([float(m[4]) for m in lines] == sorted(float(m[4]) for m in lines), '… in the order of time')


def test_a_later_session_finds_callbacks():
    """What an earlier session was told of callbacks, a later one finds in the guest's memory."""
    rs = Ringside(ringside)
    g = Background(rs, 'run', '--name', 'u', '--accel', 'tcg', '--append', 'stay=1', guest, out='err')
    wait_for('the guest', lambda: 'it stays: success' in g.said())
    g.process.kill()
    g.process.wait()
    r = rs('attach', '--new', '-e', 'usage:test2', '--json', '--duration', '2', 'u')
    print(r)
    called = [json.loads(line) for line in r.out.splitlines() if line.startswith('{')]
    called = [o['event'] for o in called if 'event' in o]
    check(len(called) > 10 and set(called) == {'test2'}, 'the callback of usage:test is called, and fires usage:test2')
    check(rs('stop', 'u').code == 0, 'stop ends it')


test_the_example_is_recorded_as_it_asks()
test_the_example_has_both_callbacks()
test_the_example_has_a_snapshot_as_text()
if how == 'tcg':
    test_a_later_session_finds_callbacks()
