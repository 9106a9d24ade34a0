#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-format.py RINGSIDE MAKE_TRACE: a reader that was written from the documents alone and the
command say the same of a trace file that has what the format has."""
import collections
import json
import os
import subprocess
import sys
import tempfile

import independent


def check(ok, what):
    if not ok:
        raise AssertionError(what)
    print('ok:', what)


def rings(lines):
    """What each ring says, in its order; without what the pages of the format do not explain."""
    out = collections.defaultdict(list)
    for line in lines:
        line = {key: value for key, value in line.items() if key not in ('flags', 'stack', 'symbols')}
        if 'lost' in line:
            del line['ns']
        out[line.get('source'), line['cpu']].append(line)
    return out


def compare(path, ringside):
    said = subprocess.run([ringside, 'report', '--json', path], capture_output=True, check=True)
    ours = [json.loads(line) for line in said.stdout.splitlines()]
    # A loss at a ring's end has the time of the ring's last record.
    times = [line['ns'] for line in ours if 'lost' not in line]
    check(times == sorted(times), f'{len(ours)} lines are in the order of time')
    theirs = independent.read(path)
    for line in theirs:
        if 'lost' in line:
            line['ns'] = 0
    ours, theirs = rings(ours), rings(theirs)
    check(ours.keys() == theirs.keys(), f'the rings are {sorted(map(str, ours))}')
    for ring, lines in ours.items():
        differ = [pair for pair in zip(lines, theirs[ring]) if pair[0] != pair[1]]
        check(not differ and len(lines) == len(theirs[ring]),
              f'{ring}: {len(lines)} records, fields, tasks and losses agree: {differ[:1]}')
    return ours


def main():
    ringside, make = sys.argv[1:3]
    if len(sys.argv) > 3:
        compare(sys.argv[3], ringside)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        subprocess.run([make, path], check=True)
        lines = [line for ring in compare(path, ringside).values() for line in ring]
        check(sum('lost' in line for line in lines) == 3, 'three losses')
        check({line.get('event') for line in lines} == {'switch', 'all', None}, 'known and unknown events')


main()
