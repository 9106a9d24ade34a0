#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the benchmarks and LTTng-UST in turn and prints the tables of docs/performance.md.

usage: report.py BENCH_EMIT BENCH_SESSION BENCH_GUEST BENCH_TARGET [BENCH_LTTNG]
The cost of an event is the best of three runs, and ratios are taken from the same run. If it may,
it gives every program alike a larger share of a busy machine (nice -15).
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RUNS = 3
NO_KVM = 77


def figures(command, env=None):
    """The NAME VALUE UNIT lines of a benchmark program; None: it cannot run here."""
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=120,
                          check=False)
    if done.returncode == NO_KVM:
        return None
    if done.returncode:
        sys.exit("%s: exit code %d" % (" ".join(command), done.returncode))
    out = {}
    for line in done.stdout.splitlines():
        name, value, _unit = line.split()
        out[name] = float(value)
    return out


class Lttng:
    """Our own session daemon if none runs, and one snapshot session at a time."""

    def __init__(self, program):
        self.program = program
        self.home = tempfile.mkdtemp(prefix="ringside-lttng-")
        self.env = dict(os.environ, LTTNG_HOME=self.home)
        self.daemon = None

    def __enter__(self):
        if subprocess.run(["lttng", "--no-sessiond", "list"], env=self.env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode:
            self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.env,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
        return self

    def __exit__(self, *_):
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(20)
        shutil.rmtree(self.home, ignore_errors=True)

    def lttng(self, *words):
        subprocess.run(["lttng", *words], env=self.env, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True, timeout=30)

    def run(self, name, threads=1, expression=None, enabled=True):
        session = "ringside-%d" % os.getpid()
        self.lttng("create", session, "--snapshot")
        try:
            self.lttng("enable-channel", "-u", "--num-subbuf", "4", "--subbuf-size", "1M", "c")
            if enabled:
                words = ["enable-event", "-u", "-c", "c", "bench:pair"]
                if expression:
                    words += ["--filter", expression]
                self.lttng(*words)
            self.lttng("start")
            return figures([self.program, name, str(threads)], self.env)
        finally:
            self.lttng("destroy", session)

    def run_all(self):
        out = self.run("disabled", enabled=False)
        out.update(self.run("enabled"))
        out.update(self.run("enabled2", threads=2))
        out.update(self.run("reject1", expression="a == 4294967295"))
        out.update(self.run("reject3",
                            expression="b == 7 && a != 4294967294 && a == 4294967295"))
        out.update(self.run("accept3",
                            expression="b == 7 && a != 4294967294 && a != 4294967295"))
        return out


def best(runs):
    """The smallest of each figure; None if there is no run."""
    runs = [run for run in runs if run]
    return {name: min(run[name] for run in runs) for name in runs[0]} if runs else None


def measure(emit, session, guest, lttng_program):
    hosted, kvm, theirs = [], [], []

    def ours():
        hosted.append(figures([emit]))
        kvm.append(figures([session, "emit", guest]))

    if lttng_program and shutil.which("lttng-sessiond"):
        with Lttng(lttng_program) as lttng:
            for _ in range(RUNS):
                ours()
                theirs.append(lttng.run_all())
    else:
        print("LTTng-UST is not here: no ratios (packages lttng-tools, liblttng-ust-dev)")
        for _ in range(RUNS):
            ours()
    return best(hosted), best(kvm), best(theirs), kvm[-1]


def ratio(theirs, ours):
    return "%.1fx" % (theirs / ours) if theirs and ours else "-"


def of_floor(ours, floor):
    return "%.2fx" % (ours / floor) if ours and floor else "-"


def number(value):
    return "-" if value is None else "%.2f" % value


# Title, name in LTTng-UST, in bench-emit, in bench-guest, and what is wanted. "Floor" is RDTSC and
# one store in the same loop. A guest's filters run as the session makes them: as machine code.
EMIT = [
    ("empty loop", "empty", "empty", "empty-loop", ""),
    ("RDTSC and one store (floor)", "floor", "floor", "rdtsc-and-store", ""),
    ("disabled site", None, "disabled", "disabled-site", "within 0.1 ns of the empty loop"),
    ("enabled event, 2 x u32 and TSC", "enabled", "enabled", "enabled-2xu32",
     "<= 1.5x floor, >= 9x LTTng-UST (KVM); <= 1.7x floor (hosted)"),
    ("the same on 2 CPUs at once, each", "enabled2", "enabled2", "enabled-2xu32-all",
     "aggregate >= 1.98x one"),
    ("filter rejects, 1 term", "reject1", "reject1-native", "reject-1-term", "<= 2.5 ns"),
    ("filter rejects, 3 terms", "reject3", "reject3-native", "reject-3-terms", "<= 3.5 ns"),
    ("filter accepts, 3 terms", "accept3", "accept3-native", "accept-3-terms",
     "<= 3 ns over the event"),
    ("filter rejects, a glob on 16 bytes", None, "glob-native", None, "<= 15 ns"),
    ("as bytecode: rejects, 1 term", None, "reject1", None, ""),
    ("as bytecode: rejects, 3 terms", None, "reject3", None, ""),
    ("as bytecode: rejects, a glob", None, "glob", None, ""),
]


def print_emit(hosted, kvm, lttng, last):
    print("\n| ns, loop included | KVM guest | of floor | LTTng-UST is | hosted | of floor "
          "| LTTng-UST is | LTTng-UST | wanted |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, name, process_name, guest_name, wanted in EMIT:
        in_guest = kvm.get(guest_name) if kvm else None
        in_process = hosted.get(process_name)
        other = lttng.get(name) if lttng else None
        print("| %s | %s | %s | %s | %s | %s | %s | %s | %s |" % (
            title, number(in_guest), of_floor(in_guest, kvm and kvm.get("rdtsc-and-store")),
            ratio(other, in_guest), number(in_process), of_floor(in_process, hosted["floor"]),
            ratio(other, in_process), number(other), wanted))
    print()
    print("an accepted event over one without a filter: hosted %+.2f ns" % (
        hosted["accept3-native"] - hosted["enabled"]), end="")
    print(", KVM %+.2f ns" % (kvm["accept-3-terms"] - kvm["enabled-2xu32"]) if kvm else "")
    print("disabled site over the empty loop: hosted %+.2f ns" % (
        hosted["disabled"] - hosted["empty"]), end="")
    print(", KVM %+.2f ns" % (kvm["disabled-site"] - kvm["empty-loop"]) if kvm else "")
    print("two CPUs, aggregate: hosted %.2fx one" % (2 * hosted["enabled"] / hosted["enabled2"]),
          end="")
    if not kvm:
        print("\nno KVM here: nothing measured in a guest")
        return
    print(", KVM %.2fx one" % (2 * kvm["enabled-2xu32"] / kvm["enabled-2xu32-all"]))
    for name in ("enabled-2xu32", "enabled-2xu32-all"):
        events, exits = last[name + ".events"], last[name + ".exits"]
        print("KVM's own exit counter over %s: %d exits for %d events, %.6f an event" % (
            name, exits, events, exits / events))


CONTROL = [
    ("enable 1,024 sites in one batch", "batch-on", "<= 500"),
    ("disable them", "batch-off", ""),
    ("guest paused for the batch", "batch-pause", ""),
    ("enable 1 site -> first event read by the host", "first", "<= 300"),
    ("of it, the enable call", "first-enable", ""),
    ("guest paused for it", "first-pause", ""),
    ("longest that a vCPU or thread stood still", "first-still", "<= 50"),
    ("the same, nothing being switched", "unswitched-still", ""),
]


def print_control(columns):
    columns = [(title, run) for title, run in columns if run]
    print("\n| us: best, median, worst | %s | wanted |" % " | ".join(c[0] for c in columns))
    print("|---|%s---|" % ("---|" * len(columns)))
    for title, name, wanted in CONTROL:
        cells = ["%.0f, %.0f, %.0f" % (run[name], run[name + ".median"], run[name + ".max"])
                 for _, run in columns]
        print("| %s | %s | %s |" % (title, " | ".join(cells), wanted))


def main():
    emit, session, guest, target = sys.argv[1:5]
    try:
        raised = os.nice(0) - os.nice(-15)
    except PermissionError:
        raised = 0
    hosted, kvm, lttng, last = measure(emit, session, guest,
                                       sys.argv[5] if len(sys.argv) > 5 else None)
    print_emit(hosted, kvm, lttng, last)
    os.nice(raised)  # a session that is nice has no priority of its own
    print_control([
        ("KVM, 1 vCPU", figures([session, "control", "kvm", guest, "1"])),
        ("KVM, 2 vCPUs", figures([session, "control", "kvm", guest, "2"])),
        ("hosted, 1 thread", figures([session, "control", "hosted", target, "1"])),
        ("hosted, 2 threads", figures([session, "control", "hosted", target, "2"])),
    ])
    return 0


sys.exit(main())
