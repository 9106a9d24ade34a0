# SPDX-License-Identifier: MIT
"""Two traces side by side, and what differs between them."""
import json
import re

from gui import Desktop, HOSTED_DEMO, check, run_tests, wait_for

EVENT = 'pool:take'


class Both:
    """Two traces that are compared, the second with few events."""

    def __init__(self, desktop):
        self.desktop = desktop
        self.first, self.second = desktop.record('first.rst'), desktop.path('second.rst')
        desktop.ringside('run', '-q', '-e', 'pool:*', '-o', self.second, '--hosted', HOSTED_DEMO)

    def diff(self):
        """Rows as the command has them: name, counts, change."""
        rows = []
        for line in self.desktop.ringside('diff', '--json', self.first, self.second).splitlines():
            row = json.loads(line)
            new = row['count_a'] == 0
            change = 'new' if new else 'gone' if row['count_b'] == 0 else f'{row["change"] * 100:+.1f} %'
            rows.append([row.get('name', 'Lost events'), str(row['count_a']), str(row['count_b']), change])
        return rows


def shown(viewer):
    """Rows as the table has them, from above."""
    rows = []
    for row in sorted(viewer.every('table row'), key=lambda row: row.box()[1]):
        cells = [label.name for cell in row.children() for label in cell.children()]
        counts = [cell.replace(',', '') for cell in cells[1:3]]
        if len(cells) == 7 and counts[0].isdigit():
            rows.append([cells[0], *counts, cells[6]])
    return rows


def filters(viewer):
    return [entry.text for entry in viewer.every('text', 'Filter')]


def check_both(viewer, both):
    wait_for('two pages', lambda: len(viewer.every('label', re.compile('records$'))) >= 2)
    viewer.find('label', re.compile('largest changes first'))
    wanted = both.diff()
    check(len(wanted) >= 4, f'they differ: {wanted}')
    wait_for('the rows of ringside diff, in its order', lambda: shown(viewer) == wanted)


def test_table():
    with Desktop() as desktop:
        both = Both(desktop)
        # As a user starts it.
        viewer = desktop.start('--compare', both.first, both.second, title='first.rst and second.rst')
        check_both(viewer, both)
        desktop.shot('compare')
        check(not viewer.find('push button', 'Show All Events').has('sensitive'), 'all events are shown')
        viewer.find('label', EVENT).press()
        wait_for('both sides are filtered', lambda: filters(viewer) == [EVENT + ':'] * 2)
        wait_for('and show that', lambda: len(viewer.every('label', re.compile('^[0-9,]+ shown'))) == 2)
        desktop.shot('compare-row')
        viewer.find('push button', 'Show All Events').press()
        wait_for('all again', lambda: filters(viewer) == ['', ''])
        viewer.find('label', 'Count A').press()
        wanted = sorted(both.diff(), key=lambda row: int(row[1]))
        wait_for('the table is sorted by another column',
                 lambda: [row[1] for row in shown(viewer)] == [row[1] for row in wanted])
        viewer.quit()


def test_with():
    """From the window: what is open, with another trace."""
    with Desktop() as desktop:
        both = Both(desktop)
        viewer = desktop.start(both.first, title='first.rst')
        wait_for('all was read', lambda: viewer.every('label', re.compile('records$')))
        desktop.key('ctrl+shift+d')
        chooser = wait_for('which one', lambda: desktop.windows('Compare With'))[-1]
        desktop.xdotool('windowfocus', '--sync', chooser)
        # A slash begins a path.
        desktop.key('slash')
        wait_for('a place for a path', lambda: [entry for entry in viewer.every('text') if entry.text == '/'])
        desktop.type(both.second[1:])
        desktop.key('Return')
        viewer.wait_window('first.rst and second.rst')
        check_both(viewer, both)
        check(viewer.tabs() == ['first.rst', 'first.rst and second.rst'], f'in a tab of its own: {viewer.tabs()}')
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_table, test_with])
