#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""list-parsers.py PARSERS.TOML: for each fuzz target a line for Meson, "name: file file"."""
import sys
import tomllib

with open(sys.argv[1], 'rb') as listed:
    for name, files in tomllib.load(listed)['targets'].items():
        print(f'{name}: {" ".join(files)}')
