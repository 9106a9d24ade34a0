#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several processes of one Linux guest, each in a region of its own of the device's memory.

    linux_many.py LINUX_DIRECTORY PROCWATCH JOIN_STATIC RINGSIDE

procwatch has one of the four regions all the time. Skips (77) if QEMU, busybox or the kernel is
missing.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import check, need, skip

GUEST, PROCWATCH, JOIN, RINGSIDE = map(os.path.realpath, sys.argv[1:])
# One is killed, so it cannot say that it leaves. Later all three regions are needed again.
SCRIPT = '''#!/bin/sh
join=/bin/hosted-join-static
for name in one two; do
	$join $name emit 50 await /tmp/enough emit 50 &
done
$join victim pace 1000 emit 1000000 &
victim=$!
/bin/sleep 2
$join denied emit 1
kill -9 $victim
: >/tmp/enough
wait
for round in 1 2; do
	for name in red green blue; do
		$join $name$round emit 100 sleep 300 emit 100 &
	done
	wait
done
$join before exec after emit 30
'''
NAMES = [f'{name}{n}' for n in (1, 2) for name in ('red', 'green', 'blue')]


def main():
    need('tcg')
    for tool in 'busybox', 'cpio':
        if not shutil.which(tool):
            skip(f'no {tool}')
    fetched = subprocess.run([f'{GUEST}/fetch-kernel'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    kernel = fetched.stdout.strip().rpartition('\n')[2]
    if not os.access(kernel, os.R_OK):
        skip(kernel)
    with tempfile.TemporaryDirectory(prefix='rs-linux-') as d:
        script, initrd, console = (os.path.join(d, name) for name in ('script', 'initrd', 'console'))
        with open(script, 'w') as file:
            file.write(SCRIPT)
        files = {'/bin/procwatch': PROCWATCH, '/work.sh': script, f'/bin/{os.path.basename(JOIN)}': JOIN}
        subprocess.run([f'{GUEST}/mk-initramfs', initrd, f'{GUEST}/init', *map('='.join, files.items())], check=True)
        p = subprocess.run([RINGSIDE, 'run', '--accel', 'tcg', '--json', '--initrd', initrd, '--mem', '512M',
                            '--cpus', '2', '--append', 'console=ttyS0 quiet panic=-1', '--serial', console,
                            '-e', 'join:*', '-e', 'proc:exit', '--duration', '200', kernel],
                           capture_output=True, text=True, env={**os.environ, 'XDG_RUNTIME_DIR': d})
        said = open(console, errors='replace').read()
    print(said, p.stderr)
    check(p.returncode == 0, 'run ends well')
    lines = [json.loads(l) for l in p.stdout.splitlines()]
    found = collections.defaultdict(list)
    for line in lines:
        if line.get('system') == 'join':
            if line['source'] != line['fields']['who']:
                raise AssertionError(f'a line names another source: {line}')
            found[line['source']].append(line)
    check(not any('raw' in l for l in lines), 'all lines are decoded')
    check(sorted(found) == sorted(['one', 'two', 'victim', 'after', *NAMES]), f'who was traced: {sorted(found)}')
    for name, of in found.items():
        wanted = {'one': 100, 'two': 100, 'victim': len(of), 'after': 30}.get(name, 200)
        check([e['fields']['n'] for e in of] == list(range(wanted)), f'{name}: {wanted} events, each once')
        check(len({e['pid'] for e in of}) == 1, 'of one process')
    check(len({e[0]['pid'] for e in found.values()}) == len(found), 'each of its own')
    check(' not traced: every trace region here belongs to another agent' in said, 'one came too many, and said so')
    # Records of different processes are in order: procwatch sees each of them end.
    events = [l for l in lines if 'event' in l]
    times = [l['ns'] for l in events]
    late = [(a['source'], b['source'], b['fields'].get('n'), b['ns'] - a['ns'])
            for a, b in zip(events, events[1:]) if b['ns'] < a['ns']]
    check(not late, f'{len(times)} lines in the order of time {late[:9]}')
    ends = {l['fields']['pid']: l['ns'] for l in lines if l.get('event') == 'exit'}
    for name, of in found.items():
        # The kernel may not stop a process for its tracer once it was killed.
        if name == 'victim' and of[0]['pid'] not in ends:
            continue
        check(ends[of[0]['pid']] > of[-1]['ns'], f'{name} ends after its last event')
    summary = lines[-1]['summary']
    check(summary['recorded'] == summary['printed'] == len(times) and not summary['lost'], f'the sums are true: {len(times)}')


main()
