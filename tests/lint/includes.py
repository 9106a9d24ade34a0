#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may include whom (docs/architecture.md). Prints each offence as file:line."""
import contextlib
import io
import os
import re
import sys
import tempfile

# Rooms of the agent beside its core (docs/adr/0015): they never meet, and the core knows none.
DIALECTS = ("tracepoint", "provider", "ktrace", "utrace")
# The port to a whole OS, which uses dialects as an OS does.
OS_PORT = "guest-agent/ports/linux-module/"
VIEWER = ("viewer/decode", "viewer/filter", "viewer/symbols", "viewer/analysis", "viewer/observe",
          "viewer/disasm", "viewer/export", "viewer/timeline", "viewer/document", "viewer/expect", "viewer/test")
HV_SIBLINGS = ("vmm", "qemu", "hosted", "host", "libvirt", "region", "patch", "native")
# What hv may use of the viewer's libraries (docs/adr/0001).
HV_MAY = {
    "hv/region": ("rs-trace-region.h", "rs-trace-mapping.h", "rs-trace-directory.h", "rs-trace-clock.h"),
    "hv/clock": ("rs-trace-clock.h", "rs-trace-region.h"),
    "hv/machine": ("rs-trace-region.h", "rs-trace-ring-info.h"),
    "hv/session": ("rs-trace-clock.h", "rs-trace-glob.h", "rs-trace-schema.h", "rs-trace-region.h",
                   "rs-trace-symbol-file.h", "rs-trace-table.h", "rs-trace-ring-info.h", "rs-trace-ring-change.h", "filter/filter.h",
                   "filter/nearest.h", "filter/rs-trace-event-glob.h"),
    "hv/server": ("rs-trace-region.h", "rs-trace-rundir.h", "rs-trace-session-error.h",
                  "rs-session-dbus.h"),
}
# Headers made in the build tree, and the folders to which they belong.
GENERATED = {"rs-session-dbus.h": "viewer/observe/rs-session-dbus.h",
             "rs-trace-paths.h": "viewer/decode/rs-trace-paths.h",
             "rs-viewer-paths.h": "viewer/app/rs-viewer-paths.h"}
# Private headers: only their own folder includes them.
PRIVATE = re.compile(r"(^|[-_])(private|internal)\.h$")
SYSTEM = re.compile(r"^(glib|gio|glib-object|json-glib|capstone|libvirt|gtk|adwaita|trace-cmd|event-parse|trace-seq)\b")


def room(path):
    parts = path.split("/")
    if parts[0] == "hv" and len(parts) > 2:
        return "hv/" + parts[1]
    if parts[0] == "viewer":
        return "/".join(parts[:2])
    if parts[0] == "guest-agent" and len(parts) > 2:
        # A public header belongs to the dialect after which it is named: utrace.h, utrace_os.h.
        name = re.split(r"[._]", parts[-1])[0] if parts[1] == "include" else parts[1]
        if name in DIALECTS:
            return "guest-agent/" + name
    return parts[0]


def target_file(root, path, name):
    """The file that an include means, or None for a system header."""
    if name in GENERATED:
        return GENERATED[name]
    here = os.path.join(os.path.dirname(path), name)
    candidates = [here, "hv/" + name, "shared/include/" + name, "guest-agent/include/" + name,
                  "guest-agent/" + name, "guest-agent/core/" + name, "viewer/" + name,
                  "viewer/decode/" + name, "viewer/symbols/" + name, "viewer/observe/" + name,
                  "viewer/disasm/" + name, "viewer/test/" + name,
                  "viewer/export/" + name, "viewer/import/" + name, name]
    for candidate in candidates:
        candidate = os.path.normpath(candidate)
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return None


def allowed(path, target_path, name):
    source, target = room(path), room(target_path)
    if PRIVATE.search(name):
        return os.path.dirname(path) == os.path.dirname(target_path)
    if source == target or target == "shared":
        return True
    if path.startswith(OS_PORT):
        return target.startswith("guest-agent")
    if source.startswith("guest-agent/"):
        return target == "guest-agent"
    # The one agent of the host (docs/adr/0027).
    if source == "hv/host" and target_path.startswith("guest-agent/include/"):
        return True
    if source.startswith("hv/") and name == "rs-trace-escape.h":
        return True
    if source == "hv/cli":
        return target.startswith("hv/") or \
            target in VIEWER and target not in ("viewer/timeline", "viewer/document", "viewer/test")
    if source == "viewer/filter" and target_path == "guest-agent/core/filter.h":
        return True  # what runs a program in the guest runs it here (docs/adr/0019)
    if source in ("viewer/analysis", "viewer/observe", "viewer/export",
                  "viewer/import") and target == "viewer/symbols":
        return True
    if source in ("viewer/filter", "viewer/symbols", "viewer/observe", "viewer/disasm",
                  "viewer/export", "viewer/import", "viewer/timeline"):
        return target == "viewer/decode"
    if source == "viewer/analysis":
        return target in ("viewer/decode", "viewer/filter")
    if source == "viewer/expect":
        return target in ("viewer/decode", "viewer/filter", "viewer/analysis")
    if source == "viewer/test":
        return target in ("viewer/decode", "viewer/filter", "viewer/analysis", "viewer/expect", "viewer/observe")
    # What windows stand on has no window itself.
    if source in ("viewer/document", "viewer/app"):
        return target in VIEWER and target != "viewer/test"
    if target.startswith("viewer/"):
        return name in HV_MAY.get(source, ())
    if source == "hv/server":
        return target in ("hv/base", "hv/region", "hv/session")
    if source == "hv/session":
        return target.startswith("hv/") and target not in ("hv/server", "hv/cli")
    if source == "hv/clock":
        return target in ("hv/base", "hv/target", "hv/region")
    if source in ["hv/" + s for s in HV_SIBLINGS]:
        return target in ("hv/base", "hv/target")
    if source == "hv/machine":
        return target in ["hv/" + s for s in ("base", "target", "clock") + HV_SIBLINGS]
    if source == "hv/target":
        return target == "hv/base"
    return False


def system_allowed(path, source, name):
    found = SYSTEM.match(name)
    if not found:
        return True
    library = found.group(1)
    if source == "shared" or source.startswith("guest-agent"):
        return False
    if library == "capstone":
        return os.path.basename(path).startswith(("insn", "rs-trace-disasm"))
    # They are not made for hostile files: only ringside-import has them.
    if library in ("trace-cmd", "event-parse", "trace-seq"):
        return os.path.basename(path).startswith(("rs-trace-dat-event", "rs-trace-dat-expand",
                                                  "rs-trace-dat-import",
                                                  "rs-trace-dat-kallsyms", "rs-trace-dat-pages",
                                                  "rs-trace-dat-print"))
    if library == "libvirt":
        return path == "hv/libvirt/libvirt.c"
    if library in ("gtk", "adwaita"):
        return source == "viewer/app"
    return True


def check(root):
    """Prints each offence; returns how many there are, and of how many includes."""
    bad = checked = 0
    for top in ("shared", "guest-agent", "hv", "viewer"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for file in sorted(files):
                if not file.endswith((".c", ".h", ".S")):
                    continue
                path = os.path.relpath(os.path.join(folder, file), root)
                for number, line in enumerate(open(os.path.join(root, path), encoding="utf-8"), 1):
                    found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
                    if not found:
                        continue
                    checked += 1
                    name = found.group(1)
                    target = target_file(root, path, name)
                    if target is None:
                        ok = system_allowed(path, room(path), name)
                    else:
                        ok = allowed(path, target, name)
                    if not ok:
                        bad += 1
                        print(f"{path}:{number}: {room(path)} may not include {name}")
    return bad, checked


# A tree with one offence of each kind, and as many correct includes.
PLANTED = {
    "shared/include/ringside/a.h": "#include <glib.h>",
    "guest-agent/core/a.c": '#include "target/target.h"',
    "guest-agent/core/core.h": "#include <ringside/agent.h>",
    "guest-agent/core/b.c": "#include <ringside/utrace_os.h>",
    "guest-agent/include/ringside/agent.h": "#include <ringside/a.h>",
    "guest-agent/include/ringside/ktrace.h": "#include <ringside/agent.h>",
    "guest-agent/include/ringside/utrace_os.h": "#include <ringside/a.h>",
    "guest-agent/ktrace/ktrace.c": "#include <ringside/ktrace.h>",
    "guest-agent/ktrace/list.h": '#include "core.h"',
    "guest-agent/ports/hosted/a.c": "#include <ringside/ktrace.h>",
    "guest-agent/ports/linux-module/a.c": "#include <ringside/ktrace.h>",
    "guest-agent/utrace/a.c": "#include <ringside/utrace_os.h>",
    "guest-agent/utrace/b.c": "#include <ringside/ktrace.h>",
    "guest-agent/utrace/c.c": '#include "ktrace/list.h"',
    "guest-agent/utrace/d.c": "#include <glib.h>",
    "guest-agent/utrace/e.c": '#include "target/target.h"',
    "hv/target/target.h": "#include <ringside/a.h>",
    "hv/target/target-private.h": "",
    "hv/target/target.c": '#include "target/target-private.h"',
    "hv/vmm/vmm.h": '#include "target/target-private.h"',
    "hv/vmm/internal.h": "",
    "hv/vmm/vmm.c": '#include "internal.h"',
    "hv/qemu/qemu.c": '#include "vmm/vmm.h"',
    "hv/host/host.h": '#include "target/target.h"',
    "hv/host/host.c": "#include <ringside/agent.h>",
    "hv/host/wrong.c": '#include "core/ring.h"',
    "hv/hosted/wrong.c": "#include <ringside/agent.h>",
    "hv/session/host.c": '#include "host/host.h"',
    "hv/vmm/wrong2.c": '#include "host/host.h"',
    "hv/libvirt/libvirt.c": "#include <libvirt/libvirt.h>",
    "hv/libvirt/domain.h": '#include "target/target.h"',
    "hv/libvirt/domain.c": "#include <libvirt/libvirt.h>",
    "hv/libvirt/wrong.c": '#include "vmm/vmm.h"',
    "hv/machine/domain.c": '#include "libvirt/domain.h"',
    "hv/machine/machine.h": "",
    "hv/machine/machine.c": '#include "vmm/vmm.h"',
    "hv/machine/wrong.c": '#include "session/session.h"',
    "hv/vmm/wrong.c": '#include "machine/machine.h"',
    "guest-agent/core/filter.h": "",
    "guest-agent/core/ring.h": "",
    "viewer/filter/filter.h": "#include <rs-trace-schema.h>",
    "viewer/filter/selection.c": '#include "core/filter.h"',
    "viewer/filter/wrong.c": '#include "core/ring.h"',
    "viewer/analysis/stat.h": '#include "filter/filter.h"',
    "viewer/analysis/wrong.c": '#include <rs-trace-ring.h>',
    "viewer/filter/wrong2.c": '#include "analysis/stat.h"',
    "viewer/decode/wrong.c": '#include "filter/filter.h"',
    "hv/session/rules.c": '#include "filter/filter.h"',
    "hv/vmm/filter.c": '#include "filter/filter.h"',
    "hv/patch/patch.c": "#include <rs-trace-schema.h>",
    "hv/patch/dbus.c": "#include <rs-session-dbus.h>",
    "hv/clock/clock.c": '#include "vmm/vmm.h"',
    "hv/server/server.h": "",
    "hv/server/server.c": '#include "session/session.h"',
    "hv/session/plan.c": '#include "server/server.h"',
    "hv/session/session.c": "#include <rs-trace-ring.h>",
    "hv/cli/main.c": "#include <rs-trace-ring.h>",
    "viewer/decode/rs-trace-schema.h": "#include <rs-trace-ring.h>",
    "viewer/observe/rs-trace-ring.h": "#include <rs-trace-schema.h>",
    "viewer/observe/rs-trace-ring.c": '#include "session/session.h"',
    "viewer/app/app.c": "#include <gtk/gtk.h>",
    "viewer/app/room.c": '#include "document/document.h"',
    "viewer/app/wrong.c": '#include "session/session.h"',
    "viewer/document/document.h": '#include "timeline/timeline.h"',
    "viewer/document/live.c": "#include <rs-trace-ring.h>",
    "viewer/document/wrong.c": '#include "app/app.h"',
    "viewer/document/wrong2.c": "#include <gtk/gtk.h>",
    "viewer/app/app.h": "#include <adwaita.h>",
    "viewer/timeline/timeline.h": "#include <rs-trace-schema.h>",
    "viewer/timeline/wrong.c": "#include <rs-trace-ring.h>",
    "hv/cli/window.c": '#include "document/document.h"',
    "viewer/disasm/rs-trace-disasm.h": "",
    "viewer/disasm/rs-trace-disasm.c": "#include <capstone/capstone.h>",
    "viewer/disasm/a.c": "#include <rs-trace-ring.h>",
    "viewer/observe/a.c": "#include <rs-trace-disasm.h>",
    "viewer/observe/b.c": "#include <capstone/capstone.h>",
    "hv/cli/engine.c": "#include <rs-trace-disasm.h>",
    "hv/cli/export.c": "#include <rs-trace-exporter.h>",
    "viewer/export/rs-trace-exporter.h": "#include <rs-trace-schema.h>",
    "viewer/export/a.c": "#include <rs-trace-ring.h>",
    "viewer/import/rs-trace-dat-import.c": "#include <trace-cmd.h>",
    "viewer/import/rs-trace-dat-import.h": "",
    "viewer/import/main.c": "#include <trace-cmd.h>",
    "viewer/decode/rs-trace-dat-stream.c": "#include <trace-cmd.h>",
    "hv/cli/import.c": "#include <rs-trace-dat-import.h>",
    "viewer/observe/c.c": "#include <rs-trace-exporter.h>",
    "hv/session/session.h": "#include <gtk/gtk.h>",
    "viewer/test/rs-test-guest.h": "#include <rs-trace-ring.h>",
    "viewer/test/a.c": '#include "filter/filter.h"',
    "viewer/test/b.c": '#include "session/session.h"',
    "viewer/document/test.c": "#include <rs-test-guest.h>",
    "hv/cli/guest.c": "#include <rs-test-guest.h>",
}
PLANTED_BAD = {"shared/include/ringside/a.h", "guest-agent/core/a.c", "hv/vmm/vmm.h",
               "guest-agent/core/b.c", "guest-agent/ports/hosted/a.c", "guest-agent/utrace/b.c", "guest-agent/utrace/c.c",
               "guest-agent/utrace/d.c", "guest-agent/utrace/e.c",
               "hv/host/wrong.c", "hv/hosted/wrong.c", "hv/vmm/wrong2.c",
               "hv/qemu/qemu.c", "hv/libvirt/domain.c", "hv/libvirt/wrong.c", "hv/machine/wrong.c", "hv/vmm/wrong.c", "hv/patch/patch.c",
               "viewer/filter/wrong.c", "viewer/filter/wrong2.c", "viewer/analysis/wrong.c",
               "viewer/decode/wrong.c", "hv/vmm/filter.c",
               "hv/patch/dbus.c", "hv/clock/clock.c", "hv/session/plan.c",
               "hv/session/session.c", "viewer/decode/rs-trace-schema.h",
               "viewer/observe/rs-trace-ring.c", "viewer/disasm/a.c", "viewer/observe/a.c",
               "viewer/observe/b.c", "viewer/export/a.c", "viewer/import/main.c",
               "viewer/decode/rs-trace-dat-stream.c", "hv/cli/import.c", "viewer/observe/c.c",
               "viewer/app/wrong.c", "viewer/document/wrong.c", "viewer/document/wrong2.c",
               "viewer/timeline/wrong.c", "hv/cli/window.c", "hv/session/session.h",
               "viewer/test/b.c", "viewer/document/test.c", "hv/cli/guest.c"}


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, text in PLANTED.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            check(root)
    found = {line.split(":")[0] for line in out.getvalue().splitlines()}
    for path in sorted(found ^ PLANTED_BAD):
        what = "refused" if path in found else "let through"
        print(f"self-test: {path}: {PLANTED[path]} was {what}")
    return found == PLANTED_BAD


def main():
    if not self_test():
        return 1
    bad, checked = check(sys.argv[1])
    print(f"{checked} includes, {bad} in the wrong direction")
    return 1 if bad or not checked else 0


sys.exit(main())
