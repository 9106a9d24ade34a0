#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a stop of a thread takes, from its event to the peer and back.

    engine.py RINGSIDE HOSTED_ENGINE BENCH_ENGINE

BENCH_ENGINE is a peer of a session, which has a small OS in a process. It steps a thread, and waits
for the next stop: once for the next system call, and once for the end of a step. A call that the
session answers by itself, and one that the guest's task answers, are measured in the same run, so
that ratios can be compared on any machine."""
import os
import subprocess
import sys
import tempfile
import time

RINGSIDE, PROGRAM, PEER = sys.argv[1:4]


def main():
    with tempfile.TemporaryDirectory() as runtime:
        environment = dict(os.environ, XDG_RUNTIME_DIR=runtime)
        session = subprocess.Popen([RINGSIDE, 'run', '--name', 'bench', '--text', '/dev/null', '--hosted', PROGRAM],
                                   env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 30
            while subprocess.run([RINGSIDE, 'engine', '--list', '-s', 'bench'], env=environment,
                                 capture_output=True, check=False).returncode:
                if session.poll() is not None or time.monotonic() > until:
                    sys.exit('no session')
                time.sleep(0.1)
            return subprocess.run([PEER, 'bench'], env=environment, check=False).returncode
        finally:
            session.terminate()
            session.wait(30)


sys.exit(main())
