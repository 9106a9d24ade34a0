# SPDX-License-Identifier: MIT
"""Debian's kernel with the module in a domain that is prepared, and sessions on it."""
import os
import re

from harness import Background, check, skip, wait_for
from linux_guest import Guest

PANIC = '<panic model="isa"/>'


class LinuxDomain:
    def __init__(self, rs, bed, series, machine, module, name='guest'):
        if not os.path.getsize(module):
            skip(f'{module} was not built: its kernel or a compiler is missing')
        self.rs, self.bed = rs, bed
        self.guest = Guest(bed, series, name, machine, files={'/ringside.ko': module}, devices=PANIC,
                           on_crash='restart', start=False)
        self.name = self.guest.name
        done = rs('prepare', '-c', bed.uri, self.name)
        check(done.code == 0, f'the domain is prepared {done.err}')

    def set_on_crash(self, what):
        """For the next start."""
        xml = self.bed.virsh('dumpxml', '--inactive', self.name).stdout
        path = self.bed.path('shared', 'changed.xml')
        with open(path, 'w') as file:
            file.write(re.sub('<on_crash>.*<', f'<on_crash>{what}<', xml))
        self.bed.virsh('define', path)

    def start(self):
        self.guest.start()
        self.load()

    def load(self):
        self.guest.sh('insmod /ringside.ko')

    def attach(self, *args):
        return Background(self.rs, 'attach', '-c', self.bed.uri, self.name, *args, ready=self.is_attached)

    def is_attached(self):
        return any(s['name'] == self.name and s['state'] == 'running' for s in self.rs.sessions())

    def stat(self):
        return self.rs('stat', self.name).out

    def more_events(self):
        """Whether any come now."""
        def rows():
            return re.findall(r'^ +\d+ +(\d+) +(\d+)', self.stat(), re.M)
        before = rows()
        wait_for('more events', lambda: rows() != before)
