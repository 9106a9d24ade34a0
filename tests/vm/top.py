#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""top.py RINGSIDE PROGRAM: `ringside top` and `ringside hist` into pipes and on a terminal."""
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from harness import DOC, PATIENCE, Background, Ringside, check, run_tests, wait_for

RINGSIDE, PROGRAM = sys.argv[1:3]
rs = Ringside(RINGSIDE)
ENTER, LEAVE = b'\x1b[?1049h', b'\x1b[?1049l'
EVENTS = {'pool:done', 'pool:start', 'pool:take', 'primes:found', 'sort:partition', 'words:longest'}


def start(name, *options):
    return Background(rs, 'run', '--name', name, '-q', *options, '--hosted', PROGRAM, '600',
                      ready=lambda: rs('list', '-s', name, '-q').out.count('\n') >= len(EVENTS))


class Terminal:
    """A command on a terminal of its own, which is seen as the bytes that are written to it."""

    def __init__(self, *args, rows=30, columns=100):
        self.master, self.slave = os.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.text = self.all = b''  # since a key was pressed, and since the start
        self.process = subprocess.Popen(
            [RINGSIDE, *args], stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            env={**os.environ, 'TERM': 'xterm'}, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0.02)[0]:
            part = os.read(self.master, 65536)
            self.text += part
            self.all += part
        return self.text

    def press(self, keys):
        """And forgets what was there before."""
        self.read()
        self.text = b''
        os.write(self.master, keys)

    def expect(self, *parts):
        """All of them in one page."""
        def seen():
            pages = self.read().split(b'\x1b[H')
            return any(all(part in page for part in parts) for page in pages)
        try:
            wait_for(f'{parts} on the terminal', seen)
        except AssertionError:
            print(self.text[-3000:])
            raise

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO)

    def check_restored(self, how):
        check(termios.tcgetattr(self.slave) == self.before, f'the terminal is as it was, {how}')
        self.read()
        check(0 < self.all.count(ENTER) == self.all.count(LEAVE) and
              self.all.rindex(LEAVE) > self.all.rindex(ENTER),
              f'and shows its first screen, {how}')

    def wait(self):
        """Its end, while somebody reads what it writes."""
        wait_for('the end of the command', lambda: self.read() is None or self.process.poll() is not None)
        return self.process.returncode

    def close(self):
        os.close(self.slave)
        os.close(self.master)


def rate_in(text):
    return sum(int(n) for n in re.findall(r'^t: (\d+) events/s', text, re.M))


def test_blocks():
    """One block for each interval, of what goes on, by each kind of row."""
    s = start('t', '-e', '*')
    r = rs('top', '-n', '3', '-i', '0.3')
    check(r.code == 0 and '\x1b' not in r.out, f'it ends well, without escapes: {r}')
    blocks = r.out.split('\n\n')
    check(len(blocks) == 4 and not blocks[3], f'three blocks: {len(blocks)}')
    check(all(re.match(r't: \d+ events/s, \d+ lost/s; .* ns an event; paused ', b) for b in blocks[:3]), 'with sums')
    wait_for('events', lambda: rate_in(rs('top', '-n', '4', '-i', '0.2').out) > 0)
    names = {line.split()[0] for line in rs('top', '-n', '5', '-i', '0.3').out.splitlines() if ':' in line.split(' ')[0]}
    check(names - {'t:'} <= EVENTS and 'sort:partition' in names, f'by event: {names}')
    for by, head in (('source', 'SOURCE  '), ('cpu', 'SOURCE  '), ('task', 'TASK  ')):
        r = rs('top', '--by', by, '-n', '1')
        check(r.code == 0 and r.out.splitlines()[1].startswith(head), f'by {by}: {r.out}')
    r = rs('top', '-e', 'pool:*', '--rows', '1', '-n', '5', '-i', '0.3')
    check('(1 other)' in r.out and 'primes' not in r.out, f'a choice, and what has no row: {r.out}')
    for args in ('--by', 'x'), ('-i', '0'), ('-i', 'nan'), ('-n', '-1'), ('--rows', '-7'), ('-F', 'a =='), ('a', 'b'):
        check(rs('top', *args).code in (2, 3), f'refused: {args}')
    s.end(signal.SIGINT)


def test_json():
    s = start('t', '-e', '*')
    for by in 'event', 'source', 'cpu', 'task':
        seen = 0
        until = time.monotonic() + PATIENCE
        while not seen and time.monotonic() < until:
            r = rs('top', '--json', '--by', by, '-n', '2', '-i', '0.4')
            rows = [json.loads(line) for line in r.out.splitlines()]
            for row in rows:
                DOC.check('ringside top: the sums' if row['top'] == 'total' else 'ringside top', row)
            totals = [row for row in rows if row['top'] == 'total']
            check(len(totals) == 2 and rows[-1] is totals[-1], 'sums end an interval')
            seen = sum(row['top'] == by for row in rows)
        check(seen, f'rows by {by}')
        last = totals[-1]
        check(last['session'] == 't' and last['paused_ns'] > 0 and last['interval_ns'] > 0, f'{last}')
        # What was measured is what is used. On a program of this host it is known.
        known = (last['rate'] + last['lost_rate']) * last['event_ns'] / 1e9
        check(abs(last['cost'] - known) <= 1e-6 * (1 + known), f'the cost is that of all events: {known}')
        of_all = [r for r in rows[rows.index(totals[0]) + 1:-1] if r['top'] == by]
        check(sum(r['events'] for r in of_all) == last['events'], f'no event is without a row: {of_all}')
        if by in ('source', 'cpu'):
            check(sum(r['lost'] for r in of_all) == last['lost'], 'nor a loss')
    s.end(signal.SIGINT)


def break_regions(pid):
    """All that follows the directory, as a program gone wild would."""
    for fd in os.listdir(f'/proc/{pid}/fd'):
        path = f'/proc/{pid}/fd/{fd}'
        if 'memfd:ringside-regions' in os.readlink(path):
            with open(path, 'r+b', buffering=0) as memory:
                memory.seek(4096)
                memory.write(b'\xff' * (os.fstat(memory.fileno()).st_size - 4096))
            return
    raise AssertionError('it has no regions')


def test_broken():
    """Rings that cannot be read any more: it says so once, and intervals are counted on."""
    s = start('t', '-e', '*')
    pid = json.loads(rs('ps', '--json').out)['pid']
    child = int(subprocess.run(['pgrep', '-P', str(pid), os.path.basename(PROGRAM)[:15]],
                               capture_output=True, text=True).stdout.split()[0])
    p = subprocess.Popen([RINGSIDE, 'top', '-n', '30', '-i', '0.1'], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    check(p.stdout.readline().startswith('t: '), 'it has begun')
    os.kill(child, signal.SIGSTOP)
    break_regions(child)
    out, err = p.communicate(timeout=PATIENCE)
    check(p.returncode == 0 and out.count('events/s, ') >= 29, f'it ends after 30: {p.returncode} {out[-300:]}')
    check(len(re.findall('the rings of .* cannot be read any more', err)) == 1, f'it says so once: {err}')
    os.kill(child, signal.SIGKILL)
    s.end(signal.SIGINT)


def test_terminal():
    s = start('t', '-e', '*')
    t = Terminal('top')
    t.expect(b'by event, order: rate', b'EVENTS/S', b'sort:partition')
    check(t.is_raw(), 'keys come one by one')
    t.press(b'4')
    t.expect(b'by task', b'worker')
    t.press(b'\t')
    t.expect(b'by event')
    t.press(b'\x1b[Z')
    t.expect(b'by task')
    t.press(b's')
    t.expect(b'order: total')
    t.press(b'\x1b[C')
    t.expect(b'order: losses')
    t.press(b'\x1bOD')
    t.expect(b'order: total')
    t.press(b'?')
    t.expect(b'quit', b'by event, source, vCPU or task')
    t.press(b'?')
    t.expect(b'PID')
    t.press(b' ')
    t.expect(b'HELD')
    t.press(b'3')
    t.expect(b'by cpu', b'HELD')
    t.press(b'xyz\x1b[99;99X\x1b[1;1;1;1;1;1;1;1;1~\x1b[200~\xff\x00 ')
    t.expect(b'by cpu')
    t.press(b'')
    t.resize(4, 20)
    t.process.send_signal(signal.SIGWINCH)
    wait_for('a narrow page', lambda: [p for p in t.read().split(b'\x1b[H') if p.count(b'\r\n') == 3])
    narrow = [p for p in t.read().split(b'\x1b[H') if p.count(b'\r\n') == 3][-1]
    lines = [re.sub(rb'\x1b\[[0-9;?]*[A-Za-z]', b'', line).strip(b'\r') for line in narrow.split(b'\n')]
    check(all(len(line) <= 20 for line in lines), f'no line is wider than the terminal: {lines}')
    t.press(b'\x1a')  # ^Z
    wait_for('the stop', lambda: os.waitpid(t.process.pid, os.WUNTRACED | os.WNOHANG)[1])
    check(termios.tcgetattr(t.slave) == t.before and LEAVE in t.read(), 'a stopped one leaves the terminal')
    t.press(b'')
    t.process.send_signal(signal.SIGCONT)
    t.expect(b't: ')
    check(t.is_raw() and ENTER in t.read(), 'and takes it again')
    os.write(t.master, b'q')
    check(t.wait() == 0, 'q ends it')
    t.check_restored('after q')
    t.close()
    s.end(signal.SIGINT)


def test_signals():
    """However it ends, the terminal is as it was."""
    s = start('t', '-e', '*')
    for how in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT:
        t = Terminal('top')
        t.expect(b'by event')
        t.process.send_signal(how)
        t.wait()
        t.check_restored(f'after {how.name}')
        t.close()
    t = Terminal('top', '-n', '2', '-i', '0.2')
    check(t.wait() == 0, '-n ends a page')
    t.check_restored('after -n')
    t.close()
    t = Terminal('top')
    t.expect(b'by event')
    s.end(signal.SIGINT)
    check(t.wait() == 0, 'so does the end of the session')
    t.check_restored('after the session')
    last = t.text[t.text.rindex(LEAVE):]
    check(b'has ended' in last and b'EVENTS/S' in last, f'which leaves the last figures: {last}')
    t.close()


def bars(text):
    """What each line of a histogram says, and how many marks its bar has."""
    return {m[1].strip(): (int(m[2]), len(m[3])) for m in re.finditer(r'^  (.{32}) +(\d+) \|(@*)$', text, re.M)}


def test_hist():
    """Exact values of enumerations and of few amounts, else buckets; by groups; as JSON."""
    s = start('t', '-e', 'pool:*', '-e', 'sort:*')

    def until(ok, *args):
        return wait_for(f'hist {args}', lambda: ok(r := rs('hist', *args)) and r)

    r = until(lambda r: len(bars(r.out)) == 3, 'pool:take', 'kind', '-n', '1')
    got = bars(r.out)
    check(r.code == 0 and set(got) == {'WORDS', 'PRIMES', 'SORT'} and '\x1b' not in r.out, f'names of values: {got}')
    most = max(n for n, _ in got.values())
    check(all(marks == max(1, round(n * 40 / most)) for n, marks in got.values()), f'bars are as long as counts: {got}')
    sizes = bars(until(lambda r: len(bars(r.out)) == 2, 't', 'pool:take', 'size', '-n', '1').out)
    check(set(sizes) == {'5000', '20000'}, f'few amounts stand alone: {sizes}')
    pivots = bars(until(lambda r: len(bars(r.out)) > 5, 'sort:partition', 'pivot', '-n', '1').out)
    check('1048576 .. 2097151' in pivots, f'many are in buckets: {list(pivots)}')
    r = until(lambda r: r.out.count(' of kind ') == 3, 'pool:take', 'size', '--by', 'kind', '-n', '1')
    check('pool:take.size of kind SORT: ' in r.out, f'by groups: {r.out}')
    r = until(lambda r: '(other)' in r.out, 'pool:*', 'event', '--rows', '1', '-n', '1')
    check(len(bars(r.out)) == 2, f'what has no row: {r.out}')
    r = until(lambda r: '"from"' in r.out, 'pool:take', 'size', '--by', 'kind', '--json', '-n', '2', '-i', '0.5')
    rows = [json.loads(line) for line in r.out.splitlines()]
    sums = [i for i, row in enumerate(rows) if 'values' in row]
    for row in rows:
        DOC.check('ringside hist: the sums' if 'values' in row else "Report: a value's frequency", row)
    check(len(sums) == 2 and sums[1] == len(rows) - 1, 'sums end an interval')
    check(sum(row['count'] for row in rows[sums[0] + 1:-1]) == rows[-1]['values'], 'and are true')
    for args, code, word in ((('pool:tak', 'size'), 3, "did you mean 'pool:take'"), (('pool:take', 'sise'), 2, 'kind, size'),
                             (('pool:take', 'size', '--by', 'nix'), 2, "'nix'"), (('pool:take',), 2, 'which event'),
                             (('pool:take', 'size', 'x'), 2, 'too many'),
                             (('pool:take', 'size', '--rows', '-5'), 2, '--rows')):
        r = rs('hist', *args, '-n', '1')
        check(r.code == code and word in r.err, f'refused: {args}: {r.code} {r.err}')
    r = rs('hist', 'primes:found', 'gap', '-n', '1', '-i', '0.1')
    check(r.code == 0 and 'no value yet' in r.out and "ringside enable t 'primes:found'" in r.err, f'one that is off: {r}')
    t = Terminal('hist', 'sort:partition', 'depth')
    t.expect(b'q quit', b'sort:partition.depth: ', b'|@')
    t.press(b' ')
    t.expect(b'HELD')
    t.press(b'c ')
    t.expect(b'|@')
    os.write(t.master, b'q')
    check(t.wait() == 0, 'q ends it')
    t.check_restored('after q')
    t.close()
    s.end(signal.SIGINT)


def test_readers():
    """A reader that goes ends it; one that stands still does not keep it from being ended."""
    s = start('t', '-e', '*')
    p = rs.start('top', '-i', '0.1', stdout=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    check(p.wait(PATIENCE) == 0, 'a reader has gone')
    p = rs.start('top', '-i', '0.05', '--json', '--by', 'task', stdout=subprocess.PIPE)
    fcntl.fcntl(p.stdout, fcntl.F_SETPIPE_SZ, 4096)
    p.stdout.readline()
    time.sleep(1)
    p.send_signal(signal.SIGTERM)
    check(p.wait(PATIENCE) == 0, 'a signal ends one that nobody reads')
    p.stdout.close()
    s.end(signal.SIGINT)


def test_stat_says_the_cost():
    running = start('dear', '-e', '*')
    try:
        source = rs.json('stat', '-s', 'dear')['sources'][0]
        DOC.check('ringside stat: a source', source)
        check(source['rate'] > 0 and source['event_ns'] > 0, f'events come: {source}')
        check(abs(source['cost'] - source['rate'] * source['event_ns'] / 1e9) < 1e-6, 'cost is what they take')
        line = next(line for line in rs('stat', '-s', 'dear').out.splitlines() if line.startswith('cost:'))
        check(re.fullmatch(r'cost: +[\d.e+-]+ % of a CPU \(\d+ events/s x [\d.]+ ns\); paused for [\d.]+ .?s in all', line), line)
        check(rs('disable', '-s', 'dear', '*').code == 0, 'all are off')
        source = rs.json('stat', '-s', 'dear')['sources'][0]
        check(source['rate'] == 0 and source['cost'] == 0 and source['patch_batches'] == 2, f'nothing comes: {source}')
    finally:
        running.end(signal.SIGTERM)


def bench(*args, code=0):
    """Figures by name: [(source, value)], and what was said."""
    r = rs('bench', '--json', '--duration', '0.5', *args)
    check(r.code == code, f'bench {args}: {r.code} {r.err}')
    figures = {}
    for row in map(json.loads, r.out.splitlines()):
        DOC.check('ringside bench', row)
        figures.setdefault(row['bench'], []).append((row.get('source'), row['value']))
    return figures, r.err


MACHINE = {'counter', 'counter_store', 'off', 'event', 'reject', 'accept', 'text_lines', 'json_lines'}
SESSION = {'events', 'enable_one', 'pause_one', 'enable_all', 'pause_all', 'disable_all', 'rate', 'cost'}


def test_bench():
    figures, _ = bench()
    check(set(figures) == MACHINE and all(source is None for [(source, _)] in figures.values()), f'the machine: {figures}')
    one = {name: values[0][1] for name, values in figures.items()}
    check(0 <= one['off'] < one['event'] and 0 < one['reject'] < one['accept'], f'in their order: {one}')
    figures, _ = bench('--hosted', PROGRAM, '600')
    check(set(figures) == MACHINE | SESSION, f'and a program: {figures}')
    check(figures['events'][0][1] == len(EVENTS) and figures['rate'][0][1] > 0, 'its events come')
    check(figures['rate'][0][0] == 'hosted-demo' and figures['cost'][0][1] > 0, 'and cost something')
    check(not [s for s in rs.sessions() if s['name'].startswith('bench-')], 'it was stopped')


def test_bench_of_a_session():
    running = start('benched')
    try:
        figures, said = bench('benched', '-e', 'sort:*')
        check(figures['events'] == [('benched', 1)] and not said, f'one event: {figures}')
        check(rs.json('stat', '-s', 'benched')['events_enabled'] == 0, 'it is off again')
        check(rs('enable', '-s', 'benched', 'sort:*').code == 0, 'it is on')
        figures, said = bench('benched', '-e', '*')
        check('on for others' in said and 'enable_one' not in figures and rs.json('stat', '-s', 'benched')['events_enabled'] == 1, f'and stays on: {said}')
        p = rs.start('bench', '--duration', '60', '--json', '-e', '*', 'benched', stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while b'json_lines' not in p.stdout.readline():
            pass
        wait_for('all to be on', lambda: rs.json('stat', '-s', 'benched')['events_enabled'] == len(EVENTS))
        p.send_signal(signal.SIGHUP)
        check(p.wait(PATIENCE) == -signal.SIGHUP, 'a closed terminal ends it')
        p.stdout.close()
        check(rs.json('stat', '-s', 'benched')['events_enabled'] == 1, 'and all is off that was')
        bench('benched', '-e', 'nix:*', code=3)
    finally:
        running.end(signal.SIGTERM)


def test_bench_of_runs():
    figures, _ = bench('--times', '2', '--hosted', PROGRAM, '1')
    one = {name: values[0][1] for name, values in figures.items()}
    check(set(one) == MACHINE | {'run_off', 'run_off_worst', 'run_on', 'run_on_worst', 'run_ratio'}, f'{one}')
    check(min(one['run_off'], one['run_on']) > 1e7 and abs(one['run_ratio'] - one['run_on'] / one['run_off']) < 1e-6,
          'a program to its end')
    # One that does not end is ended.
    p = rs.start('bench', '--times', '1', '--hosted', PROGRAM, '600', stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while b'by itself' not in p.stderr.readline():
        pass
    p.send_signal(signal.SIGTERM)
    check(p.wait(PATIENCE) == -signal.SIGTERM and not rs.sessions(), 'and none is left')
    p.stderr.close()


def test_mistakes_of_bench():
    for args, code in [(['nix'], 3), (['--hosted'], 2), (['--duration', '0'], 2), (['--duration', '61'], 2),
                       (['--demo', 'nix'], 2), (['--hosted', '/bin/true'], 1), (['--nix'], 2),
                       (['--times', '2'], 2), (['-e', '*'], 2), (['--accel', 'kvm'], 2), (['--times', '101', '--demo'], 2), (['--times', '1', '--hosted', '/bin/false'], 1)]:
        r = rs('bench', *args)
        check((r.code == code or code == 1 and r.code) and r.err, f'{args}: {r.code} {r.err}')
    with open('/dev/full', 'w', encoding='ascii') as full:
        r = subprocess.run([RINGSIDE, 'bench'], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    check(r.returncode == 1 and r.stderr.count('No space') == 1, f'a full disk: {r.stderr}')


run_tests([f for name, f in list(globals().items()) if name.startswith('test_')], sys.argv[3:])
