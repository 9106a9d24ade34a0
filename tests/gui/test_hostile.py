#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile files, one after another in one viewer: it lives, answers, and shows what there is, or
one reason why there is nothing.

    RINGSIDE_VIEWER=… RINGSIDE=… RINGSIDE_LIBEXEC=build/viewer/import \\
    tests/gui/test_hostile.py MAKE_TRACE MAKE_GUEST MAKE_ODD
"""
import os
import random
import re
import socket
import subprocess
import sys

from gui import Desktop, check, run_tests, wait_for

MAKE_TRACE, MAKE_GUEST, MAKE_ODD = [arg for arg in sys.argv[1:] if not arg.startswith('test_')][:3]
ERROR = 'The trace could not be opened'
STATE = re.compile(rf'^({ERROR}|Reading…|[\d,.]+ records?)$')
GROUP = 10  # tabs that are open at once


class Opener:
    """A viewer to which files are handed, and which is asked what it shows of them."""

    def __init__(self, desktop):
        desktop.settings(window_width=1200, window_height=800)
        self.desktop = desktop
        self.viewer = desktop.start()
        self.seen = {'shown': 0, 'refused': 0}

    def hand_over(self, *paths):
        code, out, err = self.desktop.command('--tabs', *paths, timeout=120)
        check((code, err) == (0, ''), f'{len(paths)} files are handed over: {code} {out}{err}')

    def state(self):
        """What the page that is in front shows: 'shown', 'refused', or nothing yet."""
        told = [label.name for label in self.viewer.every(None, STATE)]
        if ERROR in told:
            return 'refused'
        return 'shown' if told and 'Reading…' not in told else None

    def look(self, name):
        """Waits for the tab of that file to be in front, and for what it shows; and uses it."""
        self.viewer.wait_window(re.escape(name))
        state = wait_for(f'what there is of {name}', self.state, 120)
        self.seen[state] += 1
        if state == 'shown':
            # To rows and to times, from the first to the last and closer.
            self.desktop.key('ctrl+2', 'Home', 'Down', 'End', 'Up', 'ctrl+1', 'w', 'w', 'period', 'End', '0')
        self.answers()
        return state

    def answers(self):
        """Whatever happened, it does what a key says."""
        self.desktop.key('ctrl+t')
        wait_for('the start page', lambda: self.desktop.windows('Ringside'))
        self.desktop.key('ctrl+t')
        wait_for('the trace again', lambda: not self.desktop.windows('Ringside'))

    def close_tab(self, name):
        self.viewer.wait_window(re.escape(name))
        self.desktop.key('ctrl+w')
        wait_for(f'the tab {name} is closed', lambda: not self.desktop.windows(re.escape(name)))

    def walk(self, paths):
        """All of them, in groups. Names are told apart by their begin."""
        for at in range(0, len(paths), GROUP):
            group = paths[at:at + GROUP]
            self.hand_over(*group)
            # The last one is in front; what is closed leaves the one before it.
            for path in reversed(group):
                self.look(os.path.basename(path))
                self.close_tab(os.path.basename(path))

    def end(self):
        self.viewer.wait_window()
        self.viewer.quit()


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)
    return path


def damaged(desktop, path, kind, n):
    """`n` copies that are cut, and `n` with some bytes changed."""
    data, paths, chance = read(path), [], random.Random(7)
    for i in range(n):
        cut = len(data) * i // n + (i % 3)
        paths.append(write(desktop.path(f'cut-{i:02}-{kind}'), data[:cut]))
        changed = bytearray(data)
        for _ in range(1 + i * 4):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        paths.append(write(desktop.path(f'changed-{i:02}-{kind}'), bytes(changed)))
    return paths


def test_damaged():
    with Desktop() as desktop:
        trace = desktop.path('trace.rst')
        subprocess.run([MAKE_TRACE, '--hostile', trace, '2', '2000', '5'], check=True)
        opener = Opener(desktop)
        opener.walk([trace] + damaged(desktop, trace, 'rst', 10))
        check(all(opener.seen.values()), f'some are shown and some are refused: {opener.seen}')
        opener.end()


def test_damaged_dat():
    with Desktop() as desktop:
        trace, dat = desktop.path('trace.rst'), desktop.path('trace.dat')
        subprocess.run([MAKE_TRACE, trace, '1', '500', '5'], check=True)
        desktop.ringside('export', trace, '--to', 'trace.dat', '-o', dat)
        opener = Opener(desktop)
        opener.walk([dat] + damaged(desktop, dat, 'dat', 5))
        check(all(opener.seen.values()), f'some are shown and some are refused: {opener.seen}')
        opener.end()


def special(desktop):
    """Names of what is no file with a trace."""
    names = {name: desktop.path(name) for name in
             ('empty', 'directory', 'socket', 'secret', 'zeros', 'sparse.rst')}
    write(names['empty'], b'')
    os.mkdir(names['directory'])
    socket.socket(socket.AF_UNIX).bind(names['socket'])
    os.chmod(write(names['secret'], b'secret'), 0)
    write(names['zeros'], bytes(1 << 20))
    subprocess.run([MAKE_TRACE, names['sparse.rst'], '1', '100'], check=True)
    # No end, and nothing for as far as a file can reach.
    os.truncate(names['sparse.rst'], 1 << 40)
    return names


def test_special():
    with Desktop() as desktop:
        names = special(desktop)
        sparse = names.pop('sparse.rst')
        opener = Opener(desktop)
        opener.walk([*names.values(), '/dev/null', '/dev/zero', '/dev/full'])
        check(opener.seen['shown'] == 0, f'none of them is shown: {opener.seen}')
        loop = desktop.path('loop')
        os.symlink(loop, loop)
        code, _, err = desktop.command(loop)
        check(code == 1 and 'symbolic links' in err, f'the command says what is not there: {code}, {err}')
        fifo = desktop.path('fifo')
        os.mkfifo(fifo)
        for path in fifo, sparse:
            name = os.path.basename(path)
            opener.hand_over(path)
            opener.viewer.wait_window(name)
            opener.answers()
            desktop.shot('hostile-' + name)
            opener.close_tab(name)
        opener.hand_over(fifo)
        opener.viewer.wait_window('fifo')
        opener.viewer.quit()


def test_odd():
    with Desktop() as desktop:
        paths = []
        for kind in 'empty', 'names', 'classes', 'times':
            paths.append(desktop.path(kind + '.rst'))
            subprocess.run([MAKE_ODD, kind, paths[-1]], check=True)
        tasks = desktop.path('tasks.rst')
        subprocess.run([MAKE_GUEST, tasks, '1000000', '64', '300000'], check=True)
        markup = write(desktop.path('<b>&\x1b\u202e\n\udcff.rst'), read(paths[0]))
        opener = Opener(desktop)
        for path in paths + [tasks]:
            name = os.path.basename(path)
            opener.hand_over(path)
            check(opener.look(name) == 'shown', f'{name} is shown')
            desktop.shot('odd-' + name.split('.')[0])
            opener.close_tab(name)
        opener.hand_over(markup)
        check(opener.look('<b>&') == 'shown', 'a file with an odd name is shown')
        desktop.shot('odd-name')
        opener.close_tab('<b>&')
        opener.end()


if __name__ == '__main__':
    run_tests([test_damaged, test_damaged_dat, test_special, test_odd])
