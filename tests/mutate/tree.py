# SPDX-License-Identifier: MIT
"""A copy of the tree in which mutants are built and tested."""
import collections
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

Test = collections.namedtuple('Test', 'name cmd env workdir target')
SUITES = {'unit', 'golden', 'abi'}
LIBRARIES = ['guest-agent/libringside-agent.a', 'hv/libringside-hv.a',
             'viewer/filter/libringside-filter.a', 'viewer/decode/libringside-decode.a',
             'viewer/observe/libringside-observe.a']
JOBS = min(2, len(os.sched_getaffinity(0)))
MEMORY = 8 << 30  # what a test may map, and what a file of it may hold
PATIENCE = 120  # seconds for a test that waits and does not work


class BuildFailed(Exception):
    pass


def copy_tree(root, to):
    """The files that git knows or could know, as they are now; without git all but builds."""
    listed = subprocess.run(['git', 'ls-files', '-z', '-co', '--exclude-standard'], cwd=root,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode:
        shutil.copytree(root, to, symlinks=True, ignore=shutil.ignore_patterns('build*', '.git'))
        return
    for name in filter(None, listed.stdout.decode().split('\0')):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)


def symbols(paths, *options):
    """Path -> the functions and data that it defines. `options` of nm select them."""
    out = subprocess.run(['nm', '-A', '-P', '--defined-only', *options, *paths],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    found = collections.defaultdict(set)
    for line in out.stdout.splitlines():
        path, _, rest = line.partition(': ')
        name, kind = rest.split()[:2]
        if kind in 'TDBRCtdbr':
            found[path].add(name)
    return found


class Running:
    """A test that runs in a session of its own."""

    def __init__(self, test, tree, build, seconds=None, env=None):
        self.test = test
        self.output = tempfile.TemporaryFile(dir=tree.home)
        self.began = time.monotonic()
        sanitized = 'asan' in test.name or 'tsan' in test.name

        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (MEMORY, MEMORY))
            if not sanitized:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if seconds:
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

        self.process = subprocess.Popen(
            test.cmd, cwd=test.workdir or build, env={**tree.env, **test.env, **(env or {})},
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=limit)

    def result(self):
        """None while it runs, then whether it passed."""
        status = self.process.poll()
        if status is None:
            if time.monotonic() - self.began < PATIENCE:
                return None
            self.stop()
            return False
        self.stop()
        self.output.seek(0)
        failed = any(line.startswith(b'not ok') for line in self.output)
        return status in (0, 77) and not failed

    def stop(self):
        """Ends it and what it has left behind."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Tree:
    """`build` is its build as users have it; `cover` counts in it what each test runs."""

    def __init__(self, root, home):
        self.home = home
        self.path = home / 'tree'
        self.build = self.path / 'build'
        self.seconds = {}  # name of a test -> how long it takes on the processor
        self.running = []
        run = home / 'run'
        run.mkdir(mode=0o700)
        self.env = {**os.environ, 'XDG_RUNTIME_DIR': str(run), 'TMPDIR': str(run),
                    'HOME': str(run), 'CCACHE_BASEDIR': str(self.path), 'CCACHE_NOHASHDIR': '1',
                    'MALLOC_PERTURB_': '165', 'PYTHONDONTWRITEBYTECODE': '1'}
        if 'CCACHE_DIR' not in os.environ and shutil.which('ccache'):
            self.env['CCACHE_DIR'] = subprocess.run(
                ['ccache', '-k', 'cache_dir'], stdout=subprocess.PIPE, text=True,
                check=True).stdout.strip()
        copy_tree(root, self.path)

    def setup(self, build, *options):
        env = dict(self.env)
        if shutil.which('ccache'):
            env['CC'] = 'ccache ' + env.get('CC', 'gcc')
        done = subprocess.run(['meson', 'setup', build, *options], cwd=self.path, env=env,
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise BuildFailed(done.stdout)

    def ninja(self, build, targets, shown=False):
        """`shown`: ninja tells on our terminal how far it is."""
        out = sys.stderr if shown and sys.stderr.isatty() else subprocess.PIPE
        done = subprocess.run(['ninja', '-C', build, f'-j{JOBS}', *sorted(targets)],
                              env=self.env, stdout=out, stderr=subprocess.STDOUT,
                              text=True, check=False)
        if done.returncode:
            raise BuildFailed(done.stdout or 'the copy does not build')

    def tests(self, build):
        """The tests of the suites; `target` is what they run, relative to the build."""
        names = {target['id']: [os.path.relpath(name, build) for name in target['filename']]
                 for target in self.introspect(build, '--targets')}
        for test in self.introspect(build, '--tests'):
            if SUITES.isdisjoint(suite.split(':')[-1] for suite in test['suite']):
                continue
            needs = [name for wanted in test['depends'] for name in names[wanted]]
            yield Test(test['name'], test['cmd'], test['env'], test['workdir'], tuple(needs))

    def introspect(self, build, what):
        out = subprocess.run(['meson', 'introspect', what, build], stdout=subprocess.PIPE,
                             env=self.env, check=True)
        return json.loads(out.stdout)

    def objects(self):
        """Object of the libraries -> its digest."""
        return {str(path): hashlib.sha1(path.read_bytes()).digest()
                for library in LIBRARIES for path in (self.build / (library + '.p')).rglob('*.o')}

    def run(self, tests, on_end, build=None, limited=True, env=lambda test: None):
        """Runs tests, JOBS at a time, until on_end(test, passed, seconds) is false."""
        waiting = list(reversed(tests))
        try:
            while waiting or self.running:
                while waiting and len(self.running) < JOBS:
                    test = waiting.pop()
                    limit = int(self.seconds[test.name] * 4 + 3) if limited else None
                    self.running.append(Running(test, self, build or self.build, limit, env(test)))
                time.sleep(0.005)
                for one in list(self.running):
                    passed = one.result()
                    if passed is None:
                        continue
                    self.running.remove(one)
                    if not on_end(one.test, passed, one):
                        return
        finally:
            for one in self.running:
                one.stop()
            self.running.clear()
