#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside attach --shm`: sessions come and go on a memory whose programs live on.

    attach_shm.py RINGSIDE JOIN [TEST…]
"""
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

from harness import Background, Ringside, check, run_tests, wait_for

RINGSIDE, JOIN = map(os.path.realpath, sys.argv[1:3])
rs = Ringside(RINGSIDE)


class Memory:
    """A file, and programs whose agent finds its region there."""

    def __init__(self, mib=4):
        self.file = tempfile.NamedTemporaryFile(prefix='rs-mem-', dir='/dev/shm')
        self.path = self.file.name
        os.truncate(self.path, mib << 20)
        self.programs = []

    def start(self, name, *steps):
        p = subprocess.Popen([JOIN, name, *steps], env={**os.environ, 'RINGSIDE_REGION': self.path},
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.programs.append(p)
        return p

    def end(self):
        for p in self.programs:
            p.kill()
            p.wait()
            p.stderr.close()
        self.file.close()


class Session(Background):
    def __init__(self, memory, *options, name='m', enable=True):
        self.name = name
        super().__init__(rs, 'attach', *(('--shm', memory.path, '--name', name) if memory else (name,)), '--json',
                         *(('-e', 'join:*') if enable else ()), *options, ready=lambda: rs('stat', name).code == 0)

    def events(self):
        return [json.loads(l) for l in self.read(self.out).splitlines() if b'"event"' in l]

    def wait_events(self, n, what):
        wait_for(f'{n} {what}', lambda: len(self.events()) >= n)

    def detach(self):
        code, _, said = self.end(signal.SIGINT)
        check(code == 0, f'detaches well: {code} {said if code else ""}')
        return self.events()


def whole(events, what):
    numbers = [e['fields']['n'] for e in events]
    check(numbers == list(range(numbers[0], numbers[0] + len(numbers))), f'{what}: {len(numbers)} events, none missing')


def test_sessions_come_and_go():
    """An agent notices nothing but a new host, whatever became of the old one."""
    m = Memory()
    s = Session(m)
    program = m.start('apple', 'pace', '2000', 'emit', '1000000')
    s.wait_events(50, 'events')
    whole(s.detach(), 'the first session')
    check(program.poll() is None, 'the program goes on')
    check(rs('ps').out.count('\n') <= 1, 'and no session is left')
    s = Session(m, '--new')
    s.wait_events(50, 'events of the second session')
    check(rs('ring', '--mode', 'drop', 'm').code == 0, 'its rings are to refuse what they cannot keep')
    s.process.kill()
    s.process.wait()
    check('lost' in rs('ps').out, 'a session that was killed is lost')
    s = Session(None, '--new')
    modes = {source['ring_mode'] for source in rs.json('ring', 'm')['sources']}
    check(modes == {'drop'}, f'the next one keeps that, in all regions: {modes}')
    s.wait_events(50, 'events of the session that was taken up')
    whole(s.detach(), 'the third session')
    check(program.poll() is None, 'the program still goes on')
    check(rs('ps').out.count('\n') <= 1, 'and no session is left')
    m.end()


def test_one_session_at_a_time():
    m = Memory()
    s = Session(m)
    r = rs('attach', '--shm', m.path)
    check(r.code == 1 and "'m' has it already" in r.err, f'the second one is refused: {r.err.strip()}')
    r = rs('attach', '--shm', '/proc/self/root' + m.path)
    check(r.code == 1 and 'another session has this memory' in r.err, f'whatever path it takes: {r.err.strip()}')
    s.detach()
    Session(m).detach()
    m.end()


def test_new_layout():
    """Agents are asked to leave before the memory is laid out anew, and their text is put back."""
    m = Memory()
    s = Session(m)
    program = m.start('apple', 'pace', '2000', 'emit', '1000000')
    s.wait_events(20, 'events')
    s.detach()
    s = Session(m, '--new')
    s.wait_events(20, 'events')
    s.detach()
    s = Session(m, '--ring-size', '64K', '--mode', 'drop')
    check('keeps its layout' not in s.said(), f'the agent has left {s.said()}')
    time.sleep(0.3)
    check(not s.events() and program.poll() is None, 'it goes on untraced')
    other = m.start('pear', 'pace', '1000', 'emit', '300')
    s.wait_events(300, 'events of a program that came later')
    check(other.wait(60) == 0, 'which has ended')
    s.detach()
    r = rs('attach', '--shm', m.path, '--ring-size', '64K', '--mode', 'drop', '--duration', '0.1')
    check(r.code == 0, f'the same layout is taken up: {r.err}')
    m.end()


def test_a_dead_program_is_no_obstacle():
    m = Memory()
    s = Session(m)
    program = m.start('apple', 'pace', '2000', 'emit', '1000000')
    s.wait_events(5, 'events')
    s.detach()
    program.kill()
    program.wait()
    r = rs('attach', '--shm', m.path, '--new-layout', '--duration', '0.1')
    check(r.code == 0, f'it is laid out anew: {r.err}')
    m.end()


def test_memory_that_is_cut():
    """Somebody shortens the file: session and observers end with a word, not by a signal."""
    m = Memory()
    s = Session(m)
    observer = Background(rs, 'trace', '--json', 'm', ready=lambda: 'm' in rs('ps').out)
    time.sleep(0.5)
    os.truncate(m.path, 0)
    wait_for('the session has ended', lambda: s.process.poll() is not None)
    wait_for('the observer has ended', lambda: observer.process.poll() is not None)
    check(s.process.returncode == 4 and 'cut the memory short' in s.said(), f'a word: {s.process.returncode} {s.said()}')
    check(observer.process.returncode >= 0, f'no signal: {observer.process.returncode}')
    check(rs('ps').out.count('\n') <= 1, 'and no session is left')
    for background in (s, observer):
        background.end(signal.SIGINT)
    m.end()


def test_bad_memory():
    m = Memory()

    def refused(what, *options, path=m.path):
        r = rs('attach', '--shm', path, *options)
        lines = [l for l in r.err.splitlines() if l.startswith('ringside: ')]
        check(r.code == 1 and len(lines) == 1 and re.search(what, r.err), f'one error: {r.err.strip()}')

    refused('No such file', path=m.path + '-not-there')
    refused('not a regular file', path='/dev/null')
    refused('need [0-9]+ KiB', '--cpus', '1000')
    with open(m.path, 'r+b') as f:
        f.write(b'something that somebody needs')
    refused('something else than trace regions')
    with open(m.path, 'r+b') as f:
        f.write(struct.pack('<QHH', 0x5249444753474e52, 9, 0))
    refused('another version')
    with open(m.path, 'r+b') as f:
        f.write(struct.pack('<QHHIQQQQ', 0x5249444753474e52, 1, 0, 64, 1 << 40, 1, 1 << 50, 7))
    refused(m.path)
    r = rs('attach', '--shm', m.path, '--new-layout', '--duration', '0.1')
    check(r.code == 0, f'--new-layout lays it out: {r.err}')
    check(os.stat(m.path).st_size == 4 << 20, 'and its size stays')
    os.truncate(m.path, 100000)
    refused('100000 bytes')
    r = rs('attach', '--cpus', '2')
    check(r.code == 2, 'options of a memory need one')
    m.end()


if __name__ == '__main__':
    run_tests([t for n, t in sorted(globals().items()) if n.startswith('test_')], sys.argv[3:])
