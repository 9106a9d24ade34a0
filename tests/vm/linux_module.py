#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel module and an example of a module with events, built for Debian's kernel and booted
under TCG: patched by the host and by the guest, loaded and unloaded while events fire, a CPU that
goes and comes.

    linux_module.py 6.1|6.12|debug RINGSIDE RINGSIDE_KO
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import PATIENCE, Ringside, check, need, skip
from linux_guest import LINUX, check_kernel, console_words, fetch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '../..')
PORT = os.path.join(ROOT, 'guest-agent/ports/linux-module')
EXAMPLE = os.path.join(HERE, '../guests/linux-module')
TICK = re.compile(r'\[(\d+)\].* example:tick: number=(\d+) where=(\w+)')
LOADS = 14  # of the example: tests/guests/linux-module/init
MANY = re.compile(r' example:many: place=(\d+)')


def make(*args):
    done = subprocess.run(['make', '-s', '-j2', *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise AssertionError(f'make {args}:\n{done.stdout}')
    return done.stdout


def build_example(series, ours, directory):
    """The path of the example, built for `ours`, in the directory."""
    example = os.path.join(directory, 'example')
    shutil.copytree(EXAMPLE, example)
    symbols = os.path.join(os.path.dirname(ours), f'module-{series}/Module.symvers')
    said = make('CC=gcc-12', '-C', fetch(series, '--build'), f'M={example}', f'RINGSIDE={os.path.abspath(PORT)}',
                f'KBUILD_EXTRA_SYMBOLS={os.path.abspath(symbols)}', 'CONFIG_DEBUG_INFO_BTF_MODULES=', 'modules')
    check('warning' not in said.lower(), f'no warning: {said}')
    subprocess.run(['strip', '-g', f'{example}/example.ko'], check=True)
    return f'{example}/example.ko'


def test_both_are_built_without_a_warning(series, ours, directory):
    with open(f'{ours}.log') as file:
        said = file.read()
    check('warning' not in said.lower(), f'no warning: {said}')
    made = [name for name in os.listdir(PORT) if name.endswith(('.o', '.ko', '.cmd', '.mod', '.symvers'))]
    check(not made, f'nothing is written beside the sources: {made}')
    return {'/ringside.ko': ours, '/example.ko': build_example(series, ours, directory)}


def boot(series, directory, rs, modules):
    initrd, console = os.path.join(directory, 'initrd'), os.path.join(directory, 'console')
    subprocess.run([f'{LINUX}/mk-initramfs', initrd, f'{EXAMPLE}/init',
                    *map('='.join, modules.items())], check=True)
    result = rs('run', '--name', f'linux-module-{series}', '--accel', 'tcg', '--initrd', initrd, '--mem', '512M',
                '--cpus', '2', '--append', f'{console_words(series)} panic=-1', '--serial', console,
                '-e', 'example:*', fetch(series), timeout=7 * PATIENCE)
    with open(console, errors='replace') as file:
        return result, file.read()


def test_the_guest_is_content(result, console):
    check(result.code == 0, f'an orderly end: {result.err}')
    check("the module's work is done" in console, f'it came to its end: {console}')
    check('FAILED' not in console, f'nothing failed: {console}')
    check_kernel(console)


def test_all_events_are_there_in_their_order(result):
    check('LOST' not in result.out and ' 0 lost, 0 dropped' in result.err, f'nothing is lost: {result.err}')
    ticks = [match.groups() for match in TICK.finditer(result.out)]
    tasks = [int(number) for _, number, where in ticks if where == 'task']
    check(tasks == [*range(1000), *range(10), *range(1000)], f'{len(tasks)} ticks of tasks')
    timers = [int(number) for _, number, where in ticks if where == 'timer']
    check(len(timers) > 10, f'{len(timers)} ticks in interrupts')
    breaks = sum(b != a + 1 for a, b in zip(timers, timers[1:]))
    check(breaks < LOADS, f'in their order, but for {breaks} times that the module was loaded again')
    many = [int(place) for place in MANY.findall(result.out)]
    check(many == 3 * [*range(200)], f'each of 200 places, {len(many)} events')


def test_who_patched_is_told(result):
    check('the guest\'s agent started anew' in result.err, 'the boots of the agent are told')
    check('refused' not in result.err or ' 0 refused' in result.err, f'no site is refused: {result.err}')


def main(series, ringside, ours):
    need('tcg')
    if not os.path.getsize(ours):
        skip(f'{ours} was not built: its kernel or a compiler is missing')
    with tempfile.TemporaryDirectory(prefix='rs-module-') as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        modules = test_both_are_built_without_a_warning(series, ours, directory)
        result, console = boot(series, directory, Ringside(ringside), modules)
        test_the_guest_is_content(result, console)
        test_all_events_are_there_in_their_order(result)
        test_who_patched_is_told(result)


if __name__ == '__main__':
    main(*sys.argv[1:])
