#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reload.py RINGSIDE PROGRAM LIBRARY…: traces libraries that are opened and closed repeatedly."""
import json
import os
import subprocess
import sys
import tempfile

ROUNDS = 300
ringside, program, *libraries = sys.argv[1:]
with tempfile.TemporaryDirectory() as directory:
    p = subprocess.run([ringside, 'run', '--json', '-e', 'reload:*', '-f', 'reload:ping: round >= 10', '--hosted',
                        program, str(ROUNDS), *libraries], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=100, env={**os.environ, 'XDG_RUNTIME_DIR': directory})
print(p.stderr, end='')
lines = [json.loads(line) for line in p.stdout.splitlines()]
events = [(o['fields']['round'], o['fields']['what']) for o in lines if 'event' in o]
names = [os.path.basename(path).split('-')[-1].split('.')[0] for path in libraries]
wanted = [(i, names[i % len(names)]) for i in range(10, ROUNDS)]
print(f'{len(events)} events of {len(wanted)}, exit code {p.returncode}')
if p.returncode or events != wanted:
    for line in lines:
        if 'event' not in line:
            print('no event:', line)
    sys.exit(f'missing: {[event for event in wanted if event not in events]}')
