#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What happens to a domain is told, in order, and QEMU's monitor works through libvirt; also after
its daemon has gone away and come back.

    domain_watch.py DOMAIN-WATCH
"""
import subprocess
import sys

from harness import check, wait_for
from libvirt_bed import Bed, restart_daemon

NAME = 'watched'
DOMAIN = '''
<domain type="qemu"><name>{}</name><memory unit="MiB">32</memory><vcpu>1</vcpu>
  <os><type arch="x86_64" machine="pc">hvm</type></os>
  <devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type="usb" model="none"/><memballoon model="none"/></devices>
</domain>'''


class Watch:
    def __init__(self, program, bed, name):
        self.log = open(bed.path('watch.log'), 'w+')
        self.process = subprocess.Popen([program, bed.uri, name], stdin=subprocess.PIPE, stdout=self.log, text=True)
        self.seen = 0

    def lines(self):
        with open(self.log.name) as file:
            return file.read().splitlines()

    def expect(self, *words):
        """These lines come next, in this order, whatever stands between them."""
        for word in words:
            def come():
                rest = self.lines()[self.seen:]
                hits = [i for i, line in enumerate(rest) if line.startswith(word)]
                self.seen += hits[0] + 1 if hits else 0
                return hits
            try:
                wait_for(word, come)
            except AssertionError as error:
                raise AssertionError(f'{error}: {self.lines()}') from None
            print('ok:', self.lines()[self.seen - 1], flush=True)

    def call(self, command):
        self.process.stdin.write(command + '\n')
        self.process.stdin.flush()


def main(program):
    with Bed() as bed:
        name = f'{bed.token}-{NAME}'
        with open(bed.path('domain.xml'), 'w') as file:
            file.write(DOMAIN.format(name))
        bed.virsh('define', file.name)
        bed.virsh('start', name)
        watch = Watch(program, bed, name)
        watch.expect('pid')
        pid = int(watch.lines()[0].split()[1])
        with open(f'/proc/{pid}/comm') as file:
            check(file.read().startswith('qemu'), f'QEMU is process {pid}')
        watch.call('query-status')
        watch.expect('answer: {"status":"running"')
        watch.call('no-such-command')
        watch.expect('answer -')
        bed.virsh('suspend', name)
        watch.expect('STOP')
        bed.virsh('resume', name)
        watch.expect('RESUME')
        bed.virsh('reset', name)
        watch.expect('RESET +')
        daemon = restart_daemon(bed)
        next(daemon)
        watch.expect('lost')
        watch.call('query-status')
        watch.expect('answer -')
        next(daemon)
        watch.expect('found')
        watch.call('query-status')
        watch.expect('answer: {"status":"running"')
        bed.virsh('destroy', name)
        watch.expect('closed', 'stopped: it was forced off')
        check(watch.process.poll() is None, 'it goes on')
        watch.process.stdin.close()
        check(watch.process.wait(30) == 0, 'until it is told to end')
        next(daemon, None)


if __name__ == '__main__':
    main(sys.argv[1])
