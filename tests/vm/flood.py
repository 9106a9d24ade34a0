#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""flood.py RINGSIDE FLOOD: rings of 2 MiB whose text has gigabytes need little host memory."""
import os
import resource
import subprocess
import sys
import tempfile

WANTED = 200 << 20
ringside, flood = sys.argv[1:]
for options in [], ['--json']:
    with tempfile.TemporaryDirectory() as directory:
        p = subprocess.Popen([ringside, 'run', *options, '--hosted', flood], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env={**os.environ, 'XDG_RUNTIME_DIR': directory})
        got = 0
        while got < WANTED and (part := p.stdout.read(1 << 20)):
            got += len(part)
        p.stdout.close()
        p.stderr.read()
        p.wait()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f'{options}: {got >> 20} MiB of text read, {peak} MiB of memory, exit code {p.returncode}')
    if got < WANTED or peak > 500:
        sys.exit(1)
