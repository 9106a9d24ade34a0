# SPDX-License-Identifier: MIT
"""What an outsider has: Ringside, installed into a folder of its own."""
import atexit
import glob
import os
import shutil
import subprocess
import tempfile


def run(*command, timeout=60, **more):
    p = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                       stdin=subprocess.DEVNULL, **more)
    if p.returncode:
        raise AssertionError(f'{command}: code {p.returncode}\n{p.stdout}\n{p.stderr}')
    return p.stdout


class Kit:
    """The installed tree: `root`, and its `files` but for those of the Linux module."""

    def __init__(self, build, meson):
        self.root = tempfile.mkdtemp(prefix='rs-kit-')
        atexit.register(shutil.rmtree, self.root)
        run(meson, 'install', '-C', build, '--no-rebuild', '--quiet',
            env=os.environ | {'DESTDIR': self.root})
        files = [os.path.join(folder, name) for folder, _, names in os.walk(self.root)
                 for name in names]
        self.module, = glob.glob(f'{self.root}/**/src/ringside-*', recursive=True)
        self.module_files = [path for path in files if path.startswith(f'{self.module}/')]
        self.files = [path for path in files if not path.startswith(f'{self.module}/')]
        self.set_paths()

    def find(self, path):
        found = [file for file in self.files if file.endswith(f'/{path}')]
        assert len(found) == 1, (path, found)
        return found[0]

    def set_paths(self):
        """By which pkg-config and the loader find it."""
        os.environ['PKG_CONFIG_PATH'] = os.path.dirname(self.find('ringside-hosted.pc'))
        # pkg-config puts this before every path, so GLib must be there too.
        os.environ['PKG_CONFIG_SYSROOT_DIR'] = self.root
        for folder in ('include', 'lib'):
            if not os.path.exists(f'{self.root}/usr/{folder}'):
                os.symlink(f'/usr/{folder}', f'{self.root}/usr/{folder}')
        os.environ['LD_LIBRARY_PATH'] = os.path.dirname(self.find('libringside.so'))
