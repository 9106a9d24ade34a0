#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines of text and JSON a second, on one core and by two threads.

    lines.py RINGSIDE MAKE_TRACE BENCH_LINES

The demo guest is recorded for half a minute, and its trace is read again and again. Of less, the
start of a thread and its memory would be what is measured: a pass takes some 40 ms.
"""
import os
import subprocess
import sys
import tempfile

RINGSIDE, MAKE_TRACE, BENCH_LINES = sys.argv[1:]


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ['XDG_RUNTIME_DIR'] = folder
        trace = os.path.join(folder, 'trace')
        for name, command in [('two integers and a string', [MAKE_TRACE, '--flat', trace, '500000']),
                              ('the demo guest', [RINGSIDE, 'run', '--demo', '-e', '*', '--duration', '30', '--force',
                                                  '-o', trace])]:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            print(f'{name}:', flush=True)
            subprocess.run([BENCH_LINES, trace], check=True)


main()
