#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py BUILD [-v]: which lines the fuzzers of a build with b_coverage reach.

Runs each target for RS_FUZZ_SECONDS (default 20) from its seeds. Prints for each file under test
how many of its lines any target reached, and with -v which ones none did.
"""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def tool(name):
    """A tool of clang's version: Debian's are in a folder of their own."""
    version = subprocess.run(['clang', '-dumpversion'], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.split('.')[0]
    path = pathlib.Path(f'/usr/lib/llvm-{version}/bin', name)
    return str(path) if path.exists() else name


def run(fuzzer, profile):
    """Writes the profile of one run. A target that fails is told, and counts up to there."""
    name = fuzzer.name.removeprefix('fuzz-')
    env = dict(os.environ, LLVM_PROFILE_FILE=str(profile))
    env.setdefault('RS_FUZZ_SECONDS', '20')
    done = subprocess.run([sys.executable, HERE / 'run-fuzzer.py', fuzzer, HERE / 'seeds' / name],
                          env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f'{fuzzer.name} failed:\n{done.stdout}', file=sys.stderr)
    return done.returncode == 0


def lines_of(fuzzer, profile, seen):
    """Adds to seen[file][line] how often the run came there."""
    merged = profile.with_suffix('.profdata')
    subprocess.run([tool('llvm-profdata'), 'merge', '-sparse', profile, '-o', merged], check=True)
    text = subprocess.run([tool('llvm-cov'), 'export', '-format=lcov', f'-instr-profile={merged}',
                           fuzzer], stdout=subprocess.PIPE, text=True, check=True).stdout
    path = None
    for line in text.splitlines():
        key, _, value = line.partition(':')
        if key == 'SF':
            path = os.path.relpath(value, ROOT)
        elif key == 'DA':
            number, count = (int(part) for part in value.split(',')[:2])
            seen[path][number] += count


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3, 7"."""
    out = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ', '.join(str(a) if a == b else f'{a}-{b}' for a, b in out)


def main():
    build, verbose = pathlib.Path(sys.argv[1]), '-v' in sys.argv[2:]
    fuzzers = sorted(path for path in (build / 'tests/fuzz').glob('fuzz-*') if path.is_file())
    seen, good = collections.defaultdict(collections.Counter), True
    if not fuzzers:
        sys.exit(f'coverage.py: there are no fuzzers in {build}')
    with tempfile.TemporaryDirectory(prefix='rs-cover-') as tmp:
        for fuzzer in fuzzers:
            profile = pathlib.Path(tmp, fuzzer.name + '.profraw')
            good &= run(fuzzer, profile)
            if profile.exists():
                lines_of(fuzzer, profile, seen)
    for path in sorted(seen):
        if path.startswith(('tests/', '..')) or not seen[path]:
            continue
        missed = sorted(number for number, count in seen[path].items() if not count)
        share = 100 * (1 - len(missed) / len(seen[path]))
        print(f'{share:5.1f} % of {len(seen[path]):4d} lines  {path}')
        if verbose and missed:
            print(f'        not {ranges(missed)}')
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
