#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside export`: what other tools read is what `ringside report --json` prints.

    export.py RINGSIDE SAMPLE PERFETTO_PROTO
"""
import csv
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import timelines
from harness import Background, Ringside, check, wait_for
from timelines import name_of

RINGSIDE, SAMPLE, PROTO = sys.argv[1:4]
rs = Ringside(RINGSIDE)


def need_tool(name):
    if shutil.which(name):
        return True
    print(f'skipped: {name} is not here')
    return False


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, errors='surrogateescape',
                          timeout=100, stdin=subprocess.DEVNULL, check=False, **more)


def report(path):
    r = rs('report', '--json', path)
    check(r.code == 0, f'report --json works: {r.err}')
    return [json.loads(line) for line in r.out.splitlines()]


def export(path, to, out, *args):
    r = rs('export', path, '--to', to, '-o', out, *args)
    check(r.code == 0 and os.path.exists(out), f'export --to {to} works: {r.err}')
    return r


# ---- CTF, as babeltrace2 prints it ----

class Text:
    """The values that babeltrace2's text holds."""
    TOKEN = re.compile(r'\s*([{}\[\](),=:]|"(?:[^"\\]|\\.)*"|<unknown>|[^\s{}\[\](),=:"]+)', re.S)
    ESCAPES = {'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v', 'e': '\033'}

    def __init__(self, text):
        self.tokens, self.at = self.TOKEN.findall(text), 0

    def next(self, expected=None):
        token = self.tokens[self.at]
        self.at += 1
        if expected:
            check(token == expected, f'{expected} and not {token}') if token != expected else None
        return token

    def items(self, end):
        """NAME = VALUE, … up to the end."""
        found = {}
        while self.tokens[self.at] != end:
            name = self.next()
            if name == '[':
                name = int(self.next())
                self.next(']')
            self.next('=')
            found[name] = self.value()
            if self.tokens[self.at] == ',':
                self.next()
        self.next()
        return found

    def value(self):
        token = self.next()
        if token == '{':
            return self.items('}')
        if token == '[':
            return list(self.items(']').values())
        if token == '(':
            names = []
            while (token := self.next()) != ':':
                if token != ',':
                    names.append(None if token == '<unknown>' else self.string(token))
            self.next('container')
            self.next('=')
            value = int(self.next(), 0)
            self.next(')')
            return {'value': value, 'names': names}
        return self.string(token) if token[0] == '"' else int(token, 0)

    def string(self, token):
        return re.sub(r'\\(.)', lambda m: self.ESCAPES.get(m[1], m[1]), token[1:-1], flags=re.S)


EVENT = re.compile(r'^\[(\d+)\.(\d{9})\] (?:(\S+) )?(\S+): (\{.*)$', re.S)
LOSS = re.compile(r'discarded (\d+) events? between \[(\d+)\.(\d+)\] and \[(\d+)\.(\d+)\] in trace '
                  r'"([^"]*)".* within stream "[^"]*/stream-(\d+)"')


def read_ctf(folder):
    """The events and losses of one trace, in babeltrace2's order."""
    r = run('babeltrace2', '--clock-seconds', '--no-delta', folder, env={**os.environ, 'TZ': 'UTC'})
    check(r.returncode == 0, f'babeltrace2 reads it: {r.stderr[:2000] if r.returncode else 0}')
    events = []
    for line in re.split(r'\n(?=\[)', r.stdout.rstrip('\n')) if r.stdout else []:
        m = EVENT.match(line)
        text = Text(m[5])
        parts = [text.value()]
        while text.at < len(text.tokens):
            text.next(',')
            parts.append(text.value())
        has_stack = len(parts) > 2 and 'callstack' in parts[2]
        stack = parts.pop(2)['callstack'] if has_stack else []
        events.append({'time': int(m[1]) * 10**9 + int(m[2]), 'event': m[4], 'cpu': parts[0]['cpu_id'],
                       'context': parts[1], 'stack': stack, 'fields': parts[2] if parts[2:] else {}})
    losses = [{'lost': int(m[1]), 'from': int(m[2] + m[3]), 'to': int(m[4] + m[5]), 'cpu': int(m[7])}
              for m in LOSS.finditer(r.stderr)]
    return events, losses


def ctf_value(value):
    """A value of report --json, as CTF has it."""
    if isinstance(value, str) and re.fullmatch('0x[0-9a-f]+', value):
        return int(value, 16)
    return value


def same_ctf_field(ours, theirs):
    # Where a string is empty, babeltrace2 2.0.4 shows what it had before in the same place.
    if ours in ('', None) and isinstance(theirs, str):
        return True
    if ours is None:  # the record is cut
        return not theirs or theirs == [0] * len(theirs) if isinstance(theirs, list) else \
            theirs in (0, '') or theirs['value'] == 0
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same_ctf_field, ours, theirs))
    if isinstance(ours, int) and ours < 0 < theirs:  # babeltrace2's hexadecimal has no sign
        return theirs - ours in (1 << 8, 1 << 16, 1 << 32, 1 << 64)
    if isinstance(ours, dict):
        if isinstance(theirs, int):
            return theirs == ours['value']
        names = [n for n in theirs['names'] if n is not None]
        return theirs['value'] == ours['value'] and (
            not names or ours['name'] in names or '|' in ours['name'])
    if isinstance(ours, str) and ours != theirs:
        return ctf_value(ours) == theirs
    return ours == theirs


def check_ctf_event(row, event, wall):
    """What differs, or None."""
    if 'boot' in row:
        good = event['event'] == 'ringside:boot' and event['fields'] == {'boot': row['boot']}
        return None if good else 'boot'
    context = event['context']
    if event['time'] - wall != row['ns'] or event['cpu'] != row['cpu']:
        return 'time or cpu'
    if (context['tid'], context['pid'], context['procname'], context['flags']) != \
            (row['pid'], row.get('tgid', 0), row['comm'], row['flags']):
        return 'context'
    if 'raw' in row:
        raw = list(bytes.fromhex(row['raw']))
        good = event['event'] == 'ringside:unknown' and event['fields']['id'] == row['id'] and \
            event['fields']['raw'] == raw
        return None if good else 'raw'
    if event['event'] != name_of(row):
        return 'name'
    if event['stack'] != [int(frame, 16) for frame in row.get('stack', [])]:
        return 'stack'
    fields = event['fields']
    cut = None in row['fields'].values() or 'cut' in row
    if context['cut'] != int(cut):
        return 'cut'
    for name, value in row['fields'].items():
        theirs = fields.pop('_Bool' if name == 'Bool' else name, 'missing')
        if not same_ctf_field(value, theirs):
            return f'{name}: {value} and {theirs}'
    return None if all(re.fullmatch('_+.*_length', n) for n in fields) else f'more: {fields}'


def test_ctf(path, at, wall):
    rows = report(path)
    export(path, 'ctf', at('ctf'), '--force')
    sources = {row.get('source') for row in rows}
    folders = sorted(os.listdir(at('ctf')))
    check(len(folders) == len(sources), f'a trace for each source: {folders}')
    total = 0
    for source in sources:
        mine = [row for row in rows if row.get('source') == source]
        folder = [f for f in folders if f == re.sub(r'[^A-Za-z0-9_.-]', '_', source)
                  or f.startswith(source[:2])][0]
        events, losses = read_ctf(os.path.join(at('ctf'), folder))
        for cpu in {row['cpu'] for row in mine if 'cpu' in row}:
            ours = [row for row in mine if row.get('cpu') == cpu]
            # A boot has no vCPU in JSON.
            theirs = [e for e in events if e['cpu'] == cpu and e['event'] != 'ringside:boot']
            wrong = [w for row, e in zip((r for r in ours if 'lost' not in r), theirs)
                     if (w := check_ctf_event(row, e, wall))]
            check(not wrong, f'{source}, vCPU {cpu}: each event is the same: {wrong[:3]}')
            check(len(theirs) == sum('lost' not in row for row in ours), f'and all of {len(theirs)}')
            total += len(theirs)
            lost = [(row['lost'], row['ns']) for row in ours if 'lost' in row]
            got = [(x['lost'], x['to'] - wall) for x in losses if x['cpu'] == cpu]
            check(got == lost, f'losses are in their place: {got} {lost}')
        boots = [row['boot'] for row in mine if 'boot' in row]
        check([e['fields']['boot'] for e in events if e['event'] == 'ringside:boot'] == boots,
              f'boots: {boots}')
    check(total > 500, f'{total} events')


# ---- CSV ----

def test_csv(path, at):
    rows = report(path)
    export(path, 'csv', at('csv'), '--force')
    with open(at('csv'), newline='', encoding='utf-8') as f:
        table = list(csv.DictReader(f))
    check(len(table) == len(rows), f'a row for each record: {len(table)}')
    for row, line in zip(rows, table):
        kind = 'LOST' if 'lost' in row else 'BOOT' if 'boot' in row else name_of(row) or ''
        good = int(line['ns']) == row['ns'] and line['event'] == kind
        if 'lost' in row:
            good &= int(line['lost']) == row['lost'] and int(line['cpu']) == row['cpu']
        elif 'boot' in row:
            good &= int(line['boot']) == row['boot']
        else:
            fields = json.loads(line['fields'])
            good &= fields == row.get('fields', fields) and fields.get('raw') == row.get('raw')
            good &= (int(line['cpu']), int(line['pid']), line['flags'], line['tgid']) == \
                (row['cpu'], row['pid'], row['flags'], str(row.get('tgid', '')))
            good &= line['stack'].count(';') == max(len(row.get('stack', [])) - 1, 0)
            good &= 'symbols' in row or line['stack'] == ';'.join(row.get('stack', []))
            # Bytes that are no plain text are written as \xNN, and a formula's first character.
            good &= line['comm'] == row['comm'] or '\\x' in line['comm']
            good &= line['comm'][:1] not in ('=', '+', '-', '@')
        if not good:
            check(False, f'{line}\n{row}')
    first = next(row for row in rows if row.get('fields'))
    r = rs('export', path, '--to', 'csv', '--columns', name_of(first), '-o', '-')
    lines = list(csv.reader(r.out.splitlines()))
    check(r.code == 0 and len(lines) == 1 + sum(name_of(row) == name_of(first) for row in rows),
          'one event in columns')
    check(lines[0][12:] == list(first['fields']), f'a column for each field: {lines[0]}')


def test_csv_texts(path):
    """Whatever bytes the guest wrote, they can be had back."""
    r = rs('export', path, '--to', 'csv', '--columns', 'test.all-1:arrays', '-o', '-')
    rows = [row for row in report(path) if row.get('event') == 'arrays']
    texts = set()
    for row, line in zip(rows, csv.DictReader(r.out.splitlines()), strict=True):
        for name, mine in ('comm', row['comm']), *((n, row['fields'][n]) for n in ('text', 'dyn_text')):
            got = re.sub(rb'\\x([0-9a-f]{2})', lambda m: bytes.fromhex(m[1].decode()), line[name].encode())
            # In JSON, bytes that are not UTF-8 are U+EF80 and so on.
            want = b''.join(bytes([ord(c) - 0xef00]) if '\uef80' <= c <= '\uefff' else c.encode() for c in mine)
            if got != want:
                check(False, f'{name}: {line[name]} is {got}, not {want}')
            texts.add(want)
    check({b'\\x41\\', b'\xff\xfe', b'=2+3', b'a,b;"c"\n'} <= texts, f'{len(texts)} texts can be had back')


# ---- timelines ----

def test_timelines(path, at):
    rows = report(path)
    export(path, 'chrome', at('json'), '--force')
    chrome = timelines.check_chrome(at('json'), rows, of_groups=path == at('sample'))
    if not need_tool('protoc'):
        return
    export(path, 'perfetto', at('pf'), '--force')
    with open(path, 'rb') as f:
        perfetto = timelines.check_perfetto(at('pf'), PROTO, rows, f.read(40))
    switches = [row['fields'] for row in rows if name_of(row) == 'sched:switch']
    names = [f['next_comm'] for f in switches if f.get('next_pid')]
    got = [e['name'] for e in perfetto.extra if e['type'] == 'SLICE_BEGIN']
    check(got == names, f'{len(names)} slices of running tasks')
    running = [e for e in chrome if e['ph'] == 'X' or e['ph'] == 'B' and 'fields' not in e['args']]
    check(sorted(e['name'] for e in running) == sorted(names), 'which chrome has, too')


def test_choices(path, at):
    """The options are those of report, and take the same records."""
    for args in ['-e', 'span:*', '--cpu', '1'], ['-F', 'demo:all: s == -5', '--from', '+100us'], [path]:
        rows = [json.loads(line) for line in rs('report', '--json', path, *args).out.splitlines()]
        r = rs('export', path, *args, '--to', 'csv', '-o', '-')
        table = list(csv.DictReader(r.out.splitlines()))
        check(r.code == 0 and len(rows) > 20, f'{args}: {len(rows)} records: {r.err}')
        check([int(line['ns']) for line in table] == [row['ns'] for row in rows], 'are exported')


def test_wishes(path, at):
    r = rs('export', path, '--to', 'chrome', '-o', '-', '--slice', 'sched:switch..words:clock',
           '--counter', 'sched:switch.next')
    events = json.loads(r.out)['traceEvents']
    check(sum(e['ph'] == 'B' and e['name'] == 'sched:switch' for e in events) > 20, 'a slice of the user')
    values = [e['args']['value'] for e in events if e['ph'] == 'C' and e['name'] == 'sched:switch.next']
    check(values == [row['fields']['next'] for row in report(path) if name_of(row) == 'sched:switch'],
          'and a counter')
    # No event ends it, so that it is open more and more often.
    names = ['words:clock', 'span:load', 'span:io_end', 'test.all-1:arrays']
    wishes = ['-e', ','.join(names), *(f'--slice={name}..span:empty' for name in names)]
    for to in 'chrome', 'perfetto':
        r = rs('export', path, '--to', to, '-o', at('deep'), '-f', '--pid', '100', *wishes)
        with open(at('deep'), 'rb') as f:
            kinds = re.findall(rb'"ph":"([BEi])".*"cat"', f.read())
        hidden = kinds.count(b'i') if to == 'chrome' else hidden
        check(r.code == 0 and hidden and f'{hidden} slices are not drawn' in r.err, f'{to}: {r.err}')
    for args in ['--slice', 'a'], ['--slice', '..b'], ['--counter', 'value'], ['--counter', '.x']:
        r = rs('export', path, '--to', 'perfetto', '-o', at('none'), *args)
        check(r.code and 'is no' in r.err and not os.path.exists(at('none')), f'{args}: {r.err}')


# ---- what every format does ----

FORMATS = ['ctf', 'perfetto', 'chrome', 'csv', 'text', 'json']


def test_lines(path, at):
    """Lines are those of a report, of one file and of several, whatever is chosen of them."""
    for paths in [path], [path, path]:
        for choice in [], ['-e', 'sched:*', '--cpu', '0']:
            for to, how in ('text', []), ('json', ['--json']):
                r = rs('export', *paths, '--to', to, '-o', at('lines'), '-f', *choice)
                check(r.code == 0, f'{to}: {r.err}')
                with open(at('lines'), encoding='utf-8') as f:
                    lines = f.read()
                check(lines and lines == rs('report', *paths, *how, *choice).out,
                      f'{to} {choice}: {lines.count(chr(10))} lines, as the report has them')


def leftovers(at):
    return [n for n in os.listdir(at('')) if '.part' in n]


def test_sources_of_one_name(path, at):
    """Each has a folder of its own."""
    r = rs('export', path, '--to', 'ctf', '-o', at('once'))
    check(r.code == 0, f'a file: {r.err}')
    r = rs('export', path, path, path, '--to', 'ctf', '-o', at('thrice'))
    names = os.listdir(at('once'))
    check(sorted(os.listdir(at('thrice'))) == sorted(n + more for n in names for more in ('', '-2', '-3')),
          f'three times the same sources: {os.listdir(at("thrice"))}')


def test_outputs(path, at):
    out = at('x')
    for to in FORMATS:
        shutil.rmtree(out, ignore_errors=True)
        if os.path.exists(out):
            os.remove(out)
        export(path, to, out)
        r = rs('export', path, '--to', to, '-o', out)
        check(r.code == 1 and 'there already' in r.err, f'{to}: nothing is replaced: {r.err}')
        export(path, to, out, '--force')
        r = rs('export', path, '--to', to, '-o', at('no/such'))
        check(r.code == 1 and 'No such file' in r.err, f'{to}: no folder: {r.err}')
        other = at('kind') if os.path.isdir(out) else at('')
        with open(at('kind'), 'w', encoding='utf-8') as f:
            f.write('mine')
        for more in [], ['--force']:
            r = rs('export', path, '--to', to, '-o', other, *more)
            check(r.code == 1 and 'directory' in r.err and '--force' not in r.err,
                  f'{to}: of the other kind: {r.err}')
        check(open(at('kind'), encoding='utf-8').read() == 'mine', 'which stays')
        if os.path.isdir(out):
            with open(os.path.join(out, 'diary'), 'w', encoding='utf-8') as f:
                f.write('mine')
            r = rs('export', path, '--to', to, '-o', out, '--force')
            check(r.code == 1 and os.path.exists(os.path.join(out, 'diary')),
                  f'{to}: a folder with other files stays: {r.err}')
            r = rs('export', path, '--to', to, '-o', '-')
            check(r.code == 2, f'{to}: no folder goes to standard output')
        else:
            r = rs('export', path, '--to', to, '-o', '/dev/full')
            check(r.code == 1 and 'No space' in r.err, f'{to}: a full disk is told: {r.err}')
            with open(out, 'rb') as f:
                check(subprocess.run([RINGSIDE, 'export', path, '--to', to, '-o', '-'], check=True,
                                     capture_output=True).stdout == f.read(), f'{to}: to a pipe')
    check(rs('export', path, '--to', 'csv', '-o', '').code == 2, 'a name is needed')
    for args, code in [(['csv', '--columns', 'nosuch'], 3), (['csv', '--slice', 'a..b'], 2),
                       (['perfetto', '--columns', 'sched:switch'], 2), (['chrome', '--counter', 'nosuch.x'], 3),
                       (['chrome', '--slice', 'sched:switch..nosuch'], 3), (['csv', '-e', 'nosuch'], 3)]:
        r = rs('export', path, '--to', *args, '-o', at('named'), '-f')
        check(r.code == code and (code != 3 or 'no event matches' in r.err), f'{args}: {r.err}')
    for to, code in ('trace.dat', 2), ('perfetto', 2), ('chrome', 0):
        ours, its = pty.openpty()
        r = subprocess.run([RINGSIDE, 'export', path, '--to', to, '-o', '-', '--until', '0.0'], stdout=its,
                           stderr=subprocess.PIPE, timeout=60)
        os.close(its)
        os.close(ours)
        check(r.returncode == code and (b'terminal' in r.stderr) == (code == 2), f'{to} on a terminal: {r.stderr}')
    with open(path, 'rb') as f:
        before = f.read()
    os.symlink(path, at('link'))
    for out in path, at('link'):
        r = rs('export', path, '--to', 'csv', '-o', out, '--force')
        check(r.code == 1 and 'the trace itself' in r.err, f'a trace is not replaced: {r.err}')
    with open(path, 'rb') as f:
        check(f.read() == before, 'and stays as it was')
    for args in ['--to', 'none'], [], ['--to', 'csv'], ['--to', 'csv', '-o', at('y'), '-F', '!!']:
        check(rs('export', path, *args).code == 2, f'wrong use: {args}')
    check(not leftovers(at), 'nothing is left of what failed')


def test_bad_traces(path, at):
    data = open(path, 'rb').read()
    for to in FORMATS:
        with open(at('bad'), 'wb') as f:
            f.write(data[:len(data) // 2])
        r = rs('export', at('bad'), '--to', to, '-o', at('cut'), '--force')
        check(r.code == 0 and 'was not ended' in r.err, f'{to}: of a cut one, what is there: {r.err}')
        middle = data.index(b'SBLK', len(data) // 2)
        with open(at('bad'), 'wb') as f:
            f.write(data[:middle + 40] + b'xxxx' + data[middle + 44:])
        r = rs('export', at('bad'), '--to', to, '-o', at('cut'), '--force')
        check(r.code == 1 and 'damaged' in r.err and os.path.exists(at('cut')),
              f'{to}: of a damaged one, what is left: {r.err}')
        with open(at('bad'), 'wb') as f:
            f.write(b'no trace')
        r = rs('export', at('bad'), '--to', to, '-o', at('none'))
        check(r.code == 1 and not os.path.exists(at('none')), f'{to}: no trace: {r.err}')
        shutil.rmtree(at('cut'), ignore_errors=True)
        if os.path.exists(at('cut')):
            os.remove(at('cut'))
    check(not leftovers(at), 'nothing is left of what failed')


def test_interrupted(path, at):
    """Its input is a pipe that holds it up."""
    data = open(path, 'rb').read()
    for to in FORMATS:
        with subprocess.Popen([RINGSIDE, 'export', '-', '--to', to, '-o', at('slow')],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            p.stdin.write(data[:len(data) // 2])
            p.stdin.flush()
            wait_for('its file', lambda: leftovers(at))
            p.send_signal(signal.SIGINT)
            check(p.wait(20) == 1 and b'interrupted' in p.stderr.read(), f'{to}: ^C ends it')
        check(not leftovers(at) and not os.path.exists(at('slow')), 'and nothing is left')


def record_guest(at):
    """A short trace of the demo guest."""
    session = Background(rs, 'run', '--name', 'x', '--text', '/dev/null', '-e', '*', '--demo',
                         ready=lambda: rs('list', '-q', '-s', 'x').out)
    try:
        time.sleep(0.5)
        r = rs('record', '-s', 'x', '-o', at('guest'), '--duration', '0.5', '--max-size', '1M')
        check(r.code == 0, f'recorded: {r.err}')
    finally:
        session.end(signal.SIGTERM)
    return at('guest')


def wall_of(path):
    with open(path, 'rb') as f:
        return int.from_bytes(f.read(40)[32:40], 'little')


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory

        def at(name):
            return os.path.join(directory, name)

        check(run(SAMPLE, at('sample')).returncode == 0, 'a trace with every kind of field')
        for path in at('sample'), record_guest(at):
            test_csv(path, at)
            if need_tool('babeltrace2'):
                test_ctf(path, at, wall_of(path))
            test_timelines(path, at)
        test_csv_texts(at('sample'))
        test_choices(at('sample'), at)
        test_wishes(at('sample'), at)
        test_sources_of_one_name(at('sample'), at)
        test_lines(at('sample'), at)
        test_outputs(at('sample'), at)
        test_bad_traces(at('sample'), at)
        test_interrupted(at('sample'), at)


main()
