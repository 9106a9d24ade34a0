# SPDX-License-Identifier: MIT
"""A guest for each test that asks for one. `pytest --basetemp=ringside-test` keeps their traces."""
import gi
import pytest

gi.require_version('RsTest', '1.0')
from gi.repository import RsTest  # pylint: disable=wrong-import-position


@pytest.fixture
def guest(tmp_path):
    guest = RsTest.Guest()
    guest.set_folder(str(tmp_path / 'guest'))
    yield guest
    guest.run_dispose()  # it ends here, also if the test has failed and is kept
