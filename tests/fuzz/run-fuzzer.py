#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run-fuzzer.py FUZZER SEEDS: a short run of one libFuzzer target.

The corpus is what the target writes itself (RS_FUZZ_SEEDS, see seed.h), and the files under SEEDS.
*.hex are hex digits with # comments; other files are used unchanged. RS_FUZZ_SECONDS (default 3)
bounds the run. A failing input is printed in base64, so that a log is enough to repeat it.
"""
import base64
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    fuzzer, seeds = sys.argv[1], pathlib.Path(sys.argv[2])
    if seeds.name == 'missing' and fuzzer == 'clang':
        print('skipped: clang is not installed, and libFuzzer comes with it')
        return 77
    seconds = os.environ.get('RS_FUZZ_SECONDS', '3')
    # Each input that reaches more is a file: in memory if possible.
    shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix='rs-fuzz-', dir=shm) as tmp:
        corpus, found = pathlib.Path(tmp, 'corpus'), pathlib.Path(tmp, 'found')
        own = pathlib.Path(tmp, 'own')
        for d in (corpus, found, own):
            d.mkdir()
        for path in sorted(seeds.glob('*')) if seeds.is_dir() else []:
            data = path.read_bytes()
            if path.suffix == '.hex':
                data = bytes.fromhex(' '.join(l.split('#')[0] for l in data.decode().splitlines()))
            (own / path.name).write_bytes(data)
        env = dict(os.environ, RS_FUZZ_SEEDS=str(own),
                   ASAN_OPTIONS='detect_leaks=1:allocator_may_return_null=1:handle_abort=1',
                   UBSAN_OPTIONS='print_stacktrace=1:halt_on_error=1', G_SLICE='always-malloc')
        done = subprocess.run([fuzzer, str(corpus), str(own), f'-artifact_prefix={found}/',
                               f'-max_total_time={seconds}', '-entropic=0', '-timeout=10', '-rss_limit_mb=2048',
                               '-max_len=16384', '-print_final_stats=1'],
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors='replace', check=False)
        lines = done.stdout.splitlines()
        print('\n'.join(lines[:10] + ['...'] + lines[-60:] if len(lines) > 80 else lines))
        print(f'{len(list(own.iterdir()))} seeds')
        for path in sorted(found.iterdir()):
            print(f'{path.name}: {base64.b64encode(path.read_bytes()).decode()}')
        return 1 if done.returncode else 0


if __name__ == '__main__':
    sys.exit(main())
