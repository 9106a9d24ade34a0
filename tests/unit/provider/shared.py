#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Statements in a header's functions, in C and C++, as a program and as a shared library.

    shared.py FOLDER AGENT_LIBRARY INCLUDE..."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

FOLDER, LIBRARY = pathlib.Path(sys.argv[1]), sys.argv[2]
INCLUDES = ["-I" + i for i in sys.argv[3:]]
LANGUAGES = {"gcc": ["-std=gnu17"], "clang": ["-std=gnu17"],
             "g++": ["-x", "c++", "-std=c++17"], "clang++": ["-x", "c++", "-std=c++17"]}
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print("#", *command)
        print("# " + (done.stdout + done.stderr).replace("\n", "\n# "))
    return done.returncode == 0


def build(compiler, work, level, shared):
    """The program; None if it cannot be built. `shared`: its second file is a library's, whole."""
    objects = []
    for name in "shared-main", "shared-other":
        objects.append(str(work / f"{name}.o"))
        if not run(compiler, *LANGUAGES[compiler], level, *WARNINGS, *INCLUDES,
                   *(["-fPIC"] if shared else []), "-c", "-o", objects[-1],
                   str(FOLDER / f"{name}.c")):
            return None
    program = str(work / "program")
    if not shared:
        return program if run(compiler, "-o", program, *objects, LIBRARY, "-lpthread") else None
    # The library is the program, but for a start that calls it.
    library, start = str(work / "libshared.so"), work / "start.c"
    start.write_text("int shared_main(void);\nint main(void) { return shared_main(); }\n")
    done = (run("objcopy", "--redefine-sym", "main=shared_main", objects[0])
            and run(compiler, "-shared", "-Wl,--no-undefined", "-o", library, *objects, LIBRARY,
                    "-lpthread")
            and run("cc", "-o", program, str(start), library, f"-Wl,-rpath,{work}"))
    return program if done else None


def test_statements_in_functions_of_headers(compiler):
    good = True
    for level in "-O0", "-O2":
        for shared in False, True:
            with tempfile.TemporaryDirectory(prefix="ringside-shared-") as work:
                program = build(compiler, pathlib.Path(work), level, shared)
                good &= bool(program) and run(program)
    return good


def main():
    failed = 0
    print(f"1..{len(LANGUAGES)}")
    for number, compiler in enumerate(LANGUAGES, 1):
        if not shutil.which(compiler):
            print(f"ok {number} - {compiler} # SKIP not there")
            continue
        good = test_statements_in_functions_of_headers(compiler)
        failed += not good
        print("ok" if good else "not ok", f"{number} - {compiler}", flush=True)
    return 1 if failed else 0


sys.exit(main())
