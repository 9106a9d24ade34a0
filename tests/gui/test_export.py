# SPDX-License-Identifier: MIT
"""The window exports what it shows, as the command would."""
import os
import re
import stat

from gui import Desktop, check, run_tests, wait_for

EVENT = 'pool:take'


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def leftovers(desktop):
    return [name for name in os.listdir(desktop.folder) if '.part' in name]


class Dialog:
    """The export's dialog."""

    def __init__(self, desktop, viewer):
        self.desktop, self.viewer = desktop, viewer
        desktop.key('ctrl+shift+e')
        self.window = wait_for('the dialog', lambda: desktop.windows('Export$'))[-1]
        desktop.xdotool('windowfocus', '--sync', self.window)
        viewer.find('label', 'Format')

    def choose_format(self, name):
        """Formats are in the order of the command's list."""
        lines = self.desktop.ringside('export', '--to', 'list').splitlines()
        names = [line.split()[0] for line in lines]
        combo = self.viewer.find('label', 'Format')
        self.window_at(combo)
        wait_for('the formats', lambda: len([x for x in self.viewer.every('label') if x.name in names]) >= len(names))
        self.desktop.key('Home', *['Down'] * names.index(name), 'Return')
        summary = lines[names.index(name)].split(None, 1)[1]
        self.viewer.find('label', summary[0].upper() + summary[1:])

    def window_at(self, widget):
        """Clicks on a widget of the dialog."""
        self.viewer.window = self.window
        widget.press()

    def export_to(self, path):
        self.desktop.xdotool('windowfocus', '--sync', self.window)
        self.viewer.find('push button', 'Export…').click()
        chooser = wait_for('where to', lambda: self.desktop.windows('Export To'))[-1]
        self.desktop.xdotool('windowfocus', '--sync', chooser)
        wait_for('a name is asked for', lambda: self.viewer.every('text', re.compile('Name')))
        self.desktop.key('ctrl+a')
        self.desktop.type(path)
        self.desktop.key('Return')

    def replace(self):
        """The chooser asks about what is there."""
        self.viewer.find('push button', re.compile('Replace$')).click()

    def done(self, viewer):
        """The main window again."""
        wait_for('the dialog is gone', lambda: not self.desktop.windows('Export'))
        viewer.wait_window('whole.rst')


def test_formats():
    with Desktop() as desktop:
        path = desktop.record('whole.rst')
        viewer = desktop.start(path, title='whole.rst')
        wait_for('all was read', lambda: viewer.every('label', re.compile('records')))
        for to in 'text', 'csv', 'ctf':
            dialog = Dialog(desktop, viewer)
            dialog.choose_format(to)
            desktop.shot('export-' + to)
            out = desktop.path('out.' + to)
            dialog.export_to(out)
            viewer.find('label', re.compile(r'^out\.' + to + ' has [0-9,]+ events'))
            viewer.find('push button', re.compile('Show in Folder$'))
            dialog.done(viewer)
            if to == 'ctf':
                check(stat.S_ISDIR(os.stat(out).st_mode), 'a folder')
                continue
            desktop.ringside('export', path, '--to', to, '-o', out + '.command')
            check(read(out) == read(out + '.command'), f'{to}: the same as the command writes')
        desktop.shot('export-done')
        check(not leftovers(desktop), 'nothing else is left')
        viewer.quit()


def test_choice():
    """What the filter leaves; and a mistake is told, and leaves nothing."""
    with Desktop() as desktop:
        path = desktop.record('whole.rst')
        viewer = desktop.start(path, title='whole.rst')
        wait_for('all was read', lambda: viewer.every('label', re.compile('records')))
        desktop.key('ctrl+l')
        desktop.type(EVENT + ':')
        desktop.key('Escape')
        desktop.key('Return')
        viewer.find('label', re.compile('^[0-9,]+ shown'))
        dialog = Dialog(desktop, viewer)
        viewer.find('label', EVENT + ':')
        dialog.choose_format('json')
        desktop.shot('export-filter')
        out = desktop.path('filtered')
        dialog.export_to(out)
        viewer.find('label', re.compile('^filtered has'))
        dialog.done(viewer)
        desktop.ringside('export', path, '--to', 'json', '-e', EVENT, '-o', out + '.command')
        check(read(out) and read(out) == read(out + '.command'), 'the same as the command writes')

        dialog = Dialog(desktop, viewer)
        dialog.choose_format('text')
        for place, why in (path, 'the trace itself'), ('/dev/full', 'No space'):
            before = os.stat(path).st_size
            dialog.export_to(place)
            dialog.replace()
            viewer.find('label', re.compile(why))
            check(os.stat(path).st_size == before, 'the trace stays as it was')
        desktop.shot('export-error')
        desktop.key('Escape')
        dialog.done(viewer)
        check(not leftovers(desktop), 'nothing is left of what failed')
        viewer.quit()


def test_cancel():
    """A pipe that nobody empties holds the export up, which can be cancelled."""
    with Desktop() as desktop:
        path = desktop.record('whole.rst')
        viewer = desktop.start(path, title='whole.rst')
        wait_for('all was read', lambda: viewer.every('label', re.compile('records')))
        dialog = Dialog(desktop, viewer)
        dialog.choose_format('csv')
        pipe = desktop.path('pipe')
        os.mkfifo(pipe)
        end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        dialog.export_to(pipe)
        dialog.replace()
        viewer.find('label', 'Exporting pipe')
        desktop.shot('export-running')
        desktop.xdotool('windowfocus', '--sync', dialog.window)
        viewer.find('push button', 'Cancel').click()
        viewer.find('label', re.compile('Cancelled'))
        os.close(end)
        desktop.xdotool('windowfocus', '--sync', dialog.window)
        viewer.find('push button', 'Cancel').click()
        dialog.done(viewer)
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_formats, test_choice, test_cancel])
