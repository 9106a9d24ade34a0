#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's own kernel in QEMU TCG without a module: ringside-guest bridges tracefs. The session
lists, switches, filters, traces and records the kernel's events. What it saw is compared with what
the guest's own ftrace saw of the same events at the same time.

    linux_bridge.py LINUX_DIRECTORY RINGSIDE_GUEST RINGSIDE

Skips (77) if QEMU, busybox or the kernel is missing.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from harness import PATIENCE, Background, Ringside, check, need, skip, wait_for

GUEST, BRIDGE, RINGSIDE = map(os.path.realpath, sys.argv[1:])
NAME = 'bridged'
LINE = re.compile(r'^ *(?P<task>.*\S)-(?P<pid>\d+) +\[(?P<cpu>\d+)\] \S+ +(?P<time>[\d.]+): (sched:)?(?P<event>\w+): (?P<text>.*)$')
COMPARED = 'sched_process_fork', 'sched_process_exec', 'sched_process_exit'


def fetch():
    fetched = subprocess.run([f'{GUEST}/fetch-kernel'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    kernel = fetched.stdout.strip().rpartition('\n')[2]
    if not os.access(kernel, os.R_OK):
        skip(kernel)
    return kernel


def parse(lines):
    return [m.groupdict() for m in map(LINE.match, lines) if m]


def key(event):
    return event['cpu'], event['pid'], event['event'], event['text']


class Guest:
    def __init__(self, directory):
        kernel, initrd, self.console = fetch(), f'{directory}/initrd', f'{directory}/console'
        subprocess.run([f'{GUEST}/mk-initramfs', initrd, f'{GUEST}/bridge-init', f'/bin/ringside-guest={BRIDGE}'],
                       check=True)
        self.rs = Ringside(RINGSIDE)
        self.run = Background(self.rs, 'run', '--name', NAME, '--accel', 'tcg', '--initrd', initrd, '--mem', '512M',
                              '--cpus', '2', '--append', 'console=ttyS0 quiet panic=-1', '--serial', self.console,
                              kernel)

    def said(self):
        try:
            with open(self.console, errors='replace') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def wait(self, what):
        return wait_for(f'"{what}" on the console', lambda: what in self.said(), 2 * PATIENCE)

    def own_trace(self):
        return parse(self.said().partition('--- own trace')[2].partition('--- end of trace')[0].splitlines())


def test_all_events_are_listed(guest):
    try:
        wait_for('the kernel\'s events', lambda: 'sched:sched_process_exit' in guest.rs('list', NAME).out, 2 * PATIENCE)
    except AssertionError:
        print(guest.said()[-3000:], guest.rs('stat', NAME), guest.rs('list', NAME).err)
        raise
    names = guest.rs('list', NAME, '-q').out.split()
    check(len(names) > 1000, f'{len(names)} events are listed')
    systems = {name.partition(':')[0] for name in names}
    check({'sched', 'syscalls', 'irq', 'timer', 'net', 'block', 'signal'} <= systems, 'of many systems')
    form = guest.rs('format', NAME, 'sched:sched_process_exec').out
    check('field:__data_loc char[] filename;\toffset:8;' in form, 'fields lie where the kernel has them')
    check('print fmt: "filename=%s pid=%d old_pid=%d", __get_str(filename), REC->pid, REC->old_pid' in form,
          'and the print format is the kernel\'s own')


def test_what_it_has_not_is_said(guest):
    stack = guest.rs('enable', '--stack', NAME, 'sched:sched_process_hang')
    check(stack.code == 1 and 'its agent takes no call stacks' in stack.err, f'no stacks come: {stack}')
    ktrace = guest.rs('ktrace', NAME, '-p', '1')
    check(ktrace.code == 3 and 'with our module' in ktrace.err, f'what ktrace needs: {ktrace}')
    check(guest.rs('disable', NAME, 'sched:sched_process_hang').code == 0, 'off again')


def test_the_trace_is_that_of_the_guest(guest, report):
    """Each of the two takes its own time, so only the order on one CPU is the same."""
    own, ours = guest.own_trace(), parse(report.splitlines())
    check(len(own) > 30 and {e['event'] for e in own} == set(COMPARED), f'the guest saw {len(own)} events')
    for cpu in sorted({e['cpu'] for e in own}):
        wanted = [key(e) for e in own if e['cpu'] == cpu]
        compared = [key(e) for e in ours if e['cpu'] == cpu and e['event'] in COMPARED]
        check(wanted[0] in compared, f'we saw its first one on {cpu}: {wanted[0]}')
        compared = compared[compared.index(wanted[0]):]
        for mine, theirs in zip(compared, wanted):
            if mine != theirs:
                raise AssertionError(f'the guest saw {theirs}, we saw {mine}')
        check(len(compared) >= len(wanted), f'we saw the same {len(wanted)} events, in the same order and words')
    check('LOST' not in report and '(unknown event' not in report, 'nothing is lost or unknown')


def test_a_trace_is_in_the_order_of_time(trace):
    """Of both CPUs, which the bridge reads one after the other."""
    back = [(i, len(trace), a['time'], key(a), b['time'], key(b))
            for i, (a, b) in enumerate(zip(trace, trace[1:])) if float(b['time']) < float(a['time'])]
    check(len({e['cpu'] for e in trace}) == 2 and not back, f'a live trace of two CPUs is in order: {back[:5]}')


def test_names_and_filters(report):
    ours = parse(report.splitlines())
    sort = [e for e in ours if e['event'] == 'sched_process_exit' and e['text'].startswith('comm=sort ')]
    check(sort and all(e['task'] == 'sort' for e in sort),
          f'tasks have their names: {[e["task"] for e in sort]} exit as sort')
    freed = [e['text'] for e in ours if e['event'] == 'sched_process_free']
    check(freed and all(text.startswith('comm=wc ') for text in freed), f'the filter let through: {freed}')


def main():
    need('tcg')
    for tool in 'busybox', 'cpio':
        if not shutil.which(tool):
            skip(f'no {tool}')
    with tempfile.TemporaryDirectory(prefix='rs-bridge-') as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        guest = Guest(directory)
        try:
            test_all_events_are_listed(guest)
            test_what_it_has_not_is_said(guest)
            rs, file = guest.rs, f'{directory}/trace.rs'
            check(rs('filter', NAME, 'sched:sched_process_free: comm ~ "w*"').code == 0, 'a filter is accepted')
            trace = Background(rs, 'trace', NAME)
            record = Background(rs, 'record', NAME, '-o', file)
            wait_for('a recording', lambda: os.path.exists(file))
            enabled = rs('enable', NAME, 'sched:sched_process_*', 'sched:sched_switch', 'sched:sched_waking')
            check(enabled.code == 0, f'events are switched on: {enabled.out}')
            guest.wait('--- end of trace')
            check(rs('disable', NAME, 'sched:*').code == 0, 'and off')
            guest.wait('--- left behind')
            code, _, said = record.end(signal.SIGINT)
            check(code == 0 and ' 0 events lost' in said, f'recorded: {said}')
            report = rs('report', file).out
            test_the_trace_is_that_of_the_guest(guest, report)
            test_names_and_filters(report)
            code, out, said = guest.run.end(timeout=2 * PATIENCE)
            check(code == 0, f'the session ended well: {said}')
            _, traced, _ = trace.end()
            live, recorded = parse(traced.decode().splitlines()), parse(report.splitlines())
            test_a_trace_is_in_the_order_of_time(live)
            check([key(e) for e in live] == [key(e) for e in recorded], f'the live trace is the same: {len(live)} events')
        finally:
            print(guest.said()[-3000:], guest.run.said())
            guest.run.process.kill()
        check('--- the bridge ended with 0, instances: \n' in guest.said().replace('\r', ''),
              'what a killed bridge left is gone, and so is what the last one had')


main()
