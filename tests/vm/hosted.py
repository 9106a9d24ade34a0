#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of this host: with debuggers, without their sessions, and those that run already.

    hosted.py RINGSIDE HOSTED_DEMO HOSTED_DEMO_ASAN|-
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import Background, Ringside, check, run_tests, wait_for

RINGSIDE, DEMO, LEAKS = sys.argv[1:4]
rs = Ringside(RINGSIDE)
ALL, EVENTS = 'pool:*', 6


class Session(Background):
    def __init__(self, name, *options, program=(DEMO, '600'), **more):
        super().__init__(rs, 'run', '-q', '--name', name, *options, '--hosted', *program,
                         ready=lambda: rs('list', '-s', name, '-q').out.count('\n') >= EVENTS, **more)
        self.name = name
        self.pid = next(s for s in rs.sessions() if s['name'] == name)['sources'][0]['pid']

    def stat(self):
        return rs.json('stat', self.name)

    def kill(self):
        self.process.kill()
        self.process.wait()


def status(pid, key):
    with open(f'/proc/{pid}/status') as f:
        return re.search(rf'^{key}:\s*(\S+)', f.read(), re.M)[1]


def runs(pid):
    """Waits until it is not stopped, and gets on."""
    def ticks():
        with open(f'/proc/{pid}/stat') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return int(fields[11]) + int(fields[12])
    before = ticks()
    wait_for('the program to get on', lambda: ticks() > before)
    return True


def recorded(session):
    """Waits until it has recorded more."""
    def written():
        return sum(cpu['entries'] + cpu['overrun'] for cpu in session.stat()['cpus'])
    before = written()
    wait_for('records', lambda: written() > before)
    return True


def recorded_by(name):
    return wait_for('records', lambda: sum(cpu['entries'] for cpu in rs.json('stat', name)['cpus']))


def switch(session):
    for verb in ('disable', 'enable'):
        r = rs(verb, '-s', session.name, ALL)
        check(r.code == 0 and 'refused' not in r.err and 'not put back' not in r.err, f'{verb}: {r}')


def test_debugger():
    """gdb comes, holds the program, lets it go on, and goes, while events are switched."""
    if not shutil.which('gdb'):
        return print('gdb is not here')
    s = Session('g', '-e', ALL)
    check(status(s.pid, 'TracerPid') == '0', 'nobody traces the program')
    with subprocess.Popen(['gdb', '-q', '-nx', '-ex', 'set pagination off', '-ex', 'set confirm off', '-p',
                           str(s.pid)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as gdb:
        def say(*commands):
            gdb.stdin.write('\n'.join(commands) + '\n')
            gdb.stdin.flush()
        wait_for('gdb to have it', lambda: status(s.pid, 'TracerPid') != '0' and status(s.pid, 'State') == 't')
        patched = s.stat()['patches']
        switch(s)
        check(s.stat()['patches'] > patched, 'text is patched while gdb holds the program')
        say('continue &')
        wait_for('gdb to let it go on', lambda: status(s.pid, 'State') != 't')
        switch(s)
        check(recorded(s), 'and while it goes on in gdb')
        r = rs('pause', s.name)
        check(r.code != 0 and 'another tracer, gdb' in r.err, f'a pause is refused: {r}')
        # Its SIGINT would end the program if it came after gdb has gone.
        say('interrupt')
        wait_for('gdb to stop it', lambda: status(s.pid, 'State') == 't')
        say('detach', 'quit')
        out = gdb.communicate()[0]
    check('SIGTRAP' not in out and 'SIGILL' not in out, f'gdb saw nothing of it: {out[-300:]}')
    wait_for('gdb to go', lambda: status(s.pid, 'TracerPid') == '0')
    check(rs('pause', s.name).code == 0 and rs('resume', s.name).code == 0, 'it can be paused again')
    switch(s)
    check(runs(s.pid) and recorded(s), 'the program goes on')
    code, _, err = s.end(signal.SIGINT)
    check(code == 0, f'a good end: {code} {err}')


def test_strace():
    if not shutil.which('strace'):
        return print('strace is not here')
    s = Session('s', '-e', ALL)
    p = subprocess.Popen(['strace', '-f', '-o', '/dev/null', '-p', str(s.pid)], stderr=subprocess.PIPE)
    wait_for('strace', lambda: status(s.pid, 'TracerPid') != '0')
    for _ in range(10):
        switch(s)
    check(recorded(s), 'events are recorded')
    p.send_signal(signal.SIGINT)
    p.communicate()
    check(runs(s.pid), 'the program goes on')
    check(s.end(signal.SIGINT)[0] == 0, 'a good end')


def test_leaks():
    """LeakSanitizer stops the program by ptrace at its end. It fails in one that is traced."""
    if LEAKS == '-':
        return print('there is no AddressSanitizer')
    r = rs('run', '-q', '-e', ALL, '--hosted', LEAKS, '0')
    check(r.code == 0 and 'LeakSanitizer' not in r.err, f'no leak, and it could look: {r}')


def whole_words():
    """Whether a CPU never runs through a part of a new word, as hv/hosted/fetch_x86_64.c has it."""
    with open('/proc/cpuinfo', encoding='ascii') as f:
        info = f.read()
    flags = re.search(r'^flags\s*: (.*)$', info, re.M)[1].split()
    return bool(re.search(r'^vendor_id\s*: (AuthenticAMD|HygonGenuine)$', info, re.M)) and not {'erms', 'fsrm'} & set(flags)


def test_ways():
    """Text is written to a program that runs, or is stopped, on whatever CPU."""
    for way in ('stop', 'live'):
        s = Session('w', '-e', ALL, env=os.environ | {'RINGSIDE_HOSTED_TEXT': way})
        for _ in range(30):
            switch(s)
        stat = s.stat()
        check((stat['pause_max_ns'] > 0) == (way == 'stop' or not whole_words()), f'{way}: {stat["pause_max_ns"]} ns')
        check(stat['patch_batches'] >= 60 and recorded(s), f'{way}: {stat["patch_batches"]} batches')
        check(s.end(signal.SIGINT)[0] == 0, 'a good end')


def test_killed():
    """The session is killed (-9) at any moment, and leaves a program that runs."""
    for i in range(12):
        s = Session('k', '-e', ALL)
        p = subprocess.Popen(['sh', '-c', f'while {RINGSIDE} disable -s k "*" && {RINGSIDE} enable -s k "*"; do :; done'],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.2 + i * 0.013)
        s.kill()
        p.wait()
        check(status(s.pid, 'TracerPid') == '0' and runs(s.pid), f'round {i}: the program runs')
        os.kill(s.pid, signal.SIGKILL)
        rs('stop', 'k')


def text_of(path):
    """Address and bytes of .text."""
    with open(path, 'rb') as f:
        data = f.read()
    at, size, count, names = (int.from_bytes(data[a:a + n], 'little') for a, n in ((40, 8), (58, 2), (60, 2), (62, 2)))
    rows = [data[at + i * size:at + (i + 1) * size] for i in range(count)]

    def field(row, offset, n=8):
        return int.from_bytes(row[offset:offset + n], 'little')
    strings = field(rows[names], 24)
    for row in rows:
        name = data[strings + field(row, 0, 4):].split(b'\0', 1)[0]
        if name == b'.text':
            return field(row, 16), data[field(row, 24):field(row, 24) + field(row, 32)]
    raise AssertionError('no .text')


def patched(pid, path=DEMO):
    """Whether the process's text differs from its file's."""
    address, text = text_of(path)
    with open(f'/proc/{pid}/maps') as f:
        base = next(int(line.split('-')[0], 16) for line in f if line.rstrip().endswith(os.path.basename(path)))
    with open(f'/proc/{pid}/mem', 'rb', 0) as f:
        f.seek(base + address)
        return f.read(len(text)) != text


def states():
    return {s['name']: s['state'] for s in rs.sessions()}


def attach(*args, events=30):
    """Traces it on until there are so many new events."""
    r = rs('attach', '--new', '-e', 'pool:take', '-n', str(events), *args)
    check(r.code == 0 and r.out.count(' pool:take: ') == events, f'attach {args}: {r.code} {r.err[-300:]}')
    return r


def test_take_up():
    """A session is killed. Its program is traced on under its name, and left as it was, often."""
    s = Session('t', '-e', ALL)
    wait_for('patched text', lambda: patched(s.pid))
    s.kill()
    check(patched(s.pid), 'the session is killed, and its program is patched')
    r = rs('attach', '--duration', '0.5', 't')
    check(re.search(r'hosted-demo: journal .* [1-9]\d* put back', r.err), f'it is put right: {r.err}')
    check(r.out.count(' pool:') > 0, 'what was in the rings is printed')
    check(not patched(s.pid) and states() == {}, f'and let go of: {states()}')
    check(f"'ringside attach --pid {s.pid}' traces it again" in r.err, f'its id leads to it: {r.err}')
    attach('--pid', str(s.pid))
    check(states() == {}, 'which leaves nothing, either')
    a = Background(rs, 'attach', '-q', '--name', 't', '-e', ALL, '--pid', str(s.pid),
                   ready=lambda: states().get('t') == 'running')
    wait_for('patches', lambda: patched(s.pid))
    r = rs('attach', '--pid', str(s.pid))
    check(r.code == 1 and "session 't' has it already" in r.err, f'it is taken: {r.err}')
    a.process.kill()
    a.process.wait()
    check(patched(s.pid), 'killed again')
    check(states() == {'t': 'lost'}, 'it can be taken up')
    attach('--pid', str(s.pid))
    check(not patched(s.pid) and states() == {}, 'by its id, too: put right again, and let go of')
    a = Background(rs, 'attach', '-q', '--name', 't', '-e', ALL, '--pid', str(s.pid),
                   ready=lambda: states().get('t') == 'running')
    check(rs('stop', 't').code == 0 and a.end()[0] == 0, 'stop ends the session')
    check(not patched(s.pid) and runs(s.pid) and states() == {}, 'and not the program')
    a = Background(rs, 'attach', '-q', '-e', ALL, '--pid', str(s.pid),
                   ready=lambda: 'running' in states().values())
    os.kill(s.pid, signal.SIGKILL)
    code, _, err = a.end()
    check(code == 4 and 'the guest has ended' in err, f'its end is noticed: {code} {err}')
    check(states() == {}, 'and nothing is left of it')
    s = Session('t', '-e', ALL)
    s.kill()
    check(states() == {'t': 'lost'}, 'a session is killed again')
    os.kill(s.pid, signal.SIGKILL)
    wait_for('its end', lambda: not os.path.exists(f'/proc/{s.pid}/exe'))
    check(states() == {'t': 'dead'}, 'of a program that has ended nothing can be taken up')
    check(states() == {}, 'which is said once')


def test_sweep():
    """The next ps or run puts the text of programs right whose session was killed."""
    for sweep in (('ps',), ('run', '-q', '--hosted', DEMO, '0')):
        s = Session('w', '-e', ALL)
        wait_for('patched text', lambda: patched(s.pid))
        s.kill()
        r = rs(*sweep)
        check(not patched(s.pid), f'{sweep[0]} puts it right: {r.code} {r.err}')
        check(states() == {'w': 'lost'} and runs(s.pid), 'and it can still be taken up')
        attach('w')
        os.kill(s.pid, signal.SIGKILL)
        wait_for('its end', lambda: not states())


def program(*args, **more):
    p = subprocess.Popen([DEMO, *(args or ['600'])], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)
    wait_for('the program', lambda: len(os.listdir(f'/proc/{p.pid}/task')) > 2)
    return p


def test_attach_pid():
    """A program that was started without a session is attached, detached, and attached again."""
    p = program()
    pid = str(p.pid)
    check(not patched(p.pid), 'its text is as in its file')
    for i in range(4):
        r = attach('--pid', pid)
        check('itself' in r.err, f'round {i}: it patches itself: {r.err}')
        wait_for('its text', lambda: not patched(p.pid))
        check(states() == {}, 'nothing is left of that session')
    with tempfile.NamedTemporaryFile('w', suffix='.profile') as profile:
        profile.write('[events]\nenable = primes:*\n[filter large]\nevents = primes:found\nif = prime > 500\n')
        profile.flush()
        r = rs('attach', '--pid', pid, '--profile', profile.name, '--json', '-n', '20')
    rows = [json.loads(line) for line in r.out.splitlines()]
    primes = [row['fields']['prime'] for row in rows if (row.get('system'), row.get('event')) == ('primes', 'found')]
    check(r.code == 0 and primes and min(primes) > 500, f'a profile is in force: {r.code} {primes} {r.err}')
    check(rs('attach', '--pid', pid, '--profile', '/nowhere').code == 1, 'one that is not there is an error')
    wait_for('its text', lambda: not patched(p.pid))
    files = len(os.listdir(f'/proc/{pid}/fd'))
    check(files < 10, f'it has {files} files open')
    a = Background(rs, 'attach', '-q', '-e', ALL, '--pid', pid, ready=lambda: states().get('hosted-demo') == 'running')
    wait_for('patches', lambda: patched(p.pid))
    check(status(p.pid, 'TracerPid') == '0', 'nobody traces it by ptrace')
    r = rs('attach', '--pid', pid)
    check(r.code == 1 and "session 'hosted-demo' has it already" in r.err, f'it has a session: {r.err}')
    a.process.kill()
    a.process.wait()
    wait_for('its text', lambda: not patched(p.pid))
    check(states() == {'hosted-demo': 'lost'}, 'after a kill -9 it has put its own text right')
    r = rs('attach', '--name', 'x', '--pid', pid)
    check(r.code == 1 and "'ringside attach hosted-demo' takes it up" in r.err, f'another name: {r.err}')
    attach('hosted-demo')
    check(states() == {}, 'as by its id, nothing is left')
    a = Background(rs, 'attach', '-q', '--pid', pid, ready=lambda: states().get('hosted-demo') == 'running')
    a.process.kill()
    a.process.wait()
    check(states() == {'hosted-demo': 'lost'}, 'killed again')
    check(rs('stop', 'hosted-demo').code == 0 and states() == {}, 'stop forgets the one that died')
    a = Background(rs, 'attach', '-q', '--name', 'x', '-e', ALL, '--pid', pid,
                   ready=lambda: states().get('x') == 'running')
    check(recorded_by('x'), 'with a name of its own')
    p.send_signal(signal.SIGSTOP)
    check(rs('stop', 'x').code == 0 and a.end()[0] == 0, 'a session ends though its program is stopped')
    wait_for('the stop', lambda: status(p.pid, 'State') == 'T')
    r = rs('attach', '-q', '--pid', pid)
    check(r.code == 1 and 'does not answer' in r.err, f'it cannot be attached meanwhile: {r.err}')
    p.send_signal(signal.SIGCONT)
    wait_for('its text', lambda: not patched(p.pid))
    attach('--pid', pid)
    for i in range(12):
        a = rs.start('attach', '-q', '-e', ALL, '--pid', pid, stderr=subprocess.DEVNULL)
        time.sleep(i * 0.007)
        a.kill()
        a.wait()
        attach('--pid', pid)
    check(runs(p.pid), 'whenever a session is killed, the next one has the program')
    p.kill()
    p.wait()
    wait_for('all sessions to be forgotten', lambda: not states())


def test_no_door():
    """A program that no session can attach says why, if it is asked."""
    p = subprocess.run(['sh', '-c', 'ulimit -n 64; exec "$0" 0', PROGRAM], capture_output=True, text=True,
                       timeout=60, env={**os.environ, 'RINGSIDE_DEBUG': '1'})
    check('no session can attach it: it has no free file descriptor' in p.stderr, f'the reason: {p.stderr}')


def test_not_attached():
    """Processes that cannot be attached, and the reasons."""
    p = program(env=os.environ | {'RINGSIDE_REGION': ''})
    check(len(os.listdir(f'/proc/{p.pid}/task')) == 3, 'it has no thread of ours')
    for pid in (p.pid, os.getpid()):
        r = rs('attach', '--pid', str(pid))
        check(r.code == 1 and 'holds no agent' in r.err and 'no QEMU' in r.err, f'{pid}: {r.err}')
    p.kill()
    p.wait()
    r = rs('attach', '--pid', str(p.pid))
    check(r.code == 1 and 'no process' in r.err, f'it has ended: {r.err}')
    if os.geteuid():
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        mine, other = program(), program(user=65534, group=65534, extra_groups=[])
        r = subprocess.run([RINGSIDE, 'attach', '--pid', str(mine.pid)], user=65534, group=65534, extra_groups=[],
                           env=os.environ | {'XDG_RUNTIME_DIR': folder}, capture_output=True, text=True)
        check(r.returncode == 1 and 'belongs to somebody else' in r.stderr, f"root's: {r.stderr}")
        attach('--pid', str(other.pid))
        for p in (mine, other):
            p.kill()
            p.wait()
    rs('ps')


# Traces the process, and says so, until its input ends.
TRACER = """
import ctypes, sys
call = ctypes.CDLL(None, use_errno=True).ptrace
call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
print(call(0x4206, int(sys.argv[1]), None, None), flush=True)  # PTRACE_SEIZE
sys.stdin.read()
"""


def test_put_right_later():
    """Where text may not change while the program runs, a debugger delays that it is put right."""
    s = Session('o', '-e', ALL)
    wait_for('patched text', lambda: s.stat()['sites_patched'] >= 3)
    s.kill()
    os.environ['RINGSIDE_HOSTED_TEXT'] = 'stop'
    with subprocess.Popen([sys.executable, '-c', TRACER, str(s.pid)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as debugger:
        check(debugger.stdout.readline() == '0\n', 'a debugger has the program')
        for args in (['attach', 'o'], ['stop', 'o'], ['run', '--name', 'o', '--hosted', '/bin/true']):
            r = rs(*args)
            check(r.code == 1 and 'another tracer' in r.err, f'{args[0]}: {r.code} {r.err}')
            check(args[0] != 'attach' or 'tries again' in r.err, f'what can be done is told: {r.err}')
            check([s['name'] for s in rs.sessions()] == ['o'], f'the session is there after {args[0]}')
        debugger.communicate()
    del os.environ['RINGSIDE_HOSTED_TEXT']
    r = rs('attach', '-q', '--duration', '0.2', 'o')
    check(re.search(r' [1-9]\d* put back', r.err) and 'tries again' not in r.err, f'put right: {r.err}')
    os.kill(s.pid, signal.SIGKILL)


def main():
    run_tests([test_debugger, test_strace, test_leaks, test_ways, test_killed, test_put_right_later, test_take_up,
               test_sweep, test_attach_pid, test_not_attached], sys.argv[4:])


main()
