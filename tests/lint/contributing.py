#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contributing.py ROOT: the files that CONTRIBUTING.md names are there.

Its placeholders stand for one that is there: ARCH for x86_64, and NAME for any word."""
import glob
import os
import re
import sys

PATH = re.compile(r'`((?:[\w.*-]+/)+[\w.*-]*)`')


def main():
    root = sys.argv[1]
    with open(os.path.join(root, 'CONTRIBUTING.md'), encoding='utf-8') as file:
        paths = sorted(set(PATH.findall(file.read())))
    wrong = []
    for path in paths:
        wanted = re.sub('NAME|ROOM', '*', path.replace('ARCH', 'x86_64'))
        if not glob.glob(os.path.join(root, wanted)):
            wrong.append(path)
    print(f'{len(paths)} paths; not there: {wrong}')
    return 1 if wrong or len(paths) < 40 else 0


sys.exit(main())
