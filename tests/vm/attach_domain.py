#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside attach DOMAIN`: sessions on a domain of libvirt, and what happens to it meanwhile.

    attach_domain.py RINGSIDE GUEST [TEST…]
"""
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time

from demo_domain import Domain
from harness import Ringside, check, need, run_tests, wait_for
from libvirt_bed import Bed, daemon_of, restart_daemon

RINGSIDE, GUEST = map(os.path.realpath, sys.argv[1:3])
SESSIONS = 12
HANGS = 6
rs = Ringside(RINGSIDE)


def test_a_session_leaves_the_domain_as_it_was(domain):
    running = domain.session()
    stat = rs('stat', domain.name).out
    check('by gdb stub' in stat, f'text is written through the stub: {stat}')
    check(domain.stub(), 'which is on')
    source, = rs.sessions()[0]['sources']
    stated, = json.loads(rs('stat', '--json', domain.name).out)['sources']
    for told in source, stated:
        check((told['domain'], told['uri']) == (domain.name, domain.bed.uri) and told['uuid'] in
              domain.bed.virsh('domuuid', domain.name).stdout, f'whose session it is: {told}')
    listed = json.loads(rs('prepare', '--list', '--json', '-c', domain.bed.uri).out)
    ours, = [each for each in listed['domains'] if each['domain'] == domain.name]
    check(listed['uri'] == domain.bed.uri and ours['uuid'] == source['uuid'] and ours['device'] and
          (ours['state'], ours['session']) == ('running', rs.sessions()[0]['name']), f'and it is listed so: {ours}')
    again = rs('attach', '-c', domain.bed.uri, domain.name)
    check(again.code == 1 and 'already' in again.err, again.err)
    code, _, said = running.end(signal.SIGQUIT)
    check(code == 0, f'it detaches, with Ctrl-\\ as with Ctrl-C: {said}')
    check(domain.state() == 'running' and not domain.stub(), 'the guest runs, and the stub is off')
    check(rs.sessions() == [], 'nothing is left of the session')


def test_a_reboot_and_an_end_are_followed(domain):
    running = domain.session()
    domain.bed.virsh('reset', domain.name)
    wait_for('the reset', lambda: 'reset' in running.said())
    domain.more_events()
    domain.destroy()
    code, _, said = running.end()
    check(code == 4 and 'it was forced off' in said, f'the session has ended, and says why: {said}')
    check('could not go on' not in said, 'as its owner wished, not by a fault')


def test_a_killed_session_is_put_right(domain):
    running = domain.session()
    running.end(signal.SIGKILL)
    check([s['state'] for s in rs.sessions()] == ['lost'], 'the session is lost')
    check(domain.state() == 'running', 'the guest is not paused')
    # By the session's name: the daemon is found again without -c.
    done = rs('attach', domain.name, '-e', 'sched:*', '-n', '5', '--new')
    check(done.code == 0 and done.out.count('sched:') >= 5, f'it is taken up again: {done}')
    check(not domain.stub() and rs.sessions() == [], 'and nothing is left')


def test_a_killed_session_of_an_ended_domain_goes(domain):
    for verb, code in ('stop', 0), ('attach', 1):
        domain.session().end(signal.SIGKILL)
        domain.destroy()
        done = rs(verb, domain.name)
        check(done.code == code and rs.sessions() == [], f'{verb}: nothing of it is left: {done}')
        files = [name for name in os.listdir(os.environ['XDG_RUNTIME_DIR'] + '/ringside') if domain.name in name]
        check(not files, f'no file either: {files}')


def test_what_cannot_be_attached(domain):
    for args, code, said in (
            (['-c', domain.bed.uri, 'nobody'], 3, "no domain 'nobody'"),
            (['-c', domain.bed.uri, domain.name], 1, 'does not run'),
            (['-c', 'qemu+ssh://elsewhere/system', 'x'], 1, 'on another host'),
            (['-c', domain.bed.uri], 2, 'for a domain'),
            ([], 2, 'which session or domain?'),
            ([domain.name, '--self-patch', '--qmp', '/x'], 2, 'either a session'),
            (['--prepare', '--shm', '/x'], 2, 'for a domain')):
        done = rs('attach', *args)
        check(done.code == code and said in done.err, f'{args}: {done.code} {done.err}')
    done = rs('attach', 'nobody')
    unsure = 'is not known' in done.err  # this machine has no daemon of its own
    check(done.code == (1 if unsure else 3) and "no session 'nobody'" in done.err, done.err)
    done = rs('prepare', '-c', domain.bed.uri, '--remove', domain.name)
    check(done.code == 0, f'the device is taken away {done.err}')
    domain.bed.virsh('start', '--paused', domain.name)
    done = rs('attach', '-c', domain.bed.uri, domain.name)
    check(done.code == 1 and "'ringside prepare' adds it" in done.err, done.err)
    domain.destroy()
    check(rs('prepare', '-c', domain.bed.uri, domain.name).code == 0, 'it is prepared again')


def test_a_copy_of_a_domain_gets_memory_of_its_own(domain):
    """Two guests on one memory would spoil each other's trace."""
    copy, uri = f'{domain.name}-copy', domain.bed.uri
    xml = domain.bed.virsh('dumpxml', '--inactive', domain.name).stdout
    memory = re.search("<shmem name='(.*?)'", xml)[1]
    path = domain.bed.path('shared', 'copy.xml')
    with open(path, 'w') as file:
        file.write(re.sub('<uuid>.*</uuid>', '', xml.replace(f'<name>{domain.name}<', f'<name>{copy}<')))
    domain.bed.virsh('define', path)
    domain.bed.virsh('start', '--paused', copy)
    try:
        for verb in 'prepare', 'attach':
            done = rs(verb, '-c', uri, copy)
            check(done.code == 1 and 'another domain' in done.err and memory in done.err, f'{verb}: {done}')
    finally:
        domain.bed.virsh('destroy', copy)
    removed = rs('prepare', '-c', uri, '--remove', copy)
    check(removed.code == 0 and os.path.exists(f'/dev/shm/{memory}'), f'the memory stays with the first: {removed}')
    done = rs('prepare', '-c', uri, copy)
    own = re.search("<shmem name='(.*?)'", domain.bed.virsh('dumpxml', '--inactive', copy).stdout)[1]
    check(done.code == 0 and own != memory, f'the copy has its own {done}')
    domain.bed.virsh('undefine', copy)


def test_a_domain_is_saved_and_restored(domain):
    running = domain.session()
    state = domain.bed.path('shared', 'state')
    domain.bed.virsh('save', domain.name, state)
    code, _, said = running.end()
    check(code == 4 and 'it was saved' in said, f'the session ends, and says why: {said}')
    domain.bed.virsh('restore', state)
    running = domain.attach('-e', 'sched:*', '-q', '--new')
    domain.more_events()
    code, _, said = running.end(signal.SIGINT)
    check(code == 0 and domain.state() == 'running' and not domain.stub(), f'the next one goes on and detaches: {said}')


def test_each_session_lets_the_guest_go_on(domain):
    """libvirt tells that the guest stands still, and answers questions, in any order."""
    domain.session().end(signal.SIGINT)
    for _ in range(SESSIONS):
        done = rs('attach', '-c', domain.bed.uri, domain.name, '-e', '*', '-n', '10', '--new', '--text', '/dev/null')
        check(done.code == 0 and domain.state() == 'running', f'it runs on: {done.err.splitlines()[-2:]}')


def test_somebody_else_pauses_and_resumes(domain):
    """What was theirs stays theirs, and a guest that they let run on runs on after us."""
    running = domain.session()
    virsh = domain.bed.virsh

    def shown():
        return next(s['state'] for s in rs.sessions() if s['name'] == domain.name)

    virsh('suspend', domain.name)
    wait_for('word of their pause', lambda: shown() == 'paused')
    check(rs('disable', '-s', domain.name, 'sched:*').code == 0, 'text is patched meanwhile')
    check(domain.state() == 'paused', 'and it stays paused')
    resumed = rs('resume', domain.name)
    check(resumed.code == 1 and 'somebody else' in resumed.err, f'it is not ours to resume: {resumed.err}')
    check(rs('pause', domain.name).code == 0, 'we pause it, too')
    virsh('resume', domain.name)
    wait_for('word of it', lambda: shown() == 'running')
    check(domain.state() == 'running', 'they let it run on, and so do we')
    check(rs('enable', '-s', domain.name, 'sched:*').code == 0, 'events are on again')
    domain.more_events()

    def snapshot(name):
        place = domain.bed.path('shared', f'{name}.memory')
        virsh('snapshot-create-as', domain.name, name, '--memspec', f'file={place},snapshot=external')

    snapshot('one')
    wait_for('events to be switched after a snapshot', lambda: rs('disable', '-s', domain.name, 'sched:*').code == 0)
    check(domain.state() == 'running' and rs('enable', '-s', domain.name, 'sched:*').code == 0, 'and it runs')
    virsh('suspend', domain.name)
    snapshot('two')
    check(rs('disable', '-s', domain.name, 'sched:*').code == 0, 'after a snapshot of a paused one, too')
    check(domain.state() == 'paused' and rs('enable', '-s', domain.name, 'sched:*').code == 0, 'and it stays paused')
    check(rs('pause', domain.name).code == 0, 'both pause it')
    virsh('resume', domain.name)
    code, _, said = running.end(signal.SIGINT)
    check(code == 0 and domain.state() == 'running' and not domain.stub(), f'after a detach it runs: {said}')


def test_a_daemon_that_hangs_leaves_no_guest_paused(domain):
    """It answers late, or in another order than things have happened, at any moment of a pause."""
    running, daemon = domain.session(), daemon_of(domain.bed)
    for i in range(HANGS):
        switching = rs.start('enable' if i % 2 else 'disable', '-s', domain.name, 'sched:*', stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        time.sleep(i * 0.004)
        os.kill(daemon, signal.SIGSTOP)
        time.sleep(2.3)
        os.kill(daemon, signal.SIGCONT)
        switching.wait()
        wait_for('the guest to run', lambda: domain.state() == 'running')
    check(rs('enable', '-s', domain.name, 'sched:*').code == 0, 'events are switched again')
    domain.more_events()
    code, _, said = running.end(signal.SIGINT)
    check(code == 0 and domain.state() == 'running', f'it detaches: {said}')


def test_two_domains_at_once(domain):
    other = Domain(rs, domain.bed, GUEST, 'other')
    try:
        running = domain.session(), other.session()
        check(len(rs.sessions()) == 2, 'each has a session')
        unsaid = rs('list')
        check(unsaid.code and domain.name in unsaid.err and other.name in unsaid.err, f'names are asked for: {unsaid.err}')
        code, _, said = running[1].end(signal.SIGINT)
        check(code == 0 and other.state() == 'running', f'one ends {said}')
        domain.more_events()
        code, _, said = running[0].end(signal.SIGINT)
        check(code == 0 and domain.state() == 'running', f'and then the other {said}')
    finally:
        other.destroy()


def test_the_daemon_goes_and_comes(domain):
    """The last one: then there is no daemon."""
    running = domain.session()
    daemon = restart_daemon(domain.bed)
    next(daemon)
    wait_for('word of it', lambda: 'has gone away' in running.said())
    domain.more_events()
    check(rs('disable', '-s', domain.name, 'sched:*').code == 0, 'events are switched off without it')
    check(rs('enable', '-s', domain.name, 'sched:*').code == 0, 'and on')
    domain.more_events()
    next(daemon)
    wait_for('word of its return', lambda: 'there again' in running.said())
    check(rs('disable', '-s', domain.name, 'sched:*').code == 0, 'events are switched off then')
    check(rs('enable', '-s', domain.name, 'sched:*').code == 0, 'and on')
    domain.more_events()
    code, _, said = running.end(signal.SIGINT)
    check(code == 0 and domain.state() == 'running' and not domain.stub(), f'it detaches: {said}')
    domain.destroy()
    next(daemon, None)


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
