#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an outsider has: Ringside is installed into a folder of its own, and everything is built out
of the tree, with what pkg-config says and nothing else, and traced by the installed command.

    installed.py SOURCE_ROOT BUILD_ROOT MESON [TEST...]
"""
import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import KVM, Background, Ringside, check, run_tests, wait_for
from kit import Kit, run

SOURCE, BUILD, MESON = sys.argv[1:4]
TUTORIALS = os.path.join(SOURCE, 'docs/tutorials')
# Headers of libringside-decode all of whose functions are private to libringside.
INSIDES = ('clock', 'cmdline', 'decoder', 'file', 'origin', 'page', 'region', 'writer')
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
COMPILERS = [cc for cc in ('gcc', 'clang') if shutil.which(cc)]
# What the bare-metal port has of it: compilers call some of these by themselves.
C_LIBRARY = {'memcmp', 'memcpy', 'memmove', 'memset', 'strcmp', 'strlen', 'strncmp'}
CXX = {'gcc': 'g++', 'clang': 'clang++'}

KIT = Kit(BUILD, MESON)
FILES, find = KIT.files, KIT.find
# What DKMS builds the Linux module of.
MODULE, MODULE_FILES = KIT.module, [os.path.relpath(path, KIT.module) for path in KIT.module_files]
rs = Ringside(find('bin/ringside'))


def pkg_config(*args):
    return run('pkg-config', *args).split()


def command_of_tutorial(name):
    """The command by which the tutorial builds NAME.c, as it stands there."""
    with open(f'{TUTORIALS}/first-guest.md', encoding='utf-8') as page:
        return re.search(rf'^    (gcc -O2 .* {name}\.c .*)$', page.read(), re.M)[1]


def build_as_tutorial_says(name, cc, *more, dishes='30'):
    """Builds in the current folder."""
    with open(f'{TUTORIALS}/{name}.c', encoding='utf-8') as file:
        text = file.read()
    with open(f'{name}.c', 'w', encoding='utf-8') as file:
        file.write(text.replace('i < 30;', f'i < {dishes};'))
    command = command_of_tutorial(name)
    assert command.startswith('gcc ')
    run('sh', '-c', ' '.join([cc, *WARNINGS, *more, command[len('gcc '):]]))


def events(*args):
    """What is traced: the JSON line of each event."""
    r = rs('run', '--json', *args)
    check(r.code == 0, f'the run ends well: {r.code} {r.err[-400:]}')
    lines = [line for line in r.out.splitlines() if line.startswith('{')]
    return [line for line in map(json.loads, lines) if 'event' in line]


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


# How the page's command for a program begins.
PROGRAM = 'gcc -O2 $(pkg-config --cflags ringside-hosted)'


def command_of_page(start):
    """The command that begins so, as docs/programs.md has it."""
    with open(f'{SOURCE}/docs/programs.md', encoding='utf-8') as page:
        return re.search(rf'^    ({re.escape(start)}.*)$', page.read(), re.M)[1]


def test_plugin():
    """Checks the page's plugin and program, of each compiler, also one that exports its agent."""
    for name in 'plugin', 'plugin-host':
        shutil.copy(f'{SOURCE}/docs/examples/{name}.c', '.')
    shutil.copy('plugin-host.c', 'app.c')
    shutil.copy('plugin-host.c', 'app.cc')
    for cc in COMPILERS:
        for command in command_of_page('gcc -O2 -fPIC'), command_of_page(f'{PROGRAM} -o plugin-host'):
            for more in [], ['-rdynamic']:
                run('sh', '-c', ' '.join([cc, *WARNINGS, *more, command[len('gcc '):]]))
        lines = events('-e', '*:*', '--hosted', './plugin-host', './plugin.so')
        got = [(line['source'], line['system'], line['event']) for line in lines]
        check(got == [('plugin', 'plugin', 'loaded'), ('plugin-host', 'app', 'opened')], f'{cc}: two sources: {got}')
        for start, compiler in (f'{PROGRAM} -o app', cc), ('g++ ', CXX[cc]):
            command = command_of_page(start)
            run('sh', '-c', ' '.join([compiler, *WARNINGS, command.split(' ', 1)[1]]))
            lines = events('-e', 'app:*', '--hosted', './app', './plugin.so')
            check([line['event'] for line in lines] == ['opened'], f'{compiler}: a program')


MISPRINTED = """
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>
#include <rs_hosted.h>
#define EVENT(name, field, ...) RS_TRACE_EVENT(bad, name, TP_PROTO(uint32_t v), TP_ARGS(v), \\
    TP_STRUCT__entry(field, __field(u32, n)), TP_fast_assign(__entry->n = v;), TP_printk(__VA_ARGS__))
EVENT(array, __array(u8, mac, 6), "%d", mac)
EVENT(few, __field(u8, x), "%u %u", x)
EVENT(many, __field(u8, x), "%u", x, n)
EVENT(text, __field(u8, x), "%s", x)
EVENT(nobody, __field(u8, x), "%u", y)
EVENT(good, __field(u8, x), "x=%u", x)
int main(void) { rs_hosted_init("bad"); trace_bad_good(1); return 0; }
"""


def test_misprinted():
    """Checks that each event whose print format does not fit its fields is named at the start."""
    with open('bad.c', 'w', encoding='utf-8') as file:
        file.write(MISPRINTED)
    run('gcc', '-O2', 'bad.c', '-o', 'bad', *pkg_config('--cflags', '--libs', 'ringside-hosted'))
    r = rs('run', '-e', 'bad:*', '--json', '--hosted', './bad')
    lines = [json.loads(line) for line in r.out.splitlines()]
    check(r.code == 0 and [line['event'] for line in lines if 'event' in line] == ['good'],
          f'the good one is there: {r.out}')
    for name, why in (('array', 'shows field mac by %d'), ('few', 'more conversions than arguments'),
                      ('many', 'fewer conversions than arguments'), ('text', 'shows field x by %s'),
                      ('nobody', 'argument 1 is not a field')):
        check(re.search(rf'5 events are described badly .*bad:{name}: [^;]*{re.escape(why)}', r.err),
              f'{name} is named: {r.err}')
    r = rs('run', '--check', '--hosted', './bad')
    check((r.code, r.out) == (1, '') and 'bad:array: print format shows field mac by %d' in r.err
          and 'bad: 5 events are described badly' in r.err, f'a build notices them: {r.code} {r.out} {r.err}')
    run('sh', '-c', "sed -i '/^EVENT([afmtn]/d' bad.c")
    run('gcc', '-O2', 'bad.c', '-o', 'bad', *pkg_config('--cflags', '--libs', 'ringside-hosted'))
    r = rs('run', '--check', '--hosted', './bad')
    check((r.code, r.out, r.err) == (0, 'bad: 1 event is described well\n', ''), f'and has its peace: {r.code} {r.out} {r.err}')
    r = rs('run', '--check', '--hosted', '/bin/true')
    check(r.code == 1 and 'no agent' in r.err, f'a program without an agent: {r.code} {r.err}')
    r = rs('run', '--check', '-o', 'x', '--hosted', './bad')
    check(r.code == 2, f'nothing is recorded: {r.code} {r.err}')


def test_provider():
    """Checks the example of a provider in a program, of each compiler, also static and in C++."""
    shutil.copy(f'{SOURCE}/docs/examples/bakery.c', '.')
    for cc in COMPILERS:
        for how in [cc], [CXX[cc], '-x', 'c++', '-std=c++17'], [cc, '-static']:
            more = ['--static'] if '-static' in how else []
            libs = pkg_config('--cflags', *more, '--libs', 'ringside-provider')
            run(*how, '-O2', *WARNINGS, 'bakery.c', '-o', 'bakery', *libs)
            check(run('./bakery', '2') == '2 loaves\n', f'{how}: alone it does its work')
            got = [line['fields']['number'] for line in events('-e', 'bakery:*', '--hosted', './bakery', '9')]
            check(got == list(range(9)), f'{how}: all loaves are in the trace: {got}')


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
    for cc in COMPILERS:  # to the letter, and without events
        for how in ['-std=c17', '-xc'], ['-std=c++17', '-xc++']:
            for more in [], ['-DRS_NO_TRACE']:
                run(cc, *how, *more, *WARNINGS, *cflags, '-fsyntax-only', 'kinds.c', 'other.c')
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
          ['ints', 'hex', 'arrays', 'symbols', 'symbols', 'dynamic', 'bare', 'here', 'here', 'elsewhere', 'bare'],
          'each event is there once, symbols from two files, and then statements from both')
    check(not any(fields for event, fields in traces[first] if event == 'bare'), 'bare has no field')
    for name, trace in rest:
        check(trace == traces[first], f'{name} and {first} make the same trace')


def test_headers():
    """Checks that each header can be included alone, in C17 and in C++17."""
    flags = pkg_config('--cflags', 'ringside-hosted', 'ringside-baremetal', 'libringside', 'libringside-test')
    flags = [flag for flag in flags if flag.startswith('-I')]
    headers = [path for path in FILES  # event_impl.h says that event.h is to be included
               if path.endswith('.h') and not path.endswith('/event_impl.h')]
    check(len(headers) > 40, f'{len(headers)} headers')
    for number, path in enumerate(headers):
        with open(f'{number}.c', 'w', encoding='utf-8') as file:
            file.write(f'#include "{path}"\n#include "{path}"\nextern int not_empty;\n')
    sources = sorted(glob.glob('[0-9]*.c'))
    with open('all.c', 'w', encoding='utf-8') as file:
        file.write(''.join(f'#include "{path}"\n' for path in sorted(headers)))
    for cc in COMPILERS:
        files = sources if cc == 'gcc' else ['all.c']  # one by one takes its time
        run(cc, '-std=c17', *WARNINGS, '-fsyntax-only', *flags, *files)
        run(CXX[cc], '-x', 'c++', '-std=c++17', *WARNINGS, '-fsyntax-only', *flags, *files)


def declared_by(names, package):
    """The functions that these headers declare and do not define, as the compiler sees them."""
    paths = [find(name) for name in names]
    with open('all.c', 'w', encoding='utf-8') as file:
        file.write(''.join(f'#include "{path}"\n' for path in paths))
    run('gcc', '-fsyntax-only', '-aux-info', 'declared', *pkg_config('--cflags', package), 'all.c')
    with open('declared', encoding='utf-8') as file:
        found = re.findall(r'^/\* (.+):\d+:NC \*/ extern .*?(\w+) \(', file.read(), re.M)
    return {name for path, name in found if path in paths}


def exported_by(library, version=''):
    names = [line.split()[2] for line in run('nm', '-D', '--defined-only', '--with-symbol-versions',
                                             library).splitlines()
             if line.split()[1] != 'A']  # the name of the version
    return {name.split('@')[0] for name in names if name.endswith(version)}


def whole(*libraries):
    """Links all of these static libraries into a shared one."""
    parts = [find(f'libringside-{name}.a') for name in libraries]
    run('gcc', '-shared', '-o', 'whole.so', '-Wl,--whole-archive', *parts, '-Wl,--no-whole-archive')
    return './whole.so'


def test_symbols():
    """Checks that who links a library gets what its headers declare, and nothing else."""
    for package, least in ('libringside', 80), ('libringside-decode', 80), ('libringside-test', 30):
        names = [os.path.basename(path) for path in FILES if f'/include/{package}/' in path]
        declared = declared_by(names, package)
        exported = exported_by(find(f'{package}.so'))
        check(len(declared) > least, f'{package}: {len(declared)} functions')
        check(exported == declared, f'{package} exports its API: {exported ^ declared}')
    names = ['agent.h', 'callback.h', 'event.h', 'event_impl.h', 'ktrace.h', 'provider.h', 'rs_hosted.h', 'serve.h',
             'tracepoint.h', 'tracepoint_alone.h', 'tracepoint_snapshot.h', 'utrace.h', 'utrace_examine.h', 'utrace_host.h', 'utrace_os.h']
    declared = declared_by(names, 'ringside-hosted')
    # No functions.
    declared |= {'rs_emit_common', 'rs_emit_self', 'rs_event_ctl', 'rs_event_generation', 'rs_event_changes',
                 'rs_hosted_tell'}
    # The linker makes these, since the dialects have events of their own.
    limits = {f'__{end}_rs_{what}' for end in ('start', 'stop') for what in ('events', 'sites')}
    exported = exported_by(whole('hosted', 'agent')) - limits
    check(exported == declared, f'the agent exports its API: {exported ^ declared}')
    exported = exported_by(find('libringside-provider.so')) - limits
    stray = exported ^ exported_by(find('libringside-provider.so'), 'LIBRINGSIDE_PROVIDER_0') - limits
    check('rs_provider_register' in exported and exported <= declared and not stray,
          f'libringside-provider exports a part of it: {exported - declared} {stray}')
    # A static library hides nothing from who links it, so its names must not be anybody's.
    for name in ('hosted', 'agent', 'provider', 'baremetal', 'agent-core'):
        symbols = run('nm', '-g', '--defined-only', '--format=posix', find(f'libringside-{name}.a'))
        others = {line.split()[0] for line in symbols.splitlines() if ' ' in line} - C_LIBRARY
        others = {symbol for symbol in others if not symbol.startswith('rs_')}
        check(not others, f'libringside-{name}.a has only names that begin with rs_: {others}')
    for package in ('libringside', 'libringside-decode', 'libringside-provider', 'libringside-test'):
        versions = run('readelf', '-d', find(f'{package}.so'))
        check(f'soname: [{package}.so.0]' in versions, f'the soname of {package} has a version')
    # The insides of decode are for libringside only.
    inside = declared_by([f'rs-trace-{name}.h' for name in INSIDES], 'libringside-decode')
    private = exported_by(find('libringside-decode.so'), 'LIBRINGSIDE_DECODE_PRIVATE')
    check(inside <= private, f'insides have a version of their own: {inside - private}')
    stray = {name for name in private - inside
             if not name.startswith(('rs_trace_reader_', 'rs_trace_schema_', 'rs_trace_symbols_'))}
    check(not stray, f'and nothing else but what makes objects of them: {stray}')


def test_observer():
    """Checks that the example of an observer prints what the session itself prints."""
    build_as_tutorial_says('first-program', 'gcc', dishes='200')
    shutil.copy(f'{SOURCE}/docs/examples/observer.c', '.')
    flags = pkg_config('--cflags', '--libs', 'libringside')
    for cc in COMPILERS:
        run(cc, *WARNINGS, '-Wno-unused-parameter', '-o', f'observer-{cc}', 'observer.c', *flags)
    session = Background(rs, 'run', '-e', 'kitchen:*', '--name', 'seen', '--hosted', './program')
    wait_for('an event', lambda: b'soup' in session.read(session.out))
    observers = [Background(Ringside(f'./observer-{cc}'), 'seen') for cc in COMPILERS]
    code, wanted, said = session.end()
    wanted = [line for line in wanted.splitlines() if b'kitchen:cooked' in line]
    check(code == 0 and len(wanted) == 200, f'the session printed {len(wanted)} events: {said}')
    for observer in observers:
        code, seen, said = observer.end()
        check(code == 0 and seen.splitlines() == wanted, f'an observer printed them too: {said}')


def test_reader():
    """Checks that the example of a reader prints what the command prints of a recorded trace."""
    build_as_tutorial_says('first-program', 'gcc', dishes='200')
    session = Background(rs, 'run', '-e', 'kitchen:*', '--name', 'read', '--hosted', './program')
    wait_for('an event', lambda: b'soup' in session.read(session.out))
    r = rs('record', '-s', 'read', '-o', 'trace')
    check(r.code == 0 and session.end()[0] == 0, f'the trace is recorded: {r.err}')
    wanted = rs('report', 'trace').out
    shutil.copy(f'{SOURCE}/docs/examples/reader.c', '.')
    flags = pkg_config('--cflags', '--libs', 'libringside-decode')
    for cc in COMPILERS:
        run(cc, *WARNINGS, '-Wno-unused-parameter', '-o', f'reader-{cc}', 'reader.c', *flags)
        seen = run(f'./reader-{cc}', 'trace')
        check(seen == wanted and len(seen.splitlines()) > 100, f'{len(seen)} bytes are the same')
        check(run(f'./reader-{cc}', 'trace', 'kitchen:none') == '', 'one kind of event is chosen')
        check('PRIVATE' not in run('readelf', '-V', f'./reader-{cc}'), 'it needs no insides')


def test_introspection():
    """Checks that the example in Python says of a recorded trace what the command says."""
    typelibs = [path for path in FILES if path.endswith('.typelib')]
    python = next((python for python in ('/usr/bin/python3', 'python3') if not subprocess.run(
        [python, '-c', 'import gi'], capture_output=True, check=False).returncode), None)
    if not typelibs or not python:
        return print('skipped: python3-gi or libgirepository1.0-dev is not installed')
    build_as_tutorial_says('first-program', 'gcc', dishes='200')
    session = Background(rs, 'run', '-e', 'kitchen:*', '--name', 'kept', '--hosted', './program')
    wait_for('an event', lambda: b'soup' in session.read(session.out))
    r = rs('record', '-s', 'kept', '-o', 'trace')
    check(r.code == 0 and session.end()[0] == 0, f'the trace is recorded: {r.err}')
    env = os.environ | {'GI_TYPELIB_PATH': os.path.dirname(typelibs[0])}
    seen = run(python, f'{SOURCE}/docs/examples/events.py', 'trace', env=env).splitlines()
    lines = [json.loads(line) for line in rs('report', '--json', 'trace').out.splitlines()]
    wanted = [(str(l['ns']), l['comm'], f"{l['system']}:{l['event']}", l['fields']['dish']) for l in lines if 'event' in l]
    check(len(seen) == len(wanted) > 100, f'{len(seen)} events')
    differ = [(line, w) for line, w in zip(seen, wanted)
              if not line.startswith(f'{w[0]} ') or f" {w[1]} {w[2]} " not in line
              or f"'{w[3]}'" not in line]
    check(not differ, f'the example says what the command says: {differ[:1]}')
    for args in ([], ['no-such-trace'], [f'{SOURCE}/docs/examples/events.py']):
        failed = subprocess.run([python, f'{SOURCE}/docs/examples/events.py', *args], env=env,
                                capture_output=True, check=False)
        check(failed.returncode == 1 and failed.stderr.count(b'\n') == 1,
              f'a mistake is said in a line: {failed.stderr}')


def test_module():
    """Checks that the sources of the Linux module are those of the tree."""
    check(len(MODULE_FILES) > 150, f'{len(MODULE_FILES)} files in {MODULE}')
    differ = []
    for path in MODULE_FILES:
        with open(f'{MODULE}/{path}', 'rb') as file:
            text = file.read()
        if path == 'dkms.conf':
            check(b'@' not in text, f'{path} is complete')
            continue
        with open(f'{SOURCE}/{path}', 'rb') as file:
            if text != file.read() or os.access(f'{MODULE}/{path}', os.X_OK) != os.access(file.name, os.X_OK):
                differ.append(path)
    check(not differ, f'they are the same: {differ}')


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


run_tests([in_folder(test) for test in (test_headers, test_symbols, test_module, test_program, test_plugin,
             test_misprinted, test_provider,
                                             test_guest, test_languages, test_observer, test_reader,
                                             test_introspection)],
          only=sys.argv[4:])
