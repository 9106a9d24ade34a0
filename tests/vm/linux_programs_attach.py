#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of a Linux guest with the module run on while sessions come and go.

    linux_programs_attach.py 6.1|6.12 pc|q35 RINGSIDE RINGSIDE_KO JOIN_STATIC

No program runs as root. A session ends, another one is killed, and a third one lays the memory out
anew.
"""
import os
import signal
import sys
import tempfile

from harness import Background, Ringside, check, skip, wait_for
from libvirt_bed import Bed
from linux_guest import Guest

SERIES, MACHINE, RINGSIDE, MODULE, JOIN = sys.argv[1:]
rs = Ringside(os.path.realpath(RINGSIDE))
MIB = 16
NAMES = ['one', 'three', 'two']
USERS = '''mkdir -p /etc /tmp; chmod 755 /; chmod 1777 /tmp
echo nobody:x:65534:65534::/:/bin/sh >/etc/passwd
echo nogroup:x:65534: >/etc/group
insmod /ringside.ko
'''


def start(guest, name):
    guest.sh(f'''su nobody -s /bin/sh -c 'RINGSIDE_DEBUG=1 /bin/hosted-join-static {name} pace 10000 emit 1000000 \
        >/tmp/{name} 2>&1 </dev/null &' ''')


def said_by(guest, name):
    return guest.get(f'/tmp/{name}').decode()


def attach(*args):
    return Background(rs, 'attach', *args, '--json', '-e', 'join:*', ready=lambda: rs('stat', 'm').code == 0)


def live():
    return sorted(p['source'] for p in rs.json('list', '--providers', 'm') if p['state'] == 'live' and p['pid'])


def wait_for_events(session, names):
    def all_of_them():
        text = session.read(session.out)
        return all(text.count(f'"who":"{name}"'.encode()) > 20 for name in names)
    wait_for(f'events of {names}', all_of_them)


def test_no_directory_yet(guest):
    start(guest, 'early')
    why = wait_for('why not', lambda: said_by(guest, 'early'))
    check('has no memory for traces (yet)' in why, f'a program before the first session is untraced: {why.strip()}')
    guest.sh('kill $(pidof hosted-join-static)')


def test_sessions_come_and_go(guest, memory):
    session = attach(*memory)
    wait_for('the module', lambda: 'the host answers' in guest.sh('dmesg'))
    for name in NAMES:
        start(guest, name)
    wait_for('all of them', lambda: live() == NAMES)
    wait_for_events(session, NAMES)
    check(session.end(signal.SIGINT)[0] == 0, 'a session ends')
    session = attach(*memory)
    wait_for('all of them again', lambda: live() == NAMES)
    wait_for_events(session, NAMES)
    session.end(signal.SIGKILL)
    session = attach('m')
    wait_for('all of them after a session was killed', lambda: live() == NAMES)
    wait_for_events(session, NAMES)
    guest.sh('kill -9 $(pidof hosted-join-static)')
    wait_for('the list without the killed', lambda: not live())
    check(session.end(signal.SIGINT)[0] == 0, 'programs are killed, and the session ends')


def test_a_new_layout(guest, memory):
    session = attach(*memory)
    start(guest, 'before')
    wait_for('one', lambda: live() == ['before'])
    check(session.end(signal.SIGINT)[0] == 0, 'a session ends')
    session = attach(*memory, '--ring-size', '128K')
    start(guest, 'after')
    wait_for('another', lambda: live() == ['after'])
    wait_for_events(session, ['after'])
    check(guest.sh('pidof hosted-join-static').count(' ') == 1, 'the program of the old layout lives on, untraced')
    check(session.end(signal.SIGINT)[0] == 0, 'the session ends')


def main():
    if not os.path.getsize(MODULE):
        skip(f'{MODULE} was not built: its kernel or a compiler is missing')
    with tempfile.TemporaryDirectory() as d, Bed() as bed:
        os.environ['XDG_RUNTIME_DIR'] = d
        guest = Guest(bed, SERIES, machine=MACHINE, shmem=MIB,
                      files={'/ringside.ko': MODULE, '/bin/hosted-join-static': JOIN})
        guest.sh(USERS)
        memory = '--shm', f'/dev/shm/{guest.shm}', '--name', 'm'
        test_no_directory_yet(guest)
        test_sessions_come_and_go(guest, memory)
        test_a_new_layout(guest, memory)
        said = guest.sh('dmesg')
        check(not any(word in said for word in ('BUG', 'WARNING', 'Oops', 'Call Trace')), 'the kernel is well')


main()
