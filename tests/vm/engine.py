#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside engine` on a small OS in a process: threads are stopped, looked at, changed, let go.

    engine.py RINGSIDE HOSTED_ENGINE [TEST ...]
"""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

from harness import DOC, Background, Ringside, check, run_tests, wait_for

RINGSIDE, PROGRAM = sys.argv[1:3]
rs = Ringside(RINGSIDE)
started = []


def session(name='e', *more):
    """A running session of the program, with its events on."""
    s = Background(rs, 'run', '--name', name, '--text', '/dev/null', '--hosted', PROGRAM, *more,
                   ready=lambda: '"writer"' in rs('engine', '--list', '-j', '-s', name).out)
    started.append(s)
    rs('enable', '-s', name, 'engine:*')
    return s


def stop_sessions():
    for s in started:
        if s.process.poll() is None:
            s.end(signal.SIGINT)
    started.clear()


def engine(*args, stdin=None, **more):
    p = subprocess.run([RINGSIDE, 'engine', '-s', 'e', *args], input=stdin, text=True,
                       capture_output=True, timeout=60, **more)
    return p.returncode, p.stdout, p.stderr


class Held:
    """`ringside engine` that waits for commands on a pipe, once its thread has stopped."""

    def __init__(self, *args, name='e'):
        self.process = subprocess.Popen(
            [RINGSIDE, 'engine', '-s', name, *args], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.first = self.process.stdout.readline()

    def say(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(30)


def task(pid, comm):
    for tid in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{tid}/comm', encoding='utf-8') as f:
            if f.read() == comm + '\n':
                return tid
    raise AssertionError(f'no thread {comm}')


def runs(pid, comm='writer'):
    """How often the thread has gone to sleep: it does so at each system call."""
    with open(f'/proc/{pid}/task/{task(pid, comm)}/status', encoding='utf-8') as f:
        return int(re.search(r'^voluntary_ctxt_switches:\t(\d+)', f.read(), re.M)[1])


def stands(pid, seconds=0.4):
    before = runs(pid)
    time.sleep(seconds)
    return runs(pid) == before


def goes_on(pid, timeout=60):
    before = runs(pid)
    wait_for('the thread goes on', lambda: runs(pid) > before + 3, timeout)
    return True


def program(name='e'):
    return next(s['pid'] for p in rs.sessions() if p['name'] == name for s in p['sources'])


def traced(pattern):
    """Lines of the trace from now on, up to the first that matches."""
    p = subprocess.Popen([RINGSIDE, 'trace', '-s', 'e', '--new', '--duration', '30'], text=True,
                         stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    lines = []
    for line in p.stdout:
        lines.append(line)
        if re.search(pattern, line):
            break
    p.terminate()
    p.communicate()
    return lines


def test_list():
    session()
    r = rs('engine', '--list', '-s', 'e')
    check(r.code == 0 and re.search(r'^ +1 +1 +0  alive  writer +hosted-engine$', r.out, re.M), f'a table: {r}')
    check('m\\x1b[2Jean' in r.out and '\x1b' not in r.out, 'names are escaped')
    rows = rs.json('engine', '--list', '-s', 'e')
    for row in rows:
        DOC.check('ringside engine --list', row)
    check([t['thread'] for t in rows] == sorted(t['thread'] for t in rows), 'in order of id')
    pool = rs.json('engine', '--list', '-c', 'po*', '-s', 'e')
    check([t['thread'] for t in pool] == [2, 3], f'those that are chosen: {pool}')
    others = rs.json('engine', '--list', '-c', '!po*', '-s', 'e')
    check({1, 4} <= {t['thread'] for t in others} and not any(t in pool for t in others), f'all but these: {others}')
    check(rs.json('engine', '--list', '-p', '2', '-s', 'e') == pool, 'a process is all of its threads')
    check(rs.json('engine', '--list', '-p', '3', '-s', 'e') == pool[1:], 'or a thread, if there is no such process')
    for args in ('-p', '99'), ('-c', 'nosuch'), ('-p', '1', '-c', 'po*'), ('-jp', '99'):
        code, out, err = engine('--list', *args)
        check(code == 3 and not out and 'no such thread' in err, f'none of these: {args} {code} {out} {err}')


def test_stops():
    session()
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--count', '2', '-x', 'mem rsi 16; call')
    check(code == 0 and not err, f'two stops: {code} {err}')
    blocks = out.split('\n\n')
    check(len(blocks) == 2, f'a block each: {out}')
    rbx = []
    for block in blocks:
        lines = block.splitlines()
        check(lines[0] == 'thread 1 (writer): syscall_entry: write(0x1, 0x403000, 0x6)', lines[0])
        check(re.fullmatch(r'  r15 0{16}  rip 0{10}401016  rflags 0{13}202 \[IF\]', lines[6]), lines[6])
        check(lines[7].startswith('=> 0x0000000000401016  48 ff c3 ') and lines[7].endswith('inc rbx'),
              f'where it goes on: {lines[7]}')
        check(lines[13].endswith('  hello...........'), f'what it writes: {lines[13]}')
        check(lines[14] == '  write(0x1, 0x403000, 0x6)', f'the call: {lines[14]}')
        rbx.append(int(re.search(r'rbx (\w+)', block)[1], 16))
    check(rbx[1] == rbx[0] + 1, f'the loop has run once between: {rbx}')
    code, out, err = engine('-p', '2', '-e', 'syscall_exit', '--count', '4', '-x', '')
    check(code == 0 and {2, 3} == set(map(int, re.findall(r'thread (\d)', out))), f'two threads: {out}')
    code, out, err = engine('-c', 'parent', '-e', 'clone', '--count', '1', '--insns', '0', '-x', '')
    check(re.match(r'thread 4 \(parent\): clone: thread \d+\n', out) and '=>' not in out, out)
    code, out, err = engine('-c', 'signals', '-e', 'signal_all', '--count', '1', '-x', '')
    check(out.startswith('thread 5 (signals): signal_ign: SIGUSR1\n'), out)


def test_others_go_on():
    session()
    held = Held('-c', 'writer', '-e', 'syscall_entry')
    lines = ''.join(traced('thread=2 ') + traced('thread=3 ') + traced('engine:died'))
    check('thread=1 ' not in lines, 'the stopped thread makes no call, and all others go on')
    check(stands(program()), 'it stands')
    held.say('quit\n')
    check(held.process.wait(30) == 0 and goes_on(program()), 'quit lets it go')


def test_changes():
    session()
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--count', '1', '-x',
                            'set rbx 7000000; regs')
    check(code == 0 and 'rbx 00000000006acfc0' in out, f'the register is set: {out} {err}')
    line = traced(r'thread=1 ')[-1]
    check(re.search(r'rbx=70000\d\d ', line), f'the program has it: {line}')
    watch = subprocess.Popen([RINGSIDE, 'trace', '-s', 'e', '--new', '--duration', '5'], text=True,
                             stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    time.sleep(0.5)
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--count', '1', '-x',
                            'setcall getpid 55; call')
    check(code == 0 and '  getpid(0x37, 0x403000, 0x6)' in out, f'another call: {out} {err}')
    seen = re.findall(r'thread=1 number=(\d+) first=(\d+) .* result=(-?\d+)', watch.communicate()[0])
    check(('39', '55', '1') in seen, 'the program has made it, and has its result')
    check({s for s in seen if s[0] != '39'} == {('1', '1', '6')} and len([s for s in seen if s[0] == '39']) == 1,
          f'that one alone: {set(seen)}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--count', '1', '-x', 'set rflags 5')
    check(code == 1 and err == 'ringside: set rflags 5: the guest does not let us\n', f'what the guest refuses: {err}')
    check(goes_on(program()), 'and the thread goes on')


def test_steps():
    session()
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--count', '5', '--insns', '1', '-x', 'step')
    heads = re.findall(r'^thread.*|^=> \S+', out, re.M)
    check(heads == ['thread 1 (writer): syscall_entry: write(0x1, 0x403000, 0x6)', '=> 0x0000000000401016'] +
          [w for a in (0x401019, 0x401000, 0x401005, 0x40100a)
           for w in ('thread 1 (writer): has stepped', f'=> 0x{a:016x}')], f'one by one: {heads} {err}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--insns', '1', stdin='step 3\nblock\nquit\n')
    places = re.findall(r'^=> (\S+)', out, re.M)
    check(code == 0 and places == [f'0x{a:016x}' for a in (0x401016, 0x401005)],
          f'three at once; quit does not wait: {places} {err}')
    code, out, err = engine('-c', 'sleeper', '--interrupt', '--insns', '1', stdin='block\ndis\nquit\n')
    places = re.findall(r'^=> (\S+)', out, re.M)
    check(code == 0 and places == [f'0x{a:016x}' for a in (0x401407, 0x401400, 0x401400)],
          f'a thread that waited, up to its next branch: {out} {err}')


def test_a_step_that_a_call_ends_takes_no_stop_back():
    session()
    for steps in ('block\nblock', 'step 100'):
        code, out, err = engine('-c', 'writer', '-e', 'syscall_exit', '-b',
                                stdin=f'events syscall\n{steps}\nc\nregs\nc\ncall\nc\nregs\nquit\n')
        stops = re.findall(r'^thread 1 \(writer\): (syscall_\w+)', out, re.M)
        check(stops == ['syscall_exit', 'syscall_entry'] * 2 + ['syscall_exit'], f'each has its name: {out} {err}')
        check(re.findall(r'  rax (\w+)', out) == [f'{6:016x}'] * 2, f'and at an exit the call has returned: {out}')
    check(goes_on(program()), 'and the thread goes on')


def test_the_dead_are_listed():
    seen = []

    def dead_one():
        seen[:] = [t['thread'] for t in rs.json('engine', '--list', '-s', 'e') if t['state'] == 'dead']
        return seen

    session()
    wait_for('one that is to be reaped', dead_one)
    table = rs('engine', '--list', '-p', str(seen[0]), '-s', 'e').out
    check(' alive ' not in table, f'{seen[0]} lives no more: {table}')
    code, out, err = engine('-p', str(seen[0]), '--stop')
    check(code == 3 and 'no such thread' in err, f'and cannot be held: {code} {out} {err}')


def test_a_guest_without_room():
    """Those that it has room for are followed, and the exit code says that it was done in part."""
    session('e', '2')
    code, out, err = engine('-p', '2', '-e', 'syscall_entry', '-b', '--count', '4', '-x', '')
    check(code == 0 and out.count('\n') == 4, f'there is room for two: {code} {out} {err}')
    # What is detached has room again only once its thread has gone on.
    stop_sessions()
    session('e', '2')
    code, out, err = engine('-c', '[pw]*', '-e', 'syscall_entry', '-b', '--count', '4', '-x', '')
    check(code == 1 and out.count('\n') == 4, f'and not for four: {code} {out} {err}')
    check(re.fullmatch(r'ringside: thread 3 \(pool\): .* no room .*\nringside: thread 4 \(parent\): .* no room .*\n', err),
          f'it names whom it does not follow: {err}')
    stop_sessions()
    session('e', '2')
    held = Held('-p', '2', '--stop', '-b')
    code, out, err = engine('-c', 'writer', '--stop')
    check(code == 1 and not out and 'thread 1 (writer): ' in err, f'for none: {code} {out} {err}')
    held.say('quit\n')
    check(held.process.wait(30) == 0, 'the two end')


def test_follow():
    session()
    code, out, err = engine('-c', 'parent', '-e', 'clone,exec,exit', '-f', '-b', '--count', '12', '-x', '')
    # Its name is that of its program from some moment on.
    out = out.replace('(program)', '(child)')
    heads = [re.sub(r'\d+', 'N', line) for line in out.splitlines()]
    for line in ('thread N (parent): clone: thread N', 'thread N (child) follows thread N',
                 'thread N (child): exec: /bin/program', 'thread N (child): exit: code N',
                 'thread N (child) is gone'):
        check(line in heads, f'{line} in {heads} {err}')
    child = re.search(r'thread (\d+) \(child\) follows thread 4', out)[1]
    check(f'thread {child} (child): exec' in out, 'it has stopped at what its parent is to stop at')
    code, out, err = engine('-c', 'parent', '-e', 'exec', '-f', '-j', '--count', '1', '-x', '')
    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        DOC.check('ringside engine', line)
    check(lines[0]['what'] == 'attached' and lines[0]['follows'] == 4, f'as JSON: {lines[0]}')
    check(lines[-1]['path'] == '/bin/program', f'with the path: {lines[-1]}')
    code, out, err = engine('-c', 'parent', '-e', 'clone', '-b', '--count', '2', '-x', '')
    check(code == 0 and 'follows' not in out, f'not unless it is asked for: {out}')


def test_fates():
    session()
    code, out, err = engine('-c', 'parent', '-e', 'exit', '-f', '-b', '--count', '1', '-x', 'exit 42')
    check(code == 0 and 'exit: code 3' in out, f'it was to exit with another code: {out} {err}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall', '-b', '--count', '2', '-x', 'exit 42')
    check(code == 1 and err == 'ringside: exit 42: the thread has not stopped at exit\n', f'only at an exit: {err}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall', '-b', '-x', ' signal  stop ; regs')
    check(code == 1 and err == 'ringside: signal  stop: the thread has not stopped at a signal\n', f'likewise: {err}')
    line = subprocess.Popen([RINGSIDE, 'trace', '-s', 'e', '--new', '--duration', '3'], text=True,
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    time.sleep(0.3)
    code, out, err = engine('-c', 'signals', '-e', 'signal_all', '-b', '--count', '1', '-x', 'signal terminate TERM')
    check(code == 0 and 'signal_ign: SIGUSR1' in out, f'a signal that is ignored: {out} {err}')
    seen = line.communicate()[0]
    check(re.search(r'engine:signal: .*=15 ', seen), f'ends its process as another one: {seen[-400:]}')


def test_poke_and_events():
    session()
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '-b', '--count', '1', '-x',
                            'poke rsi 48454c4c4f; mem rsi 6; poke rip 90; regs')
    check(code == 1 and 'HELLO.' in out and 'poke rip 90: ' in err and '0 bytes of 1' in err and 'rax' not in out,
          f'data is written, and text is not: {out} {err}')
    check(goes_on(program()), 'and the thread goes on')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '-b', '--count', '3', '-x', 'events syscall_exit')
    check([line.split(': ')[1] for line in out.splitlines()] == ['syscall_entry', 'syscall_exit', 'syscall_exit'],
          f'other events from then on: {out} {err}')


def test_brief():
    session()
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '-b', '--count', '2', '-x', '')
    check(code == 0 and out == 'thread 1 (writer): syscall_entry: write(0x1, 0x403000, 0x6)\n' * 2,
          f'a line each: {out} {err}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '-b', '--insns', '1', '--count', '1', '-x', '')
    check(len(out.splitlines()) == 2 and '=> 0x0000000000401016' in out, f'instructions are asked for: {out}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '-b', '-j', '--count', '1', '-x', '')
    stop = json.loads(out)
    DOC.check('ringside engine', stop)
    check('registers' not in stop and 'code' not in stop and stop['call']['number'] == 1, f'as JSON: {out}')


def test_what_ends_a_script():
    session()
    code, out, err = engine('-c', 'writer', '-e', 'syscall', '-b', '--count', '4', '-x', 'call; mem 0x403000 1')
    check(code == 0 and out.count('thread 1') == 4 and out.count('  68 ') == 4 and
          err.count('is about to make no system call') == 2, f'what cannot be shown ends none: {code} {out} {err}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_exit', '-b', '--count', '4', '-x', 'setcall getpid; regs')
    check(code == 1 and out.count('thread 1') == 1 and 'rax' not in out and 'setcall getpid: the thread has not stopped at syscall_entry' in err,
          f'what cannot be done does: {code} {out} {err}')
    check(goes_on(program()), 'and the thread goes on')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_exit', '-b', stdin='call\nregs\nset rflags 5\nregs\n')
    check(code == 1 and out.count('rax') == 1, f'likewise from a pipe: {code} {out} {err}')


def test_it_ends_once_nothing_can_come():
    """Without events only --stop and commands make a thread stop."""
    session()
    for args in ['-p', '2', '--stop', '-b'], ['-p', '2', '--interrupt', '-b']:
        code, out, err = engine(*args, stdin='')
        check(code == 0 and out.count('thread 2 (') == 1 and out.count('thread 3 (') == 1 and not err,
              f'each stop is shown: {code} {out} {err}')
        code, out, err = engine(*args, stdin='call\nregs\nmem 0x403000 1')
        check(code == 0 and out.count('rax') == 1 and '68 ' in out and out.count('thread') == 2,
              f'and what is asked for: {code} {out} {err}')
    p = subprocess.run(['sh', '-c', '"$@" <&-', 'x', RINGSIDE, 'engine', '-s', 'e', '-c', 'writer', '--stop', '-b'],
                       capture_output=True, text=True, timeout=30)
    check(p.returncode == 0 and p.stdout.count('thread 1') == 1, f'without any input: {p}')
    code, out, err = engine('-c', 'writer', '--stop', '-b', '-x', 'step 2; regs')
    check(code == 0 and out.count('rax') == 1, f'steps come: {code} {out} {err}')
    code, out, err = engine('-c', 'writer', '--stop', '-b', '-x', 'resume; stop; regs; detach')
    check(code == 0 and out.count('rax') == 1, f'and stops that are asked for: {code} {out} {err}')
    for args in ['--count', '1', '-x', 'resume; regs'], ['-x', 'resume; regs']:
        code, out, err = engine('-c', 'writer', '--stop', '-b', *args)
        check(code == 1 and out.count('thread 1') == 1 and 'regs: thread 1 runs' in err,
              f'what can never be carried out fails: {code} {out} {err}')
    code, out, err = engine('-c', 'writer', '--stop', '-b', stdin='resume\nregs\n')
    check(code == 1 and 'regs: thread 1 runs' in err, f'from a pipe, too: {code} {out} {err}')
    code, out, err = engine('-c', 'writer', '--stop', '-b', '--count', '3', '-x', 'events syscall_exit')
    check(code == 0 and out.count('syscall_exit') == 2, f'with events it goes on: {code} {out} {err}')
    code, out, err = engine('-c', 'parent', '--stop', '-fb', '--duration', '1', stdin='')
    check(code == 0 and ' follows thread 4' in out, f'and with what it follows: {code} {out} {err}')
    check(goes_on(program()), 'and the thread goes on')


def test_closed_output():
    session()
    p = subprocess.run(['sh', '-c', '"$@" >&-', 'x', RINGSIDE, 'engine', '-s', 'e', '-c', 'writer', '-e', 'syscall',
                        '-x', ''], capture_output=True, text=True, timeout=30)
    check(p.returncode == 1 and 'could not be written' in p.stderr, f'nobody takes it for done: {p}')
    check(goes_on(program()), 'and the thread goes on')


def test_ends():
    session()
    code, out, err = engine('-p', '7', '-e', 'syscall_entry', '-x', 'setcall exit 9')
    check(code == 0 and 'thread 7 (m\\x1b[2Jean) is gone\n' in out and 'no thread is left' in err,
          f'it made the thread exit: {out} {err}')
    code, out, err = engine('-p', '7', '--stop')
    check(code == 3, f'there is none any more: {code} {err}')
    code, out, err = engine('-c', 'writer', '-e', 'exit', '--duration', '0.5', '-x', '')
    check(code == 0 and not out, f'a duration: {code} {out}')
    out = subprocess.run(f'{RINGSIDE} engine -s e -c writer -e syscall -x "" | head -1', shell=True,
                         capture_output=True, text=True, timeout=30)
    check(out.stdout.startswith('thread 1') and not out.stderr, f'nobody reads on: {out}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--count', '2', stdin='')
    check(code == 0 and out.count('thread 1') == 2, 'without input each stop is shown')
    code, out, err = engine('-c', 'pool', '-e', 'syscall_entry', '--insns', '0',
                            stdin='use 3\nthreads\ndetach 3\nthreads\ndetach\n')
    check(code == 0 and out.count('* thread 3') == 1 and 'no thread is left' in err, f'one by one: {out} {err}')
    check(goes_on(program()), 'all go on')


def test_an_output_that_nobody_reads():
    """A signal ends it all the same, and its thread goes on."""
    session()
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        read, write = os.pipe()
        p = subprocess.Popen([RINGSIDE, 'engine', '-s', 'e', '-c', 'writer', '-e', 'syscall_entry', '-x', 'mem rip 65536'],
                             stdout=write, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        os.close(write)
        wait_for('it is full', lambda: select.select([read], [], [], 0)[0] and stands(program(), 0.3))
        p.send_signal(how)
        check(p.wait(10) == 0 and goes_on(program()), f'{how.name} ends it: {p.stderr.read()}')
        os.close(read)


def test_a_session_that_stands_still():
    s = session('e', '--and', '--hosted', PROGRAM)
    wait_for('both', lambda: len({t['source'] for t in rs.json('engine', '--list', '-s', 'e')}) == 2)
    for stdin, how in (('', signal.SIGINT), ('regs\n', signal.SIGTERM)):
        held = Held('-c', '*', '-e', 'syscall_entry', '--insns', '0')
        s.process.send_signal(signal.SIGSTOP)
        held.say(stdin)
        time.sleep(0.5)
        held.process.send_signal(how)
        try:
            check(held.process.wait(20) == 0, f'{how.name} ends it before the session answers')
        finally:
            s.process.send_signal(signal.SIGCONT)
        check(goes_on(program()), 'and the threads go on')


def test_kill_of_the_command():
    session()
    pid = program()
    held = Held('-c', 'writer', '-e', 'syscall_entry')
    check(stands(pid), 'it stands')
    held.end(signal.SIGKILL)
    check(goes_on(pid), 'the session lets it go')
    held = Held('-c', 'writer', '-e', 'syscall_entry')
    check(stands(pid), 'again')
    check(held.end(signal.SIGINT) == 0 and goes_on(pid), 'Ctrl-C lets it go')
    rows = rs.json('engine', '--list', '-s', 'e')
    check(len(rows) >= 6, 'the guest serves on')


def test_kill_of_the_session():
    # As it waits, and as it asks for something.
    for args in (), ('-x', 'mem 0x403000 65536'):
        s = session()
        pid = program()
        held = Held('-c', 'writer', '-e', 'syscall_entry', *args)
        check(args or stands(pid), 'it stands')
        begin = time.monotonic()
        try:
            s.end(signal.SIGKILL)
            err = held.process.communicate(timeout=30)[1]
            check(held.process.returncode == 1 and err == 'ringside: the session went away\n',
                  f'the command says so, as others do: {held.process.returncode} {err}')
            check(goes_on(pid), f'the guest lets it go {time.monotonic() - begin:.1f} s after')
        finally:
            os.kill(pid, signal.SIGKILL)


def test_end_of_the_session():
    """It is told how the guest has ended, and that is no failure."""
    s = session()
    held = Held('-c', 'writer', '-e', 'syscall_entry')
    s.end(signal.SIGINT)
    err = held.process.communicate(timeout=30)[1]
    check(held.process.returncode == 0 and 'the guest has ended: ' in err, f'says so: {err}')


def test_two_engines():
    session()
    pid = program()
    one = Held('-c', 'writer', '-e', 'syscall_entry')
    code, out, err = engine('-c', 'writer', '--stop', '--insns', '0', stdin='regs\nset rbx 5\ndetach\n')
    check(code == 0 and out.startswith('thread 1 (writer): ') and out.count('rax') == 2,
          f'a stopped thread stops for another, too: {code} {out} {err}')
    check(stands(pid), 'it stays, as the first one wants')
    one.say('regs\nquit\n')
    rest = one.process.communicate()[0]
    check('rbx 0000000000000005' in rest and goes_on(pid), f'and has what the other has set: {rest}')
    two = [subprocess.Popen([RINGSIDE, 'engine', '-s', 'e', '-c', 'writer', '-e', what, '--count', '20', '-x', ''],
                            stdout=subprocess.PIPE, text=True) for what in ('syscall_entry', 'syscall')]
    outs = [p.communicate(timeout=60)[0] for p in two]
    check(all(o.count('thread 1') == 20 for o in outs), 'both see their stops')
    check(goes_on(pid), 'and it goes on')


def test_many_stops():
    """Nothing is lost when a thread stops again at once."""
    session()
    code, out, err = engine('-e', 'syscall', '-p', '2', '--count', '400', '--insns', '0', '-x', '')
    check(code == 0 and out.count('thread') == 400, f'400 stops of two threads: {code} {err}')


def test_json():
    session()
    code, out, err = engine('-c', 'writer', '-j', '-e', 'syscall_entry', '--count', '1', '-x',
                            'regs; call; mem 0x403000 6; dis 0x401000 2; threads; mem 0')
    check(code == 0, err)
    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        DOC.check('ringside engine', line)
    check([x['what'] for x in lines] == ['stop', 'registers', 'call', 'memory', 'code', 'engine', 'memory'],
          f'an object each: {lines}')
    check(lines[0]['call'] == {'number': 1, 'name': 'write', 'arguments': ['0x1', '0x403000', '0x6']}, 'the call')
    check(lines[1]['registers']['rip'] == '0x401016', 'registers')
    check(bytes.fromhex(lines[3]['bytes']) == b'hello\n' and lines[6]['bytes'] == '', 'memory')
    check([x['text'] for x in lines[4]['code']] == ['mov eax, 1', 'mov edi, 1'], 'code')


class Terminal:
    """`ringside engine` as a user has it."""

    def __init__(self, *args):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([RINGSIDE, 'engine', '-s', 'e', *args], stdin=slave, stdout=slave,
                                        stderr=slave)
        os.close(slave)
        self.seen = b''

    def expect(self, what):
        end = time.monotonic() + 30
        while what not in self.seen:
            check(select.select([self.master], [], [], end - time.monotonic())[0], f'{what} in {self.seen}')
            self.seen += os.read(self.master, 4096)
        self.seen = self.seen[self.seen.index(what) + len(what):]

    def say(self, text):
        os.write(self.master, text)


def test_typing_ends_steps():
    session()
    t = Terminal('-c', 'writer', '--stop', '-b')
    for line in (b'regs\n', b'\n', b'stop\n'):
        t.expect(b'(1 writer) ')
        t.say(b'step 1000000\nthreads\n')
        t.expect(b'* thread 1 (writer): runs')
        t.say(line)
        t.expect(b'thread 1 (writer): ')
        if line == b'regs\n':
            t.expect(b'rax ')
    t.expect(b'(1 writer) ')
    t.say(b'quit\n')
    check(t.process.wait(30) == 0, 'and quit ends it')


def test_terminal():
    session()
    t = Terminal('-c', 'writer', '-e', 'syscall_entry', '--insns', '0')
    expect, p, master = t.expect, t.process, t.master
    expect(b'(1 writer) ')
    os.write(master, b'frob\nset rbx\n')
    expect(b"there is no command 'frob'")
    expect(b'usage: set REG VALUE')
    os.write(master, b'step\nmem rip 3\n')
    expect(b'has stepped')
    expect(b'eb e5 00')
    expect(b'(1 writer) ')
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    p.send_signal(signal.SIGCONT)
    expect(b'(1 writer) ')
    os.write(master, b'call\n')
    expect(b'is about to make no system call')
    os.write(master, b'detach\n')
    expect(b'no thread is left')
    check(p.wait(30) == 0, 'mistakes end nothing, detach of the last one does')
    os.close(master)


def test_sources():
    session('e', '--and', '--hosted', PROGRAM)
    wait_for('both sources', lambda: len({t['source'] for t in rs.json('engine', '--list', '-s', 'e')}) == 2)
    names = sorted({t['source'] for t in rs.json('engine', '--list', '-s', 'e')})
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '--count', '6', '-x', '')
    check(all(f'thread 1 ({name}/writer): ' in out for name in names), f'names say which: {out} {err}')
    code, out, err = engine('-c', 'writer', '--source', names[1], '-j', '-e', 'syscall_entry', '--count', '3',
                            '-x', '')
    check({json.loads(line)['source'] for line in out.splitlines()} == {names[1]}, 'only one of them')


def test_threads_of_several_sources():
    """Their ids may be the same, and then the name of the source tells them apart."""
    session('e', '--and', '--hosted', PROGRAM)
    wait_for('both sources', lambda: len({t['source'] for t in rs.json('engine', '--list', '-s', 'e')}) == 2)
    one, two = sorted({t['source'] for t in rs.json('engine', '--list', '-s', 'e')})
    for word in ('use', 'stop', 'interrupt', 'detach'):
        code, out, err = engine('-c', 'writer', '--stop', '-b', stdin=f'{word} 1\n')
        check(code == 2 and f'{word} 1: several sources have a thread 1' in err and f'{one}/1' in err,
              f'{word} says so: {code} {err}')
    code, out, err = engine('-c', 'writer', '--stop', '-b', stdin=f'detach {one}/1\nthreads\ndetach 1\n')
    check(code == 0 and f'thread 1 ({two}/writer)' in out.splitlines()[-1] and 'no thread is left' in err,
          f'one by one: {code} {out} {err}')
    code, out, err = engine('-c', 'writer', '--stop', '-b', stdin='use nosuch/1\n')
    check(code == 3 and 'no thread nosuch/1 has an engine of ours' in err, f'no such source: {code} {err}')
    t = Terminal('-c', 'writer', '--stop', '-b')
    for name in (two, one):
        t.say(f'use {name}/1\n'.encode())
        t.expect(f'({name}/1 writer) '.encode())
    t.say(b'quit\n')
    check(t.process.wait(30) == 0, 'the prompt says which')


def test_a_stopped_thread_stays_so():
    session()
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', '-b', stdin='regs\nstop\nstop 1\ncall\nquit\n')
    check(code == 0 and out.count('thread 1') == 1 and '  write(' in out, f'its stop is shown once: {out} {err}')


def test_wrong_usage():
    session()
    for args in (['--stop'], ['-p', '1'], ['-p', '0', '--stop'], ['-c', 'x' * 3000, '--stop'],
                 ['-p', '1', '-e', 'syscall_entri'], ['-p', '1', '-e', ''], ['-p', '1', '-e', 'quiesce'],
                 ['-p', '1', '-e', 'reap'], ['-p', '1', '-e', 'exec,death'], ['-p', '1', '--stop', '-x', 'frob'], ['-l', '--stop'],
                 ['-p', '1', '--stop', '--insns', '-1'], ['-p', '1', '--stop', '--insns', '257'],
                 ['-p', '1', '--stop', '--count', '-1'], ['-p', '1', '--stop', '--duration', 'nan'],
                 ['-p', '1', '--stop', 'a', 'b']):
        code, out, err = engine(*args)
        check(code == 2 and err.startswith('ringside: ') and not out, f'{args}: {err.splitlines()[0]}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', stdin='regs\nfrob\n')
    check(code == 2 and "'frob'" in err, f'from a pipe, too: {err}')
    code, out, err = engine('-c', 'writer', '-e', 'syscall_entry', stdin='x' * 10000)
    check(code == 2 and 'too long' in err, f'a line without an end: {err}')
    check(rs('engine', '-p', '1', '--stop', '-s', 'nobody').code == 3, 'no such session')
    check(rs('engine', '-p', '1', '--stop', '-s', 'e', '--source', 'nobody').code == 3, 'no such source')
    check(goes_on(program()), 'nothing is held')


def test_a_guest_that_serves_nobody():
    s = Background(rs, 'run', '--name', 'e', '--text', '/dev/null', '--hosted', PROGRAM, 'deaf',
                   ready=lambda: rs('list', '-q', '-s', 'e').out)
    started.append(s)
    code, out, err = engine('--list')
    check(code == 1 and not out and err.startswith('ringside: '), f'says so: {code} {err}')


run_tests([test_list, test_stops, test_others_go_on, test_changes, test_steps, test_a_step_that_a_call_ends_takes_no_stop_back,
           test_the_dead_are_listed, test_a_guest_without_room, test_follow, test_fates, test_poke_and_events, test_brief, test_what_ends_a_script, test_it_ends_once_nothing_can_come, test_closed_output,
           test_ends, test_an_output_that_nobody_reads, test_a_session_that_stands_still, test_kill_of_the_command,
           test_kill_of_the_session, test_end_of_the_session, test_two_engines, test_many_stops, test_json, test_terminal, test_typing_ends_steps, test_sources, test_threads_of_several_sources, test_a_stopped_thread_stays_so,
           test_wrong_usage, test_a_guest_that_serves_nobody], sys.argv[3:], stop_sessions)
