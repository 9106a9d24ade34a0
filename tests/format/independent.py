#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""independent.py TRACE: prints a trace file as JSON lines, as `ringside report --json` does.

Written from docs/file-format.md, docs/abi.md and docs/json.md alone, with what Python has by
itself and libzstd, to show that these pages suffice. It holds the whole file in memory.
"""
import collections
import ctypes
import json
import struct
import sys

HEADER = struct.Struct('<QHHIQQQ16sII64x')
BLOCK = struct.Struct('<IIIIIIHHI')
TABLE = struct.Struct('<QIIII')
SOURCE = struct.Struct('<IIIIIIQ64s32s32x')
PAGE = struct.Struct('<QIIIIII')
LOST = struct.Struct('<QII')
BOOT = struct.Struct('<IIQ')
EPOCH = struct.Struct('<IIQQQIIQ16x')
NAME = struct.Struct('<IIQIIII32s')
RING_PAGE = struct.Struct('<QQQQIIIIHHHHII')
EVENT = struct.Struct('<IHHIIIIIHBBQHHHH')
FIELD = struct.Struct('<IIHHBBHHHIQ')
SYMBOL = struct.Struct('<QII')
MAGIC, BLOCK_MAGIC = 0x0a45434152545352, 0x4b4c4253
(SOURCE_KIND, LEFT, BOOTS, PROVIDER, CLOCK, NAMES, LOST_KIND, PAGES, WINDOW, INDEX, END,
 SYMBOLS) = range(1, 13)
(UINT, SINT, HEX, POINTER, ENUM, FLAGS, ARRAY, STRING, DYN_ARRAY, DYN_STRING) = range(1, 11)

Record = collections.namedtuple('Record', 'ns cpu id when pid tgid context payload cut')


def make_crc_table():
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ (0x82f63b78 if crc & 1 else 0) for crc in table]
    return table


CRC_TABLE = make_crc_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def unpack(data, size):
    """None: it is no frame of so many bytes."""
    zstd = ctypes.CDLL('libzstd.so.1')
    for name in ('ZSTD_decompress', 'ZSTD_findFrameCompressedSize'):
        getattr(zstd, name).restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size)
    frame = zstd.ZSTD_findFrameCompressedSize(data, ctypes.c_size_t(len(data)))
    if frame > len(data):
        return None
    got = zstd.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(frame))
    return out.raw if got == size else None


def text(data):
    return data.split(b'\0')[0].decode('utf-8', 'replace')


class Event:
    def __init__(self, data):
        (_, self.id, count, _, system, name, _, _, self.size, _, _, _, at, stride,
         symbol_stride, _) = EVENT.unpack_from(data)
        self.system, self.name = text(data[system:]), text(data[name:])
        self.fields = []
        for i in range(count):
            (name, _, offset, size, kind, flags, elem_size, _, symbols, first,
             _) = FIELD.unpack_from(data, at + i * stride)
            names = {}
            for j in range(symbols):
                value, symbol, _ = SYMBOL.unpack_from(data, first + j * symbol_stride)
                names.setdefault(value, text(data[symbol:]))
            signed = kind == SINT or bool(flags & 1)
            self.fields.append((text(data[name:]), offset, size, kind, signed, elem_size or 1,
                                names, bool(flags & 4)))


def symbols(kind, value, names):
    if kind == ENUM:
        return names.get(value, hex(value))
    found, rest = [], value
    for bit, name in names.items():
        if bit and value & bit == bit:
            found.append(name)
            rest &= ~bit
    return '|'.join(found + [hex(rest)] * bool(rest))


def value_of(field, payload):
    _, offset, size, kind, signed, elem_size, names, dynamic = field
    data = payload[offset:offset + size]
    if len(data) < size:
        return None
    if dynamic or kind in (DYN_ARRAY, DYN_STRING):
        where = int.from_bytes(data, 'little')
        length = where >> 16 & 0x7fff
        data = payload[where & 0xffff:(where & 0xffff) + length]
        if len(data) < length or where & 0xffff > len(payload):
            return None
    if kind in (STRING, DYN_STRING):
        return text(data)
    if kind in (ARRAY, DYN_ARRAY) or kind > DYN_STRING:
        return [int.from_bytes(data[i:i + elem_size], 'little', signed=signed)
                for i in range(0, len(data) - elem_size + 1, elem_size)]
    value = int.from_bytes(data, 'little', signed=signed)
    if kind == POINTER:
        return hex(value)
    if kind in (ENUM, FLAGS):
        return {'value': value, 'name': symbols(kind, value, names)}
    return value


def is_front(field, payload):
    """Whether only the field's front is there."""
    _, offset, size, kind, _, _, _, dynamic = field
    where = int.from_bytes(payload[offset:offset + size], 'little') if dynamic or kind in (DYN_ARRAY, DYN_STRING) else 0
    return bool(where >> 31) and value_of(field, payload) is not None


class Source:
    def __init__(self, body):
        _, self.rings, _, _, _, self.number, _, name, _ = SOURCE.unpack_from(body)
        self.name = text(name)
        self.providers = []  # (since, until, {id: Event}): in the order in which they came
        self.slots = {}
        self.epochs = {}
        self.names = collections.defaultdict(dict)  # pid -> {since: (tgid, comm)}
        # -> (lost, from, page up to `to`, damage before it), or lost; page None: it is damaged
        self.rings = collections.defaultdict(list)

    def take_provider(self, slot, entry, data):
        state, first_boot, last_boot = struct.unpack_from('<III', entry, 4)
        since, until = struct.unpack_from('<QQ', entry, 64)
        since_chain, = struct.unpack_from('<I', entry, 108)
        until_chain, = struct.unpack_from('<I', entry, 160)
        if not state:
            return
        events = {}
        while len(data) >= EVENT.size:
            size, = struct.unpack_from('<I', data)
            event = Event(data[:size])
            events[event.id], data = event, data[size:]
        begin = (first_boot, since_chain, since)
        end = (last_boot, until_chain, until) if until else (last_boot, 1 << 32, 0)
        old = self.slots.get(slot)
        if not events and old and old[0] == begin:  # the descriptors that it had
            events = old[2]
        self.slots[slot] = (begin, end, events)
        self.providers = [p for p in self.providers if p[0] != begin or p[2] is not events]
        self.providers.append(self.slots[slot])

    def event(self, number, when):
        """Of those that had the id, the one that began last before, if it still lived."""
        begun = [p for p in self.providers if number in p[2] and p[0] <= when]
        if not begun:
            return None
        last = max(begun, key=lambda p: p[0])
        return last[2][number] if when <= last[1] else None

    def ns(self, chain, ticks):
        """By the last epoch of its chain that does not begin later, or else by the first one."""
        mine = [e for e in self.epochs.values() if e[1] == chain]
        if not mine:
            return ticks
        _, _, base, ns_base, _, mult, shift, _ = max(
            (e for e in mine if e[2] <= ticks), key=lambda e: e[0], default=min(mine))
        return max(0, ns_base + (abs(ticks - base) * mult >> shift) * (1 if ticks >= base else -1))

    def task(self, pid, when):
        names = [since for since in self.names[pid] if since <= when and since[0] == when[0]]
        tgid, comm = self.names[pid][max(names)] if names else (0, '')
        return tgid, comm or ('<...>' if pid else '<idle>')


def block_at(data, at, number):
    """The block's parts, None if it is damaged, or IndexError if the file ends before it does."""
    if at + BLOCK.size > len(data):
        raise IndexError
    magic, its, size, head_size, data_size, crc, kind, flags, source = BLOCK.unpack_from(data, at)
    if magic != BLOCK_MAGIC or its != number or not BLOCK.size <= head_size <= size:
        return None
    head = data[at:at + head_size]
    if crc32c(head[:20] + bytes(4) + head[24:]) != crc:
        return None
    if at + size > len(data):
        raise IndexError
    behind = data[at + head_size:at + size]
    behind = unpack(behind, data_size) if flags & 1 else behind[:data_size]
    if kind in (PROVIDER, SYMBOLS) and crc32c(behind) != TABLE.unpack_from(head, BLOCK.size)[3]:
        behind = None
    return at + head_size, at + size, kind, source, head[BLOCK.size:], behind


def blocks(data, at, number):
    """Each block, and how many damaged parts are before it."""
    start = struct.pack('<II', BLOCK_MAGIC, number)
    damage, data_at, is_found = 0, 0, True
    while at >= 0:
        try:
            block = block_at(data, at, number)
        except IndexError:
            block = None
        if not block:
            at = data.find(start, max(data_at, at + 1) if not is_found else data_at or at + 1)
            is_found = False
            continue
        damage += not is_found
        is_found = True
        data_at, at, kind, source, body, behind = block
        if behind is None and kind != PAGES:
            damage += 1
            continue
        yield kind, source, body, behind, damage
        if kind == END:
            return


def elements(body):
    arg, count, stride, _, _ = TABLE.unpack_from(body)
    return arg, [body[TABLE.size + i * stride:TABLE.size + (i + 1) * stride] for i in range(count)]


def page_of(data, at, to, crc):
    page = data[at:at + to] if data is not None else b''
    return page if len(page) == to and crc32c(page) == crc else None


def take(sources, here, kind, source, body, data, damage):
    if kind == SOURCE_KIND:
        here[source] = Source(body)
        sources.append(here[source])
    elif kind == PROVIDER:
        slot, (entry,) = elements(body)
        here[source].take_provider(slot, entry, data)
    elif kind == CLOCK:
        begun, table = elements(body)
        for epoch in map(EPOCH.unpack_from, table):
            if epoch[5] and epoch[0] < begun:
                here[source].epochs[epoch[0]] = epoch
    elif kind == NAMES:
        for entry in elements(body)[1]:
            sequence, pid, since, tgid, boot, chain, _, comm = NAME.unpack_from(entry)
            if sequence and sequence % 2 == 0:
                here[source].names[pid][boot, chain, since] = tgid, text(comm + b'\0')
    elif kind == PAGES:
        for lost, at, start, to, ring, crc, _ in map(PAGE.unpack_from, elements(body)[1]):
            here[source].rings[ring].append((lost, start, page_of(data, at, to, crc), damage))
    elif kind == LOST_KIND:
        lost, ring, _ = LOST.unpack_from(body)
        here[source].rings[ring].append((lost, 0, b'', damage))


def walk(source, ring, start, page):
    """The records of a page, of which those before `start` came earlier."""
    (_, ts, _, _, _, _, boot, chain, context, _, _, at, pid, tgid) = RING_PAGE.unpack_from(page)
    piece = None
    while at < len(page):
        number, size, low = struct.unpack_from('<HHI', page, at)
        if number == 0:
            return
        if number == 1:
            tgid = tgid if pid == low else 0
            context, pid, size = size, low, 8
        elif number < 64:
            if number == 2:
                chain, ts = struct.unpack_from('<IQ', page, at + 4)
            elif number == 3:
                tgid = low
            elif number == 7:
                piece = low  # offset in the whole payload
        else:
            cut, size = bool(size & 0x8000) or piece is not None, size & 0x7fff
            full = ts & ~0xffffffff | low
            ts = full + (1 << 32) if full < ts else full
            payload = b'' if piece else page[at + 8:at + size]
            if at >= start:
                yield Record(source.ns(chain, ts), ring, number, (boot, chain, ts), pid, tgid, context,
                             payload, cut)
            piece = None
        at += (size & 0x7fff) + 7 & ~7


def losses(source, ring, pages):
    """The pages that are good, each with what is lost before it."""
    last, damage_before, missed = None, 0, False
    for lost, start, page, damage in pages:
        if page is None:
            missed = True
            continue
        if page:
            _, _, records, dropped, _, _, boot = RING_PAGE.unpack_from(page)[:7]
            held = sum(1 for _ in walk(source, ring, 0, page))
            new = sum(1 for _ in walk(source, ring, start, page))
            if last and last[0] == boot and (missed or damage != damage_before):
                lost = max(lost, max(0, records + held - new - last[1]) + max(0, dropped - last[2]))
            last, damage_before, missed = (boot, records + held, dropped), damage, False
        yield lost, start, page


def line_of(source, record):
    event = source.event(record.id, record.when)
    tgid, comm = source.task(record.pid, record.when)
    out = {'ns': record.ns, 'source': source.name, 'source_number': source.number,
           'cpu': record.cpu, 'pid': record.pid}
    if record.tgid or tgid:
        out['tgid'] = record.tgid or tgid
    out['comm'] = comm
    if event:
        out |= {'system': event.system, 'event': event.name,
                'fields': {field[0]: value_of(field, record.payload) for field in event.fields}}
    else:
        out |= {'id': record.id, 'raw': record.payload.hex()}
    if record.cut:
        out['cut'] = True
        fronts = [field[0] for field in event.fields if is_front(field, record.payload)] if event else []
        out |= {'cut_fields': fronts} if fronts else {}
    return out


def read(path):
    """Objects as the lines have them, and a loss or a record for each, in the order of time."""
    with open(path, 'rb') as file:
        data = file.read()
    magic, major, _, header_size, features, _, _, _, number, _ = HEADER.unpack_from(data)
    if magic != MAGIC or major != 1 or features & 0xffffffff:
        raise ValueError('not a trace file that this can read')
    sources, here, out = [], {}, []
    for block in blocks(data, header_size, number):
        take(sources, here, *block)
    for source in sources:
        for ring, pages in source.rings.items():
            for lost, start, page in losses(source, ring, pages):
                if lost:
                    out.append({'source': source.name, 'source_number': source.number,
                                'cpu': ring, 'lost': lost})
                if page:
                    out += [line_of(source, r) for r in walk(source, ring, start, page)]
    return out


def main():
    lines = read(sys.argv[1])
    for line in sorted((line for line in lines if 'ns' in line), key=lambda line: line['ns']):
        print(json.dumps(line))
    for line in lines:
        if 'lost' in line:
            print(json.dumps(line))


if __name__ == '__main__':
    main()
