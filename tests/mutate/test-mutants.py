#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ./dev mutate makes of a few lines of C, and that it can make them of the core."""
import itertools
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import equivalents  # noqa: E402
import mutants  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def texts(text):
    """What one token less or more makes of the text, in its order."""
    return [mutants.apply(mutant, text) for site in mutants.sites_of('a.c', text)
            for mutant in site]


class Mutants(unittest.TestCase):
    def test_bounds(self):
        self.assertEqual(texts('x = a < 4;'),
                         ['x = a <= 4;', 'x = a >= 4;', 'x = a < 5;', 'x = a < 3;'])
        self.assertEqual(texts('x = a >= 0x10u;'),
                         ['x = a > 0x10u;', 'x = a < 0x10u;', 'x = a >= 0x11u;',
                          'x = a >= 0xfu;'])

    def test_conditions(self):
        self.assertEqual(texts('if (a && !b)'),
                         ['if (!(a && !b))', 'if (0 && (a && !b))', 'if (1 || (a && !b))',
                          'if (a || !b)', 'if (a &&  b)'])

    def test_statements(self):
        self.assertEqual(texts('{ go(a,\n b); }'), ['{ {}\n }'])
        self.assertEqual(texts('{ if (a) stop(); }')[-1], '{ if (a) {} }')
        self.assertEqual(texts('{ x = (int)y; }'), ['{ {} }'])
        for text in ('{ int x; }', '{ struct s *x = y; }', '{ type *x = y; }', '{ return x; }',
                     '{ g_free(x); }', '{ rs_rmb(); }'):
            self.assertEqual(texts(text), [], text)

    def test_left_alone(self):
        for text in ('/* a < b */', '// a < b', 'x = "a < b";', "x = ' ';", '#define A (b + \\\n 1)',
                     'f(type *x)', 'x = {0};', 'char x[9];', 'f(x, 0644);', 'x = 0.5;',
                     'x = g_new0(struct s, 1);'):
            self.assertEqual(texts(text), [], text)

    def test_kinds(self):
        text = '{ if (a && !b < 3 + true) go(); }'
        self.assertEqual([mutants.kind(site[0], text) for site in mutants.sites_of('a.c', text)],
                         ['condition', 'logic', 'condition', 'relation', 'constant', 'arithmetic',
                          'constant', 'statement'])

    def test_core(self):
        """A mutant changes its own place only, and no line moves."""
        for path in sorted(ROOT.glob('hv/patch/*.c')):
            text = path.read_text(encoding='utf-8')
            sites = mutants.sites_of(path.name, text)
            self.assertGreater(len(sites), 5, path)
            for site in sites:
                for mutant in site:
                    after = mutants.apply(mutant, text)
                    self.assertNotEqual(after, text)
                    self.assertEqual(after.count('\n'), text.count('\n'),
                                     mutants.diff(mutant, text))
                    self.assertLess(mutants.diff(mutant, text).count('\n'), 40)

    def test_equivalents(self):
        """Each that is listed can still be made of the tree."""
        for path, entries in itertools.groupby(
                sorted(equivalents.read(equivalents.FILE.read_text(encoding='utf-8'))),
                lambda entry: entry.path):
            text = (ROOT / path).read_text(encoding='utf-8')
            made = {equivalents.key(mutant, mutants.diff(mutant, text), text)
                    for site in mutants.sites_of(path, text) for mutant in site}
            for entry in entries:
                self.assertIn(tuple(entry[:4]), made)

    def test_equivalent(self):
        text = 'static int f(int a)\n{\n\tif (a < 4)\n\t\tgo();\n}\n\nint g(int a)\n{\n\tif (a < 4)\n'
        known = equivalents.Equivalents(equivalents.read(
            '# A comment\na.c g\n-if (a < 4)\n+if (a <= 4)\n= It is never 4.\n\n'))
        found = [(mutants.apply(mutant, text), known.has(mutant, mutants.diff(mutant, text), text))
                 for site in mutants.sites_of('a.c', text) for mutant in site]
        self.assertEqual([after for after, is_known in found if is_known],
                         ['if (a <= 4)'.join(text.rsplit('if (a < 4)', 1))])
        for wrong in ('a.c\n-a\n+b\n= c', 'a.c g\n-a\n+b', 'a.c g\n-a\n+b\n= c\nd'):
            self.assertRaises(ValueError, equivalents.read, wrong)


if __name__ == '__main__':
    unittest.main()
