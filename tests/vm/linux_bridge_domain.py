#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ringside-guest in a domain of libvirt: what it shows of a kernel at work is what the kernel's own
ftrace shows of it, in another instance at the same time.

    linux_bridge_domain.py 6.1|6.12 pc|q35 RINGSIDE RINGSIDE_GUEST
"""
import io
import json
import os
import re
import signal
import sys
import tarfile
import tempfile

import ftrace
from ftrace_compare import Comparison, ours
from harness import Background, Ringside, check, wait_for
from libvirt_bed import Bed
from linux_guest import LINUX, Guest

SYSTEMS = 'sched', 'raw_syscalls', 'irq', 'signal', 'workqueue', 'timer'
# Without them, there was no work.
WANTED = 'sched_switch', 'sched_process_exec', 'sched_process_exit', 'sys_enter', 'sys_exit', 'signal_deliver', \
    'softirq_entry', 'hrtimer_start'
FILTERED = 'task:task_rename', 'newcomm ~ "s*"'  # not compared
MIB = 16  # of the device
AROUND = 100000000  # ticks


class Guarded(Guest):
    def start_bridge(self, *options):
        """In the background. Returns once it can be traced."""
        self.sh(f'setsid ringside-guest {" ".join(options)} >/tmp/said 2>&1 & echo $! >/tmp/bridge')
        wait_for('the bridge', lambda: 'can be traced' in self.sh('cat /tmp/said'))

    def end_bridge(self):
        """What it said."""
        self.sh('kill $(cat /tmp/bridge)')
        wait_for('its end', lambda: self.run('[ -d /proc/$(cat /tmp/bridge) ]')[0])
        return self.sh('cat /tmp/said')


def test_it_is_listed(rs, guest):
    wait_for('the kernel\'s events', lambda: 'sched:sched_switch' in rs('list', '-q').out)
    names = rs('list', '-q').out.split()
    kinds = {name.partition(':')[0] for name in names}
    check(len(names) > 1000 and {'syscalls', 'net', 'block', *SYSTEMS} <= kinds, f'{len(names)} events are listed')
    providers = rs('list', '--providers').out
    check('sched' in providers, 'systems are providers')


def work(rs, guest):
    """Traces the guest at work in both ways. Returns ftrace's files by name."""
    events = [name.replace(':', '/') for name in rs('list', '-q').out.split() if name.partition(':')[0] in SYSTEMS]
    filtered = rs('filter', f'{FILTERED[0]}: {FILTERED[1]}')
    check(filtered.code == 0, f'a filter is accepted: {filtered.err}')
    enabled = rs('enable', FILTERED[0], *(f'{system}:*' for system in SYSTEMS))
    check(enabled.code == 0, f'{len(events)} events are on: {enabled.err}')
    # Neither of the two instances shows what the bridge's thread does.
    guest.sh(f'. /ftrace.sh; FTRACE_EXCEPT=$(cat /tmp/bridge); ftrace_begin {" ".join(events)}; sh /work.sh; '
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
        files = {'/bin/ringside-guest': bridge, '/work.sh': f'{LINUX}/bed-work.sh', '/ftrace.sh': f'{LINUX}/ftrace.sh'}
        guest = Guarded(bed, series, machine=machine, files=files, shmem=MIB)
        session = Background(rs, 'attach', '--shm', f'/dev/shm/{guest.shm}', '--name', guest.name, '-q', '-o', trace,
                             ready=lambda: rs.sessions())
        guest.start_bridge()
        test_it_is_listed(rs, guest)
        files = work(rs, guest)
        check('slower than the module' in rs('stat').out and rs.json('stat')['bridge'], 'stat says that it is slow')
        print(guest.end_bridge())
        code, _, err = session.end(signal.SIGINT)
        check(code == 0 and 'That is slower' in err, f'the session ends well: {err}')
        test_it_saw_what_ftrace_saw(files, trace)
        test_the_filter(rs, trace)


if __name__ == '__main__':
    main(*sys.argv[1:])
