#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the viewer takes to open traces, and how much memory it has then. KernelShark opens the
same trace.dat in the same run, on the same display, where it is installed.

    viewer.py RINGSIDE VIEWER MAKE_GUEST [MILLIONS...]

Of the viewer: when the first records are on the screen, when all were read, and what it has in
memory when it has come to rest. Of KernelShark, which says nothing: when its process has come to
rest after its window names the trace.
"""
import os
import re
import shutil
import subprocess
import sys
import time

RINGSIDE, VIEWER, MAKE_GUEST = sys.argv[1:4]
MILLIONS = [int(n) for n in sys.argv[4:]] or [3, 10, 100]
SHARED = 3  # millions of events that KernelShark opens, too
os.environ |= {'RINGSIDE': RINGSIDE, 'RINGSIDE_VIEWER': VIEWER}
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'gui'))
import gui  # pylint: disable=wrong-import-position

PATIENCE = 180


def resident(pid):
    """MB of memory that the process has."""
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        return int(re.search(r'VmRSS:\s+(\d+)', file.read())[1]) * 1024 / 1e6


def busy(pid):
    """Seconds that the process has had of a CPU."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def rest(pid, start):
    """Seconds from `start` until the process does nothing any more."""
    last, since = -1, start
    while time.monotonic() - start < PATIENCE:
        now = busy(pid)
        if now > last + 0.02:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > 1.5:
            break
        time.sleep(0.05)
    return since - start


def open_ours(desktop, path):
    """Seconds to the first records on the screen, and to the last one; MB at rest."""
    start = time.monotonic()
    process = subprocess.Popen([VIEWER, path], env=desktop.env | {'G_MESSAGES_DEBUG': 'ringside-viewer'},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    first = read = None
    try:
        for line in process.stdout:
            first = time.monotonic() - start if 'first records are' in line else first
            read = time.monotonic() - start if 'all records were' in line else read
            if first and read:
                break
        rest(process.pid, start)
        return first, read, resident(process.pid)
    finally:
        gui.stop(process)


def open_theirs(desktop, path):
    start = time.monotonic()
    process = subprocess.Popen(['kernelshark', '-i', path], env=desktop.env | {'QT_QPA_PLATFORM': 'xcb'},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # It says in its title which trace it has; it may go on for a while then.
        gui.wait_for('KernelShark has the trace', lambda: desktop.windows('Kernel Shark .*trace'), PATIENCE)
        titled = time.monotonic() - start
        return max(rest(process.pid, start), titled), resident(process.pid)
    finally:
        gui.stop(process)


def compare(desktop, trace):
    dat = desktop.path('trace.dat')
    subprocess.run([RINGSIDE, 'export', trace, '--to', 'trace.dat', '-o', dat], check=True)
    runs = [open_ours(desktop, dat) for _ in range(3)]
    _, read, memory = min(runs, key=lambda run: run[1])
    print(f'{SHARED} million events of a trace.dat: read after {read:.2f} s, {memory:.0f} MB')
    if not shutil.which('kernelshark'):
        print('kernelshark is not installed')
        return
    theirs, their_memory = min(open_theirs(desktop, dat) for _ in range(3))
    print(f'  KernelShark: read after {theirs:.2f} s, {their_memory:.0f} MB')
    print(f'  ours / theirs: time {read / theirs:.2f}, memory {memory / their_memory:.2f}')


def main():
    with gui.Desktop() as desktop:
        for millions in MILLIONS:
            trace = desktop.path('trace.rst')
            subprocess.run([MAKE_GUEST, trace, str(millions * 1000000)], check=True)
            first, read, memory = open_ours(desktop, trace)
            print(f'{millions} million events: first records on the screen after {first * 1000:.0f} ms, '
                  f'all read after {read:.2f} s, {memory:.0f} MB', flush=True)
            if millions == SHARED:
                compare(desktop, trace)
            os.unlink(trace)


main()
