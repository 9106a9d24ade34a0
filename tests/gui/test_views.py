#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Saved views: what was shown is shown again in another viewer, and what is no view is refused."""
import re

from gui import Desktop, check, run_tests, wait_for
from test_timeline import CPU, Timeline, opened


def choose(viewer, title, keys, path):
    """Opens the dialog, and gives it a path."""
    desktop = viewer.desktop
    desktop.key(keys)
    dialog = wait_for('a dialog', lambda: desktop.windows(title))[-1]
    desktop.xdotool('windowfocus', '--sync', dialog)
    if title.startswith('Save'):
        wait_for('a name is asked for', lambda: viewer.every('text', re.compile('Name')))
        desktop.key('ctrl+a')
        desktop.type(path)
    else:
        # A path that is typed opens an entry for itself.
        wait_for('the path can be typed', lambda: desktop.type(path[0]) or [
            entry for entry in viewer.every('text') if entry.has('focused')])
        desktop.key('ctrl+a')
        desktop.type(path)
        wait_for('the path is there', lambda: [e for e in viewer.every('text') if e.has('focused') and e.text == path])
    desktop.key('Return')
    wait_for('the dialog is gone', lambda: not desktop.windows(title))


class Shown:
    """What a page shows, as far as a view keeps it."""

    def __init__(self, viewer, timeline):
        self.range = timeline.said().split('. ')[0]
        self.filter = viewer.find('text', re.compile('^Filter')).text
        self.between = [label.name for label in viewer.every('label', re.compile('^A to B'))]
        self.columns = [name for name in ('Time', 'CPU', 'Task', 'Event', 'Text') if viewer.every('push button', name)]

    def __eq__(self, other):
        return vars(self) == vars(other)


def arrange(desktop, viewer, timeline):
    """Changes all that a view keeps."""
    viewer.find('text', re.compile('^Filter')).press()
    desktop.type('worker == 0')
    desktop.key('Escape', 'Return')
    viewer.find('label', re.compile(r'^[\d,]+ shown'))
    viewer.find('push button', 'Task').click()
    viewer.find('menu item', 'CPU').click()
    wait_for('the column is hidden', lambda: not viewer.every('push button', 'CPU'))
    desktop.button(*timeline.at(0.5, CPU))
    wait_for('a moment', timeline.moment)
    timeline.key('w', 'w', 'w')
    timeline.key('period', 'm')
    timeline.key('period', 'period', 'period', 'n')
    wait_for('the markers', lambda: viewer.every('label', re.compile('^A to B')))
    viewer.find('push button', 'Add a Lane').press()
    wait_for('the entry', lambda: viewer.find('text', 'Of which events'))
    desktop.key('ctrl+a')
    desktop.type('pool:take')
    desktop.key('Return')
    wait_for('the lane', lambda: timeline.said().endswith(' pool:take'))


def test_again():
    with Desktop() as desktop:
        viewer = opened(desktop)
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')
        arrange(desktop, viewer, timeline)
        shown, path = Shown(viewer, timeline), desktop.path('shared.ringview')
        choose(viewer, 'Save the View', 'ctrl+s', path)
        viewer.find('label', 'The view was saved')
        desktop.shot('view-saved')
        viewer.wait_window('trace.rst')
        viewer.quit()
        # Somebody else has the same trace, and what was shown with it is gone.
        desktop.settings(window_width=1400, window_height=900)
        viewer = desktop.start(desktop.path('trace.rst'), title='trace.rst')
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')
        check(Shown(viewer, timeline) != shown, 'another viewer shows something else at first')
        choose(viewer, 'Open a View', 'ctrl+shift+o', path)
        wait_for('the filter', lambda: viewer.every('label', re.compile(r'^[\d,]+ shown')))
        wait_for('the same view', lambda: Shown(viewer, timeline) == shown)
        viewer.wait_window('trace.rst')
        desktop.button(*timeline.at(0.5, 43))
        wait_for('the lane', lambda: timeline.said().endswith(' pool:take'))
        desktop.shot('view-opened')
        viewer.quit()


def test_foreign():
    with Desktop() as desktop:
        viewer = opened(desktop)
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')
        shown = Shown(viewer, timeline)
        cases = {'later': (b'[view]\nversion=99\n', 'of a later version'),
                 'other': (b'[Desktop Entry]\nName=x\n', 'no view of a trace'),
                 'long': (b'[view]\nversion=1\n' + b'#' * (2 << 20), 'too long'),
                 'bytes': (b'<b>\x00\xff' * 50, 'could not be opened')}
        paths = {}
        for name, (data, _) in cases.items():
            paths[name] = desktop.path(name + '.ringview')
            with open(paths[name], 'wb') as file:
                file.write(data)
        for name, (_, wanted) in cases.items():
            choose(viewer, 'Open a View', 'ctrl+shift+o', paths[name])
            viewer.find('label', re.compile(f'could not be opened.*{wanted}' if wanted != 'could not be opened' else wanted))
            check(Shown(viewer, timeline) == shown, f'{name}: nothing has changed')
            viewer.wait_window('trace.rst')
        desktop.shot('view-refused')
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_again, test_foreign])
