# SPDX-License-Identifier: MIT
"""The demo guest in a domain of a test's own libvirtd, and sessions on it."""
import re

from harness import Background, check, wait_for

DOMAIN = '''
<domain type="qemu"><name>{name}</name><memory unit="MiB">64</memory><vcpu>2</vcpu>
  <os><type arch="x86_64" machine="pc">hvm</type><kernel>{kernel}</kernel></os>
  <cpu mode="custom" match="exact" check="none"><model>qemu64</model><feature policy="require" name="rdtscp"/></cpu>
  <devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type="usb" model="none"/><memballoon model="none"/>
    <serial type="file"><source path="{serial}"/><target port="0"/></serial></devices>
</domain>'''


class Domain:
    """The demo guest. It looks for its region when it boots, so a session comes before."""

    def __init__(self, rs, bed, guest, name='demo'):
        self.rs, self.bed, self.name = rs, bed, f'{bed.token}-{name}'
        xml = DOMAIN.format(name=self.name, kernel=bed.place(guest, name), serial=bed.path('shared', f'{name}.serial'))
        with open(bed.path('shared', f'{name}.xml'), 'w') as file:
            file.write(xml)
        bed.virsh('define', file.name)
        done = rs('prepare', '-c', bed.uri, self.name)
        check(done.code == 0, f'the domain is prepared {done.err}')

    def attach(self, *args, **more):
        return Background(self.rs, 'attach', '-c', self.bed.uri, self.name, *args, ready=self.is_attached, **more)

    def is_attached(self):
        return any(s['name'] == self.name and s['state'] not in ('starting', 'no answer') for s in self.rs.sessions())

    def session(self, *args):
        """Starts it and a session on it, and waits for an event."""
        self.bed.virsh('start', '--paused', self.name)
        running = self.attach('-e', 'sched:*', '-q', *args)
        check(self.state() == 'paused', 'it was paused, and is paused')
        self.bed.virsh('resume', self.name)
        # The rings may hold what came before.
        try:
            wait_for('text that is patched', lambda: re.search(r' [1-9]\d* patched', self.rs('stat', self.name).out))
        except AssertionError:
            print(self.rs('stat', self.name).out, running.said(), self.state())
            raise
        self.more_events()
        return running

    def state(self):
        return self.bed.virsh('domstate', self.name).stdout.strip()

    def events(self):
        """How many records each ring has, and lost."""
        rows = re.findall(r'^ +\d+ +(\d+) +(\d+)', self.rs('stat', self.name).out, re.M)
        return [row for row in rows if row != ('0', '0')]

    def more_events(self):
        """Whether any come now."""
        before = self.events()
        wait_for('more events', lambda: self.events() != before)

    def stub(self):
        return 'ringside' in self.bed.virsh('qemu-monitor-command', self.name, '--hmp', 'info chardev').stdout

    def destroy(self):
        self.bed.virsh('destroy', self.name, check=False)
