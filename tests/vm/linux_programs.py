#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of a Linux guest get their regions from its module, without a word from anybody.

    linux_programs.py SERIES RINGSIDE RINGSIDE_KO LIBRARY JOIN_STATIC BAKERY BAKERY_STATIC HOSTILE

With the module no program but one runs as root. They are killed, they fork and execute, they do
what is forbidden, there are more of them than regions, and the device goes away under some. SERIES
none: there is no module, and programs of root find the device by themselves.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import PATIENCE, Background, Ringside, check, need, skip, wait_for
from linux_guest import LINUX, check_kernel, console_words, fetch

LIBC, LOADER = '/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2'
FLOOD = 100000
SHOTS = 20
INIT = '''#!/bin/sh
export PATH=/bin HOME=/ RINGSIDE_DEBUG=1 RINGSIDE_WAIT=30000
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs -o mode=1777 none /tmp
chmod 755 /
echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
'''
END = '''
dmesg | grep -E "BUG|WARNING|Oops|general protection|Call Trace|stall|bad page|Bad page|leak"
echo the end
poweroff -f
'''
Seen = collections.namedtuple('Seen', 'said events lost listed summary')
# Nine regions for programs, of which one user may have six.
WITH_MODULE = '''
insmod /ringside.ko
until dmesg | grep -q 'the host answers'; do usleep 100000; done
(
	until [ -e /tmp/full ]; do usleep 10000; done
	hosted-join-static root emit 7
	touch /tmp/rooted
) &
cat >/tmp/work.sh <<'WORK'
for i in 1 2 3 4; do
	hosted-join-static ten$i emit 100 await /tmp/enough emit 100 2>/tmp/said$i &
done
hosted-join-static gate gate emit 3 2>/tmp/said5 &
gate=$!
hosted-join-static victim pace 1000 emit 1000000 2>/tmp/said6 &
victim=$!
until [ "$(cat /tmp/said? | grep -c ' traced')" = 6 ]; do usleep 10000; done
for i in 1 2; do
	hosted-join-static late$i emit 1
done
touch /tmp/full
until [ -e /tmp/rooted ]; do usleep 10000; done
echo look at them
wait $gate
kill -9 $victim
touch /tmp/enough
wait
for i in $(seq SHOTS); do
	hosted-join-static shot$i emit 100000000 2>/tmp/shot$i &
	[ $((i % 4)) = 0 ] || until grep -q traced /tmp/shot$i; do usleep 5000; done
	usleep $((RANDOM * 4))
	kill -9 $!
	wait $!
	cat /tmp/shot$i
done
hosted-join-static flood emit FLOOD
hosted-join-static parent emit 10 fork 10
sleep 1
hosted-join-static before emit 5 exec after emit 20
bakery 20
bakery-static 30
device-hostile rules
device-hostile many 12
device-hostile space 12
device-hostile scribble >/tmp/scribble &
until grep scribbles /tmp/scribble; do usleep 10000; done
hosted-join-static beside emit 50
kill -9 $!
hosted-join-static stays pace 5000 emit 1000000 &
echo $! >/tmp/stays
device-hostile storm >/tmp/storm &
until grep storms /tmp/storm; do usleep 10000; done
sleep 1
WORK
su nobody -s /bin/sh -c 'sh /tmp/work.sh'
chmod 600 /dev/ringside
su nobody -s /bin/sh -c 'bakery 3'
rmmod ringside || echo the module stays
echo 1 >$(echo /sys/bus/pci/drivers/ringside/0*/remove)
sleep 1
kill -0 $(cat /tmp/stays) && echo it lives on
kill $(cat /tmp/stays)
until grep gone /tmp/storm; do usleep 10000; done
until rmmod ringside; do usleep 100000; done
echo the module goes
bakery 2
'''
WITHOUT = '''
bakery 20
bakery-static 30 &
hosted-join-static one emit 40
wait
hosted-join-static shot emit 100000000 &
usleep 700000
kill -9 $!
wait $!
hosted-join-static two emit 40
su nobody -s /bin/sh -c 'bakery 7'
RINGSIDE_REGION= bakery 8
'''


def look_at_them(rs, console):
    """What lists say while many run. Then the gate opens, for which they wait."""
    def is_time():
        with open(console, errors='replace') as file:
            return 'look at them' in file.read()
    wait_for('all of them', is_time, 4 * PATIENCE)
    listed = rs.json('list', '--providers')
    check(rs('enable', 'gate:open').code == 0, 'the gate opens')
    return listed


def boot(series, ringside, init, files, d):
    """Returns what the guest said, the events of each source, and the summary."""
    script, initrd, console, group = (os.path.join(d, name) for name in ('init', 'initrd', 'console', 'group'))
    init_text = init.replace('SHOTS', str(SHOTS)).replace('FLOOD', str(FLOOD))
    for path, text in (script, INIT + init_text + END), (group, 'nogroup:x:65534:\n'):
        with open(path, 'w') as file:
            file.write(text)
    files = {**files, LIBC: LIBC, LOADER: LOADER, '/etc/group': group}
    subprocess.run([f'{LINUX}/mk-initramfs', initrd, script, *map('='.join, files.items())], check=True)
    rs = Ringside(ringside)
    run = Background(rs, 'run', '--accel', 'tcg', '--json', '--initrd', initrd, '--mem', '512M', '--cpus', '2',
                     '--append', f'{console_words(series)} panic=-1', '--serial', console, '--regions', '9',
                     '-e', 'join:*', '-e', 'bakery:*', '--duration', str(7 * PATIENCE), fetch(series),
                     ready=lambda: rs('stat').code == 0)
    listed = look_at_them(rs, console) if init is WITH_MODULE else []
    code, out, said = run.end(timeout=9 * PATIENCE)
    with open(console, errors='replace') as file:
        console_text = file.read()
    said += console_text
    print(said)
    check(code == 0 and '\nthe end' in said, 'the guest came to its end')
    check_kernel(console_text)
    check(not re.search(r'Call Trace|protection|[Bb]ad page', console_text), 'nor does it show a fault')
    lines = [json.loads(l) for l in out.splitlines()]
    found = collections.defaultdict(list)
    for line in lines:
        if line.get('system') in ('join', 'bakery'):
            found[line['source']].append(line)
    check(not any('raw' in l for l in lines), 'all lines are decoded')
    return Seen(said, found, losses_of(lines), listed, lines[-1]['summary'])


def losses_of(lines):
    lost = collections.Counter()
    for line in lines:
        if 'lost' in line and 'source' in line and 'cpu' in line:
            lost[line['source']] += line['lost']
    return lost


def numbers(seen, name):
    return [e['fields']['n'] for e in seen.events.get(name, ())]


def check_whole(seen, name, count):
    got = numbers(seen, name)
    check(got == list(range(count)) and not seen.lost[name], f'{name}: {len(got)} of {count} events')


def check_counted(seen, name, count=None):
    """In order. What is not there was counted. Who is killed has lost some more. A session that
    answers late has switched it on late, too."""
    got = numbers(seen, name)
    check(got == sorted(set(got)), f'{name}: {len(got)} events in order')
    missing = (count or got[-1] + 1) - len(got)
    if missing > seen.lost[name]:
        print(f'{name}: its first event is {got[0]}')
        missing -= got[0]
    more = seen.lost[name] - missing
    check(more == 0 if count else more >= 0, f'{name}: {missing} are missing, {seen.lost[name]} are counted')


def check_loaves(seen, what):
    got = sorted([e['fields']['number'] for e in of] for name, of in seen.events.items() if name.startswith('bakery'))
    check(got == [list(range(20)), list(range(30))], f'{what}: {[len(n) for n in got]}')


def test_each_program_is_a_source(seen):
    for i in range(1, 5):
        check_whole(seen, f'ten{i}', 200)
    check_whole(seen, 'gate', 3)
    check_counted(seen, 'victim')
    live = {p['source']: p for p in seen.listed if p['state'] == 'live' and p['pid']}
    check(set(live) >= {'ten1', 'ten2', 'ten3', 'ten4', 'gate', 'victim'}, f'the list has all: {sorted(live)}')
    check(len({p['pid'] for p in live.values()}) == len(live), 'each a process of its own')


def test_a_user_cannot_take_all(seen):
    late = re.findall(r'^late\d \d+ (traced|not traced: .*)$', seen.said, re.M)
    check(len(late) == 2 and not any(word == 'traced' for word in late), f'who comes too late is untraced: {late}')
    check(seen.said.count('this user has all the trace regions that one user may have') >= 2, 'and is told why')
    check_whole(seen, 'root', 7)
    check(seen.summary['turned_away'] >= 2, f'which is counted: {seen.summary["turned_away"]}')
    got = [int(n) for n in re.findall(r'hostile: (\d+) of 12 have regions', seen.said)]
    check(len(got) == 2 and 1 < min(got) <= max(got) <= 6, f'nor with a user namespace for each: {got}')


def test_killed_at_any_moment(seen):
    traced = re.findall(r'^(shot\d+) \d+ traced', seen.said, re.M)
    there = [name for name in dict.fromkeys(traced) if name in seen.events]
    check(len(traced) > SHOTS / 2 and len(there) > 2, f'their regions come back: {len(traced)} taken, {len(there)} seen')
    for name in there:
        check_counted(seen, name)


def test_all_losses_are_counted(seen):
    check_counted(seen, 'flood', FLOOD)


def test_fork_and_exec(seen):
    check_whole(seen, 'parent', 20)
    check(len({e['pid'] for e in seen.events['parent']}) == 2, 'a forked child goes on in the region of its parent')
    check_whole(seen, 'after', 20)


def test_hostile_programs(seen):
    check('BROKEN' not in seen.said and seen.said.count('hostile: all was refused') == 3,
          'all that is forbidden is refused')
    check('hostile: scribbles' in seen.said, 'one writes noise into its region')
    check_whole(seen, 'beside', 50)


def test_the_device_goes_away_under_them(seen):
    for line in 'the module stays', 'it lives on', 'the module goes', 'hostile: the memory is gone: 0':
        check(re.search(f'^{line}', seen.said, re.M), line)
    check_counted(seen, 'stays')
    check('2 loaves' in seen.said and 'not traced: there is no memory' in seen.said, 'and the next program runs untraced')


def test_who_may_not_is_told_so(seen):
    check('3 loaves' in seen.said and 'not traced: this user may not open /dev/ringside' in seen.said, 'no permission')


def check_module(seen):
    check_loaves(seen, 'programs with the library, shared and static')
    for test in (test_each_program_is_a_source, test_a_user_cannot_take_all, test_killed_at_any_moment,
                 test_all_losses_are_counted, test_fork_and_exec, test_hostile_programs,
                 test_the_device_goes_away_under_them, test_who_may_not_is_told_so):
        test(seen)


def check_none(seen):
    check_loaves(seen, 'programs of root find the device')
    check_whole(seen, 'one', 40)
    check_counted(seen, 'shot')
    check_whole(seen, 'two', 40)
    check('7 loaves' in seen.said and 'not traced: without the kernel\'s module only root' in seen.said,
          'others run untraced, and say why if they are asked')
    check('8 loaves' in seen.said and 'not traced: RINGSIDE_REGION is empty' in seen.said, 'likewise who does not want')


def main(series, ringside, module, library, *programs):
    need('tcg')
    if series != 'none' and not os.path.getsize(module):
        skip(f'{module} was not built: its kernel or a compiler is missing')
    for tool in 'busybox', 'cpio':
        if not shutil.which(tool):
            skip(f'no {tool}')
    files = {f'/bin/{os.path.basename(path)}': path for path in programs}
    files['/lib/x86_64-linux-gnu/libringside-provider.so.0'] = library
    with tempfile.TemporaryDirectory(prefix='rs-linux-') as d:
        os.environ['XDG_RUNTIME_DIR'] = d
        if series == 'none':
            check_none(boot('6.1', ringside, WITHOUT, files, d))
        else:
            files['/ringside.ko'] = module
            check_module(boot(series, ringside, WITH_MODULE, files, d))


main(*map(str, sys.argv[1:]))
