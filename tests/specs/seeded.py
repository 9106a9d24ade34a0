#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seeded.py RINGSIDE: bugs are put into the demo guest, one at a time, and the specs must fail.

It works in a copy of the tree. Ends with "N of M seeded bugs caught", and fails if one was not.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/mutate'))
from tree import copy_tree  # noqa: E402

# What is wrong, the file, and what becomes of its text.
BUGS = [
    ('a task that is woken is forgotten', 'sched.c',
     '\tpush(q, task);\n\ttrace_sched_wakeup', '\ttrace_sched_wakeup'),
    ('a wakeup names the wrong task', 'sched.c',
     'trace_sched_wakeup(task->pid,', 'trace_sched_wakeup(task->pid + 1,'),
    ('a switch tells both tasks the wrong way round', 'sched.c',
     'trace_sched_switch(prev->pid, prev->comm, prev->state, next->pid, next->comm, why)',
     'trace_sched_switch(next->pid, next->comm, prev->state, prev->pid, prev->comm, why)'),
    ('some switches are not told', 'sched.c',
     '\ttrace_sched_switch(', '\tif (next->switches % 4 != 3)\n\t\ttrace_sched_switch('),
    ('vCPUs do not tick', 'sched.c', '\ttrace_irq_tick(q->ticks, ip, real);\n', ''),
    ('a page is mapped and not told', 'mm.c', 'demo_faults++;\n\t\ttrace_mm_page_map',
     'if (++demo_faults % 8)\n\t\t\ttrace_mm_page_map'),
    ('frames are lost when a task gives them back', 'mm.c',
     'free_frames[free_count++] = frames[count++];', 'free_frames[free_count] = frames[count++];'),
    ('a page that was given back is held for good', 'mm.c', '\t\tmapped[slot][page] = 0;\n', ''),
    ('a child has no parent', 'process.c', 'task->parent = rs_pid();', 'task->parent = 0;'),
    ('a task is made and not told', 'process.c', '\ttrace_task_create(',
     '\tif (pid != 5)\n\t\ttrace_task_create('),
    ('an exit code is lost', 'process.c', 'trace_task_exit(task->pid, code,', 'trace_task_exit(task->pid, 0,'),
    ('two tasks have one number', 'process.c', 'pid = run == workload_init_task ? 1 : free_pid();',
     'pid = run == workload_init_task ? 1 : free_pid() & ~1u;'),
    ('the clock has another name', 'workload.c', 'task_spawn("clock",', 'task_spawn("clok",'),
    ('a system call returns the wrong child', 'workload.c', 'return pid ? (int64_t)pid : -RS_EAGAIN;',
     'return pid ? (int64_t)pid + (arg == 1) : -RS_EAGAIN;'),
    ('a round is missing', 'workload.c', 'crashes ? 3 : 0', 'crashes ? 2 : 0'),
    ('the shell comes before the clock', 'workload.c',
     '\tpids[0] = task_spawn("clock", clock_task, 0);\n\tpids[1] = task_spawn("sh", shell_task, 0);',
     '\tpids[1] = task_spawn("sh", shell_task, 0);\n\tpids[0] = task_spawn("clock", clock_task, 0);'),
    ('a system call returns and does not say from where', 'entry.c', 'trace_syscalls_exit(number, ret);',
     'trace_syscalls_exit(number ^ 1, ret);'),
    ('what is packed cannot be unpacked', 'compute.c', 'n = (tag & 127) + MIN_MATCH;',
     'n = (tag & 127) + MIN_MATCH - (tag == 130);'),
    ('nothing is packed', 'compute.c', 'if (n < MIN_MATCH) {', 'if (n < BLOCK) {'),
    ('a death by a signal has another code', 'signal.c', 'task_exit(128 + number, number);',
     'task_exit(number, number);'),
    ('the exit code is another', 'hostile.c', 'uint32_t code = 0;', 'uint32_t code = 1;'),
    ('a late round is done twice', 'workload.c', 'run_round(round++);',
     'run_round(round);\n\t\tif (round++ == 7)\n\t\t\trun_round(7);'),
    ('the third vCPU is not counted', 'workload.c', 'demo_bad, rs_cpu_count());',
     'demo_bad, rs_cpu_count() - (rs_cpu_count() == 3));'),
    ('a step of an engine is not told', 'engines.c', 'rs_printf("demo: engines: a step from',
     'if (!from)\n\t\t\trs_printf("demo: engines: a step from'),
    ('the guest greets nobody', 'main.c', "demo: Ringside's demo guest", 'demo: a demo guest'),
]


def run(*command, **how):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **how)


def build(copy):
    done = run('ninja', '-C', str(copy / 'build'), 'tests/guests/demo/demo')
    if done.returncode:
        sys.exit(f'the demo guest does not build:\n{done.stdout[-2000:]}')


def judge(ringside, copy):
    """What the specs say: the exit code, and why the first of them failed."""
    env = os.environ | {'RINGSIDE_GUESTS': str(copy / 'build/tests/guests/demo')}
    done = run(ringside, 'test', '--fail-fast', '-o', str(copy / 'evidence'), str(copy / 'tests/specs'),
               env=env)
    why = re.search(r'^FAIL (.*)', done.stdout, re.M)
    return done.returncode, why[1] if why else done.stdout[-500:]


def main():
    ringside = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / 'ringside'
        copy_tree(ROOT, copy)
        done = run('meson', 'setup', 'build', cwd=copy)
        if done.returncode:
            sys.exit(done.stdout[-2000:])
        build(copy)
        code, why = judge(ringside, copy)
        if code:
            sys.exit(f'the specs fail without a bug: {why}')
        caught = 0
        for what, name, old, new in BUGS:
            path = copy / 'tests/guests/demo' / name
            good = path.read_text()
            if good.count(old) != 1:
                sys.exit(f'{name}: there is not one place for "{what}"')
            path.write_text(good.replace(old, new))
            build(copy)
            code, why = judge(ringside, copy)
            path.write_text(good)
            caught += code == 1
            print(f'{"caught" if code == 1 else "MISSED"}: {what}\n    {why}', flush=True)
    print(f'{caught} of {len(BUGS)} seeded bugs caught')
    sys.exit(caught != len(BUGS))


main()
