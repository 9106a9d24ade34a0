#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What KernelShark reads from a trace.dat, by its own library: a JSON object a record.

    kshark.py FILE

It ends with 77 if the library is not here.
"""
import ctypes as c
import json
import sys

try:
    lib = c.CDLL('libkshark.so.2')
except OSError:
    sys.exit(77)


class Entry(c.Structure):
    _fields_ = [('next', c.c_void_p), ('visible', c.c_uint16), ('stream', c.c_int16),
                ('event', c.c_int16), ('cpu', c.c_int16), ('pid', c.c_int32),
                ('offset', c.c_int64), ('ns', c.c_int64)]


lib.kshark_instance.restype = c.c_bool
lib.kshark_load_entries.restype = c.c_ssize_t
for function in lib.kshark_get_event_name, lib.kshark_get_task, lib.kshark_get_info:
    function.restype = c.c_char_p


def main():
    context, rows = c.c_void_p(), c.POINTER(c.POINTER(Entry))()
    lib.kshark_instance(c.byref(context))
    top = lib.kshark_open(context, sys.argv[1].encode())
    if top < 0:
        sys.exit(f'{sys.argv[1]} cannot be opened: {top}')
    buffers = max(0, lib.kshark_tep_init_all_buffers(context, top))
    for stream in range(top, top + 1 + buffers):
        n = lib.kshark_load_entries(context, stream, c.byref(rows))
        if n < 0:
            sys.exit(f'stream {stream} cannot be read: {n}')
        for i in range(n):
            e = rows[i].contents
            print(json.dumps({
                'stream': stream, 'cpu': e.cpu, 'pid': e.pid, 'ns': e.ns,
                'event': (lib.kshark_get_event_name(rows[i]) or b'').decode(),
                'comm': (lib.kshark_get_task(rows[i]) or b'').decode(),
                'text': (lib.kshark_get_info(rows[i]) or b'').decode()}))


main()
