#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions in a process of their own: run --background and run --stay.

    background.py kvm|tcg|hosted RINGSIDE GUEST

Exits 77, with the reason, if the accelerator is missing.
"""
import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import termios

from harness import DOC, Background, Ringside, check, need, run_tests, wait_for

KIND, RINGSIDE, GUEST = sys.argv[1:4]
rs = Ringside(RINGSIDE)
ALL = 'pool:*' if KIND == 'hosted' else 'sched:*'
LINE = re.compile(r'^ *\S.*\[\d+\] \S{5} +\d+\.\d{6}: \w+:\w+: ', re.M)


def guest(program=GUEST):
    return ['--hosted', *program.split()] if KIND == 'hosted' else ['--accel', KIND, GUEST]


def run(*options):
    """With a limit that is longer than a kernel may take to report."""
    return rs('run', *options, timeout=120)


def end_all():
    """Also of guests whose session was killed."""
    for session in rs.json('ps'):
        rs('stop', session['name'])
    wait_for('the end of all sessions', lambda: not rs.json('ps'))


def is_there(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as f:
            return f.read().rsplit(')', 1)[1].split()
    except OSError:
        return None


def log(name):
    return os.path.join(os.environ['XDG_RUNTIME_DIR'], 'ringside', name + '.log')


def read(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()


def the_object(text):
    lines = text.splitlines()
    check(len(lines) == 1, f'one object: {text}')
    return json.loads(lines[0])


def traces_on(name):
    r = rs('trace', '--new', '-n', '3', name)
    check(r.code == 0 and len(LINE.findall(r.out)) == 3, f'its trace goes on: {r.code} {r.err}')


def test_background():
    """It has a name, a process and a log of its own, and no terminal."""
    r = run('--background', '--name', 'b', '--json', '-e', ALL, *guest())
    check(r.code == 0 and not r.err, f'{r}')
    o = the_object(r.out)
    DOC.check('ringside run --background', o)
    check((o['name'], o['log']) == ('b', log('b')), f'{o}')
    state, ppid, _, sid, tty = is_there(o['pid'])[:5]
    check(state in 'SR' and int(sid) == o['pid'] and tty == '0', 'it has a session of its own, and no terminal')
    check(int(ppid) != os.getpid(), 'it is nobody\'s child')
    check([s['pid'] for s in rs.sessions()] == [o['pid']], 'ps shows its process')
    for fd, path in (0, '/dev/null'), (1, o['log']), (2, o['log']):
        check(os.readlink(f'/proc/{o["pid"]}/fd/{fd}') == path, f'{fd} is {path}')
    # It is ready, so all that it needs is there.
    check(rs('list', '-q', 'b').out.count('\n') > 1, 'its events are known')
    traces_on('b')
    if KIND != 'hosted':
        wait_for('the console', lambda: "Ringside's demo guest" in read(log('b')))
    check(rs('stop', 'b').code == 0, 'stop')
    check(rs.json('ps') == [], 'it waits until the name is free')
    wait_for('the end of its process', lambda: not is_there(o['pid']))
    check(os.path.exists(log('b')), 'the log stays')


def test_names_and_logs():
    with tempfile.TemporaryDirectory() as d:
        r = rs_in(d, 'run', '--background', '--log', 'l', '-o', 't', '-e', ALL, *guest())
        name = r.stdout.strip()
        check(r.returncode == 0 and r.stdout == name + '\n' and name, f'it prints the name: {r}')
        check(r.stderr == f'ringside: what the guest writes goes to {d}/l\n', r.stderr)
        traces_on(name)
        check(rs('stop', name).code == 0, 'stop')
        wait_for('the end', lambda: not rs('ps', '-q').out)
        check(not os.path.exists(log(name)), 'no other log')
        check(re.search(r'^t: [\d,]+ events, ', read(d + '/l'), re.M), f'what was recorded is in the log: {read(d + "/l")}')
        r = rs('report', d + '/t')
        check(r.code == 0 and LINE.search(r.out), 'and it was')
        r = run('-q', '--background', '--log', d + '/l', *guest())
        check((r.code, r.err) == (0, '') and r.out, 'quiet: only the name')


def rs_in(directory, *args):
    return subprocess.run([os.path.abspath(RINGSIDE), *args], cwd=directory, capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)


def test_errors():
    """Those of the start come to the caller, and leave nothing."""
    def fails(code, word, *options):
        r = run(*options)
        check(r.code == code and word in r.err and not r.out, f'{options}: {r}')
    for how in '--background', '--stay':
        fails(2, '^', how, '-e', ALL, '-f', 'sched:switch: ==', *guest())
        fails(1, 'such file', how, '--log', '/nothing/there', *guest())
        fails(1, '/nothing', how, '-o', '/nothing/there', *guest())
        fails(2, 'no standard output', how, '-o', '-', *guest())
        fails(2, '--text', how, '--text', 'x', *guest())
    fails(1, 'there', '--background', '--hosted', '/nothing/there')
    fails(2, '--stay', '--background', '-n', '3', *guest())
    fails(2, 'enough', '--background', '--stay', *guest())
    fails(2, '--background', '--stay', '-q', *guest())
    fails(2, '--background', '--log', 'x', *guest())
    check(not rs('ps', '-q').out, 'nothing runs')
    check(run('--background', '--name', 'e', *guest()).code == 0, 'one that runs')
    fails(1, 'runs already', '--background', '--name', 'e', *guest())
    r = run('--background', '-e', 'nix:*', '--name', 'f', *guest())
    check(r.code == 0 and "no event matches 'nix:*' so far" in r.err, f'a doubt is told, too: {r}')


def test_an_end_before_it_is_ready():
    """Programs only: a kernel's end takes longer."""
    r = run('--background', '--propagate-exit', '--hosted', 'sh', '-c', 'exit 7')
    check(r.code == 7 and not r.out, f'its exit code is ours: {r}')
    r = run('--background', '--hosted', 'sh', '-c', 'kill -SEGV $$')
    check(r.code == 4 and 'Segmentation' in r.err and 'what the guest wrote' not in r.err,
          f'and how it ended is told: {r}')
    r = run('--background', '--name', 'e', '--hosted', 'sh', '-c', 'echo why')
    where = f'ringside: what the guest wrote is in {log("e")}\n'
    check(r.code == 1 and not r.out and r.err.endswith(where), f'and where it is what it wrote: {r}')
    check(read(log('e')) == 'why\n', 'it is there')
    program, early = GUEST.split()[0], 'the session has ended already, and nothing failed in it\n'
    r = run('--background', '--hosted', program, '0', '1')
    check(r.code == 1 and not r.out and early in r.err, f'no session, no success: {r}')
    r = run('--background', '--propagate-exit', '--hosted', program, '0', '1')
    check(r.code == 0 and not r.out and early in r.err, f'but its exit code is, if that was asked for: {r}')


def test_no_output():
    """Nobody learns its name: it is ended."""
    with open('/dev/full', 'w', encoding='ascii') as full:
        for extra in [], ['--json']:
            r = subprocess.run([RINGSIDE, 'run', '--background', *extra, *guest()], stdout=full, timeout=120,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            check(r.returncode == 1 and 'the session is ended, since its name could not be written: No space' in r.stderr,
                  f'{extra}: {r}')
            check(rs.json('ps') == [], 'nothing runs')


def test_what_runs_on():
    """What the session's program has started is not its own to end."""
    with tempfile.TemporaryDirectory() as d:
        script = f'{GUEST} & echo $! > {d}/pid; wait'
        r = run('--background', '--name', 'r', '--hosted', 'sh', '-c', script)
        check(r.code == 0, f'{r}')
        pid = int(read(d + '/pid'))
        r = rs('stop', 'r')
        check(r.code == 0 and r.err == f'ringside: {os.path.basename(GUEST.split()[0])} ({pid}) runs on, '
              'since the session did not start it\n', f'{r}')
        check(is_there(pid), 'it does')
        os.kill(pid, signal.SIGKILL)


def test_no_agent():
    r = run('--background', '--name', 'n', '--hosted', 'sleep', '1000')
    check((r.code, r.out) == (0, 'n\n') and 'has not reported so far' in r.err, f'{r}')


def test_signals_before_it_is_ready():
    with subprocess.Popen([RINGSIDE, 'run', '--background', '--name', 's', '--hosted', 'sleep', '1000'],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        wait_for('the session', lambda: rs('ps', '-q').out == 's\n')
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
    check(not rs('ps', '-q').out and not out, 'the session is gone, too')
    check(p.returncode == 1 and b'the session was ended before it was ready: interrupted\n' in err, f'and no success: {err}')


def test_the_terminal_goes():
    """SIGHUP, and a terminal that takes nothing any more, are no concern of the session."""
    ours, its = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(its, termios.TIOCSCTTY, 0)
    p = subprocess.Popen([RINGSIDE, 'run', '--stay', '--name', 't', '--color', 'never', '-e', ALL, *guest()],
                         stdin=its, stdout=its, stderr=its, preexec_fn=take_terminal)
    os.close(its)
    with open(os.dup(ours), encoding='utf-8', errors='replace') as lines:
        check(any(map(LINE.match, lines)), 'a terminal shows its trace')
    pid = {s['name']: s['pid'] for s in rs.sessions()}['t']
    os.close(ours)
    p.wait(60)
    check(is_there(pid) and rs('ps', '-q').out == 't\n', 'the session goes on')
    traces_on('t')


def test_killed():
    """The guest of a session that is killed goes on, or not, as it does without --background."""
    o = the_object(run('--background', '--name', 'k', '--json', '-e', ALL, *guest()).out)
    os.kill(o['pid'], signal.SIGKILL)
    wait_for('its end', lambda: not is_there(o['pid']))
    if KIND != 'kvm':
        check([s['state'] for s in rs.sessions()] == ['lost'], 'it is lost')
        r = rs('list')
        check(r.code == 3 and "no session runs, but what 'k' traced does: ringside attach k takes it up" in r.err, f'{r}')
        s = Background(rs, 'attach', 'k', ready=lambda: rs('list', '-q', 'k').code == 0)
        check(rs('stop', 'k').code == 0, 'but can be attached')
        s.end()
    else:
        check(rs('stop', 'k').code == 0, 'stop removes what is left')
    view = Background(rs, 'run', '--stay', '--name', 'v', '-e', ALL, *guest())
    wait_for('the view', lambda: LINE.search(view.read(view.out).decode(errors='replace')))
    os.kill({s['name']: s['pid'] for s in rs.sessions()}['v'], signal.SIGKILL)
    code, _, err = view.end()
    check(code == 1 and 'Killed' in err and 'went away' in err and 'goes on' not in err, f'told by a view: {code} {err}')


def test_the_view_ends():
    """… and the guest does not."""
    def goes_on(name, code, err):
        check(code == 0 and err.endswith(f'ringside: the session goes on: ringside trace {name} shows it, '
                                         f'ringside stop {name} ends it\n'), f'{name}: {code} {err}')
        traces_on(name)
        check(rs('stop', name).code == 0, 'stop')
        wait_for('its end', lambda: not rs('ps', '-q').out)
    r = run('--stay', '--name', 'c', '-e', ALL, '-n', '5', *guest())
    check(len(LINE.findall(r.out)) == 5, f'-n 5: {r}')
    goes_on('c', r.code, r.err)
    r = run('--stay', '--name', 'd', '-e', ALL, '--json', '--duration', '2', *guest())
    check('"event":' in r.out, 'as JSON')
    goes_on('d', r.code, r.err)
    view = Background(rs, 'run', '--stay', '--name', 'i', '-e', ALL, *guest())
    wait_for('the view', lambda: LINE.search(view.read(view.out).decode(errors='replace')))
    code, _, err = view.end(signal.SIGINT)
    goes_on('i', code, err)
    with subprocess.Popen([RINGSIDE, 'run', '--stay', '--name', 'p', '-e', ALL, *guest()], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        p.stdout.close()
        err = p.stderr.read()
        p.wait(60)
    goes_on('p', p.returncode, err)


def test_the_guest_ends():
    """A view has all from the first event on, and the exit code of the session."""
    program = GUEST.split()[0] + ' 0.2 1'
    r = run('--stay', '--name', 'g', '-e', 'pool:take', '--propagate-exit', '--ring-size', '64M', '--hosted', 'sh',
            '-c', program + '; exit 9')
    check(r.code == 9 and 'goes on' not in r.err, f'{r.code} {r.err}')
    jobs = int(re.search(r'^hosted-demo: (\d+) jobs', read(log('g')), re.M)[1])
    seen = len(re.findall(r': pool:take: ', r.out))
    check(seen == jobs, f'{seen} of {jobs} events')


TESTS = [test_background, test_names_and_logs, test_errors, test_no_output, test_the_terminal_goes, test_killed, test_the_view_ends]
if KIND == 'hosted':
    TESTS += [test_an_end_before_it_is_ready, test_what_runs_on, test_no_agent, test_signals_before_it_is_ready, test_the_guest_ends]
need(KIND)
run_tests(TESTS, sys.argv[4:], after=end_all)
