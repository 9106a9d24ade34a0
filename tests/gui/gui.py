# SPDX-License-Identifier: MIT
"""What tests of windows share: a display and buses of their own, and a viewer in them.

    with Desktop() as desktop:
        viewer = desktop.start('trace.rst')
        viewer.find('push button', 'Open…').click()

Widgets are found by role and name as assistive technologies see them (atspi.py). A desktop has a
runtime directory, a configuration and data of its own, so any number of tests run at once. Whatever
the viewer says on the console that looks like a warning fails the test when it ends.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import atspi
from atspi import Gone
from hands import Hands

PATIENCE = 30
VIEWER = os.environ.get('RINGSIDE_VIEWER', '')
RINGSIDE = os.environ.get('RINGSIDE', '')
HOSTED_DEMO = os.environ.get('RINGSIDE_HOSTED_DEMO', '')
SHOTS = os.environ.get('RINGSIDE_SHOTS', '')
# Of a viewer that was built with sanitizers: what libraries leak.
LEAKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lsan.supp')
COMPLAINT = re.compile(r'WARNING|CRITICAL|ERROR \*\*|Sanitizer|runtime error')
NEEDED = ('Xvfb', 'dbus-daemon', 'xdotool', 'import', 'xcompmgr')


def skip(why):
    print('skipped:', why)
    sys.exit(77)


def check(ok, what):
    if not ok:
        raise AssertionError(what)
    print('ok:', what, flush=True)


def wait_for(what, ask, timeout=PATIENCE):
    """Returns the first answer that is true. What `ask` raises counts as no answer."""
    until = time.monotonic() + timeout
    while True:
        try:
            got = ask()
        except Gone:
            got = None
        if got:
            return got
        if time.monotonic() > until:
            raise AssertionError(f'waited in vain: {what}')
        time.sleep(0.05)


def stop(process):
    """Ends a process that we started."""
    if process and process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Desktop:
    """A display, a bus with assistive technologies, and directories of its own."""

    def __init__(self, width=1400, height=900, env=()):
        missing = [program for program in NEEDED if not shutil.which(program)]
        if missing:
            skip(f'not here: {", ".join(missing)}')
        self.size = width, height
        self.viewers = []
        self.folder = tempfile.mkdtemp(prefix='rs-gui-')
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(('DBUS_', 'WAYLAND_', 'XDG_', 'AT_SPI'))}
        for name in 'RUNTIME_DIR', 'CONFIG_HOME', 'DATA_HOME', 'CACHE_HOME', 'STATE_HOME':
            path = os.path.join(self.folder, name.lower())
            os.mkdir(path, 0o700)
            self.env['XDG_' + name] = path
        self.env |= {'HOME': self.folder, 'GDK_BACKEND': 'x11', 'GSK_RENDERER': 'cairo',
                     'GSETTINGS_BACKEND': 'keyfile', 'ADW_DISABLE_PORTAL': '1', 'GTK_USE_PORTAL': '0',
                     'GIO_USE_VFS': 'local', 'LC_ALL': 'C.UTF-8', 'NO_AT_BRIDGE': '0',
                     'LSAN_OPTIONS': f'print_suppressions=0:suppressions={LEAKS}'} | dict(env)
        # The viewer asks the command for domains.
        self.env['PATH'] = os.path.dirname(RINGSIDE) + ':' + self.env.get('PATH', '')
        self.keyfile = os.path.join(self.env['XDG_CONFIG_HOME'], 'glib-2.0/settings/keyfile')
        self.processes, self.hands = [], None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        self._start_display()
        self._start_bus()
        self.processes.append(subprocess.Popen(['xcompmgr'], env=self.env, stderr=subprocess.DEVNULL))
        self.hands = Hands(self.env, PATIENCE)
        self.bus = atspi.Bus(self.env['DBUS_SESSION_BUS_ADDRESS'])

    def _start_display(self):
        read, write = os.pipe()
        self.processes.append(subprocess.Popen(
            ['Xvfb', '-displayfd', str(write), '-screen', '0', '{}x{}x24'.format(*self.size),
             '-nolisten', 'tcp', '-noreset'], pass_fds=[write], stderr=subprocess.DEVNULL))
        os.close(write)
        with os.fdopen(read) as file:
            number = file.readline().strip()
        check(number, f'there is a display, :{number}')
        self.env['DISPLAY'] = ':' + number

    def _start_bus(self):
        bus = subprocess.Popen(['dbus-daemon', '--session', '--nofork', '--print-address=1'],
                               env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.processes.append(bus)
        self.env['DBUS_SESSION_BUS_ADDRESS'] = bus.stdout.readline().strip()

    def path(self, name):
        """Of a file that goes away with the desktop."""
        return os.path.join(self.folder, name)

    def ringside(self, *args):
        """Runs the command in this desktop, and returns what it prints."""
        done = subprocess.run([RINGSIDE, *args], env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, check=False)
        check(done.returncode == 0, f'ringside {args[0]}: {done.stderr}')
        return done.stdout

    def record(self, name, *args):
        """Records a program of two threads, some 100,000 events. Returns the trace's path."""
        path = self.path(name)
        self.ringside('run', '-q', '-e', '*', '-o', path, *args, '--hosted', HOSTED_DEMO)
        return path

    def background(self, *args):
        """The command, as it runs on. It is ended with the desktop."""
        process = subprocess.Popen([RINGSIDE, *args], env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def settings(self, **values):
        """What the user prefers: settings(color_scheme="'dark'"), before a viewer starts."""
        os.makedirs(os.path.dirname(self.keyfile), exist_ok=True)
        with open(self.keyfile, 'w', encoding='utf-8') as file:
            file.write('[org/ringside/Viewer]\n')
            for key, value in values.items():
                file.write(f'{key.replace("_", "-")}={value}\n')

    def start(self, *args, env=(), title='Ringside'):
        """A viewer with a window that is shown."""
        viewer = self.run(*args, env=env)
        viewer.wait_window(title)
        return viewer

    def run(self, *args, env=()):
        viewer = Viewer(self, args, dict(env))
        self.viewers.append(viewer)
        return viewer

    def command(self, *args, env=(), timeout=PATIENCE):
        """A viewer that is expected to end: its code and what it says."""
        done = subprocess.run([VIEWER, *args], env=self.env | dict(env), capture_output=True, text=True,
                              timeout=timeout, check=False)
        return done.returncode, done.stdout, done.stderr

    def key(self, *keys):
        """Presses keys, e.g. 'ctrl+t', in the window that has the focus."""
        self.xdotool('key', '--clearmodifiers', *keys)

    def type(self, text):
        self.xdotool('type', '--clearmodifiers', '--delay', '5', text)

    def move(self, x, y):
        self.xdotool('mousemove', str(int(x)), str(int(y)))

    def button(self, x, y, number=1):
        """Clicks; 4 and 5 turn the wheel."""
        self.xdotool('mousemove', str(int(x)), str(int(y)), 'click', str(number))

    def drag(self, x, y, to_x, to_y):
        self.xdotool('mousemove', str(int(x)), str(int(y)), 'mousedown', '1')
        for step in range(1, 6):
            self.xdotool('mousemove', str(int(x + (to_x - x) * step / 5)),
                          str(int(y + (to_y - y) * step / 5)))
        self.xdotool('mouseup', '1')

    def xdotool(self, *args):
        return self.hands.do(*args)

    def windows(self, title):
        """Numbers of the windows that are shown and have a title that begins so."""
        return self.xdotool('search', '--onlyvisible', '--name', '^' + title).split()

    def shot(self, name):
        """A picture of the display: NAME.png in $RINGSIDE_SHOTS, or in a folder that goes away."""
        folder = SHOTS or self.folder
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name + '.png')
        subprocess.run(['import', '-window', 'root', path], env=self.env, check=True, timeout=PATIENCE)
        return path

    def close(self):
        for viewer in self.viewers:
            viewer.kill()
        if self.hands:
            self.hands.close()
        for process in reversed(self.processes):
            stop(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind and self.viewers:
            try:
                print('picture:', self.shot('failed'))
                print('focus:', self.xdotool('getwindowfocus', 'getwindowname').strip())
                for viewer in self.viewers:
                    print(viewer.said(), file=sys.stderr)
                    viewer.dump()
            except Exception as error:  # pylint: disable=broad-except
                print('no picture:', error)
        self.close()


class Viewer:
    """A viewer that runs."""

    def __init__(self, desktop, args, env):
        check(VIEWER and os.access(VIEWER, os.X_OK), f'RINGSIDE_VIEWER names the program: {VIEWER}')
        self.desktop = desktop
        self.lines = []
        self.window = None
        self.program = None  # its name on the bus of assistive technologies
        self.process = subprocess.Popen([VIEWER, *args], env=desktop.env | env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors='replace')
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def said(self):
        return ''.join(self.lines)

    def _alive(self):
        if self.process.poll() is not None:
            self.reader.join(5)
            raise AssertionError(f'the viewer has ended with {self.process.returncode}: {self.said()}')

    def wait_window(self, title='Ringside'):
        """Waits for a window and gives it the focus, as a window manager would."""
        def ask():
            self._alive()
            return self.desktop.windows(title)
        found = wait_for(f'a window {title!r}', ask)
        self.window = found[-1]
        self.desktop.xdotool('windowfocus', '--sync', self.window)
        wait_for('the focus', lambda: any(frame.has('active') for frame in self.every('frame')))
        return self.window

    def tabs(self):
        """The titles of the tabs, from left to right."""
        titles = []
        for tab in self.every('filler', 'AdwTab'):
            titles += [label.name for part in tab.children() for label in part.children() if label.role == 'label']
        return titles

    def place(self):
        """Where on the display the widgets' (0, 0) is, of the window that was waited for last."""
        told = self.desktop.xdotool('getwindowgeometry', '--shell', self.window)
        x, y, width, height = (int(re.search(rf'^{key}=(-?\d+)', told, re.M)[1]) for key in ('X', 'Y', 'WIDTH', 'HEIGHT'))
        sizes = [frame.box() for frame in self.every('frame')]
        # Around a window there is its shadow, or a border, as wide on all sides.
        edge = min((width - w for _, _, w, h in sizes if width - w == height - h >= 0), default=0) // 2
        return x + edge, y + edge

    # ---- what assistive technologies see ----

    def tree(self, visible=True):
        """All widgets that it has now; None: it is not there yet. Gone: it does not answer."""
        self._alive()
        try:
            self.program = self.program or self.desktop.bus.find_program(self.process.pid)
            return atspi.Tree(self.desktop.bus, self.program, visible) if self.program else None
        except Gone:
            self._alive()
            raise

    def every(self, role=None, name=None, showing=True):
        """All widgets of that role whose name is `name`, or matches it if it is a pattern."""
        tree = self.tree(visible=showing)
        found = [Widget(self, tree, node) for node in tree.nodes.values()] if tree else []
        found = [widget for widget in found if widget.matches(role, name)]
        return have_place(self, found) if found and showing else found

    def find(self, role=None, name=None, showing=True, timeout=PATIENCE):
        """The first such widget, as soon as there is one."""
        return wait_for(f'{role} {name!r}', lambda: self.every(role, name, showing), timeout)[0]

    def gone(self, role=None, name=None, timeout=PATIENCE):
        """Waits until no such widget is shown."""
        wait_for(f'no {role} {name!r}', lambda: not self.every(role, name), timeout)

    def dump(self, out=sys.stderr):
        """Prints all widgets, for who writes a test."""
        tree, depths = self.tree(visible=False), {}
        for node in tree.nodes.values() if tree else ():
            depth = depths.setdefault(node.path, 0)
            print('  ' * depth + f'{node.role}: {node.name!r}{"" if node.has("visible") else " (hidden)"}', file=out)
            depths |= {path: depth + 1 for path in node.children}

    # ---- its end ----

    def complaints(self):
        return [line.strip() for line in self.lines if COMPLAINT.search(line)]

    def wait(self, timeout=PATIENCE):
        """Waits for its end, and checks that it complained of nothing. Returns its code."""
        code = self.process.wait(timeout)
        self.reader.join(5)
        check(not self.complaints(), f'no warning on the console: {self.complaints()}')
        return code

    def quit(self):
        """Ends it as a user does."""
        self.desktop.key('ctrl+q')
        check(self.wait() == 0, 'it has ended well')

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(5)


def have_place(viewer, widgets):
    """Those that have a place in their window. GTK 4.8 does not tell it of what a stack hides."""
    widgets = [widget for widget in widgets if atspi.COMPONENT in widget.interfaces]
    boxes = viewer.desktop.bus.call_all(viewer.program[0], [widget.path for widget in widgets], atspi.COMPONENT,
                                        'GetExtents', atspi.IN_WINDOW)
    return [widget for widget, box in zip(widgets, boxes) if box and box[0][2] > 0]


class Widget:
    """A widget as assistive technologies see it.

    It has the name that it had when it was found, and is asked for all that changes."""

    def __init__(self, viewer, tree, node):
        self.viewer, self.tree = viewer, tree
        self.path, self.role, self.name, self.interfaces = node.path, node.role, node.name, node.interfaces

    def _ask(self, interface, method, args=None):
        try:
            return self.viewer.desktop.bus.call(self.viewer.program[0], self.path, interface, method, args)[0]
        except Gone:
            self.viewer._alive()
            raise

    def _property(self, interface, name):
        return self._ask(atspi.PROPERTIES, 'Get', atspi.words(interface, name))

    def name_now(self):
        return self._property(atspi.ACCESSIBLE, 'Name') or ''

    @property
    def description(self):
        return self._property(atspi.ACCESSIBLE, 'Description') or ''

    def has(self, state):
        """Whether it has a state: 'showing', 'checked', 'focused', 'sensitive' …"""
        return atspi.has_state(self._ask(atspi.ACCESSIBLE, 'GetState'), state)

    @property
    def showing(self):
        return self.has('visible') and bool(have_place(self.viewer, [self]))

    def matches(self, role, name):
        if role and self.role != role:
            return False
        return name is None or bool(name.search(self.name) if hasattr(name, 'search') else name == self.name)

    def click(self):
        """Does what a click does: its first action."""
        check(self._property(atspi.ACTION, 'NActions') > 0, f'{self.role} {self.name!r} can be clicked')
        self._ask(atspi.ACTION, 'DoAction', atspi.numbers(0))

    def press(self, number=1):
        """Clicks into its middle with the mouse."""
        (left, top), (x, y, width, height) = self.viewer.place(), self.box()
        self.viewer.desktop.button(left + x + width / 2, top + y + height / 2, number)

    @property
    def text(self):
        """What an entry or a label holds."""
        return self._ask(atspi.TEXT, 'GetText', atspi.numbers(0, self._property(atspi.TEXT, 'CharacterCount')))

    @property
    def caret(self):
        """Before which character of an entry the cursor is."""
        return self._property(atspi.TEXT, 'CaretOffset')

    def box(self):
        """(x, y, width, height) in its window."""
        return self._ask(atspi.COMPONENT, 'GetExtents', atspi.IN_WINDOW)

    def children(self):
        """Those that it had when it was found."""
        nodes = [self.tree.nodes[path] for path in self.tree.nodes[self.path].children if path in self.tree.nodes]
        return [Widget(self.viewer, self.tree, node) for node in nodes]


def run_tests(tests):
    """Runs functions, each in a process of its own: all, or those named in the last arguments."""
    only = [arg for arg in sys.argv[1:] if arg.startswith('test_')]
    failed = []
    for test in tests:
        if only == [test.__name__]:
            return test()
        if only and test.__name__ not in only:
            continue
        print('---', test.__name__, flush=True)
        args = [arg for arg in sys.argv if not arg.startswith('test_')]
        code = subprocess.run([sys.executable, *args, test.__name__], check=False).returncode
        if code == 77:
            sys.exit(77)
        if code:
            failed.append(test.__name__)
    print('failed:', ', '.join(failed) or 'none')
    return sys.exit(1 if failed else 0)
