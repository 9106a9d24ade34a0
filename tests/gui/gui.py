# SPDX-License-Identifier: MIT
"""What tests of windows share: a display and buses of their own, and a viewer in them.

    with Desktop() as desktop:
        viewer = desktop.start('trace.rst')
        viewer.find('push button', 'Open…').click()

Widgets are found by role and name as assistive technologies see them. A desktop has a runtime
directory, a configuration and data of its own, so any number of tests run at once. A process has
one desktop, see run_tests(). Whatever the viewer says on the console that looks like a warning
fails the test when it ends.
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


class Gone(Exception):
    """A widget that is not there any more, or a viewer that does not answer."""


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
        self.processes = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        self._start_display()
        self._start_bus()
        self.processes.append(subprocess.Popen(['xcompmgr'], env=self.env, stderr=subprocess.DEVNULL))
        # Atspi takes them from our own environment, once.
        os.environ.update({key: self.env[key] for key in
                           ('DISPLAY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR')})
        import gi
        gi.require_version('Atspi', '2.0')
        from gi.repository import Atspi
        Atspi.init()
        Atspi.set_timeout(2000, 5000)
        self.atspi = Atspi

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
        return subprocess.run(['xdotool', *args], env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE, check=False).stdout

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
        for process in reversed(self.processes):
            stop(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind and self.viewers:
            try:
                print('picture:', self.shot('failed'))
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

    def application(self):
        """The viewer on the bus of assistive technologies; None: not there yet."""
        self._alive()
        try:
            root = self.desktop.atspi.get_desktop(0)
            for i in range(root.get_child_count()):
                child = root.get_child_at_index(i)
                if child and child.get_process_id() == self.process.pid:
                    return child
        except self._errors():
            pass
        return None

    @staticmethod
    def _errors():
        from gi.repository import GLib
        return (GLib.Error,)

    def every(self, role=None, name=None, showing=True):
        """All widgets of that role whose name is `name`, or matches it if it is a pattern."""
        found, application = [], self.application()
        stack = [application] if application else []
        while stack:
            node = stack.pop()
            try:
                widget = Widget(self, node)
                # What is hidden hides all that is in it.
                if showing and node is not application and not widget.has('visible'):
                    continue
                if widget.matches(role, name, showing):
                    found.append(widget)
                if role == 'frame' and node is not application:
                    continue  # there is none in another
                children = [node.get_child_at_index(i) for i in range(min(node.get_child_count(), 2000))]
                stack += [child for child in reversed(children) if child]
            except (Gone, *self._errors()):
                continue
        return found

    def find(self, role=None, name=None, showing=True, timeout=PATIENCE):
        """The first such widget, as soon as there is one."""
        return wait_for(f'{role} {name!r}', lambda: self.every(role, name, showing), timeout)[0]

    def gone(self, role=None, name=None, timeout=PATIENCE):
        """Waits until no such widget is shown."""
        wait_for(f'no {role} {name!r}', lambda: not self.every(role, name), timeout)

    def dump(self, out=sys.stderr):
        """Prints all widgets, for who writes a test."""
        def go(node, depth):
            try:
                widget = Widget(self, node)
                print('  ' * depth + f'{widget.role}: {widget.name!r}{"" if widget.has("visible") else " (hidden)"}', file=out)
                for i in range(min(node.get_child_count(), 200)):
                    go(node.get_child_at_index(i), depth + 1)
            except (Gone, AttributeError, *self._errors()):
                pass
        application = self.application()
        if application:
            go(application, 0)

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


class Widget:
    """A widget as assistive technologies see it."""

    def __init__(self, viewer, node):
        self.viewer, self.node = viewer, node
        self.atspi = viewer.desktop.atspi

    def _ask(self, call, *args):
        try:
            return call(*args)
        except self.viewer._errors() as error:
            self.viewer._alive()
            raise Gone(str(error)) from error

    @property
    def role(self):
        return self._ask(self.node.get_role_name)

    @property
    def name(self):
        return self._ask(self.node.get_name) or ''

    @property
    def description(self):
        return self._ask(self.node.get_description) or ''

    def has(self, state):
        """Whether it has a state: 'showing', 'checked', 'focused', 'sensitive' …"""
        return self._ask(self.node.get_state_set).contains(getattr(self.atspi.StateType, state.upper()))

    @property
    def showing(self):
        """Whether it has a place in its window. GTK 4.8 does not tell it of what a stack hides."""
        if not self.has('visible') or 'Component' not in self._ask(self.node.get_interfaces):
            return False
        return self.box()[2] > 0

    def matches(self, role, name, showing):
        if role and self.role != role:
            return False
        if name is not None and not (name.search(self.name) if hasattr(name, 'search') else name == self.name):
            return False
        return not showing or self.showing

    def click(self):
        """Does what a click does: its first action."""
        check(self._ask(self.node.get_n_actions) > 0, f'{self.role} {self.name!r} can be clicked')
        self._ask(self.node.do_action, 0)

    def press(self, number=1):
        """Clicks into its middle with the mouse."""
        (left, top), (x, y, width, height) = self.viewer.place(), self.box()
        self.viewer.desktop.button(left + x + width / 2, top + y + height / 2, number)

    def do(self, action):
        for i in range(self._ask(self.node.get_n_actions)):
            if self._ask(self.node.get_action_name, i) == action:
                return self._ask(self.node.do_action, i)
        raise AssertionError(f'{self.role} {self.name!r} has no action {action}')

    @property
    def text(self):
        """What an entry or a label holds."""
        return self._ask(self.node.get_text, 0, self._ask(self.node.get_character_count))

    @property
    def caret(self):
        """Before which character of an entry the cursor is."""
        return self._ask(self.node.get_caret_offset)

    def box(self):
        """(x, y, width, height) in its window."""
        extents = self._ask(self.node.get_extents, self.atspi.CoordType.WINDOW)
        return extents.x, extents.y, extents.width, extents.height

    def children(self):
        return [Widget(self.viewer, self._ask(self.node.get_child_at_index, i))
                for i in range(self._ask(self.node.get_child_count))]


def run_tests(tests):
    """Runs functions, each in a process of its own: all, or those named in the last arguments.

    Atspi knows one bus, the first that a process has met."""
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
