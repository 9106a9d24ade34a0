#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""events.py TRACE: prints time, vCPU, task, event and fields of what `ringside record` wrote.

Needs python3-gi and the introspection data of libringside-decode (gir1.2-rstrace-1.0).
"""
import sys

import gi

gi.require_version('RsTrace', '1.0')
from gi.repository import RsTrace  # noqa: E402

reader = RsTrace.Reader.open(sys.argv[1])
while item := reader.read():
    if item.get_kind() == RsTrace.ItemKind.EVENT:
        print(item.get_time(), item.get_cpu(), item.get_comm(), item.get_name(), item.get_fields())
print(*reader.remarks(), sep='\n', end='', file=sys.stderr)
