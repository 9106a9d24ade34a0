#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seeds.py ROOT: the tests that docs/seeds.md names for its rules are there.

Each row of a table with a column `test` names at least one in that column, in backticks, and has no
other backticked word there. A name is that of exactly one function in a .c or .py file of tests."""
import os
import re
import sys

DOCUMENT = 'docs/seeds.md'
LEAST = 150  # rows; a document that is read wrongly has less
C_FUNCTION = re.compile(r'^(?:static )?\w+ \**(test_\w+)\([^;]*$', re.M)
PY_FUNCTION = re.compile(r'^ *def (test_\w+)\(', re.M)
CELL = re.compile(r'(?<!\\)\|')


def functions(root):
    """Of each name the files that define it, a file as often as it does so."""
    found = {}
    for directory, _, names in os.walk(os.path.join(root, 'tests')):
        for name in names:
            pattern = C_FUNCTION if name.endswith('.c') else PY_FUNCTION if name.endswith('.py') else None
            if not pattern:
                continue
            path = os.path.join(directory, name)
            with open(path, encoding='utf-8') as file:
                for test in pattern.findall(file.read()):
                    found.setdefault(test, []).append(os.path.relpath(path, root))
    return found


def rows(text):
    """Number and last cell of each row of a table whose last column is of tests."""
    of_tests = False
    above = ''
    for number, line in enumerate(text.split('\n'), 1):
        cells = [cell.strip() for cell in CELL.split(line)[1:-1]] if line.startswith('|') else []
        if not cells:
            of_tests = False
        elif not above.startswith('|'):
            of_tests = cells[-1] == 'test'
        elif of_tests and set(cells[-1]) != {'-'}:
            yield number, cells[-1]
        above = line


def offences(text, found):
    for number, cell in rows(text):
        words = re.findall('`([^`]*)`', cell)
        if not words:
            yield number, 'names no test'
        for word in words:
            if not re.fullmatch(r'test_\w+', word):
                yield number, f'{word} is no test'
            elif word not in found:
                yield number, f'{word} is nowhere'
            elif len(found[word]) > 1:
                yield number, f"{word} is several: {', '.join(found[word])}"


FOUND = {'test_a': ['a.c'], 'test_b': ['b.c', 'c.py']}
HEAD = '| rule | where | test |\n|---|---|---|\n'
# A document, and the lines that are wrong in it.
SAMPLES = [
    (HEAD + '| r | `w` | `test_a` |\n', []),
    (HEAD + '| r | `w` | `test_aa` |\n| r | `w` | `test_a`, `test_A` |\n', [3, 4]),
    (HEAD + '| r | `w` | test_a |\n| r | `w` | |\n', [3, 4]),
    (HEAD + '| r | `w` | `test_a`, `usage-kvm` |\n', [3]),
    (HEAD + '| r | `w` | `test_b` |\n', [3]),
    (HEAD + '| r \\| s | `w` | `test_c` |\n', [3]),
    ('text\n| rule | test |\n|---|---|\n| r | `test_c` |\n\n| a | b |\n|---|---|\n| `c` | `d` |\n', [4]),
]


def self_test():
    good = C_FUNCTION.findall('static void test_a(void)\n{\n\ttest_b();\n}\nvoid test_c(int a,\n\t    int b)\n{') == \
        ['test_a', 'test_c']
    for text, expected in SAMPLES:
        lines = [number for number, _ in offences(text, FOUND)]
        if lines != expected:
            print(f'self-test: {text!r}: lines {lines}, not {expected}')
            good = False
    return good


def main():
    root = sys.argv[1]
    if not self_test():
        return 1
    with open(os.path.join(root, DOCUMENT), encoding='utf-8') as file:
        text = file.read()
    wrong = list(offences(text, functions(root)))
    for number, what in wrong:
        print(f'{DOCUMENT}:{number}: {what}')
    count = len(list(rows(text)))
    print(f'{count} rules, {len(wrong)} mistakes')
    return 1 if wrong or count < LEAST else 0


sys.exit(main())
