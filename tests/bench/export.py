#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Export to each format, the import of a trace.dat, and the text of babeltrace2, trace-cmd and ours
of the same events in the same run. Of one process each, by its time on the CPU.

    export.py RINGSIDE MAKE_TRACE [EVENTS]
"""
import os
import shutil
import subprocess
import sys
import tempfile

RINGSIDE, MAKE_TRACE = sys.argv[1:3]
EVENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 4_000_000
FORMATS = ['trace.dat', 'ctf', 'perfetto', 'chrome', 'csv']


def run(*args):
    """Seconds on the CPU, and the most MiB that it had."""
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f'{args} failed: {status}')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def tell(name, seconds, mib):
    print(f'{name:28} {EVENTS / seconds / 1e6:6.2f} M events/s {mib:7.1f} MiB', flush=True)
    return seconds


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 'trace')
        outs = {to: os.path.join(folder, to) for to in FORMATS}
        run(MAKE_TRACE, '--flat', trace, str(EVENTS))
        for to, out in outs.items():
            tell(f'export to {to}', *run(RINGSIDE, 'export', trace, '--to', to, '-o', out))
        ours = tell('ringside report', *run(RINGSIDE, 'report', trace))
        imported = tell('ringside report x.dat', *run(RINGSIDE, 'report', outs['trace.dat']))
        if shutil.which('trace-cmd'):
            theirs = tell('trace-cmd report x.dat', *run('trace-cmd', 'report', outs['trace.dat']))
            print(f'ringside report / trace-cmd report: {theirs / ours:.1f}')
            print(f'ringside report x.dat / trace-cmd report: {theirs / imported:.1f}')
        if shutil.which('babeltrace2'):
            theirs = tell('babeltrace2 of the CTF', *run('babeltrace2', outs['ctf']))
            print(f'ringside report / babeltrace2: {theirs / ours:.1f}')


main()
