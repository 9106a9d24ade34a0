# SPDX-License-Identifier: MIT
"""Makes one-token mutants of C sources that clang-format has laid out.

Left out is what the suites cannot judge: memory order is the models' affair, and leaks are the
sanitizers'. Preprocessor lines are left out too: a constant that they name is used in many places.
"""
import collections
import re

# What stands at [start, end) of the file becomes `text`.
Mutant = collections.namedtuple('Mutant', 'path start end text')

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | \d+\.\d+ | 0[xX][0-9a-fA-F]+[uUlL]* | \d+[uUlL]* | [A-Za-z_]\w*
    | <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\|
    | [-+*/%&|^]= | [^\s]""", re.X | re.S)
PREPROCESSOR = re.compile(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.M)
NUMBER = re.compile(r'(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$')
WORD = re.compile(r'[A-Za-z_]\w*$')

# Operators between two operands, which have a blank on either side.
SWAPS = {
    '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'],
    '==': ['!='], '!=': ['=='], '&&': ['||'], '||': ['&&'],
    '+': ['-'], '-': ['+'], '*': ['+'], '/': ['*'], '%': ['/'],
    '<<': ['>>'], '>>': ['<<'], '&': ['|'], '|': ['&'], '^': ['|'],
    '+=': ['-='], '-=': ['+='], '|=': ['&='], '&=': ['|='], '<<=': ['>>='], '>>=': ['<<='],
}
WORDS = {'true': 'false', 'false': 'true', 'TRUE': 'FALSE', 'FALSE': 'TRUE'}
NO_STATEMENT = {
    'if', 'else', 'for', 'while', 'do', 'switch', 'case', 'default', 'return', 'goto', 'const',
    'static', 'struct', 'enum', 'union', 'extern', 'typedef', 'unsigned', 'signed', 'volatile',
    'register', 'inline', 'asm', '__asm__', 'static_assert', '_Static_assert', 'sizeof',
}
# Calls whose absence only leaks, or only weakens the order of memory accesses.
UNJUDGED = re.compile(r'.*(free|unref|clear_pointer|destroy|close|rmb|wmb|_mb|fence|deinit)$')


class Source:
    """The tokens of a file, without comments and preprocessor lines."""

    def __init__(self, path, text):
        self.path = path
        blank = PREPROCESSOR.sub(lambda m: re.sub(r'[^\n]', ' ', m.group()), text)
        self.text = text
        self.tokens = [(m.group(), m.start()) for m in TOKEN.finditer(blank)
                       if not m.group().startswith(('//', '/*'))]

    def word(self, index):
        return self.tokens[index][0] if 0 <= index < len(self.tokens) else ''

    def words(self, first, end):
        return [self.word(k) for k in range(first, end)]

    def start(self, index):
        return self.tokens[index][1]

    def end(self, index):
        return self.start(index) + len(self.word(index))

    def spaced(self, index):
        """Blanks are on both sides: an operator with two operands, and no pointer's star."""
        return self.text[self.start(index) - 1].isspace() and \
            self.text[self.end(index):self.end(index) + 1].isspace()

    def closing(self, index):
        """Index of the parenthesis that closes the one at `index`."""
        depth = 0
        for k in range(index, len(self.tokens)):
            depth += {'(': 1, ')': -1}.get(self.word(k), 0)
            if not depth:
                return k
        return len(self.tokens)

    def site(self, first, last, texts):
        """One place with the texts that may stand there instead of tokens first to last."""
        return [Mutant(self.path, self.start(first), self.end(last), text) for text in texts]

    def number(self, index):
        match = NUMBER.match(self.word(index))
        around = self.word(index - 1), self.word(index + 1)
        # An initialiser of zeros, and the size of an array that is declared.
        if around == ('{', '}') or (around == ('[', ']') and WORD.match(self.word(index - 3))):
            return []
        # That room is made for one object: more of it shows nowhere.
        if around == (',', ')') and {'g_new', 'g_new0'} & set(self.words(index - 6, index)):
            return []
        if re.match(r'0\d', match[1]):  # octal: the mode of a file
            return []
        value, form = int(match[1], 0), hex if match[1][1:2] in ('x', 'X') else str
        return self.site(index, index, [form(near) + match[2]
                                        for near in (value + 1, value - 1) if near >= 0])

    def condition(self, index):
        """The condition of the `if` or `while` at `index`, turned round or without effect."""
        last = self.closing(index + 1)
        inner = self.text[self.start(index + 1):self.end(last)]
        fixed = [f'(0 && {inner})'] + ([f'(1 || {inner})'] if self.word(index) == 'if' else [])
        return self.site(index + 1, last, [f'(!{inner})'] + fixed)

    def statement(self, index):
        """The statement that begins at `index`, left out; nothing if it declares something."""
        first = self.word(index)
        if first in ('break', 'continue'):
            return self.site(index, index + 1, ['{}'])
        if not WORD.match(first) or first in NO_STATEMENT or UNJUDGED.match(first):
            return []
        follows = self.word(index + 1)
        if WORD.match(follows) or follows == ':' or \
                (follows == '*' and not self.spaced(index + 1)):
            return []
        depth = 0
        for k in range(index, len(self.tokens)):
            word = self.word(k)
            depth += {'(': 1, '{': 1, '[': 1, ')': -1, '}': -1, ']': -1}.get(word, 0)
            if depth < 0:
                return []
            if word == ';' and not depth:
                lines = self.text[self.start(index):self.end(k)].count('\n')
                return self.site(index, k, ['{}' + '\n' * lines])
        return []

    def sites(self):
        """Each place that can be mutated, as a list of its mutants."""
        body = 0  # depth of braces
        head = 0  # end of the latest head of a `for`
        heads = set()  # where the heads of `if`, `while` and `for` end: a statement may follow
        for i, (word, _) in enumerate(self.tokens):
            body += {'{': 1, '}': -1}.get(word, 0)
            if word in ('if', 'while', 'for'):
                heads.add(self.closing(i + 1))
                head = self.closing(i + 1) if word == 'for' else head
            in_head = i <= head
            begins = i - 1 in heads or self.word(i - 1) in ('{', '}', ';', ':', 'else')
            if word in SWAPS and self.spaced(i):
                yield self.site(i, i, SWAPS[word])
            elif word in ('++', '--') and not in_head:
                yield self.site(i, i, ['--' if word == '++' else '++'])
            elif word == '!':
                yield self.site(i, i, [' '])
            elif word in WORDS and (word.islower() or self.word(i - 1) in ('return', '=')):
                yield self.site(i, i, [WORDS[word]])
            elif NUMBER.match(word):
                yield self.number(i)
            elif word in ('if', 'while') and self.word(i - 1) != '}':
                yield self.condition(i)
            elif body and not in_head and begins:
                yield self.statement(i)


def sites_of(path, text):
    return [site for site in Source(path, text).sites() if site]


def kind(mutant, text):
    """What sort of change it is: each sort is drawn equally often, however frequent it is."""
    old = text[mutant.start:mutant.end]
    if mutant.text.startswith('{}'):
        return 'statement'
    if mutant.text.startswith(('(!', '(0 &&', '(1 ||')) or old == '!':
        return 'condition'
    if old in ('&&', '||'):
        return 'logic'
    if old in ('<', '<=', '>', '>=', '==', '!='):
        return 'relation'
    return 'constant' if NUMBER.match(old) or old in WORDS else 'arithmetic'


def apply(mutant, text):
    return text[:mutant.start] + mutant.text + text[mutant.end:]


def diff(mutant, text):
    """`file:line`, then the lines before and after."""
    first = text.rfind('\n', 0, mutant.start) + 1
    last = text.find('\n', mutant.end)
    old = text[first:last]
    new = apply(mutant, text)[first:last - len(text) or None]
    line = text.count('\n', 0, mutant.start) + 1
    lines = [f'{mutant.path}:{line}']
    lines += ['-' + part for part in old.split('\n')]
    lines += ['+' + part for part in new.split('\n') if part]
    return '\n'.join(lines)
