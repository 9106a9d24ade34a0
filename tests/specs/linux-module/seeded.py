#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seeded.py RINGSIDE RINGSIDE_KO: faults are put into what the guest runs, one at a time, and the
specs must fail. Each takes a boot, so no test runs this.

It works in a copy of the folder. RINGSIDE_KO is as in `run`. Ends with "N of M seeded faults
caught", and fails if one was not.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# What is wrong, the spec that notices it, the file, and what becomes of its text.
FAULTS = [
    ('who needs a module comes before it', 'boot', 'work/boot', 'pvpanic.ko\n/bin/insmod /modules/pvpanic-mmio.ko',
     'loop.ko\n/bin/insmod /modules/pvpanic.ko\n/bin/insmod /modules/pvpanic-mmio.ko\nexit'),
    ('a module is missing', 'boot', 'work/boot', '/bin/insmod /modules/loop.ko\n', ''),
    ('a service starts before its file system', 'boot', 'work/boot', '/bin/mount -t tmpfs none /run\n/bin/syslogd',
     '/bin/syslogd -O /tmp/log\n/bin/mount -t tmpfs none /run\n/bin/true'),
    ('nothing is mounted', 'boot', 'work/boot', 'mount -t tmpfs none /run', 'mount -t nix none /run'),
    ('a child is not waited for', 'processes', 'work/processes', 'sleep 0.1 &\nwait\n', 'sleep 0.1 &\n'),
    ('an exit code is another', 'processes', 'work/processes', 'exit 7', 'exit 6'),
    ('a child is missing', 'processes', 'work/processes', '(exit 3)\n', 'true\n'),
    ('a signal is missing', 'signals', 'work/signals', 'kill -USR1 $$\nkill', 'kill'),
    ('a signal is ignored', 'signals', 'work/signals', "'echo caught'", "''"),
    ('who is stopped is not told to go on', 'signals', 'work/signals', 'kill -CONT $!\n', ''),
    ('who should be killed is asked', 'signals', 'work/signals', 'kill -KILL', 'kill -TERM'),
    ('a task has another CPU', 'fairness', 'work/fairness', 'taskset 2 ', 'taskset $(($(echo $name | wc -c) == 6 ? 1 : 2)) '),
    ('a task is missing', 'fairness', 'work/fairness', 'red green blue', 'red green'),
    ('a task sleeps', 'fairness', 'work/busy', 'do :;', 'do /bin/usleep 1000;'),
    ('a task is not run before the others are done', 'fairness', 'work/fairness', 'taskset 2 /work',
     'taskset 2 nice -n $(($(echo $name | wc -c) == 6 ? 19 : -20)) /work'),
    ('calls do not return', 'syscalls', 'init', 'for part', 'sleep 999 & sleep 999 & sleep 999 & for part'),
]


def judge(ringside, copy, name):
    specs = sorted((copy / 'specs/linux-module').glob(f'{name}.spec'))
    done = subprocess.run([ringside, 'test', '-o', copy / 'evidence', *specs],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    why = re.search(r'^FAIL (.*)', done.stdout, re.M)
    return done.returncode, why[1] if why else done.stdout[-500:]


def prepare(folder):
    """A copy whose specs have one series."""
    copy = pathlib.Path(folder)
    (copy / 'guests').symlink_to(HERE.parents[1] / 'guests')
    shutil.copytree(HERE, copy / 'specs/linux-module')
    for path in copy.glob('specs/linux-module/*.*'):
        path.write_text(path.read_text().replace('series = 6.1; 6.12', 'series = 6.1').replace(' 6.1 6.12', ' 6.1'))
    return copy


def try_fault(ringside, copy, what, spec, name, old, new):
    path = copy / 'specs/linux-module' / name
    good = path.read_text()
    if good.count(old) != 1:
        sys.exit(f'{name}: there is not one place for "{what}"')
    path.write_text(good.replace(old, new))
    code, why = judge(ringside, copy, spec)
    path.write_text(good)
    print(f'{"caught" if code == 1 else "MISSED"}: {what}\n    {why}', flush=True)
    return code == 1


def main():
    ringside = os.path.abspath(sys.argv[1])
    os.environ['RINGSIDE_KO'] = os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        copy = prepare(folder)
        code, why = judge(ringside, copy, '*')
        if code:
            sys.exit(f'the specs fail without a fault: {why}')
        caught = sum(try_fault(ringside, copy, *fault) for fault in FAULTS)
    print(f'{caught} of {len(FAULTS)} seeded faults caught')
    sys.exit(caught != len(FAULTS))


main()
