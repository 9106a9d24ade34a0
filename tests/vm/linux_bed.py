#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test bed itself: a domain of a libvirtd of ours boots Debian's kernel, obeys, gets and loses
an ivshmem device, and leaves nothing behind.

    linux_bed.py 6.1|6.12 pc|q35
"""
import glob
import os
import signal
import subprocess
import sys

from harness import check, wait_for
from libvirt_bed import Bed
from linux_guest import Guest

MIB = 1 << 20
WORD = 0x52696e67


def leftovers(token):
    """Processes and files whose names hold the token."""
    found = glob.glob(f'/dev/shm/*{token}*') + glob.glob(f'/tmp/*{token}*')
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(path, 'rb') as file:
                if token.encode() in file.read():
                    found.append(path)
        except OSError:
            pass  # it has ended
    return found


def test_a_guest_obeys(guest, series):
    check(guest.sh('uname -r').startswith(series + '.'), f'a kernel of {series}')
    check(guest.sh('nproc') == '2\n', 'two CPUs')
    check(guest.run('echo out; echo err >&2; exit 3') == (3, 'out\nerr\n'), 'status and output')
    data = os.urandom(300000)
    guest.put('/tmp/a/b', data)
    check(guest.get('/tmp/a/b') == data, 'a file comes and goes unchanged')
    check(guest.run('cat') == (0, ''), 'a command has no input')
    clocks = guest.sh('cat /sys/kernel/tracing/trace_clock')
    check('x86-tsc' in clocks, 'ftrace has the clock that our events have')


def test_a_device_comes_and_goes(guest, size):
    check(guest.ivshmem() == {}, 'no device')
    path = guest.attach_shmem(size)
    (address, bar), = wait_for('the device', guest.ivshmem).items()
    check(bar == size * MIB, f'a BAR of {size} MiB at {address}')
    with open(path, 'r+b') as file:
        file.seek(size * MIB - 4)
        file.write(WORD.to_bytes(4, 'little'))
    seen = guest.sh(f'''cd /sys/bus/pci/devices/{address}
        echo 1 >enable
        set -- $(sed -n 3p resource)
        devmem $(($1 + {size * MIB - 4}))''')
    check(int(seen, 16) == WORD, 'the guest reads what the host wrote')
    guest.detach_shmem(size)
    wait_for('no device', lambda: not guest.ivshmem())
    os.unlink(path)
    guest.attach_shmem(size)
    wait_for('the device again', guest.ivshmem)
    check(guest.state() == 'running', 'the guest runs on')


def test_a_reboot(guest):
    guest.sh('echo 1 >/tmp/before')
    guest.bed.virsh('reset', guest.name)
    guest.connect()
    check(guest.run('test -e /tmp/before')[0] == 1, 'a new boot')


def test_nothing_is_left_of_a_test_that_was_killed():
    victim = subprocess.Popen([sys.executable, __file__, 'victim'], stdout=subprocess.PIPE, text=True)
    token = victim.stdout.readline().strip()
    check(len(leftovers(token)) > 2, f'a test is at work: {leftovers(token)}')
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    wait_for('an end', lambda: not leftovers(token))


def be_killed():
    with Bed() as bed:
        Guest(bed, name='victim', shmem=1, start=False)
        bed.virsh('start', f'{bed.token}-victim')
        print(bed.token, flush=True)
        signal.pause()


def main(series, machine):
    with Bed() as bed:
        guest = Guest(bed, series, machine=machine)
        test_a_guest_obeys(guest, series)
        test_a_device_comes_and_goes(guest, size=16 if machine == 'q35' else 4)
        test_a_reboot(guest)
        token = bed.token
    check(leftovers(token) == [], 'nothing is left')
    if series == '6.1':
        test_nothing_is_left_of_a_test_that_was_killed()


if __name__ == '__main__':
    be_killed() if sys.argv[1] == 'victim' else main(*sys.argv[1:])
