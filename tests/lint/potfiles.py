#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""potfiles.py ROOT [--write]: po/POTFILES names each file of the viewer with words for people.

--write makes the list anew."""
import os
import re
import sys

HEAD = "# SPDX-License-Identifier: MIT\n# What has words to translate; tests/lint/potfiles.py --write makes it.\n"
WORDS = {
    ".c": re.compile(r'\b(_|N_|C_|Q_|NC_|ngettext)\("'),
    ".ui": re.compile(r'translatable="yes"'),
    ".desktop.in": re.compile(r"^Name=", re.M),
    ".metainfo.xml.in": re.compile(r"<summary>"),
    ".gschema.xml": re.compile(r"<summary>"),
}
# What xgettext cannot look into.
MACRO = re.compile(r'\b(?:_|N_|n?gettext|g_dngettext)\((?:NULL,\s*)?"[^"]*%"\s*(G_\w+)')


def with_macros(root, paths):
    """Places where the words for translators are cut by a macro. PRIu64 and its like are known."""
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        for match in MACRO.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start(1)) + 1}: {match[1]}"


def with_words(root):
    found = []
    for folder, _, files in os.walk(os.path.join(root, "viewer")):
        for name in files:
            pattern = next((words for end, words in WORDS.items() if name.endswith(end)), None)
            path = os.path.join(folder, name)
            if pattern and pattern.search(open(path, encoding="utf-8").read()):
                found.append(os.path.relpath(path, root))
    return sorted(found)


def main():
    root = sys.argv[1]
    path = os.path.join(root, "po/POTFILES")
    wanted = with_words(root)
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD + "".join(name + "\n" for name in wanted))
        return 0
    with open(path, encoding="utf-8") as file:
        listed = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    missing, stale = sorted(set(wanted) - set(listed)), sorted(set(listed) - set(wanted))
    cut = list(with_macros(root, wanted))
    print(f"{len(listed)} files; not listed: {missing}; without words: {stale}; cut by macros: {cut}")
    return 1 if missing or stale or cut or not listed or listed != sorted(listed) else 0


sys.exit(main())
