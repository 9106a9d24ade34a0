# SPDX-License-Identifier: MIT
"""What the tests that run the ringside command share."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../golden'))
from json_doc import Doc  # noqa: E402

DOC = Doc(os.path.join(HERE, '../../docs/json.md'))
KVM = os.access('/dev/kvm', os.R_OK | os.W_OK)
# A shell's jobs in the background ignore it, and so would all that a test starts.
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# In seconds. The kernel that checks itself is many times slower than others.
PATIENCE = 600 if 'debug' in sys.argv[1:2] else 60


def skip(why):
    print('skipped:', why)
    sys.exit(77)


def need(accel):
    """Skips the test if the machine has no such accelerator."""
    if accel == 'kvm' and not KVM:
        skip('/dev/kvm is not usable here')
    if accel == 'tcg' and not shutil.which('qemu-system-x86_64'):
        skip('qemu-system-x86_64 is not here')


def check(ok, what):
    if not ok:
        raise AssertionError(what)
    print('ok:', what, flush=True)


def wait_for(what, ask, timeout=PATIENCE):
    """Returns the first answer that is true."""
    until = time.monotonic() + timeout
    while not (got := ask()):
        if time.monotonic() > until:
            raise AssertionError(f'waited in vain: {what}')
        time.sleep(0.02)
    return got


class Result:
    def __init__(self, p):
        self.code, self.out, self.err = p.returncode, p.stdout, p.stderr

    def __str__(self):
        return f'code {self.code}\n{self.out}\n{self.err}'


class Ringside:
    """The command: rs('list', '-q') runs it to its end."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *args, timeout=PATIENCE):
        return Result(subprocess.run([self.path, *args], capture_output=True, text=True, timeout=timeout,
                                     stdin=subprocess.DEVNULL))

    def json(self, *args):
        """The objects that it prints, a line each; the object of a verb that has but one."""
        rows = [json.loads(line) for line in self(*args, '--json').out.splitlines()]
        return rows if args[0] in ('ps', 'list', 'format', 'trigger') or '--list' in args else rows[0]

    def sessions(self):
        """What `ps` shows once all have answered. It waits 2 s, and a machine may be slower."""
        def all_of_them():
            shown.append(self.json('ps'))
            return all(s['state'] not in ('no answer', 'starting', 'ending') for s in shown[-1])
        shown = []
        wait_for('answers to ps', all_of_them)
        return shown[-1]

    def start(self, *args, **more):
        return subprocess.Popen([self.path, *args], stdin=subprocess.DEVNULL, **more)


class Background:
    """A command in the background, whose output goes to files. ready(): whether it is up."""

    def __init__(self, rs, *args, ready=None, out=None, **more):
        self.err = tempfile.NamedTemporaryFile(prefix='rs-err-')
        self.out = self.err if out == 'err' else tempfile.NamedTemporaryFile(prefix='rs-out-')
        self.process = rs.start(*args, stdout=self.out, stderr=self.err, **more)
        if ready:
            wait_for('the session', lambda: self.process.poll() is not None or ready())
        if ready and self.process.poll() is not None and self.process.returncode and not ready():
            raise AssertionError(f'{args} did not come up: {self.said()}')

    @staticmethod
    def read(file):
        with open(file.name, 'rb') as f:
            return f.read()

    def said(self):
        return self.read(self.err).decode(errors='replace')

    def end(self, how=None, timeout=PATIENCE):
        """Returns its exit code and what it wrote, the output as bytes."""
        if how:
            self.process.send_signal(how)
        return self.process.wait(timeout), self.read(self.out), self.said()


class Flood:
    """Compares the text of a trace of load:flood with the numbers in its events.

    `step`: which numbers a filter let through, every how many. `begun`: whether the trace has all
    from number 0 on. Otherwise a vCPU's first event says where it begins.
    """

    EVENT = re.compile(rb' load:flood: cpu=(\d+) sequence=(\d+)')
    LOST = re.compile(rb'^(?:\S+ )?CPU:(\d+) \[LOST (\d+) EVENTS\]')
    WRAP = 1 << 32

    def __init__(self, step=1, begun=False):
        self.step, self.begun = step, begun
        self.events, self.wrong = 0, []
        self.last = {}  # vCPU → the last number seen
        self.lost = {}  # vCPU → how many events were said to be lost
        self.gap = {}  # vCPU → those since the last event

    def read(self, lines):
        for line in lines:
            event = self.EVENT.search(line)
            if event:
                self.take(int(event[1]), int(event[2]))
                continue
            loss = self.LOST.match(line)
            if loss:
                cpu, count = int(loss[1]), int(loss[2])
                self.gap[cpu] = self.gap.get(cpu, 0) + count
                self.lost[cpu] = self.lost.get(cpu, 0) + count

    def take(self, cpu, number):
        self.events += 1
        gap, before = self.gap.pop(cpu, 0), self.last.get(cpu, -self.step if self.begun else None)
        self.last[cpu] = number
        if before is None:
            return
        missing = (number - before) % self.WRAP / self.step - 1
        if missing != gap % self.WRAP:
            self.wrong.append(f'vCPU {cpu}: {gap} are said to be lost, but {missing:g} are missing '
                              f'before {number}')


def run_tests(tests, only=(), after=lambda: None):
    """Runs functions in a runtime directory of their own, all or those with these names."""
    with tempfile.TemporaryDirectory(prefix='rs-test-') as directory:
        os.environ['XDG_RUNTIME_DIR'] = directory
        for test in tests:
            if only and test.__name__ not in only:
                continue
            print('---', test.__name__, flush=True)
            try:
                test()
            finally:
                after()
