#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `ringside report` chooses and reckons, against the same in Python over its JSON lines.

    report.py RINGSIDE DEMO MAKE_TRACE

On a recording of the demo guest, and on one of a guest that loses records.
"""
import collections
import fnmatch
import hashlib
import json
import math
import os
import pty
import signal
import subprocess
import sys
import tempfile
import termios

from harness import DOC, Background, Ringside, check, run_tests, wait_for

RINGSIDE, DEMO, MAKE_TRACE = sys.argv[1:4]
rs = Ringside(RINGSIDE)
directory = tempfile.TemporaryDirectory()
os.environ['XDG_RUNTIME_DIR'] = directory.name


def at(name):
    return os.path.join(directory.name, name)


def record(name, size, *args):
    guest = Background(rs, 'run', '--name', name, '-o', '/dev/null', *args,
                       ready=lambda: rs('list', '-q', '-s', name).out)
    try:
        recorder = Background(rs, 'record', '-s', name, '-o', at(name))
        wait_for('a recording', lambda: os.path.exists(at(name)) and os.path.getsize(at(name)) > size)
        recorder.end(signal.SIGINT)
    finally:
        guest.end(signal.SIGTERM)


def lines(*args):
    r = rs('report', '--json', *args)
    check(r.code == 0, f'report --json {args}: {r.err}')
    return [json.loads(line) for line in r.out.splitlines()]


def events(rows):
    return [row for row in rows if 'event' in row]


def number(row, name):
    """A field that is a number, or None."""
    return row['fields'].get(name)


def test_recordings():
    record('demo', 600000, '--demo', '-e', '*')
    record('flood', 2 << 20, '--demo', '--append', 'flood', '--ring-size', '16K', '-e', 'load:flood')
    global DEMO_ROWS, FLOOD_ROWS
    DEMO_ROWS, FLOOD_ROWS = lines(at('demo')), lines(at('flood'))
    check(len(DEMO_ROWS) > 3000 and any('lost' in row for row in FLOOD_ROWS),
          f'{len(DEMO_ROWS)} records, {sum("lost" in row for row in FLOOD_ROWS)} losses')


def choose(what, keep, *args):
    want = [row for row in DEMO_ROWS if 'event' not in row or keep(row)]
    got = lines(*args, at('demo'))
    check(got == want, f'{what}: {len(got)} of {len(DEMO_ROWS)}, {len(want)} wanted')
    check(0 < len(events(got)) < len(DEMO_ROWS), 'some of them')


def test_choices():
    name = collections.Counter(row['comm'] for row in events(DEMO_ROWS)).most_common(1)[0][0]
    choose('a vCPU', lambda r: r['cpu'] == 1, '--cpu', '1')
    choose('tasks', lambda r: r['pid'] in (1, 3, 4, 5), '--pid', '1,3-5')
    choose('a name', lambda r: r['comm'] == name, '--comm', name.replace('[', '\\['))
    choose('all but a name', lambda r: r['comm'] != name, '--comm', '!' + name.replace('[', '\\['))
    choose('names', lambda r: fnmatch.fnmatchcase(r['comm'], '*s*'), '--comm', '*s*')
    choose('events', lambda r: r['system'] == 'irq' or r['event'] == 'wakeup', '-e', 'irq:*,wakeup')
    choose('a number', lambda r: (number(r, 'next_pid') or 0) > 2, '-F', 'next_pid > 2')
    choose('a symbol', lambda r: (number(r, 'prev_state') or {}).get('name') == 'sleeping',
           '-F', 'prev_state == sleeping')
    choose('a string', lambda r: (number(r, 'next_comm') or '').startswith('lz'), '-F', 'next_comm ~ "lz*"')
    choose('what all have', lambda r: r['cpu'] == 0 and r['comm'] != 'init', '-F', 'CPU == 0 && COMM != init')
    choose('of a glob', lambda r: r['system'] != 'sched' or number(r, 'pid') == 2, '-F', 'sched:*: pid == 2')
    choose('all of several', lambda r: r['system'] == 'sched' and number(r, 'pid') == 2 and r['cpu'] == 1,
           '-F', 'pid == 2', '-F', 'CPU == 1', '-e', 'sched:*')


def test_times():
    def span(what, low, high, *args):
        want = [row for row in DEMO_ROWS if low <= row['ns'] < high]
        got = lines(*args, at('demo'))
        check(got == want and 0 < len(got) < len(DEMO_ROWS), f'{what}: {len(got)} lines, {len(want)} wanted')

    first, last = DEMO_ROWS[0]['ns'], DEMO_ROWS[-1]['ns']
    middle = DEMO_ROWS[len(DEMO_ROWS) // 2]['ns']
    quarter = (last - first) // 4
    span('from then on', middle, math.inf, '--from', f'{middle}ns')
    span('before then', 0, middle, '--until', f'{middle / 1e9:.9f}')
    span('after the start', first + quarter, first + 2 * quarter, '--from', f'+{quarter}ns', '--until',
         f'+{2 * quarter}ns')
    span('before the end', last - quarter, math.inf, '--from', f'-{quarter}ns')
    span('both', first + quarter, last - quarter, '--from', f'+{quarter}ns', '--until', f'-{quarter}ns')
    check(lines('--last', '7', at('demo')) == DEMO_ROWS[-7:], 'the last ones')
    sched = [row for row in events(DEMO_ROWS) if row['event'] == 'switch' and row['cpu'] == 1]
    for n in 1, 50, len(sched), len(sched) + 9:
        got = events(lines('--last', str(n), '-e', 'switch', '--cpu', '1', at('demo')))
        check(got == sched[-n:], f'the last {n} of those that are wanted: {len(got)}')


def test_several_files():
    got = lines(at('demo'), at('demo'))
    check(len(got) == 2 * len(DEMO_ROWS) and all(a['ns'] <= b['ns'] for a, b in zip(got, got[1:])),
          'two files are one trace')
    check({row['source'] for row in events(got)} == {'demo'}, 'of one source, as they are of one session')
    got = collections.Counter(row['source'] for row in events(lines(at('demo'), at('flood'))))
    check(got == {'demo': len(events(DEMO_ROWS)), 'flood:demo': len(events(FLOOD_ROWS))},
          f'those of two sessions are told apart: {got}')
    r = rs('report', at('demo'), at('none'))
    check(r.code == 1 and 'none' in r.err and not r.out, f'one that is missing: {r.err}')


def test_raw():
    raw = rs('report', '-R', '-e', 'sched:switch', at('demo')).out.splitlines()
    want = [row for row in events(DEMO_ROWS) if row['event'] == 'switch']
    check(len(raw) == len(want), f'{len(raw)} lines')
    for line, row in zip(raw, want):
        f = row['fields']
        text = (f'prev_comm={json.dumps(f["prev_comm"])} prev_pid={f["prev_pid"]} '
                f'prev_state={f["prev_state"]["value"]} ')
        if text not in line:
            check(False, f'{text} is in {line}')


def test_outputs():
    for args in [], ['--json'], ['--jobs', '1'], ['--jobs', '3'], ['--stat'], ['--hist', 'pid']:
        with open('/dev/full', 'w', encoding='ascii') as full:
            r = subprocess.run([RINGSIDE, 'report', *args, at('demo')], stdout=full, stderr=subprocess.PIPE,
                               text=True, timeout=60)
        check(r.returncode == 1 and 'No space' in r.stderr, f'a full disk, {args}: {r.stderr}')
        r = subprocess.run(['bash', '-c', '"$0" report "${@:2}" "$1" | head -n 1; exit ${PIPESTATUS[0]}',
                            RINGSIDE, at('demo'), *args], capture_output=True, text=True, timeout=60)
        check(r.returncode == 0 and not r.stderr and r.stdout.count('\n') == 1, f'a closed pipe, {args}: {r}')


def output(*args):
    """Code, output and errors of a report: its output as a digest and a number of lines."""
    lines, digest = 0, hashlib.sha256()
    with tempfile.TemporaryFile() as err:
        with subprocess.Popen([RINGSIDE, 'report', *args], stdout=subprocess.PIPE, stderr=err) as r:
            while part := r.stdout.read(1 << 20):
                lines += part.count(b'\n')
                digest.update(part)
        err.seek(0)
        return r.returncode, lines, digest.hexdigest(), err.read()


def make_traces():
    """Of fields of all kinds, of any bytes, of many windows, and two that are broken."""
    for name, *args in ('kinds', 'OUT', '3', '20000'), ('hostile', '--hostile', 'OUT', '2', '20000'), \
            ('large', '--flat', 'OUT', '600000'):
        args = [at(name) if arg == 'OUT' else arg for arg in args]
        check(subprocess.run([MAKE_TRACE, *args], timeout=120).returncode == 0, f'{name} is made')
    with open(at('large'), 'rb') as file:
        whole = bytearray(file.read())
    with open(at('cut'), 'wb') as file:
        file.write(whole[:len(whole) * 2 // 3])
    for place in range(len(whole) // 5, len(whole), len(whole) // 5):
        whole[place:place + 64] = bytes(64)
    with open(at('damaged'), 'wb') as file:
        file.write(whole)


def test_jobs():
    """However many threads make the lines, they are the same."""
    make_traces()
    names = 'demo', 'flood', 'kinds', 'hostile', 'large', 'cut', 'damaged'
    ways = [], ['--json'], ['-R', '--ns'], ['--time', 'delta'], ['--time', 'relative', '-n', '5000'], \
        ['--cpu', '0'], ['-F', 'CPU == 1'], ['--last', '2000'], ['-n', '1'], ['--until', '+1ms']
    for files in [[at(name)] for name in names] + [[at('demo'), at('flood')]]:
        for way in ways:
            one = output('--jobs', '1', *way, *files)
            for jobs in '2', '3', '8':
                check(output('--jobs', jobs, *way, *files) == one, f'{files} {way}: {jobs} threads: {one}')
    check(output('--jobs', '1', at('large'))[1] == 600000 and output('--jobs', '1', at('damaged'))[0] == 1,
          'they are long, and damaged')
    check(output(at('large')) == output('--jobs', '1', at('large')), 'so it is by itself')


def test_jobs_that_end_early():
    """A reader that reads no more, and Ctrl-C while it reads nothing."""
    for jobs in '1', '2', '8':
        r = subprocess.run(['bash', '-c', '"$0" report --jobs "$2" "$1" | head -n 3; exit ${PIPESTATUS[0]}',
                            RINGSIDE, at('large'), jobs], capture_output=True, text=True, timeout=60)
        check(r.returncode == 0 and not r.stderr and r.stdout.count('\n') == 3, f'a closed pipe, {jobs} threads: {r}')
        with subprocess.Popen([RINGSIDE, 'report', '--jobs', jobs, at('large')], stdout=subprocess.PIPE) as r:
            head = r.stdout.read(100)
            r.send_signal(signal.SIGINT)
            code = r.wait(timeout=60)
        check(len(head) == 100 and code == -signal.SIGINT, f'Ctrl-C, {jobs} threads: {code}')
    for jobs in '0', '65', '-1':
        r = rs('report', '--jobs', jobs, at('demo'))
        check(r.code == 2 and '1 to 64' in r.err, f'{jobs} threads: {r.err}')
    r = rs('report', '--jobs', '2', '--stat', at('demo'))
    check(r.code == 2 and 'of lines' in r.err, f'figures: {r.err}')


def test_mistakes():
    for args, code, what in [(['-F', 'nxt_pid > 2'], 2, "did you mean 'next_pid'?"),
                             (['-F', 'next_pid ~ x'], 2, '~ is for strings'), (['-F', 'x ='], 2, 'bad filter'),
                             (['--cpu', 'a'], 2, "'a'"), (['--from', 'noon'], 2, "'noon'"),
                             (['--hist', 'nxt_pid'], 2, 'nxt_pid'), (['--latency', 'a'], 2, "'a'"),
                             (['--by', 'pid'], 2, '--hist'), (['--key', 'pid'], 2, '--latency'),
                             (['--stat', '-n', '3'], 2, 'lines'), (['--last', '-1'], 2, '--last'),
                             (['--last', '0'], 2, '--last'), (['-', '-'], 2, 'only once'),
                             (['-e', 'nosuch'], 3, "no event matches 'nosuch'"),
                             (['-e', 'sched:*,load:*x', '--last', '3'], 3, "matches 'load:*x'"),
                             (['-F', 'nosuch:*: pid > 0'], 3, "'nosuch:*'"),
                             (['--latency', 'enter..exi'], 3, "'exi'"),
                             (['-e', 'load:flood', '--until', '0'], 0, '')]:
        r = rs('report', *args, at('demo'))
        check(r.code == code and what in r.err, f'{args}: {r.err}')
    with open(at('demo'), 'rb') as file:
        r = subprocess.run([RINGSIDE, 'report', '--last', '3', '-'], input=file.read(), capture_output=True,
                           timeout=60)
    check(r.returncode == 1 and b'pipe' in r.stderr, f'a pipe has no end: {r.stderr}')


def test_mistakes_are_told_at_once():
    """A field that none has is said before any line, and an event that neither trace has."""
    r = rs('report', '-F', 'sched:switch: nxt_pid > 1', at('demo'))
    check(r.code == 2 and not r.out and "'next_pid'" in r.err, f'a field: {r.out[:100]} {r.err}')
    r = rs('diff', '-e', 'nosuch', '--threshold', '1', at('demo'), at('flood'))
    check(r.code == 3 and "'nosuch'" in r.err, f'diff: {r.err}')
    r = rs('diff', '--latency', 'nosuch..exit', '--threshold', '1', at('demo'), at('flood'))
    check(r.code == 3 and "'nosuch'" in r.err, f'diff of a latency: {r.err}')


def test_the_usual_file():
    with tempfile.TemporaryDirectory() as folder:
        for verb in ['report', '--stat'], ['export', '--to', 'csv', '-o', '-']:
            def there():
                return subprocess.run([os.path.abspath(RINGSIDE), *verb], cwd=folder, capture_output=True, text=True, timeout=60)
            r = there()
            check(r.returncode == 2 and 'ringside.trace' in r.stderr, f'{verb}: there is none: {r.stderr}')
            os.symlink(at('demo'), os.path.join(folder, 'ringside.trace'))
            check(there().stdout == rs(*verb, at('demo')).out, f'{verb}: what record writes is read')
            os.unlink(os.path.join(folder, 'ringside.trace'))


def test_a_terminal():
    """Bars end where its lines do."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 60))
    r = subprocess.Popen([RINGSIDE, 'report', '--hist', 'next_pid', at('demo')], stdin=subprocess.DEVNULL,
                         stdout=its, stderr=subprocess.DEVNULL)
    os.close(its)
    text = b''
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        text += more
    os.close(ours)
    width = max(len(line) for line in text.decode().splitlines() if '@' in line)
    check(r.wait(timeout=60) == 0 and 50 < width <= 60, f'{width} columns')


def test_stat():
    for name, rows in ('demo', DEMO_ROWS), ('flood', FLOOD_ROWS):
        got = lines('--stat', at(name))
        for row in got:
            DOC.check('Report: counts', row)
        total = got[-1]
        # Records that are later than their window's end are sorted to it: QEMU's counter may gain
        # on the host's, and a busy host may stop a recording of 0.2 s for a part of it.
        check(math.isclose(total['span_ns'], rows[-1]['ns'] - rows[0]['ns'], rel_tol=0.3), f'span of {total}')
        want = collections.Counter(f'{row["system"]}:{row["event"]}' for row in events(rows))
        check({row['name']: row['events'] for row in got if row['stat'] == 'event'} == want, 'counts of events')
        for row in (row for row in got if row['stat'] == 'event'):
            times = [r['ns'] for r in events(rows) if f'{r["system"]}:{r["event"]}' == row['name']]
            if not (row['first_ns'] == min(times) and row['last_ns'] == max(times)
                    and math.isclose(row['rate'], len(times) / total['span_ns'] * 1e9, rel_tol=1e-6)):
                check(False, f'times and rate of {row}, {total}: {min(times)} to {max(times)}')
        cpus = [row for row in got if row['stat'] == 'cpu']
        for row in cpus:
            mine = [r for r in rows if r.get('cpu') == row['cpu']]
            losses = [r['lost'] for r in mine if 'lost' in r]
            check((row['events'], row['lost'], row['gaps'], row['source']) ==
                  (len(events(mine)), sum(losses), len(losses), events(rows)[0]['source']), f'vCPU {row["cpu"]}')
        check((total['events'], total['lost'], len(cpus)) ==
              (len(events(rows)), sum(r.get('lost', 0) for r in rows), 2), f'all: {total}')
    text = rs('report', '--stat', at('flood')).out
    check(f'{total["events"]} events in ' in text and f'{total["lost"]} lost' in text, f'text: {text}')


def test_rates():
    """They are of the trace, or of its part between two times, whatever else is chosen."""
    def rate(*args):
        return next(row['rate'] for row in lines('--stat', *args, at('demo')) if row.get('name') == 'irq:tick')

    mid = (DEMO_ROWS[0]['ns'] + DEMO_ROWS[-1]['ns']) // 2
    for time in [], [f'--from={mid}ns'], [f'--until={mid}ns'], ['--from=+100ms', '--until=-100ms']:
        check(rate(*time) == rate(*time, '-e', 'irq:tick') == rate(*time, '-F', 'irq:tick: cpu >= 0'), f'{time}')
    n = sum(row['event'] == 'tick' and row['ns'] >= mid for row in events(DEMO_ROWS))
    check(math.isclose(rate(f'--from={mid}ns'), n * 1e9 / (DEMO_ROWS[-1]['ns'] - mid), rel_tol=1e-6), 'from then on')
    with open(at('demo'), 'rb') as trace:
        piped = subprocess.run(f'cat | {RINGSIDE} report --stat --json --from={mid}ns -', shell=True, stdin=trace,
                               stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    check(json.loads(piped[-1])['span_ns'] == DEMO_ROWS[-1]['ns'] - mid, 'of a pipe')
    got = lines('--stat', '--last', '100', at('demo'))[-1]
    check(got['span_ns'] == DEMO_ROWS[-1]['ns'] - events(DEMO_ROWS)[-100]['ns'], 'the last ones')


def bucket(value):
    if value == 0:
        return 0, 0
    low = 1 << (abs(value).bit_length() - 1)
    return (low, 2 * low - 1) if value > 0 else (1 - 2 * low, -low)


def test_hist():
    for field in 'next_pid', 'sched:wakeup.pid', 'count':
        name = field.split('.')[-1]
        values = [row['fields'][name] for row in events(DEMO_ROWS)
                  if isinstance(row['fields'].get(name), int) and (name == field or row['event'] == 'wakeup')]
        if not values:
            continue
        got = lines('--hist', field, at('demo'))
        for row in got:
            DOC.check("Report: a value's frequency", row)
        check({(r['from'], r['to']): r['count'] for r in got if r['count']} == collections.Counter(map(bucket, values)),
              f'{field}: {len(values)} values')
    for field, value in [('COMM', lambda r: r['comm']), ('CPU', lambda r: str(r['cpu'])), ('event', lambda r: f'{r["system"]}:{r["event"]}'),
                         ('pid', lambda r: str(r['pid'])), ('source', lambda r: r['source'])]:
        got = {r['key']: r['count'] for r in lines('--hist', field, at('demo'))}
        check(got == collections.Counter(map(value, events(DEMO_ROWS))), f'{field}: {len(got)} keys')
    calls = [(r['fields']['ip'], r.get('field_symbols', {}).get('ip')) for r in events(DEMO_ROWS) if 'ip' in r['fields']]
    got = {r['key']: r['count'] for r in lines('--hist', 'ip', at('demo'))}
    check(got == collections.Counter(name or ip for ip, name in calls) and any('+0x' in key for key in got), f'addresses: {got}')
    got = {r['key']: r['count'] for r in lines('--hist', 'ip', '--no-symbols', at('demo'))}
    check(got == collections.Counter(ip for ip, _ in calls), 'addresses without names')
    got = lines('--hist', 'prev_state', '--by', 'CPU', at('demo'))
    want = collections.Counter((str(r['cpu']), r['fields']['prev_state']['name']) for r in events(DEMO_ROWS)
                               if r['event'] == 'switch')
    check({(r['group'], r['key']): r['count'] for r in got} == want, f'in groups: {len(got)}')


def pairs(rows, begin, end, key_a, key_b):
    opened, losses, ns = {}, 0, []
    spanning = begins = ends = 0
    for row in rows:
        losses += 'lost' in row
        if row.get('event') == end:
            old = opened.pop(key_b(row), None)
            if old is None:
                ends += 1
            elif old[1] != losses:
                spanning += 1
            else:
                ns.append(row['ns'] - old[0])
        if row.get('event') == begin:
            begins += key_a(row) in opened
            opened[key_a(row)] = row['ns'], losses
    return sorted(ns), spanning, begins + len(opened), ends


def compare_latency(name, rows, begin, end, key, key_a, key_b):
    ns, spanning, begins, ends = pairs(rows, begin, end, key_a, key_b)
    got, = lines('--latency', f'{begin}..{end}', *(['--key', key] if key else []), at(name))
    DOC.check('Report: a latency', got)
    check((got['pairs'], got['spanning_loss'], got['begins_alone'], got['ends_alone']) ==
          (len(ns), spanning, begins, ends), f'{begin}..{end}: {len(ns)} pairs, {spanning} across a loss, {begins} and '
          f'{ends} alone: {got}')
    check(ns and (got['min_ns'], got['max_ns']) == (ns[0], ns[-1])
          and math.isclose(got['mean_ns'], sum(ns) / len(ns), rel_tol=1e-6), 'least, mean and greatest')
    for percent in 50, 90, 95, 99, 99.9:
        want = ns[math.ceil(len(ns) * percent / 100) - 1]
        have = got[f'p{percent}_ns'.replace('.', '_')]
        check(abs(have - want) <= want * 0.004 + 1, f'{percent} %: {have} ns, {want} by sorting')


def test_latency():
    compare_latency('demo', DEMO_ROWS, 'enter', 'exit', None, lambda r: r['pid'], lambda r: r['pid'])
    compare_latency('demo', DEMO_ROWS, 'tick', 'tick', 'cpu', lambda r: r['cpu'], lambda r: r['cpu'])
    compare_latency('demo', DEMO_ROWS, 'wakeup', 'switch', 'pid..next_pid', lambda r: r['fields']['pid'],
                    lambda r: r['fields']['next_pid'])
    compare_latency('flood', FLOOD_ROWS, 'flood', 'flood', 'cpu', lambda r: r['cpu'], lambda r: r['cpu'])
    *groups, whole = lines('--latency', 'enter..exit', '--by', 'nr', at('demo'))
    for row in groups:
        DOC.check('Report: a latency', row)
    check(len(groups) > 2 and sum(row['pairs'] for row in groups) == whole['pairs'] and 'group' not in whole,
          f'groups make the whole: {[(row["group"], row["pairs"]) for row in groups]}')
    text = rs('report', '--latency', 'enter..exit', '--by', 'nr', at('demo')).out
    check(all(f' of nr {row["group"]}: {row["pairs"]} pair' in text for row in groups), f'as text: {text[:300]}')


def test_addresses_have_names():
    faults = [row for row in DEMO_ROWS if row.get('event') == 'page_fault']
    text = rs('report', '-e', 'page_fault', at('demo')).out.splitlines()
    check(faults and all(f' ip={row["field_symbols"]["ip"]} ' in line for row, line in zip(faults, text)),
          f'JSON has the names that text shows: {faults[:1]}')
    got = lines('-e', 'page_fault', '--no-symbols', at('demo'))
    check(got and not any('field_symbols' in row for row in got), 'unless they are not wanted')


def test_stacks():
    r = rs('run', '-q', '--demo', '-e', 'sched:*', '--stack=8', '--duration', '1', '-o', at('stacks'))
    rows = events(lines(at('stacks')))
    check(r.code == 0 and sum('stack' in row for row in rows) > 100, f'{len(rows)} events, with call stacks: {r.err}')

    def fold(row):
        names = row.get('symbols') or [None] * len(row['stack'])
        frames = [name.split('+')[0] if name else frame for name, frame in zip(names, row['stack'])]
        return ';'.join([row['comm']] + frames[::-1])

    want = collections.Counter(fold(row) for row in rows if 'stack' in row)
    text = [line.rsplit(' ', 1) for line in rs('report', '--stacks', at('stacks')).out.splitlines()]
    check({stack: int(count) for stack, count in text} == want, f'{len(want)} folded stacks')
    for row in (got := lines('--stacks', at('stacks'))):
        DOC.check('Report: a call stack', row)
    check({row['stack']: row['count'] for row in got} == want, 'as JSON too')
    r = rs('report', '--stacks', at('demo'))
    check(r.code == 0 and not r.out and 'enable --stack' in r.err, f'without any: {r.err}')


def test_trace():
    guest = Background(rs, 'run', '--name', 't', '-o', '/dev/null', '--demo', '-e', '*',
                       ready=lambda: rs('list', '-q', '-s', 't').out)
    try:
        r = rs('trace', '-s', 't', '--json', '-n', '20', '-F', 'next_pid > 2', '--cpu', '0')
        got = [json.loads(line) for line in r.out.splitlines()]
        check(r.code == 0 and len(got) == 20 and
              all(row['fields']['next_pid'] > 2 and row['cpu'] == 0 for row in events(got)), f'a live trace: {r.err}')
        r = rs('trace', '-s', 't', '--duration', '0.3', '-F', 'next_pid ~ x')
        check(r.code == 2 and '~ is for strings' in r.err and r.err.count('bad filter') == 1, f'a mistake: {r.err}')
        r = rs('trace', '-s', 't', '--duration', '0.3', '-F', 'nxt_pid > 2')
        check(r.code == 0 and "did you mean 'next_pid'?" in r.err, f'no such field so far: {r.err}')
    finally:
        guest.end(signal.SIGTERM)


def test_diff():
    r = rs('diff', '--json', '--latency', 'tick..tick', '--key', 'cpu', at('demo'), at('flood'))
    rows = [json.loads(line) for line in r.out.splitlines()]
    for row in rows:
        DOC.check('Diff: a row', row)
    counts = [collections.Counter(f'{r["system"]}:{r["event"]}' for r in events(of)) for of in (DEMO_ROWS, FLOOD_ROWS)]
    check(r.code == 0 and {row['name']: (row['count_a'], row['count_b']) for row in rows if row['diff'] == 'event'} ==
          {name: (counts[0][name], counts[1][name]) for name in counts[0] | counts[1]}, f'counts: {r.err}')
    lost, = (row for row in rows if row['diff'] == 'lost')
    total = sum(row.get('lost', 0) for row in FLOOD_ROWS)
    check((lost['count_a'], lost['count_b']) == (0, total) and lost['change'] is None
          and math.isclose(lost['share_b'], total / (total + len(events(FLOOD_ROWS))), rel_tol=1e-6), f'losses: {lost}')
    got, = lines('--latency', 'tick..tick', '--key', 'cpu', at('demo'))
    figures = {row['figure']: row for row in rows if row['diff'] == 'latency'}
    check(figures['p99']['ns_a'] == got['p99_ns'] and 'ns_b' not in figures['p99'] and figures['p99']['change'] == -1,
          f'a latency: {figures["p99"]}')
    changes = [math.inf if row['change'] is None else abs(row['change']) for row in rows if row['diff'] != 'latency']
    check(changes == sorted(changes, reverse=True), 'what changed most is first')
    r = rs('diff', '--threshold', '0', at('demo'), at('demo'))
    check(r.code == 0 and '+0.0%' in r.out, f'a trace is like itself: {r.out[:200]}')
    r = rs('diff', '--threshold', '1', at('demo'), at('flood'))
    check(r.code == 6 and 'new' in r.out and 'gone' in r.out and ', where 1% may change' in r.err, f'a threshold: {r.err}')
    r = rs('diff', '--threshold', '100000', '-e', 'load:flood', at('demo'), at('flood'))
    check(r.code == 6 and ': new, where' in r.err and r.out.count('new') == 2, f'what only one has: {r.out} {r.err}')
    for args, code in [([at('demo')], 2), (['-', '-'], 2), ([at('demo'), at('none')], 1), ([at('none'), at('demo')], 1),
                       (['--threshold', '-1', at('demo'), at('demo')], 2), (['-F', 'nxt > 1', at('demo'), at('demo')], 2)]:
        r = rs('diff', *args)
        check(r.code == code and not r.out, f'{args[:-1]}: {r.code} {r.err}')


run_tests([test_recordings, test_choices, test_times, test_several_files, test_raw, test_outputs, test_jobs, test_jobs_that_end_early, test_mistakes, test_mistakes_are_told_at_once, test_the_usual_file, test_a_terminal,
           test_stat, test_rates, test_hist, test_latency, test_addresses_have_names, test_stacks,
           test_trace, test_diff])
