#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The viewer's windows: start page, tabs, dialogs, what cannot be opened, and its end."""
import os
import re
import signal

from gui import Desktop, check, run_tests, wait_for


def garbage(desktop, name='garbage.rst', head=b''):
    path = desktop.path(name)
    with open(path, 'wb') as file:
        file.write(head + bytes(range(256)) * 64)
    return path


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def test_start_page():
    with Desktop() as desktop:
        desktop.settings(window_width=1400, window_height=900)
        viewer = desktop.start()
        viewer.find('push button', 'Open Files…')
        viewer.find('label', re.compile('No session runs'))
        desktop.shot('start')
        desktop.key('ctrl+question')
        viewer.wait_window('Keyboard Shortcuts')
        viewer.find('label', 'Full screen')
        desktop.shot('shortcuts')
        desktop.key('Escape')
        viewer.gone('label', 'Full screen')
        viewer.wait_window()
        desktop.key('ctrl+comma')
        viewer.find('label', 'Colors')
        desktop.key('Escape')
        viewer.gone('label', 'Colors')
        viewer.wait_window()
        viewer.quit()


def test_about():
    with Desktop() as desktop:
        viewer = desktop.start()
        desktop.key('F10')
        viewer.find('menu item', 'About Ringside Viewer').click()
        viewer.find('label', 'Ringside developers')
        desktop.shot('about')
        desktop.key('Escape')
        viewer.gone('label', 'Ringside developers')
        viewer.wait_window()
        viewer.quit()


def test_files():
    with Desktop() as desktop:
        desktop.settings(window_width=1400, window_height=900)
        first, second = desktop.record('first.rst'), desktop.record('second.rst')
        viewer = desktop.start('--tabs', first, second, title='second.rst')
        check(viewer.tabs() == ['first.rst', 'second.rst'], f'each has a tab: {viewer.tabs()}')
        desktop.shot('tabs')
        desktop.key('ctrl+t')
        viewer.wait_window('Ringside')
        viewer.find('list item', 'first.rst')
        desktop.shot('recent')
        desktop.key('ctrl+t')
        viewer.wait_window('second.rst')
        # A second start hands its files to the first.
        code, out, err = desktop.command(first, second)
        check((code, out, err) == (0, '', ''), f'a second start ends at once: {out}{err}')
        viewer.wait_window('first.rst, second.rst')
        check(len(viewer.tabs()) == 3, 'and there is one more tab, of both')
        desktop.key('ctrl+w')
        wait_for('two tabs', lambda: len(viewer.tabs()) == 2)
        desktop.key('ctrl+n')
        wait_for('another window', lambda: len(viewer.every('frame')) == 2)
        viewer.quit()


def test_what_cannot_be_opened():
    with Desktop() as desktop:
        viewer = desktop.start(garbage(desktop), title='garbage.rst')
        viewer.find('label', 'The trace could not be opened')
        desktop.shot('error')
        desktop.command(garbage(desktop, 'b<b>&\n\x1b.rst', b'RSTRACE\n'))
        viewer.wait_window('b<b>&')
        viewer.find('label', 'The trace could not be opened')
        viewer.quit()


def test_command_line():
    with Desktop() as desktop:
        code, out, _ = desktop.command('--version')
        check(code == 0 and out.startswith('ringside-viewer '), f'--version: {out}')
        code, out, _ = desktop.command('--help')
        check(code == 0 and '--compare' in out, '--help names the options')
        for args, wanted, what in ((['/nowhere/x.rst'], 3, '/nowhere/x.rst'), (['-s', 'none'], 3, 'none'),
                                   (['--compare', '/dev/null'], 2, '--compare'),
                                   (['-s', 'none', '/dev/null'], 2, '--session'), (['--wrong'], 2, '--wrong')):
            code, _, err = desktop.command(*args)
            check(code == wanted and what in err, f'{args}: {code}, {err}')
        code, _, err = desktop.command(env={'DISPLAY': '', 'WAYLAND_DISPLAY': ''})
        check(code == 1 and 'no display' in err, f'without a display: {err}')


def test_small_and_dark():
    with Desktop(360, 600) as desktop:
        desktop.settings(window_width=360, window_height=600, color_scheme="'dark'")
        viewer = desktop.start(desktop.record('small.rst'), title='small.rst')
        wait_for('a window that fits', lambda: viewer.every('frame')[0].box()[2] <= 360)
        desktop.shot('small-dark')
        desktop.key('ctrl+t')
        viewer.find('list item', 'small.rst')
        desktop.shot('small-dark-start')
        viewer.quit()


def test_compare():
    with Desktop() as desktop:
        first, second = desktop.record('first.rst'), desktop.record('second.rst')
        # As a user starts it.
        viewer = desktop.start('--compare', first, second, title='first.rst and second.rst')
        wait_for('two pages', lambda: len(viewer.every('label', re.compile('records'))) == 2)
        desktop.shot('compare')
        # What is done with keys is done in the page that has the focus.
        middle = viewer.every('frame')[0].box()[2] / 2

        def focused():
            return next((one for one in viewer.every('entry', 'Find in the events') if one.has('focused')), None)

        for side in ('right', 'left'):
            lists = wait_for('two lists', lambda: len(viewer.every('table', 'Events')) == 2 and
                             sorted(viewer.every('table', 'Events'), key=lambda one: one.box()[0]))
            lists[side == 'right'].press()
            desktop.key('ctrl+f')
            bar = wait_for('a search with the focus', focused)
            check((bar.box()[0] > middle) == (side == 'right'), f'it searches on the {side}: {bar.box()}')
            desktop.shot(f'compare-{side}')
            desktop.key('Escape')
            wait_for('no search', lambda: not focused())
        viewer.quit()


def test_settings():
    with Desktop() as desktop:
        desktop.settings(window_width=900, window_height=700)
        viewer = desktop.start()
        wait_for('the size', lambda: viewer.every('frame')[0].box()[2] in range(800, 901))
        desktop.key('ctrl+comma')
        viewer.wait_window('Preferences')
        viewer.find('label', 'As the system').press()
        viewer.find('label', 'Dark')
        desktop.key('Down', 'Down', 'Return')
        wait_for('what was chosen', lambda: "color-scheme='dark'" in read(desktop.keyfile))
        # An Escape before that would only close the choices.
        viewer.gone('label', 'Light')
        desktop.shot('preferences')
        desktop.key('Escape')
        viewer.gone('label', 'Colors')
        viewer.wait_window()
        desktop.xdotool('windowsize', '--sync', viewer.window, '1000', '750')
        wait_for('another size', lambda: viewer.every('frame')[0].box()[2] > 900)
        viewer.quit()
        kept = read(desktop.keyfile)
        check('window-width=900' not in kept and 'window-width=' in kept, f'its size is kept: {kept}')


def test_without_schema():
    with Desktop(env={'GSETTINGS_SCHEMA_DIR': ''}) as desktop:
        viewer = desktop.start(env={'G_DEBUG': 'fatal-warnings'})
        desktop.key('ctrl+comma')
        viewer.find('label', 'Colors')
        desktop.key('Escape')
        viewer.gone('label', 'Colors')
        viewer.wait_window()
        viewer.quit()


def test_session():
    with Desktop() as desktop:
        viewer = desktop.start()
        session = desktop.background('run', '-q', '-e', '*', '--name', 'shown', '--hosted',
                                     os.environ['RINGSIDE_HOSTED_DEMO'], '600')
        row = viewer.find('list item', 'shown')
        desktop.shot('session')
        check(session.poll() is None and row.showing, 'a session is listed as it starts')
        row.press()
        viewer.wait_window('shown')
        desktop.key('ctrl+t')
        viewer.find('list item', 'shown')
        session.send_signal(signal.SIGINT)
        viewer.gone('list item', 'shown')
        viewer.quit()


# What the command says of domains: there is one, which cannot be attached.
NO_ATTACH = """#!/bin/sh
case $1 in
prepare) echo '{"uri": "test:///", "domains": [{"domain": "guest", "uuid": "1", "state": "running", "device": true}]}' ;;
*) echo 'ringside: nobody answers' >&2; exit 1 ;;
esac
"""


def test_no_attach():
    """Who could not be attached to is not shown as if that still went on."""
    with Desktop() as desktop:
        os.mkdir(desktop.path('bin'))
        with open(desktop.path('bin/ringside'), 'w', encoding='utf-8') as file:
            file.write(NO_ATTACH)
        os.chmod(desktop.path('bin/ringside'), 0o755)
        viewer = desktop.start(env={'PATH': desktop.path('bin') + ':' + os.environ['PATH']})
        row = viewer.find('list item', 'guest')
        check(row.description == 'Running', f'it runs: {row.description}')
        row.press()
        viewer.find('label', re.compile('nobody answers'))
        viewer.gone('label', 'Attaching…')
        viewer.find('label', 'Running')
        viewer.quit()


if __name__ == '__main__':
    run_tests([test_start_page, test_about, test_files, test_what_cannot_be_opened, test_command_line,
               test_small_and_dark, test_compare, test_settings, test_without_schema, test_session,
               test_no_attach])
