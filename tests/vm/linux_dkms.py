#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel module as DKMS has built it from an installed tree: it is the one that kbuild makes of
the source tree, and DKMS installs and removes it. Nothing of the machine is changed.

    linux_dkms.py SERIES RINGSIDE_KO OTHER_KO

RINGSIDE_KO: built for the kernel SERIES by DKMS, tests/guests/linux/build-module. OTHER_KO: built
for another kernel by kbuild alone.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from harness import check, skip
from linux_guest import fetch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
PORT = 'guest-agent/ports/linux-module'
ARCH = 'x86_64'
OBJECTS = 'main', 'pages', 'unwind'
os.environ['PATH'] += ':/usr/sbin:/sbin'
os.environ['sign_file'] = 'none'  # of DKMS: the machine's own key is not for this


class Dkms:
    """A copy of what build-module has made, and what DKMS does with it."""

    def __init__(self, made, directory, kernel):
        self.kernel, self.release = kernel, kernel.split('/linux-headers-')[1]
        self.sources, = glob.glob(f'{made}/root/**/src', recursive=True)
        self.tree, self.modules = f'{directory}/tree', f'{directory}/modules'
        shutil.copytree(f'{made}/tree', self.tree, symlinks=True)
        os.makedirs(f'{self.modules}/{self.release}')

    def __call__(self, verb, *args, release=None, arch=ARCH):
        """Returns the exit code and what it said."""
        done = subprocess.run(
            ['dkms', verb, f'ringside/{version()}', '-k', release or self.release, '-a', arch, '--dkmstree', self.tree,
             '--sourcetree', self.sources, '--installtree', self.modules, '--kernelsourcedir', self.kernel,
             '--no-depmod', *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def of_module(self, name):
        return f'{self.tree}/ringside/{version()}/{self.release}/{ARCH}/{name}'

    def installed(self):
        return glob.glob(f'{self.modules}/**/ringside.ko*', recursive=True)


def version():
    with open(f'{ROOT}/VERSION', encoding='ascii') as file:
        return file.read().strip()


def info(module, field):
    return subprocess.check_output(['modinfo', '-F', field, module], text=True).strip()


def same(a, b):
    with open(a, 'rb') as one, open(b, 'rb') as other:
        return one.read() == other.read()


def text_of(path, directory):
    """The machine code in an object."""
    subprocess.run(['objcopy', '-O', 'binary', '--only-section=.text', path, f'{directory}/text'], check=True)
    with open(f'{directory}/text', 'rb') as file:
        return file.read()


def test_it_is_for_its_kernel(dkms, ours):
    check(info(ours, 'vermagic').split()[0] == dkms.release, f'vermagic says {dkms.release}')
    check(info(ours, 'version') == version(), f'it is of version {version()}')


def test_its_sources_are_all_there(ours, other):
    sums = [info(module, 'srcversion') for module in (ours, other)]
    check(sums[0] and sums[0] == sums[1], f'its sources are those of the source tree: {sums}')


def test_it_is_what_kbuild_makes(dkms, ours, directory):
    """Looks for the code of some objects in the module: a build of all takes a minute."""
    for part in 'VERSION', 'shared', 'guest-agent':
        place = f'{directory}/source/{part}'
        os.makedirs(os.path.dirname(place), exist_ok=True)
        (shutil.copytree if os.path.isdir(f'{ROOT}/{part}') else shutil.copy)(f'{ROOT}/{part}', place)
    port = f'{directory}/source/{PORT}'
    subprocess.run(['make', '-s', '-j2', '-C', dkms.kernel, f'M={port}', *(f'{name}.o' for name in OBJECTS)], check=True)
    code = text_of(ours, directory)
    for name in OBJECTS:
        part = text_of(f'{port}/{name}.o', directory)
        check(part and code.count(part) == 1, f'{len(part)} bytes of {name}.o are in it')


def test_dkms_installs_and_removes_it(dkms, ours):
    with open(dkms.of_module('Module.symvers'), encoding='ascii') as file:
        check('\trs_module_register\t' in file.read(), 'symbols for other modules are kept')
    if os.geteuid() != 0:
        print('not root: dkms will not install it')
        return
    code, said = dkms('install')
    check(code == 0, f'it is installed: {said}')
    check(said.count('Building module') == 0, 'as it was built')
    check(len(dkms.installed()) == 1 and same(dkms.installed()[0], ours), f'it is there: {dkms.installed()}')
    check(f'ringside/{version()}, {dkms.release}, {ARCH}: installed' in dkms('status')[1], 'dkms knows of it')
    code, said = dkms('remove')
    check(code == 0 and not dkms.installed(), f'it is removed: {said}')


def test_other_machines_are_left_alone(dkms):
    for release, arch in ('5.10.0-30-amd64', ARCH), ('6.0.12', ARCH), (dkms.release, 'i686'):
        code, said = dkms('build', release=release, arch=arch)
        check(code == 77 and 'BUILD_EXCLUSIVE' in said, f'{release}, {arch}: dkms passes it over')


def test_old_kernels_are_refused(dkms):
    done = subprocess.run(['make', '-C', f'{ROOT}/{PORT}', 'clean', f'KDIR={dkms.kernel}', 'VERSION=5', 'PATCHLEVEL=19',
                           'KERNELVERSION=5.19.7'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode and 'needs Linux 6.1 or later, and these are the headers of 5.19.7' in done.stdout,
          'make says what it needs')


def main(series, ours, other):
    if not shutil.which('dkms'):
        skip('dkms is not here, so no module was built by it')
    if not os.path.getsize(ours) or not os.path.getsize(other):
        skip('no modules were built: a kernel or a compiler is missing')
    made = os.path.join(os.path.dirname(os.path.abspath(ours)), f'module-{series}/dkms')
    with tempfile.TemporaryDirectory(prefix='rs-dkms-') as directory:
        dkms = Dkms(made, directory, fetch(series, '--build'))
        test_it_is_for_its_kernel(dkms, ours)
        test_its_sources_are_all_there(ours, other)
        test_it_is_what_kbuild_makes(dkms, ours, directory)
        test_dkms_installs_and_removes_it(dkms, ours)
        test_other_machines_are_left_alone(dkms)
        test_old_kernels_are_refused(dkms)


if __name__ == '__main__':
    main(*sys.argv[1:])
