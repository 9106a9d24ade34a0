#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Domains of libvirt on the start page: listed, attached, and let go with the viewer.

    test_domains.py GUEST
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../vm'))
from demo_domain import Domain  # noqa: E402
from harness import Ringside, need  # noqa: E402
from libvirt_bed import Bed  # noqa: E402

from gui import RINGSIDE, Desktop, check, wait_for  # noqa: E402


def main():
    need('tcg')
    with Bed() as bed, Desktop(env={'LIBVIRT_DEFAULT_URI': bed.uri}) as desktop:
        domain = Domain(Ringside(RINGSIDE), bed, os.path.realpath(sys.argv[1]))
        viewer = desktop.start()
        row = viewer.find('list item', domain.name)
        check(not row.has('sensitive'), 'a domain that is off is listed, and cannot be attached')
        bed.virsh('start', '--paused', domain.name)
        # The list is made anew as the page is shown again.
        code, _, err = desktop.command('--new-window')
        check(code == 0, f'another window: {err}')
        viewer.wait_window()
        row = wait_for('a row that is sensitive', lambda: [
            row for row in viewer.every('list item', domain.name) if row.has('sensitive')])[-1]
        desktop.shot('domains')
        row.press()
        viewer.wait_window(re.escape(domain.name))
        bed.virsh('resume', domain.name)
        listed = desktop.ringside('ps')
        check(domain.name in listed, f'there is a session: {listed}')
        viewer.quit()
        wait_for('its end', lambda: domain.name not in desktop.ringside('ps'))
        check(domain.state() == 'running', 'the guest goes on')
        domain.destroy()


if __name__ == '__main__':
    main()
