#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording two vCPUs at full speed costs.

    record.py RINGSIDE

The demo guest floods its rings, in mode drop. `run -q -o` records into memory and onto the disk.
What is lost is counted in the files. Each row also has the largest resident memory of the process,
in which the guest's memory and rings are; two lengths show that it does not grow. With as many
vCPUs as the machine has cores, the recorder shares one with a vCPU that never waits: the row of
one vCPU shows what it does with a core of its own."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

RINGSIDE = sys.argv[1]
KVM = os.access('/dev/kvm', os.R_OK | os.W_OK)
COUNT = 4000000 if KVM else 200000  # of each vCPU
LOST, PAGES = 7, 8


def lost_in(path):
    """The records that are lost, by the heads of the blocks."""
    lost, size = 0, os.path.getsize(path)
    with open(path, 'rb') as f:
        at = struct.unpack_from('<I', f.read(128), 12)[0]
        while at < size:
            f.seek(at)
            head = f.read(32)
            _, _, block, length, _, _, kind, _, _ = struct.unpack('<IIIIIIHHI', head)
            body = f.read(length - 32)
            if kind == LOST:
                lost += struct.unpack_from('<Q', body)[0]
            elif kind == PAGES:
                _, count, stride = struct.unpack_from('<QII8x', body)
                lost += sum(struct.unpack_from('<Q', body, 24 + i * stride)[0] for i in range(count))
            at += block
    return lost


def record(where, folder, vcpus, count, *more):
    path = os.path.join(folder, 'bench.trace')
    begun = time.monotonic()
    with subprocess.Popen([RINGSIDE, 'run', '-q', '--demo', '--serial', 'none', '--cpus', str(vcpus), '--mode', 'drop',
                           '--ring-size', '8M', '-e', 'load:flood', '-o', path, *more, '--append',
                           f'flood count={count}'], stdin=subprocess.DEVNULL) as run:
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - begun
    if run.returncode:
        sys.exit(f'run: {run.returncode}')
    total, lost = vcpus * count, lost_in(path)
    size = os.path.getsize(path)
    os.unlink(path)
    print(f'  {where:<22} {vcpus} vCPU  {total / 1e6:6.1f} M events  {(total - lost) / took / 1e6:6.2f} M/s recorded  '
          f'{100 * lost / total:6.2f} % lost  {size / took / 1e6:6.0f} MB/s  {usage.ru_maxrss // 1024:4} MiB resident',
          flush=True)


def main():
    print(f'recording a flood, mode drop, rings of 8 MiB, {os.cpu_count()} cores, {"KVM" if KVM else "TCG"}')
    with tempfile.TemporaryDirectory() as runtime:
        os.environ['XDG_RUNTIME_DIR'] = runtime
        memory = tempfile.mkdtemp(dir='/dev/shm') if os.access('/dev/shm', os.W_OK) else None
        try:
            for where, folder in (('memory', memory), ('disk', runtime)):
                if not folder:
                    continue
                for vcpus in 1, 2:
                    record(where, folder, vcpus, COUNT)
                record(where + ', four times', folder, 2, 4 * COUNT)
            record('disk, zstd 1', runtime, 2, COUNT, '-z', '1')
        finally:
            if memory:
                shutil.rmtree(memory)


main()
