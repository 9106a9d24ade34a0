#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside attach --qmp` and `--pid`: sessions on a QEMU that somebody else has started.

    attach_qemu.py kvm|tcg RINGSIDE GUEST [TEST…]
"""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, Background, Ringside, check, need, run_tests, wait_for

ACCEL = sys.argv[1]
RINGSIDE, GUEST = map(os.path.realpath, sys.argv[2:4])
need(ACCEL)
need('tcg')
rs = Ringside(RINGSIDE)
VMS = []  # that were started


class Vm:
    """The demo guest in a QEMU of its user's, who has a monitor for people of his own."""

    def __init__(self, *options, device=True, mib=4, ram=None):
        self.dir = tempfile.TemporaryDirectory(prefix='rs-vm-')
        self.memory = tempfile.NamedTemporaryFile(prefix='rs-bar-', dir='/dev/shm')
        os.truncate(self.memory.name, mib << 20)
        # The guest looks for its region only when it boots.
        r = rs('attach', '--shm', self.memory.name, '--cpus', '2', '--duration', '0.01', '-q')
        check(r.code == 0, f'the memory is laid out: {r.err}')
        self.qmp, self.hmp_path = f'{self.dir.name}/vm.sock', f'{self.dir.name}/hmp'
        ivshmem = ['-object', f'memory-backend-file,id=m,share=on,mem-path={self.memory.name},size={mib}M',
                   '-device', 'ivshmem-plain,id=trace,memdev=m,master=on'] if device else []
        cpu = ['-cpu', 'qemu64,+rdtscp'] if ACCEL == 'tcg' else []
        ram = ['-object', f'memory-backend-memfd,id=ram,size=64M,share={ram}', '-machine', 'memory-backend=ram'] if ram else []
        self.serial = f'{self.dir.name}/serial'
        self.process = subprocess.Popen(
            ['qemu-system-x86_64', '-name', 'their-vm', '-machine', f'pc,accel={ACCEL}', *cpu, '-m', '64M', '-smp', '2',
             '-nodefaults', '-no-user-config', '-display', 'none', '-kernel', GUEST, *ram, *ivshmem,
             '-qmp', f'unix:{self.qmp},server=on,wait=off', '-monitor', f'unix:{self.hmp_path},server=on,wait=off',
             '-serial', f'file:{self.serial}', *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        VMS.append(self)
        wait_for('QEMU', lambda: os.path.exists(self.qmp) and self.meet())
        self.hear()

    def meet(self):
        """The user's connection. A socket has a name before anybody listens."""
        self.person = socket.socket(socket.AF_UNIX)
        self.person.settimeout(PATIENCE)
        return self.person.connect_ex(self.hmp_path) == 0

    def hear(self):
        said = b''
        while not said.endswith(b'(qemu) '):
            said += self.person.recv(65536)
        return said.decode(errors='replace')

    def hmp(self, line):
        self.person.sendall(line.encode() + b'\n')
        return self.hear()

    def runs(self):
        return 'VM status: running' in self.hmp('info status')

    def stub(self):
        return 'ringside-gdb' in self.hmp('info chardev')

    def wait_boot(self):
        wait_for('the guest', lambda: os.path.exists(self.serial) and b'demo guest' in open(self.serial, 'rb').read())

    def end(self):
        self.person.close()
        self.process.kill()
        self.process.wait()
        self.memory.close()
        self.dir.cleanup()
        VMS.remove(self)


class Session(Background):
    def __init__(self, vm, *options, name='v', how=None):
        self.name = name
        super().__init__(rs, 'attach', *(how or ('--qmp', vm.qmp, '--name', name)), '--json', *options,
                         ready=lambda: rs('stat', name).code == 0)

    def events(self):
        lines = self.read(self.out).splitlines(keepends=True)
        return [json.loads(l) for l in lines if l.endswith(b'\n') and b'"event"' in l]

    def wait_events(self, n=20):
        before = len(self.events())
        wait_for(f'{n} events', lambda: len(self.events()) >= before + n)

    def stat(self):
        stat = rs.json('stat', self.name)
        return {**stat, **stat['sources'][0]}

    def detach(self, vm):
        code, _, said = self.end(signal.SIGINT)
        check(code == 0, f'detaches well: {code} {said if code else ""}')
        check(not vm.stub(), 'the gdb stub is off')
        return said


EVENTS = ('-e', 'syscalls:*', '-e', 'sched:switch')


def check_text(vm):
    """All sites are NOPs again: a session that asks for nothing finds none on."""
    s = Session(vm, '--new', name='look')
    wait_for('the guest', lambda: s.stat()['events'])
    stat = s.stat()
    check(stat['sites'] > 20 and stat['sites_patched'] == 0, f'none of {stat["sites"]} sites is patched')
    s.detach(vm)


def test_attach_and_detach():
    vm = Vm()
    vm.wait_boot()
    os.chmod(vm.memory.name, 0o666)  # as QEMU leaves it
    s = Session(vm, *EVENTS)
    check(os.stat(vm.memory.name).st_mode & 0o077 == 0, 'nobody else can read the memory')
    s.wait_events()
    stat = s.stat()
    check(stat['kind'] == f'qemu-{ACCEL}' and stat['patches'] >= 3, f'patched: {stat["patches"]}')
    check(stat['text'] == 'gdb stub', 'by the gdb stub')
    check(vm.stub() and vm.runs(), 'while the guest runs')
    second = rs('attach', '--qmp', vm.qmp)
    check(second.code == 1 and "'v' has it already" in second.err, f'one session: {second.err.strip()}')
    second = rs('attach', '--shm', vm.memory.name)
    check(second.code == 1 and 'another session has' in second.err, f'one session: {second.err.strip()}')
    s.detach(vm)
    check(vm.runs() and vm.process.poll() is None, 'the guest runs on')
    check(not os.listdir(os.environ['XDG_RUNTIME_DIR'] + '/ringside'), 'no file is left')
    check_text(vm)
    r = rs('attach', '--pid', str(vm.process.pid), '--new', '-n', '50', *EVENTS)
    check(r.code == 0 and r.out.count('syscalls:') > 5, f'by the process: {r.err}')
    s = Session(vm, *EVENTS)
    s.wait_events()
    check(rs('stop', 'v').code == 0, 'stop')
    check(s.end()[0] == 0 and 'runs on without us' in s.said(), f'ends the session: {s.said()}')
    check(vm.process.poll() is None and vm.runs() and not vm.stub(), 'and not the QEMU')
    check_text(vm)
    vm.end()


def test_native_again():
    """What an earlier session has made of a filter is used by the next one, and takes no room."""
    vm = Vm()
    vm.wait_boot()
    left = []
    for _ in range(3):
        s = Session(vm, '-e', 'sched:switch', '-f', 'sched:switch: prev_comm ~ "*w*r*"')
        wait_for('it as machine code', lambda: any(r['native'] for r in rs.json('list', '-s', s.name, 'sched:switch')))
        left.append(s.stat()['native_left'])
        s.detach(vm)
    check(0 < left[0] == left[1] == left[2], f'room in the pool: {left}')
    vm.end()


def guard_of(name):
    """The process that has the session's mark open."""
    mark = os.path.join(os.environ['XDG_RUNTIME_DIR'], 'ringside', f'{name}@1.pause')
    for path in glob.glob('/proc/[0-9]*/comm'):
        try:
            with open(path) as file:
                if file.read().strip() == 'ringside-guard' and os.readlink(os.path.dirname(path) + '/fd/4') == mark:
                    return int(path.split('/')[2])
        except OSError:
            pass  # it has ended
    raise AssertionError('no guard')


def test_killed():
    """What a session that was killed has left is put right by the next one."""
    vm = Vm()
    vm.wait_boot()
    s = Session(vm, *EVENTS)
    s.wait_events()
    on = s.stat()['sites_patched']
    s.process.kill()
    s.process.wait()
    check(vm.stub() and on > 2, f'{on} sites and the stub are left')
    r = rs('attach', '--qmp', vm.qmp, '--ring-size', '16K')
    check(r.code == 1 and 'ringside attach v' in r.err, f'says what to do: {r.err.strip()}')
    r = rs('run', '--name', 'v', '--hosted', 'true')
    check(r.code == 1 and 'ringside attach v' in r.err, f'the name is kept: {r.err.strip()}')
    s = Session(vm, '--new', how=('--qmp', vm.qmp))
    wait_for('the guest', lambda: s.stat()['events'])
    check(f'{on} put back' in s.said(), f'restored: {s.said().strip()}')
    check(s.stat()['sites_patched'] == 0 and vm.runs(), 'the guest runs')
    check(rs('enable', '-s', 'v', 'syscalls:*').code == 0, 'enable')
    s.wait_events()
    s.process.kill()
    s.process.wait()
    # Killed in a pause: only we know that the guest does not stand still by its user's wish.
    s = Session(vm, '--new', how=('v',))
    wait_for('the guest', lambda: s.stat()['events'])
    check(rs('pause', 'v').code == 0 and not vm.runs(), 'paused')
    s.process.kill()
    s.process.wait()
    wait_for('the guard, which lets it go on', vm.runs)
    # Killed with its guard, as a system does that ends all of a user's processes.
    s = Session(vm, '--new', how=('v',))
    wait_for('the guest', lambda: s.stat()['events'])
    check(rs('pause', 'v').code == 0 and not vm.runs(), 'paused again')
    guard = guard_of('v')
    with open(f'/proc/{guard}/cmdline') as file:
        check(file.read().strip('\0') == 'ringside-guard', 'who looks for the session does not find it twice')
    os.kill(guard, signal.SIGKILL)
    s.process.kill()
    s.process.wait()
    time.sleep(0.2)
    check(not vm.runs(), 'it stands still')
    r = rs('stop', 'v')
    check(r.code == 0 and vm.runs() and not vm.stub(), f'stop lets it go on: {r.err}')
    check(vm.process.poll() is None, 'and does not end it')
    check_text(vm)
    vm.end()


def test_reset():
    """A reset is another boot. What was asked for stays."""
    vm = Vm()
    vm.wait_boot()
    s = Session(vm, *EVENTS)
    for _ in range(2):
        s.wait_events()
        vm.hmp('system_reset')
        wait_for('the news', lambda: 'was reset' in s.said())
        wait_for('the guest', lambda: s.stat()['state'] == 'running' and s.stat()['sites_patched'])
    s.wait_events()
    vm.hmp('system_powerdown')
    s.detach(vm)
    check_text(vm)
    vm.end()


def test_paused_by_its_user():
    vm = Vm()
    vm.wait_boot()
    check_text(vm)  # it has come so far that it has described its events
    vm.hmp('stop')
    s = Session(vm, *EVENTS)
    wait_for('patches', lambda: s.stat()['sites_patched'])
    time.sleep(0.2)
    check(not vm.runs(), 'it stays paused while text is written')
    vm.hmp('cont')
    s.wait_events()
    vm.hmp('stop')
    s.detach(vm)
    check(not vm.runs(), 'and after we have gone')
    vm.hmp('cont')
    check_text(vm)
    vm.end()


def test_migrated_in_a_pause():
    """A guest that has gone elsewhere does not go on here, too."""
    for killed in False, True:
        vm = Vm()
        vm.wait_boot()
        s = Session(vm, *EVENTS)
        s.wait_events()
        check(rs('pause', 'v').code == 0 and not vm.runs(), 'paused by us')
        vm.hmp('migrate -d "exec:cat >/dev/null"')
        wait_for('its end', lambda: 'postmigrate' in vm.hmp('info status'))
        if killed:
            guard = guard_of('v')
            s.process.kill()
            s.process.wait()
            wait_for('the guard', lambda: not os.path.exists(f'/proc/{guard}'))
            check('postmigrate' in vm.hmp('info status'), 'the guard leaves it')
            check(rs('stop', 'v').code == 0, 'stop')
        else:
            s.detach(vm)
        check('postmigrate' in vm.hmp('info status') and not vm.stub(), 'it stays as it is')
        vm.hmp('cont')
        check_text(vm)
        vm.end()


def test_stub_of_somebody_else():
    vm = Vm('-gdb', 'unix:/tmp/rs-test-gdb,server=on,wait=off')
    vm.wait_boot()
    s = Session(vm)
    wait_for('the guest', lambda: s.stat()['events'])
    check('somebody else has' in s.said() and s.stat()['text'] == 'itself', f'told: {s.said().strip()}')
    r = rs('pause', 'v')
    check(r.code == 1 and 'gdb stub' in r.err, f'no pause: {r.err.strip()}')
    check('gdb' in vm.hmp('info chardev'), 'theirs stays')
    s.process.send_signal(signal.SIGINT)
    check(s.process.wait(PATIENCE) == 0, 'detaches')
    check(re.search(r'^gdb:', vm.hmp('info chardev').replace('\r', ''), re.M), 'theirs is there after us, too')
    vm.end()


def test_memory():
    """Whatever backs the guest's RAM."""
    for ram in ('on', 'off'):
        vm = Vm(ram=ram)
        vm.wait_boot()
        s = Session(vm, *EVENTS)
        s.wait_events()
        s.detach(vm)
        vm.end()


def test_process_that_we_may_not_read():
    """Then the guest's memory is read by QEMU's monitor and its stub."""
    if os.getuid() != 0 or not shutil.which('setpriv'):
        print('left out: it takes root and setpriv')
        return
    vm = Vm()
    vm.wait_boot()
    r = subprocess.run(['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace', RINGSIDE, 'attach', '--qmp', vm.qmp,
                        '--new', '-n', '50', *EVENTS], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    check(r.returncode == 0 and 'read by its monitor' in r.stderr, f'it is traced all the same: {r.stderr}')
    check_text(vm)
    vm.end()


def test_ends():
    """The QEMU ends while it is traced."""
    vm = Vm()
    vm.wait_boot()
    s = Session(vm, *EVENTS)
    s.wait_events()
    vm.process.kill()
    code, _, said = s.end()
    check(code == 4 and 'went away' in said, f'told: {code} {said}')
    check(not os.listdir(os.environ['XDG_RUNTIME_DIR'] + '/ringside'), 'no file is left')
    vm.end()


def test_errors():
    def refused(what, *how):
        r = rs('attach', *how)
        lines = [l for l in r.err.splitlines() if l.startswith('ringside: ')]
        check(r.code == 1 and len(lines) == 1 and re.search(what, r.err), f'one error: {r.err.strip()}')

    with tempfile.TemporaryDirectory() as d:
        refused('No such file', '--qmp', d + '/none')
        refused('is no QMP|not QMP|not a socket|refused|not permitted', '--qmp', '/etc/passwd')
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(d + '/x')
            other.listen()
            refused('does not answer', '--qmp', d + '/x')
    refused('no QMP socket', '--pid', str(os.getpid()))
    refused('no process', '--pid', '999999999')
    vm = Vm(device=False)
    refused('no ivshmem-plain device', '--qmp', vm.qmp)
    vm.end()
    vm = Vm()
    with open(vm.memory.name, 'r+b') as f:
        f.write(b'somebody\'s')
    refused('something else', '--qmp', vm.qmp)
    check(not vm.stub() and vm.runs(), 'and nothing was changed')
    check(not os.listdir(os.environ['XDG_RUNTIME_DIR'] + '/ringside'), 'no file is left')
    vm.end()


if __name__ == '__main__':
    run_tests([t for n, t in list(globals().items()) if n.startswith('test_')], sys.argv[4:],
              after=lambda: [vm.end() for vm in list(VMS)])
