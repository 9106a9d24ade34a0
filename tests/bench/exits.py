#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an exit to our VMM costs, without the host's own events, with them off, and with them on.

    exits.py RINGSIDE VMM_GUEST

The guest reads its counter around batches of 100 exits by a port, and prints the fastest batch. The
kinds take turns, so a machine that gets slower meanwhile is slower for all of them."""
import os
import re
import subprocess
import sys
import tempfile

RINGSIDE, GUEST = sys.argv[1:3]
ROUNDS = 7
KINDS = {'without --host': [], '--host, off': ['--host'], '--host, on': ['--host', '-e', 'host:exit']}


def cycles_of(options):
    r = subprocess.run([RINGSIDE, 'run', '-q', '--accel', 'kvm', '--cpus', '1', *options, '--append',
                        'test=exits', GUEST], capture_output=True, text=True, timeout=60)
    found = re.search(r'cycles of 100 exits: (\d+)', r.stderr)
    if not found:
        raise AssertionError(f'no figure: {r.returncode} {r.stderr[-300:]}')
    return int(found[1])


if not os.access('/dev/kvm', os.R_OK | os.W_OK):
    print('skipped: /dev/kvm is not usable here')
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix='rs-bench-') as directory:
    os.environ['XDG_RUNTIME_DIR'] = directory
    rounds = [[cycles_of(options) for options in KINDS.values()] for _ in range(ROUNDS)]
for name, figures in zip(KINDS, zip(*rounds)):
    print(f'{name}: {min(figures) / 100:.0f} cycles an exit at best, by round',
          ', '.join(f'{f / 100:.0f}' for f in figures))
