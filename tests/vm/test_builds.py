#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests with guests in other projects' builds: docs/examples/test-run, run by meson, CMake,
automake and pytest as they stand, with what is installed and nothing else.

    test_builds.py SOURCE_ROOT BUILD_ROOT MESON [TEST...]
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from harness import check, run_tests
from kit import Kit, run

SOURCE, BUILD, MESON = sys.argv[1:4]
EXAMPLE = os.path.join(SOURCE, 'docs/examples/test-run')
LONG = 400  # seconds, for a build and its guests

kit = Kit(BUILD, MESON)
os.environ['PATH'] = os.path.dirname(kit.find('bin/ringside')) + ':' + os.environ['PATH']
os.environ['RINGSIDE_GUESTS'] = os.path.dirname(kit.find('ringside/demo'))
os.environ['GI_TYPELIB_PATH'] = os.path.dirname(kit.find('RsTest-1.0.typelib'))
# What runs this test must not lead its builds.
for name in [name for name in os.environ if name.startswith(('MESON', 'NINJA', 'MAKE', 'RINGSIDE_BUILD'))]:
    del os.environ[name]


def fails(*command):
    """The output of a command that must fail."""
    p = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False,
                       stdin=subprocess.DEVNULL)
    check_output(p.returncode, f'{command[0]} fails', p.stdout)
    return p.stdout + p.stderr


def check_output(is_so, what, out):
    """As check(), with the end of an output if it is not so."""
    check(is_so, what if is_so else f'{what}: {out[-1500:]}')


def break_spec():
    """Now the spec expects what is not so."""
    with open('workers.spec', encoding='utf-8') as file:
        text = file.read()
    assert '"lz-*"' in text
    with open('workers.spec', 'w', encoding='utf-8') as file:
        file.write(text.replace('"lz-*"', '"nobody"'))


def test_meson():
    run(MESON, 'setup', 'build', timeout=LONG)
    out = run(MESON, 'test', '-C', 'build', '-v', timeout=LONG)
    check_output(re.search(r'specs +OK .*1 subtests passed', out) and re.search(r'workers +OK', out), 'both pass', out)
    break_spec()
    out = fails(MESON, 'test', '-C', 'build', '--print-errorlogs')
    check_output(re.search(r'specs +(FAIL|ERROR)', out) and re.search(r'workers +OK', out), 'a spec that is not met fails', out)
    check(glob.glob('build/ringside-test/*/trace'), 'and its trace is kept')


def test_cmake():
    run('cmake', '-S', '.', '-B', 'build', timeout=LONG)
    run('cmake', '--build', 'build', timeout=LONG)
    out = run('ctest', '--test-dir', 'build', '-V', timeout=LONG)
    check_output('100% tests passed, 0 tests failed out of 2' in out and 'ok   workers' in out, 'both pass', out)
    break_spec()
    out = fails('ctest', '--test-dir', 'build', '--output-on-failure')
    check_output('1 tests failed out of 2' in out and 'expect work:' in out, 'a spec that is not met fails', out)
    check(glob.glob('build/**/ringside-test/*/trace', recursive=True), 'and its trace is kept')


def test_automake():
    run('autoreconf', '--install', timeout=LONG)
    os.mkdir('build')
    os.chdir('build')
    run('../configure', timeout=LONG)
    out = run('make', 'check', timeout=LONG)
    check_output(re.search(r'^# PASS: +2$', out, re.M) and re.search(r'^PASS: workers.spec 1', out, re.M), 'both pass', out)
    os.chdir('..')
    break_spec()
    os.chdir('build')
    out = fails('make', 'check')
    check_output(re.search(r'^# PASS: +1$', out, re.M) and re.search(r'^# FAIL: +1$', out, re.M),
                 'a spec that is not met fails', out)
    check(glob.glob('ringside-test/*/trace'), 'and its trace is kept')


def test_pytest():
    report = 'report.xml'
    run('/usr/bin/python3', '-m', 'pytest', '-p', 'no:cacheprovider', '--basetemp=ringside-test',
        f'--junitxml={report}', timeout=LONG)
    cases = xml.etree.ElementTree.parse(report).getroot().iter('testcase')
    check(sorted(case.get('name') for case in cases) ==
          ['test_it_exits', 'test_sleepers_are_woken', 'test_what_does_not_happen'], 'all of them run')
    check(glob.glob('ringside-test/*/guest/trace'), 'their traces are kept')
    with open('test_workers.py', 'a', encoding='utf-8') as file:
        file.write("\n\ndef test_wrong(guest):\n    guest.set_demo()\n    guest.enable('sched:*')\n"
                   "    guest.boot()\n    guest.expect('sched:switch: next_pid == 123456', 100)\n")
    out = fails('/usr/bin/python3', '-m', 'pytest', '-p', 'no:cacheprovider', '-k', 'test_wrong')
    check_output('1 failed' in out and 'records of the event is so' in out, 'what is not met fails', out)


def test_recipes():
    """What docs/ci.md runs can be run."""
    with open(f'{SOURCE}/docs/ci.md', encoding='utf-8') as file:
        recipes = re.findall(r'(ringside test .* \.)$', file.read(), re.M)
    check(len(recipes) > 3, f'{len(recipes)} commands')
    for recipe in recipes:
        if '--tag' not in recipe:  # this spec has none
            run('sh', '-c', f'{recipe} --list', timeout=LONG)
        if '--report' in recipe:
            run('sh', '-c', recipe, timeout=LONG)
            suites = xml.etree.ElementTree.parse('report.xml').getroot()
            check(len(list(suites.iter('testcase'))) == 1, f'{recipe}: a report')
    break_spec()
    out = fails('sh', '-c', next(recipe for recipe in recipes if 'github' in recipe))
    check_output(re.search(r'^::error file=.*workers.spec,line=\d+', out, re.M), 'an annotation', out)
    check(os.path.exists('ringside-test/workers/trace'), 'and the trace, where it is collected')


def test_program():
    """The program with which docs/test-library.md begins."""
    with open(f'{SOURCE}/docs/test-library.md', encoding='utf-8') as file:
        page = file.read()
    with open('test-workers.c', 'w', encoding='utf-8') as file:
        file.write(re.sub('^    ', '', re.search(r'^    #include(.|\n)*?^    }\n\n(?=\w)', page, re.M)[0], flags=re.M))
    run('sh', '-c', re.search(r'^    (gcc .*test-workers.*)$', page, re.M)[1].replace('gcc', 'gcc -Wall -Werror'))
    check('ok 1 /workers/sleepers-are-woken' in run('./test-workers', timeout=LONG), 'it passes')


def test_snippets():
    """What docs/test-library.md shows of builds is what stands in the examples."""
    with open(f'{SOURCE}/docs/test-library.md', encoding='utf-8') as file:
        page = file.read()
    for name in ('meson.build', 'CMakeLists.txt', 'Makefile.am', 'conftest.py'):
        with open(f'{EXAMPLE}/{name}', encoding='utf-8') as file:
            lines = [line.strip() for line in file if line.strip()]
        shown = re.search(rf'^`?{re.escape(name)}`?:\n\n((?:    .*\n|\n)+)', page, re.M)
        check(shown is not None, f'{name} is shown')
        strange = [line for line in map(str.strip, shown[1].splitlines()) if line and line not in lines]
        check(not strange, f'{name} is shown as it is: {strange}')


def in_copy(test):
    """Runs a test in a copy of the example."""
    def wrapped():
        with tempfile.TemporaryDirectory(prefix='rs-test-') as folder:
            os.chdir(shutil.copytree(EXAMPLE, f'{folder}/workers'))
            try:
                test()
            finally:
                os.chdir('/')
    wrapped.__name__ = test.__name__
    return wrapped


run_tests([in_copy(test) for test in (test_meson, test_cmake, test_automake, test_pytest, test_program, test_recipes,
                                    test_snippets)],
          only=sys.argv[4:])
