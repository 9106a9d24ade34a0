#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Triggers: what a session does when an event comes.

    triggers.py kvm|tcg|hosted RINGSIDE GUEST

Exits 77, with the reason, if the accelerator is missing.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness import DOC, Background, Ringside, check, need, run_tests, wait_for

KIND, RINGSIDE, GUEST = sys.argv[1:4]
rs = Ringside(RINGSIDE)
if KIND == 'hosted':
    EVENT, FIELD, OTHER = 'pool:take', 'job', 'pool:done'
else:
    EVENT, FIELD, OTHER = 'sched:switch', 'next_pid', 'sched:wakeup'


def arguments(name, *options):
    guest = ['--hosted', *GUEST.split()] if KIND == 'hosted' else ['--accel', KIND, GUEST]
    return ['run', '--name', name, *options, *guest]


def is_up(name):
    return EVENT in rs('list', '-s', name, '-q').out.split()


def start(name, *options):
    return Background(rs, *arguments(name, *options), ready=lambda: is_up(name))


def triggers(name):
    r = rs('trigger', '-s', name, '--json')
    rows = [json.loads(line) for line in r.out.splitlines()]
    for row in rows:
        DOC.check('ringside trigger', row)
    return rows


def state(name):
    return rs.json('stat', '-s', name)['state']


def enabled(name, glob):
    return [row['enabled'] for row in rs.json('list', '-s', name, glob)]


def written(name):
    return sum(cpu['written'] for cpu in rs.json('stat', '-s', name)['cpus'])


def test_a_life():
    """It is set, listed, fires, is spent, and can be removed; its client has gone long before."""
    s = start('l', '-q')
    check(rs('trigger', 'l').out == '', 'there is none')
    r = rs('trigger', '-s', 'l', f'{EVENT}: {FIELD} >= 0', '--do', f'enable={OTHER}', '-n', '1')
    check((r.code, r.out) == (0, 'trigger 1\n'), f'set: {r}')
    wait_for('it to fire', lambda: triggers('l')[0]['fired'])
    row = triggers('l')[0]
    check(row['spent'] and row['fired'] == row['count'] == 1 and row['hits'] >= 1, f'once: {row}')
    check(row['actions'] == [f'enable={OTHER}'] and not row['problem'], 'listed')
    wait_for('the other event', lambda: enabled('l', OTHER) == [True])
    wait_for('its own event to go off', lambda: enabled('l', EVENT) == [False])
    text = rs('trigger', 'l').out.splitlines()
    check(re.match(rf' +1 spent +1/1 +\d+  enable={OTHER} @ {EVENT}: {FIELD} >= 0$', text[1]), f'as text: {text}')
    check(rs('trigger', '-s', 'l', '-q', EVENT, '--do', f'disable={OTHER}').out == '', 'another, quietly')
    wait_for('that', lambda: enabled('l', OTHER) == [False])
    check(rs('trigger', 'l', '--remove', EVENT).code == 0, 'both removed by their event')
    check(triggers('l') == [] and enabled('l', EVENT) == [False], 'nothing is left')
    check(rs('trigger', 'l', '--remove', '1').code == 3, 'no more')
    check(rs('stop', 'l').code == 0, 'stop')
    said = s.end()[2]
    check(re.search(rf'^ringside: trigger 1: {EVENT}, [0-9.]+ ms ago: enable={OTHER}$', said, re.M), said)


def test_pause():
    s = start('p', '-q')
    r = rs('trigger', '-s', 'p', EVENT, '--do', 'pause', '--count', '1')
    check(r.code == 0, f'{r}')
    if KIND == 'hosted':
        # A program that the session started stands still, too.
        wait_for('the program to be paused', lambda: state('p') == 'paused')
    else:
        wait_for('the guest to be paused', lambda: state('p') == 'paused')
    before = written('p')
    check(written('p') == before, 'and nothing more is recorded')
    hint = 'ringside: paused: the guest stands still until ringside resume p\n'
    for args in ['trace', '--new', '--duration', '0.2'], ['list'], ['trigger']:
        r = rs(args[0], '-s', 'p', *args[1:])
        check((r.code, r.err) == (0, hint), f'{args} tells what goes on: {r}')
    check('p: paused (ringside resume p): ' in rs('top', 'p', '-n', '1', '-i', '0.1').out, 'so does top')
    check(rs('resume', 'p').code == 0 and state('p') == 'running', 'it goes on')
    check(rs('stop', 'p').code == 0, 'stop')
    said = s.end()[2]
    check(re.search(rf'^ringside: trigger 1: {EVENT}, .*: pause\n{hint}', said, re.M), f'so does the session: {said}')


def test_freeze():
    """The rings keep what they hold, and what was wished comes back."""
    s = start('f', '-q', '-e', OTHER)
    wait_for('events', lambda: written('f') > 0)
    check(rs('trigger', '-s', 'f', EVENT, '--do', 'freeze', '-n', '1').code == 0, 'set')
    wait_for('the freeze', lambda: rs.json('ring', 'f')['frozen'])
    wait_for('events off', lambda: not any(enabled('f', '*:*')))
    before = written('f')
    check(rs('enable', '-s', 'f', EVENT).code == 0 and enabled('f', EVENT) == [False], 'a wish waits')
    check('frozen' in rs('ring', 'f').out and '(the session is frozen)' in rs('list', '-s', 'f', EVENT).out, 'shown')
    r = rs('trace', '-s', 'f', '-n', '3', '--duration', '20')
    check(OTHER in r.out, 'what was there is there')
    check(written('f') == before, 'nothing was recorded')
    check(rs('ring', '--freeze', '--thaw', 'f').code == 2, 'not both')
    check(rs('ring', '--thaw', 'f').code == 0 and not rs.json('ring', 'f')['frozen'], 'thawed')
    check(enabled('f', EVENT) == enabled('f', OTHER) == [True], 'both are on')
    wait_for('events', lambda: written('f') > before)
    check(rs('ring', '--freeze', 'f').code == 0 and rs.json('ring', 'f')['frozen'], 'by hand')
    check(rs('ring', '--thaw', 'f').code == 0, 'and back')
    check(rs('stop', 'f').code == 0, 'stop')
    s.end()


def test_snapshot(folder):
    """Files are written while the session goes on, so many and no more."""
    path = os.path.join(folder, 'snap')
    s = start('s', '-q', '--host', '-e', 'host:trigger')
    check(rs('trigger', '-s', 's', EVENT, '--do', f'snapshot={path}', '--do', 'stack=4', '-n', '2').code == 0, 'set')
    wait_for('both files', lambda: os.path.exists(f'{path}.0002'))
    wait_for('the second to be whole', lambda: s.said().count('snap.0002: trigger 1: ') == 1)
    check(triggers('s')[0]['spent'], 'that was all')
    r = rs('report', f'{path}.0002')
    check(r.code == 0 and EVENT in r.out and ' => ' in r.out, f'with stacks: {r.out[-300:]} {r.err}')
    check(re.search(rf'host:trigger: source=\d+ number=1 event={EVENT} do="snapshot={path}; stack=4" late_ns=\d+',
                    r.out), 'and the trigger is in it')
    check(len(os.listdir(folder)) == 2, f'two files: {os.listdir(folder)}')
    check(rs('stop', 's').code == 0, 'stop')
    said = s.end()[2]
    check(re.search(rf'{EVENT}, [0-9.]+ ms ago: .*\n.*{EVENT}: .*\n => ', said), f'the session shows it: {said[-500:]}')


def test_of_run(folder):
    """--trigger, whose events come before anybody could ask; the last ones are not missed."""
    path = os.path.join(folder, 'run')
    r = rs(*arguments('r', '-q', '--trigger', f'snapshot={path}; count=1 @ {EVENT}', '--duration', '1'))
    check(r.code == 0 and os.path.exists(f'{path}.0001'), f'written: {r}')
    for line, code, why in ((f'pausee @ {EVENT}', 2, 'is nothing'), (f'pause {EVENT}', 2, 'ACTION'),
                            ('pause @ nix:nix', 3, 'no event'), (f'pause @ {EVENT}: nix == 1', 2, 'nix'),
                            (f'enable=nix:nix @ {EVENT}', 3, 'no event')):
        r = rs(*arguments('r', '-q', '--trigger', line, '--duration', '1'))
        check(r.code == code and why in r.err, f'{line}: {r.code} {r.err[-200:]}')


def test_of_run_leaves_files(folder):
    """A run that cannot begin as it was asked to leaves files as they were, and makes none."""
    text, trace, diary = (os.path.join(folder, name) for name in ('text', 'trace', 'diary'))
    for path in (text, diary):
        write_lines(path, 'as it was')
    many = [word for _ in range(17) for word in ('--trigger', f'stack @ {EVENT}')]
    for options, code, why in ((['-o', trace, *many], 1, '16 triggers'), (['-o', trace, '-f', f'{EVENT}: ('], 2, '^'),
                               (['-o', diary], 1, 'is no trace')):
        r = rs(*arguments('r', '--text', text, *options, '--duration', '1'))
        check(r.code == code and why in r.err, f'{why}: {r.code} {r.err[-200:]}')
        for path in (text, diary):
            with open(path, encoding='utf-8') as f:
                check(f.read() == 'as it was\n', f'{why}: {path} is as it was')
        check(not os.path.exists(trace), 'and no other file was made')
    r = rs(*arguments('r', '--text', text, '-e', EVENT, '--duration', '1'))
    with open(text, encoding='utf-8') as f:
        check(r.code == 0 and 'as it was' not in f.read(), f'then it is written anew: {r.code}')


def test_wrong():
    s = start('w', '-q')
    for args, code, why in (([EVENT, '--do', 'pausee'], 2, 'is nothing'), ([EVENT], 2, 'what is to be done'),
                            (['--do', 'pause'], 2, 'which event'), (['nix:nix', '--do', 'pause'], 3, '--ahead'),
                            ([f'{EVENT}: nix > 2', '--do', 'pause'], 2, '^~~'),
                            ([EVENT, '--do', 'enable=nix:nix'], 3, 'no event'),
                            ([EVENT, '--do', 'pause', '--remove', '1'], 2, 'together'),
                            ([EVENT, '--do', 'pause', '-n', '-1'], 2, '--count')):
        r = rs('trigger', '-s', 'w', *args)
        check(r.code == code and why in r.err, f'{args}: {r.code} {r.err[-200:]}')
    check(triggers('w') == [], 'none of them is there')
    for args in (['trigger', 'nosuch'], ['trigger', 'nosuch', EVENT, '--do', 'pause'], ['apply', 'nosuch', 'p'],
                 ['apply', 'p', 'w'], ['hist', 'nosuch', EVENT, FIELD], ['format', 'nosuch', EVENT],
                 ['list', 'nosuch', EVENT]):
        r = rs(*args)
        check(r.code == 3 and f"no session named '{args[1]}'" in r.err, f'{args}: {r}')
    for args in (['trigger', 'w', EVENT, EVENT, '--do', 'pause'], ['hist', EVENT, OTHER, FIELD],
                 ['format', '-s', 'w', 'w', EVENT], ['format', EVENT, OTHER], ['list', EVENT, OTHER],
                 ['list', '-s', 'w', 'w', EVENT]):
        r = rs(*args)
        check(r.code == 2 and 'too many' in r.err, f'{args}: {r}')
    check(rs('list', 'w', EVENT).code == 0, 'the name and a glob')
    check(rs('apply', '--check', 'w', 'p').code == 2, 'it needs no session')
    check(rs('enable', '-s', 'w', '--owner', 'trigger.1', '*').code == 2, 'nobody speaks for a trigger')
    check(rs('trigger', '-s', 'w', 'nix:nix', '--do', 'pause', '--ahead').code == 0, 'of what comes')
    check(rs('trigger', 'w', '--remove', 'all').code == 0 and triggers('w') == [], 'removed')
    for path, why in (('/nothing/there', 'written: .*/nothing.*: No such file'),
                      ('/tmp/' + 252 * 'x', 'written: .*File name too long')):
        check(rs('trigger', '-s', 'w', EVENT, '--do', f'snapshot={path}', '-n', '1').code == 0, 'where nothing can be')
        wait_for('it to fail', lambda: triggers('w')[0]['problem'])
        check(re.match('the snapshot was not ' + why, triggers('w')[0]['problem']), f'why is told: {triggers("w")}')
        check(rs('trigger', 'w', '--remove', 'all').code == 0, 'removed')
    check(rs('stop', 'w').code == 0, 'stop')
    s.end()


def test_lists():
    """Lists of events, and selections, with and without an expression."""
    s = start('l', '-q')
    for event, on in ((f'{EVENT},{OTHER}', [EVENT, OTHER]), (f'{EVENT},{OTHER}: {FIELD} >= 0', [EVENT, OTHER]),
                      (f'{EVENT.split(":")[0]}:*,!{OTHER}', [EVENT]), (EVENT.split(':')[1], [EVENT])):
        check(rs('trigger', '-s', 'l', event, '--do', 'stack', '-n', '1').code == 0, f'{event} is taken')
        check([row['event'] for row in triggers('l')] == [event], 'as it was given')
        wait_for('it to fire', lambda: triggers('l')[0]['fired'])
        check(rs('trigger', 'l', '--remove', event).code == 0 and triggers('l') == [], 'removed by its name')
        check(rs('trigger', '-s', 'l', event, '--do', 'stack', '--ahead').code == 0, 'and so it says what it wants')
        check({e for e in (EVENT, OTHER) if enabled('l', e) == [True]} == set(on), f'{event}: {on} are on')
        check(rs('trigger', 'l', '--remove', event.split(': ')[0]).code == 0 and triggers('l') == [], 'removed again')
    r = rs('trigger', '-s', 'l', f'{EVENT}@level=3', '--do', 'stack')
    check(r.code == 3 and 'no event matches' in r.err, f'a selection is one, and no filter: {r}')
    r = rs('trigger', '-s', 'l', f'{EVENT},{OTHER}:{FIELD}', '--do', 'stack')
    check(r.code == 2 and "'GLOB: EXPRESSION'" in r.err, f'a list has a blank behind its colon: {r}')
    check(rs('stop', 'l').code == 0, 'stop')
    s.end()


def write_lines(path, *lines):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')


def test_profile(folder):
    """All of a file is done, or nothing of it, also for a session that runs."""
    path = os.path.join(folder, 'p')

    def write(*lines):
        write_lines(path, *lines)
    s = start('a', '-q')
    good = '[events]', f'enable = {OTHER}'
    for lines, code, why in (((f'[filter x]', f'events = {EVENT}', 'if = nix > 2'), 2, f'{path}:5: '),
                             (('disable = nix:nix',), 3, f'{path}:3: '),
                             (('[filter x]', 'events = nix:nix', 'if = n > 2'), 3, f'{path}:4: '),
                             (('[trigger x]', 'on = nix:nix', 'do = pause'), 3, f'{path}:4: '),
                             (('[trigger x]', f'on = {EVENT}', 'if = nix > 2', 'do = pause'), 2, f'{path}:5: '),
                             (('[trigger x]', f'on = {EVENT}', 'do = enable=nix:nix'), 3, f'{path}:5: '),
                             (('[trigger x]', f'on = {EVENT}', 'do = pausee'), 2, f'{path}:5: '),
                             (('[ring]', 'mode = up'), 2, f'{path}:4: ')):
        write(*good, *lines)
        r = rs('apply', 'a', path)
        check(r.code == code and why in r.err, f'{lines}: {r}')
        check(triggers('a') == [] and not any(enabled('a', '*:*')), 'nothing was done')
    write(*good, '[filter x]', f'events = {EVENT}', f'if = {FIELD} >= 0', '[trigger x]', f'on = {EVENT}',
          f'if = {FIELD} >= 0', f'do = disable={OTHER}', 'count = 1', '[ring]', 'mode = drop')
    check(rs('apply', '--check', path).code == 0, 'it is good')
    r = rs('apply', 'a', path)
    check((r.code, r.out, r.err) == (0, '', ''), f'applied: {r}')
    check([row['count'] for row in triggers('a')] == [1], 'the trigger is there')
    check(rs.json('ring', 'a')['sources'][0]['ring_mode'] == 'drop', 'the mode')
    wait_for('it to fire', lambda: triggers('a')[0]['fired'])
    wait_for('what it does', lambda: enabled('a', OTHER) == [False])
    check(rs('enable', '-s', 'a', '--owner', 'x', OTHER).code == 0, 'no claim is left')
    check(rs('stop', 'a').code == 0, 'stop')
    s.end()
    write(*good, f'disable = {EVENT}')
    s = start('b', '-q', '-e', EVENT, '--profile', path)
    wait_for('its event', lambda: enabled('b', OTHER) == [True])
    check(enabled('b', EVENT) == [False], 'and the one that is off')
    check(rs('stop', 'b').code == 0, 'stop')
    s.end()
    # A path that no line of --trigger could have.
    kept = os.path.join(folder, 'b @ c')
    write('[trigger x]', f'on = {EVENT}, {OTHER}', f'do = snapshot={kept}', 'count = 1')
    s = start('c', '-q', '--profile', path, '--trigger', f'stack; count=1 @ {EVENT}')
    check([row['actions'] for row in triggers('c')] == [[f'snapshot={kept}'], ['stack=16']], 'those of a file first')
    wait_for('its file', lambda: os.path.exists(f'{kept}.0001'))
    check(rs('apply', 'c', path).code == 0, 'the same of a session that runs')
    wait_for('its second file', lambda: os.path.exists(f'{kept}.0002'))
    check(rs('stop', 'c').code == 0, 'stop')
    s.end()
    r = rs('run', '--profile', '/nowhere', GUEST.split()[0])
    check(r.code == 1 and "no file '/nowhere'" in r.err, f'a file that is not there: {r}')
    # Fields are known once the guest reports.
    for lines, line in ((('[filter x]', f'events = {EVENT}', 'if = nix > 2'), 3),
                        (('[trigger x]', f'on = {EVENT}', 'if = nix > 2', 'do = pause'), 3)):
        write(*lines)
        r = rs(*arguments('d', '-q', '-f', f'{OTHER}: CPU >= 0', '--profile', path))
        check(r.code == 2 and f'{path}:{line}: bad filter' in r.err, f'{lines}: {r}')


def settings(name):
    """What a profile may change."""
    return (rs.json('list', '-s', name), rs('list', '-s', name, '--kept', '--json').out,
            rs.json('ring', name)['sources'][0]['ring_mode'], [row['number'] for row in triggers(name)])


def test_what_fails_late(folder):
    """What only shows once it is in force: all that was done is taken back."""
    path = os.path.join(folder, 'late')

    def terms(n):
        return ' || '.join(f'{FIELD} == {1000 + i}' for i in range(n))
    s = start('l', '-q')
    for args in (('filter', '-s', 'l', '--owner', 'o', f'{EVENT}: {terms(100)}'),
                 ('enable', '-s', 'l', '--owner', 'o', EVENT),
                 ('filter', '-s', 'l', f'{EVENT}: {FIELD} >= 0'), ('filter', '-s', 'l', 'nix:*: a > 1', '--ahead'),
                 ('enable', '-s', 'l', EVENT, '--stack=4'), ('enable', '-s', 'l', 'nix:*', '--ahead')):
        r = rs(*args)
        check(r.code == 0, f'{args[0]}: {r}')
    before = settings('l')
    check(enabled('l', EVENT) == [True] and enabled('l', OTHER) == [False], 'what is on')
    write_lines(path, '[events]', f'enable = {OTHER}', '[filter a]', f'events = {OTHER}', 'if = PID >= 0', '[filter b]',
                f'events = {EVENT}', f'if = {terms(60)}', '[ring]', 'mode = drop', '[trigger x]', f'on = {OTHER}',
                'do = stack')
    r = rs('apply', 'l', path)
    check(r.code == 1 and 'more than 128 comparisons' in r.err and f'{path}:8: ' in r.err, f'too large: {r}')
    check(settings('l') == before, 'all is as before')
    for _ in range(16):
        check(rs('trigger', '-s', 'l', 'nix:nix', '--do', 'stack', '--ahead').code == 0, 'a trigger')
    before = settings('l')
    write_lines(path, '[events]', f'enable = {OTHER}', f'disable = {EVENT}', '[filter a]', f'events = {OTHER}',
                'if = PID >= 0', '[ring]', 'mode = drop', '[trigger x]', f'on = {OTHER}', 'do = stack')
    r = rs('apply', 'l', path)
    check(r.code == 1 and '16 triggers already' in r.err and 'taken back' not in r.err, f'no room: {r}')
    check(settings('l') == before, 'all is as before')
    check(rs('trigger', 'l', '--remove', '1').code == 0 and rs('apply', 'l', path).code == 0, 'with room')
    check(enabled('l', OTHER) == [True] and settings('l')[2] == 'drop', 'it is done')
    check(rs('stop', 'l').code == 0, 'stop')
    s.end()


def test_apply_is_interrupted(folder):
    """A signal takes back what was done so far, or comes too late."""
    s = start('i', '-q')
    path = os.path.join(folder, 'long.profile')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'[events]\nenable = {";".join([EVENT, OTHER] * 150)}\n[filter a]\nevents = {EVENT}\nif = {FIELD} > 3\n')
    before, undone = settings('i'), 0
    for delay in [0.03, 0.05, 0.08, 0.12, 0.2] * 2:
        apply = rs.start('apply', 'i', path, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        apply.terminate()
        err = apply.communicate()[1]
        undone += 'is taken back' in err
        if 'is taken back' not in err and settings('i') != before:
            check(enabled('i', EVENT) == enabled('i', OTHER) == [True], f'it came too late: {err}')
            check(rs('filter', '-c', '-s', 'i', EVENT).code == 0 and rs('disable', '-s', 'i', '*').code == 0, 'by hand')
        check(settings('i') == before, f'all is as before: {err}')
    print(f'{undone} were taken back')
    check(rs('stop', 'i').code == 0, 'stop')
    s.end()


def test_flood():
    """A guest that emits all it can is answered so often, and no more; others are served."""
    if KIND == 'hosted':
        return
    s = Background(rs, 'run', '--name', 'd', '-q', '--accel', KIND, '--append', 'flood', GUEST,
                   ready=lambda: 'load:flood' in rs('list', '-s', 'd', '-q').out)
    check(rs('trigger', '-s', 'd', 'load:flood', '--do', f'disable={OTHER}').code == 0, 'set')
    wait_for('hits', lambda: triggers('d')[0]['fired'] >= 3)
    row = triggers('d')[0]
    check(row['hits'] > 20 * row['fired'], f'most of them did nothing: {row}')
    for _ in range(5):
        check(rs('list', '-s', 'd', '-q').code == 0, 'the session answers')
    check(rs('trigger', 'd', '--remove', 'all').code == 0, 'removed')
    check(rs('stop', 'd').code == 0, 'stop')
    s.end(signal.SIGINT)


need(KIND)
with tempfile.TemporaryDirectory(prefix='rs-trigger-') as one, tempfile.TemporaryDirectory(prefix='rs-trigger-') as two:
    def test_snapshots():
        test_snapshot(one)

    def test_run():
        test_of_run(two)
        test_of_run_leaves_files(two)

    def test_profiles():
        test_profile(two)

    def test_late():
        test_what_fails_late(two)

    def test_interrupted():
        test_apply_is_interrupted(two)
    run_tests([test_a_life, test_pause, test_freeze, test_snapshots, test_run, test_wrong, test_lists, test_profiles,
               test_late, test_interrupted, test_flood], sys.argv[4:])
