#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tracing costs a Linux guest with the kernel module, beside its own ftrace in the same
boot; how late events are read; how long the guest stands still for a batch of 200 sites.

    linux.py RINGSIDE RINGSIDE_KO BENCH_CALLS BENCH_LATENCY
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../vm'))
from harness import Background, Ringside, check, skip, wait_for  # noqa: E402
from libvirt_bed import Bed  # noqa: E402
from linux_guest import Guest  # noqa: E402
from linux_module import build_example  # noqa: E402

SERIES = '6.1'
MIB = 64
CALLS = 200000
ROUNDS = 7
BATCHES = 15
TRACING = '/sys/kernel/tracing'
CALL_EVENTS = 'raw_syscalls:*'
rs = None


def calls(guest):
    return float(guest.sh(f'/bench call {CALLS}', timeout=120))


def ftrace(guest, on):
    guest.sh(f'echo {on} >{TRACING}/events/raw_syscalls/enable')


def cost(guest):
    """ns of one system call, which is two events: without tracing, with ours, with ftrace's."""
    kinds = {'nothing on': [], 'ours': [], 'ftrace': []}
    for _ in range(ROUNDS):
        kinds['nothing on'].append(calls(guest))
        check(rs('enable', CALL_EVENTS).code == 0, 'our events are on')
        kinds['ours'].append(calls(guest))
        check(rs('disable', CALL_EVENTS).code == 0, 'and off')
        ftrace(guest, 1)
        kinds['ftrace'].append(calls(guest))
        ftrace(guest, 0)
    return {kind: statistics.median(times) for kind, times in kinds.items()}


def pauses(name):
    """us for a batch of the example's sites, on and off."""
    last = []
    for _ in range(BATCHES):
        for verb in 'enable', 'disable':
            check(rs(verb, 'example:*').code == 0, verb)
            last.append(float(re.search(r'^pause: +last ([\d.]+) us', rs('stat', name).out, re.M)[1]))
    return sorted(last)


def latency(guest, name, program):
    check(rs('enable', 'sched:sched_switch').code == 0, 'switches are on')
    guest.sh('/bench sleep 4000 1000 >/dev/null 2>&1 </dev/null &')
    said = subprocess.run([program, name, '3'], check=True, capture_output=True, text=True).stdout
    rs('disable', '*')
    return said.strip()


def main(ringside, module, bench_calls, bench_latency):
    global rs
    if not os.path.getsize(module):
        skip('the module was not built')
    with tempfile.TemporaryDirectory(prefix='rs-bench-') as directory, Bed() as bed:
        os.environ['XDG_RUNTIME_DIR'] = directory
        rs = Ringside(ringside)
        example = build_example(SERIES, module, directory)
        guest = Guest(bed, SERIES, shmem=MIB,
                      files={'/ringside.ko': module, '/example.ko': example, '/bench': bench_calls})
        guest.sh('insmod /ringside.ko; insmod /example.ko')
        guest.sh(f'mount -t tracefs none {TRACING}; echo x86-tsc >{TRACING}/trace_clock; '
                 f'echo 4096 >{TRACING}/buffer_size_kb')
        session = Background(rs, 'attach', '-c', bed.uri, guest.name, '-q', ready=rs.sessions)
        try:
            wait_for('the agent', lambda: rs.json('list'))
            sites = sum(row['sites'] for row in rs.json('list') if row['system'] == 'example')
            times, stat = cost(guest), rs('stat', guest.name).out
            late, paused = latency(guest, guest.name, bench_latency), pauses(guest.name)
        finally:
            code, _, said = session.end(signal.SIGINT)
        check(code == 0, f'the session ends well: {said}')
    base = times['nothing on']
    ours, theirs = times['ours'] - base, times['ftrace'] - base
    print(f'\na system call {base:.0f} ns; with our two events {times["ours"]:.0f}, with ftrace\'s {times["ftrace"]:.0f}')
    print(f'one event: ours {ours / 2:.0f} ns, ftrace\'s {theirs / 2:.0f} ns: {ours / theirs:.2f} times ftrace\'s; '
          'asked: <= 0.50')
    print(f'from an event to its reader: {late}; asked: median <= 50 us')
    print(f'pause for {sites} sites, {re.search("patched by (.*),", stat)[1]}: least {paused[0] / 1e3:.1f} ms, median '
          f'{statistics.median(paused) / 1e3:.1f}, most {paused[-1] / 1e3:.1f}; asked: <= 10 ms')


if __name__ == '__main__':
    main(*map(os.path.realpath, sys.argv[1:]))
