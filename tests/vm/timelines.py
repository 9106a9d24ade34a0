# SPDX-License-Identifier: MIT
"""What an export says that is a timeline: Perfetto's packets, as protoc decodes them by the schema,
and Chrome's JSON. Each is compared with the rows of `ringside report --json`."""
import decimal
import json
import os
import re
import subprocess

from harness import check

PID = 0x3fffff  # of a pid on the timeline: what is above is the source's


def name_of(row):
    return f"{row['system']}:{row['event']}" if 'event' in row else None


def events_of(rows):
    return [row for row in rows if 'lost' not in row and 'boot' not in row]


def expect(ok, what):
    """As check(), but says nothing if all is well: for what is checked a thousand times."""
    if not ok:
        check(False, what)


# ---- Perfetto ----

TOKEN = re.compile(r'\s*(?:(\w+) \{|(\w+): ("(?:[^"\\]|\\.)*"|\S+)|(\}))')


def unescape(text):
    plain = re.sub(rb'\\([0-7]{3}|.)', lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else
                   {b'n': b'\n', b't': b'\t', b'r': b'\r'}.get(m[1], m[1]), text[1:-1].encode())
    return plain.decode()


def read_packets(path, proto):
    """Each packet as a dictionary of lists."""
    with open(path, 'rb') as f:
        r = subprocess.run(['protoc', '--decode=perfetto.protos.Trace', '-I', os.path.dirname(proto),
                            os.path.basename(proto)], stdin=f, capture_output=True, check=True)
    stack = [{}]
    for m in TOKEN.finditer(r.stdout.decode()):
        if m[1]:
            stack.append({})
            stack[-2].setdefault(m[1], []).append(stack[-1])
        elif m[2]:
            value = unescape(m[3]) if m[3][0] == '"' else m[3]
            number = m[3].lstrip('-').isdigit()
            stack[-1].setdefault(m[2], []).append(int(value) if number else value)
        else:
            stack.pop()
    check(len(stack) == 1, 'the packets are whole')
    return stack[0]['packet']


def one(message, key, default=None):
    return message.get(key, [default])[0]


def value_of(note):
    if 'array_values' in note:
        return [one(v, 'uint_value', one(v, 'int_value')) for v in note['array_values']]
    for key in 'uint_value', 'int_value', 'pointer_value', 'string_value', 'bool_value':
        if key in note:
            return one(note, key)
    return []


class Perfetto:
    """What the packets say, with names and tracks looked up."""

    def __init__(self, path, proto):
        self.names, self.notes, self.categories, self.tracks = {}, {}, {}, {}
        self.events, self.extra, self.lost, self.clocks = [], [], [], {}
        for packet in read_packets(path, proto):
            for data in packet.get('interned_data', []):
                for key, to in (('event_names', self.names), ('event_categories', self.categories),
                                ('debug_annotation_names', self.notes)):
                    to.update({one(x, 'iid'): one(x, 'name') for x in data.get(key, [])})
            for snapshot in packet.get('clock_snapshot', []):
                self.clocks = {one(c, 'clock_id'): one(c, 'timestamp') for c in snapshot['clocks']}
            for track in packet.get('track_descriptor', []):
                self.tracks[one(track, 'uuid')] = track
            for event in packet.get('track_event', []):
                self.take(packet, event)

    def take(self, packet, event):
        notes = {self.notes.get(one(n, 'name_iid'), one(n, 'name')): value_of(n)
                 for n in event.get('debug_annotations', [])}
        track = self.tracks[one(event, 'track_uuid')]
        taken = {'ns': one(packet, 'timestamp') - self.clocks[3], 'type': one(event, 'type')[5:],
                 'name': self.names.get(one(event, 'name_iid'), one(event, 'name')), 'notes': notes,
                 'category': self.categories.get(one(event, 'category_iids')), 'track': track,
                 'stack': [one(f, 'function_name')
                           for f in one(event, 'callstack', {}).get('frames', [])],
                 'uuid': one(event, 'track_uuid'), 'counter': one(event, 'counter_value')}
        if 'lost' in notes:
            expect(one(packet, 'previous_packet_dropped') == 1, 'a loss is one to its readers')
            self.lost.append((taken['ns'], notes['lost'], one(track, 'name')))
        elif 'ringside.cpu' in notes:
            self.events.append(taken)
        else:
            self.extra.append(taken)


def as_notes(row):
    """The fields as annotations: of an enum and of flags, both texts that they may be."""
    found = {}
    for name, value in row['fields'].items():
        if isinstance(value, dict):
            number = value['value']
            text = value['name']
            value = (f'{text} ({number})', f'{text} ({number:#x})') if text else (f'{number:#x}',)
        elif isinstance(value, str) and re.fullmatch('0x[0-9a-f]+', value):
            value = int(value, 16)
        if value not in (None, []):
            found[name] = value
    return found


def differs(row, event):
    """What differs, or None."""
    notes = dict(event['notes'])
    place = event['ns'], notes.pop('ringside.cpu'), notes.pop('ringside.flags')
    if place != (row['ns'], row['cpu'], row['flags']):
        return 'time, vCPU or flags'
    thread = one(event['track'], 'thread', {})
    if row['pid'] and (one(thread, 'tid') & PID, one(thread, 'thread_name')) != (row['pid'], row['comm']):
        return f'task {event["track"]}'
    names = row.get('symbols') or [None] * len(row.get('stack', []))
    if event['stack'] != [s or a for s, a in zip(names, row.get('stack', []))][::-1]:
        return f'stack: {event["stack"]}'
    if 'raw' in row:
        same = (notes['id'], notes['raw'], event['name']) == (row['id'], row['raw'], 'unknown')
        return None if same else 'raw'
    if event['category'] != row['system']:
        return 'category'
    instant = event['type'] == 'INSTANT'
    if event['name'] != name_of(row) if instant else not name_of(row).startswith(event['name']):
        return f'name: {event["name"]}'
    if (notes.pop('ringside.cut', None) == 'true') != (None in row['fields'].values() or 'cut' in row):
        return 'cut'
    ours = as_notes(row)
    theirs = {name: value for name, value in notes.items() if value != []}
    for name, value in ours.items():
        got = theirs.pop(name, 'missing')
        if got not in value if isinstance(value, tuple) else got != value:
            return f'{name}: {value} and {got}'
    return f'more: {theirs}' if theirs else None


def check_nested(events, begin, end):
    """No slice ends that did not begin. Returns how many ended."""
    depth, ended = {}, 0
    for track, kind in events:
        depth[track] = depth.get(track, 0) + (kind == begin) - (kind == end)
        ended += kind == end
        expect(depth[track] >= 0, f'a slice ends on {track} that did not begin')
    return ended


def check_perfetto(path, proto, rows, header):
    """`header`: the trace file's first bytes. Returns what was read."""
    got = Perfetto(path, proto)
    origin, wall = (int.from_bytes(header[i:i + 8], 'little') for i in (24, 32))
    check(got.clocks == {1: wall, 3: origin, 6: origin}, f'clocks: {got.clocks}')
    events = events_of(rows)
    wrong = [f'{w}: {row}' for row, e in zip(events, got.events) if (w := differs(row, e))]
    check(not wrong, f'perfetto: each event is the same: {wrong[:3]}')
    check(len(events) == len(got.events), f'and all of {len(events)}')
    lost = [(row['ns'], row['lost'], f"vCPU {row['cpu']}") for row in rows if 'lost' in row]
    check(got.lost == lost, f'losses: {lost}')
    boots = [(row['ns'], f"boot {row['boot']}") for row in rows if 'boot' in row]
    check([(e['ns'], e['name']) for e in got.extra if (e['name'] or '').startswith('boot ')] == boots,
          f'boots: {boots}')
    in_order = sorted(got.events + got.extra, key=lambda e: e['ns'])
    ended = check_nested([(e['uuid'], e['type']) for e in in_order], 'SLICE_BEGIN', 'SLICE_END')
    check(ended > 20, f'{ended} slices')
    counted = [e['counter'] for e in got.extra if e['type'] == 'COUNTER']
    loads = [row['fields']['value'] for row in events if name_of(row) == 'span:load']
    check(counted == loads, f'{len(counted)} values of counters')
    return got


# ---- Chrome ----

def check_chrome(path, rows, of_groups):
    """Returns the events. `of_groups`: thread groups become known inside of slices."""
    rows = events_of(rows)
    with open(path, encoding='utf-8') as f:
        events = json.load(f, parse_float=decimal.Decimal)['traceEvents']
    names, got = {}, []
    for e in events:
        if e['ph'] == 'M':
            names[e['name'], e['pid'], e['tid']] = e['args']['name']
        elif 'fields' in e.get('args', {}):
            e['comm'] = names.get(('thread_name', e['pid'], e['tid']))
            got.append(e)
    for row, e in zip(rows, got):
        args, fields = e['args'], row.get('fields', {'id': row.get('id'), 'raw': row.get('raw')})
        same = (int(e['ts'] * 1000), args['cpu'], args['flags'], args['fields'], e.get('cat')) == \
            (row['ns'], row['cpu'], row['flags'], fields, row.get('system'))
        same &= (args.get('stack'), args.get('symbols')) == (row.get('stack'), row.get('symbols'))
        if row['pid']:
            same &= e['tid'] & PID == row['pid']
            # Where an end is, its begin says: check_nested().
            same &= e['ph'] == 'E' or \
                (e['pid'] & PID, e['comm']) == (row.get('tgid', row['pid']), row['comm'])
        name = name_of(row) or 'unknown'
        same &= e['name'] == name if e['ph'] == 'i' else name.startswith(e['name'])
        expect(same, f'{e}\n{row}')
    check(len(got) == len(rows), f'chrome: each of {len(rows)} events is the same')
    ended = check_nested([((e['pid'], e['tid']), e['ph']) for e in events], 'B', 'E')
    check(ended > 20, f'{ended} slices')
    ends = [(row, e) for row, e in zip(rows, got) if row['pid'] and e['ph'] == 'E']
    later = sum(e['pid'] & PID != row.get('tgid', row['pid']) for row, e in ends)
    check(later if of_groups else True, f'{later} of them in a task whose thread group was known later')
    return events
