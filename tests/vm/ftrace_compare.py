# SPDX-License-Identifier: MIT
"""Compares what we saw of a Linux guest with what its own ftrace saw at the same time.

Both have a probe at each tracepoint, and the kernel calls one after the other. So each CPU has the
same events with the same fields, in the same order, at almost the same time. It is compared per CPU
and event, and then the order of all events of a CPU. What may differ, and why:

- An interrupt may come between the two probes. Its events then stand before the interrupted event
  on one side and behind it on the other. It is checked that one of two such events is of a deeper
  context than the other.
- Another CPU may ask for a reschedule between the two probes: the flag `n` is not compared.
- At the edges, within EDGE of ftrace's first and last record, one side may have an event that the
  other has not: ftrace is switched on or off between the two probes.
- The fields in KNOWN, each with its reason.
- The number of an enum has no sign with us.
"""
import collections
import os
import sys

import ftrace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../format'))
import independent  # noqa: E402

EDGE = 1000000  # ticks
EXIT_DEAD, EXIT_ZOMBIE = 16, 32  # the kernel's, in prev_state

# Whether a difference of a field is known, by (event, field), or by field.
KNOWN = {
    # Each probe reads the kernel's tick by itself, and it may come between the two.
    ('timer_start', 'now'): lambda mine, theirs: abs(mine - theirs) < 1000,
    ('timer_expire_entry', 'now'): lambda mine, theirs: abs(mine - theirs) < 1000,
    # Each probe reads how a task that exits is, and its parent may take it away between the two.
    ('sched_switch', 'prev_state'): lambda mine, theirs: {mine, theirs} == {EXIT_DEAD, EXIT_ZOMBIE},
    # A socket gets its cookie when somebody asks for it. ftrace asks, and we do not.
    'sock_cookie': lambda mine, theirs: mine == 0,
}
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


def ours(path, names, first, last):
    """Records of a trace file by CPU, in the order of each ring, and how many were lost.

    Only those of events with these names, and of these ticks.
    """
    found, lost = collections.defaultdict(list), 0
    with open(path, 'rb') as file:
        data = file.read()
    sources, here = [], {}
    number = independent.HEADER.unpack_from(data)[8]
    for block in independent.blocks(data, independent.HEADER.unpack_from(data)[3], number):
        independent.take(sources, here, *block)
    for source in sources:
        events = {}
        for ring, pages in source.rings.items():
            for missing, start, page in independent.losses(source, ring, pages):
                lost += missing
                for record in independent.walk(source, ring, start, page) if page else ():
                    if not first <= record.when[2] <= last:
                        continue
                    if record.id not in events:  # the module came once
                        events[record.id] = source.event(record.id, record.when)
                    event = events[record.id]
                    if event is None or event.name in names:
                        found[ring].append(ours_of(event, record))
    return found, lost


def ours_of(event, record):
    flags = sum(theirs for bit, theirs in FLAGS.items() if record.context & bit)
    fields = {'raw': record.payload.hex()} if event is None else \
        {field[0]: plain(independent.value_of(field, record.payload)) for field in event.fields}
    return ftrace.Record(record.cpu, record.when[2], event and event.name, record.pid, flags,
                         record.context >> 8 & 15, fields)


def level(record):
    return next((n for n, flag in ((3, ftrace.NMI), (2, ftrace.HARDIRQ), (1, ftrace.SOFTIRQ))
                 if record.flags & flag), 0)


def show(record):
    context = f'flags {record.flags & COMPARED:#x} depth {record.depth}'
    return f'{record.event} at {record.ticks} pid {record.pid} {context} {record.fields}'


def is_known(event, name, mine, theirs):
    if isinstance(mine, int) and mine >= 1 << 63 and mine - (1 << 64) == theirs:
        return True
    rule = KNOWN.get((event, name)) or KNOWN.get(name)
    return bool(rule and rule(mine, theirs))


def in_order(pairs):
    """Of records that are alike, the first with the first: which is which nobody can tell."""
    alike = collections.defaultdict(list)
    for mine, theirs in pairs:
        alike[theirs[1].pid, repr(theirs[1].fields)].append((mine, theirs))
    return [pair for some in alike.values()
            for pair in zip(*(sorted(side, key=lambda one: one[0]) for side in zip(*some)))]


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
        for event in sorted({str(r.event) for r in theirs + mine}):
            streams = [[(i, r) for i, r in enumerate(side) if str(r.event) == event] for side in (mine, theirs)]
            places += self.stream(f'CPU {cpu}', *streams)
        places.sort(key=lambda pair: pair[1][0])
        for i, ((m, a), _) in enumerate(places):
            for (other, b), _ in places[i + 1:]:
                if other > m:
                    break
                if level(b) == level(a):
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
        at = self.start(mine, theirs)
        pairs, extra, lacking = [], mine[:at], []
        i, j = at, 0
        while i < len(mine) and j < len(theirs):
            if self.is_same(mine[i][1], theirs[j][1]):
                pairs.append((mine[i], theirs[j]))
                i, j = i + 1, j + 1
            elif mine[i][1].ticks < theirs[j][1].ticks:
                extra.append(mine[i])
                i += 1
            else:
                lacking.append(theirs[j])
                j += 1
        extra += mine[i:]
        # An interrupt's event came between the two probes of the same event.
        for other in lacking + theirs[j:]:
            same = next((one for one in extra if self.is_inner(one[1]) and self.is_same(one[1], other[1])), None)
            if same:
                extra.remove(same)
                pairs.append((same, other))
            else:
                self.lacks(where, other[1])
        for _, record in extra:
            self.extra(where, record)
        pairs = in_order(pairs)
        for (_, a), (_, b) in pairs:
            self.context(where, a, b)
            self.apart.append(abs(a.ticks - b.ticks))
            self.pairs[a.event] += 1
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
        return a.pid == b.pid and list(a.fields) == list(b.fields) and \
            all(value == b.fields[name] or is_known(a.event, name, value, b.fields[name])
                for name, value in a.fields.items())

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
