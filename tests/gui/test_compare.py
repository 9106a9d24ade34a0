# SPDX-License-Identifier: MIT
"""Two traces side by side, and what differs between them."""
import json
import re

from gui import Desktop, check, run_tests, wait_for


def cells(viewer):
    return [label.name for label in viewer.every('label')]


def test_table():
    with Desktop() as desktop:
        first = desktop.record('first.rst')
        second = desktop.path('second.rst')
        desktop.ringside('run', '-q', '-e', 'pool:*', '-o', second, '--hosted', __import__('gui').HOSTED_DEMO)
        # As a user starts it.
        viewer = desktop.start('--compare', first, second, title='first.rst and second.rst')
        wait_for('two pages', lambda: len(viewer.every('label', re.compile('records'))) == 2)
        viewer.find('label', re.compile('largest changes first'))
        rows = [json.loads(line) for line in desktop.ringside('diff', '--json', first, second).splitlines()]
        print(rows)
        desktop.shot('compare')
        viewer.dump()
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_table])
