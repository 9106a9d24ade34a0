#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a test run costs over its guest's own time.

    test_run.py RINGSIDE

The demo guest ends as soon as it has booted. Its own time is what its trace says, from its agent's
report to its end: `host:boot` to `host:detach`. The rest is ours: the start of `ringside test`, of
the run and its machine, the end of both, the verdict and the report. `ringside run` of the same
guest, without a recording, stands beside it, and then a spec with many records, to see what a
verdict costs. Rows are medians of rounds that take turns."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

RINGSIDE = os.path.abspath(sys.argv[1])
ROUNDS = 15
FLOOD = 200000  # records that are judged
ASKED_MS = 80   # over the guest's own time, with KVM
SPEC = '''[test]
timeout = 60s
[guest]
demo = true
accel = {accel}
cpus = 1
append = {append}
[trace]
host = true
mode = {mode}
enable = host:boot; host:detach; {enable}
[expect boot]
event = host:boot
[expect end]
event = host:detach
{expect}
'''
ENDS = 'rounds=1 crash=exit:0'


def timed(*args):
    begun = time.monotonic()
    done = subprocess.run([RINGSIDE, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    took = time.monotonic() - begun
    if done.returncode:
        sys.exit(f'{args}: {done.returncode}: {done.stdout}{done.stderr}')
    return 1e3 * took


def own_ms(folder):
    """The guest's own time in the run whose evidence this is."""
    lines = subprocess.run([RINGSIDE, 'report', '--json', os.path.join(folder, 'trace')], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    at = {record['event']: record['ns'] for record in map(json.loads, lines) if record.get('system') == 'host'}
    return (at['detach'] - at['boot']) / 1e6


def row(what, values):
    print(f'  {what:<46} {statistics.median(values):8.1f} ms   {min(values):8.1f} to {max(values):8.1f}', flush=True)


def small(accel):
    with open('small.spec', 'w', encoding='utf-8') as f:
        f.write(SPEC.format(accel=accel, append=ENDS, mode='overwrite', enable='task:*', expect=''))
    whole, own, run = [], [], []
    for _ in range(ROUNDS):
        whole.append(timed('test', '--keep', '-o', 'out', 'small.spec'))
        own.append(own_ms('out/small'))
        run.append(timed('run', '-q', '--demo', '--accel', accel, '--cpus', '1', '--serial', 'none', '-e', 'task:*',
                         '--append', ENDS))
    over = [a - b for a, b in zip(whole, own)]
    row('ringside test, a guest that ends at once', whole)
    row('  its own time, by its trace', own)
    row('  over its own time', over)
    row('ringside run of the same', run)
    print(f'  a test takes {statistics.median(whole) / statistics.median(run):.2f} times a run'
          + (f'; over its own time {statistics.median(over):.0f} ms, {ASKED_MS} are asked for' if accel == 'kvm' else ''))


def many(accel):
    with open('many.spec', 'w', encoding='utf-8') as f:
        f.write(SPEC.format(accel=accel, append=f'flood count={FLOOD}', mode='drop', enable='load:flood',
                            expect='[expect all]\nevent = load:flood\n[expect none]\nnever = load:flood: CPU == 7\n'))
    whole, run = [], []
    for _ in range(3):
        whole.append(timed('test', '--keep', '-o', 'out', 'many.spec'))
        run.append(timed('run', '-q', '--demo', '--accel', accel, '--cpus', '1', '--serial', 'none', '--mode', 'drop',
                         '-e', 'load:flood', '-o', 'flood.trace', '--append', f'flood count={FLOOD}'))
    row(f'ringside test, {FLOOD} records', whole)
    row('ringside run -o of the same', run)


def main():
    accels = ['kvm'] * os.access('/dev/kvm', os.R_OK | os.W_OK) + ['tcg']
    with tempfile.TemporaryDirectory(prefix='rs-bench-') as directory:
        os.chdir(directory)
        os.environ['XDG_RUNTIME_DIR'] = directory
        for accel in accels:
            print(f'{accel}:')
            small(accel)
            many(accel)


main()
