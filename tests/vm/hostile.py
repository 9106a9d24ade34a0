#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ringside command with guests that lie, restless programs, and impatient users.

    hostile.py RINGSIDE DEMO_GUEST MEAN_PROGRAM [TEST…]

Guests run on KVM if it can be used, else on TCG. RINGSIDE may be built with sanitizers.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import harness
from harness import KVM, check, run_tests, wait_for

RINGSIDE, DEMO, MEAN = sys.argv[1:4]
ACCEL = 'kvm' if KVM else 'tcg'
NOBODY = 65534
SANITIZER = re.compile(r'ERROR: \w+Sanitizer|runtime error:|SUMMARY: \w+Sanitizer')
# All bytes that control a terminal. Our own output uses none of them.
CONTROL = re.compile(rb'[\x00-\x08\x0b-\x1f\x7f]')


def clean(data, what):
    text = data.decode(errors='replace')
    found = SANITIZER.search(text)
    if found:
        raise AssertionError(f'{what}: {text[found.start():found.start() + 3000]}')
    found = CONTROL.search(data) or re.search('[\x80-\x9f]', text)
    if found:
        raise AssertionError(f'{what}: a control byte, {text[max(0, found.start() - 50):][:100]!r}')


class Ringside(harness.Ringside):
    def __call__(self, *args, timeout=60, **more):
        p = subprocess.run([RINGSIDE, *args], capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, **more)
        clean(p.stdout, f'output of {args}')
        p.stdout, p.stderr = p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')
        r = harness.Result(p)
        if SANITIZER.search(r.err):
            raise AssertionError(f'{args}: {r.err[-3000:]}')
        check(0 <= r.code <= 5, f'{" ".join(args)[:90]}: {r.code} {r.err[:80]!r}')
        return r


rs = Ringside(RINGSIDE)


class Background(harness.Background):
    def __init__(self, *args, wait_for=None):
        self.args = args
        super().__init__(rs, *args, ready=wait_for and (lambda: rs_quiet('stat', '-s', wait_for) == 0))

    def end(self, *how, **more):
        code, out, err = super().end(*how, **more)
        clean(out, f'output of {self.args}')
        clean(self.read(self.err).replace(b'\r', b''), f'errors of {self.args}')
        return code, out, err


def rs_quiet(*args):
    return subprocess.run([RINGSIDE, *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=60).returncode


# ---- 1. guests ----

VERBS = [['list'], ['list', '--json'], ['stat'], ['stat', '--json'], ['enable', '*:*'],
         ['disable', 'sched:*'], ['filter', '*:*: PID == 1'], ['filter', '-c', '*:*'],
         ['format', '*:*'], ['enable', 'load:*']]


def torment(what, seed, seconds=3, patience=60):
    """A guest that does `what`, while all verbs look at it. Returns how the run ended.

    The guest does it for so many seconds of its own clock, which stands still in each pause. After
    `patience` more seconds the run ends anyhow.
    """
    name = 'h'
    options = [] if 'logs' in what else ['-e', '*', '-f', 'sched:*: COMM ~ "*"']
    run = Background('run', '--accel', ACCEL, '--name', name, *options, '--ring-size', '64K',
                     '--duration', str(seconds + patience), '--append',
                     f'{what} duration={seconds} seed={seed}', DEMO, wait_for=name)
    observers = [Background('trace', name), Background('trace', '--json', name)]
    done, answered = False, 0
    while not done:
        for verb in VERBS:
            if run.process.poll() is not None:
                done = True
                break
            answered += rs(verb[0], '-s', name, *verb[1:]).code == 0
    code, out, err = run.end()
    for observer in observers:
        observer_code, text, _ = observer.end()
        check(observer_code in (0, 3), f'{what}: an observer ends with {observer_code}')
    check(answered > 0, f'{what}, seed {seed}: {answered} questions were answered meanwhile')
    check('# events:' in err, f'{what}: the run ends with a summary, code {code}')
    return code, out, err


def test_guests():
    for seed in range(1, 4):
        code, out, err = torment('scribble', seed, 2, patience=6)
        check(code in (0, 3), f'scribble ends by itself: {code} {err[-300:]}')
    for seed in range(1, 4):
        code, out, err = torment('lies', seed)
        check(code == 0 and 'lied' in err, f'lies: {code} {err[-300:]}')
        check(b'\\x1b]0;title\\x07' in out, 'escapes in strings are shown, not sent')
        check(b'\\x1b[31mliar\\x07' in out, 'and those in names')
    if not KVM:
        return
    code, out, err = torment('sites', 1)
    # A site that lies only about its target is patched. Its own guest then jumps to nowhere.
    check(code == 0 and 'wrong site tables' in err or code == 4 and 'ringside: the guest' in err,
          f'sites: {code} {err[-600:]}')
    check('refused' in err, 'wrong sites are refused by name')
    code, out, err = torment('calls', 1)
    bad = re.search(r'hypercalls:? (\d+) \((\d+) bad\)', err)
    check(code == 0 and int(bad[2]) > 100, f'bad requests are counted: {bad[0]}')
    code, out, err = torment('calls logs', 1)
    check(code == 0 and 'messages were left out' in err, 'a flood of log lines is cut')
    check(err.count('guest: ') < 1500, f'{err.count("guest: ")} lines of it are shown')


def test_attach():
    """The sessions of guests that lie are killed. Others take the guests up."""
    if not shutil.which('qemu-system-x86_64'):
        print('skipped: no QEMU')
        return
    for what in 'scribble', 'lies', 'calls':
        run = Background('run', '--accel', 'tcg', '--name', 'a', '-q', '-e', '*', '--ring-size', '64K', '--append',
                         f'{what} duration=60 seed=7', DEMO, wait_for='a')
        rounds = 0
        while rounds < 4:
            for verb in VERBS[rounds::2]:
                rs(verb[0], '-s', 'a', *verb[1:])
            if run.process.poll() is not None:
                break
            run.end(signal.SIGKILL)
            run = Background('attach', '-e', '*', 'a')
            wait_for('an answer', lambda: run.process.poll() is not None or rs_quiet('stat', '-s', 'a') == 0)
            rounds += 1
        rs('stop', 'a')
        code, out, err = run.end()
        check(rounds > 0 and 0 <= code <= 4, f'{what}: attached {rounds} times, the last ended with {code}: {err[-200:]!r}')


# ---- 2. the command line ----

def write(directory, name, data):
    path = os.path.join(directory, name)
    with open(path, 'wb') as f:
        f.write(data)
    return path


def expect(code, text, *args, lines=1, **more):
    r = rs(*args, **more)
    check(r.code == code and text in r.err, f'… is {code}, "{text}": {r.code} {r.err[:300]!r}')
    said = [l for l in r.err.splitlines() if not l.startswith('usage: ')]
    check(lines is None or len(said) == lines, f'… in {lines} line: {said}')
    check(r.err.startswith('ringside: ') or lines is None, '… of ours')
    return r


def test_bad_kernels():
    with open(DEMO, 'rb') as f:
        elf = f.read()
    with tempfile.TemporaryDirectory() as d:
        header = bytearray(elf)
        header[56:58] = b'\xff\xff'
        wild = bytearray(elf)
        at = int.from_bytes(wild[32:40], 'little')
        wild[at + 8:at + 40] = b'\xf0' + b'\xff' * 31
        files = {'short': elf[:100], 'half': elf[:5000], 'text': b'hello\n' * 100,
                 'empty': b'', 'many': bytes(header), 'wild': bytes(wild)}
        for name, data in files.items():
            path = write(d, name, data)
            if KVM:
                expect(1, f"kernel '{path}': ", 'run', '--accel', 'kvm', path)
            if name in ('short', 'text', 'empty'):
                expect(1, '', 'run', '--accel', 'tcg', path, lines=None)
        expect(1, 'no such file', 'run', os.path.join(d, 'nothing'))
        expect(1, '', 'run', d)
        expect(1, 'not there', 'run', '--hosted', os.path.join(d, 'nothing'))
        expect(1, 'not there', 'run', '--hosted', d)


def test_bad_agents():
    for what, text in (('noagent', 'no agent'), ('badabi', 'ABI version 42.'),
                       ('stale', 'no agent')):
        r = rs('run', '--accel', ACCEL, '-e', '*', '--duration', '1.5' if KVM else '8', '--append',
               what, DEMO)
        # The guest spoils what a whole agent has written: a host that looks in between sees that.
        early = what == 'badabi' and r.code == 3
        check((r.code == 1 or early) and r.err.count(text) == 1, f'{what}: {r.code} {r.err}')
        check('# events:' in r.err, f'{what}: and a summary')
    r = rs('run', '--accel', ACCEL, '-e', 'nix:*', '-f', 'nux:x: a == 1', '--duration',
           '1' if KVM else '6', DEMO)
    check(r.code == 3 and r.err.count("'nix:*'") == 1 and r.err.count("'nux:x'") == 1,
          f'globs that never matched: {r.code} {r.err}')


def test_wrong_usage():
    run = ['run', '--accel', ACCEL, DEMO]
    for text, args in (('--cpus', ['--cpus', '0']), ('--cpus', ['--cpus', '1025']),
                       ('--cpus', ['--cpus', 'abc']), ('no size', ['--mem', 'x']),
                       ('too small', ['--ring-size', '1K']), ('too large', ['--ring-size', '9T']),
                       ('no size', ['--ring-size', '-1']), ('no size', ['--ring-size', '1KB']),
                       ('--duration', ['--duration', 'nan']), ('--duration', ['--duration', '-1']),
                       ('--duration', ['--duration', '1e300']), ('--count', ['-n', '-1']),
                       ('--accel', ['--accel', 'xen']), ('--mode', ['--mode', 'x']),
                       ('a name', ['--name', '../x']), ('a name', ['--name', '']),
                       ('glob', ['-e', '']), ('GLOB: EXPRESSION', ['-f', 'x']),
                       ('--nix', ['--nix'])):
        expect(2, text, *run, *args)
    if KVM:
        expect(2, 'memory', *run, '--mem', '1K')
        expect(2, 'memory', *run, '--mem', '100T')
        expect(1, 'initrd', *run, '--initrd', '/nonexistent')
    expect(2, '^', *run, '-f', 'sched:switch: prev_pid == ', lines=4)
    for where in '-o', '--text':
        expect(1, '/nonexistent/x', *run, where, '/nonexistent/x')
    expect(2, 'no such verb', 'nix')
    expect(2, "did you mean 'trace'?", 'trcae')
    expect(2, 'options come after the verb', '--json', 'ps')
    expect(2, 'KERNEL', 'run')
    for verb in (['list'], ['stat'], ['trace'], ['stop'], ['pause'], ['enable', '*'],
                 ['format', 'a:b'], ['filter', 'a:b: c == 1']):
        expect(3, 'no session', *verb)
    os.environ['LIBVIRT_DEFAULT_URI'] = 'qemu+unix:///session?socket=/nonexistent/socket'
    expect(1, 'no session', 'attach', 'nix')  # nor is it known whether there is such a domain


def test_no_kvm():
    if os.getuid() or not KVM:
        print('skipped: root with KVM only')
        return
    hide = ['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /dev/kvm && exec "$@"']
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        file = write(d, 'kvm', b'')
        p = subprocess.run([*hide, file, RINGSIDE, 'run', '--accel', 'kvm', DEMO],
                           capture_output=True, text=True, timeout=60)
        check(p.returncode == 1 and '/dev/kvm' in p.stderr and p.stderr.count('\n') == 1,
              f'/dev/kvm that is none: {p}')
        p = subprocess.run([*hide, file, 'env', 'PATH=/nonexistent', RINGSIDE, 'run', DEMO],
                           capture_output=True, text=True, timeout=60)
        check(p.returncode == 1 and 'qemu' in p.stderr.lower() and p.stderr.count('\n') == 1,
              f'neither KVM nor QEMU: {p}')
    with tempfile.TemporaryDirectory() as d:
        os.chown(d, NOBODY, NOBODY)
        p = subprocess.run([RINGSIDE, 'run', '--accel', 'kvm', DEMO], capture_output=True,
                           text=True, timeout=60, user=NOBODY, group=NOBODY, extra_groups=[],
                           env={**os.environ, 'XDG_RUNTIME_DIR': d})
        check(p.returncode == 1 and 'permission' in p.stderr and p.stderr.count('\n') == 1,
              f'/dev/kvm of others: {p}')


def test_output():
    """Full disks, closed pipes, closed descriptors, two sessions."""
    run = ['run', '--accel', ACCEL, '--serial', 'none', '-e', '*', '--duration', '10']
    r = rs(*run, '--text', '/dev/full', DEMO)
    check(r.code == 1 and 'No space left' in r.err, f'-o /dev/full: {r.code} {r.err}')
    one = Background(*run, '--name', 'one', '--duration', '60', DEMO, wait_for='one')
    expect(1, "'one' runs already", 'run', '--accel', ACCEL, '--name', 'one', DEMO)
    two = Background(*run, '--name', 'two', '--duration', '60', DEMO, wait_for='two')
    for verb in (['list'], ['stat'], ['trace'], ['enable', '*:*'], ['format', 'a:b']):
        expect(2, 'one, two', *verb)
    expect(3, 'no event', 'enable', 'one', 'nix:*')
    expect(3, 'no event', 'filter', 'one', 'nix:*: a == 1')
    expect(2, '^', 'filter', 'one', 'sched:switch: nix == 1', lines=4)
    expect(2, '^', 'filter', 'one', 'sched:switch: next_comm < "a"', lines=4)
    expect(1, 'not paused', 'resume', 'one')
    expect(3, '\\x1b[31m', 'enable', 'one', 'sched:\x1b[31m*')
    for args in (['list', 'one'], ['stat', 'one'], ['ps'], ['trace', 'one', '-n', '5'], ['--help'],
                 ['--version']):
        with open('/dev/full', 'wb') as full:
            p = subprocess.run([RINGSIDE, *args], stdout=full, stderr=subprocess.PIPE, timeout=30)
        check(p.returncode == 1 and p.stderr.count(b'\n') == 1, f'{args} > /dev/full: {p}')
        for closed, wanted in (('>&-', 1), ('>&- 2>&-', 1), ('<&- >&- 2>&-', 1), ('| true', 0)):
            p = subprocess.run(['bash', '-c', f'"$@" {closed}; exit ${{PIPESTATUS[0]}}', 'x',
                                RINGSIDE, *args], capture_output=True, timeout=30)
            says = p.stderr.count(b'\n') == (closed == '>&-')
            check(p.returncode == wanted and says, f'{args} {closed}: {p}')
    for session, sig in ((one, signal.SIGHUP), (two, signal.SIGTERM)):
        code, out, err = session.end(sig)
        check(code == 0 and '# events:' in err and b'\n' in out, f'{sig.name} ends it: {code}')
    p = subprocess.run(['bash', '-c', '"$@" <&- >&- 2>&-', 'x', RINGSIDE, *run[:-1], '6', DEMO],
                       timeout=60)
    check(p.returncode == 1, f'run without any standard descriptor: {p}')
    left = os.listdir(os.path.join(os.environ['XDG_RUNTIME_DIR'], 'ringside'))
    check(left == [], f'nothing is left behind: {left}')


# ---- 3. programs ----

def code_of(pid):
    """The present bytes of the program's code."""
    exe = os.readlink(f'/proc/{pid}/exe')
    with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb') as mem:
        for line in maps:
            m = re.match(r'([0-9a-f]+)-([0-9a-f]+) r-xp .* (/.*)$', line)
            if m and m[3].strip() == exe:
                mem.seek(int(m[1], 16))
                return mem.read(int(m[2], 16) - int(m[1], 16))
    raise AssertionError('no text')


def child_of(pid):
    for _ in range(200):
        for task in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{task}/children') as f:
                for child in f.read().split():
                    if os.readlink(f'/proc/{child}/exe') == os.path.realpath(MEAN):
                        return int(child)
        time.sleep(0.02)
    raise AssertionError('no child')


def toggle(session, name, glob, times):
    done = 0
    while done < times and session.process.poll() is None:
        for verb in ('enable', 'disable'):
            code = rs_quiet(verb, name, glob)
            if code:
                # Only the end of the session may be the reason. It still prints what it has.
                wait_for(f'the end, as {verb} in a loop said {code}',
                         lambda: session.process.poll() is not None)
        done += 1
    return done


def test_programs():
    for mode, code, text in (('fork', 0, ''), ('threads', 0, ''), ('exec', 0, ''),
                             ('crash', 4, 'signal')):
        run = Background('run', '--name', 'p', '--ring-size', '64K', '--hosted', MEAN, mode, '3',
                         wait_for='p')
        pid = child_of(run.process.pid)
        before = code_of(pid)
        times = toggle(run, 'p', 'mean:*', 20)
        if mode in ('fork', 'threads') and times == 20:
            check(run.process.poll() is not None or code_of(pid) == before,
                  'its text is what it was')
        toggle(run, 'p', 'mean:*', 10000)
        got, out, err = run.end()
        check(got == code and text in err.lower(), f'{mode}: {got} {err[-300:]}')
        check(times > 0, f'{mode}: switched on and off')
    run = Background('run', '--name', 'p', '-e', 'mean:*', '--hosted', MEAN, 'threads', '30',
                     wait_for='p')
    pid = child_of(run.process.pid)
    wait_for('some events', lambda: sum(c['written'] for c in rs.json('stat', 'p')['cpus']) > 100)
    os.kill(pid, signal.SIGKILL)
    code, out, err = run.end()
    check(code == 4 and b'mean' not in b'' and out.count(b'step: number=') > 10,
          f'killed: {code} {err[-200:]}')
    check(b'what=\\x1b]0;mine\\x07' in out, 'what it had said is shown, and harmless')


def test_two_cpus():
    """Sites are switched again and again while both vCPUs run through them."""
    run = Background('run', '--accel', ACCEL, '--name', 'v', '--serial', 'none', '--duration',
                     '120', '--append', 'flood', DEMO, wait_for='v')
    # Before the guest's agent is there, a switch is a rule and nothing is patched.
    wait_for('its events', lambda: rs_quiet('list', '-s', 'v', 'load:flood') == 0)
    times = toggle(run, 'v', '*:*', 100 if KVM else 10)
    s = rs.json('stat', 'v')
    check(s['sites_patched'] == 0 and s['sites_refused'] == 0 and s['patch_batches'] >= 2 * times,
          f'{times} times on and off, all text as it was')
    check(all(c['written'] > 0 for c in s['cpus']), 'both vCPUs emitted')
    code, out, err = run.end(signal.SIGINT)
    check(code == 0, f'Ctrl-C: {code} {err[-200:]}')


# ---- 4. the socket ----

def turned_away(path):
    """Runs as another user. Returns 0 if the session refuses us, whoever we claim to be."""
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(10)
        s.connect(path)
        said = b''
        for name in (str(NOBODY), '0', ''):
            s.sendall(b'\0'[:not said] + f'AUTH EXTERNAL {name.encode().hex()}\r\n'.encode())
            said += s.recv(1000)
        return 1 if b'OK ' in said else 0
    except ConnectionError:
        return 0
    except BaseException as e:
        print(e, flush=True)
        return 2


def test_socket():
    run = Background('run', '--accel', ACCEL, '--name', 's', '--serial', 'none', '-e', 'sched:*',
                     '--duration', '60', DEMO, wait_for='s')
    path = os.path.join(os.environ['XDG_RUNTIME_DIR'], 'ringside', 's.sock')
    for junk in (b'', b'\x00', os.urandom(100000), b'\x00AUTH EXTERNAL 30\r\nBEGIN\r\n' +
                 os.urandom(4096), b'\x00AUTH ANONYMOUS\r\nBEGIN\r\n', b'l\x01\x00\x01' * 500,
                 b'\x00' + b'A' * 1000000):
        for _ in range(3):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
                s.settimeout(2)
                try:
                    s.sendall(junk)
                    s.recv(1000)
                except OSError:
                    pass
            check(rs('stat', 's').code == 0, f'{len(junk)} bytes of junk disturb nobody')
    silent = [socket.socket(socket.AF_UNIX) for _ in range(30)]
    for s in silent:
        s.connect(path)
    check(rs('list', 's', timeout=10).code == 0, 'nor do 30 peers that say nothing')
    for s in silent:
        s.close()
    crowd = [Background('trace', '-n', '50', '--duration', '30', 's') for _ in range(20)]
    for observer in crowd:
        code, out, err = observer.end()
        if code or out.count(b'\n') < 50:
            raise AssertionError(f'an observer of twenty: {code} {err[-200:]}')
    print('ok: twenty observers at once')
    if os.getuid() == 0:
        # The session refuses other users even if the directory lets them in.
        os.chmod(os.environ['XDG_RUNTIME_DIR'], 0o755)
        os.chmod(os.path.dirname(path), 0o755)
        os.chmod(path, 0o777)
        pid = os.fork()
        if pid == 0:
            os._exit(turned_away(path))
        check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, 'another user is turned away')
    check(rs('stat', 's').code == 0, 'and all is well')
    code, out, err = run.end(signal.SIGTERM)
    check(code == 0, f'the end: {code} {err[-200:]}')


# ---- 5. the runtime directory ----

# In a /tmp of its own: whoever comes first makes /tmp/ringside-UID there.
SQUATS = {'a link to a good directory': 'mkdir /tmp/real; chown $U:$U /tmp/real; ln -s real $D',
          'a link to nothing': 'ln -s nothing $D',
          'a loop': 'ln -s ringside-$U $D',
          'a directory of somebody else': 'mkdir -m 755 $D',
          'a directory that all may write': 'mkdir $D; chmod 777 $D; chown $U:$U $D',
          'a directory of the group': 'mkdir $D; chmod 770 $D; chown $U:$U $D',
          'a file': 'echo x >$D',
          'a FIFO': 'mkfifo $D; chmod 666 $D'}
# In the right directory, files in the place of a session's own.
LEFTOVERS = {'a link': 'ln -s /tmp/other $F', 'a FIFO': 'mkfifo $F', 'a directory': 'mkdir $F; echo x >$F/x',
             'a file without end': 'ln -s /dev/zero $F', 'a large file': 'truncate -s 1G $F'}


def as_nobody(setup, *args):
    """Runs the command as another user, without XDG_RUNTIME_DIR, in a /tmp of its own."""
    script = ('mount -t tmpfs tmp /tmp && mount -t tmpfs run /run && chmod 1777 /tmp && '
              f'U={NOBODY} && D=/tmp/ringside-$U && umask 022 && echo precious >/tmp/other && chmod 666 /tmp/other && '
              f'{{ {setup}; }} && '
              'setpriv --reuid=$U --regid=$U --clear-groups timeout -k 1 20 "$@"; echo "code $?" >&2; '
              'cat /tmp/other; ls -ldn $D; ls -An $D/; true')
    env = {k: v for k, v in os.environ.items() if k != 'XDG_RUNTIME_DIR'}
    p = subprocess.run(['unshare', '-m', 'sh', '-c', script, 'x', RINGSIDE, *args], capture_output=True,
                       text=True, timeout=60, env=env)
    code = re.search(r'^code (\d+)$', p.stderr, re.M)
    if not code:
        raise AssertionError(f'{setup}: {p}')
    return int(code[1]), p.stdout, p.stderr[:code.start()]


def test_runtime_directory():
    if os.getuid():
        print('skipped: root only')
        return
    for what, setup in SQUATS.items():
        for args in ['ps'], ['run', '--hosted', '/bin/true']:
            code, out, err = as_nobody(setup, *args)
            check(code == 1 and err.startswith('ringside: ') and err.count('\n') == 1 and
                  f'/tmp/ringside-{NOBODY}' in err and 'precious' in out, f'{what}: {args[0]}: {code} {err!r}')
    code, out, err = as_nobody('umask 0', 'run', '--hosted', '/bin/true')
    check(code == 1 and 'drwx------' in out and 'no agent' in err, f'a new one is private: {code} {err!r} {out}')
    for suffix in 'session', 'sock', '1.journal':
        for what, setup in LEFTOVERS.items():
            name = 'x@1.journal' if suffix == '1.journal' else f'x.{suffix}'
            code, out, err = as_nobody(f'mkdir -m 700 $D; F=$D/{name}; {setup}; chown -hR $U:$U $D',
                                       'run', '--name', 'x', '--hosted', '/bin/true')
            check(code == 1 and err and 'precious' in out, f'{name} is {what}: {code} {err!r}')


def main():
    tests = [test_wrong_usage, test_bad_kernels, test_bad_agents, test_no_kvm, test_output,
             test_programs, test_two_cpus, test_socket, test_guests, test_attach,
             test_runtime_directory]
    run_tests(tests, sys.argv[4:])


main()
