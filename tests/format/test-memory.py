#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-memory.py RINGSIDE MAKE_LARGE: small files that say much are read in 64 MiB."""
import os
import subprocess
import sys
import tempfile

KINDS = ['pages', 'sources-alike', 'most-sources', 'provider', 'names', 'clocks']
MOST = 64  # MiB
VERBS = {'report --stat': ['report', '--stat']}


def run(command):
    """What the command took at its peak, in MiB, and what it said."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss / 1024, said.strip()


def main():
    ringside, make = sys.argv[1:3]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        for kind in KINDS:
            subprocess.run([make, kind, path], check=True)
            for name, verb in VERBS.items():
                code, peak, said = run([ringside, *verb, path])
                print(f'{name}, {kind}: {os.path.getsize(path)} bytes, {peak:.1f} MiB, exit {code}, {said}')
                # What is left out is said.
                wrong += peak > MOST or (code != 0 and 'passed over' not in said)
    sys.exit(wrong != 0)


main()
