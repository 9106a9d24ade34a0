#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Linkers that throw sections away keep events and sites.

    linker.py SOURCE AGENT_LIBRARY SCRIPT INCLUDE..."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, LIBRARY, SCRIPT = sys.argv[1:4]
INCLUDES = ["-I" + i for i in sys.argv[4:]]
SECTIONS = ["-ffunction-sections", "-fdata-sections"]
COLLECT = "-Wl,--gc-sections"


def build(compiler, work, *flags):
    """Links the program of the sites, and returns it."""
    program = str(pathlib.Path(work) / "program")
    subprocess.run([compiler, "-std=gnu17", "-w", "-O2", *SECTIONS, *INCLUDES, "-o", program, SOURCE,
                    LIBRARY, *flags, "-lpthread"], check=True, stderr=subprocess.DEVNULL)
    return program


def sections(program):
    """Bytes of the sections of events and of sites."""
    out = subprocess.run(["readelf", "-SW", program], check=True, capture_output=True, text=True).stdout
    found = {name: int(size, 16) for name, size in
             re.findall(r"\] (rs_\w+) +PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", out)}
    return found.get("rs_events", 0), found.get("rs_sites", 0)


def finds_its_sites(program):
    return subprocess.run([program], stdout=subprocess.DEVNULL).returncode == 0


def script(work, text):
    """An OS's script that names the sections itself."""
    (pathlib.Path(work) / "ringside.ld").write_text(text)
    whole = pathlib.Path(work) / "whole.ld"
    whole.write_text(f"SECTIONS {{ INCLUDE {work}/ringside.ld }}\nINSERT AFTER .data;\n")
    return f"-Wl,-T,{whole}"


def test_the_linker_keeps_events_and_sites(compiler, work):
    whole = sections(build(compiler, work))
    text = pathlib.Path(SCRIPT).read_text()
    kept = script(work, text)
    good = all(whole)
    for flags in [], [COLLECT], [kept], [COLLECT, kept]:
        program = build(compiler, work, *flags)
        print("#", *flags, sections(program))
        good &= sections(program) == whole and finds_its_sites(program)
    # So the linker does discard what nobody keeps.
    program = build(compiler, work, COLLECT, script(work, re.sub(r"KEEP\((\*\(\w+\))\)", r"\1", text)))
    print("# without KEEP", sections(program))
    return good and sections(program)[1] < whole[1] and not finds_its_sites(program)


def main():
    compilers = ["gcc", "clang"]
    failed = 0
    print(f"1..{len(compilers)}")
    for number, compiler in enumerate(compilers, 1):
        if not shutil.which(compiler):
            print(f"ok {number} - {compiler} # SKIP not there")
            continue
        with tempfile.TemporaryDirectory(prefix="ringside-linker-") as work:
            good = test_the_linker_keeps_events_and_sites(compiler, work)
        failed += not good
        print("ok" if good else "not ok", f"{number} - {compiler}", flush=True)
    return 1 if failed else 0


sys.exit(main())
