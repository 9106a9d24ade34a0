#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside engine` on the processes of the demo guest, under KVM or QEMU TCG.

    engine_demo.py kvm|tcg RINGSIDE DEMO
"""
import re
import signal
import subprocess
import sys
import time

from harness import Background, Ringside, check, need, run_tests, wait_for

ACCEL, RINGSIDE, DEMO = sys.argv[1:]
rs = Ringside(RINGSIDE)
need(ACCEL)


def engine(*args, stdin=None):
    p = subprocess.run([RINGSIDE, 'engine', '-s', 'd', *args], input=stdin, text=True,
                       capture_output=True, timeout=90)
    return p.returncode, p.stdout, p.stderr


def tasks(seconds):
    """Names of the tasks that the scheduler switches to from now on."""
    out = rs('trace', '-s', 'd', '--new', '--duration', str(seconds)).out
    return set(re.findall(r'next_comm=(\S+)', out))


def goes_on():
    wait_for('clock runs', lambda: 'clock' in tasks(0.5))
    return True


def test_demo():
    session = Background(rs, 'run', '--name', 'd', '--accel', ACCEL, '-e', 'sched:switch', '--text', '/dev/null', DEMO,
                         ready=lambda: 'clock' in rs('engine', '--list', '-s', 'd').out)
    try:
        follow()
        look()
        write()
        change()
        hold()
    finally:
        session.end(signal.SIGINT)


def look():
    rows = rs.json('engine', '--list', '-s', 'd')
    init = next(t for t in rows if t['comm'] == 'init')
    clock = next(t for t in rows if t['comm'] == 'clock')
    check(init['thread'] == 1 and clock['parent'] == 1, f'threads and their parents: {rows}')
    code, out, err = engine('-c', 'clock', '-e', 'syscall_entry', '--count', '4', '-x', 'mem rip 4; call')
    check(code == 0 and out.count('syscall_entry: nanosleep(0x5') == 2 and out.count('syscall_entry: time(') == 2,
          f'its calls in turn: {out} {err}')
    check(len(re.findall(r'^=> 0x0000000000[0-9a-f]{6}  c3 +ret$', out, re.M)) == 4, 'where they return to')
    code, out, err = engine('-c', 'clock', '--interrupt', '--count', '1', '-x', 'regs')
    check(code == 0 and 'thread 3 (clock): ' in out and out.count('rip ') > 1, f'an interrupt stops it: {out} {err}')
    code, out, err = engine('-c', 'sh', '-e', 'clone', '--count', '1', '-x', '')
    check(code == 0 and re.match(r'thread \d+ \(sh\): clone: thread \d+\n', out), f'the shell starts something: {out}')


def follow():
    """Who detaches a process at its clone has its child, also if the guest has told nothing yet."""
    for _ in range(2):
        code, out, err = engine('-c', 'sh', '-f', '-b', '-e', 'clone,exec', '--count', '5', '-x', 'detach')
        heads = [re.sub(r'\d+', 'N', line) for line in out.splitlines()]
        check(code == 0 and 'thread N (sh): clone: thread N' in heads and 'no thread is left' in err,
              f'it is made: {out} {err}')
        check(sum(': exec: ' in head for head in heads) == 1, f'and stops at its exec: {out} {err}')


def hold_at(call):
    """An engine on the clock that waits for commands, and stands at this call.

    Another result of its other call would make the guest panic, since its clock would go back.
    """
    p = subprocess.Popen([RINGSIDE, 'engine', '-s', 'd', '-c', 'clock', '-e', 'syscall_entry', '--insns', '1'],
                         text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in p.stdout:
        if f'syscall_entry: {call}' in line:
            return p
        if line.startswith('thread '):
            p.stdin.write('resume\n')
            p.stdin.flush()
    raise AssertionError(f'no call {call}')


def write():
    """What its program has on its stack can be written; the image, which all share, cannot."""
    p = hold_at('nanosleep')
    p.stdin.write('mem rsp 8\n')
    p.stdin.flush()
    there = next(m[1] for m in (re.match(r' +0x[0-9a-f]+ ((?: +[0-9a-f]{2}){8}) ', line) for line in p.stdout) if m)
    out, err = p.communicate(f'poke rsp {"".join(there.split())}\nmem rsp 8\npoke rip c3\n', 60)
    check(there.strip() in out, f'its own stack is written: {out} {err}')
    check(p.returncode == 1 and err, f'the image is not: {p.returncode} {err}')
    check(goes_on(), 'and goes on')


def change():
    clock = next(t for t in rs.json('engine', '--list', '-s', 'd') if t['comm'] == 'clock')
    p = hold_at('nanosleep')
    out, err = p.communicate('setcall getpid\nset r8 0x1234\nstep\nregs\nset rsp 1\n', 60)
    check(out.count('has stepped') == 1, f'it makes another call, and a step: {out} {err}')
    regs = out.split('has stepped')[1]
    check(f'rax {clock["process"]:016x}' in regs and 'r8  0000000000001234' in regs, f'whose result it has: {regs}')
    at = re.findall(r'^=> .*', regs, re.M)
    check(len(at) == 1 and not at[0].endswith('ret'), f'it has returned: {at}')
    check(p.returncode == 1 and 'does not let us' in err, f'the stack pointer stays: {p.returncode} {err}')
    check(goes_on(), 'and goes on')


def hold():
    for how, expected in (signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 0):
        held = subprocess.Popen([RINGSIDE, 'engine', '-s', 'd', '-c', 'clock', '-e', 'syscall_entry'], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        check(held.stdout.readline().startswith('thread '), 'it stops')
        time.sleep(0.2)
        seen = tasks(1)
        check('clock' not in seen and len(seen) > 1, f'it stands, and the others run on: {seen}')
        held.send_signal(how)
        check(held.wait(30) == expected and goes_on(), f'{how.name} lets it go')


run_tests([test_demo])
