#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the module shows of a kernel at work is what the kernel's own ftrace shows of it.

    linux_ftrace.py 6.1|6.12 pc|q35 RINGSIDE MODULE

The guest runs bed-work.sh while both trace all events that the module knows. ftrace_compare.py says
what is compared.
"""
import io
import os
import re
import signal
import sys
import tarfile
import tempfile

import ftrace
from ftrace_compare import Comparison, ours
from harness import Background, Ringside, check, skip, wait_for
from libvirt_bed import Bed
from linux_guest import LINUX, Guest

# Without them, there was no work.
WANTED = 'sched_switch', 'sched_process_exec', 'sched_process_exit', 'sys_enter', 'sys_exit', 'signal_deliver', \
    'softirq_entry', 'hrtimer_start', 'net_dev_queue'
# ftrace has no events for the first, and whole words where we have an argument's own size. Of the
# others there are too many for a short test: linux_stress.py looks at them.
LEFT_OUT = 'tracepoint', 'syscalls'
TOO_MANY = 'kmem_cache_alloc', 'kmem_cache_free', 'rss_stat'
AROUND = 100000000  # ticks: what we saw shortly before and after is compared, too
MIB = 64  # of the device, a power of two


def run(guest, rs, trace):
    """Traces the guest at work in both ways. Returns ftrace's files by name, and what it said."""
    session = Background(rs, 'attach', '--shm', f'/dev/shm/{guest.shm}', '--name', guest.name, '-q', '-o', trace,
                         ready=lambda: rs.sessions())
    guest.sh('insmod /ringside.ko')
    wait_for('the agent', lambda: rs.json('list'))
    events = [f"{e['system']}/{e['name']}" for e in rs.json('list') if e['system'] not in LEFT_OUT
              and e['name'] not in TOO_MANY]
    for system in sorted({name.split('/')[0] for name in events}):
        check(rs('enable', f'{system}:*').code == 0, f'{system}:* is on')
    rs('disable', *(f'*:{name}' for name in TOO_MANY))
    said = guest.sh(f'. /ftrace.sh; ftrace_begin {" ".join(events)}; sh /work.sh; ftrace_end /tmp/ftrace', timeout=400)
    rs('disable', '*')
    print(rs('stat').out)
    code, _, err = session.end(signal.SIGINT)
    print(said, err)
    check(code == 0, 'the session ends well')
    guest.sh('cd /tmp && tar -c ftrace >ftrace.tar')
    with tarfile.open(fileobj=io.BytesIO(guest.get('/tmp/ftrace.tar'))) as tar:
        return {m.name.removeprefix('ftrace/'): tar.extractfile(m).read() for m in tar if m.isfile()}, said


def compare(files, trace):
    formats = [ftrace.Format(data.decode()) for name, data in files.items() if name.startswith('formats/')]
    by_id = {form.id: form for form in formats}
    names = {form.name for form in formats}
    theirs = {int(name[3:]): list(ftrace.read(int(name[3:]), data, by_id))
              for name, data in files.items() if re.fullmatch(r'cpu\d+', name)}
    ticks = [r.ticks for records in theirs.values() for r in records]
    mine, lost = ours(trace, names, min(ticks) - AROUND, max(ticks) + AROUND)
    check(not re.search(rb'(overrun|dropped events): [1-9]', files['stats']), 'ftrace has lost nothing')
    return Comparison(mine, theirs, lost), mine, theirs


def test_changes_are_noticed(mine, theirs):
    """What the comparison must find, in the same traces. One event is enough for that."""
    mine, theirs = ({cpu: [r for r in records if r.event == 'sched_switch'] for cpu, records in side.items()}
                    for side in (mine, theirs))

    def changed(what):
        cpu = max(mine, key=lambda n: len(mine[n]))
        records = list(mine[cpu])
        first, last = theirs[cpu][len(theirs[cpu]) // 3], theirs[cpu][-len(theirs[cpu]) // 3]
        inner = [i for i, r in enumerate(records) if first.ticks < r.ticks < last.ticks]
        check(len(inner) > 10, 'enough events')
        what(records, inner[len(inner) // 2], inner[len(inner) // 2 + 1])
        return Comparison({**mine, cpu: records}, theirs).differences

    def drop(records, at, _):
        del records[at]

    def twice(records, at, _):
        records.insert(at, records[at])

    def field(records, at, _):
        records[at] = records[at]._replace(fields={**records[at].fields, 'next_pid': 77777})

    def pid(records, at, _):
        records[at] = records[at]._replace(pid=77777)

    def context(records, at, _):
        records[at] = records[at]._replace(depth=records[at].depth + 1)

    def order(records, at, other):
        records[at], records[other] = records[other], records[at]
    for what in drop, twice, field, pid, context, order:
        check(changed(what), f'a change is noticed: {what.__name__}')


def main(series, machine, ringside, module):
    if not os.path.getsize(module):
        skip(f'{module} was not built: its kernel or a compiler is missing')
    with Bed() as bed, tempfile.TemporaryDirectory(prefix='rs-ftrace-') as d:
        os.environ['XDG_RUNTIME_DIR'] = d
        trace = os.path.join(d, 'trace')
        files = {'/ringside.ko': module, '/work.sh': f'{LINUX}/bed-work.sh',
                 '/ftrace.sh': f'{LINUX}/ftrace.sh'}
        guest = Guest(bed, series, machine=machine, files=files, shmem=MIB)
        files, said = run(guest, Ringside(ringside), trace)
        comparison, mine, theirs = compare(files, trace)
    comparison.report()
    check('the network works' in said, 'all work was done')
    check(all(comparison.pairs[name] > 5 for name in WANTED), 'there was work')
    check(not comparison.differences, 'we and ftrace agree')
    test_changes_are_noticed(mine, theirs)


if __name__ == '__main__':
    main(*sys.argv[1:])
