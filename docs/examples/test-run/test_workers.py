# SPDX-License-Identifier: MIT
"""What a spec cannot say: the test looks at one event, and decides what it waits for next."""
import pytest
from gi.repository import GLib, RsTest

SOON_MS = 30000  # a machine of CI may be busy


def test_sleepers_are_woken(guest):
    guest.set_demo()
    guest.set_option('cpus', '2')
    guest.enable('sched:*')
    guest.boot()
    slept = guest.expect('sched:switch: prev_state == "sleeping"', SOON_MS)
    pid = slept.get_fields().unpack()['prev_pid']
    woken = guest.expect(f'sched:wakeup: pid == {pid}', SOON_MS)
    ran = guest.expect(f'sched:switch: next_pid == {pid}', SOON_MS)
    assert slept.get_time() <= woken.get_time() <= ran.get_time()
    guest.end()
    assert guest.get_end() == RsTest.End.STOPPED
    assert guest.get_lost() == 0


def test_it_exits(guest):
    guest.set_demo()
    guest.set_option('append', 'rounds=1 crash=exit:7')
    guest.enable('task:*')
    guest.boot()
    guest.wait_end(SOON_MS)
    assert (guest.get_end(), guest.get_exit_code()) == (RsTest.End.EXIT, 7)
    names = set()
    while event := guest.next(0):
        names.add(event.get_full_name())
    assert 'task:create' in names


def test_what_does_not_happen(guest):
    guest.set_demo()
    guest.enable('sched:*')
    guest.boot()
    with pytest.raises(GLib.Error) as failed:
        guest.expect('sched:switch: next_comm ~ "lz-*" && next_pid == 0', 1000)
    assert failed.value.matches(RsTest.error_quark(), RsTest.Error.TIMEOUT)
    assert 'the nearest is, but for' in failed.value.message
