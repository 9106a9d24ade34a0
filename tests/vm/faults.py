#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py ACCEL RINGSIDE DEMO_GUEST HOSTED_DEMO: faults that are injected are seen in the trace.

Times of a guest under TCG may be off by some ms on a busy machine. So faults last much longer.
"""
import json
import os
import re
import signal
import subprocess
import sys

from harness import Background, Ringside, check, need, run_tests, wait_for

ACCEL = sys.argv[1]
RINGSIDE, DEMO, HOSTED = map(os.path.realpath, sys.argv[2:5])
rs = Ringside(RINGSIDE)
MS = 1000000
SLACK = 60 * MS


def path(name):
    return os.path.join(os.environ['XDG_RUNTIME_DIR'], name)


RUNS = []


def end_runs():
    """What a test that failed has left."""
    for session in RUNS:
        if session.process.poll() is None:
            session.process.terminate()
            session.process.wait()
    RUNS.clear()


class Session(Background):
    """A demo guest that is traced into a file."""

    def __init__(self, name, *events, append='', options=()):
        RUNS.append(self)
        self.name, self.file, self.serial = name, path(name + '.rst'), path(name + '.serial')
        enable = [word for glob in (*events, 'host:*') for word in ('-e', glob)]
        guest = ('--accel', ACCEL, '--serial', self.serial, '--append', append, '--source', 'demo', DEMO)
        super().__init__(rs, 'run', '--host', '--name', name, '-q', '-o', self.file, '--ring-size', '8M',
                         *enable, *options, *guest,
                         ready=lambda: rs('stat', name).code == 0 and rs.json('stat', name)['sites_patched'])

    def inject(self, *fault):
        r = rs('inject', '-s', self.name, *fault)
        check(r.code == 0 and re.fullmatch(r'fault \d+\n', r.out), f'inject {" ".join(fault)}: {r.out}{r.err}')
        return int(r.out.split()[1])

    def refuse(self, code, message, *fault):
        r = rs('inject', '-s', self.name, *fault)
        check(r.code == code and message in r.err, f'refused: {" ".join(fault)}: {r.code} {r.err}')

    def over(self, number):
        """Waits until the fault has ended."""
        wait_for(f'the end of fault {number}', lambda: 'end' in states(self.rows(), number))

    def rows(self):
        """What the file has so far."""
        return rows_of(self.file)

    def stop(self):
        r = rs('stop', self.name)
        check(r.code == 0, f'stop: {r.err}')
        code, _, said = self.end()
        check(code == 0, f'run: {code} {said}')
        return rows_of(self.file)


def rows_of(file):
    rows = []
    for line in rs('report', '--json', file).out.splitlines():
        row = json.loads(line)
        if 'event' in row:
            row['event'] = f'{row["system"]}:{row["event"]}'
            row['fields'] = {name: value['name'] if isinstance(value, dict) and 'name' in value else value
                             for name, value in row['fields'].items()}
            rows.append(row)
    return rows


def states(rows, number):
    """state → when, of one fault."""
    return {row['fields']['state']: row['ns'] for row in rows
            if row['event'] == 'host:fault' and row['fields']['number'] == number}


def inside(rows, number, slack=SLACK, **wanted):
    """Records of the guest while that fault lasts, and surely so."""
    at = states(rows, number)
    return [row for row in rows if row['source'] == 'demo' and at['begin'] + slack < row['ns'] < at['end'] - slack and
            all(row[name] == value for name, value in wanted.items())]


def test_pause():
    s = Session('p', 'sched:*', 'irq:*')
    whole = s.inject('pause', 'for=500ms')
    now = rs.json('ps')
    check(now[0]['state'] == 'paused', f'it stands still: {now}')
    s.over(whole)
    one = s.inject('pause cpu=1 for=700ms')
    # Patches stop all vCPUs, and let only the other one go on.
    for verb in ('disable', 'enable'):
        r = rs(verb, '-s', 'p', 'demo/irq:ipi')
        check(r.code == 0 or 'in time' in r.err, f'{verb}: {r.err}')
    s.over(one)
    other = s.inject('pause cpu=0 for=500ms')
    s.over(other)
    last = s.inject('pause cpu=0 for=600s')
    rows = s.stop()
    check(not inside(rows, whole), 'nothing happens while all vCPUs stand still')
    check(not inside(rows, one, cpu=1), 'one vCPU stands still')
    check(len(inside(rows, one, cpu=0)) > 10, 'and the other one does not')
    check(not inside(rows, other, cpu=0), 'any of them may')
    check(inside(rows, other, cpu=1), 'and vCPU 1 goes on meanwhile')
    for number, least in ((whole, 500), (one, 700), (other, 500)):
        at = states(rows, number)
        check(at['end'] - at['begin'] >= least * MS, f'fault {number} has its time')
        after = [row for row in rows if row['source'] == 'demo' and row['ns'] > at['end']]
        check({row['cpu'] for row in after} == {0, 1}, 'then all go on')
    check(list(states(rows, last)) == ['begin', 'end'], 'one that lasts ends with the session')


def symbol(name):
    for line in subprocess.run(['nm', DEMO], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if words[-1] == name:
            return int(words[0], 16)
    raise AssertionError(f'{name} is not in {DEMO}')


def qemu_of(session):
    children = f'/proc/{session.process.pid}/task/{session.process.pid}/children'
    with open(children, encoding='ascii') as f:
        return next(pid for pid in f.read().split() if 'qemu' in os.readlink(f'/proc/{pid}/exe'))


def text_of(qemu, name, size=16):
    """Bytes of the guest's memory, as its QEMU has it."""
    with open(f'/proc/{qemu}/maps', encoding='ascii') as f:
        ranges = [[int(n, 16) for n in line.split()[0].split('-')] for line in f if '/memfd:' in line]
    base = max(ranges, key=lambda r: r[1] - r[0])[0]
    with open(f'/proc/{qemu}/mem', 'rb') as f:
        f.seek(base + symbol(name))
        return f.read(size)


def test_function():
    s = Session('f', 'task:exit', 'compute:round')
    qemu = qemu_of(s) if ACCEL == 'tcg' else None
    before = qemu and text_of(qemu, 'compute_round')
    fault = s.inject('fail function=compute_round return=0 for=700ms')
    s.over(fault)
    check(not qemu or text_of(qemu, 'compute_round') == before, 'its text is as it was')
    wait_for('rounds', lambda: s.rows()[-1]['ns'] > states(s.rows(), fault)['end'] + 500 * MS)
    rows = s.stop()
    meant = [row for row in inside(rows, fault) if row['event'] == 'task:exit' and row['comm'].startswith('lz-')]
    failed = [row for row in meant if row['fields']['code'] == 1]
    # Two may have been in the function before.
    check(len(failed) > 2 and len(meant) - len(failed) <= 2, f'{len(failed)} workers of {len(meant)} fail meanwhile')
    rounds = [row for row in inside(rows, fault) if row['event'] == 'compute:round']
    check(len(rounds) <= 2, f'and do nothing: {len(rounds)}')
    check([row for row in rows if row['event'] == 'compute:round' and
           row['ns'] > states(rows, fault)['end']], 'then it works again')


def test_flip():
    s = Session('m', 'task:exit', append='duration=3')
    s.inject('flip at=demo_bad bit=10')
    code, _, said = s.end()
    with open(s.serial, encoding='utf-8') as f:
        text = f.read()
    check(code == 5 and re.search(r' 102[4-9] bad', text) and 'FAILED' in text,
          f'the guest has counted 1024 and more: {code} {said} {text}')


def test_syscall():
    s = Session('c', 'syscalls:*')
    fault = s.inject('fail', 'syscall=open', 'error=EACCES', 'comm=sh', 'count=3')
    s.over(fault)
    none = s.inject('fail syscall=39 error=EPERM pid=99999')
    wait_for('its refusal', lambda: states(s.rows(), none))
    s.refuse(2, "names a system call 'nix'", 'fail syscall=nix error=EPERM')
    rows = s.stop()
    check('there is no such thread' in s.said(), 'no thread is meant')
    check(list(states(rows, none)) == ['refused'], 'that is recorded')
    failed = [row for row in rows if row['event'] == 'syscalls:exit' and row['fields']['ret'] == -38]
    check(len(failed) == 3 and {row['comm'] for row in failed} == {'sh'}, f'three calls failed: {failed}')
    with open(s.serial, encoding='utf-8') as f:
        check('sh: a bad path' in f.read() or 'sh: nothing' in f.read(), 'the program got another error')


def test_ends():
    s = Session('r', 'sched:switch')
    lasting = s.inject('fail function=compute_round return=0')
    if ACCEL == 'tcg':
        s.inject('pause cpu=1 for=600s')
        s.inject('reboot')
        wait_for('the second boot', lambda: [row for row in s.rows() if row['event'] == 'host:boot' and
                                             row['fields']['boot'] == 2])
        wait_for('events of it', lambda: s.rows()[-1]['source'] == 'demo')
    else:
        s.refuse(1, 'cannot be reset', 'reboot')
    s.inject('nmi')
    last = s.inject('kill')
    code, _, said = s.end()
    check(code == 0, f'kill ends the run: {code} {said}')
    rows = s.rows()
    check(list(states(rows, lasting)) == ['begin', 'end'], 'a fault ends with its boot')
    names = [row['event'] for row in rows if row['source'] == 'host']
    if ACCEL == 'tcg':
        check(names.count('host:reset') == 1 and names.count('host:boot') == 2, 'one reset, two boots')
    check(list(states(rows, last)) == ['begin'] and names[-1] == 'host:detach', 'kill is recorded before the end')


def test_killed_session():
    """What a session leaves when it is killed: a vCPU goes on, and text is put right."""
    s = Session('k', 'sched:*')
    qemu = qemu_of(s)
    before = text_of(qemu, 'compute_round')
    s.inject('fail function=compute_round return=0')
    s.refuse(1, 'patched already', 'fail function=compute_round return=1')
    now = text_of(qemu, 'compute_round')
    check(now != before and b'\x48\xc7\xc0\0\0\0\0\xc3' in now, f'its text is another one: {now.hex()}')
    s.inject('pause cpu=1 for=600s')
    s.process.kill()
    s.process.wait()
    file = path('again.rst')
    r = rs('attach', '-e', 'sched:*', '-e', 'compute:*', '-e', 'task:exit', '--new', '--duration', '2', '-q', '-o', file,
           'k')
    check(r.code == 0 and ' put back' in r.err, f'attach: {r.code} {r.err}')
    check(text_of(qemu, 'compute_round') == before, 'its text is as it was')
    rows = rows_of(file)
    check({row['cpu'] for row in rows} == {0, 1}, 'both vCPUs run')
    check([row for row in rows if row['event'] == 'compute:round'], 'and the function works')
    check(rs('stop', 'k').code == 0, 'stop')


def test_refusals():
    s = Session('n', 'sched:switch')
    s.refuse(2, 'for is missing', 'pause')
    s.refuse(2, '\n  pause for=1h\n            ^~\n', 'pause', 'for=1h')
    s.refuse(2, 'there is no vCPU 7', 'pause cpu=7 for=1ms')
    s.refuse(2, 'leave cpu out', 'pause cpu=0,1 for=1ms')
    s.refuse(2, "'nix' is no symbol", 'fail function=nix return=1')
    s.refuse(1, 'not pass through us', 'interrupt drop=32')
    s.refuse(1, '', 'flip at=0x7fffffff0000 bit=1')
    check(rs('inject', '-s', 'nobody', 'kill').code == 3, 'no such session')
    check(rs('inject').code == 2, 'no fault')
    check(rs('inject', '-s', 'n', '--source', 'nix', 'kill').code == 3, 'no such source')
    check(rs('inject', '-s', 'n', '--source', 'host', 'kill').code == 1, 'the host has no faults')
    rows = s.stop()
    refused = [row for row in rows if row['event'] == 'host:fault']
    check({row['fields']['state'] for row in refused} == {'refused'} and len(refused) == 4,
          f'those that say what they want are recorded: {len(refused)}')


def test_option():
    """run --fault: after a time, at an event, or never."""
    common = ('run', '-q', '--accel', ACCEL, '--serial', 'none', '--append', 'rounds=3', '-e', 'task:*')
    r = rs(*common, '--fault', 'kill @ task:exit: code == 0', DEMO)
    check(r.code == 0, f'at an event: {r}')
    r = rs(*common, '--fault', 'flip at=demo_bad bit=2', DEMO)
    check(r.code == 5, f'at once: the guest counts one as bad: {r}')
    r = rs(*common, '--fault', 'kill @ 300s', DEMO)
    check(r.code == 1 and "fault 'kill': its time has not come" in r.err, f'too late: {r}')
    r = rs(*common, '--fault', 'kill @ task:exit: code == 77', DEMO)
    check(r.code == 1 and "no record of 'task:exit: code == 77' was seen" in r.err, f'never: {r}')
    r = rs(*common, '--fault', 'pause cpu=9 for=1ms @ 1ms', DEMO)
    check(r.code == 1 and 'there is no vCPU 9' in r.err, f'refused: {r}')
    for text, why in (('kil', 'no such fault'), ('kill @ 5', 'a time, such as'), ('kill @ ', 'an event is due'),
                      ('kill @ a: b ==', '^')):
        r = rs(*common, '--fault', text, DEMO)
        check(r.code == 2 and why in r.err, f'--fault {text!r}: {r}')


def test_specs():
    """A mistake of a spec is told with its line, and a fault that never came passes nothing."""
    os.chdir(os.environ['XDG_RUNTIME_DIR'])
    head = f'[test]\ntimeout = 50s\n[guest]\nkernel = {DEMO}\naccel = {ACCEL}\nappend = rounds=2\n'
    trace = '[trace]\nenable = task:*\n'
    # The fault begins at line 7.
    for name, code, fault, line, why in (
            ('good', 0, 'inject = kill\non = task:exit: code == 0', 0, ''),
            ('never', 3, 'inject = kill\non = task:exit: code == 77', 0, 'no record of'),
            ('typo', 2, 'inject = pause for=1h', 8, 'a time is due'),
            ('both', 2, 'inject = kill\nat = 1ms\non = task:exit', 10, "'at' says already"),
            ('when', 2, 'inject = kill\nat = soon', 9, 'a time'),
            ('event', 2, 'inject = kill\non = task:exit: code ==', 9, 'a value is due'),
            ('none', 2, 'at = 1ms', 7, 'which fault?')):
        with open(name + '.spec', 'w', encoding='utf-8') as f:
            f.write(f'{head}[fault x]\n{fault}\n{trace}[expect it]\nevent = task:create\n')
        r = rs('test', name + '.spec')
        check(r.code == code and why in r.out, f'{name}: {r}')
        check(not line or f'at {name}.spec:{line}\n' in r.out, f'{name} says where: {r.out}')


def test_program():
    """Of a program on this host."""
    run = Background(rs, 'run', '--host', '--name', 'h', '-q', '-o', path('h.rst'), '-e', 'pool:*', '-e', 'host:*',
                     '--source', 'demo', '--hosted', HOSTED, '60', '2',
                     ready=lambda: rs('stat', 'h').code == 0 and rs.json('stat', 'h')['sites_patched'])
    for code, why, fault in ((1, 'leave cpu out', 'pause cpu=0 for=1ms'), (1, 'cannot be reset', 'reboot'),
                             (1, 'takes no NMI', 'nmi'), (1, 'no physical addresses', 'flip phys=0x1000 bit=1')):
        r = rs('inject', 'h', fault)
        check(r.code == code and why in r.err, f'refused: {fault}: {r}')
    check(rs('inject', 'h', 'pause for=500ms').code == 0, 'pause')
    check(rs('inject', 'h', 'flip at=stop bit=0').code == 0, 'its variable changes, once it goes on')
    code, _, said = run.end()
    check(code == 0, f'so it ends: {code} {said}')
    rows = rows_of(path('h.rst'))
    check(not inside(rows, 5, slack=0), 'nothing happens in a pause')
    run = Background(rs, 'run', '--name', 'h', '-q', '--hosted', HOSTED, '60', '2',
                     ready=lambda: rs('list', '-s', 'h', 'pool:*').code == 0)
    check(rs('inject', 'h', 'kill').code == 0 and run.end()[0] == 0, 'kill')


need(ACCEL)
TESTS = [test_pause, test_function, test_flip, test_syscall, test_ends, test_refusals, test_option, test_specs]
if ACCEL == 'tcg':
    TESTS += [test_killed_session, test_program]
run_tests(TESTS, sys.argv[5:], end_runs)
