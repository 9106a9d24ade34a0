#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside attach DOMAIN` with Debian's kernel and the module: reboots, panics, the end of QEMU.

    attach_linux.py 6.1|6.12 pc|q35 RINGSIDE RINGSIDE_KO
"""
import os
import re
import signal
import struct
import sys
import tempfile
import time

from harness import Background, Ringside, check, need, wait_for
from libvirt_bed import Bed
from linux_domain import LinuxDomain

SERIES, MACHINE, RINGSIDE, MODULE = sys.argv[1:5]
MARK = 'seen from the ringside'
EVENTS = '-e', 'sched:*', '-e', 'printk:*'
rs = Ringside(os.path.realpath(RINGSIDE))


def panic(domain):
    domain.guest.order(f'echo {MARK} >/dev/kmsg; sleep 0.1; echo c >/proc/sysrq-trigger')


def wait_boot(domain):
    """The machine was reset, and the guest comes up again."""
    domain.guest.connect()
    domain.load()
    wait_for('the session', domain.is_attached)
    domain.more_events()


def flight(directory, *args):
    path = os.path.join(directory, 'flight.ring')
    running = Background(rs, 'record', '-o', path, '--on', 'panic', '--snapshots', '1', *args)
    time.sleep(0.5)
    return running, lambda: [os.path.join(directory, n) for n in os.listdir(directory) if n.startswith('flight.')]


def check_snapshot(running, files, why):
    code, _, said = running.end()
    check(code == 0 and why in said, f'a snapshot is written: {said}')
    file, = files()
    shown = rs('report', file).out
    os.unlink(file)
    return shown


def test_a_reboot_goes_on(domain):
    running = domain.attach(*EVENTS, '-q')
    domain.more_events()
    check('by gdb stub' in domain.stat(), 'text is written through the stub')
    domain.guest.order('reboot -f')
    wait_for('the reset', lambda: 'reset' in running.said())
    check('waiting' in str(rs.sessions()), 'it waits for the next boot')
    wait_boot(domain)
    return running


def owner_of(memory, new=None):
    """Who has the first region, the kernel's, as its claim says. `new` is written there then."""
    with open(memory, 'r+b', buffering=0) as file:
        entries, claims = struct.unpack_from('<QQ', os.pread(file.fileno(), 64, 0), 32)
        generation = os.pread(file.fileno(), 4, entries + 20)
        owner, = struct.unpack('<I', os.pread(file.fileno(), 4, claims))
        if new is not None:
            os.pwrite(file.fileno(), struct.pack('<I', new) + generation, claims)
        return owner


def test_another_guest_on_the_memory_is_noticed(domain):
    """As the guest of a copy of the domain would take the region."""
    xml = domain.bed.virsh('dumpxml', domain.name).stdout
    memory = '/dev/shm/' + re.search("<shmem name='(.*?)'", xml)[1]
    other, left = 0x80000000, 0
    owner = owner_of(memory, other)
    check(owner > other, f'a kernel has a number of its own: {owner:#x}')
    wait_for('word of it', lambda: 'another guest has taken' in domain.guest.sh('dmesg'))
    time.sleep(0.3)
    check(owner_of(memory, left) == other, 'the module keeps out')
    wait_for('the module', lambda: owner_of(memory) == owner)
    domain.more_events()
    check(domain.guest.sh('dmesg').count('another guest has taken') == 1, 'it is back, and said so once')


def test_a_panic_triggers_a_snapshot(domain, running, directory):
    recording = flight(directory)
    panic(domain)
    shown = check_snapshot(*recording, 'panic')
    check(MARK in shown, 'it has what came before')
    check('Trigger a crash' in shown or 'sysrq' in shown, 'up to the panic')
    wait_for('word of it', lambda: 'has panicked' in running.said())
    wait_boot(domain)
    check(running.process.poll() is None, 'the session goes on with the next boot')


def test_a_killed_qemu_triggers_a_snapshot(domain, running, directory):
    recording = flight(directory)
    with open(domain.bed.path('run/libvirt/qemu/run', f'{domain.name}.pid')) as file:
        os.kill(int(file.read()), signal.SIGKILL)
    shown = check_snapshot(*recording, 'crash')
    check('sched:' in shown, 'it has what the rings hold')
    code, _, said = running.end()
    check(code == 4, f'the session ends: {said}')
    wait_for('the domain is off', lambda: domain.guest.state() == 'shut off')


def test_a_crashed_guest_can_be_attached(domain):
    """on_crash preserve: QEMU keeps it, stopped."""
    domain.set_on_crash('preserve')
    domain.start()
    running = domain.attach(*EVENTS, '-q')
    domain.more_events()
    panic(domain)
    wait_for('word of it', lambda: 'has panicked' in running.said())
    wait_for('the domain is crashed', lambda: domain.guest.state() == 'crashed')
    code, _, said = running.end(signal.SIGINT)
    check(code == 0 and domain.guest.state() == 'crashed', f'it detaches, and the domain stays as it is: {said}')
    done = rs('attach', '-c', domain.bed.uri, domain.name, '--duration', '0.5')
    check(done.code == 0 and MARK in done.out, f'a later session finds what the rings hold: {done.err}')
    check(domain.guest.state() == 'crashed', 'and leaves it as it is')
    domain.guest.destroy()


def test_an_end_by_panic(domain):
    domain.set_on_crash('destroy')
    domain.start()
    running = domain.attach(*EVENTS, '--self-patch')
    domain.more_events()
    check('by itself' in domain.stat(), f'the guest patches itself: {domain.stat()}')
    chardevs = domain.bed.virsh('qemu-monitor-command', domain.name, '--hmp', 'info chardev').stdout
    check('gdb' not in chardevs, f"QEMU's gdb stub is off: {chardevs}")
    panic(domain)
    code, out, said = running.end()
    check(code == 4 and 'panicked' in said, f'the session says why it ends: {said}')
    check(MARK in out.decode(errors='replace'), 'and has shown the last events')


def main():
    need('tcg')
    with Bed() as bed, tempfile.TemporaryDirectory(prefix='rs-attach-') as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        domain = LinuxDomain(rs, bed, SERIES, MACHINE, MODULE)
        domain.start()
        running = test_a_reboot_goes_on(domain)
        test_another_guest_on_the_memory_is_noticed(domain)
        test_a_panic_triggers_a_snapshot(domain, running, directory)
        test_a_killed_qemu_triggers_a_snapshot(domain, running, directory)
        test_a_crashed_guest_can_be_attached(domain)
        test_an_end_by_panic(domain)


if __name__ == '__main__':
    main()
