#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's kernel in a domain of a test's own libvirtd, at the command of the test.

    with Bed() as bed:
        guest = Guest(bed, '6.12', machine='q35')
        print(guest.sh('uname -r'))

By hand, with a prompt, whose lines the guest runs:

    linux_guest.py [6.1|6.12] [pc|q35]
"""
import glob
import lzma
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, check, skip, wait_for
from libvirt_bed import Bed

HERE = os.path.dirname(os.path.abspath(__file__))
LINUX = os.path.join(HERE, '../guests/linux')
SERIES = '6.1', '6.12', 'debug'
# In the order in which the guest needs them. Some are built in.
MODULES = 'virtio_ring', 'virtio', 'virtio_pci_legacy_dev', 'virtio_pci_modern_dev', 'virtio_pci', 'virtio_console', \
    'pvpanic', 'pvpanic-mmio'
MAX_ANSWER = 1 << 30

# A hot-plugged device of q35 needs a port that is empty and named, and room for its BAR.
PORTS = 4
ROOT_PORTS = '<controller type="pci" model="pcie-root"/>' + PORTS * '<controller type="pci" model="pcie-root-port"/>'
LAST_PORT = f'<address type="pci" domain="0" bus="{PORTS}" slot="0" function="0"/>'
ROOM = 'pcie-root-port.pref64-reserve=64M'
DOMAIN = '''
<domain type="qemu" xmlns:qemu="http://libvirt.org/schemas/domain/qemu/1.0">
  <name>{name}</name>
  <memory unit="MiB">{memory}</memory>
  <vcpu current="{cpus}">{max_cpus}</vcpu>
  <os>
    <type arch="x86_64" machine="{machine}">hvm</type>
    <kernel>{kernel}</kernel>
    <initrd>{initrd}</initrd>
    <cmdline>{append}</cmdline>
  </os>
  <features><acpi/></features>
  <cpu mode="custom" match="exact" check="none"><model>qemu64</model></cpu>
  <on_reboot>restart</on_reboot>
  <on_crash>{on_crash}</on_crash>
  <devices>
    <emulator>{emulator}</emulator>
    {devices}
    <serial type="file"><source path="{console}"/><target port="0"/></serial>
    <controller type="virtio-serial" index="0"/>
    <channel type="unix">
      <source mode="bind" path="{port}"/><target type="virtio" name="ringside.test"/>
    </channel>
    <controller type="usb" model="none"/>
    <memballoon model="none"/>
  </devices>
  <qemu:commandline>{arguments}</qemu:commandline>
</domain>
'''
SHMEM = '''<shmem name="{name}"><model type="ivshmem-plain"/><size unit="M">{size}</size>{address}</shmem>'''
AGENT = '<channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>'


# One thread for all vCPUs: with several, QEMU 7.2 may run text that the guest has changed
# (CONTRIBUTING.md).
EMULATOR = '''#!/bin/bash
words=()
for word; do
	[ "$word" != tcg ] || word=tcg,thread=single
	words+=("$word")
done
exec /usr/bin/qemu-system-x86_64 "${words[@]}"
'''


def make_emulator(bed):
    path = bed.path('shared', 'qemu')
    with open(path, 'w') as file:
        file.write(EMULATOR)
    os.chmod(path, 0o755)
    return path


def fetch(series, *how):
    """Asks fetch-kernel for a path. Skips the test if there is no such kernel."""
    done = subprocess.run([f'{LINUX}/fetch-kernel', *how, series], capture_output=True, text=True)
    if done.returncode:
        skip(done.stderr.strip().rpartition('\n')[2])
    return done.stdout.strip()


def modules_of(series, directory):
    """The paths of the modules that the guest needs, each without compression in a directory."""
    root = os.path.join(os.path.dirname(fetch(series)), '../lib/modules')
    paths = []
    for name in MODULES:
        for path in glob.glob(f'{root}/*/kernel/**/{name}.ko*', recursive=True):
            with open(path, 'rb') as file:
                data = file.read()
            paths.append(os.path.join(directory, f'{name}.ko'))
            with open(paths[-1], 'wb') as file:
                file.write(lzma.decompress(data) if path.endswith('.xz') else data)
    return paths


def make_initrd(series, output, files):
    """files: place in the guest → path here."""
    with tempfile.TemporaryDirectory(prefix='rs-initrd-') as directory:
        modules = {f'/modules/{os.path.basename(path)}': path for path in modules_of(series, directory)}
        subprocess.run([f'{LINUX}/mk-initramfs', output, f'{LINUX}/bed-init',
                        *map('='.join, {**modules, **files}.items())], check=True)


def console_words(series):
    """What the kernel is to say on its console. The debug kernel also shows its warnings there."""
    return 'console=ttyS0 ' + ('loglevel=5' if series == 'debug' else 'quiet')


class Guest:
    """A domain, defined and started.

    `shmem`: MiB of an ivshmem device that is there from the start.
    `agent`: whether it has the channel of QEMU's guest agent.
    `devices`: more XML. `files`: place in the guest → path here.
    """

    def __init__(self, bed, series='6.1', name='guest', machine='pc', files=(), shmem=0, agent=False, cpus=2,
                 max_cpus=0, memory=512, append='', devices='', on_crash='destroy', start=True):
        self.bed, self.series, self.machine = bed, series, machine
        self.name = f'{bed.token}-{name}'
        self.shm = f'ringside-{self.name}'
        self.console, self.port = bed.path('shared', f'{name}.console'), bed.path('run', f'{name}.port')
        kernel = bed.place(fetch(series), f'{name}.kernel')
        initrd = bed.path('shared', f'{name}.initrd')
        make_initrd(series, initrd, dict(files))
        os.chmod(initrd, 0o644)
        if machine == 'q35':
            devices += ROOT_PORTS
        if agent:
            devices += AGENT
        if shmem:
            devices += SHMEM.format(name=self.shm, size=shmem, address='')
        self.xml = DOMAIN.format(
            name=self.name, memory=memory, cpus=cpus, max_cpus=max_cpus or cpus, machine=machine, kernel=kernel,
            initrd=initrd, console=self.console, port=self.port, devices=devices, on_crash=on_crash,
            emulator=make_emulator(bed),
            append=f'{console_words(series)} {append}', arguments=''.join(
                f'<qemu:arg value="{word}"/>' for word in (('-global', ROOM) if machine == 'q35' else ())))
        with open(bed.path('shared', f'{name}.xml'), 'w') as file:
            file.write(self.xml)
        bed.virsh('define', file.name)
        self.stream = None
        if start:
            self.start()

    def start(self):
        self.bed.virsh('start', self.name)
        self.connect()

    def connect(self, timeout=2 * PATIENCE):
        """Waits for the guest, also after a reboot."""
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.connect(self.port)
        self.answer(timeout)

    def console_text(self):
        with open(self.console, errors='replace') as file:
            return file.read()

    def receive(self, until):
        self.stream.settimeout(max(until - time.monotonic(), 0.01))
        try:
            data = self.stream.recv(1 << 20)
        except TimeoutError:
            data = b''
        if not data:
            raise AssertionError(f'{self.name} does not answer. Its console:\n{self.console_text()}')
        return data

    def answer(self, timeout):
        until = time.monotonic() + timeout
        data = b''
        while b'\n' not in data:
            data += self.receive(until)
        line, _, data = data.partition(b'\n')
        word, status, size = line.split()
        check_answer(word == b'done' and int(size) < MAX_ANSWER, line)
        parts = [data]
        missing = int(size) - len(data)
        while missing > 0:
            parts.append(self.receive(until))
            missing -= len(parts[-1])
        check_answer(missing == 0, line)
        return int(status), b''.join(parts)

    def ask(self, line, data=b'', timeout=PATIENCE):
        self.stream.settimeout(timeout)
        self.stream.sendall(line.encode() + b'\n' + data)
        return self.answer(timeout)

    def run(self, script, timeout=PATIENCE):
        """Returns the status and the output, with that of errors, of a shell script."""
        data = script.encode() + b'\n'
        status, out = self.ask(f'run {len(data)}', data, timeout)
        return status, out.decode(errors='replace')

    def sh(self, script, timeout=PATIENCE):
        """The output of a script that must succeed."""
        status, out = self.run(script, timeout)
        if status:
            raise AssertionError(f'{script}: status {status}\n{out}')
        return out

    def order(self, script):
        """A script that nobody awaits, since the guest goes down with it."""
        data = script.encode() + b'\n'
        self.stream.sendall(f'run {len(data)}\n'.encode() + data)

    def put(self, path, data):
        check_answer(self.ask(f'put {len(data)} {path}', data)[0] == 0, path)

    def get(self, path):
        status, data = self.ask(f'get {path}')
        check_answer(status == 0, path)
        return data

    def attach_shmem(self, size, name=None):
        """Hot-plugs an ivshmem device. Returns the path of its memory."""
        self.device('attach-device', size, name)
        return f'/dev/shm/{name or self.shm}'

    def detach_shmem(self, size, name=None):
        self.device('detach-device', size, name)

    def device(self, verb, size, name):
        with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
            address = LAST_PORT if self.machine == 'q35' else ''
            file.write(SHMEM.format(name=name or self.shm, size=size, address=address))
            file.flush()
            self.bed.virsh(verb, self.name, file.name, '--live')

    def ivshmem(self):
        """The sizes of the BARs of the ivshmem devices that the guest sees, by their addresses.

        One may go while we look.
        """
        lines = self.sh('''for d in /sys/bus/pci/devices/*; do
            [ "$(cat $d/vendor):$(cat $d/device)" != 0x1af4:0x1110 ] || echo ${d##*/} $(sed -n 3p $d/resource)
        done 2>/dev/null''').splitlines()
        ends = {words[0]: (int(words[1], 16), int(words[2], 16)) for words in map(str.split, lines)
                if len(words) == 4}
        return {name: last - first + 1 if last else 0 for name, (first, last) in ends.items()}

    def state(self):
        return self.bed.virsh('domstate', self.name).stdout.strip()

    def check_well(self):
        """Whether the kernel has complained of anything since it was booted."""
        check_kernel(self.console_text() + self.sh('dmesg'))
        if self.series == 'debug':
            said = self.sh('cat /proc/lockdep_stats')
            check(re.search(r'debug_locks: +1$', said, re.M), 'lockdep is still at work')

    def destroy(self):
        self.bed.virsh('destroy', self.name)


# What a kernel says when something is wrong with it, also by KASAN and lockdep.
COMPLAINTS = re.compile(r'.*(?:WARNING|BUG|Oops|KASAN|suspicious RCU|possible (?:circular|recursive|irq)|lockup'
                        r'|inconsistent lock|stack guard|refcount_t|scheduling while atomic|sleeping function|ODEBUG'
                        r'|list_(?:add|del) corruption|blocked for more than|INFO: rcu).*')


def check_kernel(dmesg):
    found = COMPLAINTS.search(dmesg)
    check(not found, 'the kernel is well' if not found else f'the kernel complains:\n{dmesg[found.start():][:6000]}')


def check_answer(ok, what):
    if not ok:
        raise AssertionError(f'the guest answered wrongly: {what}')


def prompt(guest):
    print(f'{guest.name}: virsh -c "{guest.bed.uri}" …; its console: {guest.console}')
    while True:
        try:
            line = input('guest# ')
        except EOFError:
            return
        status, out = guest.run(line, timeout=3600)
        print(out, end='' if out.endswith('\n') or not out else '\n')
        if status:
            print(f'[{status}]')


if __name__ == '__main__':
    with Bed() as one:
        prompt(Guest(one, *(word for word in sys.argv[1:] if word in SERIES),
                     machine='q35' if 'q35' in sys.argv else 'pc', shmem=4))
