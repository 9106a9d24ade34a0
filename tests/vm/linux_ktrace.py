#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside ktrace` of the processes of Debian's kernel, whose module is ringside.ko.

    linux_ktrace.py 6.1|6.12|debug RINGSIDE RINGSIDE_KO
"""
import os
import re
import signal
import struct
import sys
import tempfile

from harness import Background, Ringside, check, skip, wait_for
from libvirt_bed import Bed
from linux_guest import Guest

SERIES, RINGSIDE, MODULE = sys.argv[1:]
rs = Ringside(os.path.realpath(RINGSIDE))
LINE = re.compile(r'^ +(\d+) (\S+) +([A-Z]{3,4}) +(.*)$')
MIB = 16
# The shell waits for a line, so that it is known before it does anything.
WORK = '''mkfifo /tmp/go /tmp/ever
(
	read line </tmp/go
	cat /etc/words | tr a-z A-Z >/tmp/out
	/bin/dd if=/tmp/big of=/tmp/copy bs=8192 count=1 2>/dev/null
	[ -e /no/such/file ]
	sh -c 'kill -TERM $$; echo never'
	sh -c 'exit 7'
	env -i RING=SIDE sh -c 'trap "echo caught" USR1; kill -USR1 $$'
	/bin/odd
	{ cat </tmp/ever & }
	echo over
) >/tmp/said 2>&1 </dev/null &
echo $!
'''


def odd_program():
    """Makes the system call -1, and ends."""
    code = bytes.fromhex('48c7c0ffffffff 0f05 31ff b8e7000000 0f05')  # syscall(-1); exit_group(0)
    start = 0x400000
    head = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\2\1\1', 2, 62, 1, start + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack('<IIQQQQQQ', 1, 5, 0, start, start, 120 + len(code), 120 + len(code), 4096) + code


class Trace:
    """What kdump shows: pid → its lines, as pairs of a kind, and text with the data below it."""

    def __init__(self, text):
        self.of, last = {}, None
        for line in text.splitlines():
            m = LINE.match(line)
            if m:
                last = [m[3], m[4]]
                self.of.setdefault(int(m[1]), []).append(last)
            elif last and line.startswith('       '):
                last[1] += '\n' + line.strip()

    def find(self, kind, pattern, pid=None):
        """The processes that have such a line."""
        return [p for p, lines in self.of.items() if pid in (None, p) and any(
            k == kind and re.search(pattern, text) for k, text in lines)]

    def one(self, what, kind, pattern, pid=None):
        found = self.find(kind, pattern, pid)
        check(len(found) == 1, f'{what}: {kind} {pattern}' if len(found) == 1 else
              f'{what}: {kind} {pattern}: {found}\n{self.of if pid is None else self.of.get(pid)}')
        return found[0]


def ktrace(*args, says=''):
    r = rs('ktrace', *args, 'm')
    if says:
        check(r.code and says in r.err, f'ktrace {args}: {r.err.strip()}')
        return 0
    check(r.code == 0, f'ktrace {" ".join(args)}: {r.out.strip()} {r.err.strip()}')
    return int(r.out.split()[0])


class Dump(Background):
    def __init__(self):
        super().__init__(rs, 'kdump', '-t', '+X', 'm')

    def trace(self, *until):
        """What it has shown once all of these words are there."""
        def shown():
            text = self.read(self.out).decode(errors='replace')
            return text if all(word in text for word in until) else None
        text = wait_for(until, shown)
        self.end(signal.SIGINT)
        return Trace(text[:text.rindex('\n') + 1])


def begin(guest):
    """The pid of a shell that waits."""
    guest.sh('rm -f /tmp/go /tmp/ever')
    return int(guest.sh(WORK))


def begin_named(guest, name):
    """A task that gives itself a name, and then does nothing."""
    guest.sh(f'''mkfifo /tmp/{name}
        (echo {name} >/proc/self/comm; exec 3<>/tmp/{name}; read line <&3) </dev/null >/dev/null 2>&1 &''')


def test_names_of_tasks_without_events(guest):
    """The region has them: of those that were there first, and of those that come."""
    def is_known(name):
        with open(f'/dev/shm/{guest.shm}', 'rb') as file:
            return name.encode() in file.read()
    begin_named(guest, 'late-and-quiet')
    for name in 'early-and-quiet', 'late-and-quiet':
        wait_for(name, lambda: is_known(name[:15]))
        print('ok:', name)
    check(not is_known('never-there'), 'but no other')


def test_a_pipeline(guest):
    shell = begin(guest)
    check(ktrace('-d', '-i', '-t', 'cinstxX', '-p', str(shell)) == 1, 'the shell')
    dump = Dump()
    guest.sh('echo >/tmp/go')
    t = dump.trace('"over', '"/tmp/ever"')
    t.one('the shell reads its order', 'GIO', r'fd \d+ read 1 bytes\n"\\n"', shell)
    tr = t.one('tr', 'ARGS', r'^11 bytes\n\[0\] = "tr"\n\[1\] = "a-z"\n\[2\] = "A-Z"')
    t.one('what it reads', 'GIO', r'^fd 0 read 11 bytes\n"some words', tr)
    t.one('what it writes', 'GIO', r'^fd 1 wrote 11 bytes\n"SOME WORDS', tr)
    t.one('the end of its input', 'GIO', '^fd 0 read 0 bytes', tr)
    t.one('its end', 'CALL', r'^exit_group\(0\)', tr)
    cat = t.one('cat', 'ARGS', r'\[0\] = "cat"\n\[1\] = "/etc/words"')
    t.one('its file', 'NAMI', '^"/etc/words"', cat)
    check(cat != tr and shell not in (cat, tr), 'which are children of the shell')
    t.one('where the output goes', 'NAMI', '^"/tmp/out"', tr)
    dd = t.one('dd', 'ARGS', r'\[0\] = "/bin/dd"')
    for word in 'read', 'wrote':
        for at in 0, 2048, 4096, 6144:
            t.one(f'a block, {word} in pieces', 'GIO', fr'^fd [01] {word} 2048 bytes at {at} of 8192\n', dd)
    t.one('a path in vain', 'NAMI', '^"/no/such/file"', shell)
    t.one('and its error', 'RET', r'^(new)?f?stat(at|x)? -1 errno 2 No such', shell)
    killed = t.one('a signal that ends', 'PSIG', '^SIGTERM SIG_DFL')
    check(not t.find('GIO', 'never', killed), 'after which nothing comes')
    t.one('a status', 'CALL', r'^exit_group\(0x7\)')
    caught = t.one('a signal that is caught', 'PSIG', r'^SIGUSR1 caught handler=0x\w+ mask=\w+ code=0 si_code=0 pid=')
    t.one('which was sent by itself', 'PSIG', fr'^SIGUSR1 .* pid={caught}$', caught)
    t.one('its environment', 'ENV', r'\n\[0\] = "RING=SIDE"', caught)
    t.one('the end of its handler', 'RET', '^rt_sigreturn JUSTRETURN', caught)
    t.one('what it says', 'GIO', r'^fd 1 wrote 7 bytes\n"caught', caught)
    odd = t.one('a call of no number', 'CALL', r'^\[-1\]\(')
    t.one('which is no return from a handler', 'RET', r'^\[-1\] -1 errno 38', odd)
    check(t.find('STRU', '^struct "(stat|statx)" [0-9]+ bytes'), 'structures')
    for pid, lines in t.of.items():
        calls = [text.split('(')[0] for kind, text in lines if kind == 'CALL']
        rets = [text.split(' ')[0] for kind, text in lines if kind == 'RET']
        left = [name for name in calls if name not in ('exit_group', 'exit')]
        check(len(rets) >= len(left) - 1, f'{pid}: {len(calls)} calls return')
    return t.one('who waits', 'NAMI', '^"/tmp/ever"')


def test_a_traced_process_is_killed(guest, pid):
    dump = Dump()
    guest.sh(f'kill -9 {pid}')
    t = dump.trace('SIGKILL')
    t.one('its signal', 'PSIG', '^SIGKILL SIG_DFL', pid)
    check(ktrace('-C') == 0, 'nobody is traced any more')
    ktrace('-p', str(pid), says='no such process')


def test_who_is_chosen(guest):
    sleepers = [int(guest.sh('sleep 1000 </dev/null >/dev/null 2>&1 & echo $!')) for _ in range(2)]
    check(ktrace('-p', str(sleepers[0])) == 1, 'one process')
    check(ktrace('-p', '1', '-d') > 2, 'init and all that come from it')
    check(ktrace('-C') > 2, 'all of them')
    group = int(guest.sh(f'cut -d " " -f 5 /proc/{sleepers[0]}/stat'))
    if group:
        check(ktrace('-g', str(group)) >= 1, 'a group')
    ktrace('-C')
    ktrace('-p', '2', says='no such process')  # kthreadd
    ktrace('-t', 'w', '-p', '1', says='no guest there writes such records')
    r = rs('engine', 'm', '--pid', str(sleepers[0]), '--stop')
    check(r.code == 1 and 'has no engines' in r.err, f'engines: {r.err}')


def test_processes_that_end_at_once(guest):
    """They come and go while others are chosen and forgotten. The table keeps nothing of them."""
    shell = int(guest.sh('''(
        while [ ! -e /tmp/stop ]; do true & (exit 3) & /bin/true; done
    ) >/dev/null 2>&1 </dev/null & echo $!'''))
    for _ in range(5):
        check(ktrace('-d', '-i', '-t', 'cns', '-p', str(shell)) >= 1, 'the shell, and whoever is there')
        ktrace('-C')
    check(ktrace('-d', '-i', '-t', 'cns', '-p', str(shell)) >= 1, 'once more')
    t = Trace(rs('kdump', '--count', '1000', '--new', 'm').out)
    check(len(t.of) > 20 and t.find('CALL', r'^exit_group\(0x3\)'), f'children: {len(t.of)}')
    check(ktrace('-C') < 10, 'of whom only those are known that live')
    ktrace('-d', '-i', '-t', 'cns', '-p', str(shell))


def test_the_module_goes_while_it_traces(guest):
    dump = Dump()
    guest.sh('rmmod ringside')
    check('ringside' not in guest.sh('lsmod'), 'the module is gone')
    dump.end(signal.SIGINT)
    guest.sh('touch /tmp/stop; insmod /ringside.ko')


def main():
    if not os.path.getsize(MODULE):
        skip(f'{MODULE} was not built: its kernel or a compiler is missing')
    with tempfile.TemporaryDirectory() as d, Bed() as bed:
        os.environ['XDG_RUNTIME_DIR'] = d
        guest = Guest(bed, SERIES, files={'/ringside.ko': MODULE}, shmem=MIB)
        guest.put('/etc/words', b'some words\n')
        guest.put('/tmp/big', os.urandom(8192))
        guest.put('/bin/odd', odd_program())
        guest.sh('chmod 755 /bin/odd')
        begin_named(guest, 'early-and-quiet')
        session = Background(rs, 'attach', '--shm', f'/dev/shm/{guest.shm}', '--name', 'm', '-q',
                             ready=lambda: rs('stat', 'm').code == 0)
        guest.sh('insmod /ringside.ko')
        try:
            wait_for('who takes commands', lambda: rs('ktrace', '-C', 'm').code == 0)
            test_names_of_tasks_without_events(guest)
            pid = test_a_pipeline(guest)
            test_a_traced_process_is_killed(guest, pid)
            test_who_is_chosen(guest)
            test_processes_that_end_at_once(guest)
            test_the_module_goes_while_it_traces(guest)
        finally:
            code, _, said = session.end(signal.SIGINT)
        check(code == 0, f'the session ends well: {said}')
        guest.check_well()


main()
