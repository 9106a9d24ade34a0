#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-format.py RINGSIDE MAKE_TRACE: a reader that was written from the documents alone and the
command say the same of a trace file that has what the format has."""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

import independent

PAGES = 8


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


def compare(path, ringside, is_damaged=False):
    said = subprocess.run([ringside, 'report', '--json', path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    check(said.returncode == int(is_damaged), f'exit code {said.returncode}: {said.stderr.decode()}')
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


def events_and_losses(ours):
    lines = [line for ring in ours.values() for line in ring]
    return sum('lost' not in line for line in lines), sum(line.get('lost', 0) for line in lines)


def blocks_of_pages(data):
    """Where the data of each lies, up to the block's end."""
    at, = struct.unpack_from('<I', data, 12)
    while at < len(data):
        size, head_size, _, _, kind = struct.unpack_from('<IIIIH', data, at + 8)
        if kind == PAGES:
            yield at + head_size, at + size
        at += size


def damage(path, ringside, before):
    """A hole in pages and bytes that are missing there cost these pages, which are counted."""
    with open(path, 'rb') as file:
        data = file.read()
    places = list(blocks_of_pages(data))
    for begin, end in places:
        for name, what in (('hole', data[:begin + 20] + bytes(end - begin - 20) + data[end:]),
                           ('missing', data[:begin + 70] + data[begin + 77:])):
            with open(path + name, 'wb') as file:
                file.write(what)
            ours = compare(path + name, ringside, True)
            events, lost = events_and_losses(ours)
            print(f'ok: {name} at {begin}: {events} events, {lost} lost, of {before}')
    with open(path + 'cut', 'wb') as file:
        file.write(data[:places[-1][1] - 9])
    compare(path + 'cut', ringside)


def main():
    ringside, make = sys.argv[1:3]
    if len(sys.argv) > 3:
        compare(sys.argv[3], ringside)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        subprocess.run([make, path], check=True)
        ours = compare(path, ringside)
        lines = [line for ring in ours.values() for line in ring]
        damage(path, ringside, events_and_losses(ours))
        subprocess.run([make, path, '3'], check=True)
        check(compare(path, ringside) == ours, 'compressed pages are the same')
        check(sum('lost' in line for line in lines) == 3, 'three losses')
        check({line.get('event') for line in lines} == {'switch', 'all', None}, 'known and unknown events')


main()
