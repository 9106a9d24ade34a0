#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""full.py RINGSIDE PROGRAM: a runtime directory that is or becomes full.

PROGRAM has more than a thousand sites, so their journal needs room. The directory is a small tmpfs
in a mount namespace of this test.
"""
import os
import re
import subprocess
import sys
import tempfile

from harness import Background, Ringside, check, skip

IN_NAMESPACE = 'RINGSIDE_TEST_NAMESPACE'


def enter_namespace():
    if IN_NAMESPACE in os.environ:
        return
    unshare = ['unshare', '-m'] if os.geteuid() == 0 else ['unshare', '-r', '-m']
    if subprocess.run([*unshare, 'mount', '-t', 'tmpfs', 'none', tempfile.gettempdir()],
                      stderr=subprocess.DEVNULL).returncode:
        skip('no mount namespace can be made here')
    os.environ[IN_NAMESPACE] = '1'
    os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])


class Directory:
    """A runtime directory with few bytes and files."""

    def __init__(self, options):
        self.path = tempfile.mkdtemp(prefix='rs-full-')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'{options},mode=700', 'none', self.path], check=True)
        os.environ['XDG_RUNTIME_DIR'] = self.path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(['umount', '-l', self.path], check=True)
        os.rmdir(self.path)

    def fill(self):
        with open(os.path.join(self.path, 'fill'), 'wb', buffering=0) as f:
            try:
                while f.write(bytes(512)):
                    pass
            except OSError:
                pass

    def free(self):
        os.unlink(os.path.join(self.path, 'fill'))

    def left(self):
        return [os.path.join(at, f) for at, _, files in os.walk(self.path) for f in files if f != 'fill']


def stat(name):
    return rs.json('stat', name)


def run(*args):
    return rs('run', '-q', '--name', 'full', *args, '--hosted', program)


def test_full_from_the_start():
    for options in ('size=64k', 'size=64k,nr_inodes=2', 'size=64k,nr_inodes=3', 'size=64k,nr_inodes=4'):
        with Directory(options) as d:
            d.fill()
            r = run('--duration', '5')
            check(r.code == 1 and 'No space left' in r.err, f'{options}: the session does not begin')
            check(d.path in r.err, f'and says for what there is no room: {r.err.strip()}')
            check(not d.left(), 'nothing is left')


def test_too_small_for_what_is_wanted():
    with Directory('size=64k') as d:
        r = run('-e', '*', '--duration', '5')
        check(r.code == 1 and re.search(r'journal .*No space left', r.err), f'the journal is named: {r.err.strip()}')
        check(not d.left(), 'nothing is left')


def change_things(d):
    d.fill()
    r = rs('enable', 'full', '*')
    check(r.code == 1 and re.search(r'journal .*No space left', r.err), 'the journal is full, and named')
    check(stat('full')['sites_patched'] == 0, 'no text was touched')
    check(' on ' not in rs('list', 'full').out, 'and no event is on')
    d.free()
    check(rs('enable', 'full', '*').code == 0, 'with room again, they are switched on')
    check(stat('full')['sites_patched'] > 1000, 'and patched')
    d.fill()
    check(rs('disable', 'full', '*').code == 0, 'what is on goes off without any room')
    check(stat('full')['sites_patched'] == 0, 'and the text is put back')
    check(rs('stop', 'full').code == 0, 'the session goes on, and can be stopped')


def test_full_later():
    with Directory('size=256k') as d:
        session = Background(rs, 'run', '-q', '--name', 'full', '--hosted', program,
                             ready=lambda: rs('stat', 'full').code == 0 and stat('full')['sites'] > 1000)
        try:
            change_things(d)
        except BaseException:
            session.process.kill()
            raise
        session.end()
        check(not d.left(), 'nothing is left')


enter_namespace()
rs, program = Ringside(sys.argv[1]), sys.argv[2]
for test in (test_full_from_the_start, test_too_small_for_what_is_wanted, test_full_later):
    print('---', test.__name__, flush=True)
    test()
