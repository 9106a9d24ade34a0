#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an outsider has: Ringside is installed into a folder of its own, and everything is built out
of the tree, with what pkg-config says and nothing else, and traced by the installed command.

    installed.py SOURCE_ROOT BUILD_ROOT MESON [TEST...]
"""
import atexit
import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import KVM, Ringside, check, run_tests

SOURCE, BUILD, MESON = sys.argv[1:4]
TUTORIALS = os.path.join(SOURCE, 'docs/tutorials')
WARNINGS = ['-Wall', '-Wextra', '-Werror']
COMPILERS = [cc for cc in ('gcc', 'clang') if shutil.which(cc)]
CXX = {'gcc': 'g++', 'clang': 'clang++'}


def run(*command, **more):
    p = subprocess.run(command, capture_output=True, text=True, timeout=60,
                       stdin=subprocess.DEVNULL, **more)
    if p.returncode:
        raise AssertionError(f'{command}: code {p.returncode}\n{p.stdout}\n{p.stderr}')
    return p.stdout


def install():
    """Returns the folder that is the installed tree's root."""
    root = tempfile.mkdtemp(prefix='rs-kit-')
    atexit.register(shutil.rmtree, root)
    run(MESON, 'install', '-C', BUILD, '--no-rebuild', '--quiet', env=os.environ | {'DESTDIR': root})
    return root


def find(path):
    found = glob.glob(f'{KIT}/**/{path}', recursive=True)
    assert len(found) == 1, (path, found)
    return found[0]


KIT = install()
os.environ['PKG_CONFIG_PATH'] = os.path.dirname(find('ringside-hosted.pc'))
os.environ['PKG_CONFIG_SYSROOT_DIR'] = KIT
rs = Ringside(find('bin/ringside'))


def pkg_config(*args):
    return run('pkg-config', *args).split()


def command_of_tutorial(name):
    """The command by which the tutorial builds NAME.c, as it stands there."""
    with open(f'{TUTORIALS}/first-guest.md', encoding='utf-8') as page:
        return re.search(rf'^    (gcc -O2 .* {name}\.c .*)$', page.read(), re.M)[1]


def build_as_tutorial_says(name, cc, *more):
    """Builds in the current folder."""
    shutil.copy(f'{TUTORIALS}/{name}.c', '.')
    command = command_of_tutorial(name)
    assert command.startswith('gcc ')
    run('sh', '-c', ' '.join([cc, *WARNINGS, *more, command[len('gcc '):]]))


def events(*args):
    """What is traced: the JSON line of each event."""
    r = rs('run', '--json', *args)
    check(r.code == 0, f'the run ends well: {r.code} {r.err[-400:]}')
    return [line for line in map(json.loads, r.out.splitlines()) if 'event' in line]


def check_dishes(lines, count, what):
    got = [(line['fields']['dish'], line['fields']['minutes']) for line in lines]
    wanted = list(itertools.islice(zip(itertools.cycle(('soup', 'bread', 'tea')), range(60)), count))
    check(got == wanted, f'{what}: all {count} dishes are in the trace: {got[:3]} ...')


def test_program():
    """Checks the tutorial's program, of each compiler, also static."""
    for cc, more in itertools.product(COMPILERS, ([], ['-static'])):
        build_as_tutorial_says('first-program', cc, *more)
        run('./program')
        check_dishes(events('-e', 'kitchen:*', '--hosted', './program'), 30, f'{cc} {more}')


def test_guest():
    """Checks the tutorial's guest, of each compiler."""
    for cc in COMPILERS:
        build_as_tutorial_says('first-guest', cc)
        for accel in ['kvm'] * KVM + ['tcg'] * bool(shutil.which('qemu-system-x86_64')):
            lines = events('-e', 'kitchen:*', '--accel', accel, '--serial', 'none', '--append',
                           'dishes=5', './kitchen')
            check_dishes(lines, 5, f'{cc}, {accel}')


def test_languages():
    """Checks that a program with an event of each kind makes the same trace in C and in C++."""
    for path in [*glob.glob(f'{SOURCE}/tests/guests/installed/*'),
                 f'{SOURCE}/tests/golden/roundtrip-events.h']:
        shutil.copy(path, '.')
    cflags, libs = (pkg_config(f'--{what}', 'ringside-hosted') for what in ('cflags', 'libs'))
    traces = {}
    for cc, optimise in itertools.product(COMPILERS, ('-O0', '-O2')):
        for name, compiler in {cc: [cc], CXX[cc]: [CXX[cc], '-x', 'c++', '-std=c++17']}.items():
            for part in ('kinds', 'other'):
                run(*compiler, optimise, *WARNINGS, *cflags, '-c', f'{part}.c', '-o', f'{part}.o')
            run(name, '-o', 'kinds', 'kinds.o', 'other.o', *libs)
            lines = events('-e', '*', '--hosted', './kinds')
            traces[name, optimise] = [(line['event'], line['fields']) for line in lines]
    (first, *_), *rest = traces.items()
    check([event for event, _ in traces[first]] ==
          ['ints', 'hex', 'arrays', 'symbols', 'symbols', 'dynamic', 'bare'],
          'each event is there once, and symbols from two files')
    check(not any(fields for event, fields in traces[first] if event == 'bare'), 'bare has no field')
    for name, trace in rest:
        check(trace == traces[first], f'{name} and {first} make the same trace')


def test_headers():
    """Checks that each header can be included alone, in C17 and in C++17."""
    flags = pkg_config('--cflags', 'ringside-hosted', 'ringside-baremetal')
    flags = [flag for flag in flags if flag.startswith('-I')]
    headers = [path for path in glob.glob(f'{KIT}/**/*.h', recursive=True)
               if not path.endswith('/event_impl.h')]  # it says that event.h is to be included
    check(len(headers) > 15, f'{len(headers)} headers')
    for number, path in enumerate(headers):
        with open(f'{number}.c', 'w', encoding='utf-8') as file:
            file.write(f'#include "{path}"\n#include "{path}"\n')
    sources = sorted(glob.glob('[0-9]*.c'))
    for cc in COMPILERS:
        run(cc, '-std=c17', *WARNINGS, '-fsyntax-only', *flags, *sources)
        run(CXX[cc], '-x', 'c++', '-std=c++17', *WARNINGS, '-fsyntax-only', *flags, *sources)


def in_folder(test):
    """Runs a test in an empty folder."""
    def wrapped():
        with tempfile.TemporaryDirectory(prefix='rs-test-') as folder:
            os.chdir(folder)
            try:
                test()
            finally:
                os.chdir('/')
    wrapped.__name__ = test.__name__
    return wrapped


run_tests([in_folder(test) for test in (test_headers, test_program, test_guest, test_languages)],
          only=sys.argv[4:])
