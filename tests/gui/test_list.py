#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The event list and the details: rows as `ringside report` has them, keys, finding, columns.

    RINGSIDE_VIEWER=build/viewer/app/ringside-viewer RINGSIDE=build/hv/cli/ringside \\
    RINGSIDE_HOSTED_DEMO=build/tests/guests/hosted/hosted-demo tests/gui/test_list.py
"""
import re
import time

from gui import Desktop, check, run_tests, wait_for

# A line of the report, and what a screen reader says of a row.
LINE = re.compile(r'^\s*(?P<task>.+-\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<time>[\d.]+): (?P<event>\S+): (?P<text>.*)$')
LOSS = re.compile(r'\[LOST (?P<lost>\d+) EVENTS?\]')
ROW = re.compile(r'^(?P<time>[\d.]+), CPU (?P<cpu>\d+), ')


class Trace:
    """A trace in a viewer, with the focus in the list."""

    def __init__(self, desktop):
        desktop.settings(window_width=1400, window_height=900)
        self.desktop = desktop
        path = desktop.record('trace.rst')
        report = desktop.ringside('report', path).splitlines()
        self.lines = [found for found in (LINE.match(line) or LOSS.search(line) for line in report) if found]
        self.viewer = desktop.start(path, title='trace.rst')
        self.list = self.viewer.find('table', 'Events')
        wait_for('rows are read', lambda: any('=' in row.name for row in self.rows()))
        self.rows()[2].press()
        wait_for('a click makes a row the current one', lambda: ROW.match(self.current()))

    def rows(self):
        return self.viewer.every('table row', ROW)

    def current(self):
        return self.list.description

    def goes(self, key, what, ask):
        self.desktop.key(key)
        return wait_for(what, lambda: ask(self.current()))

    def typed(self, name, text, role='entry'):
        """Whether the entry holds the text, which is typed again if some of it went elsewhere."""
        entry = self.viewer.find(role, name)
        self.desktop.key('ctrl+a')
        self.desktop.type(text)
        until = time.monotonic() + 3
        while entry.text != text and time.monotonic() < until:
            time.sleep(0.1)
        return entry.text == text

    def is_line(self, said, line):
        if line.re is LOSS:
            return f', loss, {int(line["lost"]):,} event' in said
        return bool(ROW.match(said)) and all(part in said for part in (line['task'], line['event'], line['text'])) and \
            abs(float(ROW.match(said)['time']) - float(line['time'])) < 2e-6


def test_keys():
    with Desktop() as desktop:
        trace = Trace(desktop)
        trace.goes('Home', 'Home leads to the first record', lambda said: trace.is_line(said, trace.lines[0]))
        trace.goes('Down', 'Down to the second', lambda said: trace.is_line(said, trace.lines[1]))
        trace.goes('End', 'End to the last one', lambda said: trace.is_line(said, trace.lines[-1]))
        trace.goes('Up', 'Up to the one before', lambda said: trace.is_line(said, trace.lines[-2]))
        trace.goes('Page_Up', 'and a page up', lambda said: not trace.is_line(said, trace.lines[-2]))
        event = trace.goes('End', 'and back', lambda said: trace.is_line(said, trace.lines[-1]) and trace.lines[-1])
        trace.viewer.find('label', 'Lost Events' if event.re is LOSS else event['event'])
        check(True, 'the details show that one')
        desktop.shot('list')
        trace.viewer.quit()


def test_find():
    with Desktop() as desktop:
        trace = Trace(desktop)
        event = 'pool:done'
        wanted = [line for line in trace.lines if event in line.group(0)]
        trace.goes('Home', 'Home leads to the first record', lambda said: trace.is_line(said, trace.lines[0]))
        desktop.key('ctrl+f')
        wait_for('the entry has what is typed', lambda: trace.typed('Find in the events', event.upper()))
        desktop.key('Return')
        trace.viewer.find('label', re.compile(rf'^{len(wanted):,} match(es)?$'))
        check(True, f'{len(wanted)} matches are counted')
        first = wanted[1] if wanted[0] is trace.lines[0] else wanted[0]
        wait_for('the first match behind is current', lambda: trace.is_line(trace.current(), first))
        trace.goes('shift+F3', 'backwards it goes on at the end',
                   lambda said: trace.is_line(said, wanted[-1] if first is wanted[0] else wanted[0]))
        desktop.shot('find')
        desktop.key('Escape')
        trace.viewer.quit()


def test_columns():
    with Desktop() as desktop:
        trace = Trace(desktop)
        trace.viewer.find('push button', 'Task').click()
        trace.viewer.find('menu item', 'CPU').click()
        wait_for('the column is hidden', lambda: not trace.viewer.every('push button', 'CPU'))
        wait_for('rows say it no more', lambda: any(
            re.match(r'^[\d.]+, [^C]', row.name) for row in trace.viewer.every('table row')))
        trace.viewer.quit()


def test_lost():
    """How many events were lost between the markers, and numbers in groups of three digits."""
    with Desktop() as desktop:
        trace = Trace(desktop)
        lost = sum(int(line['lost']) for line in trace.lines if line.re is LOSS)
        trace.viewer.find('label', f'{lost:,} event{"s" * (lost != 1)} lost' if lost else re.compile('records'))
        trace.goes('Home', 'Home leads to the first record', lambda said: trace.is_line(said, trace.lines[0]))
        desktop.key('ctrl+1', 'm', 'ctrl+2')
        trace.goes('End', 'End to the last one', lambda said: trace.is_line(said, trace.lines[-1]))
        desktop.key('ctrl+1', 'n')
        between = trace.viewer.find('label', re.compile('^A to B: ')).name
        desktop.shot('lost')
        check(between.endswith(f'{lost:,} lost') if lost else 'lost' not in between, f'{lost} events: {between}')
        trace.viewer.quit()


def test_mistakes():
    """A filter with a mistake changes nothing, and the focus stays in the entry."""
    with Desktop() as desktop:
        trace = Trace(desktop)

        def apply(text):
            desktop.key('ctrl+l')
            wait_for('the entry has what is typed', lambda: trace.typed('Filter', text, role='text'))
            desktop.key('Escape')
            desktop.key('Return')

        def stays(shown):
            entry = trace.viewer.find('text', 'Filter')
            wait_for('the focus is in the entry', lambda: entry.has('focused'))
            wait_for('what was shown stays', lambda: trace.viewer.every('label', shown))
            check(trace.rows(), 'there are rows')

        apply('pool:take:')
        shown = trace.viewer.find('label', re.compile('^[0-9,]+ shown')).name
        apply('pool:take: nmae == x')
        trace.viewer.find('label', re.compile("pool:take has no field 'nmae'"))
        stays(shown)
        desktop.shot('filter-mistake')
        apply('pool:take@nosuch=1: CPU == 1')
        trace.viewer.gone('label', re.compile("pool:take has no field 'nmae'"))
        stays(shown)
        entry = trace.viewer.find('text', 'Filter')
        wait_for('the cursor is at the glob that is wrong', lambda: entry.caret == 0)
        apply('pool:take: CPU ==')
        trace.viewer.gone('label', re.compile("pool:take has no field 'nmae'"))
        stays(shown)
        desktop.key('ctrl+l', 'ctrl+a', 'BackSpace', 'Return')
        trace.viewer.gone('label', shown)
        trace.viewer.quit()


if __name__ == '__main__':
    run_tests([test_keys, test_find, test_columns, test_lost, test_mistakes])
