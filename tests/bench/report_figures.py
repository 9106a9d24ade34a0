#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside report` from end to end: lines, choices and figures of one trace, and its memory.

Seconds are of CPU time, of which a busy machine takes little away.

    report_figures.py RINGSIDE MAKE_TRACE [EVENTS]
"""
import os
import subprocess
import sys
import tempfile

RINGSIDE, MAKE_TRACE = sys.argv[1:3]
EVENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 4_000_000
RUNS = 3
WAYS = [('text', []), ('text -R', ['-R']), ('--json', ['--json']),
        ('-F, nothing passes', ['-F', 'prev == 4000000000']), ('-F a string', ['-F', 'comm ~ "worker/1*"']),
        ('--cpu --comm', ['--cpu', '0', '--comm', 'x*']), ('--last 100', ['--last', '100']), ('--stat', ['--stat']),
        ('--hist of numbers', ['--hist', 'next']), ('--hist of texts', ['--hist', 'comm']),
        ('--hist --by', ['--hist', 'next', '--by', 'cpu']), ('--latency', ['--latency', 'flat:event..flat:event'])]


def run(*args):
    """CPU seconds, and the most MiB that it had."""
    with subprocess.Popen(args, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        sys.exit(f'{args} failed: {status}')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 'trace')
        run(MAKE_TRACE, '--flat', trace, str(EVENTS))
        for name, args in WAYS:
            got = [run(RINGSIDE, 'report', *args, trace) for _ in range(RUNS)]
            seconds, mib = min(got)[0], max(m for _, m in got)
            print(f'{name:20} {EVENTS / seconds / 1e6:8.2f} M events/s {mib:7.1f} MiB', flush=True)


main()
