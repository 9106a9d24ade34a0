#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the processes of the demo guest do, as ktrace sees it from the host.

    processes.py kvm|tcg RINGSIDE DEMO
"""
import os
import re
import signal
import sys
import tempfile

from harness import Background, Ringside, check, need, run_tests, wait_for

ACCEL, RINGSIDE, DEMO = sys.argv[1:]
rs = Ringside(RINGSIDE)
# Of each facility, one line that its shell and the programs that it runs must make.
WANTED = {
    'c': (r'CALL  execve\(0x\w+,0x\w+,0\)', r'RET   execve 0', r'RET   getpid \d+|RET   clone \d+',
          r'RET   open -1 errno 2 No such file', r'RET   open -1 errno 14 Bad address',
          r'RET   wait4 139/0x8b', r'RET   wait4 137/0x89'),
    'n': (r'NAMI  "/bin/cat"', r'NAMI  "/etc/nothing"'),
    'i': (r'GIO   fd 3 wrote 10 bytes', r'GIO   fd 2 read 26 bytes'),
    's': (r'PSIG  SIGUSR1 caught handler=0x', r'PSIG  SIGSEGV SIG_DFL', r'PSIG  SIGKILL SIG_DFL'),
    't': (r'STRU  struct "stat" 8 bytes',),
    'u': (r'USER  "cat" 8 bytes',),
    'x': (r'ARGS  ',),
    'X': (r'ENV  ',),
    'e': (r'EMUL  "old"',),
    'w': (r'CSW   stop kernel', r'CSW   resume (kernel|user)'),
}


def session(*options):
    return Background(rs, 'run', '--accel', ACCEL, '--name', 'p', '--cpus', '2', '--text', '/dev/null',
                      *options, DEMO, ready=lambda: rs('list', '-q', '-s', 'p').out)


def test_ktrace():
    p = session()
    try:
        wait_for('the task that takes commands', lambda: rs('ktrace', '-s', 'p', '-C').code == 0)
        r = rs('ktrace', '-s', 'p', '-p', '1', '-i', '-d', '-t', '+X')
        check(r.code == 0 and re.search(r'^\d+ processes are traced', r.out), f'init and its own: {r}')
        for letter, lines in WANTED.items():
            text = ''
            for line in lines:
                # What the shell does comes around again and again.
                def seen():
                    nonlocal text
                    text += rs('kdump', '-s', 'p', '-t', letter, '--duration', '0.5').out
                    return re.search(line, text)
                check(wait_for(line, seen), f'-t {letter}: {line}')
        r = rs('ktrace', '-s', 'p', '-C')
        check(r.code == 0, f'all tracing ends: {r}')
        # Those that were in the middle of a record have written it by then.
        r = rs('kdump', '-s', 'p', '--new', '--duration', '0.1')
        r = rs('kdump', '-s', 'p', '--new', '--duration', '1')
        check(r.out == '', f'nobody writes any more: {r.out[:300]}')
        r = rs('ktrace', '-s', 'p', '-p', '4000')
        check(r.code != 0, f'a process that is not there: {r}')
    finally:
        code = p.end(signal.SIGTERM)[0]
    check(code == 0, f'the session ends well: {code}')


need(ACCEL)
with tempfile.TemporaryDirectory() as directory:
    os.environ['XDG_RUNTIME_DIR'] = directory
    run_tests([test_ktrace])
