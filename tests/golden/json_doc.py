#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares docs/json.md with the output: every key is there, with the page's type, and no other.

    json_doc.py DOCS_JSON_MD ROUNDTRIP_EXPECTED

checks the JSON lines that the golden test holds. tests/vm/cli.py checks the rest with class Doc.
"""
import json
import re
import sys

TYPES = {'number': {int}, 'real': {int, float}, 'string': {str}, 'boolean': {bool}, 'object': {dict},
         'array': {list}, 'null': {type(None)}}


class Doc:
    def __init__(self, path):
        self.keys = {}  # section → key → (types, always)
        section = None
        for line in open(path, encoding='utf-8'):
            if line.startswith('## '):
                section = line[3:].strip()
            row = re.match(r'\| `(\w+)` \| ([a-z ]+) \| (always|if so) \|', line)
            if row:
                types = set().union(*(TYPES[name] for name in row[2].split(' or ')))
                self.keys.setdefault(section, {})[row[1]] = types, row[3] == 'always'

    def check(self, section, value):
        said = self.keys[section]
        for key, item in value.items():
            if key not in said:
                raise AssertionError(f'{section}: docs/json.md does not say "{key}"')
            if type(item) not in said[key][0]:
                raise AssertionError(f'{section}: "{key}" is {item!r}')
        for key, (_, always) in said.items():
            if always and key not in value:
                raise AssertionError(f'{section}: "{key}" is missing in {value}')

    def check_line(self, value):
        """An object of a trace; returns its section."""
        kind = ('an event' if 'event' in value else 'an unknown event' if 'raw' in value
                else 'another boot' if 'boot' in value else 'records lost')
        if 'summary' in value:
            kind, value = 'the summary', value['summary']
        self.check('Trace: ' + kind, value)
        return kind


def main(page, golden):
    doc, seen, fields = Doc(page), set(), {}
    for line in open(golden, encoding='utf-8'):
        if not line.startswith('{'):
            continue
        value = json.loads(line)
        seen.add(doc.check_line(value))
        # A field has one type in all lines, whatever its value.
        for name, item in value.get('fields', {}).items():
            if item is not None:
                kind = fields.setdefault((value['event'], name), type(item))
                if type(item) is not kind:
                    raise AssertionError(f'{value["event"]}.{name} is {kind} and {type(item)}')
    if seen != {'an event', 'an unknown event', 'records lost', 'another boot'}:
        raise AssertionError(f'the golden lines hold only {seen}')
    print(f'{len(fields)} fields, {len(seen)} kinds of lines')


if __name__ == '__main__':
    main(*sys.argv[1:])
