#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several programs in one session: some are started by a program, others join by themselves.

    joiners.py RINGSIDE JOIN0 JOIN1 JOIN_OPEN PLUGIN [TEST…]

JOIN0 and JOIN1 are hosted-join, which describe the same event differently.
"""
import collections
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time

from harness import DOC, PATIENCE, Background, Ringside, check, run_tests, wait_for

RINGSIDE, JOIN, JOIN1, JOIN_OPEN, PLUGIN = map(os.path.realpath, sys.argv[1:6])
MAIN = os.path.basename(JOIN)  # name of the program that is run, and of its source
rs = Ringside(RINGSIDE)


class Session(Background):
    """`ringside run` in the background. Output of the programs goes to standard error."""

    def __init__(self, *program, name='s', options=('-e', 'join:*'), text=False):
        self.name = name
        self.trace = tempfile.NamedTemporaryFile(prefix='joiners-out-')
        super().__init__(rs, 'run', '--name', name, '--text', self.trace.name, *options, *([] if text else ['--json']),
                         '--hosted', *program, ready=lambda: rs('stat', name).code == 0, out='err')

    def region(self):
        r = rs('ps', '--region', self.name)
        check(r.code == 0, f'ps --region: {r.out.strip()} {r.err}')
        return r.out.strip()

    def lines(self):
        return [json.loads(l) for l in open(self.trace.name) if l.endswith('\n')]

    def events(self):
        return [l for l in self.lines() if 'event' in l or 'raw' in l]

    def end(self, how=None):
        code = super().end(how)[0]
        check(code == 0, f'run ends well: {code}' + (f'\n{self.said()}' if code else ''))
        for line in self.lines():
            DOC.check_line(line)
        return self.lines()


def start(region, *args, program=JOIN):
    """A program that the user starts to join, as the documentation says."""
    return subprocess.Popen([program, *args], env={**os.environ, 'RINGSIDE_REGION': region}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def by_source(lines):
    found = collections.defaultdict(list)
    for line in lines:
        if 'event' in line:
            found[line['source']].append(line)
    return found


def check_sane(lines, what):
    """Checks that each line was decoded by the right description and names the right process."""
    for line in lines:
        fields = line.get('fields')
        if 'event' not in line or line['system'] != 'join':
            continue
        if fields['check'] != fields['n'] * 2654435761 or not re.fullmatch(re.escape(fields['who']) + r'(\.\d+)?', line['source']):
            raise AssertionError(f'{what}: {line}')
    sources = {(l['source'], l['source_number']) for l in lines if 'source' in l}
    check(len(sources) == len({name for name, _ in sources}) == len({number for _, number in sources}),
          f'{what}: a name and a number for each source')
    bad = [l for l in lines if 'raw' in l]
    check(not bad, f'{what}: all lines are decoded {bad[:2]}')


def check_order(lines, what):
    times = [l['ns'] for l in lines if 'event' in l]
    late = [(a, b) for a, b in zip(times, times[1:]) if b < a]
    check(not late, f'{what}: {len(times)} lines in the order of time {late[:3]}')


def check_whole(events, count, what):
    numbers = [e['fields']['n'] for e in events]
    check(numbers == list(range(count)), f'{what}: each of {count} events, once' if numbers == list(range(count))
          else f'{what}: {len(numbers)} of {count}, first {numbers[:3]}, last {numbers[-3:]}')


def check_sum(lines, what):
    summary = lines[-1]['summary']
    printed = sum('event' in l or 'raw' in l for l in lines)
    lost = sum(l.get('lost', 0) for l in lines if 'lost' in l)
    check(summary['printed'] == printed and summary['recorded'] == printed + summary['lost'] and
          lost == summary['lost'], f'{what}: the sums are true: {summary["recorded"]} recorded')


def test_children():
    """Programs that a traced program starts are traced too, each as a source."""
    names = ['apple', 'pear', 'plum']
    command = ' & '.join(f'{shlex.quote(p)} {n} pace 200 emit 500' for n, p in zip(names, (JOIN, JOIN1, JOIN)))
    s = Session('sh', '-c', command + ' & wait')
    lines = s.end()
    found = by_source(lines)
    check(sorted(found) == names, f'three sources: {sorted(found)}')
    for name in names:
        check_whole(found[name], 500, name)
        check(len({e['pid'] for e in found[name]}) == 1, f'{name} is one process')
    check(len({e['pid'] for e in lines if 'event' in e}) == 3, 'of three')
    check_sane(lines, 'children')
    check_order(lines, 'children')
    check_sum(lines, 'children')
    s = Session('sh', '-c', command + ' & wait', text=True)
    check(s.process.wait(PATIENCE) == 0, 'as text')
    text = open(s.trace.name).read()
    for name in names:
        n = len(re.findall(rf' {name}/join:step: who={name} n=', text))
        check(n >= 400, f'{n} lines name {name}')
    check(len(re.findall(r'join:step: who=', text)) == 1500, 'all lines are there')


def test_later():
    """Programs that join a running session: list, enable, filter, stat and ps know them."""
    with tempfile.TemporaryDirectory() as d:
        gate, end = os.path.join(d, 'gate'), os.path.join(d, 'end')
        s = Session(JOIN, MAIN, 'await', gate, 'emit', '10', 'await', end, options=())
        ps = rs.sessions()[0]
        check([x['kind'] for x in ps['sources']] == ['hosted'], 'one source at first')
        check(rs('list').out.split()[-1] == 'join:step', 'whose name list leaves out')
        region = s.region()
        check(ps['sources'][0]['region'] == region, 'ps --json has the region too')
        others = [start(region, n, 'await', gate, 'emit', '10', 'await', end, program=p)
                  for n, p in (('left', JOIN), ('right', JOIN1))]
        sources = wait_for('two more sources', lambda: (
            x := rs.sessions()[0]['sources']) and len(x) == 3 and x)
        for source in sources:
            DOC.check('ringside ps: a source', source)
        check(not sources[0]['joined'] and all(x['joined'] for x in sources[1:]), 'which joined')
        check({x['pid'] for x in sources[1:]} == {p.pid for p in others}, 'by their own pids')
        main = sources[0]['name']
        check({x['name'] for x in sources[1:]} == {'left', 'right'}, 'and names')
        table = rs('ps').out.splitlines()
        check(len(table) == 5 and table[3].split()[:3] == ['left' if '  left ' in table[3] else 'right', 'running',
                                                            'process'], f'ps lists them: {table[3]}')
        check(sorted(l.split()[-1] for l in rs('list').out.splitlines()[1:]) ==
              sorted([f'{main}/join:step', 'left/join:step', 'right/join:step']), 'list says whose each event is')
        check(rs('list', '-q', 'left/*').out == 'left/join:step\n', 'also if it is asked for one source')
        check(re.findall('^# source: (.*)$', rs('format', 'join:step').out, re.M)[1:] != [], 'and format')
        r = rs('pause')
        check(r.code == 0 and re.search('(left, right|right, left) run on', r.err) and
              rs.sessions()[0]['state'] == 'paused', f'pause says who runs on: {r.err}')
        r = rs('resume')
        check(r.code == 0 and not r.err, f'resume {r.err}')
        check(re.search(r'^sites: +\d+ patched by itself, 0 refused$', rs('stat').out, re.M), 'stat knows who patches')
        rows = rs.json('list')
        check(sorted(r['source'] for r in rows) == sorted([main, 'left', 'right']), 'as JSON')
        for row in rows:
            DOC.check('ringside list', row)
        r = rs('enable', 'join:*')
        check(r.code == 0 and '3 events' in r.out, f'one command reaches all: {r.out.strip()}')
        r = rs('filter', 'right/join:step: n >= 5')
        check(r.code == 0 and '1 event' in r.out, f'or only one: {r.out.strip()} {r.err}')
        r = rs('filter', 'join:step: n != 7')
        check(r.code == 0 and '3 events' in r.out, f'the last one counts: {r.out.strip()}')
        r = rs('filter', 'right/*: n >= 5')
        check(rs('disable', 'left/*').out.strip().endswith('1 event is off'), 'disable of one')
        filters = {r['source']: r.get('filter') for r in rs.json('list')}
        check(filters == {main: 'n != 7', 'left': 'n != 7', 'right': 'n >= 5'}, f'list: {filters}')
        check(rs('enable', 'nix/join:*').code == 3, 'a source that is not there: 3')
        open(gate, 'w').close()
        wait_for('their events', lambda: len(s.events()) >= 14)
        stat = rs.json('stat')
        for source in stat['sources']:
            DOC.check('ringside stat: a source', source)
        written = {name: sum(c['written'] for c in stat['cpus'] if c['source'] == name)
                   for name in (main, 'left', 'right')}
        check(written == {main: 9, 'left': 0, 'right': 5}, f'stat by source: {written}')
        check(rs('stat').out.count('source:') == 3, 'as text too')
        trace = rs('trace', '--json', '-n', '14')
        late = [json.loads(l) for l in trace.out.splitlines()]
        check({k: len(v) for k, v in by_source(late).items()} == {main: 9, 'right': 5},
              'who looks on late sees all that is there')
        open(end, 'w').close()
        for p in others:
            check(p.wait(PATIENCE) == 0 and ' traced\n' in p.stderr.read(), 'it was traced')
        lines = s.end()
        numbers = {k: [e['fields']['n'] for e in v] for k, v in by_source(lines).items()}
        check(numbers == {main: [0, 1, 2, 3, 4, 5, 6, 8, 9], 'right': [5, 6, 7, 8, 9]}, f'{numbers}')
        check_order(lines, 'later')
        check_sum(lines, 'later')
        check(rs('ps', '--region', 's').code == 3, 'ps --region of no session: 3')


def test_killed():
    """A program is killed (-9) while it writes. Its records are there, and the session goes on."""
    with tempfile.TemporaryDirectory() as d:
        end = os.path.join(d, 'end')
        s = Session(JOIN, MAIN, 'emit', '1', 'await', end, 'emit', '1')
        p = start(s.region(), 'victim', 'pace', '100', 'emit', '100000000')
        wait_for('some events', lambda: len(s.events()) > 200)
        p.kill()
        p.wait()
        wait_for('its end', lambda: any(x['name'] == 'victim' and x['state'] == 'ended'
                                          for x in rs.sessions()[0]['sources']))
        q = start(s.region(), 'next', 'emit', '50')
        check(q.wait(PATIENCE) == 0, 'another one comes')
        open(end, 'w').close()
        lines = s.end()
        found = by_source(lines)
        check_whole(found['victim'], len(found['victim']), 'the one that was killed')
        check_whole(found['next'], 50, 'the next one')
        check_sane(lines, 'killed')
        check_sum(lines, 'killed')


def text_of(path):
    """Address and bytes of .text in the program's file."""
    with open(path, 'rb') as f:
        d = f.read()
    at, = struct.unpack_from('<Q', d, 40)
    size, count, names = struct.unpack_from('<HHH', d, 58)
    sections = [struct.unpack_from('<IIQQQQ', d, at + i * size) for i in range(count)]
    for name, _, _, address, offset, length in sections:
        name += sections[names][4]
        if d[name:d.index(b'\0', name)] == b'.text':
            return address, d[offset:offset + length]
    raise AssertionError('no text')


def differs(pid, path=JOIN):
    """Bytes of the process's text that are not as in its file. Its first thread may have ended."""
    address, text = text_of(path)
    for task in sorted(os.listdir(f'/proc/{pid}/task'), key=int):
        with open(f'/proc/{pid}/task/{task}/maps') as f:
            base = next((int(l.split('-')[0], 16) for l in f if l.rstrip().endswith(path)), None)
        if base is not None:
            with open(f'/proc/{pid}/task/{task}/mem', 'rb', 0) as f:
                f.seek(base + address)
                return sum(a != b for a, b in zip(f.read(len(text)), text))
    raise AssertionError(f'{pid} has no text')


def test_session_killed():
    """kill -9 of the session: those that had joined put their text back and go on untraced."""
    with tempfile.TemporaryDirectory() as d:
        end = os.path.join(d, 'end')
        s = Session(JOIN, MAIN, 'pace', '1000', 'emit', '100000000')
        main_pid = rs.sessions()[0]['sources'][0]['pid']
        joined = {p: start(s.region(), n, *args, 'await', end, 'emit', '1', program=p) for n, p, args in (
            ('left', JOIN, ('pace', '500', 'emit', '2000')), ('right', JOIN1, ('leave', 'pace', '500', 'emit', '2000')))}
        wait_for('events of both', lambda: {'left', 'right'} <= set(by_source(s.lines())))
        for path, p in joined.items():
            wait_for('its patches', lambda: differs(p.pid, path))
        s.process.kill()
        s.process.wait()
        for path, p in joined.items():
            wait_for('its text', lambda: not differs(p.pid, path))
            check(p.poll() is None, f'{p.args[1]} lives, and its text is as in its file')
        check(differs(main_pid), 'the program that the session patched waits for the next one')
        r = rs('run', '-q', '--name', 's', '--hosted', JOIN, 'next')
        check(r.code == 0 and not differs(main_pid), f'which puts it back: {r.err.strip()}')
        os.kill(main_pid, signal.SIGKILL)
        open(end, 'w').close()
        for p in joined.values():
            check(p.wait(PATIENCE) == 0, 'they end as if nothing had been')


def test_dead_leader():
    """A program whose first thread has ended is patched, put back and rescued like others."""
    with tempfile.TemporaryDirectory() as d:
        s = Session(JOIN, MAIN, 'leave', 'pace', '1000', 'emit', '100000000', options=())
        pid = rs.sessions()[0]['sources'][0]['pid']
        wait_for('a zombie', lambda: open(f'/proc/{pid}/stat').read().split(')')[1].split()[0] == 'Z')
        check(rs('enable', 'join:*').code == 0 and differs(pid), 'switched on')
        wait_for('its events', lambda: len(s.events()) > 10)
        r = rs('disable', 'join:*')
        check(r.code == 0 and not r.err and not differs(pid), f'and off: {r.out.strip()}')
        check(rs('enable', 'join:*').code == 0 and differs(pid), 'and on')
        s.process.kill()
        s.process.wait()
        check(differs(pid), 'its session is killed')
        r = rs('run', '-q', '--name', 's', '--hosted', JOIN, 'next')
        check(r.code == 0 and not differs(pid), f'the next one puts its text back: {r.err.strip()}')
        os.kill(pid, signal.SIGKILL)


def test_disable_fails():
    """Text that is not ours any more is not put back, and disable says so."""
    with tempfile.TemporaryDirectory() as d:
        end = os.path.join(d, 'end')
        s = Session(JOIN, MAIN, 'await', end)
        pid = rs.sessions()[0]['sources'][0]['pid']
        address, text = text_of(JOIN)
        wait_for('its patches', lambda: differs(pid))
        with open(f'/proc/{pid}/maps') as f:
            at = next(int(l.split('-')[0], 16) for l in f if l.rstrip().endswith(JOIN)) + address
        with open(f'/proc/{pid}/mem', 'r+b', 0) as f:
            f.seek(at)
            now = f.read(len(text))
            site = at + next(i for i, (a, b) in enumerate(zip(now, text)) if a != b)
            f.seek(site)
            f.write(b'\xcc')
        r = rs('disable', 'join:*')
        check(r.code == 1 and hex(site) in r.err and 'not put back' in r.err,
              f'{r.out.strip()}: {r.err.strip()}')
        with open(f'/proc/{pid}/mem', 'r+b', 0) as f:
            f.seek(site)
            f.write(text[site - at:site - at + 1])
        open(end, 'w').close()
        s.process.wait(PATIENCE)


def test_fork():
    """A child without execve writes on in its parent's region. Nobody gets that one meanwhile."""
    s = Session('sh', '-c', f'{shlex.quote(JOIN)} forker emit 100 fork 100; '
                f'while {shlex.quote(JOIN)} x emit 1 2>&1 | grep -q not; do sleep 0.1; done; sleep 0.5',
                options=('-e', 'join:*', '--regions', '1'))
    lines = s.end()
    found = by_source(lines)
    check_whole(found['forker'], 200, 'parent and child')
    check(len({e['pid'] for e in found['forker']}) == 2, 'are two processes of one source')
    check(all(e['fields']['child'] == (e['fields']['n'] >= 100) for e in found['forker']), 'in turn')
    check(len(found['x']) == 1, 'then its region is another\'s')
    check_sane(lines, 'fork')
    check_sum(lines, 'fork')


def test_exec():
    """A process that executes another program is another source, each time."""
    rounds = 12
    args = [w for i in range(rounds) for w in ('exec', f'life{i}', 'emit', '20')]
    s = Session('sh', '-c', f'{shlex.quote(JOIN)} first emit 20 {" ".join(args)}; true')
    lines = s.end()
    found = by_source(lines)
    check(sorted(found) == sorted(['first', *(f'life{i}' for i in range(rounds))]), f'{sorted(found)}')
    for name, events in found.items():
        check_whole(events, 20, name)
    check(len({e['pid'] for e in lines if 'event' in e}) == 1, 'of one process')
    check_sane(lines, 'exec')
    check_order(lines, 'exec')
    check_sum(lines, 'exec')
    # The program that the session started stays the same source.
    s = Session(JOIN, MAIN, 'emit', '20', 'exec', MAIN, 'emit', '20')
    lines = s.end()
    check(list(by_source(lines)) == [MAIN], 'the program itself is one source')
    check([e['fields']['n'] for e in lines if 'event' in e] == [*range(20), *range(20)], 'of two lives')
    check(any('boot' in l and 'event' not in l for l in lines), 'and the trace says so')


def run_many(region, count, at_once, emit):
    """Runs programs. Returns those that were traced: name → pid."""
    running, traced, denied, left = [], {}, [], [f'p{i}' for i in range(count)]
    until = time.monotonic() + 2 * PATIENCE
    while left or running:
        while left and len(running) < at_once:
            name = left.pop(0)
            running.append((name, start(region, name, *emit(name), program=JOIN1 if int(name[1:]) % 2 else JOIN)))
        for item in list(running):
            if item[1].poll() is None:
                continue
            running.remove(item)
            said = item[1].stderr.read()
            if f'{item[0]} {item[1].pid} traced' in said:
                traced[item[0]] = item[1].pid
            else:
                if 'not traced: every trace region here belongs to another' not in said:
                    raise AssertionError(f'{item[0]}: {said}')
                denied.append(item[0])
        if time.monotonic() > until:
            raise AssertionError('they do not end')
        time.sleep(0.002)
    return traced, denied


def test_many():
    """40 processes share four regions. Each that got one is traced completely."""
    with tempfile.TemporaryDirectory() as d:
        end = os.path.join(d, 'end')
        s = Session(JOIN, MAIN, 'await', end, options=('-e', 'join:*', '--regions', '4'))
        traced, denied = run_many(s.region(), 40, 7, lambda name: ('emit', '200', 'sleep', '20', 'emit', '100'))
        print(f'{len(traced)} traced, {len(denied)} not')
        check(len(traced) >= 4, 'some were')
        open(end, 'w').close()
        lines = s.end()
        found = by_source(lines)
        check(set(found) == set(traced), f'those that were traced are seen: {set(found) ^ set(traced)}')
        for name, pid in traced.items():
            numbers = [(e['pid'], e['fields']['n']) for e in found[name]]
            if numbers != [(pid, n) for n in range(300)]:
                raise AssertionError(f'{name}: {len(numbers)} events, {numbers[:3]} … {numbers[-3:]}')
        print('ok: each is whole')
        away = lines[-1]['summary']['turned_away']
        check(away == len(denied), f'those that found no region are counted: {away}')
        check(not denied or 'found no free region' in s.said(), 'and told')
        check_sane(lines, 'many')
        check_order(lines, 'many')
        check_sum(lines, 'many')


def read_slowly(pipe, pause, enough):
    """Reads to the end. Makes the file `enough` once it saw more sources than regions."""
    data, names = b'', set()
    while part := os.read(pipe, 4096):
        data += part
        names.update(re.findall(rb'"source":"([^"]*)"', part))
        if len(names) > 5:
            open(enough, 'w').close()
        time.sleep(pause)
    return [json.loads(l) for l in data.splitlines(keepends=True) if l.endswith(b'\n')]


def test_slow_reader():
    """Observers that come late, leave early or read slowly, while regions are laid out anew."""
    with tempfile.TemporaryDirectory() as d:
        end, enough = (os.path.join(d, name) for name in ('end', 'enough'))
        # The session is quiet, so nobody holds a region that was left, and it is renewed at once.
        s = Session(JOIN, MAIN, 'await', end, options=('-e', 'join:*', '--regions', '4', '-q', '--ring-size', '64K'))
        region = s.region()
        slow = rs.start('trace', '--json', stdout=subprocess.PIPE)
        early = rs.start('trace', '--json', '-n', '300', stdout=subprocess.PIPE, text=True)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                # 60 programs may end before the slow one has seen four of them.
                while not os.path.exists(enough):
                    traced, denied = run_many(region, 60, 5, lambda name: ('emit', '3000'))
                    print(f'{len(traced)} traced, {len(denied)} not', flush=True)
                open(end, 'w').close()
                code = 0
            finally:
                os._exit(code)
        lines = read_slowly(slow.stdout.fileno(), 0.003, enough)
        check(os.waitpid(pid, 0)[1] == 0, 'they all ran')
        check(slow.wait(PATIENCE) == 0, 'the slow one ends well')
        print(f'{len(lines)} lines of {len(by_source(lines))} sources')
        check(len(by_source(lines)) > 4, 'and saw some')
        check_sane(lines, 'slow')
        for name, events in by_source(lines).items():
            numbers = [e['fields']['n'] for e in events]
            if numbers != sorted(set(numbers)):
                raise AssertionError(f'{name}: {numbers[:20]}')
        few = [json.loads(l) for l in early.stdout.read().splitlines()]
        check(early.wait(PATIENCE) == 0 and sum('event' in l for l in few) == 300, 'the early one had enough')
        check_sane(few, 'early')
        s.process.wait(PATIENCE)


def test_plugin():
    """Two copies of the hosted port in one process."""
    s = Session(JOIN, MAIN, 'emit', '10', 'load', PLUGIN, 'emit', '10', options=('-e', '*:*'))
    lines = s.end()
    found = by_source(lines)
    check(len(found['plugin']) == 100 and len(found) == 2, f'are two sources: {sorted(found)}')
    check_whole(found[MAIN], 20, 'the program')
    check(len({e['pid'] for e in lines if 'event' in e}) == 1, 'of one process')
    check_order(lines, 'plugin')
    check_sum(lines, 'plugin')
    s = Session(JOIN_OPEN, 'main', 'emit', '10', 'load', PLUGIN, 'emit', '10', options=('-e', '*:*'))
    lines = s.end()
    check_whole([l for l in lines if 'event' in l], 20, 'one that exports the agent')
    check('the agent is part of another image' in s.said(), 'and its plugin is told so')


def of_plugins(found):
    """How many events each copy in a plugin has written."""
    return sorted(len(events) for name, events in found.items() if name.split('.')[0] == 'plugin')


def test_plugins_at_once():
    """Three copies of the port: two start at the same moment, and each is a source of its own."""
    own = PLUGIN.replace('.so', '-own.so')
    for program, sources in ((JOIN, [100, 100]), (JOIN_OPEN, [100])):
        s = Session(program, 'main', 'emit', '10', 'both', PLUGIN, own, 'emit', '10', options=('-e', '*:*'))
        found = by_source(s.end())
        check(of_plugins(found) == sources, f'{len(sources)} plugins are sources: {sorted(found)}')
        here = [events for name, events in found.items() if name.split('.')[0] != 'plugin']
        check(len(here) == 1, 'and the program is one')
        check_whole(here[0], 20, 'the program')


def test_half_a_plugin():
    """A copy whose events would read the words of the program's is refused, and one is told."""
    half = PLUGIN.replace('.so', '-half.so')
    for plugin in (half, PLUGIN):
        for steps in (('emit', '10', 'load', plugin, 'emit', '10'), ('load', plugin, 'emit', '20')):
            s = Session(JOIN_OPEN, 'main', *steps)
            found = by_source(s.end())
            check(len(found) == 1, f'is no source: {sorted(found)}')
            check_whole(list(found.values())[0], 20, 'the program')
            name = os.path.basename(plugin)
            check(f'guest: {name} is not traced: another image of the process exports the agent' in s.said(),
                  f'the session says so: {s.said()}')
    s = Session(JOIN_OPEN, 'main', 'load', PLUGIN.replace('.so', '-own.so'), 'emit', '20', options=('-e', 'plugin:*'))
    found = by_source(s.end())
    check(of_plugins(found) == [100] and len(found) == 1, f'one with all of its own is a source: {sorted(found)}')


def test_closed_plugin():
    """A plugin that is closed stays, since the agent in it lives on."""
    s = Session(JOIN, MAIN, 'emit', '10', 'shut', PLUGIN, 'sleep', '100', 'emit', '10', 'shut', PLUGIN, 'sleep', '100',
                options=('-e', '*:*'))
    found = by_source(s.end())
    check_whole(found[MAIN], 20, 'the program')
    check(of_plugins(found) == [200], f'and the plugin goes on where it was: {sorted(found)}')


def test_stopped():
    """A session that is stopped (^Z) holds up no command that concerns another one."""
    a, b = (Session(JOIN, n, 'hang', name=n, options=('-q',)) for n in ('calm', 'held'))
    try:
        b.process.send_signal(signal.SIGSTOP)
        rows = {r['name']: r for r in rs.json('ps')}
        check({n: r['state'] for n, r in rows.items()} == {'calm': 'running', 'held': 'no answer'} and
              [(x['kind'], x.get('number'), x['state']) for r in ('held', 'calm') for x in rows[r]['sources']] ==
              [('hosted', None, 'no answer'), ('hosted', 1, 'running')], f'ps says so: {rows}')
        table = rs('ps').out
        check(re.search(r'^held +no answer +hosted ', table, re.M) and
              re.search(r'^calm +running +hosted ', table, re.M), f'as text too: {table}')
        for args in ('list', 'held'), ('list', '-s', 'held', '*'), ('stat', 'held'), ('trace', 'held'):
            r = rs(*args)
            check(r.code == 1 and "'held' does not answer" in r.err, f'{args}: {r.code} {r.err.strip()}')
        check('join:step' in rs('list', 'calm').out, 'the other one answers')
    finally:
        b.process.send_signal(signal.SIGCONT)
    check(rs.sessions()[1]['state'] == 'running', 'it goes on')
    for s in a, b:
        check(rs('stop', s.name).code == 0, f'stop {s.name}')
        s.process.wait(PATIENCE)


def test_hint():
    """Who sees nothing since no event is on is told so, and what there is to switch on."""
    def said(*args):
        r = rs(*args)
        check(r.code == 0, f'{args}')
        return r.err

    hint = "GLOB is '*' for all, or one of 'join:*'; ringside list h shows each\n"
    run = ('run', '--name', 'h', '--duration', '1.5')
    program = ('--hosted', JOIN, 'main', 'hang')
    check(said(*run, *program).count(hint) == 1, 'run says that no event is on')
    for options in ('-e', 'join:*'), ('-q',), ('--json',):
        check('no event' not in said(*run, *options, *program), f'not with {options}')
    s = Session(JOIN, 'main', 'hang', name='h', options=('-q',))
    wait_for('its agent', lambda: 'join:step' in rs('list', 'h').out)
    check(said('trace', 'h', '--duration', '0.2').count(hint) == 1, 'trace says so too')
    check('no event' not in said('trace', '--json', 'h', '--duration', '0.2'), 'not with --json')
    check(rs('enable', 'h', '*').code == 0, 'enable')
    check('no event' not in said('trace', 'h', '--duration', '0.2'), 'nor if one is on')
    check(rs('stop', 'h').code == 0, 'stop')
    s.process.wait(PATIENCE)


def main():
    tests = [test_hint, test_stopped, test_children, test_later, test_killed, test_session_killed,
             test_dead_leader, test_disable_fails, test_fork, test_exec, test_many, test_slow_reader, test_plugin,
             test_plugins_at_once, test_half_a_plugin, test_closed_plugin]
    run_tests(tests, sys.argv[6:])


main()
