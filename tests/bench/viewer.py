#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the viewer takes to open traces, and how much memory it has then. KernelShark opens the
same trace.dat in the same run, on the same display, where it is installed.

    viewer.py RINGSIDE VIEWER MAKE_GUEST [MILLIONS...]

Of the viewer: when the first records are on the screen, when all were read, and what it has in
memory when it has come to rest. KernelShark says nothing, so both are compared by when their
processes have come to rest with the whole trace. Memory is that of a process and its children.
Each figure is the least of three runs, with the greatest behind it. Seconds of a CPU depend little
on what else the machine does.
"""
import os
import re
import shutil
import subprocess
import sys
import threading
import time

RINGSIDE, VIEWER, MAKE_GUEST = sys.argv[1:4]
MILLIONS = [int(n) for n in sys.argv[4:]] or [3, 10, 100]
SHARED = min(MILLIONS)  # millions of events that KernelShark opens, too
RUNS = 3
os.environ |= {'RINGSIDE': RINGSIDE, 'RINGSIDE_VIEWER': VIEWER}
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'gui'))
import gui  # pylint: disable=wrong-import-position

PATIENCE = 180


def read(path):
    """What a file of /proc has; nothing once the process is gone."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def family(pid):
    """The process, and those that it has started."""
    pids = [pid]
    for parent in pids:
        for thread in os.listdir(f'/proc/{parent}/task') if os.path.isdir(f'/proc/{parent}/task') else []:
            pids += [int(child) for child in read(f'/proc/{parent}/task/{thread}/children').split()]
    return pids


def resident(pid):
    """MB of memory that it has. What all map from the same file counts for each."""
    found = (re.search(r'VmRSS:\s+(\d+)', read(f'/proc/{one}/status')) for one in family(pid))
    return sum(int(size[1]) for size in found if size) * 1024 / 1e6


def busy(pid):
    """Seconds that it has had of a CPU, with children that were waited for."""
    sum_of = 0
    for one in family(pid):
        fields = read(f'/proc/{one}/stat').rsplit(')', 1)[-1].split()
        sum_of += sum(int(field) for field in fields[11:15])
    return sum_of / os.sysconf('SC_CLK_TCK')


def rest(pid, start):
    """Seconds from `start` until it does nothing any more."""
    last, since = -1, start
    while time.monotonic() - start < PATIENCE:
        now = busy(pid)
        if now > last + 0.02:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > 1.5:
            break
        time.sleep(0.05)
    return since - start


class Run:
    """What was seen of a program that opens a trace: seconds since the start, CPU seconds, MB."""

    def __init__(self, start, pid):
        self.start, self.pid = start, pid
        self.first = self.first_cpu = self.complete = self.rests = self.cpu = self.memory = 0.0

    def shows(self):
        self.first, self.first_cpu = time.monotonic() - self.start, busy(self.pid)

    def has_all(self):
        self.complete = time.monotonic() - self.start

    def settle(self):
        self.rests = max(rest(self.pid, self.start), self.complete)
        self.cpu, self.memory = busy(self.pid), resident(self.pid)
        return self


def open_ours(desktop, path):
    start = time.monotonic()
    process = subprocess.Popen([VIEWER, path], env=desktop.env | {'G_MESSAGES_DEBUG': 'ringside-viewer'},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    run = Run(start, process.pid)
    # It says nothing of what cannot be opened, and waits for its user.
    impatience = threading.Timer(PATIENCE, process.kill)
    impatience.start()
    try:
        for line in process.stdout:
            if 'first records are' in line:
                run.shows()
            elif 'all records were' in line:
                run.has_all()
            if run.first and run.complete:
                return run.settle()
        raise AssertionError(f'the viewer does not show {path}')
    finally:
        impatience.cancel()
        gui.stop(process)


def open_theirs(desktop, path):
    start = time.monotonic()
    # As root it would wait for somebody to close a warning.
    cache = desktop.path('kernelshark')
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, 'setting.ini'), 'w', encoding='ascii') as file:
        file.write('[General]\nnoRootWarn=true\n')
    process = subprocess.Popen(['kernelshark', '-i', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=desktop.env | {'QT_QPA_PLATFORM': 'xcb', 'KS_USER_CACHE_DIR': cache})
    run = Run(start, process.pid)
    try:
        # It says in its title which trace it has; it may go on for a while then.
        gui.wait_for('KernelShark has the trace', lambda: desktop.windows('Kernel Shark .*trace'), PATIENCE)
        run.has_all()
        return run.settle()
    except AssertionError:
        print('picture:', desktop.shot('kernelshark'))
        raise
    finally:
        gui.stop(process)


def least(runs, what):
    return min(getattr(run, what) for run in runs)


def seen(runs, what, form='{:.2f}', scale=1):
    """The least and the greatest."""
    figures = sorted(getattr(run, what) * scale for run in runs)
    return f'{form} to {form}'.format(figures[0], figures[-1])


def whole(runs):
    return (f'all shown and at rest after {seen(runs, "rests")} s, {seen(runs, "cpu")} s of a CPU, '
            f'{seen(runs, "memory", "{:.0f}")} MB')


def compare(desktop, trace, millions):
    dat = desktop.path('trace.dat')
    subprocess.run([RINGSIDE, 'export', trace, '--to', 'trace.dat', '-o', dat], check=True)
    size = os.path.getsize(dat) / 1e6
    print(f'{millions} million events of a trace.dat, {size:.0f} MB')
    kernelshark, ours, theirs = shutil.which('kernelshark'), [], []
    # By turns, so that other jobs on the machine meet both.
    for _ in range(RUNS):
        ours.append(open_ours(desktop, dat))
        theirs += [open_theirs(desktop, dat)] if kernelshark else []
    os.unlink(dat)
    print('  ringside-viewer:', whole(ours))
    if not kernelshark:
        print('  kernelshark is not installed')
        return
    print('  KernelShark:    ', whole(theirs))
    ratios = (f'{name} {least(ours, what) / least(theirs, what):.2f}' for name, what in
              (('time', 'rests'), ('CPU', 'cpu'), ('memory', 'memory')))
    print('  ours / theirs:', ', '.join(ratios), flush=True)


def main():
    with gui.Desktop() as desktop:
        for millions in MILLIONS:
            trace = desktop.path('trace.rst')
            subprocess.run([MAKE_GUEST, trace, str(millions * 1000000)], check=True)
            runs = [open_ours(desktop, trace) for _ in range(RUNS)]
            print(f'{millions} million events: first records on the screen after '
                  f'{seen(runs, "first", "{:.0f}", 1000)} ms '
                  f'({seen(runs, "first_cpu", "{:.0f}", 1000)} ms of a CPU), all read after {seen(runs, "complete")} s, '
                  f'{seen(runs, "memory", "{:.0f}")} MB', flush=True)
            if millions == SHARED:
                compare(desktop, trace, millions)
            os.unlink(trace)


main()
