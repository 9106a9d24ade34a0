#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the module shows of a kernel at work is what the kernel's own ftrace shows of it.

    linux_ftrace.py 6.1|6.12 RINGSIDE MODULE_DIRECTORY

The guest runs bed-work.sh while both trace all events that the module knows. ftrace_compare.py says
what is compared.
"""
import base64
import glob
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import ftrace
from ftrace_compare import Comparison, ours
from harness import check, need, skip
from linux_guest import LINUX, fetch

EVENT = re.compile(r'^RS_TRACE_EVENT\((\w+), (\w+),', re.M)
# Without them, there was no work.
WANTED = 'sched_switch', 'sched_process_exec', 'sched_process_exit'
INIT = '''#!/bin/sh
export PATH=/bin HOME=/
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tracefs none /sys/kernel/tracing
mount -t tmpfs none /tmp
ip link set lo up
insmod /ringside.ko
. /ftrace.sh
sleep 1
ftrace_begin {events}
sh /work.sh >/tmp/out 2>&1
ftrace_end /tmp/ftrace
cd /tmp
tail -n 100 out
echo BEGIN; tar -c ftrace | gzip -1 | base64; echo END
poweroff -f
'''


def build(source, series, directory):
    """The path of ringside.ko for a kernel."""
    for tool in 'make', 'gcc-12':
        if not shutil.which(tool):
            skip(f'no {tool}')
    out = os.path.join(directory, 'module')
    subprocess.run(['make', '-s', '-C', source, f'KDIR={fetch(series, "--build")}', f'OUT={out}'], check=True,
                   stdout=subprocess.DEVNULL)
    return f'{out}/ringside.ko'


def events_of(source):
    text = ''.join(open(path).read() for path in glob.glob(f'{source}/events_*.h'))
    return [f'{system}/{name}' for system, name in EVENT.findall(text)]


def run(series, ringside, source, d):
    """Runs the guest. Returns ftrace's files, by name, and the path of our trace."""
    script, initrd, console, trace = (os.path.join(d, name) for name in ('init', 'initrd', 'console', 'trace'))
    with open(script, 'w') as file:
        file.write(INIT.format(events=' '.join(events_of(source))))
    files = {'/ringside.ko': build(source, series, d), '/work.sh': f'{LINUX}/bed-work.sh', '/ftrace.sh': f'{LINUX}/ftrace.sh'}
    subprocess.run([f'{LINUX}/mk-initramfs', initrd, script, *map('='.join, files.items())], check=True)
    subprocess.run([ringside, 'run', '--accel', 'tcg', '--initrd', initrd, '--mem', '512M', '--cpus', '2', '-q',
                    '--append', 'console=ttyS0 quiet panic=-1', '--serial', console, '-e', '*', '--ring-size', '16M',
                    '-o', trace, '--duration', '250', fetch(series)], check=True, env={**os.environ, 'XDG_RUNTIME_DIR': d})
    said, _, rest = open(console, errors='replace').read().partition('\nBEGIN')
    packed, end, _ = rest.partition('\nEND')
    print(said)
    check(end, 'the guest came to its end')
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(base64.b64decode(packed)))) as tar:
        return {m.name.removeprefix('ftrace/'): tar.extractfile(m).read() for m in tar if m.isfile()}, trace, said


def compare(files, trace):
    formats = [ftrace.Format(data.decode()) for name, data in files.items() if name.startswith('formats/')]
    by_id = {form.id: form for form in formats}
    names = {form.name for form in formats}
    theirs = {int(name[3:]): list(ftrace.read(int(name[3:]), data, by_id))
              for name, data in files.items() if re.fullmatch(r'cpu\d+', name)}
    everything, lost = ours(trace)
    mine = {cpu: [r for r in records if r.event in names] for cpu, records in everything.items()}
    check(not re.search(rb'(overrun|dropped events): [1-9]', files['stats']), 'ftrace has lost nothing')
    return Comparison(mine, theirs, lost), mine, theirs


def test_changes_are_noticed(mine, theirs):
    """What the comparison must find, in the same traces."""
    def changed(what):
        cpu = max(mine, key=lambda n: len(mine[n]))
        records = list(mine[cpu])
        first, last = theirs[cpu][len(theirs[cpu]) // 3], theirs[cpu][-len(theirs[cpu]) // 3]
        inner = [i for i, r in enumerate(records) if r.event == 'sched_switch' and first.ticks < r.ticks < last.ticks]
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


def main(series, ringside, source):
    need('tcg')
    with tempfile.TemporaryDirectory(prefix='rs-ftrace-') as d:
        files, trace, said = run(series, ringside, source, d)
        comparison, mine, theirs = compare(files, trace)
    comparison.report()
    check('the network works' in said, 'all work was done')
    check(all(comparison.pairs[name] > 10 for name in WANTED), 'there was work')
    check(not comparison.differences, 'we and ftrace agree')
    test_changes_are_noticed(mine, theirs)


main(*sys.argv[1:])
