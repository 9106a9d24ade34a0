#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage.py RINGSIDE GUEST PROGRAM kvm|tcg|hosted: a guest that uses its own tracepoints."""
import json
import os
import subprocess
import sys
import tempfile

from harness import check, need

FIRED = [(1, 2), (9, 2), (3, 4), (10, 4), (11, 6)]
PASS = [(9, 2), (10, 4), (11, 6), (9, 9)]
ringside, guest, program, how = sys.argv[1:]
if how != 'hosted':
    need(how)
what = ['--hosted', program] if how == 'hosted' else ['--accel', how, guest]
with tempfile.TemporaryDirectory() as directory:
    p = subprocess.run([ringside, 'run', '--json', *what], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True, timeout=60, env={**os.environ, 'XDG_RUNTIME_DIR': directory})
print(p.stdout, p.stderr, sep='\n')
check(p.returncode == 0, 'it ends well')
said = [line for line in (p.stdout + p.stderr).splitlines() if not line.startswith('{')]
records = [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')]
events = [(o['event'], o['fields']['a'], o['fields']['b']) for o in records if 'event' in o]
check(events == [(name, *pair) for pair in PASS for name in ('test', 'test2')], 'what passes the filter is recorded')
check(said.count('system usage') == 1 and '2 tracepoints' in said, 'it sees its tracepoints')
for name, size in ('test', 20), ('test2', 16):
    check(f'enabled usage:{name}, which reads 1' in said, f'{name} is enabled from inside')
    raw = [line for line in said if line.startswith(f'raw callback of {name}:')]
    check(raw == [f'raw callback of {name}: 2 arguments, the first is {a}' for a, _ in FIRED],
          f'each {name} calls its raw callback')
    check(said.count(f'event callback of {name}: {size} bytes, its own') == len(FIRED),
          f'each {name} calls its event callback')
order = [line for line in said if line.startswith(('---', 'fired', 'raw callback of test:'))]
check(order[:4] == ['--- before ---', 'fired with a=1, b=2', 'fired with a=3, b=4', '--- after ---'],
      'nothing is called before')
check(order[-2:] == ['--- without callbacks ---', 'fired with a=9, b=9'], 'nothing is called afterwards')
