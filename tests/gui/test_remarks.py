#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong with a trace is said on its page, and so is what became of a session."""
import os
import re
import signal
import subprocess
import sys

import gui
from gui import HOSTED_DEMO, Desktop, check, run_tests, wait_for

MAKE_TRACE = [arg for arg in sys.argv[1:] if not arg.startswith('test_')][0]
DISMISS = re.compile('^Dismiss')
CUT = re.compile('the file was not ended')
DAMAGED = re.compile('the file is damaged')


def cut(desktop):
    """A trace that breaks off, and has a hole before that."""
    path = desktop.path('cut.rst')
    subprocess.run([MAKE_TRACE, path, '2', '20000', '5'], check=True)
    with open(path, 'r+b') as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size // 4)
        file.write(bytes(size // 4))
        file.truncate(size * 3 // 4)
    return path


def test_file():
    with Desktop() as desktop:
        desktop.settings(window_width=1200, window_height=800)
        viewer = desktop.start(cut(desktop), title='cut.rst')
        viewer.find('alert', 'Remarks')
        viewer.find('label', CUT)
        viewer.find('label', DAMAGED)
        desktop.shot('remarks')
        viewer.find('push button', DISMISS).click()
        viewer.gone('label', CUT)
        viewer.gone('label', DAMAGED)
        viewer.quit()


def test_whole():
    with Desktop() as desktop:
        viewer = desktop.start(desktop.record('whole.rst'), title='whole.rst')
        viewer.find('label', re.compile(r'^[\d,.]+ records$'))
        wait_for('all is read', lambda: not viewer.every('label', 'Reading…'))
        check(not viewer.every('push button', DISMISS), 'of a good file there is nothing to be said')
        viewer.quit()


def begin(desktop, name):
    process = desktop.background('run', '-q', '-e', '*', '--name', name, '--hosted', HOSTED_DEMO, '600')

    def runs():
        try:
            return desktop.ringside('list', '-s', name)
        except AssertionError:
            return None
    wait_for('the session runs', runs)
    return process


def test_ended():
    with Desktop() as desktop:
        process = begin(desktop, 'short')
        viewer = desktop.start('--session', 'short', title='short')
        viewer.find('label', re.compile('^Live, '))
        process.send_signal(signal.SIGINT)
        viewer.find('label', re.compile('The session has (ended|gone)'))
        viewer.gone('label', re.compile('^Live, '))
        desktop.shot('remarks-live')
        viewer.quit()


def wrapped(desktop, lines):
    """A program that runs the viewer after these lines of a shell."""
    path = desktop.path('wrapped')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(['#!/bin/sh', *lines, f'exec {gui.VIEWER} "$@"', '']))
    os.chmod(path, 0o700)
    return path


def test_no_file():
    """There is no place for what a live view keeps."""
    with Desktop() as desktop:
        begin(desktop, 'homeless')
        none = desktop.path('none')
        gui.VIEWER = wrapped(desktop, [f'export XDG_CACHE_HOME={none}/a TMPDIR={none}'])
        with open(none, 'w', encoding='utf-8'):
            pass
        viewer = desktop.start('--session', 'homeless', title='homeless')
        viewer.find('label', 'The trace could not be opened')
        viewer.find('label', re.compile(re.escape(none)))
        viewer.quit()


def test_full():
    """A file that can have so many bytes only."""
    with Desktop() as desktop:
        begin(desktop, 'large')
        gui.VIEWER = wrapped(desktop, ["trap '' XFSZ", 'ulimit -f 8000'])
        viewer = desktop.start('--session', 'large', title='large')
        viewer.find('label', re.compile('the session goes on: the file of the view cannot be written. .*too large'))
        viewer.gone('label', re.compile('^Live, '))
        viewer.find('label', re.compile(r'^[\d,.]+ records$'))
        check(not viewer.every('label', re.compile('Its last state')), 'the session can be controlled on')
        desktop.shot('remarks-full')
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_file, test_whole, test_ended, test_no_file, test_full])
