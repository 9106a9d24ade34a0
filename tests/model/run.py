#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a model with spin: run.py check|mutate MODEL CC

check   searches every configuration completely, without finding a failure
mutate  finds each mutation of the algorithm; a mutation that is not found is a hole in the model
Exits 77 only if there is no spin.
"""

import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Two cores at most: other tests run at the same time.
JOBS = 2
SECONDS = 600  # the largest takes 40 on an idle machine

TWO = ["PRODUCERS=2", "FIRST_EMITS=2", "OTHERS_EMIT=1"]
ONE = ["PRODUCERS=1", "FIRST_EMITS=3"]
FULL = ["PRODUCERS=1", "FIRST_EMITS=4", "DROP=1"]
LAPS = ["PRODUCERS=2", "FIRST_EMITS=3", "OTHERS_EMIT=2", "BODY=1", "MOVES=0"]
RING_CHECKS = {
    "two producers, several laps": LAPS,
    "two producers": TWO + ["MOVES=0"],
    "two producers, one moves": TWO + ["BODY=1"],
    "two producers, one may be killed": TWO + ["KILLS=1", "MOVES=0"],
    "two producers, drop mode": TWO + ["DROP=1", "MOVES=0"],
    "two producers, killed in drop mode": TWO + ["DROP=1", "KILLS=1", "MOVES=0", "BODY=1"],
    "three producers": ["PRODUCERS=3", "FIRST_EMITS=1", "BODY=1", "MOVES=0"],
    "two producers, changing modes": TWO + ["FLIPS=2", "MOVES=0", "BODY=1"],
    "two producers, killed in changing modes":
        TWO + ["FLIPS=1", "KILLS=1", "MOVES=0", "BODY=1"],
    "one producer, changing modes": ONE + ["FLIPS=2", "MOVES=0"],
    "one producer": ONE,
    "one producer, drop mode": FULL,
}
RING_MUTATIONS = {
    "NO_CAS": TWO,
    "NO_REUSE_CHECK": TWO,
    "NO_SKIP_LAP": TWO,
    "NO_PAD_COMMIT": TWO,
    "NO_REMOTE": ONE,
    "PLAIN_REMOTE": TWO,
    "RECORDS_OUTSIDE": TWO,
    "COMMIT_EARLY": ONE,
    "STORES_EARLY": ONE,
    "SEQ_FIRST": LAPS,
    "REFUSE_OPEN": FULL,
    "NO_CONSUMED": FULL,
    "PUBLISH_EARLY": FULL,
    "MODE_FIRST": ONE + ["FLIPS=1"],
    "MODE_LATE": ONE + ["FLIPS=1"],
    "NO_SECOND_LOOK": ONE,
    "WORD_FIRST": TWO,
}
TICKETS = ["HALTS=0"]
REBOOT = TICKETS + ["BOOTS=2"]
HYPERCALL_CHECKS = {
    "two tasks halt": [],
    "two tasks halt, woken by NMIs": ["NMI=1"],
    "two slots": ["SLOTS=2", "ASKS=1"],
    "two slots, no halt": TICKETS + ["SLOTS=2"],
    "a task gives up": TICKETS + ["GIVE_UPS=1"],
    "another boot": REBOOT,
    "another boot, and halts": ["BOOTS=2", "ASKS=1"],
    "another boot that takes its time": REBOOT + ["SLOW_BOOT=1", "ASKS=1"],
    "another boot, memory cleared": REBOOT + ["CLEAR=1", "ASKS=1"],
    "the session ends": ["REFUSES=1"],
}
HYPERCALL_MUTATIONS = {
    "NO_TICKET": REBOOT,
    "NO_BOOT": REBOOT + ["SLOW_BOOT=1", "ASKS=1"],
    "TWICE": ["REFUSES=1"],
    "SEQUENCE_FIRST": TICKETS,
    "NEXT_ONLY": REBOOT + ["CLEAR=1", "ASKS=1"],
    "NUDGE_FIRST": [],
    "LOOK_FIRST": [],
    "NO_WORD": [],
    "MASK_LATE": [],
    "NO_MARK": ["NMI=1"],
    "NO_LEAD": ["NMI=1"],
}
RACE = ["TAKERS=2", "TAKES=3"]
MODELS = {
    "ring": (RING_CHECKS, RING_MUTATIONS),
    "hypercall": (HYPERCALL_CHECKS, HYPERCALL_MUTATIONS),
    "lives": (
        {"two providers": ["PROVIDERS=2", "LOOKS=2"]},
        {name: [] for name in ("NO_PAGE_CHECK", "NO_FRESH_LOOK", "NO_UNSEEN_DEATH", "NO_UNTIL", "NO_WAIT")}),
    "directory": (
        {"two takers": RACE, "two takers, one may be killed": RACE + ["KILLS=1"],
         "three takers": ["TAKERS=3", "TAKES=1", "KILLS=1"]},
        {name: RACE for name in ("NO_CAS", "GENERATION_FIRST", "LEAVE_EARLY", "RENEW_ALWAYS", "RAISE_FIRST")}),
    "kernels": (
        {"two guests": [], "two guests that boot often": ["BOOTS=4"]},
        {name: [] for name in ("SAME_NUMBER", "TAKE_AGAIN", "LEAVE_BLINDLY")}),
    "size": (
        {"two producers": ["READS=0"], "two producers and a reader": ["EMITS=2", "CHANGES=1"],
         "two producers, larger pages": ["READS=0", "BODY=2", "EMITS=2"],
         "two producers, one may be killed": ["READS=0", "KILLS=1"],
         "one producer and a reader": ["PRODUCERS=1"]},
        {**{name: ["READS=0"] for name in ("NO_SECOND_LOOK", "RAISE_FIRST", "PLAIN_RAISE", "NO_CLOSE", "OFFER_EARLY",
                                           "OFFER_AGAIN", "BACK_EARLY")},
         **{name: ["PRODUCERS=1"] for name in ("GONE_LATE", "NO_LAST_LOOK", "READER_SHAPE_FIRST")},
         "SHAPE_FIRST": ["READS=0", "BODY=2", "EMITS=2"],
         "PLAIN_PLACE": ["READS=0", "EMITS=4", "CHANGES=3"]}),
    "known": (
        {"two producers": [], "three producers": ["PRODUCERS=3", "EMITS=1"]},
        {name: [] for name in ("STORES", "EARLY", "STOPPED_FOR_LONG")}),
    "native": (
        {"one vCPU": [], "two vCPUs": ["AGENTS=2", "CHANGES=2"], "a forked process": ["FORKS=1", "CHANGES=4"],
         "somebody else writes the words": ["LIES=2", "CHANGES=3"]},
        {**{name: [] for name in ("NO_CLEAR", "WRITE_AGAIN", "NAME_EARLY", "NO_SEQUENCE")},
         **{name: ["LIES=1", "CHANGES=2"] for name in ("NO_BOUND", "NO_EVENT")}}),
    "switch": (
        {"two CPUs": [], "one CPU, often": ["CPUS=1", "RUNS=6", "SWITCHES=5"],
         "two CPUs and a debugger": ["RUNS=2", "SWITCHES=2", "FOREIGN=1"]},
        {name: [] for name in ("NO_BREAKPOINT", "NO_FIRST_BARRIER", "NO_SECOND_BARRIER", "ODD_LATE", "EVEN_EARLY",
                               "ONE_LOOK")}),
    "door": (
        {"two hosts, one may be killed": [], "one host, killed twice": ["HOSTS=1", "COMES=4", "KILLS=2"]},
        {name: [] for name in ("PLAIN_SLEEP", "NO_LOCK", "LOCK_LATE", "NO_SECOND_LOOK", "NO_WAKE", "LET_SLEEP")}),
}


def search(model, cc, defines):
    """Runs the verifier; returns its output."""
    with tempfile.TemporaryDirectory(prefix="ringside-model-") as work:
        flags = ["-D" + define for define in defines]
        subprocess.run(["spin", "-a", *flags, model], cwd=work, check=True)
        subprocess.run([*cc, "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"],
                       cwd=work, check=True)
        done = subprocess.run(["./pan", "-m1000000"], cwd=work, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def check(model, cc, name, defines):
    out = search(model, cc, defines)
    states = re.search(r"(\d+) states, stored", out)
    complete = "errors: 0" in out and states and not re.search(
        r"not completed|max search depth too small|out of memory|hash-?compact", out)
    return bool(complete), (states.group(1) + " states") if complete else out


def mutate(model, cc, name, defines):
    out = search(model, cc, defines + ["MUTATE_" + name])
    found = re.search(r"assertion violated (.*) \(at depth", out)
    return bool(found), found.group(1) if found else "SURVIVED\n" + out


def main():
    what, model, cc = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve()), sys.argv[3:]
    if not shutil.which("spin"):
        print("1..0 # SKIP no spin")
        return 77
    checks, mutations = MODELS[pathlib.Path(model).stem]
    job, names = {"check": (check, checks), "mutate": (mutate, mutations)}[what]
    failed = 0
    begin = time.monotonic()
    print(f"1..{len(names)}")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        runs = {name: pool.submit(job, model, cc, name, defines) for name, defines in names.items()}
        for number, (name, run) in enumerate(runs.items(), 1):
            try:
                good, words = run.result()
            except subprocess.SubprocessError as error:
                good, words = False, str(error)
            failed += not good
            print("ok" if good else "not ok", number, "-", name)
            for line in words.splitlines():
                print("#", line)
            sys.stdout.flush()
    print(f"# {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
