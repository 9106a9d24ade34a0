#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Export to trace.dat, its import, and trace-cmd on the same events in the same run.

    trace_dat.py RINGSIDE MAKE_TRACE [EVENTS]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

RINGSIDE, MAKE_TRACE = sys.argv[1:3]
EVENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 4_000_000


def run(*args):
    """Seconds, and the most MiB that it had."""
    start = time.monotonic()
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f'{args} failed: {status}')
    return time.monotonic() - start, usage.ru_maxrss / 1024


def tell(name, seconds, mib):
    print(f'{name:28} {EVENTS / seconds / 1e6:6.2f} M events/s {mib:7.1f} MiB', flush=True)
    return seconds


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace, dat = os.path.join(folder, 'trace'), os.path.join(folder, 'trace.dat')
        run(MAKE_TRACE, '--flat', trace, str(EVENTS))
        tell('export to trace.dat', *run(RINGSIDE, 'export', trace, '--to', 'trace.dat', '-o', dat))
        ours = tell('ringside report', *run(RINGSIDE, 'report', trace))
        imported = tell('ringside report x.dat', *run(RINGSIDE, 'report', dat))
        if not shutil.which('trace-cmd'):
            print('trace-cmd is not here')
            return
        theirs = tell('trace-cmd report x.dat', *run('trace-cmd', 'report', dat))
        print(f'ringside report / trace-cmd report: {theirs / ours:.1f}')
        print(f'ringside report x.dat / trace-cmd report: {theirs / imported:.1f}')


main()
