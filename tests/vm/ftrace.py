# SPDX-License-Identifier: MIT
"""Reads what Linux's ftrace hands out in raw form: format files, and pages of trace_pipe_raw.

Written after the kernel's own description of them (events/header_page, events/header_event, and
each event's format), so that a test compares with the kernel and not with another parser of ours.
"""
import collections
import re
import struct

# ticks: of the instance's clock. context: flags, and the depth of preemption.
Record = collections.namedtuple('Record', 'cpu ticks event pid flags depth fields')
FIELD = re.compile(r'\tfield:(.*?)\s*(\w+)(?:\[(\w*)\])?;\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);')
PAGE_SIZE = 4096
# Of `commit`, the second word of a page.
SIZE_MASK, MISSED, MISSED_STORED = (1 << 20) - 1, 1 << 31, 1 << 30
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31
# Of common_flags.
IRQS_OFF, NEED_RESCHED, HARDIRQ, SOFTIRQ, NMI = 0x01, 0x04, 0x08, 0x10, 0x40


class Format:
    """One event's format file."""

    def __init__(self, text):
        self.name = re.search(r'^name: (\S+)', text, re.M)[1]
        self.id = int(re.search(r'^ID: (\d+)', text, re.M)[1])
        self.fields = []
        for kind, name, length, offset, size, signed in FIELD.findall(text):
            # "char comm[16]", "__data_loc char[] name"
            if not name.startswith('common_'):
                self.fields.append((name, kind, length or '[' in kind, int(offset), int(size), signed == '1'))

    def values(self, data):
        return {name: value(data, *rest) for name, *rest in self.fields}


def value(data, kind, is_array, offset, size, signed):
    raw = data[offset:offset + size]
    dynamic = kind.startswith(('__data_loc', '__rel_loc'))
    if dynamic:
        where = int.from_bytes(raw, 'little')
        begin = (where & 0xffff) + (offset + size if kind.startswith('__rel_loc') else 0)
        raw = data[begin:begin + (where >> 16)]
    if is_array and re.search(r'\bchar\b', kind) and 'unsigned' not in kind:
        return raw.split(b'\0')[0].decode('utf-8', 'replace')
    if is_array:
        step = 8 if 'long' in kind else 1 if re.search(r'\b(u8|__u8|char)\b', kind) else 4
        return [int.from_bytes(raw[i:i + step], 'little', signed=signed) for i in range(0, len(raw), step)]
    return int.from_bytes(raw, 'little', signed=signed)


def events_of(page):
    """Ticks and bytes of each record of a page."""
    ticks, commit = struct.unpack_from('<QQ', page)
    if commit & MISSED:
        raise ValueError('ftrace has lost records')
    at, end = 16, 16 + (commit & SIZE_MASK)
    while at < end:
        header, = struct.unpack_from('<I', page, at)
        kind, delta = header & 31, header >> 5
        at += 4
        if kind in (TIME_EXTEND, TIME_STAMP):
            high, = struct.unpack_from('<I', page, at)
            at += 4
            far = delta | high << 27
            # The top five bits of an absolute time are left out.
            ticks = ticks + far if kind == TIME_EXTEND else far | ticks >> 59 << 59
            continue
        if kind == PADDING:
            if not delta:
                return
            size, = struct.unpack_from('<I', page, at)
            at, ticks = at + size, ticks + delta
            continue
        ticks += delta
        if kind:
            size = 4 * kind
        else:
            size, = struct.unpack_from('<I', page, at)
            size, at = size - 4, at + 4
        yield ticks, page[at:at + size]
        at += size + 3 & ~3


def read(cpu, data, formats):
    """All records of a CPU's trace_pipe_raw; formats: by id."""
    for start in range(0, len(data), PAGE_SIZE):
        for ticks, record in events_of(data[start:start + PAGE_SIZE]):
            number, flags, count, pid = struct.unpack_from('<HBBi', record)
            if number in formats:
                form = formats[number]
                yield Record(cpu, ticks, form.name, pid, flags, count & 15, form.values(record))
