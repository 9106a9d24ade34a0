#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long it takes to attach to a prepared domain: the demo guest, and Debian's kernel with the
module. A benchmark: it asserts no time.

    attach_time.py RINGSIDE DEMO 6.1|6.12 pc|q35 RINGSIDE_KO
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from demo_domain import Domain
from harness import Ringside, need, wait_for
from libvirt_bed import Bed
from linux_domain import LinuxDomain

RINGSIDE, DEMO, SERIES, MACHINE, MODULE = sys.argv[1:]
RUNS = 7
WANTED_MS = 1000
rs = Ringside(os.path.realpath(RINGSIDE))


def best(command):
    times = []
    for _ in range(RUNS):
        begin = time.monotonic()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append((time.monotonic() - begin) * 1e3)
    return min(times)


def measure(what, domain):
    """With its end, beside what virsh takes to say a domain's state."""
    attach = [rs.path, 'attach', '-c', domain.bed.uri, domain.name]
    virsh = best(['virsh', '-c', domain.bed.uri, 'domstate', domain.name])
    alone = best([*attach, '-q', '--duration', '0.001'])
    event = best([*attach, '-e', 'sched:*', '--new', '-n', '1', '--text', '/dev/null'])
    print(f'{what}: attach and detach {alone:.0f} ms, {alone / virsh:.1f} times virsh domstate ({virsh:.0f} ms); '
          f'with sched:* switched on, and the first event seen, {event:.0f} ms, {event / virsh:.1f} times; '
          f'wanted: {WANTED_MS} ms', flush=True)


def main():
    need('tcg')
    with Bed() as bed, tempfile.TemporaryDirectory(prefix='rs-attach-') as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        demo = Domain(rs, bed, os.path.realpath(DEMO))
        demo.session().end(signal.SIGINT)
        measure('demo guest', demo)
        demo.destroy()
        linux = LinuxDomain(rs, bed, SERIES, MACHINE, MODULE)
        linux.start()
        running = linux.attach('-q')
        wait_for('its events', lambda: len(rs('list', '-s', linux.name).out.splitlines()) > 600)
        sites = re.search(r'sites: *(\d+)', linux.stat())
        running.end(signal.SIGINT)
        measure(f'Linux {SERIES}, {sites[1] if sites else "?"} sites', linux)


if __name__ == '__main__':
    main()
