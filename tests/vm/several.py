#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several kernels and programs in one session: one trace, one list, one command for all.

    several.py RINGSIDE DEMO_GUEST HOSTED_DEMO
"""
import json
import os
import re
import signal
import sys
import tempfile

from harness import KVM, Ringside, check, need, run_tests, wait_for

RINGSIDE, GUEST, PROGRAM = sys.argv[1:4]
rs = Ringside(RINGSIDE)
LINE = re.compile(r' +(\d+)\.(\d{6}): ([\w.-]+)/(\w+:\w+): ')


STARTED = []
DEMO = 31  # events of the demo guest


def start(*args, **more):
    """Runs a command in the background, until the test ends at the latest."""
    STARTED.append(rs.start(*args, **more))
    return STARTED[-1]


def end_started():
    for p in STARTED:
        if p.poll() is None:
            p.terminate()
            p.wait(30)


def lines_of(text):
    """Returns (time in us, source, event) of each line that shows an event."""
    return [(int(m[1]) * 1000000 + int(m[2]), m[3], m[4])
            for m in map(LINE.search, text.splitlines()) if m]


def parts(*options):
    """The sources: a guest on KVM if it can be used, a guest in QEMU, and a program."""
    accel = 'kvm' if KVM else 'tcg'
    return ['run', *options, '--source', 'left', '--accel', accel, '--serial', 'none', GUEST,
            '--and', '--source', 'right', '--accel', 'tcg', '--serial', 'none', GUEST,
            '--and', '--source', 'prog', '--cpus', '4', '--hosted', PROGRAM, '60']


def test_trace():
    """Checks that there is one trace in the order of time, and that each line names its source."""
    r = rs(*parts('-e', 'sched:switch', '-e', 'prog/pool:start', '-f',
                  'right/sched:switch: prev_pid != 0', '--duration', '3', '--name', 'a'))
    lines = lines_of(r.out)
    check(r.code == 0, f'run ends well: {r.code} {r.err[-400:]}')
    names = {name for _, name, _ in lines}
    check(names == {'left', 'right', 'prog'}, f'all are there: {names}')
    check({(n, e) for _, n, e in lines} == {('left', 'sched:switch'), ('right', 'sched:switch'),
                                            ('prog', 'pool:start')}, 'with what was asked of each')
    # The host asks a guest under TCG for its clock. On a busy machine the answers are inexact.
    sure = [l for l in lines if l[1] != 'right']
    back = [(a, b) for a, b in zip(sure, sure[1:]) if b[0] < a[0]]
    check(len(back) <= 2, f'{len(sure)} lines in the order of time, but for {back[:3]}')
    turns = sum(a[1] != b[1] for a, b in zip(lines, lines[1:]))
    check(turns > 10, f'sources take turns: {turns}')
    idle = [l for l in r.out.splitlines() if '/sched:switch: ' in l and ' prev_pid=0 ' in l]
    check(idle and all(' left/' in l for l in idle), 'a filter holds where it was asked for')
    m = re.search(r'# events: (\d+) recorded, (\d+) printed, (\d+) lost', r.err)
    check(m and int(m[1]) == int(m[2]) + int(m[3]) and int(m[2]) == len(lines),
          f'the summary is of all: {m and m[0]}')
    check('for each event' not in r.err, 'but for the exits of some')
    check(all(f'{n} was stopped' in r.err for n in names), 'each end is told by name')


def test_json():
    r = rs(*parts('-e', '*', '--duration', '2', '--json', '--count', '2000', '--name', 'j'))
    rows = [json.loads(l) for l in r.out.splitlines()]
    events = [row for row in rows if 'event' in row]
    check(r.code == 0, f'run ends well: {r.code} {r.err[-400:]}')
    check(len(events) >= 2000, f'{len(events)} events as JSON')
    check(all((e['source'], e['source_number']) in (('left', 1), ('right', 2), ('prog', 3)) for e in events),
          'each with its source')


def test_early_end():
    """A trace that has all its events ends well, also before QEMU's guest has come so far."""
    for count in ('1', '20', '2000'):
        r = rs(*parts('-e', 'prog/pool:*', '--duration', '20', '--count', count, '--name', 'e'))
        check(r.code == 0, f'run ends well: {r.code} {r.err[-400:]}')
        check(len(lines_of(r.out)) >= int(count), f'with all of {count} events')


def test_control():
    """A command reaches all sources, or those that it names."""
    with tempfile.TemporaryFile('w+') as err:
        p = start(*parts('--quiet', '--name', 'c'), stderr=err)
        wait_for('all agents', lambda: rs('list', '-q', '-s', 'c').out.count('\n') == 2 * DEMO + 6)
        names = rs('list', '-q', '-s', 'c').out.split()
        check({'left/sched:switch', 'right/sched:switch', 'pool:take'} <= set(names),
              'list names the source where a name is ambiguous')
        names = rs('list', '-q', '-s', 'c', 'right/sched:*').out.split()
        check(sorted(names) == ['right/sched:steal', 'right/sched:switch', 'right/sched:wakeup'],
              f'also if the glob means one source: {names}')
        text = rs('format', '-s', 'c', 'sched:switch').out
        check(re.findall('^# source: (.*)\nname: switch$', text, re.M) == ['left', 'right'],
              'format says whose each is')
        r = rs('enable', '-s', 'c', 'sched:*')
        check(r.out == 'sched:*: 6 events enabled\n', f'enable reaches both: {r.out}')
        r = rs('disable', '-s', 'c', 'right/sched:*')
        check(r.code == 0 and '3 events' in r.out, f'disable one: {r.out}')
        rows = rs.json('list', '-s', 'c')
        on = {(row['source'], row['name']) for row in rows if row['enabled']}
        check(on == {('left', 'steal'), ('left', 'switch'), ('left', 'wakeup')}, f'on: {on}')
        r = rs('filter', '-s', 'c', '*/sched:switch: next_pid > 1')
        check(r.code == 0 and '2 events' in r.out, f'one filter for both: {r.out}')
        r = rs('filter', '-s', 'c', '*: job > 1')
        check(r.code == 0 and re.search(r'filter set on \d+ events?; \d+ without its fields have no',
                                        r.out), f'where events have the field: {r.out} {r.err}')
        r = rs('enable', '-s', 'c', 'nobody/*')
        check(r.code == 3, f'a source that is not there: {r.code} {r.err}')
        # Each source has its own figures, and the session has the sum.
        s = rs.json('stat', '-s', 'c')
        check([x['name'] for x in s['sources']] == ['left', 'right', 'prog'], 'stat per source')
        check(s['events'] == sum(x['events'] for x in s['sources']) == 2 * DEMO + 6, 'and in all')
        check(rs('stat', '-s', 'c').out.count('source:') == 3, 'as text too')
        row = [x for x in rs.sessions() if x['name'] == 'c'][0]
        check([(x['name'], x['number']) for x in row['sources']] ==
              [(x['name'], x['number']) for x in s['sources']] ==
              [('left', 1), ('right', 2), ('prog', 3)], 'ps shows them')
        check(re.search(r'^c +running +- +\d+  3 sources$', rs('ps').out, re.M), 'ps says how many')
        check({(x['source'], x['source_number']) for x in s['cpus']} == {('left', 1), ('right', 2), ('prog', 3)},
              'as do rings')
        check(re.search(r'^  right +running +qemu-tcg', rs('ps').out, re.M), 'as text too')
        r = rs('trace', '-s', 'c', '--count', '20')
        check(r.code == 0 and len(lines_of(r.out)) >= 20, 'trace names sources')
        # When one source ends, the others go on.
        pid = [x['pid'] for x in row['sources'] if x['name'] == 'prog'][0]
        os.kill(pid, signal.SIGKILL)
        wait_for('the end of one', lambda: [x['state'] for x in rs.sessions()[0]['sources']] == ['running', 'running', 'ended'])
        rows = rs.json('list', '-s', 'c', '-p')
        check({(x['source_number'], x['source'], x['state']) for x in rows} ==
              {(1, 'left', 'live'), (2, 'right', 'live'), (3, 'prog', 'dead')},
              'its provider is not live')
        r = rs('enable', '-s', 'c', 'prog/*')
        check(r.code == 3 and "'prog' has ended" in r.err, f'enable of one that has ended: {r.err}')
        r = rs('enable', '-s', 'c', '*')
        check(r.code == 0 and f'{2 * DEMO} events' in r.out, f'the others go on: {r.out} {r.err}')
        check(rs('stop', 'c').code == 0, 'stop ends all')
        p.wait(30)
        err.seek(0)
        text = err.read()
        check('prog could not go on: killed' in text and p.returncode == 4, f'{p.returncode}: {text}')


def test_attach():
    """A session of two QEMU guests and a program is killed (-9), and all of it taken up."""
    args = ['run', '--name', 'k', '-q', '-e', '*', '--accel', 'tcg', '--serial', 'none', GUEST,
            '--and', '--accel', 'tcg', '--serial', 'none', GUEST, '--and', '--hosted', PROGRAM, '60']
    p = start(*args)
    wait_for('all events', lambda: len([l for l in rs('list', '-s', 'k').out.splitlines()
                                        if ' on ' in l]) == 2 * DEMO + 6)
    row = rs.sessions()[0]
    pid = [x['pid'] for x in row['sources'] if x['kind'] == 'hosted'][0]
    p.kill()
    p.wait()
    check(rs.sessions()[0]['state'] == 'lost', 'ps says lost')
    r = rs('run', '--name', 'k', '--hosted', '/bin/true')
    check(r.code == 1 and 'attach k' in r.err, f'its name is not to be had: {r.err}')
    r = rs('attach', '-e', 'sched:switch', '--duration', '2', 'k')
    back = dict(re.findall(r'(\S+): journal of the session that died: \d+ sites, (\d+) put back',
                           r.err))
    check(r.code == 0, f'attach: {r.code} {r.err}')
    check(len(back) == 2 and all(int(n) > 0 for n in back.values()),
          f'all text is put right, and that of the program was by ps: {back}')
    check({n for _, n, _ in lines_of(r.out)} == {'demo', 'demo.2', 'hosted-demo'}, 'all three are traced')
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        raise AssertionError('the program did not survive')
    check(rs.sessions()[0]['state'] == 'detached', 'ps says that they run on')
    line = rs('ps').out.splitlines()[1].split()
    check(line[:4] == ['k', 'detached', '-', '-'], f'and names no process that has gone: {line}')
    r = rs('attach', '--duration', '0.5', 'k')
    check(r.code == 0 and 'put back' not in r.err, f'detached guests are clean: {r.err}')
    check(rs('stop', 'k').code == 0, 'stop ends both')
    check(rs('ps').out.count('\n') == 1, 'and they are gone')


def test_broken():
    """A guest that broke its directory is put right, and can be ended. What ran beside it too."""
    p = start('run', '--name', 'b', '-q', '-e', '*', '--accel', 'tcg', '--serial', 'none', GUEST,
              '--and', '--hosted', PROGRAM, '60')
    wait_for('all events', lambda: len([l for l in rs('list', '-s', 'b').out.splitlines()
                                        if ' on ' in l]) == DEMO + 6)
    program = [x['pid'] for x in rs.sessions()[0]['sources']
               if x['kind'] == 'hosted'][0]
    p.kill()
    p.wait()
    path = os.path.join(os.environ['XDG_RUNTIME_DIR'], 'ringside', 'b.session')
    region = re.search(r'^region=(.*)$', open(path).read(), re.M)[1]
    with open(region, 'r+b', buffering=0) as memory:
        memory.seek(32)
        entries = int.from_bytes(memory.read(8), 'little')
        memory.seek(entries + 20)
        memory.write(bytes(4))  # the generation of the first entry: nobody may have it
    r = rs('attach', '-q', '--duration', '1', 'b')
    back = dict(re.findall(r'(\S+): journal of the session that died: \d+ sites, (\d+) put back',
                           r.err))
    check(r.code == 0 and set(back) == {'demo', 'hosted-demo'} and 'demo: the memory has no region 0' in r.err,
          f'the guest is not taken up, the program is, and all text is put right: {r.code} {r.err}')
    check(rs.sessions()[0]['state'] == 'detached', 'the guest is not forgotten')
    r = rs('run', '--name', 'b', '--hosted', '/bin/true')
    check(r.code == 1 and 'stop b' in r.err, f'nor is its name given away: {r.err}')
    r = rs('stop', 'b')
    check(r.code == 0 and rs('ps').out.count('\n') == 1, f'stop ends it: {r.err}')
    os.kill(program, signal.SIGKILL)  # it was put right, and left alone


def test_stop_attached():
    p = start('run', '--name', 's', '-q', '--accel', 'tcg', '--serial', 'none', GUEST)
    wait_for('its agent', lambda: rs('list', '-q', '-s', 's').out.count('\n') == DEMO)
    p.kill()
    p.wait()
    p = start('attach', '-q', 's')
    wait_for('it again', lambda: rs('list', '-q', '-s', 's').out.count('\n') == DEMO)
    check(rs('stop', 's').code == 0 and p.wait(30) is not None, 'stop ends an attached guest')
    check(rs('ps').out.count('\n') == 1, 'and it is gone')


def test_usage():
    for args, code in (((GUEST, '--and'), 2), (('--and', GUEST), 2),
                       ((GUEST, '--and', '--json', GUEST), 2),
                       ((GUEST, '--and', '--cpus', '0', GUEST), 2),
                       (('--source', 'a', GUEST, '--and', '--source', 'a', GUEST), 1),
                       (('--source', 'a/b', GUEST), 2),
                       ((GUEST, '--and', '/nowhere'), 1)):
        r = rs('run', '--duration', '1', '--serial', 'none', *args)
        check(r.code == code and r.err, f'{args}: {r.code} {r.err[:80]}')
    for args, text in ((('--cpus', '1', GUEST, '--and', '-e', '*', GUEST),
                        '-e belongs to the session: give it before the first --and'),
                       ((GUEST, '--and', GUEST, '--duration', '3'), '--duration belongs to the session'),
                       ((GUEST, GUEST), 'are two kernels: put --and between them'),
                       ((GUEST, '--hosted', PROGRAM), f"'{GUEST}' before --hosted would be another guest"),
                       (('--demo', './k'), "--demo is the guest, so './k' is one too many")):
        r = rs('run', *args)
        check(r.code == 2 and text in r.err, f'{args}: {r.code} {r.err}')
    check(rs('ps').out.count('\n') == 1, 'and nothing is left')


need('tcg')
run_tests([test_usage, test_trace, test_json, test_early_end, test_control, test_attach,
           test_broken, test_stop_attached], sys.argv[4:], end_started)
