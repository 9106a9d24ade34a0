#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may include whom (docs/architecture.md). Prints each offence as file:line."""
import os
import re
import sys

HV_SIBLINGS = ("vmm", "qemu", "hosted", "ring", "patch", "filter")
SYSTEM = re.compile(r"^(glib|gio|glib-object|json-glib|capstone|libvirt|gtk|adwaita)\b")


def room(path):
    parts = path.split("/")
    if parts[0] == "hv" and len(parts) > 2:
        return "hv/" + parts[1]
    if parts[0] == "viewer":
        return "/".join(parts[:2])
    return parts[0]


def target_room(root, path, name):
    """The room that an include leads to, or None when it is a system header."""
    here = os.path.join(os.path.dirname(path), name)
    candidates = [here, "hv/" + name, "shared/include/" + name, "guest-agent/include/" + name,
                  "guest-agent/" + name, "viewer/decode/" + name, name]
    for candidate in candidates:
        candidate = os.path.normpath(candidate)
        if os.path.isfile(os.path.join(root, candidate)):
            return room(candidate)
    return None


def allowed(source, target, name):
    if source == target or target == "shared":
        return True
    if source.startswith("hv/") and name == "rs-trace-escape.h":
        return True
    if source == "hv/cli":
        return target.startswith("hv/") or target == "viewer/decode"
    if source == "hv/session":
        return (target.startswith("hv/") and target != "hv/cli") or name == "rs-trace-schema.h"
    if source in ["hv/" + s for s in HV_SIBLINGS]:
        return target in ("hv/base", "hv/target") or \
            (source == "hv/filter" and name == "rs-trace-schema.h")
    if source == "hv/target":
        return target == "hv/base"
    if source == "viewer/app":
        return target == "viewer/decode"
    return False


def system_allowed(path, source, name):
    found = SYSTEM.match(name)
    if not found:
        return True
    library = found.group(1)
    if source in ("shared", "guest-agent"):
        return False
    if library == "capstone":
        return os.path.basename(path).startswith("insn")
    if library == "libvirt":
        return os.path.basename(path).startswith("libvirt")
    if library in ("gtk", "adwaita"):
        return source == "viewer/app"
    return True


def main():
    root = sys.argv[1]
    bad = checked = 0
    for top in ("shared", "guest-agent", "hv", "viewer"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for file in sorted(files):
                if not file.endswith((".c", ".h", ".S")):
                    continue
                path = os.path.relpath(os.path.join(folder, file), root)
                source = room(path)
                for number, line in enumerate(open(os.path.join(root, path), encoding="utf-8"), 1):
                    found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
                    if not found:
                        continue
                    checked += 1
                    name = found.group(1)
                    target = target_room(root, path, name)
                    if target is None:
                        ok = system_allowed(path, source, name)
                    else:
                        ok = allowed(source, target, name)
                    if not ok:
                        bad += 1
                        print(f"{path}:{number}: {source} may not include {name}")
    print(f"{checked} includes, {bad} in the wrong direction")
    return 1 if bad or not checked else 0


sys.exit(main())
