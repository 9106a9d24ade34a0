# SPDX-License-Identifier: MIT
"""The memory of a guest or program, read from outside, and the text that its file says."""
import os
import struct

PT_LOAD, PF_X = 1, 1


class Memory:
    """The memory of a process, at the places where `what` is mapped."""

    def __init__(self, pid, what):
        self.pid, self.maps = pid, []
        with open(f'/proc/{pid}/maps') as f:
            for line in f:
                words = line.split(maxsplit=5)
                if len(words) == 6 and what in words[5]:
                    first, end = (int(x, 16) for x in words[0].split('-'))
                    self.maps.append((int(words[2], 16), first, end))
        if not self.maps:
            raise AssertionError(f'process {pid} maps no {what}')

    def read(self, offset, size):
        """`size` bytes from `offset` in the mapped file, or None."""
        for start, first, end in self.maps:
            if start <= offset and offset + size <= start + end - first:
                with open(f'/proc/{self.pid}/mem', 'rb') as f:
                    f.seek(first + offset - start)
                    return f.read(size)
        return None


def text_segments(path):
    """(offset in the file, physical address, bytes) of each executable segment of an ELF file."""
    with open(path, 'rb') as f:
        elf = f.read()
    at, = struct.unpack_from('<Q', elf, 0x20)
    size, count = struct.unpack_from('<HH', elf, 0x36)
    for i in range(count):
        kind, flags, offset, _, paddr, file_size, _, _ = struct.unpack_from('<IIQQQQQQ', elf, at + i * size)
        if kind == PT_LOAD and flags & PF_X:
            yield offset, paddr, elf[offset:offset + file_size]


def changed_text(path, memory):
    """Addresses of bytes in which the text in memory differs from the file's."""
    program = os.path.realpath(f"/proc/{memory.pid}/exe") == os.path.realpath(path)
    changed, compared = [], 0
    for offset, paddr, text in text_segments(path):
        # A program maps its file. A guest's memory begins at address 0.
        at = offset if program else paddr
        held = memory.read(at, len(text))
        if held is None:
            raise AssertionError(f'{path}: no text at {at:#x}')
        changed += [at + i for i in range(len(text)) if held[i] != text[i]] if held != text else []
        compared += len(text)
    if not compared:
        raise AssertionError(f'{path} has no text')
    return changed
