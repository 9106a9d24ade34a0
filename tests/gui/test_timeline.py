#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The timeline by pointer and keys: what it shows is what its description says."""
import re
import time

from gui import Desktop, check, run_tests, wait_for

UNITS = {'ns': 1, 'µs': 1e3, 'ms': 1e6, 's': 1e9}
CPU = 75  # pixels below the top of the lanes: the middle of the first vCPU


class Timeline:
    def __init__(self, desktop, viewer):
        self.desktop, self.viewer = desktop, viewer
        self.widget = viewer.find('panel', 'Timeline')
        wait_for('a trace', self.shown)

    def said(self):
        return self.widget.description.replace('\u2009', '')

    def shown(self):
        """Nanoseconds that it shows."""
        found = re.match(r'Shows ([\d.]+)(ns|µs|ms|s) ', self.said())
        return found and float(found[1]) * UNITS[found[2]]

    def moment(self):
        found = re.search(r'The moment ([\d.]+)s is chosen', self.said())
        return found and found[1]

    def key(self, *keys):
        """Presses them, and returns what is shown when nothing changes any more."""
        before, until = self.said(), time.monotonic() + 5
        self.desktop.key(*keys)
        # The next event may be at the same time.
        while self.said() == before and time.monotonic() < until:
            time.sleep(0.05)
        before = None
        while self.said() != before:
            before = self.said()
            time.sleep(0.4)
        return self.shown()

    def at(self, share, below):
        """A place on the display: a share of the width that time has, and pixels below the top."""
        (left, top), (x, y, width, _) = self.viewer.place(), self.widget.box()
        return left + x + 168 + (width - 168) * share, top + y + below


def opened(desktop):
    desktop.settings(window_width=1400, window_height=900)
    return desktop.start(desktop.record('trace.rst'), title='trace.rst')


def test_keys():
    with Desktop() as desktop:
        viewer = opened(desktop)
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')
        whole, text = timeline.shown(), timeline.said()
        desktop.button(*timeline.at(0.5, CPU))
        wait_for('a moment', timeline.moment)
        check(re.search(r'CPU \d+$', timeline.said()), f'a click chooses a moment and a lane: {timeline.said()}')
        shown = timeline.key('w')
        check(shown < 0.8 * whole, f'w zooms: {whole} to {shown} ns')
        check(timeline.key('s') > shown, 's zooms out')
        timeline.key('w', 'w', 'w', 'w', 'w', 'w')
        timeline.key('period')
        first = timeline.moment()
        timeline.key('period')
        later = timeline.moment()
        check(float(later) >= float(first), f'the next event is later: {first}, {later}')
        timeline.key('comma')
        check(timeline.moment() == first, 'the previous one is where it was')
        desktop.key('m')
        timeline.key(*['period'] * 20)
        last = timeline.moment()
        desktop.key('n')
        shown = timeline.key('z')
        between = round(float(last) * 1e9) - round(float(first) * 1e9)
        check(abs(shown - between) < 0.001, f'z shows what is between the markers: {shown} of {between} ns')
        desktop.shot('timeline-near')
        timeline.key('Home')
        timeline.key('End')
        timeline.key('0')
        check(timeline.said().split('.')[0] == text.split('.')[0], 'and 0 all of it')
        desktop.key('Escape')
        for _ in range(60):
            desktop.key('w')
        wait_for('the last zoom', lambda: timeline.shown() == 1)
        desktop.shot('timeline-nanosecond')
        viewer.quit()


def test_pointer():
    with Desktop() as desktop:
        viewer = opened(desktop)
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')
        whole = timeline.shown()
        desktop.move(*timeline.at(0.3, CPU))
        desktop.xdotool('keydown', 'ctrl')
        for _ in range(6):
            desktop.button(*timeline.at(0.3, CPU), number=4)
        desktop.xdotool('keyup', 'ctrl')
        wait_for('the wheel to zoom', lambda: timeline.shown() < 0.5 * whole)
        said, shown = timeline.said(), timeline.shown()
        desktop.drag(*timeline.at(0.6, CPU), *timeline.at(0.4, CPU))
        wait_for('the drag to pan', lambda: timeline.said() != said)
        check(timeline.shown() == shown, 'which does not zoom')
        desktop.xdotool('keydown', 'shift')
        desktop.drag(*timeline.at(0.2, CPU), *timeline.at(0.4, CPU))
        desktop.xdotool('keyup', 'shift')
        desktop.shot('timeline-selection')
        selected = timeline.key('z')
        check(0.18 < selected / shown < 0.22, f'a fifth was selected: {selected / shown}')
        # The overview: a click beside the window takes it there.
        said = timeline.said()
        x, _ = timeline.at(0.9, 0)
        desktop.button(x, timeline.at(0, 0)[1] - 25)
        wait_for('the window to follow', lambda: timeline.said() != said)
        desktop.button(*timeline.at(0.5, CPU), number=3)
        viewer.find('menu item', 'Pin to the Top')
        desktop.shot('timeline-menu')
        desktop.key('Escape')
        viewer.gone('menu item', 'Pin to the Top')
        viewer.quit()


def test_lanes():
    with Desktop() as desktop:
        viewer = opened(desktop)
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')

        def add(text):
            viewer.find('push button', 'Add a Lane').press()
            wait_for('the entry', lambda: viewer.find('text', 'Of which events'))
            desktop.key('ctrl+a')
            desktop.type(text)
            desktop.key('Return')

        add('*')
        wait_for('the lane', lambda: timeline.said().endswith(' *'))
        add('*: no such')
        viewer.find('label', re.compile('filter'))
        desktop.shot('timeline-wrong-lane')
        desktop.key('Escape')
        viewer.gone('label', re.compile('bad filter'))
        desktop.shot('timeline-lane')
        desktop.button(*timeline.at(0.5, 43))
        wait_for('an event of it', lambda: timeline.moment() and timeline.said().endswith(' *'))
        timeline.key('period')
        check(timeline.said().endswith(' *'), 'events of the lane follow each other')
        timeline.key('Delete')
        check(not timeline.said().endswith(' *'), 'it can be removed')
        desktop.key('slash')
        desktop.type('cpu')
        desktop.key('Return')
        timeline.key('Down')
        wait_for('what was found', lambda: re.search(r'CPU \d+$', timeline.said()))
        desktop.key('p')
        desktop.shot('timeline-found')
        viewer.quit()


def test_slices():
    """Pairs as slices, each in a row of its own, and a field as a curve."""
    with Desktop() as desktop:
        viewer = opened(desktop)
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')
        for kind, text in ('Counter', 'sort:partition.depth'), ('Begin and end', 'sort:partition..primes:found'):
            viewer.find('push button', 'Add a Lane').press()
            wait_for('the entry', lambda: viewer.find('text', 'Of which events').has('focused'))
            desktop.key('shift+Tab', 'space')
            wait_for('its kinds', lambda: len(viewer.every('label', kind)) > 0)
            desktop.key('Down', 'Return')
            viewer.gone('label', 'Events')
            desktop.key('Tab')
            wait_for('the entry', lambda: viewer.find('text', 'Of which events').has('focused'))
            desktop.key('ctrl+a')
            desktop.type(text)
            desktop.key('Return')
            wait_for('the lane', lambda: timeline.said().endswith(' ' + text))
        desktop.shot('timeline-slices')
        viewer.quit()


def test_filter():
    """Events of lanes are those that the filter leaves; the vCPU's tasks stay."""
    with Desktop() as desktop:
        viewer = opened(desktop)
        timeline = Timeline(desktop, viewer)
        viewer.gone('progress bar')
        viewer.find('text', re.compile('^Filter')).press()
        desktop.type('worker == 0')
        desktop.key('Escape', 'Return')
        viewer.find('label', re.compile(r'^\d+ shown'))
        desktop.button(*timeline.at(0.5, CPU))
        wait_for('a moment', timeline.moment)
        timeline.key('comma', 'period')
        # A busy machine loses events, and no filter hides losses.
        viewer.find('label', re.compile('^(pool:|Lost Events$)'))
        desktop.shot('timeline-filter')
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_keys, test_pointer, test_lanes, test_slices, test_filter])
