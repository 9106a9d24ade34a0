# SPDX-License-Identifier: MIT
"""The mutants that no test can notice, as equivalents.txt names them.

An entry is where the mutant stands, the lines before and after without their indentation, and why
nobody can tell them apart:

    hv/room/file.c function
    -if (count > MAX)
    +if (count >= MAX)
    = The caller refuses MAX.

A blank line ends it. What begins with # is a comment.
"""
import collections
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parent / 'equivalents.txt'
# The line that begins a function: neither blank, nor indented, nor a brace.
FUNCTION = re.compile(r'^(?:[A-Za-z_][^\n;={]*?)?\b(?!__attribute__)(\w+)\(', re.M)

Entry = collections.namedtuple('Entry', 'path function before after why')


def read(text):
    entries = []
    for block in re.split(r'\n\s*\n', re.sub(r'^#.*\n', '', text, flags=re.M)):
        lines = block.strip().splitlines()
        if not lines:
            continue
        parts = {mark: tuple(line[1:].strip() for line in lines[1:] if line[:1] == mark)
                 for mark in '-+='}
        head = lines[0].split()
        if len(head) != 2 or not all(parts.values()) or \
                sum(map(len, parts.values())) != len(lines) - 1:
            raise ValueError(f'no entry: {block}')
        entries.append(Entry(*head, parts['-'], parts['+'], ' '.join(parts['='])))
    return entries


def function_at(text, offset):
    """Name of the function that the offset is in, as far as the layout tells it."""
    name = ''
    for match in FUNCTION.finditer(text, 0, offset):
        if text[match.start()] not in ' \t\n':
            name = match[1]
    return name


def key(mutant, shown, text):
    """What an entry is found by. `shown` is the diff of the mutant."""
    lines = shown.split('\n')[1:]
    return (mutant.path, function_at(text, mutant.start),
            tuple(line[1:].strip() for line in lines if line[0] == '-'),
            tuple(line[1:].strip() for line in lines if line[0] == '+'))


class Equivalents:
    def __init__(self, entries=None):
        entries = read(FILE.read_text(encoding='utf-8')) if entries is None else entries
        self.known = {tuple(entry[:4]) for entry in entries}

    def has(self, mutant, shown, text):
        return key(mutant, shown, text) in self.known
