#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""version.py ROOT: VERSION, debian/changelog and CHANGELOG.md name the same version."""
import os
import re
import sys

PLACES = {
    'VERSION': r'^(.+)$',
    'debian/changelog': r'^ringside \(([^)]+)\)',
    'CHANGELOG.md': r'^## \[(\d[^]]*)\]',
}


def main():
    found = {}
    for path, pattern in PLACES.items():
        with open(os.path.join(sys.argv[1], path), encoding='utf-8') as file:
            match = re.search(pattern, file.read(), re.M)
        found[path] = match[1] if match else None
    print(found)
    return 0 if len(set(found.values())) == 1 and None not in found.values() else 1


sys.exit(main())
