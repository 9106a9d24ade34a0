#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds test-sites.c in every way and runs it: sites.py SOURCE AGENT_LIBRARY INCLUDE..."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

VARIANTS = {
    "pie": ["-fPIE", "-pie"],
    "no-pie": ["-fno-pie", "-no-pie"],
    "static": ["-fno-pie", "-static"],
    "static-pie": ["-fPIE", "-static-pie"],
}
LEVELS = ["-O0", "-O2", "-Os"]
# Functions may begin anywhere, and each has its own section.
ODD = ["-falign-functions=1", "-ffunction-sections"]


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main():
    source, library, includes = sys.argv[1], sys.argv[2], ["-I" + i for i in sys.argv[3:]]
    number = failed = 0
    for compiler in ["gcc", "clang"]:
        for name, flags in VARIANTS.items():
            for level in LEVELS:
                number += 1
                title = f"{number} - {compiler} {name} {level}"
                if not shutil.which(compiler):
                    print("ok", title, "# SKIP no", compiler)
                    continue
                with tempfile.TemporaryDirectory(prefix="ringside-sites-") as work:
                    program = str(pathlib.Path(work) / "sites")
                    code, out = run([compiler, "-std=gnu17", "-Wall", "-Wextra", "-Werror",
                                     "-Wno-unused-parameter", level, *ODD, *flags, *includes,
                                     "-o", program, source, library, "-lpthread"])
                    if code == 0:
                        code, out = run([program])
                failed += code != 0
                print("ok" if code == 0 else "not ok", title)
                for line in out.splitlines():
                    print("#", line.lstrip("# "))
                sys.stdout.flush()
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
