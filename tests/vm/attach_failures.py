#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What can go wrong with `ringside attach DOMAIN`: each failure of docs/attach.md.

    attach_failures.py RINGSIDE GUEST [TEST…]
"""
import functools
import glob
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

from demo_domain import Domain
from harness import Ringside, check, need, run_tests, wait_for
from libvirt_bed import Bed

RINGSIDE, GUEST = map(os.path.realpath, sys.argv[1:3])
MIB = 1 << 20
KILLS = 30
RESETS = 10
OTHER_USER = 'daemon'
rs = Ringside(RINGSIDE)


def memory_of(domain):
    path, = glob.glob(f'/dev/shm/*{domain.name}*')
    return path


def refused(domain, what, *args):
    done = rs('attach', '-c', domain.bed.uri, domain.name, *args)
    check(done.code == 1 and what in done.err and done.err.count('\n') == 1, f'one line: {done.err.strip()}')


def test_whoever_may_not(domain):
    if os.getuid() != 0 or not shutil.which('setpriv'):
        print('left out: it takes root and setpriv')
        return
    done = subprocess.run(['setpriv', f'--reuid={OTHER_USER}', f'--regid={OTHER_USER}', '--clear-groups', RINGSIDE, 'attach',
                           '-c', domain.bed.uri, domain.name], capture_output=True, text=True,
                          env={**os.environ, 'XDG_RUNTIME_DIR': '/tmp'})
    check(done.returncode == 1 and 'refuses you' in done.stderr and done.stderr.count('\n') == 1, done.stderr.strip())


def test_a_guest_without_an_agent(domain):
    """The demo guest looks for its region when it boots, and finds none."""
    domain.bed.virsh('start', domain.name)
    time.sleep(3)
    done = rs('attach', '-c', domain.bed.uri, domain.name, '-e', 'sched:*', '--duration', '0.5')
    check(done.code == 0 and 'is the module ringside loaded in the guest?' in done.err, f'it says so: {done.err}')


def test_an_agent_of_another_version(domain):
    running = domain.session()
    running.end(signal.SIGINT)
    path = memory_of(domain)
    with open(path, 'r+b') as file:
        data = file.read()
        at = data.index(b'RISGUEST')
        file.seek(at + 8)
        file.write(struct.pack('<HH', 77, 0))
    refused(domain, 'version', '-q')
    check(domain.state() == 'running' and not domain.stub(), 'the guest runs, and the stub is off')


def test_memory_of_a_wrong_size(domain):
    domain.bed.virsh('start', '--paused', domain.name)
    path = memory_of(domain)
    size = os.path.getsize(path)
    os.truncate(path, MIB)
    refused(domain, "smaller than the device's memory")
    os.truncate(path, size)
    with open(path, 'r+b') as file:
        file.write(b'a diary')
    refused(domain, 'holds something else than trace regions: --new-layout overwrites it')
    done = rs('attach', '-c', domain.bed.uri, domain.name, '--new-layout', '--duration', '0.1')
    check(done.code == 0, f'which it does {done.err}')


def enabled(domain):
    done = rs('enable', '-s', domain.name, 'sched:*')
    print('enabled:', done.code, done.err)
    return done.code == 0


def test_resets_while_text_is_patched(domain):
    running = domain.session()
    stop = threading.Event()

    def switch():
        while not stop.is_set():
            rs('enable', '-s', domain.name, '*')
            rs('disable', '-s', domain.name, '*')
    switcher = threading.Thread(target=switch)
    switcher.start()
    for _ in range(RESETS):
        time.sleep(random.uniform(0, 0.7))
        domain.bed.virsh('reset', domain.name)
    stop.set()
    switcher.join()
    check(running.process.poll() is None and domain.state() == 'running', f'both are there: {running.said()[-500:]}')
    wait_for('events that are switched on, also if the last reset comes only now', lambda: enabled(domain))
    domain.more_events()
    # A reset while text is written makes refusals: those belong to a boot that is over.
    before = len(running.said())
    code, _, said = running.end(signal.SIGINT)
    check(code == 0 and not re.search('cannot|refused|not put back', said[before:]), f'it detaches: {code} {said[-500:]}')


def switch_for_ever(domain):
    """Text is patched all the time."""
    return subprocess.Popen(['sh', '-c', 'while :; do "$0" enable -s "$1" "*"; "$0" disable -s "$1" "*"; done', RINGSIDE,
                             domain.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def is_marked(domain):
    """Whether the session says in its file that it has stopped the guest, or is about to."""
    try:
        with open(os.path.join(os.environ['XDG_RUNTIME_DIR'], 'ringside', f'{domain.name}@1.pause'), 'rb') as file:
            return file.read(1) == b'1'
    except OSError:
        return False


def await_moment(domain, session, turn):
    """Any, or one at which the guest stands still."""
    until = time.monotonic() + (random.uniform(0.05, 0.9) if turn % 2 else 3)
    while time.monotonic() < until and session.poll() is None and (turn % 2 or not is_marked(domain)):
        time.sleep(0.0001)


def test_a_killed_session_leaves_no_guest_paused(domain):
    """At any moment: while it attaches, patches, and lets the guest go on."""
    domain.session().end(signal.SIGINT)
    switcher = switch_for_ever(domain)
    lost = paused = 0
    try:
        for turn in range(KILLS):
            session = rs.start('attach', '-c', domain.bed.uri, domain.name, '-q', stderr=subprocess.PIPE, text=True)
            await_moment(domain, session, turn)
            session.kill()
            said = session.communicate()[1]
            check('paused' not in said, f'killed: {said.strip()}')
            paused += domain.state() == 'paused'
            wait_for('the guest, which goes on', lambda: domain.state() == 'running')
            # One that has left nothing to be put right is shown as dead, and is gone by that.
            if [s for s in rs.sessions() if s['state'] != 'dead']:
                lost += 1
                done = rs('stop', domain.name)
                check(done.code == 0 and rs.sessions() == [] and not domain.stub(), f'it is put right {done.err}')
    finally:
        os.killpg(switcher.pid, signal.SIGKILL)
        switcher.wait()
    print(f'{lost} of {KILLS} sessions had begun, and the guest was seen paused {paused} times')
    check(lost > KILLS / 4, 'enough of them')
    running = domain.attach('-e', 'sched:*', '-q')
    domain.more_events()
    check(running.end(signal.SIGINT)[0] == 0 and domain.state() == 'running', 'the guest can be traced as before')


def test_a_killed_qemu(domain):
    running = domain.session()
    with open(domain.bed.path('run/libvirt/qemu/run', f'{domain.name}.pid')) as file:
        os.kill(int(file.read()), signal.SIGKILL)
    code, _, said = running.end()
    check(code == 4 and 'QEMU process went away' in said, f'the session ends, and says why: {said}')
    check(rs.sessions() == [], 'and nothing is left of it')


def bound(test, domain):
    @functools.wraps(test)
    def run():
        test(domain)
    return run


def main():
    need('tcg')
    with Bed() as bed:
        domain = Domain(rs, bed, GUEST)
        tests = [t for n, t in list(globals().items()) if n.startswith('test_')]
        run_tests([bound(test, domain) for test in tests], sys.argv[3:], after=domain.destroy)


if __name__ == '__main__':
    main()
