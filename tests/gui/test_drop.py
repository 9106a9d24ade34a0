#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that are dropped on a window by the mouse are opened.

    RINGSIDE_VIEWER=… RINGSIDE=… RINGSIDE_HOSTED_DEMO=… tests/gui/test_drop.py DRAG_SOURCE
"""
import re
import subprocess
import sys

from gui import Desktop, check, run_tests, stop, wait_for

DRAG_SOURCE = [arg for arg in sys.argv[1:] if not arg.startswith('test_')][0]


def middle(desktop, window):
    told = desktop.xdotool('getwindowgeometry', '--shell', window)
    x, y, width, height = (int(re.search(rf'^{key}=(-?\d+)', told, re.M)[1]) for key in ('X', 'Y', 'WIDTH', 'HEIGHT'))
    return x + width // 2, y + height // 2


def shown(desktop):
    return set(desktop.xdotool('search', '--onlyvisible', '--name', '.*').split())


def drag(desktop, source, viewer):
    """From the middle of one window to that of the other. It stays there until it is accepted, or
    what is dragged flies back."""
    x, y = middle(desktop, source)
    to_x, to_y = middle(desktop, viewer.window)
    before = shown(desktop)
    desktop.xdotool('mousemove', str(x), str(y), 'mousedown', '1')
    # What is dragged has a window of its own.
    wait_for('the drag begins', lambda: desktop.xdotool('mousemove_relative', '--', '-9', '0') or shown(desktop) - before)
    for step in range(1, 11):
        desktop.move(x + (to_x - x) * step / 10, y + (to_y - y) * step / 10)
    desktop.shot('drop-over')
    desktop.xdotool('mouseup', '1')
    wait_for('the drag has ended', lambda: not shown(desktop) - before)


def drop(desktop, viewer, paths, title):
    """Nothing tells when a window accepts what is over it: who lets go too early tries again."""
    source = subprocess.Popen([DRAG_SOURCE, *paths], env=desktop.env)
    try:
        window = wait_for('a window with files', lambda: desktop.windows('Files$'))[-1]
        desktop.xdotool('windowmove', '--sync', window, '900', '600')

        def tried():
            drag(desktop, window, viewer)
            try:
                return wait_for('a tab', lambda: desktop.windows(title), 5)
            except AssertionError:
                return None
        wait_for(f'{title} was dropped', tried, 120)
        viewer.wait_window(title)
    finally:
        stop(source)


def test_drop():
    with Desktop() as desktop:
        desktop.settings(window_width=700, window_height=500)
        first, second = desktop.record('first.rst'), desktop.record('second.rst')
        viewer = desktop.start()
        drop(desktop, viewer, [first], 'first.rst')
        viewer.gone('progress bar')
        # Several are one trace; and also on a page that has one already.
        drop(desktop, viewer, [first, second], 'first.rst, second.rst')
        check(len(viewer.tabs()) == 2, f'each drop is a tab: {viewer.tabs()}')
        desktop.shot('dropped')
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_drop])
