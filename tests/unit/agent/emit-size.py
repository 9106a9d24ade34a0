#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""emit-size.py NM [--NAME PROGRAM BYTES]…: what the code of one event takes.

Event bench:two has two fields of 32 bits. All functions of its own count, with the parts that a
compiler puts elsewhere. BYTES is the most that each may have.
"""
import re
import subprocess
import sys


def text_of(nm, program, event):
    out = subprocess.run([nm, '-S', program], stdout=subprocess.PIPE, text=True, check=True).stdout
    own = re.compile(rf'^\S+ (\S+) [tT] (rs_(?:emit|call)_{event}(?:\.\S+)?)$', re.M)
    return {name: int(size, 16) for size, name in own.findall(out)}


def main():
    failed = False
    for name, program, most in zip(sys.argv[2::3], sys.argv[3::3], sys.argv[4::3]):
        parts = text_of(sys.argv[1], program, 'bench_two')
        total = sum(parts.values())
        print(f'{name[2:]}: {total} bytes of text, at most {most}: {parts}')
        failed |= not 100 < total <= int(most)
    return failed


if __name__ == '__main__':
    sys.exit(main())
