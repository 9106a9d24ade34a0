#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""width.py ROOT: comments and the prose of documents have lines of at most 100 columns (tabs: 8).

Code is clang-format's affair. In documents, tables and blocks of code may be wider. Prints each
offence as file:line."""
import ast
import io
import os
import re
import subprocess
import sys
import tokenize

LIMIT = 100
# A literal, which may hold what looks like a comment, or a comment.
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
# A shell or meson comment: nothing but whole strings stands before it on its line.
SHELL_COMMENT = re.compile(r"""^(?:[^'"#]|'[^']*'|"(?:\\.|[^"\\])*"|(?<=[^\s])#)*(?:^|\s)#""")
PROGRAMS = {"dev": "sh", ".ci/run": "sh"}


def c_lines(text):
    """Numbers of the lines that hold a comment."""
    found = set()
    for match in C_TOKEN.finditer(text):
        if match.group().startswith("/"):
            first = text.count("\n", 0, match.start()) + 1
            found.update(range(first, first + match.group().count("\n") + 1))
    return found


def python_lines(text):
    found = {token.start[0] for token in tokenize.generate_tokens(io.StringIO(text).readline)
             if token.type == tokenize.COMMENT}
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and \
                isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            found.update(range(body[0].lineno, body[0].end_lineno + 1))
    return found


def shell_lines(text):
    return {number for number, line in enumerate(text.split("\n"), 1) if SHELL_COMMENT.match(line)}


def prose_lines(text):
    found, code = set(), False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith(("|", "    ", "\t")):
            found.add(number)
    return found


def every_line(text):
    return range(1, text.count("\n") + 1)


KINDS = {"c": c_lines, "h": c_lines, "S": c_lines, "ld": c_lines, "pml": c_lines,
         "py": python_lines, "sh": shell_lines, "build": shell_lines, "md": prose_lines,
         "xml": every_line}


def offences(path, text):
    lines_of = KINDS.get(PROGRAMS.get(path) or path.rpartition(".")[2])
    if not lines_of:
        return
    lines = text.split("\n")
    for number in sorted(lines_of(text)):
        width = len(lines[number - 1].expandtabs(8))
        if width > LIMIT:
            yield number, width


LONG = "x" * 96
# Path, text, and the lines that are too wide in it.
SAMPLES = [
    ("a.c", f"/* {LONG} */\n", [1]),
    ("a.c", f"int a; // {LONG}\n", [1]),
    ("a.h", f"/*\n * {LONG}x\n * {LONG}xx\n */\n", [3]),
    ("a.c", f'char *a = "/* {LONG}";\n', []),
    ("a.c", "\t" * 12 + "/*a*/\n", [1]),
    ("a.c", "\t" * 12 + "/**/\n", []),
    ("a.pml", f"byte a; /* {LONG} */\n", [1]),
    ("a.py", f"# {LONG}xxx\n", [1]),
    ("a.py", f"a = '# {LONG}xxx'\n", []),
    ("a.py", f'def a():\n    """{LONG}"""\n', [2]),
    ("a.sh", f"true # {LONG}\n", [1]),
    ("a.sh", f"echo '# {LONG}'\n", []),
    ("dev", f"\t# {LONG}\n", [1]),
    ("meson.build", f"# {LONG}xxx\n", [1]),
    ("a.md", f"{LONG}xxxxx\n", [1]),
    ("a.md", f"    {LONG}x\n| {LONG}xxx |\n```\n{LONG}xxxxx\n```\n{LONG}é\n", []),
]


def self_test():
    good = True
    for path, text, expected in SAMPLES:
        found = [number for number, _ in offences(path, text)]
        if found != expected:
            print(f"self-test: {path}: {text!r}: lines {found}, not {expected}")
            good = False
    return good


def main():
    if not self_test():
        return 1
    root = sys.argv[1]
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=False)
    paths = [path for path in listed.stdout.decode().split("\0") if path]
    if not paths:
        print("git lists no files here")
        return 77
    bad = 0
    for path in paths:
        full = os.path.join(root, path)
        if not os.path.isfile(full) or not KINDS.get(PROGRAMS.get(path) or path.rpartition(".")[2]):
            continue
        with open(full, encoding="utf-8") as file:
            for number, width in offences(path, file.read()):
                bad += 1
                print(f"{path}:{number}: {width} columns")
    print(f"{len(paths)} files, {bad} lines of comment or prose wider than {LIMIT} columns")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
