#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ringside-guest in a domain of libvirt, put there by QEMU's guest agent: what it shows of a kernel
at work is what the kernel's own ftrace shows of it, in another instance at the same time.

    linux_bridge_domain.py 6.1|6.12 pc|q35 RINGSIDE RINGSIDE_GUEST
"""
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

import ftrace
from ftrace_compare import Comparison, ours
from harness import Background, Ringside, check, skip, wait_for
from libvirt_bed import Bed
from linux_guest import LINUX, SHMEM, Guest

SYSTEMS = 'sched', 'raw_syscalls', 'irq', 'signal', 'workqueue', 'timer'
# Without them, there was no work.
WANTED = 'sched_switch', 'sched_process_exec', 'sched_process_exit', 'sys_enter', 'sys_exit', 'signal_deliver', \
    'softirq_entry', 'hrtimer_start'
FILTERED = 'task:task_rename', 'newcomm ~ "s*"'  # not compared
MIB = 16  # of the device
AROUND = 100000000  # ticks


def agent_files():
    """QEMU's guest agent of this machine with its libraries: place in the guest → path here."""
    agent = shutil.which('qemu-ga') or shutil.which('/usr/sbin/qemu-ga') or skip('no qemu-ga')
    needs = subprocess.run(['ldd', agent], capture_output=True, text=True, check=True).stdout
    return {'/bin/qemu-ga': agent, **{path: path for path in re.findall(r'(/\S+) \(0x', needs)}}


class Agent:
    """QEMU's guest agent at work, with more options."""

    def __init__(self, guest, *options):
        self.guest = guest
        guest.sh('for n in /sys/class/virtio-ports/*/name; do [ $(cat $n) = org.qemu.guest_agent.0 ] && break; done\n'
                 f'qemu-ga -m virtio-serial -p /dev/$(basename ${{n%/name}}) -t /tmp {" ".join(options)} '
                 '>/tmp/qga.log 2>&1 </dev/null &')
        # libvirt learns of it from QEMU.
        wait_for('the guest agent', lambda: guest.bed.virsh('qemu-agent-command', guest.name, '{"execute": "guest-ping"}',
                                                            check=False).returncode == 0)

    def end(self):
        self.guest.sh('killall qemu-ga')
        wait_for('its end', lambda: self.guest.run('pidof qemu-ga')[0])


def test_what_it_needs(rs, guest):
    """Each of these is an error at once, and leaves nothing in the guest."""
    def refused(why):
        r = rs('attach', '-c', guest.bed.uri, guest.name, '--inject')
        check(r.code == 1 and why in r.err, f'refused: {r.err.strip()}')

    refused('is qemu-guest-agent installed there')
    agent = Agent(guest, '-b', 'guest-exec')
    refused('forbids the guest agent guest-exec')
    agent.end()
    agent = Agent(guest)
    guest.sh('mount -o remount,noexec /tmp')
    refused('no program may run in /run, /tmp')
    guest.sh('mount -o remount,exec /tmp; umount /sys/kernel/tracing; mount -t tmpfs none /sys/kernel')
    refused('tracefs cannot be mounted')
    guest.sh('umount /sys/kernel; mount -t tracefs none /sys/kernel/tracing')
    check(guest.sh('ls -d /tmp/ringside-* /run/ringside-* 2>/dev/null || true') == '', 'nothing is left')
    r = rs('attach', '--shm', f'/dev/shm/{guest.shm}', '--inject')
    check(r.code == 2 and 'needs libvirt' in r.err, 'a memory alone has no guest agent')


def test_nothing_is_left(guest):
    wait_for('the end of the program', lambda: guest.run('pidof ringside-guest')[0])
    check(guest.sh('ls -d /tmp/ringside-* /run/ringside-* /sys/kernel/tracing/instances/ringside 2>/dev/null || true') == '',
          'neither the program nor its instance is left')


def test_a_bridge_that_is_there_is_used(rs, guest):
    guest.sh('setsid ringside-guest >/tmp/said 2>&1 &')
    wait_for('the bridge', lambda: 'can be traced' in guest.sh('cat /tmp/said'))
    session = attach(rs, guest, '-q')
    check('another one is at work' in session.said(), session.said())
    wait_for('its events', lambda: 'sched:sched_switch' in rs('list', '-q').out)
    code, _, err = session.end(signal.SIGINT)
    check(code == 0, f'the session ends well: {err}')
    guest.sh('pidof ringside-guest && killall ringside-guest')


def attach(rs, guest, *options):
    return Background(rs, 'attach', '-c', guest.bed.uri, guest.name, '--inject', *options, ready=lambda: rs.sessions())


def test_it_is_listed(rs, guest):
    wait_for('the kernel\'s events', lambda: 'sched:sched_switch' in rs('list', '-q').out)
    names = rs('list', '-q').out.split()
    kinds = {name.partition(':')[0] for name in names}
    check(len(names) > 1000 and {'syscalls', 'net', 'block', *SYSTEMS} <= kinds, f'{len(names)} events are listed')
    providers = rs('list', '--providers').out
    check('sched' in providers, 'systems are providers')


def test_a_device_of_others_is_left_alone(guest):
    """It comes before ours. It is not taken, and as it was."""
    on = guest.sh('cd /sys/bus/pci/devices; for d in *; do grep -q 0x1110 $d/device && cat $d/enable; done; true').split()
    check(on == ['0', '1'], f'of two ivshmem devices only ours is enabled: {on}')


def work(rs, guest):
    """Traces the guest at work in both ways. Returns ftrace's files by name."""
    events = [name.replace(':', '/') for name in rs('list', '-q').out.split() if name.partition(':')[0] in SYSTEMS]
    filtered = rs('filter', f'{FILTERED[0]}: {FILTERED[1]}')
    check(filtered.code == 0, f'a filter is accepted: {filtered.err}')
    enabled = rs('enable', FILTERED[0], *(f'{system}:*' for system in SYSTEMS))
    check(enabled.code == 0, f'{len(events)} events are on: {enabled.err}')
    # Neither of the two instances shows what the bridge's thread does.
    guest.sh(f'. /ftrace.sh; FTRACE_EXCEPT=$(pidof ringside-guest); ftrace_begin {" ".join(events)}; sh /work.sh; '
             'cat /tmp/numbers >/dev/null; ftrace_end /tmp/ftrace', timeout=400)
    check(rs('disable', '*').code == 0, 'and off')
    guest.sh('cd /tmp && tar -c ftrace >ftrace.tar')
    with tarfile.open(fileobj=io.BytesIO(guest.get('/tmp/ftrace.tar'))) as tar:
        return {m.name.removeprefix('ftrace/'): tar.extractfile(m).read() for m in tar if m.isfile()}


def without_text(record, form):
    """Where we cannot express how the kernel prints an event, the text is one field more."""
    known = {field[0] for field in form.fields}
    return record._replace(fields={name: value for name, value in record.fields.items() if name in known})


def test_it_saw_what_ftrace_saw(files, trace):
    formats = [ftrace.Format(data.decode()) for name, data in files.items() if name.startswith('formats/')]
    by_id, by_name = {form.id: form for form in formats}, {form.name: form for form in formats}
    theirs = {int(name[3:]): list(ftrace.read(int(name[3:]), data, by_id))
              for name, data in files.items() if re.fullmatch(r'cpu\d+', name)}
    ticks = [r.ticks for records in theirs.values() for r in records]
    mine, lost = ours(trace, set(by_name), min(ticks) - AROUND, max(ticks) + AROUND)
    mine = {cpu: [without_text(r, by_name[r.event]) for r in records] for cpu, records in mine.items()}
    check(not re.search(rb'(overrun|dropped events): [1-9]', files['stats']), 'ftrace has lost nothing')
    comparison = Comparison(mine, theirs, lost)
    comparison.report()
    check(all(comparison.pairs[name] > 5 for name in WANTED), 'there was work')
    check(not comparison.differences, f'the bridge and ftrace agree, {lost} lost')


def test_the_filter(rs, trace):
    events = map(json.loads, rs('report', trace, '--json').out.splitlines())
    names = {e['fields']['newcomm'] for e in events if f"{e.get('system')}:{e.get('event')}" == FILTERED[0]}
    check('seq' in names and all(name.startswith('s') for name in names), f'the filter let {names} through')


def main(series, machine, ringside, bridge):
    rs = Ringside(ringside)
    with Bed() as bed, tempfile.TemporaryDirectory(prefix='rs-bridge-') as d:
        os.environ['XDG_RUNTIME_DIR'] = d
        trace = os.path.join(d, 'trace')
        os.environ['RINGSIDE_GUEST'] = os.path.realpath(bridge)
        files = {'/bin/ringside-guest': bridge, '/work.sh': f'{LINUX}/bed-work.sh', '/ftrace.sh': f'{LINUX}/ftrace.sh'}
        guest = Guest(bed, series, machine=machine, files={**files, **agent_files()}, shmem=MIB, agent=True,
                      devices=SHMEM.format(name=f'other-{bed.token}', size=1, address=''))
        test_what_it_needs(rs, guest)
        session = attach(rs, guest, '-q', '-o', trace)
        test_it_is_listed(rs, guest)
        test_a_device_of_others_is_left_alone(guest)
        files = work(rs, guest)
        check('slower than the module' in rs('stat').out and rs.json('stat')['bridge'], 'stat says that it is slow')
        code, _, err = session.end(signal.SIGINT)
        check(code == 0 and 'That is slower' in err and 'events of this kernel can be traced' in err,
              f'the session ends well: {err}')
        test_nothing_is_left(guest)
        test_a_bridge_that_is_there_is_used(rs, guest)
        test_it_saw_what_ftrace_saw(files, trace)
        test_the_filter(rs, trace)


if __name__ == '__main__':
    main(*sys.argv[1:])
