#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is marked for translation has no G_GUINT64_FORMAT and its like: xgettext cannot know what
they stand for and takes the text up to them only, which no program asks for. Numbers are formatted
first, or with PRIu64.

    tests/lint/words.py ROOT
"""
import pathlib
import re
import sys

MARKED = re.compile(r'\b(?:_|C_|N_|NC_|Q_|gettext|ngettext|g_dngettext|g_dgettext)\s*\(')
FORMAT = re.compile(r'\bG_G\w+_(?:FORMAT|MODIFIER)\b')
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'')


def argument_end(text, at):
    """Where the call ends whose "(" is just before `at`. Strings have no parentheses any more."""
    depth = 1
    while depth and at < len(text):
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        at += 1
    return at


def mistakes(text):
    blank = STRING.sub(lambda found: '"' + ' ' * (len(found[0]) - 2) + '"', text)
    for call in MARKED.finditer(blank):
        if FORMAT.search(blank, call.end(), argument_end(blank, call.end())):
            yield blank.count('\n', 0, call.start()) + 1


def main():
    root = pathlib.Path(sys.argv[1])
    names = (root / 'po' / 'POTFILES').read_text(encoding='utf-8').split()
    found = [(name, line) for name in names if name.endswith('.c')
             for line in mistakes((root / name).read_text(encoding='utf-8'))]
    for name, line in found:
        print(f'{name}:{line}: a format of GLib in what is marked for translation')
    print(f'{len(names)} files, {len(found)} mistakes')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
