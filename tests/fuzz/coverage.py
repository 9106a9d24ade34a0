#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py BUILD [-v] [TARGET...]: what the fuzzers of a build with b_coverage reach.

Runs each target for RS_FUZZ_SECONDS (default 20) from its seeds. Prints for each of them how many
executions a second of processor time it makes, and for each of its parsers (parsers.toml) how many
lines it reached. Lines that parsers.toml excuses do not count; their reasons are printed. With -v
it says which lines are missing. Then come all files under test, and how much of each all targets
together reached.
"""
import collections
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def tool(name):
    """A tool of clang's version: Debian's are in a folder of their own."""
    version = subprocess.run(['clang', '-dumpversion'], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.split('.')[0]
    path = pathlib.Path(f'/usr/lib/llvm-{version}/bin', name)
    return str(path) if path.exists() else name


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(fuzzer, profile):
    """Writes the profile of one run. Returns its executions a second; 0: it failed.

    The coverage of a target that fails counts up to there."""
    name = fuzzer.name.removeprefix('fuzz-')
    env = dict(os.environ, LLVM_PROFILE_FILE=str(profile))
    env.setdefault('RS_FUZZ_SECONDS', '20')
    before = cpu_seconds()
    done = subprocess.run([sys.executable, HERE / 'run-fuzzer.py', fuzzer, HERE / 'seeds' / name],
                          env=env, stdout=subprocess.PIPE, text=True, check=False)
    took = cpu_seconds() - before
    if done.returncode:
        print(f'{fuzzer.name} failed:\n{done.stdout}', file=sys.stderr)
        return 0
    units = re.search(r'number_of_executed_units: (\d+)', done.stdout)
    return int(units.group(1)) / took if units else 0


def lines_of(fuzzer, profile):
    """How often the run came to each line, by file, and the function of each line, by file."""
    merged = profile.with_suffix('.profdata')
    subprocess.run([tool('llvm-profdata'), 'merge', '-sparse', profile, '-o', merged], check=True)
    text = subprocess.run([tool('llvm-cov'), 'export', '-format=lcov', f'-instr-profile={merged}',
                           fuzzer], stdout=subprocess.PIPE, text=True, check=True).stdout
    seen, starts = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    path = None
    for line in text.splitlines():
        key, _, value = line.partition(':')
        if key == 'SF':
            path = os.path.relpath(value, ROOT)
        elif key == 'FN':
            number, function = value.split(',')
            starts[path].append((int(number), function.split(':')[-1]))
        elif key == 'DA':
            number, count = (int(part) for part in value.split(',')[:2])
            seen[path][number] += count
    return seen, {path: sorted(starts[path]) for path in starts}


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3, 7"."""
    out = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ', '.join(str(a) if a == b else f'{a}-{b}' for a, b in out)


def excuse_of(path, number, starts, excuses):
    """The reason why this line need not be reached; None: there is none."""
    text = (ROOT / path).read_text(encoding='utf-8').splitlines()[number - 1]
    function = ''
    for start, name in starts:
        if start <= number:
            function = name
    for key, why in excuses.items():
        if key == function or (not key.isidentifier() and key in text):
            return why
    return None


def share_of(path, seen, starts, excuses):
    """Share of its lines in percent, those missing, and the reasons for those that are excused."""
    missed, reasons, total = [], collections.defaultdict(list), len(seen)
    for number in sorted(number for number, count in seen.items() if not count):
        why = excuse_of(path, number, starts, excuses)
        if why:
            reasons[why].append(number)
            total -= 1
        else:
            missed.append(number)
    return 100 * (1 - len(missed) / total) if total else 100, missed, reasons


def report(path, seen, starts, excuses, verbose, indent):
    share, missed, reasons = share_of(path, seen, starts, excuses)
    print(f'{indent}{share:5.1f} % of {len(seen):4d} lines  {path}')
    if verbose and missed:
        print(f'{indent}        not {ranges(missed)}')
    for why, numbers in reasons.items():
        print(f'{indent}        excused {ranges(numbers)}: {why}')


def main():
    build, names = pathlib.Path(sys.argv[1]), [a for a in sys.argv[2:] if a != '-v']
    verbose = '-v' in sys.argv[2:]
    listed = tomllib.loads((HERE / 'parsers.toml').read_text(encoding='utf-8'))
    excused = listed['excused']
    fuzzers = sorted(path for path in (build / 'tests/fuzz').glob('fuzz-*')
                     if path.is_file() and (not names or path.name[5:] in names))
    every, good = collections.defaultdict(collections.Counter), True
    starts = {}
    if not fuzzers:
        sys.exit(f'coverage.py: there are no fuzzers in {build}')
    with tempfile.TemporaryDirectory(prefix='rs-cover-') as tmp:
        for fuzzer in fuzzers:
            name, profile = fuzzer.name[5:], pathlib.Path(tmp, fuzzer.name + '.profraw')
            rate = run(fuzzer, profile)
            good &= rate > 0
            print(f'{name}: {rate:.0f} executions a second of processor time')
            if name not in listed['targets']:
                sys.exit(f'coverage.py: parsers.toml does not say what {name} is to cover')
            if not profile.exists():
                continue
            seen, functions = lines_of(fuzzer, profile)
            starts.update(functions)
            for path in listed['targets'][name]:
                report(path, seen[path], functions.get(path, []), excused.get(path, {}), verbose,
                       '    ')
            for path, counts in seen.items():
                for number, count in counts.items():
                    every[path][number] += count
    print('all targets together:')
    for path in sorted(every):
        if not path.startswith(('tests/', '..', 'build')) and any(every[path].values()):
            report(path, every[path], starts.get(path, []), excused.get(path, {}), False, '    ')
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
