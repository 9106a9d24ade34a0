# SPDX-License-Identifier: MIT
"""Which functions each test runs, so that the others need not be tried on a mutant of them."""
import collections
import json
import os
import subprocess

from tree import BuildFailed, symbols

FLAGS = '--coverage -fprofile-update=atomic'


def counted(tree, build, data):
    """File -> [ranges of its functions], and file -> {lines that were run}. The code of an inlined
    function counts for its own lines, but may be no function of its own."""
    out = subprocess.run(['gcov', '--json-format', '--stdout', *data], cwd=build,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    functions = collections.defaultdict(set)
    lines = collections.defaultdict(set)
    for text in out.stdout.splitlines():
        for file in json.loads(text)['files']:
            path = os.path.relpath(os.path.join(build, file['file']), tree.path)
            functions[path].update((one['start_line'], one['end_line'])
                                   for one in file['functions'])
            lines[path].update(one['line_number'] for one in file['lines'] if one['count'])
    return functions, lines


class Coverage:
    """Without coverage of a test, or where its children may have run more, it counts as running
    everything."""

    def __init__(self, tree, progress):
        self.functions = collections.defaultdict(set)  # file -> ranges of all known functions
        self.lines = {}  # name of a test -> file -> lines that it ran
        build = tree.path / 'cover'
        try:
            tree.setup(build, '-Dbuildtype=plain', '-Dwerror=false', '-Doptimization=0',
                       f'-Dc_args={FLAGS}', f'-Dc_link_args={FLAGS}')
            tests = [test for test in tree.tests(build) if test.cmd[0].startswith(str(build))]
            tree.ninja(build, {name for test in tests for name in test.target})
            tests = [test for test in tests if not self.forks(test)]
        except BuildFailed as error:
            progress(f'no coverage, so each mutant meets all tests that link it: {error}')
            return
        counts = tree.home / 'counts'
        passed = set()

        def on_end(test, ok, _):
            if ok:
                passed.add(test.name)
            return True

        tree.run(tests, on_end, build, limited=False,
                 env=lambda test: {'GCOV_PREFIX': str(counts / test.name)})
        for test in tests:
            data = list((counts / test.name).rglob('*.gcda'))
            if test.name in passed and data:
                self.read(tree, build, test, data)

    @staticmethod
    def forks(test):
        """What a child does that is killed, is not counted."""
        out = subprocess.run(['nm', '-u', test.cmd[0]], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL, check=False)
        names = {line.split()[-1].split('@')[0] for line in out.stdout.splitlines()}
        return not names or names & {'fork', 'vfork', 'clone', 'posix_spawn'}

    def read(self, tree, build, test, data):
        """gcov wants the counts beside what the compiler has left for it."""
        here = []
        for path in data:
            to = os.path.join('/', path.relative_to(tree.home / 'counts' / test.name))
            os.rename(path, to)
            here.append(to)
        functions, self.lines[test.name] = counted(tree, build, here)
        for path in here:
            os.unlink(path)
        for path, ranges in functions.items():
            self.functions[path] |= ranges

    def may_run(self, test, path, line):
        """Whether the test may run this line: whether it came into a function around it."""
        around = [one for one in self.functions[path] if one[0] <= line <= one[1]]
        if not around or test.name not in self.lines:
            return True
        ran = self.lines[test.name][path]
        return any(first <= one <= last for first, last in around for one in ran)


def linked(tree, tests):
    """Name of a test -> the objects of the libraries that it links."""
    objects = symbols(tree.objects(), '--extern-only')
    # Names that an object hides are local ones of the program.
    own = symbols([test.cmd[0] for test in tests if test.target])
    found = {}
    for test in tests:
        if test.cmd[0] in own:
            found[test.name] = {path for path, names in objects.items()
                                if names & own[test.cmd[0]]}
        else:  # a script, which gets libraries
            found[test.name] = {path for path in objects for name in test.target
                                if path.startswith(str(tree.build / name) + '.p/')}
    return found
