#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A libvirtd of a test's own, and its domains.

    with Bed() as bed:
        print(bed.virsh('list', '--all'))

It is a daemon without privileges, with all its files in a directory that goes away: the machine's
own libvirt, if there is one, notices nothing. A test of root runs it as the user nobody. It needs
no name space, so it works in a container. bed.uri reaches it, and bed.env makes that URI the
default of virsh and of ringside.

A keeper process ends the daemon and all domains when the test ends, however it ends.
"""
import ctypes
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, skip, wait_for

SETTINGS = 'security_driver = "none"\nstdio_handler = "file"\n'
NOBODY = 'nobody'


def cache():
    """Where fetch-kernel keeps things."""
    home = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.environ.get('HOME', '/tmp'), '.cache')
    return os.environ.get('RINGSIDE_CACHE') or os.path.join(home, 'ringside')


def daemon_user():
    """The arguments of Popen that make a daemon unprivileged."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam(NOBODY)
    return {'user': user.pw_uid, 'group': user.pw_gid, 'extra_groups': []}


def give(path):
    """Lets the daemon write a file or directory."""
    user = daemon_user()
    if user:
        os.chown(path, user['user'], user['group'])


class Bed:
    """`token` is a part of the names of all its domains, and of files in /dev/shm."""

    def __init__(self):
        for tool in 'libvirtd', 'virsh', 'qemu-system-x86_64':
            if not shutil.which(tool):
                skip(f'no {tool}')
        # Names of sockets are at most 107 bytes long, and libvirt adds some 50.
        base = tempfile.gettempdir()
        self.directory = tempfile.mkdtemp(prefix='rs-bed-', dir=base if len(base) < 30 else '/tmp')
        self.token = os.path.basename(self.directory)[len('rs-'):].replace('_', '-')
        self.uri = f'qemu+unix:///session?socket={self.directory}/run/libvirt/libvirt-sock'
        self.env = {**os.environ, 'LIBVIRT_DEFAULT_URI': self.uri}
        self.keeper = None

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def __enter__(self):
        os.chmod(self.directory, 0o711)
        for name in 'run', 'config', 'config/libvirt', 'cache', 'data', 'shared':
            os.mkdir(self.path(name), 0o700)
            give(self.path(name))
        os.chmod(self.path('shared'), 0o755)
        with open(self.path('config/libvirt/qemu.conf'), 'w') as file:
            file.write(SETTINGS)
        give(file.name)
        give(self.directory)
        # The daemon asks QEMU for 4 s what it can do, unless it knows it from another time.
        known = os.path.join(cache(), 'libvirt')
        if os.path.isdir(known):
            subprocess.run(['cp', '-r', known, self.path('cache')], check=True)
            for place, directories, files in os.walk(self.path('cache')):
                for name in ['.', *files]:
                    give(os.path.join(place, name))
        self.keeper = subprocess.Popen([sys.executable, os.path.abspath(__file__), '--keep', self.directory,
                                        self.token], stdin=subprocess.PIPE, start_new_session=True)
        try:
            wait_for('libvirtd', self.is_up)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        self.remember(known)
        return self

    def is_up(self):
        if self.keeper.poll() is not None:
            raise AssertionError('libvirtd did not start: ' + self.said())
        return os.path.exists(self.path('run/libvirt/libvirt-sock')) and \
            self.virsh('version', check=False).returncode == 0

    def remember(self, known):
        new = tempfile.mkdtemp(prefix='libvirt.', dir=os.path.dirname(known)) if os.path.isdir(cache()) else None
        if new and not os.path.isdir(known) and os.path.isdir(self.path('cache/libvirt')):
            subprocess.run(['cp', '-rT', self.path('cache/libvirt'), new], check=True)
            try:
                os.rename(new, known)
            except OSError:
                pass  # another test was first
        if new:
            shutil.rmtree(new, ignore_errors=True)

    def __exit__(self, *_):
        self.keeper.stdin.close()
        try:
            self.keeper.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.keeper.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def said(self):
        """What the daemon wrote."""
        with open(self.path('libvirtd.log'), errors='replace') as file:
            return file.read()

    def virsh(self, *args, check=True, timeout=PATIENCE):
        done = subprocess.run(['virsh', '-c', self.uri, *args], capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, env={**os.environ, 'LC_ALL': 'C'})
        if check and done.returncode:
            raise AssertionError(f'virsh {args}: {done.stdout}{done.stderr}')
        return done

    def place(self, source, name):
        """Copies a file to where QEMU can read it."""
        path = self.path('shared', name)
        shutil.copyfile(source, path)
        os.chmod(path, 0o644)
        return path


def daemon_of(bed):
    with open(bed.path('run/libvirt/libvirtd.pid')) as file:
        return int(file.read())


def restart_daemon(bed):
    """A generator: kills the daemon, at the next step starts another, and ends that at the last.

    Domains run on. Who wants them away destroys them before the last step.
    """
    pid = daemon_of(bed)
    with open(f'/proc/{pid}/environ') as file:
        env = dict(item.split('=', 1) for item in file.read().split('\0') if item)
    os.kill(pid, signal.SIGKILL)
    yield
    with open(bed.path('libvirtd.log'), 'a') as log:
        daemon = subprocess.Popen(['libvirtd'], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                                  cwd=bed.directory, **daemon_user())
    yield
    daemon.terminate()
    daemon.wait()


ENDS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def end_children():
    """Ends the daemon, and the domains, whose reaper we are since they became daemons."""
    begin = time.monotonic()
    while True:
        with open(f'/proc/self/task/{os.getpid()}/children') as file:
            pids = [int(pid) for pid in file.read().split()]
        if not pids:
            return
        for pid in pids:
            os.kill(pid, signal.SIGTERM if time.monotonic() < begin + 5 else signal.SIGKILL)
        time.sleep(0.1)


def keep(directory, token):
    """Runs the daemon until nobody holds the other end of our input."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Those that end go away at once, as they would if init were their parent.
    for number in *ENDS, signal.SIGCHLD:
        signal.signal(number, signal.SIG_IGN)
    env = {'PATH': os.environ['PATH'], 'HOME': directory, 'TMPDIR': directory}
    for name, place in {'RUNTIME_DIR': 'run', 'CONFIG_HOME': 'config', 'CACHE_HOME': 'cache', 'DATA_HOME': 'data'}.items():
        env['XDG_' + name] = os.path.join(directory, place)
    with open(os.path.join(directory, 'libvirtd.log'), 'w') as log:
        subprocess.Popen(['libvirtd'], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=directory,
                         preexec_fn=default_signals, **daemon_user())
    sys.stdin.read()
    end_children()
    for path in glob.glob(f'/dev/shm/*{token}*'):
        os.unlink(path)
    shutil.rmtree(directory, ignore_errors=True)


def default_signals():
    for number in *ENDS, signal.SIGCHLD:
        signal.signal(number, signal.SIG_DFL)


if __name__ == '__main__' and sys.argv[1:2] == ['--keep']:
    keep(*sys.argv[2:])
