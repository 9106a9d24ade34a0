#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pane of a running session: events are switched on and filtered in it, and their records come.

    RINGSIDE_VIEWER=build/viewer/app/ringside-viewer RINGSIDE=build/hv/cli/ringside \\
    RINGSIDE_HOSTED_DEMO=build/tests/guests/hosted/hosted-demo tests/gui/test_control.py
"""
import json
import os
import re
import time

from gui import HOSTED_DEMO, Desktop, check, run_tests, wait_for

EVENT = 'pool:take'
FIELD = 'job'


class Live:
    """A session, whose program has all events off, and a viewer that shows it."""

    def __init__(self, desktop, name='live', seconds='600'):
        self.desktop, self.name = desktop, name
        self.process = desktop.background('run', '-q', '--name', name, '--hosted', HOSTED_DEMO, seconds)
        wait_for('its events', lambda: self.ask_safely() is not None)
        self.viewer = desktop.start('--session', name, title=name)

    def ask_safely(self):
        try:
            return self.events() or None
        except AssertionError:
            return None

    def events(self):
        rows = map(json.loads, self.desktop.ringside('list', '-j', '-s', self.name).splitlines())
        return {f'{row["system"]}:{row["name"]}': row for row in rows}

    def is_on(self, event=EVENT):
        return self.events()[event]['enabled']

    def ring_mode(self):
        sources = json.loads(self.desktop.ringside('ring', '-j', '-s', self.name))['sources']
        return sources[0]['ring_mode']

    def shown_mode(self):
        return [label.name for label in self.viewer.every('label', re.compile('^(Refuse new events|Overwrite the oldest)$'))]

    def check_button(self, event=EVENT):
        return self.viewer.find('check box', f'Record {event}')

    def press(self, role, name):
        """Clicks on what has come to rest: panes slide in. Of rows, on the one in the middle."""
        last = []

        def one():
            self.viewer.find(role, name)
            found = self.viewer.every(role, name)
            if role != 'table row':
                return found[0]
            return sorted(found, key=lambda widget: widget.box()[1])[len(found) // 2]

        def rests():
            last.append(one().box())
            return len(last) > 2 and last[-1] == last[-2] == last[-3]
        wait_for(f'{name!r} stays where it is', rests)
        one().press()

    def once_pressed(self, role, name, seen):
        """What `seen` finds after a click. GTK on a busy machine may lose the click: then again."""
        found = seen()
        if not found:
            self.press(role, name)
            time.sleep(1)
        return found

    def opened(self, title, role, name):
        """What a click on a label opens."""
        return wait_for(f'{title!r} opens', lambda: self.once_pressed(
            'label', title, lambda: self.viewer.every(role, name)), 60)[0]

    def focus(self, title):
        """Clicks into an entry."""
        wait_for(f'{title!r} has the focus', lambda: self.once_pressed(
            'text', title, lambda: self.viewer.find('text', title).has('focused')), 60)

    def end(self):
        self.desktop.ringside('stop', '-s', self.name)
        self.process.wait(30)


def count_of(text):
    return int(text.replace(',', '')) if re.fullmatch(r'[\d,]+', text) else 0


def test_switch():
    """An event is switched on here, and is recorded; and elsewhere, which shows here."""
    with Desktop() as desktop:
        live = Live(desktop)
        box = live.check_button()
        check(not box.has('checked') and not live.is_on(), 'at first it is off')
        live.press('check box', f'Record {EVENT}')
        wait_for('the session has it on', live.is_on)
        wait_for('the button says so', lambda: live.check_button().has('checked'))
        owners = live.events()[EVENT]['owners']
        check([o['name'] for o in owners] == ['host'], f'as if the command line had asked for it: {owners}')
        wait_for('its records come and are counted', lambda: any(
            count_of(label.name) > 0 for label in live.viewer.every('label')))
        desktop.shot('control')
        live.press('label', 'Figures')
        wait_for('its rings are described', lambda: live.viewer.every('label', re.compile('overwrite the oldest')))
        wait_for('and what was lost', lambda: live.viewer.every('label', re.compile('[0-9]+ overwritten, [0-9]+ refused')))
        desktop.shot('control-figures')
        live.press('label', 'Figures')
        check(live.ring_mode() == 'overwrite', 'full rings overwrite')
        live.press('label', 'Full rings')
        wait_for('what they may do', lambda: live.viewer.every('label', 'Refuse new events'))
        desktop.shot('control-rings')
        desktop.key('Down')
        desktop.key('Return')
        wait_for('the session has that mode', lambda: live.ring_mode() == 'drop')
        wait_for('which shows', lambda: live.shown_mode() == ['Refuse new events'])
        desktop.ringside('ring', '-s', live.name, '--mode', 'overwrite')
        wait_for('the mode that others choose shows here', lambda: live.shown_mode() == ['Overwrite the oldest'])
        check(live.ring_mode() == 'overwrite', 'and stays')
        desktop.shot('control-mode')
        desktop.ringside('disable', '-s', live.name, EVENT)
        wait_for('what others change shows here', lambda: not live.check_button().has('checked'))
        live.press('check box', 'Record pool')
        wait_for('a system is switched as a whole',
                 lambda: all(e['enabled'] for name, e in live.events().items() if name.startswith('pool:')))
        desktop.ringside('disable', '-s', live.name, EVENT)
        wait_for('of which a part is off then', lambda: live.viewer.find('check box', 'Record pool').has('indeterminate'))
        desktop.ringside('enable', '-s', live.name, EVENT)
        desktop.ringside('enable', '-s', live.name, '--owner', 'view', EVENT)
        wait_for('who else wants it is told', lambda: live.viewer.every('label', 'also for view'))
        live.press('check box', f'Record {EVENT}')
        wait_for('and why it stays on', lambda: live.viewer.every('label', re.compile('stays as it is: also for view')))
        wait_for('the button too', lambda: live.check_button().has('checked'))
        check(live.is_on(), 'it is on')
        live.end()
        wait_for('the end is told', lambda: live.viewer.every('label', re.compile('session has ended')))
        check(not live.check_button().has('sensitive'), 'and nothing can be switched any more')
        live.viewer.quit()


def test_busy():
    """A list that follows a guest which writes far more than fits shows what its rows say."""
    with Desktop() as desktop:
        live = Live(desktop)
        desktop.ringside('enable', '-s', live.name, '*')

        def rows():
            return [row for row in live.viewer.every('table row') if re.match(r'[\d.]+, CPU', row.name)]
        wait_for('rows are read', lambda: any('=' in row.name for row in rows()))
        # To look for rows takes long; those that are there show others from then on.
        some, seen = wait_for('rows', rows), []

        def has_moved():
            seen.extend(row.name_now() for row in some)
            return len(set(seen)) > 3 * len(some)
        wait_for('the list moves on', has_moved)
        check(sum('=' in name for name in seen) > 0.9 * len(seen), 'and they have their text')
        live.viewer.quit()


def test_filter():
    """A filter is completed, refused with a mark at its mistake, and applied."""
    with Desktop() as desktop:
        live = Live(desktop)
        live.press('label', EVENT.split(':')[1])
        title = f'Filter of {EVENT}'
        wait_for('the entry can be used', lambda: live.viewer.find('text', title).has('sensitive'))
        live.focus(title)
        desktop.type(FIELD[:2])
        wait_for('fields are offered', lambda: live.viewer.every('label', FIELD + ' '))
        desktop.shot('control-completion')
        desktop.key('Tab')
        wait_for('Tab takes one', lambda: live.viewer.find('text', title).text == FIELD + ' ')
        desktop.type('& 1')
        desktop.key('Escape')
        desktop.key('Return')
        wait_for('the session has it', lambda: live.events()[EVENT]['filter'] == f'{FIELD} & 1')
        wait_for('which shows below the name', lambda: live.viewer.every('label', f'if {FIELD} & 1'))
        desktop.key('ctrl+a')
        desktop.type('nix == 3')
        desktop.key('Escape')
        desktop.key('Return')
        wait_for('a mistake is told', lambda: live.viewer.every('label', re.compile("has no field 'nix'")))
        check('no field' in live.viewer.find('text', title).description, 'which a screen reader says, too')
        check(live.events()[EVENT]['filter'] == f'{FIELD} & 1', 'and nothing has changed')
        desktop.shot('control-filter-error')
        live.end()
        live.viewer.quit()


def test_late_mistake():
    """What a filter lacks is known once its event comes. What is typed by then is not marked."""
    with Desktop() as desktop:
        live = Live(desktop)
        live.focus('Filter')
        desktop.type(f'{EVENT}: nix == 3')
        desktop.key('Escape', 'Return')
        entry = live.viewer.find('text', 'Filter')
        live.viewer.find('label', '0 shown')
        live.focus('Filter')
        desktop.key('ctrl+a')
        desktop.type('CPU == 1')
        desktop.key('Escape')
        desktop.ringside('enable', '-s', live.name, EVENT)
        live.viewer.gone('label', re.compile('shown$'))
        check(entry.text == 'CPU == 1' and entry.caret == 8, 'the entry has what was typed, and the cursor')
        check('no field' not in entry.description, 'and nothing is wrong with that')
        desktop.shot('control-late-mistake')
        live.end()
        live.viewer.quit()


def test_record():
    """A recording begins and ends, and its file can be read."""
    with Desktop() as desktop:
        live = Live(desktop)
        desktop.ringside('enable', '-s', live.name, EVENT)
        live.press('push button', 'Record…')
        dialog = wait_for('a dialog', lambda: desktop.windows('Record To'))[-1]
        desktop.xdotool('windowfocus', '--sync', dialog)
        path = desktop.path('here.rst')
        wait_for('a name is asked for', lambda: live.viewer.every('text', re.compile('Name')))
        desktop.key('ctrl+a')
        desktop.type(path)
        desktop.key('Return')
        live.viewer.find('push button', 'Stop')
        wait_for('the file grows', lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        wait_for('and its size is shown', lambda: live.viewer.every('label', re.compile(r'here.rst\n.*B · (?!0:00)\d+:\d\d')))
        desktop.shot('control-recording')
        live.press('push button', 'Stop')
        wait_for('its end is told', lambda: live.viewer.every('label', re.compile('here.rst has [0-9,]+ events')))
        lines = desktop.ringside('report', path).splitlines()
        check(any(EVENT in line for line in lines), f'{len(lines)} lines can be read')
        live.press('push button', 'Pause')
        wait_for('the guest is paused', lambda: 'paused' in desktop.ringside('ps'))
        live.viewer.find('label', 'Guest paused')
        live.press('push button', 'Resume')
        wait_for('and runs on', lambda: 'paused' not in desktop.ringside('ps'))
        live.viewer.gone('label', 'Guest paused')
        live.end()
        live.viewer.quit()


def test_site():
    """The details of a record have the code of its tracepoint, and whether it is patched now."""
    with Desktop() as desktop:
        live = Live(desktop)
        desktop.ringside('enable', '-s', live.name, EVENT)
        wait_for('records come', lambda: live.viewer.every('table row', re.compile(EVENT)))
        desktop.key('ctrl+e')
        live.viewer.find('label', 'Live, held')
        # Of the first row and the last a part is hidden.
        wait_for('rows', lambda: len(live.viewer.every('table row', re.compile(EVENT))) > 3)
        live.press('table row', re.compile(EVENT))
        live.opened('Details', 'label', EVENT)
        live.viewer.find('label', 'Site')
        text = live.opened('Site', 'text', 'Site').text
        check(re.match(r'Site at 0x[0-9a-f]+: on\n(→| ) 0x', text), f'it is patched, and its code is there: {text}')
        desktop.shot('control-site')
        live.end()
        live.viewer.quit()


if __name__ == '__main__':
    run_tests([test_switch, test_busy, test_filter, test_late_mistake, test_record, test_site])
