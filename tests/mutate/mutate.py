#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes random one-token mutants of the core and runs the suites unit, golden and abi on each.

Prints the mutants that no test notices, and the share that one does. A mutant counts as noticed
when a test fails, crashes or does not end. One that does not compile, or compiles to what it was,
is drawn again. So is one that nobody can notice, as tests/mutate/equivalents.txt says. Works in a
copy of the tree, in a temporary directory.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import mutants  # noqa: E402
from coverage import Coverage, linked  # noqa: E402
from equivalents import Equivalents  # noqa: E402
from tree import BuildFailed, LIBRARIES, Tree  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ['guest-agent/core/*.[ch]', 'hv/region/*.c', 'hv/patch/*.c', 'viewer/filter/*.c',
        'hv/session/*.c', 'viewer/decode/*.c', 'viewer/observe/rs-trace-ring*.c']
QUICK = 0.5  # seconds of a test that is built and run before slower ones are built


def progress(text):
    print(text, file=sys.stderr, flush=True)


class Judge:
    """Builds mutants in the tree, one after the other, and runs the tests on them."""

    def __init__(self, tree):
        self.tree = tree
        self.changed = None  # the file that holds a mutant now
        progress('building the copy')
        tree.setup(tree.build, '-Dbuildtype=plain', '-Doptimization=2')
        self.tests = list(tree.tests(tree.build))
        tree.ninja(tree.build, {name for test in self.tests for name in test.target}
                   | set(LIBRARIES), shown=True)
        self.objects = tree.objects()
        self.equivalents = Equivalents()
        self.linked = linked(tree, self.tests)
        self.first_run()
        progress('counting what each test runs')
        self.coverage = Coverage(tree, progress)

    def first_run(self):
        """The tests pass without a mutant; how long they take."""
        progress(f'running the {len(self.tests)} tests')
        failed = []

        def on_end(test, passed, one):
            self.tree.seconds[test.name] = time.monotonic() - one.began
            if not passed:
                failed.append(test.name)
            return True

        self.tree.run(self.tests, on_end, limited=False)
        if failed:
            sys.exit(f'mutate: these tests fail without a mutant: {" ".join(failed)}')

    def suspects(self, mutant, text):
        """The tests that may notice it, the quickest first. Raises BuildFailed."""
        self.tree.ninja(self.tree.build, LIBRARIES)
        now = self.tree.objects()
        touched = {path for path in now if now[path] != self.objects.get(path)}
        if not touched:
            return None
        line = text.count('\n', 0, mutant.start) + 1
        # A test may include a header, and so be changed although no object of a library is.
        header = mutant.path.endswith('.h')
        found = [test for test in self.tests if (header or self.linked[test.name] & touched) and
                 self.coverage.may_run(test, mutant.path, line)]
        return sorted(found, key=lambda test: self.tree.seconds[test.name])

    def original(self, path):
        """Text of the file, without a mutant."""
        if self.changed and self.changed[0] == path:
            return self.changed[1]
        return (self.tree.path / path).read_text(encoding='utf-8')

    def judge(self, mutant):
        """Name of the test that notices it, '' if none does, None if it must be drawn again."""
        path = self.tree.path / mutant.path
        if self.changed and self.changed[0] != mutant.path:
            (self.tree.path / self.changed[0]).write_text(self.changed[1], encoding='utf-8')
            self.changed = None
        if not self.changed:
            self.changed = mutant.path, path.read_text(encoding='utf-8')
        text = self.changed[1]
        path.write_text(mutants.apply(mutant, text), encoding='utf-8')
        try:
            tests = self.suspects(mutant, text)
            if tests is None:
                return None
            quick = [test for test in tests if self.tree.seconds[test.name] <= QUICK]
            slow = [test for test in tests if self.tree.seconds[test.name] > QUICK]
            return self.kill(quick) or self.kill(slow)
        except BuildFailed:
            return None

    def kill(self, tests):
        if not tests:
            return ''
        self.tree.ninja(self.tree.build, {name for test in tests for name in test.target})
        killers = []

        def on_end(test, passed, _):
            if not passed:
                killers.append(test.name)
            return passed

        self.tree.run(tests, on_end)
        return killers[0] if killers else ''


def candidates(tree, where):
    """All places in the core, or those at FILE[:LINE]: (text of the file, mutants)."""
    only, _, line = where.partition(':')
    for path in sorted(path for glob in CORE for path in tree.path.glob(glob)):
        name = str(path.relative_to(tree.path))
        if where and name != only:
            continue
        text = path.read_text(encoding='utf-8')
        for site in mutants.sites_of(name, text):
            if not line or text.count('\n', 0, site[0].start) + 1 == int(line):
                yield text, site


def check(parser, options):
    """Finds wrong arguments before anything is built."""
    if options.count < 1:
        parser.error(f'{options.count} mutants: at least 1 is made')
    name, colon, line = options.at.partition(':')
    if not name:
        return
    path = ROOT / name
    if path not in {path for glob in CORE for path in ROOT.glob(glob)}:
        parser.error(f'--at: {name} is no file of the core: {" ".join(CORE)}')
    lines = path.read_text(encoding='utf-8').count('\n')
    if colon and not (line.isdecimal() and 1 <= int(line) <= lines):
        parser.error(f'--at: {name} has lines 1 to {lines}, and no line \'{line}\'')


def draw(tree, where, seed):
    """Mutants in the order of the seed, one of a place; of one line, all."""
    sites = list(candidates(tree, where))
    if ':' in where:
        yield from (mutant for _, site in sites for mutant in site)
        return
    dice = random.Random(seed)
    dice.shuffle(sites)
    kinds = {}
    for text, site in sites:
        kinds.setdefault(mutants.kind(site[0], text), []).append(site)
    while kinds:
        kind = dice.choice(sorted(kinds))
        yield dice.choice(kinds[kind].pop())
        if not kinds[kind]:
            del kinds[kind]


def main():
    parser = argparse.ArgumentParser(prog='dev mutate', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('count', type=int, nargs='?', default=20, metavar='N',
                        help='how many mutants (20)')
    parser.add_argument('seeds', type=int, nargs='*', default=[1], metavar='SEED',
                        help='the same seed makes the same mutants of the same tree (1); of '
                             'several seeds, N each')
    parser.add_argument('--at', default='', metavar='FILE[:LINE]',
                        help='mutants of this file only, or all of this line')
    options = parser.parse_args()
    check(parser, options)
    os.nice(5)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    home = pathlib.Path(tempfile.mkdtemp(prefix='mutate-'))
    try:
        return run(Tree(ROOT, home), options)
    except BuildFailed as error:
        return f'mutate: {error}'
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(home, ignore_errors=True)


def run(tree, options):
    judge = Judge(tree)
    if ':' in options.at:
        return report(judge, draw(tree, options.at, 0), options.at)
    for seed in options.seeds:
        report(judge, draw(tree, options.at, seed), f'seed {seed}', options.count)
    return 0


def report(judge, drawn, name, count=None):
    """Judges as many of the drawn as count, and prints those alive and the score."""
    alive = []
    done = passed_over = 0
    try:
        for mutant in drawn:
            if done == count:
                break
            text = judge.original(mutant.path)
            shown = mutants.diff(mutant, text)
            if judge.equivalents.has(mutant, shown, text):
                passed_over += 1
                continue
            by = judge.judge(mutant)
            if by is None:
                continue
            done += 1
            if not by:
                alive.append(shown)
            place = shown.split('\n', maxsplit=1)[0]
            progress(f'{done:4} ' + (f'{place}: noticed by {by}' if by else f'ALIVE {shown}'))
    finally:
        print('\n'.join(alive))
        if done:
            noticed = done - len(alive)
            print(f'{name}: {noticed} of {done} noticed, {len(alive)} alive: '
                  f'{100 * noticed / done:.1f} %; {passed_over} known as equivalent not counted',
                  flush=True)


if __name__ == '__main__':
    sys.exit(main())
