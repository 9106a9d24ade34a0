#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A long run at full speed, with verbs, kills and reconnects all the while.

    soak.py RINGSIDE DEMO_GUEST HOSTED_DEMO MINUTES [SEED]

Three sessions run as long as that: a guest on KVM that floods its rings, a guest in QEMU TCG whose
session is killed and attached again, and a hosted program that is killed and started again.
Clients come, go, stop and are killed. At the end, and between two cycles of ten seconds:

- the memory and the open descriptors of hosts and guests must not have grown,
- what the observer of the flood was shown and what it lost must be all that was emitted,
- the text of guests and programs must be that of their files again.

Exits with 1 if one of them is not so. Without KVM or QEMU it runs without that guest, and says so.
"""
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../vm'))
from harness import KVM, Background, Flood, Ringside, wait_for  # noqa: E402
from memory import Memory, changed_text  # noqa: E402

CYCLE = 10  # seconds
WORKERS = 3
PATIENCE = 30
# A series that is longer than this is judged. Its first quarter is for caches and pools to fill.
JUDGED = 12
MORE_MEMORY = 8 << 10  # KiB that are no growth

failures = []


def fail(what):
    failures.append(what)
    print('FAILED:', what, flush=True)


class Lane:
    """One session, and what it runs."""

    def __init__(self, rs, name, program, options, toggles):
        self.rs, self.name, self.program, self.options, self.toggles = rs, name, program, options, toggles
        self.lock = threading.RLock()  # held while the session is away
        self.kills = 0
        self.run = None

    def start(self, *verb):
        verb = verb or ('run', '--name', self.name, *self.options)
        self.run = Background(self.rs, *verb, ready=lambda: self.rs('list', '-q', '-s', self.name).out)

    def kill(self, rng):
        """Does what this lane survives."""

    def child(self):
        tasks = f'/proc/{self.run.process.pid}/task'
        for task in os.listdir(tasks):
            with open(f'{tasks}/{task}/children') as f:
                for pid in map(int, f.read().split()):
                    return pid
        raise AssertionError(f'{self.name} has no child')

    def processes(self):
        """What is watched, as name and pid."""
        return {f'{self.name}: session': self.run.process.pid}

    def machine(self):
        """The process whose memory holds the guest, and the guest's file."""
        return Memory(self.run.process.pid, 'memfd:ringside-ram')

    def check_alive(self):
        code = self.run.process.poll()
        if code is not None:
            fail(f'{self.name} ended with {code}: {self.run.said()[-400:]}')
            self.start()

    def finish(self):
        self.rs('enable', '-s', self.name, '*')
        if not changed_text(self.program, self.machine()):
            fail(f'{self.name}: all events are on, but no text is patched')
        for owner in [], ['--owner', 'soak']:
            self.rs('disable', '-s', self.name, *owner, '*')
        machine = self.machine()
        changed = changed_text(self.program, machine)
        if changed:
            fail(f'{self.name}: {len(changed)} bytes of text differ, the first at {changed[0]:#x}')
        else:
            print(f'{self.name}: the text is that of its file')
        stopped = self.rs('stop', self.name)
        if stopped.code:
            fail(f'{self.name}: stop: {stopped}')
        self.run.end(timeout=PATIENCE)


class Killed(Lane):
    """A guest in QEMU outlives its session, which is killed and attached again."""

    def start(self, *verb):
        super().start(*verb)
        if not verb:
            self.qemu = self.child()

    def kill(self, rng):
        with self.lock:
            time.sleep(rng.random())
            self.run.end(signal.SIGKILL)
            self.kills += 1
            self.start('attach', '-q', self.name)

    def processes(self):
        return {**super().processes(), f'{self.name}: QEMU': self.qemu}

    def machine(self):
        return Memory(self.qemu, 'memfd:guest RAM')


class Hosted(Lane):
    """A program is killed, which ends its session. Both are started again."""

    def kill(self, rng):
        with self.lock:
            time.sleep(rng.random())
            os.kill(self.child(), signal.SIGKILL)
            self.kills += 1
            self.run.end(timeout=PATIENCE)
            self.start()

    def processes(self):
        return {**super().processes(), f'{self.name}: program': self.child()}

    def machine(self):
        return Memory(self.child(), self.program)


class Crowd:
    """Users in a hurry: verbs, and clients of all manners."""

    def __init__(self, rs, lanes, rng, until):
        self.rs, self.lanes, self.rng, self.until = rs, lanes, rng, until
        self.verbs = 0

    def verb(self, lane, *args):
        r = self.rs(args[0], '-s', lane.name, *args[1:])
        self.verbs += 1
        if r.code:
            fail(f'{lane.name}: {" ".join(args)}: {r.code} {r.err[-200:].strip()}')

    def look(self, lane):
        self.verb(lane, *self.rng.choice([['list'], ['list', '--json'], ['list', '--providers'], ['stat'],
                                          ['stat', '--json'], ['format', lane.toggles[0]]]))

    def toggle(self, lane):
        glob = self.rng.choice(lane.toggles)
        for verb in 'enable', 'disable':
            self.verb(lane, verb, '--owner', 'soak', glob)

    def filter(self, lane):
        glob = self.rng.choice(lane.toggles)
        self.verb(lane, 'filter', '--owner', 'soak', f'{glob}: PID > {self.rng.randrange(9)}')
        self.verb(lane, 'filter', '--owner', 'soak', '-c', glob)

    def watch(self, lane):
        """A client that ends, is killed, or is stopped for a while."""
        options = self.rng.choice([['--count', '50'], ['--json'], []])
        how = self.rng.choice([signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
        client = self.rs.start('trace', lane.name, '--duration', '5', *options, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        time.sleep(self.rng.random())
        if self.rng.random() < 0.3:
            client.send_signal(signal.SIGSTOP)
            time.sleep(self.rng.random())
            client.send_signal(signal.SIGCONT)
        client.send_signal(how)
        client.wait(PATIENCE)

    def work(self):
        while time.monotonic() < self.until:
            lane = self.rng.choice(self.lanes)
            act = self.rng.choice([self.look, self.look, self.toggle, self.filter, self.watch])
            with lane.lock:
                act(lane)


class Audit:
    """An observer of the flood that checks what it is shown."""

    def __init__(self, rs, lane, seconds):
        self.client = rs.start('trace', lane.name, '--duration', str(seconds), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.flood = Flood()
        self.thread = threading.Thread(target=self.flood.read, args=[self.client.stdout])
        self.thread.start()

    def end(self):
        code = self.client.wait(CYCLE + PATIENCE)
        self.thread.join()
        said = self.client.stderr.read().decode(errors='replace')
        self.client.stdout.close()
        self.client.stderr.close()
        for wrong in self.flood.wrong:
            fail(wrong)
        if code or not self.flood.events:
            fail(f'the observer of the flood: {self.flood.events} events, code {code}, {said[-300:]}')
        return self.flood.events, sum(self.flood.lost.values())


def anonymous_kib(pid):
    with open(f'/proc/{pid}/status') as f:
        return int(re.search(r'^RssAnon:\s+(\d+)', f.read(), re.M)[1])


def descriptors(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


class Growth:
    """Memory and descriptors of all that runs, at rest."""

    def __init__(self):
        self.series = {}  # name → [(KiB, descriptors)]

    def take(self, lanes):
        for lane in lanes:
            for name, pid in lane.processes().items():
                self.series.setdefault(name, []).append((anonymous_kib(pid), descriptors(pid)))

    def judge(self):
        for name, series in self.series.items():
            quarter = len(series) // 4
            early = [statistics.median(column) for column in zip(*series[quarter:2 * quarter + 1])]
            late = [statistics.median(column) for column in zip(*series[-quarter - 1:])]
            print(f'{name}: {early[0] / 1024:.1f} MiB, then {late[0] / 1024:.1f}; '
                  f'{early[1]:.0f} descriptors, then {late[1]:.0f}')
            if len(series) < JUDGED:
                continue
            if late[0] > early[0] * 1.1 + MORE_MEMORY:
                fail(f'{name} grows')
            if late[1] > early[1] + 1:
                fail(f'{name} keeps descriptors')


def quiet(rs, lanes):
    """Waits until the sessions have dropped the clients that left."""
    for lane in lanes:
        wait_for('a stat', lambda: rs('stat', '-s', lane.name).code == 0, PATIENCE)
    time.sleep(0.3)


def soak(rs, demo, hosted, minutes, seed):
    rng = random.Random(seed)
    flood = Lane(rs, 'flood', demo, ['--accel', 'kvm', '-q', '--append', 'flood', '-e', 'load:flood', demo],
                 ['sched:*', 'mm:*', 'irq:*'])
    killed = Killed(rs, 'killed', demo, ['--accel', 'tcg', '-q', '-e', 'sched:*', demo], ['*', 'mm:*', 'compute:*'])
    program = Hosted(rs, 'program', hosted, ['-q', '--hosted', hosted, str(minutes * 60 + 3600)], ['*'])
    lanes = ([flood] if KVM else []) + ([killed] if shutil.which('qemu-system-x86_64') else []) + [program]
    growth, verbs, events, lost, cycles = Growth(), 0, 0, 0, 0
    begun = time.monotonic()

    print(f'seed {seed}; sessions: {", ".join(l.name for l in lanes)}', flush=True)
    for lane in lanes:
        lane.start()
    while time.monotonic() < begun + minutes * 60:
        until = time.monotonic() + CYCLE
        audit = Audit(rs, flood, CYCLE - 2) if flood in lanes else None
        crowd = [Crowd(rs, lanes, random.Random(rng.random()), until) for _ in range(WORKERS)]
        threads = [threading.Thread(target=worker.work) for worker in crowd]
        for thread in threads:
            thread.start()
        try:
            for lane in rng.sample(lanes, len(lanes)):
                if rng.random() < 0.5:
                    lane.kill(rng)
        finally:
            for thread in threads:
                thread.join()
            if audit:
                more = audit.end()
                events, lost = events + more[0], lost + more[1]
        for lane in lanes:
            lane.check_alive()
        quiet(rs, lanes)
        growth.take(lanes)
        verbs, cycles = verbs + sum(w.verbs for w in crowd), cycles + 1
        print(f'{(time.monotonic() - begun) / 60:.1f} min: {verbs} verbs, {sum(l.kills for l in lanes)} kills, '
              f'{events} events seen, {lost} lost, {len(failures)} failures', flush=True)
    for lane in lanes:
        lane.finish()
    growth.judge()


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    ringside, demo, hosted = (os.path.abspath(path) for path in sys.argv[1:4])
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(1 << 30)
    with tempfile.TemporaryDirectory(prefix='rs-soak-') as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        rs = Ringside(ringside)
        try:
            soak(rs, demo, hosted, float(sys.argv[4]), seed)
        finally:
            for name in 'flood', 'killed', 'program':
                rs('stop', name)
    print('failed' if failures else 'held', flush=True)
    sys.exit(1 if failures else 0)


main()
