#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace.dat, written and read: trace-cmd shows what `ringside report` shows.

    trace_dat.py RINGSIDE MAKE_TRACE EXPORT_SAMPLE DEMO_GUEST HOSTED_DEMO

Every event, field, time, CPU, task and loss is compared, of files with every kind of field and of
the demo guest.
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from harness import HERE, KVM, Background, Ringside, check, skip

RINGSIDE, MAKE_TRACE, SAMPLE, DEMO, PROGRAM = sys.argv[1:]
rs = Ringside(RINGSIDE)

EVENT = re.compile(r'(?:(?P<source>\S+): )? *(?P<comm>\S.*?)-(?P<pid>\d+) +\[(?P<cpu>\d+)\] +'
                   r'(?P<s>\d+)\.(?P<ns>\d{9}): (?P<name>\w+): *(?P<text>.*)')
LATENCY = re.compile(r'.{8}-\d+ +(?P<cpu>\d+)(?P<flags>[.dX][.N][.hHs][.0-9a-f][.0-9])')
DIGITS = {10: r'-?\d+', 16: r'(0x)?[0-9a-fA-F]+', 8: r'[0-7]+'}
FRAME = re.compile(r'=> (\S+) \(([0-9a-f]+)\)$')
LOSS = re.compile(r'(?:(?P<source>\S+): )?CPU:(?P<cpu>\d+) \[(?:(?P<lost>\d+) )?EVENTS DROPPED\]')
OURS = re.compile(r'.*?-\d+ +\[\d+\] (?P<flags>\S{5}) +[\d.]+: (?:[^ :]+/)?(?P<name>[^ ]+|#\d+): (?P<text>.*)')


def trace_cmd(*args):
    r = subprocess.run(['trace-cmd', *args], capture_output=True, text=True, timeout=60,
                       errors='surrogateescape')
    check(r.returncode == 0 and not r.stderr, f'trace-cmd {" ".join(args)} works: {r.stderr[:300]}')
    return [line for line in r.stdout.split('\n') if line and not re.fullmatch(r'(\S+: |\s*)cpus=\d+', line)]


def ours(path):
    """Our records: JSON objects, with the line's text, whose addresses are numbers, and flags."""
    objects = [json.loads(line) for line in rs('report', '--json', path).out.splitlines()]
    lines = [line for line in rs('report', '--no-symbols', path).out.splitlines() if not line.startswith(' => ')]
    check(len(objects) == len(lines), f'{path}: as many objects as lines: {len(lines)}')
    for o, line in zip(objects, lines):
        if 'lost' not in o and 'boot' not in o:
            m = OURS.match(line)
            o['text'] = m['text'] if 'event' in o else f'{m["name"]}: {m["text"]}'
            o['flags'] = m['flags']
    return objects


def by_cpu(records, key):
    """One list for each CPU: a merge may order records of the same time as it likes."""
    out = {}
    for r in records:
        out.setdefault(key(r), []).append(r)
    return out


def theirs(lines):
    """
    A loss and the event behind it are printed together, with one name of the source. A stack is an
    event, which belongs to the one before it.
    """
    out, last, before, stack = [], {}, None, None
    for line in lines:
        frame, m = FRAME.match(line), LOSS.match(line)
        if frame:
            stack.append((frame[1], int(frame[2], 16)))
            continue
        if m:
            out.append({'source': m['source'], 'cpu': int(m['cpu']), 'lost': int(m['lost'] or 1)})
            before = m['source']
            continue
        m = EVENT.match(line)
        assert m, f'is it an event or a loss? {line}'
        event = {'source': m['source'] or before, 'comm': m['comm'], 'pid': int(m['pid']),
                 'cpu': int(m['cpu']), 'ns': int(m['s'] + m['ns']), 'event': m['name'],
                 'text': m['text']}
        before = None
        if m['name'] == 'kernel_stack':
            owner = last[event['source'], event['cpu']]
            assert owner['ns'] == event['ns'], f'whose stack is it? {line}'
            stack = owner['stack'] = []
            continue
        out.append(event)
        last[event['source'], event['cpu']] = event
    return out


def in_ascii(text):
    """The bytes that no format file can have, and those of a name that a terminal would obey."""
    return ''.join(c if ' ' <= c < '\x7f' else ''.join(f'\\x{b:02x}' for b in c.encode()) for c in text)


def same_text(mine, other):
    """
    Lists whose length varies are written as {1 2} by trace-cmd, and hex only if they are of bytes.
    All else is the same.
    """
    braces = re.compile(r'\{([^{}]*)\}')
    a, b = (in_ascii(t).replace('\\x5c', '\\') for t in (mine['text'], other['text']))
    if a == b:
        return True
    ours_, theirs_ = braces.findall(a), braces.findall(b)
    if braces.sub('', a) != braces.sub('', b) or len(ours_) != len(theirs_):
        return False
    return all(list(map(lambda n: int(n, 0), filter(None, x.split(',')))) in
               [[int(n, base) for n in y.split()] for base in (10, 16)
                if all(re.fullmatch(DIGITS[base], n) for n in y.split())]
               for x, y in zip(ours_, theirs_) if x != y)


def linux_name(record):
    return re.sub(r'[^A-Za-z0-9]', '_', record['event']) if 'event' in record else 'unknown'


def check_stack(a, b):
    frames = [int(f, 16) for f in a.get('stack', [])]
    # Without its plugins trace-cmd shows how many there are.
    assert not b.get('stack') or [f for _, f in b['stack']] == frames, f'{a}\n{b}'
    assert bool(frames) == ('stack' in b), f'{a}\n{b}'
    for (name, _), ours_, at in zip(b.get('stack', []), a.get('symbols') or a.get('stack', []),
                                    a.get('stack', [])):
        assert name == (ours_ or at), f'{a}\n{b}'


def check_cpu(cpu, mine, other, names):
    check(len(mine) == len(other), f'CPU {cpu}: as many records: {len(mine)}, {len(other)}')
    for a, b in zip(mine, other):
        if 'lost' in a:
            assert a['lost'] == b.get('lost'), f'a loss: {a}\n{b}'
            continue
        if 'boot' in a:
            assert b['event'] == 'boot', f'{a}\n{b}'
            continue
        name = linux_name(a)
        assert a['ns'] == b['ns'] and a['pid'] == b['pid'] and name == b['event'], f'{a}\n{b}'
        name = names.get((a.get('source'), a['pid']), a['comm'])
        assert b['comm'] == name, f'a name: {a}\n{b}'
        assert same_text(a, b), f'the text:\n{a["text"]}\n{b["text"]}'
        check_stack(a, b)


def check_flags(mine, lines):
    """`report -l` of one source: the column of irqs-off … migrate-disable."""
    lines = [line for line in lines if ': kernel_stack:' not in line]
    flags = [(int(m['cpu']), m['flags']) for m in map(LATENCY.match, lines) if m]
    want = by_cpu([o for o in mine if 'flags' in o], lambda o: o['cpu'])
    for cpu, records in want.items():
        got = [f for c, f in flags if c == cpu]
        expected = [o['flags'].replace('n', 'N') for o in records]
        check(got == expected, f'the flags of CPU {cpu}: {len(got)}')


def raw_value(text, value):
    """trace-cmd takes the conversion of the print format here too: %x, %d of what is unsigned."""
    if isinstance(value, dict):
        value = value['value']
    if isinstance(value, str):
        value = int(value, 16)
    numbers = [int(text, base) for base in (10, 16, 8) if re.fullmatch(DIGITS[base], text)]
    return any((n - value) % (1 << (32 if abs(value) < 1 << 32 else 64)) == 0 for n in numbers)


def little_endian(body, values):
    """ARRAY[01, 00] holds the bytes of the elements."""
    raw = bytes(int(n, 16) for n in body.split(', ')) if body else b''
    if not values:
        return not raw
    size = len(raw) // len(values)
    return [int.from_bytes(raw[i:i + size], 'little', signed=any(v < 0 for v in values))
            for i in range(0, len(raw), size)] == values or \
        [int.from_bytes(raw[i:i + size], 'little') % (1 << 8 * size)
         for i in range(0, len(raw), size)] == [v % (1 << 8 * size) for v in values]


def check_raw(mine, lines):
    """`report -R`: every field by itself, but texts, which trace-cmd reads past their end."""
    checked = 0
    # A field of bytes that happen to be text may hold the end of a line.
    whole = [line for line in lines if EVENT.match(line) or LOSS.match(line)]
    got = by_cpu([e for e in theirs(whole) if 'lost' not in e], lambda e: e['cpu'])
    want = by_cpu([o for o in mine if 'event' in o], lambda o: o['cpu'])
    for cpu, records in want.items():
        events = [e for e in got[cpu] if e['event'] not in ('unknown', 'boot', 'end')]
        check(len(events) == len(records), f'-R: as many events of CPU {cpu}: {len(records)}')
        for o, e in zip(records, events):
            arrays = dict(re.findall(r'(\w+)=ARRAY\[([^]]*)\]', e['text']))
            plain = dict(re.findall(r'(\w+)= *(\S+)', e['text'])) if o['event'] != 'strings' else {}
            for name, value in o['fields'].items():
                if isinstance(value, list):
                    if name in arrays:
                        assert little_endian(arrays[name], value), f'{name}: {value}\n{e["text"]}'
                        checked += 1
                elif name in plain and (not isinstance(value, str) or value.startswith('0x')):
                    assert raw_value(plain[name], value), f'{name}: {value}\n{e["text"]}'
                    checked += 1
    check(checked > 0, f'-R: {checked} fields are the same')


def check_kernelshark(mine, other, dat):
    """KernelShark's library has what trace-cmd has; a loss is a record there."""
    r = subprocess.run([sys.executable, os.path.join(HERE, 'kshark.py'), dat], capture_output=True,
                       text=True, timeout=60)
    if r.returncode == 77:
        print('skipped: libkshark is not here')
        return
    check(r.returncode == 0 and not r.stderr, f'KernelShark opens it: {r.stderr[:300]}')
    entries = [e for e in map(json.loads, r.stdout.splitlines())
               if e['event'] != 'ftrace/kernel_stack']
    seen = by_cpu(entries, lambda e: (e['stream'], e['cpu']))
    want = by_cpu(other, lambda e: (e['source'] or '', e['cpu']))
    check(len(seen) == len(want), f'KernelShark has as many CPUs: {len(seen)}')
    names = {(o['system'], linux_name(o)) for o in mine if 'event' in o}
    for mine_, theirs_ in zip(sorted(want), sorted(seen)):
        check(len(want[mine_]) == len(seen[theirs_]), f'as many records: {len(want[mine_])}')
        for a, b in zip(want[mine_], seen[theirs_]):
            if 'lost' in a:
                assert b['text'] == f'missed_events={a["lost"]}', f'{a}\n{b}'
                continue
            assert [a[k] for k in ('cpu', 'pid', 'ns', 'comm')] == \
                [b[k] for k in ('cpu', 'pid', 'ns', 'comm')], f'{a}\n{b}'
            system, name = b['event'].split('/')
            assert name == a['event'], f'{a}\n{b}'
            assert system == 'ringside' or (system, name) in names, f'{a}\n{b}'
            assert a['text'] == b['text'], f'{a["text"]}\n{b["text"]}'


def compare(path, at):
    dat = at(os.path.basename(path) + '.dat')
    r = rs('export', path, '--to', 'trace.dat', '-o', dat)
    check(r.code == 0, f'it is exported: {r.err}')
    mine, other = ours(path), theirs(trace_cmd('report', '-t', dat))
    times = [e['ns'] for e in other if 'ns' in e]
    check(times == sorted(times) and len(times) > 10, f'trace-cmd has them in order: {len(times)}')
    several = len({o.get('source') for o in mine}) > 1
    a = by_cpu(mine, lambda o: (o.get('source') if several else None, o['cpu'] if 'cpu' in o else 0))
    # Losses at the end need a record behind them there.
    b = by_cpu([e for e in other if e.get('event') != 'end'], lambda o: (o['source'] if several else None, o['cpu']))
    check(a.keys() == b.keys(), f'the same CPUs: {sorted(a, key=str)} {sorted(b, key=str)}')
    # A pid has one name in such a file, the last one that was known. That of 0 is fixed.
    names = {(o.get('source'), o['pid']): o['comm'] if o['pid'] else '<idle>' for o in mine
             if o.get('comm', '<...>') != '<...>'}
    for cpu in a:
        check_cpu(cpu, a[cpu], b[cpu], names)
    check_kernelshark(mine, other, dat)
    if not several:
        check_flags(mine, trace_cmd('report', '-l', dat))
        check_raw(mine, trace_cmd('report', '-R', '-t', dat))
    return dat


def test_every_kind(at):
    for seed in range(1, 4):
        path = at(f'kinds{seed}')
        subprocess.run([MAKE_TRACE, path, '1', '600', str(seed)], check=True)
        compare(path, at)


def test_several_sources(at):
    subprocess.run([MAKE_TRACE, at('several'), '3', '200'], check=True)
    compare(at('several'), at)


def record_run(at, *what):
    session = Background(rs, 'run', '--name', 'dat', '--text', '/dev/null', *what,
                         ready=lambda: rs('list', '-q', '-s', 'dat').out)
    try:
        rs('enable', '-s', 'dat', '--stack=4', '*')
        r = rs('record', '-s', 'dat', '-o', at('real'), '--duration', '0.6', '--max-size', '1M')
        check(r.code == 0, f'it is recorded: {r.err}')
    finally:
        session.end(signal.SIGTERM)


def test_a_guest(at):
    """The demo guest, or without KVM the same program in a process."""
    if KVM:
        record_run(at, '--accel', 'kvm', '--serial', 'none', DEMO)
    else:
        record_run(at, '--hosted', PROGRAM, '60')
    compare(at('real'), at)


def compare_import(dat, at):
    """`ringside report` of a trace.dat against trace-cmd's."""
    other = [e for e in theirs(trace_cmd('report', '-t', dat)) if e.get('event') != 'end']
    mine = ours(dat)
    several = len({o['source'] for o in mine}) > 1
    a = by_cpu(mine, lambda o: (o['source'] if several else None, o['cpu']))
    b = by_cpu(other, lambda o: (o['source'] if several else None, o['cpu']))
    check(a.keys() == b.keys(), f'import: the same CPUs: {sorted(a, key=str)}')
    for cpu in a:
        check(len(a[cpu]) == len(b[cpu]), f'import: as many records of {cpu}: {len(a[cpu])}')
        for x, y in zip(a[cpu], b[cpu]):
            if 'lost' in x:
                assert x['lost'] == y.get('lost'), f'a loss: {x}\n{y}'
                continue
            if 'boot' in x:
                assert y['event'] == 'boot', f'{x}\n{y}'
                continue
            for key in 'ns', 'pid', 'comm', 'event':
                assert x[key] == y[key], f'{key}:\n{x}\n{y}'
            assert same_text(x, y), f'the text:\n{x["text"]}\n{y["text"]}'
            check_stack(x, y)


def without_dialect(text):
    """What trace.dat cannot say, made equal: names, an unknown event, hex of longer elements."""
    text = text.replace('every:symbols.of-all:', 'every:symbols_of_all:')
    text = text.replace('ringside:unknown: ', '').replace('\\x5c', '\\')
    return re.sub(r'\b(d[567])=\{([^}]*)\}', lambda m: m[1] + '={' + ','.join(
        str(int(n, 0)) for n in m[2].split(',') if n) + '}', text)


def test_an_export_is_read_back(at):
    """The report of what was exported and imported is that of the trace."""
    for name in 'kinds1', 'kinds2', 'several':
        before, after = rs('report', at(name)), rs('report', at(name + '.dat'))
        check(after.code == 0 and not after.err, f'{name} is imported: {after.err}')
        a = [without_dialect(in_ascii(line)) for line in before.out.splitlines()]
        b = [without_dialect(line) for line in after.out.splitlines()]
        for x, y in zip(a, b):
            assert x == y, f'{x}\n{y}'
        check(len(a) == len(b), f'{name}: the same lines: {len(a)}')
        last = rs('report', at(name + '.dat'), '--last', '7')
        check(last.code == 0 and last.out and after.out.endswith(last.out), f'the last ones: {last}')
        rows = [o for o in ours(at(name + '.dat')) if 'pid' in o]
        check(len([line for line in last.out.splitlines() if OURS.match(line)]) == 7, 'so many')
        r = rs('report', at(name + '.dat'), '--from', '-1us', '--json')
        check([o for o in map(json.loads, r.out.splitlines()) if 'pid' in o and
               o['ns'] < rows[-1]['ns'] - 1000] == [] and r.out, 'those before the end')
        compare_import(at(name + '.dat'), at)
    for how in ['--file-version', '6'], ['--file-version', '7', '--compression', 'zstd']:
        # As root it mounts tracefs, which is nobody else's business.
        alone = ['unshare', '-m'] if os.geteuid() == 0 else []
        subprocess.run([*alone, 'trace-cmd', 'convert', '-i', at('kinds1.dat'), '-o',
                        at('converted.dat'), *how], check=True, capture_output=True)
        check(rs('report', at('converted.dat')).out == rs('report', at('kinds1.dat')).out,
              f'trace-cmd convert {how}')
        os.unlink(at('converted.dat'))
    r = rs('export', at('kinds1.dat'), '--to', 'trace.dat', '-o', at('again.dat'))
    check(r.code == 0, f'an import is exported: {r.err}')
    check(rs('report', at('again.dat')).out == rs('report', at('kinds1.dat')).out, 'as it was')
    with open(at('kinds1.dat'), 'rb') as f:
        pipe = subprocess.run(['sh', '-c', f'cat | {RINGSIDE} report -'], stdin=f,
                              capture_output=True, text=True)
    check(pipe.stdout == rs('report', at('kinds1.dat')).out, f'through a pipe: {pipe.stderr}')


def test_what_an_export_adds(at):
    """Boots and losses at the end are events there, and here what they were."""
    subprocess.run([SAMPLE, at('sample')], check=True)
    r = rs('export', at('sample'), '--to', 'trace.dat', '-o', at('sample.dat'))
    check(r.code == 0, f'it is exported: {r.err}')
    shown = [rs('report', at(name)).out for name in ('sample', 'sample.dat')]
    ours_, back = [[re.sub(r'LOST \d+', 'LOST', line) for line in text.splitlines()
                    if re.search(r'\[(BOOT|LOST) ', line)] for text in shown]
    check(sorted(ours_) == sorted(back) and any('BOOT' in line for line in back), f'{ours_}\n{back}')
    check('ringside:end' not in shown[1] and 'ringside:boot' not in shown[1], 'no events of it')
    check(len(shown[0].splitlines()) == len(shown[1].splitlines()), 'as many lines')


def test_words_that_it_knows(at):
    """A field's own value is shown, whatever its name is."""
    texts = [line for line in trace_cmd('report', '-t', at('sample.dat')) if ' clock: ' in line]
    named = {tuple(re.findall(r'(?<![^ ])(_?common_pid)=(\d+)', text)) for text in texts}
    check(texts and named == {(('common_pid', '14'), ('_common_pid', '15'))}, f'{len(texts)} events: {named}')


def test_no_flags(at):
    """They have no name, also if a symbol has every bit."""
    rows = [o['fields'] for o in map(json.loads, rs('report', '--json', at('sample')).out.splitlines())
            if o.get('event') == 'sizes-of.every_kind']
    lines = trace_cmd('report', '-t', at('sample.dat'))
    for name, behind in ('f8', 'f16'), ('f16', 'f32'), ('f32', 'f64'), ('f64', 'p'):
        none = sum(row[name]['value'] == 0 for row in rows)
        shown = sum(f' {name}= {behind}=' in line for line in lines)
        check(shown == none > 0, f'{name}: {none} without flags, {shown} shown')


def test_stacks_have_names(at):
    """As the report of the recording shows them, from the symbols in the trace.dat."""
    shown = [rs('report', at(name)).out.splitlines() for name in ('real', 'real.dat')]
    frames = [[line for line in lines if line.startswith(' => ')] for lines in shown]
    # Names of tasks may differ, which have one there.
    fields = [[line.split('] ')[1] for line in lines if ' ip=' in line] for lines in shown]
    check(fields[0] == fields[1] and (not KVM or any('+0x' in line for line in fields[1])),
          f'{len(fields[0])} addresses in fields')
    check(frames[0] == frames[1] and any('+0x' in f for f in frames[1]), f'{len(frames[0])} frames')


RECORD = """
set -e
[ -d /sys/kernel/tracing/instances ] || mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing/instances
mkdir ringside-test
trap 'rmdir ringside-test 2>/dev/null || true' EXIT
echo 128 >ringside-test/buffer_size_kb
for e in sched irq timer task signal syscalls/sys_enter_openat kmem/kmalloc; do
    echo 1 >ringside-test/events/$e/enable || true
done
sleep 0.2
trace-cmd extract -B ringside-test -o "$1" >/dev/null 2>&1
"""


def test_a_kernel(at):
    """What this kernel and trace-cmd write, in a mount namespace and a buffer of its own."""
    r = subprocess.run(['unshare', '-m', 'sh', '-c', RECORD, 'sh', at('kernel.dat')],
                       capture_output=True, text=True, timeout=60)
    if r.returncode or not os.path.exists(at('kernel.dat')):
        print('skipped: this kernel cannot be traced here:', r.stderr.strip()[:200])
        return
    compare_import(at('kernel.dat'), at)


def test_damaged(at):
    """A file that libtracecmd cannot read, or dies of, is one error."""
    data = open(at('kinds1.dat'), 'rb').read()
    for size in 5, 12, 40, 400, 4000, len(data) // 2:
        with open(at('damaged'), 'wb') as f:
            f.write(data[:size])
        r = rs('report', at('damaged'))
        check(r.code == 1 and len(r.err.splitlines()) == 1, f'cut at {size}: {r.err}')
    rand = random.Random(1)
    for i in range(40):
        bad = bytearray(data)
        for _ in range(1 + i % 20):
            bad[rand.randrange(len(bad) if i % 2 else 3000)] = rand.randrange(256)
        with open(at('damaged'), 'wb') as f:
            f.write(bad)
        r = rs('report', at('damaged'))
        assert r.code in (0, 1), f'{i}: {r}'
        assert r.code == 0 or len(r.err.splitlines()) == 1, f'{i}: {r.err}'
    print('ok: 40 files with wrong bytes')
    os.environ['RINGSIDE_LIBEXEC'] = at('nowhere')
    r = rs('report', at('kinds1.dat'))
    check(r.code == 1 and 'ringside-import' in r.err, f'without its helper: {r.err}')


def test_nothing(at):
    """A trace without a record, and one that was cut."""
    subprocess.run([MAKE_TRACE, at('none'), '0'], check=True)
    r = rs('export', at('none'), '--to', 'trace.dat', '-o', at('none.dat'))
    check(r.code == 0 and trace_cmd('report', at('none.dat')) == [], 'a trace of nothing')
    data = open(at('kinds1'), 'rb').read()
    with open(at('cut'), 'wb') as f:
        f.write(data[:len(data) * 2 // 3])
    r = rs('export', at('cut'), '--to', 'trace.dat', '-o', at('cut.dat'))
    check('not ended' in r.err or r.code == 0, f'a trace that was cut: {r.err}')
    trace_cmd('report', at('cut.dat'))


def test_hostile(at):
    """Whatever a guest writes, trace-cmd has as many records, and each in its place."""
    for seed in range(1, 5):
        subprocess.run([MAKE_TRACE, '--hostile', at('hostile'), '1', '600', str(seed)], check=True)
        r = rs('export', at('hostile'), '--to', 'trace.dat', '-o', at('hostile.dat'), '-f')
        check(r.code == 0, f'it is exported: {r.err}')
        shown = subprocess.run(['trace-cmd', 'report', '-t', at('hostile.dat')],
                               capture_output=True, timeout=60)
        heads = re.findall(rb'^.{16,}-\d+ +\[\d+\] +(\d+\.\d{9}): (?!kernel_stack)\w+:', shown.stdout, re.M)
        lines = rs('report', '--json', at('hostile')).out.splitlines()
        want = [o['ns'] for o in map(json.loads, lines) if 'pid' in o]
        got = [int(h.replace(b'.', b'')) for h in heads]
        check(shown.returncode == 0 and sorted(got) == want, f'as many records: {len(want)}')
        back = rs('report', '--json', at('hostile.dat')).out.splitlines()
        check([o['ns'] for o in map(json.loads, back)
               if 'pid' in o and o.get('event') != 'kernel_stack'] == want, 'and read back')


def test_outputs(at):
    """A pipe gets the same bytes; a full disk leaves nothing."""
    r = subprocess.run([RINGSIDE, 'export', at('kinds1'), '--to', 'trace.dat', '-o', '-'],
                       capture_output=True)
    check(r.stdout == open(at('kinds1.dat'), 'rb').read(), f'a pipe: {len(r.stdout)} bytes')
    r = rs('export', at('kinds1'), '--to', 'trace.dat', '-o', '/dev/full', '-f')
    check(r.code == 1 and 'No space' in r.err, f'a full disk: {r.err}')
    left = [f for f in os.listdir(os.path.dirname(at('x'))) if f.startswith('.')]
    check(left == [], f'nothing else is left: {left}')


def main():
    if not shutil.which('trace-cmd'):
        skip('trace-cmd is not here')
    with tempfile.TemporaryDirectory() as folder:
        def at(name):
            return os.path.join(folder, name)
        os.environ['XDG_RUNTIME_DIR'] = folder
        test_every_kind(at)
        test_several_sources(at)
        test_a_guest(at)
        test_nothing(at)
        test_outputs(at)
        test_hostile(at)
        test_an_export_is_read_back(at)
        test_what_an_export_adds(at)
        test_words_that_it_knows(at)
        test_no_flags(at)
        test_stacks_have_names(at)
        test_a_kernel(at)
        test_damaged(at)


main()
