#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The mode of a session's rings is changed while a guest writes, and they are cleared.

    ring.py kvm|tcg|hosted RINGSIDE GUEST

Exits 77, with the reason, if the accelerator is missing.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

from harness import DOC, Background, Ringside, check, need, run_tests, wait_for

KIND, RINGSIDE, GUEST = sys.argv[1:4]
rs = Ringside(RINGSIDE)
ALL = 'pool:*' if KIND == 'hosted' else '*'
SUMMARY = re.compile(r'# events: (\d+) recorded, (\d+) printed, (\d+) lost(?:, (\d+) dropped)?')
# How often the mode changes to and fro.
TIMES = 5


def arguments(name, *options):
    guest = ['--hosted', *GUEST.split()] if KIND == 'hosted' else ['--accel', KIND, GUEST]
    return ['run', '--name', name, '-e', ALL, '--ring-size', '64K', *options, *guest]


def is_up(name):
    return rs('list', '-s', name, '-q').code == 0 and written(name) > 0


def start(name, *options):
    return Background(rs, *arguments(name, *options), ready=lambda: is_up(name))


class Slow:
    """A session whose output is read only now and then. So it stops reading its rings."""

    def __init__(self, name):
        self.process = rs.start(*arguments(name), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.reads, self.out = threading.Event(), []
        self.reads.set()
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        wait_for('the session', lambda: is_up(name))

    def read(self):
        while self.reads.wait():
            part = self.process.stdout.read1(4096)
            if not part:
                return
            self.out.append(part)

    def end(self):
        self.reads.set()
        self.process.send_signal(signal.SIGINT)
        self.thread.join()
        err = self.process.stderr.read().decode()
        return self.process.wait(), b''.join(self.out), err


def figures(name):
    return rs.json('stat', '-s', name)


def total(name, key):
    return sum(cpu[key] for cpu in figures(name)['cpus'])


def written(name):
    return total(name, 'written')


def mode(name):
    return {s['ring_mode'] for s in figures(name)['sources']}


def test_a_quiet_session():
    """Nobody reads its rings, until they would refuse events."""
    s = start('q', '-q')
    rings = rs.json('ring', '-s', 'q')
    DOC.check('ringside ring', rings)
    for source in rings['sources']:
        DOC.check('ringside ring: a source', source)
        check((source['ring_mode'], source['ring_bytes']) == ('overwrite', 64 << 10), f'at first: {source}')
    wait_for('the rings to be full', lambda: total('q', 'overrun') > 0)
    check(total('q', 'dropped') == 0, 'nothing is refused')
    check(rs('ring', '--mode', 'nix', 'q').code == 2, 'another mode is a wrong use')
    check(rs('ring', '--mode', 'drop', 'nix').code == 3, 'another session is not found')
    r = rs('ring', '--mode', 'drop', 'q')
    check((r.code, r.out, r.err) == (0, '', ''), f'ring --mode drop: {r}')
    check(mode('q') == {'drop'} and ' mode drop' in rs('stat', 'q').out, 'stat says so')
    check(re.search(r'^\S+ +\d+ +64 +512  drop$', rs('ring', 'q').out, re.M), rs('ring', 'q').out)
    before = total('q', 'overrun')
    check(before > 0, 'what was overwritten is not forgotten')
    # More than the rings can hold: they have 64 KiB each, and no event takes less than 16 bytes.
    goal = written('q') + len(figures('q')['cpus']) * (64 << 10) // 16
    wait_for('events that are read', lambda: written('q') > goal)
    check(total('q', 'overrun') == before, 'nothing more is overwritten')
    r = rs('ring', '-m', 'overwrite', '-j', 'q')
    check(r.code == 0 and '"overwrite"' in r.out, f'back, and shown: {r}')
    check(mode('q') == {'overwrite'}, 'and stat says so')
    check(rs('stop', '-s', 'q').code == 0, 'stop')
    s.end()


def test_clear():
    """Those who begin later see nothing of what was there; who reads already notices nothing."""
    s = start('c', '-q', '--mode', 'drop')
    check(rs('ring', '--mode', 'overwrite', 'c').code == 0, 'to overwrite')
    wait_for('the rings to be full', lambda: total('c', 'overrun') > 0)
    view = Background(rs, 'trace', '--new', '--json', '-s', 'c')
    wait_for('a reader', lambda: view.read(view.out))
    check(rs('disable', '*', '-s', 'c').code == 0, 'the guest writes no more')
    wait_for('the last event', lambda: (before := written('c'), rs('ring', '-s', 'c'))[0] == written('c'))
    entries = total('c', 'entries')
    r = rs('ring', '--clear', '-j', 'c')
    answer = json.loads(r.out)
    DOC.check('ringside ring', answer)
    check(r.code == 0 and answer['cleared'] == entries > 0, f'{answer} of {entries}')
    check(total('c', 'entries') == 0 and written('c') >= entries, 'there are none for who comes')
    r = rs('ring', '--clear', 'c')
    check((r.code, r.out) == (0, '0 events passed over\n'), f'once more: {r}')
    for verb in ['trace', '--json'], ['record', '-o', '-', '-q']:
        r = subprocess.run([RINGSIDE, *verb, '-s', 'c', '--duration', '0.3'], capture_output=True, timeout=60)
        rows = r.stdout if verb[0] == 'trace' else report(r.stdout)
        check(r.returncode == 0 and b'"event":' not in rows and b'"lost":' not in rows, f'{verb} shows nothing: {rows[:300]}')
    check(rs('enable', ALL, '-s', 'c').code == 0, 'the guest writes again')
    r = wait_for('new events', lambda: (r := rs('trace', '--json', '-s', 'c', '-n', '5', '--duration', '20')).out and r)
    rows = [json.loads(line) for line in r.out.splitlines()]
    check(len(rows) == 5 and all('event' in row for row in rows), f'they come, and nothing is told as lost: {r.out[:300]}')
    code, out, err = view.end(signal.SIGINT)
    rows = [json.loads(line) for line in out.splitlines()]
    check(code == 0 and min(row['ns'] for row in rows if 'ns' in row) < last_ns(r.out), f'the reader has read on: {code} {err}')
    check(rs('stop', '-s', 'c').code == 0, 'stop')
    s.end()


def test_frozen():
    """Whoever looks, or asks for something, learns that nothing is recorded, and what ends that."""
    s = start('f', '-q')
    glob, field = ('pool:take', 'job') if KIND == 'hosted' else ('sched:switch', 'prev_pid')
    check(rs('ring', '--freeze', 'f').code == 0, 'freeze')
    hint = 'frozen: nothing is recorded until ringside ring --thaw f\n'
    for args in (['trace', '--new', '--duration', '0.2'], ['hist', glob, field, '-n', '1', '-i', '0.1'],
                 ['trigger'], ['trigger', glob, '--do', 'stack'], ['enable', glob], ['filter', f'{glob}: {field} == 3'], ['filter', '-c', glob], ['disable', glob]):
        r = rs(args[0], '-s', 'f', *args[1:])
        check((r.code, r.err) == (0, f'ringside: {hint}'), f'{args}: {r}')
    check(rs('trigger', 'f', '--remove', 'all').code == 0, 'without triggers')
    with tempfile.TemporaryDirectory() as d:
        for args in ['record', '--duration', '0.2'], ['snapshot']:
            r = rs(args[0], '-s', 'f', '-o', f'{d}/{args[0]}', *args[1:])
            check(r.code == 0 and r.err.startswith(f'ringside: {hint}'), f'{args}: {r}')
            check(rs(args[0], '-s', 'f', '-q', '-o', f'{d}/{args[0]}', *args[1:]).err == '', 'quietly')
    check('no value yet; the session was frozen: ringside ring --thaw f' in rs('hist', 'f', glob, field, '-n', '1').out, 'hist')
    r = rs('filter', '-s', 'f', f'{glob}: {field} == 3')
    check(r.out == f'{glob}: filter set on 1 event\n', f'nobody else wants it: {r.out}')
    check(rs('enable', '-q', '-s', 'f', glob).err == '', 'quiet')
    check(rs('enable', '-q', '-s', 'f', '--owner', 'view', glob).code == 0, 'another')
    r = rs('filter', '-s', 'f', f'{glob}: {field} == 3')
    check(r.out == f'{glob}: filter set on 1 event; 1 will be recorded without one for view\n', f'who does: {r.out}')
    check(rs('disable', '-s', 'f', glob).out == f'{glob}: 0 of 1 event off; 1 will be on again for view\n', 'likewise')
    check(f'\nfrozen:      {hint[8:]}' in rs('stat', 'f').out and figures('f')['frozen'] is True, 'stat')
    check(all(row['frozen'] for row in figures('f')['sources']), 'and of its sources')
    check(' running, frozen  ' in rs('ps').out and [row['frozen'] for row in rs.sessions()] == [True], 'ps')
    check('f: frozen (ringside ring --thaw f): ' in rs('top', 'f', '-n', '1', '-i', '0.1').out, 'top')
    rows = [json.loads(line) for line in rs('top', 'f', '-n', '1', '-i', '0.1', '--json').out.splitlines()]
    check(rows[-1]['frozen'] is True, f'top: {rows}')
    for heading, row in (('ringside top: the sums', rows[-1]), ('ringside ps', rs.sessions()[0]), ('ringside stat', figures('f'))):
        DOC.check(heading, row)
    check(rs('ring', '--thaw', 'f').code == 0, 'thaw')
    shown = [rs(*args) for args in (['trace', 'f', '--duration', '0.2'], ['stat', 'f'], ['ps'], ['top', 'f', '-n', '1', '-i', '0.1'],
                                    ['enable', '-s', 'f', glob])]
    check(not any('frozen' in r.out + r.err for r in shown), 'that is over')
    check('frozen' not in rs.sessions()[0] and figures('f')['frozen'] is False, 'as JSON, too')
    check(rs('stop', '-s', 'f').code == 0, 'stop')
    s.end()


def last_ns(text):
    return json.loads(text.splitlines()[-1])['ns']


def report(trace):
    with tempfile.NamedTemporaryFile() as f:
        f.write(trace)
        f.flush()
        return subprocess.run([RINGSIDE, 'report', '--json', f.name], capture_output=True, timeout=60).stdout


def test_nothing_is_lost_uncounted():
    """What was recorded was printed, or was told as lost where it was lost."""
    s = Slow('m')
    for i in range(TIMES):
        for now in 'drop', 'overwrite':
            r = rs('ring', '--mode', now, 'm')
            check(r.code == 0 and mode('m') == {now}, f'it is {now}: {r.code} {r.err}')
            before = written('m')
            wait_for('events that are read', lambda: written('m') > before)
            s.reads.clear()
            before, room = figures('m')['cpus'], (64 << 10) // 16
            wait_for('events that are lost', lambda: total('m', 'dropped') > sum(c['dropped'] for c in before) if now == 'drop'
                     else any(c['written'] > b['written'] + room for c, b in zip(figures('m')['cpus'], before)))
            s.reads.set()
    code, out, err = s.end()
    m = SUMMARY.search(err)
    check(code == 0 and m, f'{code}: {err[-300:]}')
    recorded, printed, lost, dropped = (int(n or 0) for n in m.groups())
    check(recorded + dropped == printed + lost, f'it adds up: {m[0]}')
    check(lost > dropped > 0, 'some were overwritten, others refused')
    lines = sum(not line.startswith(b'#') and b'[LOST' not in line for line in out.splitlines())
    check(lines >= printed, f'{lines} lines')
    told = sum(map(int, re.findall(rb'^(?:\S+ )?CPU:\d+ \[LOST (\d+) EVENTS\]$', out, re.M)))
    check(told == lost, f'each loss is told in its place: {told} of {lost}')


def test_an_observer():
    """It reads on in a session that began in mode drop."""
    s = start('o', '-q', '--mode', 'drop')
    check(mode('o') == {'drop'}, 'begun in mode drop')
    check(rs('ring', '--mode', 'overwrite', 'o').code == 0, 'to overwrite')
    wait_for('the rings to be full', lambda: total('o', 'overrun') > 0)
    r = rs('trace', '-s', 'o', '-n', '50', '--duration', '30')
    check(r.code == 0 and r.out.count('\n') > 50, f'an observer reads on: {r.code} {r.err}')
    check(rs('ring', '--mode', 'overwrite', 'o').code == 0, 'once more is no error')
    check(rs('stop', '-s', 'o').code == 0, 'stop')
    s.end()


def sizes(name):
    return [cpu['ring_bytes'] for cpu in figures(name)['cpus']]


def resize(name, kib):
    r = rs('ring', '--size', f'{kib}K', '-j', name)
    check(r.code == 0, f'ring --size {kib}K: {r}')
    answer = json.loads(r.out)
    DOC.check('ringside ring', answer)
    check(sum(answer[key] for key in ('changed', 'offered', 'held')) == len(sizes(name)), f'each ring is told of: {answer}')


def test_size():
    """Rings grow and shrink while the guest writes, and all is recorded or told as lost."""
    s = Slow('s')
    for kib in 512, 16, 128, 64, 256, 32:
        for now in 'drop', 'overwrite':
            check(rs('ring', '--mode', now, 's').code == 0, now)
            resize('s', kib if now == 'drop' else 64)
            busy = [i for i, cpu in enumerate(figures('s')['cpus']) if cpu['written']]
            wait_for('a ring of another size', lambda: any(sizes('s')[i] == (kib if now == 'drop' else 64) << 10 for i in busy))
            before, at = written('s'), figures('s')['cpus']
            if now == 'drop' and kib <= 64:
                s.reads.clear()
                wait_for('events that are lost', lambda: total('s', 'dropped') > sum(c['dropped'] for c in at))
                s.reads.set()
            wait_for('more events', lambda: written('s') > before)
    code, out, err = s.end()
    m = SUMMARY.search(err)
    check(code == 0 and m, f'{code}: {err[-300:]}')
    recorded, printed, lost, dropped = (int(n or 0) for n in m.groups())
    check(recorded + dropped == printed + lost, f'it adds up: {m[0]}')
    told = sum(map(int, re.findall(rb'^(?:\S+ )?CPU:\d+ \[LOST (\d+) EVENTS\]$', out, re.M)))
    check(told == lost, f'each loss is told in its place: {told} of {lost}')


def test_size_without_a_loss():
    """A recording has each event, whatever becomes of the rings."""
    with tempfile.NamedTemporaryFile(suffix='.trace') as f:
        s = start('w', '-q', '--mode', 'drop')
        recording = rs.start('record', '-s', 'w', '-o', f.name, '-q', '--force', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for('a recording', lambda: os.path.getsize(f.name) > 0)
        for kib in 256, 512, 128, 512, 64:
            resize('w', kib)
            before = written('w')
            wait_for('events', lambda: written('w') > before + 500)
        check(total('w', 'dropped') == 0 or KIND == 'tcg', f'none was refused: {figures("w")["cpus"]}')
        recording.send_signal(signal.SIGINT)
        check(recording.wait(60) == 0, 'the recording ends')
        rows = [json.loads(line) for line in rs('report', '--json', f.name).out.splitlines()]
        check(len(rows) > 2000, f'{len(rows)} events')
        check(sum(row.get('lost', 0) for row in rows) <= total('w', 'dropped'), 'none was lost but what was refused')
        check(rs('stop', '-s', 'w').code == 0, 'stop')
        s.end()


def test_size_refused():
    """What cannot be had is said, and nothing changes."""
    s = start('r', '-q')
    for size, code, text in (('1G', 2, 'its rings can have 16 KiB to 512 KiB each'), ('1K', 2, 'its rings can have'),
                             ('nix', 2, 'nix'), ('-1', 2, '-1'), ('0', 2, 'some room')):
        r = rs('ring', '--size', size, 'r')
        check(r.code == code and text in r.err, f'--size {size}: {r}')
    check(set(sizes('r')) == {64 << 10}, 'nothing has changed')
    r = rs('ring', '--size', '100K', 'r')
    check(r.code == 0 and '128 KiB' in r.out, f'rounded up: {r}')
    wait_for('a ring of 128 KiB', lambda: max(sizes('r')) == 128 << 10)
    check(rs('stop', '-s', 'r').code == 0, 'stop')
    s.end()
    r = rs(*arguments('n', '--ring-max', '32K', '-n', '1'))
    check(r.code != 0 and 'the rings are larger than they may become' in r.err, f'--ring-max: {r}')


need(KIND)
run_tests([test_a_quiet_session, test_clear, test_frozen, test_nothing_is_lost_uncounted, test_an_observer, test_size,
           test_size_without_a_loss, test_size_refused], sys.argv[4:])
