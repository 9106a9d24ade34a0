#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside run --core`: the memory of a guest that has ended badly.

    core.py ACCEL RINGSIDE DEMO_GUEST [TEST…]
"""
import json
import os
import re
import shutil
import subprocess
import sys

from harness import Ringside, check, need, run_tests

GREETING = b"demo: Ringside's demo guest, command line"
TEXT = 4096  # bytes of the guest's text that are compared


def words(*command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == 0, f'{command[0]}: {done.stderr}')
    return done.stdout


def registers_of(path):
    """Of how many vCPUs it has them."""
    done = subprocess.run(['readelf', '-nW', path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout.count('NT_PRSTATUS')


def segments(path):
    """[(physical address, place in the file, size)] of what is loaded, as readelf shows it."""
    found = re.findall(r'LOAD +0x(\w+) 0x(\w+) 0x(\w+) 0x(\w+)', words('readelf', '-lW', path))
    for _, virtual, physical, _ in found:
        check(virtual == physical, 'gdb and crash find the same')
    return [(int(physical, 16), int(at, 16), int(size, 16)) for at, _, physical, size in found]


def read_core(path, address, size):
    for begin, at, length in segments(path):
        if begin <= address and address + size <= begin + length:
            with open(path, 'rb') as file:
                file.seek(at + address - begin)
                return file.read(size)
    raise AssertionError(f'the core has nothing at {address:#x}')


def check_core(path, kernel, registers):
    """What the ELF file says is in it, at that address, and the registers of so many vCPUs."""
    check(os.stat(path).st_blocks * 512 < os.stat(path).st_size // 4, 'it has holes where the memory is zero')
    found = re.search(r' \d+: (\w+) +\d+ FUNC .* rs_panic$', words('readelf', '-sW', kernel), re.M)
    address = int(found[1], 16)
    begin, at, _ = next(s for s in segments(kernel) if s[0] <= address < s[0] + s[2])
    with open(kernel, 'rb') as file:
        file.seek(at + address - begin)
        text = file.read(64)
    check(read_core(path, address, 64) == text, f'rs_panic() is at {address:#x}')
    with open(path, 'rb') as file:
        check(GREETING in file.read(), 'and so is what the guest says')
    count = registers_of(path)
    check(count == registers, f'it has the registers of {count} vCPUs')
    if shutil.which('gdb'):
        said = words('gdb', '-nx', '-batch', '-ex', 'print *(unsigned char *)rs_panic', '-ex', 'info threads', kernel, path)
        check(f'= {text[0]} ' in said and len(re.findall(r'\bLWP \d+|\bprocess \d+', said)) >= bool(registers),
              f'gdb reads it: {said}')


def main():
    accel, ringside, demo = sys.argv[1], *map(os.path.realpath, sys.argv[2:4])
    need(accel)
    rs = Ringside(ringside)

    def run(how, *more):
        here = os.environ['XDG_RUNTIME_DIR']
        core, result = os.path.join(here, 'core'), os.path.join(here, 'result')
        if os.path.exists(core):
            os.unlink(core)
        done = rs('run', '-q', '--accel', accel, '--serial', 'none', '--mem', '64M', '--append', f'crash={how}',
                  '--core', core, '--result', result, *more, demo)
        with open(result) as file:
            return done, json.load(file), core

    def test_bad_ends():
        for how, end in ('panic', 'panic'), ('triple', 'triple-fault'), ('reset', 'reset'):
            done, told, core = run(how)
            check((told['end'], told['core']) == (end, True) and f'memory is in {core}' in done.err, f'{how}: {told} {done}')
            # A QEMU that has ended has taken the registers along.
            notes = registers_of(core)
            check(notes in ((2,) if accel == 'kvm' else (0, 2)), f'registers: {notes}')
            check_core(core, demo, notes)

    def test_a_hang():
        done, told, core = run('hang', '--duration', '3', '--core-late')
        check(done.code == 0 and told['core'] and told['over'], f'{told} {done}')
        check_core(core, demo, 2)
        done, told, core = run('hang', '--duration', '3')
        check(done.code == 0 and not told['core'] and not os.path.exists(core), f'that is no bad end by itself: {told}')

    def test_good_ends():
        for how in 'exit:0', 'exit:3':
            done, told, core = run(how)
            check(told['end'] == 'exit' and not told['core'] and not os.path.exists(core), f'{how}: {told} {done}')

    def test_what_cannot_be():
        done = rs('run', '--demo', '--core-late')
        check(done.code == 2 and 'goes with --core and --duration' in done.err, done.err)
        done = rs('run', '-q', '--accel', accel, '--serial', 'none', '--append', 'crash=panic', '--core', '/nowhere/core', demo)
        check(done.code == 4 and 'memory is not kept: /nowhere/core' in done.err, f'{done}')

    def test_specs():
        os.chdir(os.environ['XDG_RUNTIME_DIR'])
        for name, how, code in ('bad', 'panic', 1), ('late', 'hang', 1), ('good', 'exit:0', 0):
            with open(f'{name}.spec', 'w') as file:
                file.write(f'[test]\ntimeout = {4 if how == "hang" else 50}s\n[guest]\nkernel = {demo}\naccel = {accel}\n'
                           f'memory = 64M\nappend = crash={how}\n[trace]\nenable = task:*\ncore = true\n'
                           '[expect tasks]\nevent = task:create\n')
            done = rs('test', f'{name}.spec')
            check(done.code == code, f'{name}: {done}')
            check(os.path.exists(f'ringside-test/{name}/core') == bool(code), 'the core is kept if it failed')

    run_tests([test_bad_ends, test_a_hang, test_good_ends, test_what_cannot_be, test_specs], sys.argv[4:])


if __name__ == '__main__':
    main()
