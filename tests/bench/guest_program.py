#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an event of a program in a Linux guest costs, beside other ways to trace a program there.

    guest_program.py RINGSIDE RINGSIDE_KO BENCH_GUEST_PROGRAM

The guest runs under TCG, so only the ratios say something.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../vm'))
from harness import Ringside, need, skip  # noqa: E402
from linux_guest import LINUX, fetch  # noqa: E402

INIT = '''#!/bin/sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tracefs none /sys/kernel/tracing
insmod /ringside.ko
until dmesg | grep -q 'the host answers'; do usleep 100000; done
bench-guest-program
poweroff -f
'''
WHAT = {
    'loop': 'the loop alone',
    'off': 'an event that is off',
    'event': 'an event that is on',
    'marker': 'a write to trace_marker_raw',
    'uprobe': 'a uprobe',
}


def main(ringside, module, program):
    need('tcg')
    if not os.path.getsize(module):
        skip(f'{module} was not built: its kernel or a compiler is missing')
    rs = Ringside(os.path.realpath(ringside))
    with tempfile.TemporaryDirectory(prefix='rs-bench-') as d:
        os.environ['XDG_RUNTIME_DIR'] = d
        script, initrd, console = (os.path.join(d, name) for name in ('init', 'initrd', 'console'))
        with open(script, 'w') as file:
            file.write(INIT)
        subprocess.run([f'{LINUX}/mk-initramfs', initrd, script, f'/ringside.ko={module}',
                        f'/bin/bench-guest-program={program}'], check=True)
        r = rs('run', '--accel', 'tcg', '-q', '--initrd', initrd, '--mem', '512M', '--cpus', '2', '--append',
               'console=ttyS0 quiet panic=-1', '--serial', console, '-e', 'inguest:pair', '--duration', '400',
               fetch('6.1'), timeout=500)
        said = open(console, errors='replace').read()
    ns = {name: float(value) for name, value in re.findall(r'^(\w+) (\d+\.\d)\r?$', said, re.M) if name in WHAT}
    if r.code or len(ns) != len(WHAT):
        raise AssertionError(f'{r}\n{said}')
    for name, what in WHAT.items():
        more = ns[name] - ns['loop']
        beside = f', {more / (ns["event"] - ns["loop"]):6.1f} of an event' if name in ('marker', 'uprobe') else ''
        print(f'{what:30} {ns[name]:9.1f} ns, {more:+9.1f} over the loop{beside}')


main(*sys.argv[1:])
