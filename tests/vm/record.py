#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside record` and `ringside report`: what is in the file is what was in the rings.

    record.py RINGSIDE HOSTED_KTRACE
"""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

from harness import DOC, Background, Flood, Ringside, check, wait_for

RINGSIDE, PROGRAM = sys.argv[1:]
rs = Ringside(RINGSIDE)


def without_header(text):
    return [line for line in text.splitlines() if line and not line.startswith('#')]


def report(*args):
    r = rs('report', *args)
    check(r.code == 0, f'report {args} works: {r.err}')
    return r


def test_a_quiet_ring_is_recorded_as_it_is(name, at):
    rs('enable', '-s', name, '*')
    time.sleep(0.3)
    rs('disable', '-s', name, '*')
    for extra in [], ['--zstd', '3']:
        r = rs('record', '-s', name, '-o', at('quiet'), '--duration', '0.5', *extra)
        check(r.code == 0 and 'events lost' in r.err, f'it says what it has written: {r}')
        for how in ['--json'], ['--short'], []:
            live = rs('trace', '-s', name, '--duration', '0.5', *how)
            got = report(*how, at('quiet'))
            check(without_header(live.out) == without_header(got.out) and len(got.out) > 1000,
                  f'the file has what trace {how} shows: {len(got.out)} bytes')
    check(len(report('-n', '3', at('quiet')).out.splitlines()) == 3, '-n ends it')


def test_other_files(name, at):
    with open(at('mine'), 'w') as f:
        f.write('a diary')
    r = rs('record', '-s', name, '-o', at('mine'), '--duration', '0.1')
    check(r.code == 1 and 'no trace' in r.err, f'a file that is no trace stays: {r}')
    check(open(at('mine')).read() == 'a diary', 'as it was')
    r = rs('report', at('mine'))
    check(r.code == 1 and 'not a trace' in r.err and not r.out, f'and is not shown: {r}')
    r = rs('record', '-f', '-s', name, '-o', at('mine'), '--duration', '0.1')
    check(r.code == 0, f'--force writes over it: {r}')
    r = rs('record', '-s', name, '-o', '/dev/full', '--duration', '0.1')
    check(r.code == 1 and 'No space' in r.err, f'a full disk is told: {r}')
    r = rs('record', '-s', name, '-o', at('no/such'))
    check(r.code == 1 and 'No such file' in r.err, f'a folder that is not there: {r}')
    r = rs('report', at('none'))
    check(r.code == 1 and 'none' in r.err, f'a file that is not there: {r}')
    for args in ['report'], ['report', '-R', '--json', 'a'], ['report', '--cpu', 'x', 'a'], ['record', '--zstd', '99', '-s', name]:
        check(rs(*args).code == 2, f'wrong use: {args}')


def test_a_pipe(name, at):
    whole = rs('record', '-s', name, '-o', at('whole'), '--duration', '0.3')
    with subprocess.Popen([RINGSIDE, 'record', '-s', name, '-o', '-', '--duration', '0.3'],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
        got = subprocess.run([RINGSIDE, 'report', '-'], stdin=recorder.stdout, capture_output=True,
                             text=True, timeout=60)
    check(whole.code == 0 and got.returncode == 0 and got.stdout == report(at('whole')).out,
          'a recording goes through a pipe')


def test_what_is_cut(at):
    data = open(at('whole'), 'rb').read()
    text = report(at('whole')).out
    for part in 0.3, 0.6, 0.95:
        with open(at('cut'), 'wb') as f:
            f.write(data[:int(len(data) * part)])
        r = rs('report', at('cut'))
        check(r.code == 0 and 'was not ended' in r.err and text.startswith(r.out),
              f'{part} of a file: what is there is shown: {r.err}')
    with open(at('cut'), 'wb') as f:
        f.write(data[:400] + b'x' * 64 + data[464:])
    r = rs('report', at('cut'))
    check(r.code == 1 and 'is damaged: ' in r.err and 'at byte' in r.err and r.out,
          f'a damaged one says where, and shows the rest: {r}')


def test_kdump_shows_files(at):
    r = rs('kdump', '-f', at('whole'))
    check(r.code == 0 and r.out.count('CALL  open(0x1000,0)') > 10, f'kdump -f shows a file: {r.out[:300]}')
    r = rs('kdump', '-t', 'n', '--count', '5', '-f', at('whole'))
    check(r.code == 0 and r.out.count('NAMI') == 5 == len(r.out.splitlines()), f'as it chooses: {r}')
    r = rs('kdump', '-t', 'n', '-F', 'PID > 99999999', '-f', at('whole'))
    check(r.code == 0 and not r.out, f'of those that an expression chooses: {r}')
    rows = [json.loads(line) for line in rs('kdump', '--json', '-f', at('whole')).out.splitlines()]
    middle = rows[len(rows) // 2]['ns']
    r = rs('kdump', '--json', '--until', f'{middle}ns', '-f', at('whole'))
    check([row for row in rows if row['ns'] < middle] == [json.loads(line) for line in r.out.splitlines()],
          f'and of a time: {len(rows)}')
    r = rs('kdump', '--from', '1', 'no-such-session')
    check(r.code == 2 and '-f' in r.err, f'which only a file can be asked for: {r}')
    r = rs('kdump', '--json', '-t', 'n', '--count', '5', '-f', at('whole'))
    rows = [json.loads(line) for line in r.out.splitlines()]
    for row in rows:
        DOC.check('Trace: an event', row)
    check(r.code == 0 and [row['event'] for row in rows] == ['namei'] * 5, f'--json has the same: {r}')
    r = rs('kdump', '--json', '-u', 'mark', '--count', '3', '-f', at('whole'))
    check([json.loads(line)['event'] for line in r.out.splitlines()] == ['user'] * 3, f'-u too: {r}')
    for args in ['-s', 'q'], ['--new'], ['-l'], ['--duration', '1'], ['q']:
        check(rs('kdump', '-f', at('whole'), *args).code == 2, f'a file is no session: {args}')
    r = rs('kdump', '-f', at('mine'), '-t', 'c')
    check(r.code == 0, f'another file: {r.code}')


def events_in(path):
    rows = (json.loads(line) for line in report('--json', path).out.splitlines())
    return sum('event' in row for row in rows)


def test_what_it_says(name, at):
    r = rs('record', '--json', '-s', name, '-o', at('said'), '--duration', '0.3')
    end = json.loads(r.out)
    DOC.check('ringside record: the end', end)
    check(r.code == 0 and not r.err and end['events'] == events_in(at('said')) > 100,
          f'--json says how many events there are: {r}')
    check(end['bytes'] == os.path.getsize(at('said')) and end['files'] == 1 and not end['full'],
          f'and how large it is: {end}')
    r = rs('record', '-q', '-s', name, '-o', at('said'), '--duration', '0.1')
    check(r.code == 0 and not r.out and not r.err, f'-q says nothing: {r}')
    r = rs('record', '--progress', '-s', name, '-o', at('said'), '--duration', '1.5')
    check(r.code == 0 and 'events/s\n' in r.err and '\r' not in r.err, f'--progress: {r.err}')
    for args in (['--json', '-o', '-'], ['--max-size', '1K'], ['--rotate', '10'], ['--rotate', 'xs'], ['--keep', '3'],
                 ['--window', '9'], ['--window', '60001'],
                 ['--rotate', '1M', '-o', '-']):
        check(rs('record', '-s', name, *args).code == 2, f'wrong use: {args}')


def test_window(name, at):
    """With short windows the same comes sooner: while it is recorded, it can be read."""
    rs('enable', '-s', name, '*')
    recorder = Background(rs, 'record', '-s', name, '-o', at('soon'), '--window', '10')
    seen = wait_for('events that can be read', lambda: os.path.exists(at('soon')) and events_in(at('soon')))
    code, _, said = recorder.end(signal.SIGINT)
    check(code == 0 and events_in(at('soon')) >= seen, f'and the file ends well: {said}')
    rs('disable', '-s', name, '*')
    sizes = {}
    for ms in '10', '60000':
        check(rs('record', '-s', name, '--new', '-o', at(ms), '--duration', '1', '--window', ms).code == 0, f'{ms} ms')
        sizes[ms] = os.path.getsize(at(ms))
    check(sizes['10'] > sizes['60000'], f'each window is a few bytes, also of silence: {sizes}')


def test_limits(name, at):
    rs('enable', '-s', name, '*')
    r = rs('record', '--json', '-s', name, '-o', at('full'), '--max-size', '64K')
    end = json.loads(r.out)
    check(r.code == 0 and end['full'] and 'all the bytes' in r.err and 32 << 10 < os.path.getsize(at('full')) <= 64 << 10,
          f'--max-size ends it: {r}')
    check(end['events'] == events_in(at('full')), 'and the file is complete')
    rs('disable', '-s', name, '*')


def test_readers(name, at):
    """A FIFO whose reader goes or stands still ends a recording; a file has one recorder."""
    os.mkfifo(at('fifo'))
    rs('enable', '-s', name, '*')
    for count in (1000, 0):
        with subprocess.Popen(['sh', '-c', f'exec < {at("fifo")}; head -c {count} | wc -c; sleep {0 if count else 6}'],
                              stdout=subprocess.DEVNULL):
            r = rs('record', '-s', name, '-o', at('fifo'), '--duration', '1')
        check(r.code == 1 and 'were not written' in r.err, f'a FIFO after {count} bytes: {r}')
    with open(at('held'), 'wb') as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        r = rs('record', '-s', name, '-o', at('held'), '--duration', '1')
        check(r.code == 1 and 'another recorder' in r.err, f'a file that is being written: {r}')
    rs('disable', '-s', name, '*')


def test_files(name, at):
    """Each opens alone, without gaps or names that are missing; the newest are kept."""
    rs('enable', '-s', name, '*')
    r = rs('record', '--json', '-s', name, '-o', at('many'), '--rotate', '100K', '--new', '--duration', '2')
    end = json.loads(r.out)
    files = [f'{at("many")}.{n + 1:04}' for n in range(end['files'])]
    check(r.code == 0 and len(files) >= 3 and end['file'] == files[-1] and not os.path.exists(at('many')),
          f'{len(files)} files: {r}')
    check(end['events'] == sum(events_in(path) for path in files), 'together they have all events')
    out = ''.join(report(path).out for path in files)
    check('<...>' not in out and 'unknown' not in out, 'each has the names and events that it needs')
    r = rs('record', '-s', name, '-o', at('many'), '--rotate', '0.3s', '--keep', '2', '--new', '--duration', '1.5')
    left = [f for f in os.listdir(os.path.dirname(at('many'))) if f.startswith('many.')]
    check(r.code == 0 and len(left) == len(files) + 2, f'--keep keeps the newest, and leaves others: {left}')
    rs('disable', '-s', name, '*')


def test_a_full_disk(name, at):
    """The file ends behind its last whole block, whatever of the next one was written."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))

    for extra in [], ['-z', '1']:
        recorder = rs.start('record', '-s', name, '-o', at('disk'), *extra, preexec_fn=limit,
                            stderr=subprocess.PIPE, text=True)
        _, said = recorder.communicate(timeout=60)
        check(recorder.returncode == 1 and 'File too large' in said, f'it is told: {said}')
        r = report(at('disk'))
        check('was not ended' in r.err and os.path.getsize(at('disk')) % 8 == 0, f'what is there is good: {r.err}')


def test_a_closed_pipe(name, at):
    """Who reads no more ends the recording; who reads nothing holds up nobody."""
    with subprocess.Popen([RINGSIDE, 'record', '-s', name, '-o', '-'], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.close()
        said = recorder.stderr.read()
    check(recorder.returncode == 1 and 'Broken pipe' in said, f'a closed pipe: {said}')
    with subprocess.Popen([RINGSIDE, 'record', '-s', name, '-o', '-'], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as recorder:
        time.sleep(0.5)
        recorder.send_signal(signal.SIGTERM)
        code, said = recorder.wait(10), recorder.stderr.read()
    check(code == 1 and 'nobody read' in said, f'one that nobody reads ends by a signal: {said}')


def test_a_source_that_joins_and_leaves(name, at):
    """It is in the file with all of its records, in each of several files too."""
    rs('enable', '-s', name, '*')
    region = rs('ps', '--region', name).out.strip()
    recorder = Background(rs, 'record', '-s', name, '-o', at('join'), '--new', '--rotate', '0.5s')
    wait_for('a file', lambda: os.path.exists(at('join.0001')))
    for _ in range(2):
        joiner = subprocess.Popen([PROGRAM, '0xffe'], env={**os.environ, 'RINGSIDE_REGION': region},
                                  stdout=subprocess.DEVNULL)
        wait_for('it has joined', lambda: any(s['joined'] and s['state'] == 'running'
                                              for s in rs.sessions()[0]['sources']))
        time.sleep(0.7)
        joiner.kill()
        joiner.wait()
        wait_for('it has left', lambda: not any(s['joined'] and s['state'] == 'running'
                                                for s in rs.sessions()[0]['sources']))
    code, _, said = recorder.end(signal.SIGINT)
    names = {}
    for path in sorted(f for f in os.listdir(os.path.dirname(at('join'))) if f.startswith('join.')):
        for row in map(json.loads, report('--json', at(path)).out.splitlines()):
            names.setdefault(row['source_number'], set()).add(path)
    check(code == 0 and len(names) == 3 and all(names.values()), f'three sources: {names}: {said}')
    rs('disable', '-s', name, '*')


def test_snapshots(name, at):
    r = rs('snapshot', '--json', '-s', name, '-o', at('now'))
    end = json.loads(r.out)
    DOC.check('ringside record: the end', end)
    check(r.code == 0 and end['trigger'] == 'snapshot' and end['events'] == events_in(at('now')) > 100,
          f'a snapshot has what is there, and ends: {r}')
    with open(at('mine'), 'w') as f:
        f.write('a diary')
    check(rs('snapshot', '-s', name, '-o', at('mine')).code == 1, 'it writes over nothing else')
    for args in (['--on', 'huh'], ['--after', '1'], ['--on', 'panic', '--rotate', '1M'], ['--on', 'panic', '-o', '-'],
                 ['--on', 'event=a =='], ['--on', 'event='], ['--on', 'event=bad(('], ['--on', 'event=ktrace:*,a:b:x']):
        check(rs('record', '-s', name, '-o', at('never'), *args).code == 2, f'wrong use: {args}')
    r = rs('record', '-s', name, '-o', at('never'), '--on', 'panic', '--on', 'event=n*:x', '--duration', '0.3')
    check(r.code == 0 and 'nothing was written' in r.err, f'nothing happens: {r}')
    rs('enable', '-s', name, '*')
    r = rs('record', '-s', name, '-o', at('never'), '--on', 'event=nix == 3', '--duration', '0.5')
    check(r.code == 1 and 'nix' in r.err, f'no event has that field: {r}')
    r = rs('record', '-s', name, '-o', at('never'), '--on', 'event=ktrace:namei: PID == 4711', '--duration', '0.3')
    check(r.code == 0 and 'nothing was written' in r.err, f'what the glob does not mean is no trigger: {r}')
    check(not [f for f in os.listdir(os.path.dirname(at('never'))) if f.startswith('never')], 'no file')
    r = rs('record', '-s', name, '-o', at('seen'), '--on', 'event=a:b,ktrace:namei', '--snapshots', '2', '--after', '0.2')
    check(r.code == 0 and r.err.count(': event: ') == 2 and 'ktrace:namei' in report(at('seen.0002')).out,
          f'an event makes it write, twice: {r}')
    rs('disable', '-s', name, '*')


def test_a_flight_recorder(at):
    """What a guest did before its end is in a file, though nobody read it before."""
    for crash, rounds, signalled in ('panic', 500, True), ('reset', 500, False):
        base = at(f'crash-{crash}')
        guest = Background(rs, 'run', '-q', '--name', 'g', '--demo', '-e', 'sched:*', '--append',
                           f'crash={crash} rounds={rounds}',
                           ready=lambda: has_written('g', 200))
        # What would go on longer ends with its session.
        more = [] if signalled else ['--after', '60', '--snapshots', '1']
        recorder = Background(rs, 'record', '-s', 'g', '-o', base, '--on', crash, '--on', 'signal', *more)
        if signalled:
            wait_for('the recorder', lambda: signals_caught(recorder.process.pid))
            recorder.process.send_signal(signal.SIGUSR1)
            wait_for('a snapshot', lambda: os.path.exists(base + '.0001'))
        code, _, said = recorder.end()
        guest.end()
        check(code == 0 and (': signal: ' in said) == signalled and f': {crash}: ' in said, f'it was seen: {said}')
        last = report(f'{base}.000{1 + signalled}').out
        check(len(last) > (len(report(base + '.0001').out) if signalled else 1000) > 100, 'with all before it')


def test_a_recorder_that_was_held_up(at):
    """It reads how the session ended only after that has gone, and still learns it."""
    base = at('held')
    guest = Background(rs, 'run', '-q', '--name', 'g', '--demo', '-e', 'sched:*', '--append',
                       'crash=panic rounds=60', ready=lambda: has_written('g', 200))
    recorder = Background(rs, 'record', '-s', 'g', '-o', base, '--on', 'panic', '--on', 'signal')
    wait_for('the recorder', lambda: signals_caught(recorder.process.pid))
    recorder.process.send_signal(signal.SIGUSR1)
    wait_for('a snapshot', lambda: os.path.exists(base + '.0001'))
    recorder.process.send_signal(signal.SIGSTOP)
    guest.end()
    recorder.process.send_signal(signal.SIGCONT)
    code, _, said = recorder.end()
    check(code == 0 and ': panic: ' in said, f'it was seen: {said}')


def test_a_guest_that_boots_again(at):
    """What it did before is in a file, though it goes on. Our QEMU ends when its guest resets, so
    here is one that does not."""
    qemu = shutil.which('qemu-system-x86_64')
    if not qemu:
        return print('skipped: qemu-system-x86_64 is not here')
    os.mkdir(at('bin'))
    with open(at('bin/qemu-system-x86_64'), 'w') as f:
        f.write('#!/usr/bin/env python3\nimport os, sys\nargs = []\n'
                "for arg in sys.argv:\n    args += ['-action', 'reboot=reset'] if arg == '-no-reboot' else [arg]\n"
                f'os.execv({qemu!r}, args)\n')
    os.chmod(f.name, 0o755)
    guest = Background(rs, 'run', '-q', '--name', 'b', '--demo', '--accel', 'tcg', '-e', 'sched:*', '--append',
                       'crash=reset rounds=20', env=os.environ | {'PATH': f'{at("bin")}:{os.environ["PATH"]}'},
                       ready=lambda: has_written('b', 1))
    base = at('boots')
    try:
        r = rs('record', '-s', 'b', '-o', base, '--on', 'reset', '--snapshots', '2')
        check(r.code == 0 and r.err.count(': reset: ') == 2, f'each boot makes it write: {r}')
        check(guest.process.poll() is None, 'the guest runs on')
    finally:
        code, _, said = guest.end(signal.SIGTERM)
    check('started anew' in said, f'it has booted again: {code} {said}')
    first, second = (report(f'{base}.000{n}').out for n in (1, 2))
    check(': sched:' in first and '[BOOT ' in second and len(second) > len(first), 'with all before it')
    return None


def has_written(name, events):
    r = rs('stat', '--json', name)
    return r.code == 0 and sum(cpu['written'] for cpu in json.loads(r.out)['cpus']) > events


def signals_caught(pid):
    with open(f'/proc/{pid}/status') as f:
        caught = next(line for line in f if line.startswith('SigCgt:'))
    return int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1


def test_run_records(at):
    """All of what it prints, from the first event on, also where pages wait to be consumed."""
    flood = ['run', '--demo', '--cpus', '2', '-e', 'load:flood', '--append', 'flood count=200000']
    for mode in 'overwrite', 'drop':
        for more in [], ['-q']:
            r = rs(*flood, '--mode', mode, '--ring-size', '64K', '-o', at('run'), *more)
            said = 'events lost' in r.err
            check(r.code == 0 and said == (not more), f'run -o {mode} {more}: {r.code} {r.err}')
            got = Flood(begun=True)
            got.read(report(at('run')).out.encode().splitlines())
            check(not got.wrong and got.events + sum(got.lost.values()) == 400000,
                  f'{got.events} and {sum(got.lost.values())} lost: {got.wrong[:3]}')
            if mode == 'drop' and not more:
                # Where a loss is told may differ: Flood looks at the places. A better line of the
                # clock that came later moves the times in the file.
                printed, recorded = (Counter(re.sub(r' \d+\.\d{6}: ', ' ', line) for line in without_header(text)
                                             if ' [LOST ' not in line) for text in (r.out, report(at('run')).out))
                other = [*(printed - recorded)][:3], [*(recorded - printed)][:3]
                check(printed == recorded, f'both have the same: {other}')
    before = os.path.getsize(at('run'))
    r = rs(*flood, '-o', at('run'), '-f', 'load:flood: bad(')
    check(r.code == 2 and os.path.getsize(at('run')) == before, f'a wrong use leaves the old file: {r}')
    # The rings of such a recording have room for all of it.
    rs(*flood, '--mode', 'drop', '-q', '-o', at('run'))
    got = Flood(begun=True)
    got.read(report(at('run')).out.encode().splitlines())
    check(got.events == 400000 and not got.lost, f'{got.events}, and nothing was lost: {got.lost}')
    r = rs(*flood, '-o', at('run'), '--max-size', '64K', '--mode', 'drop', '--text', at('text'))
    check(r.code == 0 and 'all the bytes' in r.err and os.path.getsize(at('text')) > 1 << 20,
          f'a recording that is full holds up nobody: {r}')
    r = rs(*flood, '-o', '/dev/full')
    check(r.code == 1 and 'No space' in r.err and not r.out, f'one that cannot begin is told at once: {r}')
    with subprocess.Popen([RINGSIDE, *flood, '-q', '-o', '-'], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as run:
        r = subprocess.run([RINGSIDE, 'report', '-'], stdin=run.stdout, capture_output=True, timeout=60)
    check(r.returncode == 0 and b'load:flood' in r.stdout, 'and through a pipe')
    for args in ['-z', '1'], ['-o', '-'], ['-o', at('run'), '--rotate', '5']:
        check(rs(*flood, *args).code == 2, f'wrong use: {args}')


def test_names_of_a_busy_pid(at):
    """One pid has hundreds of tasks one after the other while a reader looks two windows ahead."""
    r = rs('run', '--demo', '-e', 'sched:*', '-e', 'syscalls:*', '-o', at('names'), '--duration', '2')
    printed, lines = without_header(r.out), without_header(report(at('names')).out)
    before, after = (sum('<...>-' in line for line in text) for text in (printed, lines))
    check(len(lines) > 1000 and after <= before + len(lines) // 50,
          f'{after} of {len(lines)} recorded lines without a name, {before} of those printed')


def check_flood(text):
    flood = Flood()
    flood.read(text.encode().splitlines())
    check(flood.events > 10000 and not flood.wrong,
          f'{flood.events} events, {sum(flood.lost.values())} lost, none uncounted: {flood.wrong[:3]}')
    return flood


def test_a_flood(at):
    """Also of a recorder that is killed: no number is missing without being counted."""
    guest = Background(rs, 'run', '--name', 'f', '--text', '/dev/null', '--demo', '--append', 'flood', '-e',
                       'load:flood', ready=lambda: rs('list', '-q', '-s', 'f').out)
    try:
        two = [Background(rs, 'record', '-s', 'f', '-o', at(n)) for n in ('end', 'kill')]
        wait_for('a few windows', lambda: all(os.path.exists(at(n)) and os.path.getsize(at(n)) > 1 << 22
                                              for n in ('end', 'kill')))
        two[1].end(signal.SIGKILL)
        code, _, err = two[0].end(signal.SIGINT)
        check(code == 0 and 'events lost' in err, f'^C ends it well: {err}')
        check_flood(report(at('end')).out)
        r = rs('report', at('kill'))
        check(r.code == 0 and 'was not ended' in r.err, f'of a killed one, what is there: {r.err}')
        check_flood(r.out)
        last = Background(rs, 'record', '-s', 'f', '-o', at('last'))
        wait_for('pages', lambda: os.path.exists(at('last')) and os.path.getsize(at('last')) > 1 << 20)
    finally:
        guest.end(signal.SIGTERM)
    code, _, err = last.end()
    check(code == 0 and 'ended' in err, f'it ends with its session: {err}')
    check_flood(report(at('last')).out)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory

        def at(name):
            return os.path.join(directory, name)

        session = Background(rs, 'run', '--name', 'q', '--text', '/dev/null', '--hosted', PROGRAM, '0xffe',
                             ready=lambda: rs('list', '-q', '-s', 'q').out)
        try:
            test_a_quiet_ring_is_recorded_as_it_is('q', at)
            test_other_files('q', at)
            test_a_pipe('q', at)
            test_what_is_cut(at)
            test_kdump_shows_files(at)
            test_what_it_says('q', at)
            test_window('q', at)
            test_limits('q', at)
            test_readers('q', at)
            test_files('q', at)
            test_a_source_that_joins_and_leaves('q', at)
            test_snapshots('q', at)
            test_a_full_disk('q', at)
            test_a_closed_pipe('q', at)
        finally:
            session.end(signal.SIGTERM)
        test_run_records(at)
        test_names_of_a_busy_pid(at)
        test_a_flight_recorder(at)
        test_a_recorder_that_was_held_up(at)
        test_a_guest_that_boots_again(at)
        test_a_flood(at)


main()
