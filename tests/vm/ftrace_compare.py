# SPDX-License-Identifier: MIT
"""Compares what we saw of a Linux guest with what its own ftrace saw at the same time.

Both have a probe at each tracepoint, and the kernel calls one after the other. So each CPU has the
same events with the same fields, in the same order, at almost the same time. It is compared per CPU
and event, and then the order of all events of a CPU. What may differ, and why:

- An interrupt may come between the two probes. Its events then stand before the interrupted event
  on one side and behind it on the other. It is checked that they are of a deeper context.
- Another CPU may ask for a reschedule between the two probes: the flag `n` is not compared.
- At the edges, within EDGE of ftrace's first and last record, one side may have an event that the
  other has not: ftrace is switched on or off between the two probes.
- The fields in KNOWN, each with its reason.
"""
import collections
import os
import sys

import ftrace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../format'))
import independent  # noqa: E402

EDGE = 1000000  # ticks
KNOWN = {}  # event: {field: reason}
# Of our context (RS_CTX_*), as ftrace numbers them.
FLAGS = {1 << 0: ftrace.IRQS_OFF, 1 << 2: ftrace.HARDIRQ, 1 << 3: ftrace.SOFTIRQ, 1 << 4: ftrace.NMI}
COMPARED = sum(FLAGS.values())
SHOWN = 12


def plain(value):
    """A value of our JSON as ftrace has it: a number, a text, or a list of numbers."""
    if isinstance(value, dict):
        return value['value']
    if isinstance(value, str) and value.startswith('0x'):
        return int(value, 16)
    return value


def ours(path):
    """Records of a trace file by CPU, in the order of each ring, and how many were lost."""
    found, lost = collections.defaultdict(list), 0
    with open(path, 'rb') as file:
        data = file.read()
    sources, here = [], {}
    number = independent.HEADER.unpack_from(data)[8]
    for block in independent.blocks(data, independent.HEADER.unpack_from(data)[3], number):
        independent.take(sources, here, *block)
    for source in sources:
        for ring, pages in source.rings.items():
            for missing, start, page in independent.losses(source, ring, pages):
                lost += missing
                found[ring] += [ours_of(source, r) for r in independent.walk(source, ring, start, page)] if page else []
    return found, lost


def ours_of(source, record):
    line = independent.line_of(source, record)
    flags = sum(theirs for bit, theirs in FLAGS.items() if record.context & bit)
    fields = {name: plain(v) for name, v in line.get('fields', {'raw': line.get('raw')}).items()}
    return ftrace.Record(record.cpu, record.when[2], line.get('event'), record.pid, flags,
                         record.context >> 8 & 15, fields)


def level(record):
    return next((n for n, flag in ((3, ftrace.NMI), (2, ftrace.HARDIRQ), (1, ftrace.SOFTIRQ))
                 if record.flags & flag), 0)


def show(record):
    context = f'flags {record.flags & COMPARED:#x} depth {record.depth}'
    return f'{record.event} at {record.ticks} pid {record.pid} {context} {record.fields}'


class Comparison:
    """Of records by CPU. `lost`: how many we say that we have lost."""

    def __init__(self, mine, theirs, lost=0):
        self.differences, self.pairs, self.lost = [], collections.Counter(), lost
        self.missing = 0
        everything = [r.ticks for records in theirs.values() for r in records]
        self.inner = (min(everything) + EDGE, max(everything) - EDGE)
        self.apart = []
        for cpu in sorted(set(mine) | set(theirs)):
            self.cpu(cpu, mine.get(cpu, []), theirs.get(cpu, []))
        if self.missing != self.lost:
            self.differ(f'{self.missing} are missing, and {lost} are said to be lost')

    def differ(self, what):
        self.differences.append(what)

    def is_inner(self, record):
        return self.inner[0] < record.ticks < self.inner[1]

    def cpu(self, cpu, mine, theirs):
        places = []
        for event in sorted({r.event for r in theirs} | {r.event for r in mine}):
            streams = [[(i, r) for i, r in enumerate(side) if r.event == event] for side in (mine, theirs)]
            places += self.stream(f'CPU {cpu}', *streams)
        places.sort(key=lambda pair: pair[1][0])
        for i, ((m, a), _) in enumerate(places):
            for (other, b), _ in places[i + 1:]:
                if other > m:
                    break
                if level(b) <= level(a):
                    self.differ(f'CPU {cpu}: we have {show(b)} before {show(a)}')

    def extra(self, where, record):
        if self.is_inner(record):
            self.differ(f'{where}: ftrace has no {show(record)}')

    def lacks(self, where, record):
        if self.is_inner(record):
            self.missing += 1
            if self.missing > self.lost:
                self.differ(f'{where}: we have no {show(record)}')

    def stream(self, where, mine, theirs):
        """Pairs of (place, record) of one event on one CPU."""
        pairs = []
        at = self.start(mine, theirs)
        for _, record in mine[:at]:
            self.extra(where, record)
        mine = mine[at:]
        i = j = 0
        while i < len(mine) and j < len(theirs):
            a, b = mine[i][1], theirs[j][1]
            if self.is_same(a, b):
                self.context(where, a, b)
                pairs.append((mine[i], theirs[j]))
                self.apart.append(abs(a.ticks - b.ticks))
                self.pairs[a.event] += 1
                i, j = i + 1, j + 1
            elif a.ticks < b.ticks:
                self.extra(where, a)
                i += 1
            else:
                self.lacks(where, b)
                j += 1
        for _, record in mine[i:]:
            self.extra(where, record)
        for _, record in theirs[j:]:
            self.lacks(where, record)
        return pairs

    def start(self, mine, theirs):
        """Which of ours is ftrace's first: the nearest in time that is the same."""
        if not theirs:
            return 0
        first = theirs[0][1]
        same = [i for i, (_, record) in enumerate(mine) if self.is_same(record, first)]
        return min(same, key=lambda i: abs(mine[i][1].ticks - first.ticks), default=0)

    @staticmethod
    def is_same(a, b):
        if a.pid != b.pid or list(a.fields) != list(b.fields):
            return False
        known = KNOWN.get(a.event, {})
        return all(a.fields[name] == b.fields[name] or name in known for name in a.fields)

    def context(self, where, a, b):
        if (a.flags ^ b.flags) & COMPARED or a.depth != b.depth:
            self.differ(f'{where}: the context differs: ours {show(a)}, ftrace {show(b)}')

    def report(self):
        for event, count in sorted(self.pairs.items()):
            print(f'{count:8} {event}')
        self.apart.sort()
        apart = self.apart[len(self.apart) // 2] if self.apart else 0
        print(f'{sum(self.pairs.values())} events are the same; ticks apart: median {apart}, most {self.apart[-1:]}; '
              f'{self.lost} lost; {len(self.differences)} differences')
        kinds = collections.Counter()
        for what in self.differences:
            kind = ' '.join(what.split()[:7])
            kinds[kind] += 1
            if kinds[kind] <= SHOWN and sum(kinds.values()) < 10 * SHOWN:
                print('DIFFERS', what)
