#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ringside prepare, with a Linux guest that takes the device while it runs.

    prepare.py 6.1|6.12 pc|q35 RINGSIDE
"""
import json
import os
import subprocess
import sys

from harness import PATIENCE, check, wait_for
from libvirt_bed import Bed
from linux_guest import Guest

MIB = 1 << 20
SERIES, MACHINE, RINGSIDE = sys.argv[1:4]


class Prepare:
    """The command, on one domain."""

    def __init__(self, guest):
        self.guest = guest

    def run(self, *args):
        return subprocess.run([RINGSIDE, 'prepare', *args], capture_output=True, text=True, timeout=2 * PATIENCE,
                              stdin=subprocess.DEVNULL, env=self.guest.bed.env)

    def __call__(self, *args, code=0):
        """What it says as JSON: the changes by their definition, and the files."""
        done = self.run(self.guest.name, '--json', *args)
        check(done.returncode == code, f'prepare {args}: {done.returncode} {done.stderr}')
        answer = json.loads(done.stdout)
        return {change['definition']: change for change in answer['changes']}, answer['files']


def xml(guest):
    return [guest.bed.virsh('dumpxml', *how, guest.name).stdout for how in ((), ('--inactive',))]


def test_what_is_added_goes_again(guest, prepare):
    before = xml(guest)
    would, _ = prepare('--dry-run')
    check(xml(guest) == before, '--dry-run changes nothing')
    done, _ = prepare()
    check([done[d]['action'] for d in ('config', 'live')] == ['added', 'added'], 'both definitions have it')
    check(all(done[d]['element'] == would[d]['element'] for d in done), 'as --dry-run said')
    for text, definition in zip(xml(guest), ('live', 'config')):
        added = [line[1:] for line in done[definition]['diff'].splitlines() if line[0] == '+']
        check(added and all(line in text for line in added), f'the lines that are shown are in it: {definition}')
        check(f"<shmem name='{done[definition]['memory']}' role='master'>" in text, 'and so is its name')
    (address, bar), = wait_for('the device', guest.ivshmem).items()
    check(bar == done['live']['size'], f'the guest has {bar >> 20} MiB at {address}')
    path = f"/dev/shm/{done['live']['memory']}"
    check(os.stat(path).st_size == bar, 'and so has the host')
    now = xml(guest)
    again, _ = prepare()
    check([again[d]['action'] for d in ('config', 'live')] == ['present', 'present'], 'nothing is to be done')
    check(xml(guest) == now, 'and nothing was')
    prepare('--size', '1', code=1)
    gone, files = prepare('--remove')
    check([gone[d]['action'] for d in ('config', 'live')] == ['removed', 'removed'], 'both are removed')
    check({'path': path, 'removed': True} in files and not os.path.exists(path), 'and the file')
    check(xml(guest) == before, 'both definitions are what they were')
    check(not guest.ivshmem(), 'the guest has no device')
    nothing, files = prepare('--remove')
    check([nothing[d]['action'] for d in ('config', 'live')] == ['absent', 'absent'] and files == [],
          'there is nothing to remove')


def test_a_guest_gets_no_more_than_fits_behind_its_port(prepare):
    done, _ = prepare('--live', '--size', '1024', code=1)
    check(done['live']['action'] == 'failed' and 'room' in done['live']['error'], done['live']['error'])


def test_memory_in_use_stays(guest, prepare):
    done, _ = prepare('--live')
    path = f"/dev/shm/{done['live']['memory']}"
    with open(path, 'r+b'):
        _, files = prepare('--live', '--remove')
        check(not files[0]['removed'] and 'in use' in files[0]['error'], f'it is told: {files}')
        check(os.path.exists(path), 'somebody has it open')
    _, files = prepare('--remove')
    check(files == [{'path': path, 'removed': True}], 'it goes later')


def test_a_paused_guest_stays_paused(guest, prepare):
    guest.bed.virsh('suspend', guest.name)
    done, _ = prepare('--live')
    check('paused' in done['live']['note'], done['live']['note'])
    check(guest.state() == 'paused', 'it is paused')
    guest.bed.virsh('resume', guest.name)
    wait_for('the device', lambda: guest.ivshmem().get(*guest.ivshmem()))
    prepare('--live', '--remove')


def test_the_next_start_has_the_device(guest, prepare):
    before = xml(guest)[1]
    guest.destroy()
    done, _ = prepare('--size', '32')
    check([*done] == ['config'], 'a domain that is off has one definition')
    guest.start()
    check(list(guest.ivshmem().values()) == [32 * MIB], 'the guest starts with it')
    guest.destroy()
    prepare('--remove')
    check(xml(guest)[1] == before, 'its definition is what it was')


def bare(bed, name, features):
    """A domain that never gets beyond its firmware."""
    path = bed.path('shared', f'{name}.xml')
    with open(path, 'w') as file:
        file.write(f"""<domain type='qemu'><name>{name}</name><memory unit='MiB'>32</memory><vcpu>1</vcpu>
            <os><type arch='x86_64' machine='pc'>hvm</type></os>{features}<devices/></domain>""")
    bed.virsh('define', path)
    bed.virsh('start', name)
    return name


def files_of(name):
    return [file for file in os.listdir('/dev/shm') if name in file]


def test_a_machine_that_takes_no_devices(bed):
    name = bare(bed, f'{bed.token}-no-acpi', '')
    command = [RINGSIDE, 'prepare', '--live', name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, env=bed.env)
    check(done.returncode == 1 and 'hotplugging' in done.stderr and '--config' in done.stderr,
          f'what else can be done is said: {done.stderr}')
    check(files_of(name) == [], 'the file that its QEMU has made is gone')
    bed.virsh('destroy', name)


def test_a_guest_that_does_not_answer(bed):
    """That is told after a second. The test does not wait until it is given up."""
    name = bare(bed, f'{bed.token}-silent', '<features><acpi/></features>')
    command = [RINGSIDE, 'prepare', '--live', name]
    waiting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=bed.env)
    line = waiting.stderr.readline()
    waiting.kill()
    waiting.communicate()
    check('waiting for the guest to take the device' in line, line)
    bed.virsh('destroy', name)
    subprocess.run([RINGSIDE, 'prepare', '--remove', name], check=True, capture_output=True, timeout=2 * PATIENCE, env=bed.env)
    check(files_of(name) == [], 'nothing is left')


def test_errors(guest, prepare):
    for args, code, said in (
            (['nobody'], 3, "no domain 'nobody'"),
            ([], 2, 'which domain?'),
            ([guest.name, '--size', '3'], 2, 'power of two'),
            ([guest.name, '--size', '-1'], 2, '--size'),
            ([guest.name, '--remove', '--size', '4'], 2, '--size'),
            ([guest.name, '--live'], 1, 'does not run'),
            (['-c', 'qemu+ssh://elsewhere/system', guest.name], 1, 'on another host'),
            (['-c', 'qemu+unix:///system?socket=/nonexistent', guest.name], 1, 'is it running?')):
        done = prepare.run(*args)
        check(done.returncode == code and said in done.stderr and not done.stdout, f'{args}: {done.stderr}')


def main():
    with Bed() as bed:
        guest = Guest(bed, SERIES, machine=MACHINE)
        prepare = Prepare(guest)
        test_what_is_added_goes_again(guest, prepare)
        # Elsewhere the rest is no different.
        if MACHINE != 'q35':
            test_a_machine_that_takes_no_devices(bed)
            test_a_guest_that_does_not_answer(bed)
            return
        test_a_guest_gets_no_more_than_fits_behind_its_port(prepare)
        test_memory_in_use_stays(guest, prepare)
        test_a_paused_guest_stays_paused(guest, prepare)
        test_the_next_start_has_the_device(guest, prepare)
        test_errors(guest, prepare)


if __name__ == '__main__':
    main()
