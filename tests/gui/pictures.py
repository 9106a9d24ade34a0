#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the pictures of docs/pictures anew, from a guest and a program that run.

    pictures.py BUILD FOLDER [NAME…]

BUILD is a built tree, FOLDER is where the pictures go. Without names all are taken. The demo guest
is interpreted (TCG). Look at each picture before it is committed.

RINGSIDE_PICTURES_ENV has variables for the viewer, such as `LC_ALL=he_IL.UTF-8`, and
RINGSIDE_PICTURES_SIZE another size of the window, such as `360x700`, to see how those look.
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
os.environ |= {
    'RINGSIDE_VIEWER': BUILD + '/viewer/app/ringside-viewer',
    'RINGSIDE': BUILD + '/hv/cli/ringside',
    'RINGSIDE_LIBEXEC': BUILD + '/viewer/import',
    'RINGSIDE_HOSTED_DEMO': BUILD + '/tests/guests/hosted/hosted-demo',
    'GSETTINGS_SCHEMA_DIR': BUILD + '/viewer/app/data',
}
from gui import HOSTED_DEMO, RINGSIDE, Desktop, wait_for  # noqa: E402

GUEST = BUILD + '/tests/guests/demo/demo'
SIZE = tuple(int(n) for n in os.environ.get('RINGSIDE_PICTURES_SIZE', '1280x800').split('x'))
STORE = os.environ.get('RINGSIDE_PICTURES_STORE')  # the folder of recordings
EDGE = 5  # of a window that no manager decorates: its size has it on all sides
RADIUS = 12  # of the window's corners
ROWS = re.compile(r'^[\d.:]+, CPU')
EXTRA = dict(pair.split('=', 1) for pair in shlex.split(os.environ.get('RINGSIDE_PICTURES_ENV', '')))


class Studio:
    """A desktop, and a window on it that has its picture taken."""

    def __init__(self, folder, name, settings=(), env=()):
        self.path = os.path.join(folder, f'viewer-{name}.png')
        self.desktop = Desktop(SIZE[0] + 200, SIZE[1] + 200)
        self.desktop.settings(window_width=SIZE[0] + 2 * EDGE, window_height=SIZE[1] + 2 * EDGE, **dict(settings))
        self.desktop.env |= {'LC_ALL': 'en_US.UTF-8'} | EXTRA | dict(env)
        self.make_locale(self.desktop.env['LC_ALL'])
        self.viewer = None

    def make_locale(self, name):
        """Numbers have their groups of digits only in the locale of a language."""
        language, _, charset = name.partition('.')
        folder = self.desktop.path('locale')
        os.mkdir(folder)
        subprocess.run(['localedef', '-i', language, '-f', charset, os.path.join(folder, name)], check=True)
        self.desktop.env['LOCPATH'] = folder

    def __enter__(self):
        self.desktop.__enter__()
        return self

    def __exit__(self, *why):
        self.desktop.__exit__(*why)

    def open(self, *args, title):
        self.viewer = self.desktop.start(*args, title=title)
        return self.viewer

    def trace(self, *paths, title=None):
        """Opens files, and waits until they are read."""
        viewer = self.open(*paths, title=title or os.path.basename(paths[0]))
        wait_for('rows', lambda: viewer.every('table row', ROWS))
        viewer.gone('progress bar')
        return viewer

    def lanes(self, share, below):
        """A place on the display: a share of the width that time has, and pixels below the top."""
        (left, top), (x, y, width, _) = self.viewer.place(), self.viewer.find('panel', 'Timeline').box()
        return left + x + 168 + (width - 168) * share, top + y + below

    def rests(self, seconds=15):
        """Waits until the window looks the same for a while. What runs never does."""
        def look():
            return subprocess.run(['import', '-window', 'root', 'rgb:-'], env=self.desktop.env, check=True,
                                  capture_output=True).stdout
        until, last = time.monotonic() + seconds, None
        while time.monotonic() < until:
            now = look()
            if now == last:
                return
            last = now
            time.sleep(1)

    def take(self):
        """The window, or what covers it, without its shadow."""
        # The pointer would choose a lane, or show a tip.
        self.desktop.move(0, 0)
        self.rests()
        x, y = self.viewer.place()
        _, _, width, height = self.viewer.find('frame').box()
        corners = f'roundrectangle 0,0,{width - 1},{height - 1},{RADIUS},{RADIUS}'
        whole = self.desktop.shot('whole')
        subprocess.run(['convert', whole, '-crop', f'{width}x{height}+{x}+{y}', '+repage', '(', '-size', f'{width}x{height}',
                        'xc:black', '-fill', 'white', '-draw', corners, ')', '-alpha', 'off', '-compose', 'CopyOpacity',
                        '-composite', '-dither', 'None', '-colors', '256', '-strip', 'PNG8:' + self.path], check=True)
        print(self.path, os.path.getsize(self.path), flush=True)


def guest(desktop, name, *args, seconds=10, holes=0):
    """Records a guest, once for all pictures. `holes`: how often its rings run over."""
    path = os.path.join(STORE, name)
    if os.path.exists(path):
        return path
    process = subprocess.Popen([RINGSIDE, 'run', '-q', '-e', '*', '-o', path, '--duration', str(seconds), '--accel', 'tcg',
                                '--serial', 'none', '--cpus', '4', *args, '--source', 'web', GUEST],
                               env=desktop.env, stdin=subprocess.DEVNULL)
    desktop.processes.append(process)
    for _ in range(holes):
        # Nobody reads the rings for a while; the guest goes on.
        size = os.path.getsize(path) if os.path.exists(path) else 0
        wait_for('its trace grows', lambda: os.path.exists(path) and os.path.getsize(path) > size + 200000)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        process.send_signal(signal.SIGCONT)
    process.wait(120)
    return path


def session(desktop, name='web'):
    desktop.background('run', '-q', '--name', name, '--accel', 'tcg', '--serial', 'none', '-e', 'sched:*', '-e', 'syscalls:*',
                       GUEST, '--and', '--hosted', HOSTED_DEMO, '6000')
    wait_for('a session', lambda: name in desktop.ringside('ps'))


def start(studio):
    os.mkdir(studio.desktop.path('traces'))
    for name in 'traces/boot.rst', 'traces/monday.rst':
        studio.trace(studio.desktop.record(name)).quit()
    session(studio.desktop)
    studio.open(title='Ringside').find('list item', re.compile('web'))


def far(studio):
    studio.trace(guest(studio.desktop, 'web.rst'))


def loss(studio):
    studio.trace(guest(studio.desktop, 'small-rings.rst', '--ring-size', '32K', holes=3))
    wait_for('losses', lambda: studio.viewer.every('label', re.compile('events lost')))


def choose(studio, share=0.5, closer=12):
    """Goes close to the middle, and chooses an event there."""
    studio.viewer.find('panel', 'Timeline')
    studio.desktop.key('ctrl+1')
    studio.desktop.button(*studio.lanes(share, 72))
    studio.desktop.key(*['w'] * closer)
    time.sleep(1)
    studio.desktop.button(*studio.lanes(0.5, 72))
    # What was under the pointer may have been no event.
    studio.desktop.key('period')
    time.sleep(1)


def near(studio):
    far(studio)
    choose(studio)
    studio.desktop.xdotool('keydown', 'shift')
    studio.desktop.drag(*studio.lanes(0.3, 150), *studio.lanes(0.62, 150))
    studio.desktop.xdotool('keyup', 'shift')
    studio.viewer.find('label', re.compile('^A to B'))


def details(studio):
    far(studio)
    studio.viewer.find('panel', 'Timeline')
    choose(studio, closer=4)
    studio.desktop.key('ctrl+2')
    time.sleep(1)


def live(studio):
    session(studio.desktop)
    viewer = studio.open('--session', 'web', title='web')
    wait_for('rows', lambda: viewer.every('table row', ROWS))
    # A window that follows a guest answers slowly.
    studio.desktop.key('ctrl+e')
    viewer.find('entry', 'Search events').press()
    studio.desktop.type('sched')
    name = viewer.find('label', re.compile('sched:switch$'))
    studio.rests(5)
    name.press()
    viewer.find('text', re.compile('Filter of .*sched:switch$')).press()
    studio.desktop.type('next_pid > 2')
    studio.desktop.key('Escape', 'Return')
    viewer.find('label', re.compile('^if next_pid > 2'))
    studio.desktop.key('ctrl+e')
    time.sleep(8)


def filter_error(studio):
    far(studio)
    studio.desktop.key('ctrl+l')
    studio.desktop.type('next_pid == 2 and com ~ "lz*"')
    studio.desktop.key('Return')
    time.sleep(1)


def export(studio):
    far(studio)
    studio.desktop.key('ctrl+shift+e')
    dialog = wait_for('the dialog', lambda: studio.desktop.windows('Export$'))[-1]
    studio.viewer.find('label', 'Format')
    centre(studio, dialog)


def centre(studio, dialog):
    """As a window manager would."""
    studio.rests()
    told = studio.desktop.xdotool('getwindowgeometry', '--shell', dialog)
    width, height = (int(re.search(rf'^{key}=(\d+)', told, re.M)[1]) for key in ('WIDTH', 'HEIGHT'))
    left, top = studio.viewer.place()
    studio.desktop.xdotool('windowmove', dialog, str(left + (SIZE[0] - width) // 2), str(top + (SIZE[1] - height) // 2))


def compare(studio):
    before = guest(studio.desktop, 'before.rst', seconds=8)
    after = guest(studio.desktop, 'after.rst', '--cpus', '1', seconds=8)
    viewer = studio.open('--compare', before, after, title='before.rst')
    viewer.gone('progress bar')


DARK = {'color_scheme': "'dark'"}
CONTRAST = {'ADW_DEBUG_HIGH_CONTRAST': '1'}
PICTURES = {
    'start': (start, {}, {}),
    'far': (far, {}, {}),
    'near': (near, {}, {}),
    'loss': (loss, {}, {}),
    'details': (details, {}, {}),
    'live': (live, {}, {}),
    'filter-error': (filter_error, {}, {}),
    'export': (export, {}, {}),
    'compare': (compare, {}, {}),
    'dark': (near, DARK, {}),
    'high-contrast': (near, {}, CONTRAST),
}


def main():
    folder, names = os.path.abspath(sys.argv[2]), sys.argv[3:]
    if STORE:
        take, settings, env = PICTURES[names[0]]
        with Studio(folder, names[0], settings, env) as studio:
            take(studio)
            studio.take()
        return
    with tempfile.TemporaryDirectory(prefix='rs-pictures-') as store:
        env = os.environ | {'RINGSIDE_PICTURES_STORE': store}
        failed = [name for name in names or PICTURES
                  if subprocess.run([sys.executable, *sys.argv[:3], name], env=env, check=False).returncode]
    sys.exit('not taken: ' + ', '.join(failed) if failed else 0)


if __name__ == '__main__':
    main()
