#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""frames.py BENCH-FRAMES [MILLIONS …]: frames of the viewer's timeline, on its own display."""
import os
import shutil
import subprocess
import sys
import tempfile

program, millions = sys.argv[1], sys.argv[2:] or ['10', '100']
if not shutil.which('Xvfb'):
    print('skipped: Xvfb is not here')
    sys.exit(77)
read, write = os.pipe()
display = subprocess.Popen(['Xvfb', '-displayfd', str(write), '-screen', '0', '1400x900x24', '-nolisten', 'tcp'],
                           pass_fds=[write], stderr=subprocess.DEVNULL)
os.close(write)
try:
    with os.fdopen(read) as file, tempfile.TemporaryDirectory() as runtime:
        number = file.readline().strip()
        env = os.environ | {'DISPLAY': ':' + number, 'GDK_BACKEND': 'x11', 'GSK_RENDERER': 'cairo',
                            'XDG_RUNTIME_DIR': runtime, 'DBUS_SESSION_BUS_ADDRESS': 'disabled:',
                            'GTK_A11Y': 'none', 'GSETTINGS_BACKEND': 'memory', 'ADW_DISABLE_PORTAL': '1'}
        for n in millions:
            subprocess.run([program, n], env=env, check=True)
finally:
    display.terminate()
    display.wait()
