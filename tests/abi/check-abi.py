#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-abi.py CC ROOT: compares the tables of docs/abi.md with shared/include/ringside.

Every struct, field and constant of the headers must have its row, and every row its struct, field
or constant. The compiler says the offsets, sizes and values. With --list it prints the contents of
the headers as JSON, for writing new rows."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

PAGES = ["docs/abi.md", "docs/file-format.md"]
FIELD = re.compile(r"^\s*((?:struct\s+)?\w+)\s+(\w+)((?:\[[^\]]+\])*);", re.M)


def read_headers(root):
    structs, constants = {}, {}
    for path in sorted(glob.glob(os.path.join(root, "shared/include/ringside/*.h"))):
        header = os.path.basename(path)
        text = open(path, encoding="utf-8").read()
        bare = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
        for match in re.finditer(r"^struct (\w+) \{(.*?)^\};", bare, re.M | re.S):
            if "*" in match.group(2):
                continue  # a pointer is one side's own
            structs[match.group(1)] = {
                "header": header,
                "fields": [(m.group(2), m.group(1) + m.group(3)) for m in FIELD.finditer(match.group(2))]}
            body = FIELD.sub("", match.group(2)).strip()
            if body:
                sys.exit(f"{header}: cannot read in struct {match.group(1)}: {body}")
        for match in re.finditer(r"^\s*#\s*define (RS_\w+)[ \t]+(\S[^\n]*)", bare, re.M):
            if match.group(1) not in ("RS_ATOMIC_GENERIC", "RS_ATOMIC_SANITIZED"):
                constants[match.group(1)] = header
        for match in re.finditer(r"^enum[^{]*\{(.*?)\};", bare, re.M | re.S):
            for name in re.findall(r"\b(RS_\w+)\b\s*(?:=|,|$)", match.group(1), re.M):
                constants[name] = header
    return structs, constants


def read_document(root, name, structs, constants):
    """Adds what the tables of a page say to what other pages have said."""
    current, path = None, os.path.join(root, name)
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        heading = re.match(r"### `struct (\w+)`: (\d+) bytes", line)
        if heading:
            current = structs[heading.group(1)] = {"size": int(heading.group(2)), "fields": {}}
            continue
        if line.startswith("#") or line.startswith("| Constant "):
            current = None
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        if not line.startswith("|") or set(cells[0]) <= set("-: ") or cells[0] in ("Offset", "Constant"):
            continue
        if current is not None:
            if len(cells) != 6 or not cells[4] or not cells[5]:
                sys.exit(f"{name}:{number}: a field's row has 6 cells, none empty")
            offset, size, kind, field = cells[:4]
            field = field.strip("`")
            if field in current["fields"]:
                sys.exit(f"{name}:{number}: {field} is there twice")
            current["fields"][field] = (int(offset), int(size), kind.strip("`"))
        elif re.match(r"`RS_\w+`$", cells[0]):
            if len(cells) != 3 or not cells[2]:
                sys.exit(f"{name}:{number}: a constant's row has 3 cells, none empty")
            constant = cells[0].strip("`")
            if constant in constants:
                sys.exit(f"{name}:{number}: {constant} is there twice")
            constants[constant] = cells[1].strip("`")


def compile_c(cc, root, lines, run=False):
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "abi.c")
        program = os.path.join(work, "abi")
        headers = sorted(os.path.basename(p)
                         for p in glob.glob(os.path.join(root, "shared/include/ringside/*.h")))
        with open(source, "w", encoding="utf-8") as out:
            out.write("#include <stdio.h>\n#include <stddef.h>\n")
            out.writelines(f"#include <ringside/{h}>\n" for h in headers)
            out.write("\n".join(lines) + "\n")
        command = cc + ["-std=gnu17", "-I" + os.path.join(root, "shared/include"), source]
        command += ["-o", program] if run else ["-fsyntax-only"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return None, re.sub(r"^.*?/abi\.c:\d+:\d+: ", "", done.stderr, flags=re.M)
        return subprocess.run([program], capture_output=True, text=True).stdout if run else "", ""


def list_headers(cc, root, structs, constants):
    lines = ["int main(void) {"]
    for name, struct in structs.items():
        lines.append(f'printf("S {name} %zu\\n", sizeof(struct {name}));')
        for field, _ in struct["fields"]:
            lines.append(f'printf("F {name} {field} %zu %zu\\n", offsetof(struct {name}, {field}), '
                         f'sizeof(((struct {name} *)0)->{field}));')
    for name in constants:
        lines.append(f'printf("C {name} %llu\\n", (unsigned long long)({name}));')
    text, error = compile_c(cc, root, lines + ["return 0; }"], run=True)
    if error:
        sys.exit(error)
    print(json.dumps({"structs": structs, "constants": constants, "values": text.splitlines()}))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--list"]
    root, cc = arguments[-1], arguments[:-1]
    structs, constants = read_headers(root)
    if len(structs) < 10 or len(constants) < 50:
        sys.exit("the headers were not understood")
    if "--list" in sys.argv:
        list_headers(cc, root, structs, constants)
        return
    doc_structs, doc_constants = {}, {}
    for page in PAGES:
        read_document(root, page, doc_structs, doc_constants)
    wrong, lines = [], []
    for kind, ours, theirs in (("struct", structs, doc_structs), ("constant", constants, doc_constants)):
        wrong += [f"{kind} {n} has no place in {PAGES}" for n in ours if n not in theirs]
        wrong += [f"{kind} {n} of the pages is not in the headers" for n in theirs if n not in ours]
    for name, doc in doc_structs.items():
        if name not in structs:
            continue
        have = dict(structs[name]["fields"])
        wrong += [f"{name}.{f} has no row" for f in have if f not in doc["fields"]]
        lines.append(f'_Static_assert(sizeof(struct {name}) == {doc["size"]}, "size of {name}");')
        for field, (offset, size, kind) in doc["fields"].items():
            if field not in have:
                wrong.append(f"{name}.{field} is not in the header")
                continue
            if have[field] != kind:
                wrong.append(f"{name}.{field} is a {have[field]}, not a {kind}")
            lines.append(f'_Static_assert(offsetof(struct {name}, {field}) == {offset}, '
                         f'"offset of {name}.{field}");')
            lines.append(f'_Static_assert(sizeof(((struct {name} *)0)->{field}) == {size}, '
                         f'"size of {name}.{field}");')
    for name, value in doc_constants.items():
        if name in constants:
            if value.startswith('"'):
                lines.append(f'_Static_assert(!__builtin_strcmp({name}, {value}), "value of {name}");')
                continue
            value = value if value.startswith("-") else value + "ull"
            lines.append(f'_Static_assert((unsigned long long)({name}) == '
                         f'(unsigned long long)({value}), "value of {name}");')
    _, error = compile_c(cc, root, lines)
    if error:
        wrong.append(error)
    if wrong:
        sys.exit(f"{PAGES} and shared/include/ringside differ:\n" + "\n".join(wrong))
    print(f"{len(doc_structs)} structs and {len(doc_constants)} constants agree")


main()
