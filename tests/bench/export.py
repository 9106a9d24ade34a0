#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Export to each format, the import of a trace.dat, and the text of babeltrace2, trace-cmd and ours
of the same events in the same run. Of one process each, by its time on the CPU. Texts are compared
by the best of three, which take turns, so that all had the machine as it was at its best.

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
        texts = {'ringside report': (RINGSIDE, 'report', trace),
                 'ringside report x.dat': (RINGSIDE, 'report', outs['trace.dat'])}
        if shutil.which('trace-cmd'):
            texts['trace-cmd report x.dat'] = ('trace-cmd', 'report', outs['trace.dat'])
        if shutil.which('babeltrace2'):
            texts['babeltrace2 of the CTF'] = ('babeltrace2', outs['ctf'])
        runs = [{name: run(*args) for name, args in texts.items()} for _ in range(3)]
        best = {name: tell(name, *min(r[name] for r in runs)) for name in texts}
        for ours, theirs in [('ringside report', 'trace-cmd report x.dat'),
                             ('ringside report x.dat', 'trace-cmd report x.dat'),
                             ('ringside report', 'babeltrace2 of the CTF')]:
            if theirs in best:
                print(f'{ours} / {theirs}: {best[theirs] / best[ours]:.1f}')


main()
