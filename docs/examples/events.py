#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""events.py TRACE: prints time, vCPU, task, event and fields of what `ringside record` wrote.

Needs python3-gi and the introspection data of libringside-decode (gir1.2-rstrace-1.0).
"""
import signal
import sys

import gi

gi.require_version('RsTrace', '1.0')
from gi.repository import GLib, RsTrace  # noqa: E402


def show(item):
    fields = item.get_fields().unpack()
    fields.update(item.get_names().unpack())  # 'dead' in place of 4
    print(item.get_time(), item.get_cpu(), item.get_comm(), item.get_full_name(), fields)
    for frame in item.get_stack_names() or []:
        print('    called by', frame)


def main(path):
    reader = RsTrace.Reader.open(path)
    while item := reader.read():
        if item.get_kind() == RsTrace.ItemKind.EVENT:
            show(item)
        elif item.get_kind() == RsTrace.ItemKind.LOSS:
            print(item.get_time(), item.get_cpu(), item.get_lost(), 'events are lost')
    for remark in reader.remarks():
        print(remark, file=sys.stderr)


if len(sys.argv) != 2:
    sys.exit('usage: events.py TRACE')
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `events.py TRACE | head` is no error
try:
    main(sys.argv[1])
except GLib.Error as error:
    sys.exit(f'events.py: {error.message}')
