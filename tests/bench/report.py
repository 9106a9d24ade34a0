#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the emit benchmarks beside LTTng-UST, in turn and in one run, and prints one table.

usage: report.py BENCH_EMIT [BENCH_LTTNG]
Figures are the best of three runs each; ratios are taken from the same run.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RUNS = 3


def figures(command, env=None):
    """The NAME VALUE UNIT lines of a benchmark program."""
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=120,
                          check=True)
    out = {}
    for line in done.stdout.splitlines():
        name, value, _unit = line.split()
        out[name] = float(value)
    return out


class Lttng:
    """A session daemon of our own if none runs, and one snapshot session at a time."""

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
            if enabled:
                self.lttng("enable-channel", "-u", "--num-subbuf", "4", "--subbuf-size", "1M", "c")
                words = ["enable-event", "-u", "-c", "c", "bench:pair"]
                if expression:
                    words += ["--filter", expression]
                self.lttng(*words)
            self.lttng("start")
            return figures([self.program, name, str(threads)], self.env)
        finally:
            self.lttng("destroy", session)


def best(runs):
    return {name: min(run[name] for run in runs) for name in runs[0]}


def measure(emit, lttng_program):
    ours, theirs = [], []
    have = lttng_program and shutil.which("lttng-sessiond")
    if not have:
        print("LTTng-UST is not here: no ratios (packages lttng-tools, liblttng-ust-dev)")
        return best([figures([emit]) for _ in range(RUNS)]), {}
    with Lttng(lttng_program) as lttng:
        for _ in range(RUNS):
            ours.append(figures([emit]))
            run = lttng.run("disabled", enabled=False)
            run.update(lttng.run("enabled"))
            run.update(lttng.run("enabled2", threads=2))
            run.update(lttng.run("reject1", expression="a == 4294967295"))
            run.update(lttng.run("accept3",
                                 expression="b == 7 && a != 4294967294 && a != 4294967295"))
            theirs.append(run)
    return best(ours), best(theirs)


def main():
    emit = sys.argv[1]
    ours, theirs = measure(emit, sys.argv[2] if len(sys.argv) > 2 else None)
    rows = [
        ("empty loop", "empty", ""),
        ("disabled site", "disabled", "<= 0.1 ns over the empty loop"),
        ("enabled event, 1 thread", "enabled", "<= 20 ns, >= 5x LTTng-UST"),
        ("enabled event, 2 threads, each", "enabled2", "aggregate >= 1.8x one"),
        ("filter rejects, 1 term", "reject1", "<= 5 ns"),
        ("filter rejects, 3 terms", "reject3", "<= 10 ns"),
        ("filter accepts, 3 terms", "accept3", ""),
    ]
    print()
    print("| hosted port | Ringside ns | LTTng-UST ns | ratio | wanted |")
    print("|---|---|---|---|---|")
    for title, name, wanted in rows:
        other = theirs.get(name)
        print("| %s | %.2f | %s | %s | %s |" % (
            title, ours[name], "%.2f" % other if other else "-",
            "%.1fx LTTng-UST" % (other / ours[name]) if other else "-", wanted))
    print()
    print("disabled site over the empty loop: %+.2f ns" % (ours["disabled"] - ours["empty"]))
    print("two threads: aggregate %.2fx one" % (2 * ours["enabled"] / ours["enabled2"]))
    return 0


sys.exit(main())
