# SPDX-License-Identifier: MIT
"""xdotool without a process for each key: it reads a script line by line, and we write it one."""
import os
import re
import select
import subprocess
import time

# What no quoting changes. A search leaves its windows for commands after it, which then go there.
PLAIN = re.compile(r"[\w^%+.:,*/ -]+")
END = re.compile(rb'x:\S+ y:\S+ screen:\d+ window:\d+\n\Z')


class Hands:
    """One xdotool for searches and one for all else, on the display of `env`."""

    def __init__(self, env, timeout):
        self.env, self.timeout, self.processes = env, timeout, {}

    def do(self, *args):
        """Returns what it prints. Words that a script might take otherwise go as arguments."""
        if args[0] in ('type', 'getwindowfocus') or not all(PLAIN.fullmatch(arg) for arg in args):
            return subprocess.run(['xdotool', *args], env=self.env, capture_output=True, text=True,
                                  timeout=self.timeout, check=False).stdout
        kind = args[0] == 'search'
        try:
            return self._write(kind, ' '.join(f'"{arg}"' if ' ' in arg else arg for arg in args))
        except BrokenPipeError:
            self.drop(kind)
            return ''

    def _write(self, kind, line):
        if kind not in self.processes:
            self.processes[kind] = subprocess.Popen(['xdotool', '-'], env=self.env, stdin=subprocess.PIPE, bufsize=0,
                                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process, until, told = self.processes[kind], time.monotonic() + self.timeout, b''
        # Its second answer tells the end of the first.
        process.stdin.write(f'{line}\ngetmouselocation\n'.encode())
        while not END.search(told):
            left = until - time.monotonic()
            if left < 0 or not select.select([process.stdout], [], [], left)[0]:
                self.drop(kind)
                raise subprocess.TimeoutExpired('xdotool ' + line, self.timeout)
            more = os.read(process.stdout.fileno(), 65536)
            told += more
            if not more:
                # A window that has gone ends it.
                self.drop(kind)
                return told.decode()
        return END.sub(b'', told).decode()

    def drop(self, kind):
        process = self.processes.pop(kind)
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def close(self):
        for kind in list(self.processes):
            self.drop(kind)
