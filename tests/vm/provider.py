#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""provider.py RINGSIDE GUEST PROGRAM UNLOAD LIBRARY kvm|tcg|hosted: components with providers."""
import collections
import json
import os
import re
import signal
import subprocess
import sys

from harness import DOC, Background, Ringside, check, need, run_tests, wait_for

ringside, guest, program, unload, library, how = sys.argv[1:]
if how != 'hosted':
    need(how)
rs = Ringside(ringside)
WHAT = ['--hosted', program] if how == 'hosted' else ['--accel', how, guest]
UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
sessions = []


class Session(Background):
    """A session in which the example, or something else, runs."""

    def __init__(self, *options, what=WHAT, ready='waiting'):
        super().__init__(rs, 'run', '--name', 's', '--json', *options, *what)
        sessions.append(self)
        wait_for(ready, lambda: ready in self.lines() or self.process.poll() is not None)

    def lines(self):
        return (self.read(self.out).decode(errors='replace') + '\n' + self.said()).splitlines()

    def events(self):
        lines = [json.loads(line) for line in self.lines() if line.startswith('{')]
        for line in lines:
            DOC.check_line(line)
        return [line for line in lines if 'event' in line]

    def result(self, begin):
        return next((line for line in self.lines() if line.startswith(begin)), None)


def stop_all():
    for session in sessions:
        if session.process.poll() is None:
            session.end(signal.SIGINT)
    sessions.clear()


def names(*args):
    r = rs('list', 's', '-q', *args)
    return sorted(r.out.split()) if r.code == 0 else r.code


def enable(*args):
    r = rs('enable', '-s', 's', *args)
    check(r.code == 0, f'enable {" ".join(args)}: {r.out.strip()}{r.err}')


def fields(session, system, name):
    """Of the events of that name. Of an enum, its name."""
    return [{k: v['name'] if isinstance(v, dict) else v for k, v in e['fields'].items()} for e in session.events() if (e['system'], e['event']) == (system, name)]


def test_a_component_runs_without_anybody_who_listens():
    session = Session()
    check(session.result('before') == 'before it is registered: -9', 'not registered: EBADF')
    check(session.result('net') == 'net off, disk off', 'no provider is on')
    check(session.result('served') == 'served: -9 -9 -9 -9, evaluated 0 times', 'nothing is built')
    check(not session.events(), 'nothing is recorded')


def test_events_are_asked_for_before_they_are_there():
    session = Session('-e', 'acme.net:*@level=4,keyword=0x5', '-e', 'acme-disk:*')
    check(session.result('net') == 'net on, disk on', 'both providers are on')
    # Of four requests the third comes while the provider is away.
    check(session.result('served') == 'served: 0 0 -9 0, evaluated 3 times', 'they are on when register returns')
    rs('enable', '-s', 's', 'steered:*')
    session.end(signal.SIGINT)
    requests, answers = fields(session, 'acme.net', 'request'), fields(session, 'acme.net', 'answer')
    check([(r['number'], r['path'], r['opcode']) for r in requests] ==
          [(1, '/index', 'start'), (2, '/style', 'start'), (4, '/back', 'start')], 'requests are recorded')
    check([a['opcode'] for a in answers] == ['stop'] * 3, 'they end')
    check([r['activity'] for r in requests] == [a['activity'] for a in answers], 'activities tell them apart')
    ids = {r['activity'] for r in requests}
    check(len(ids) == 3 and all(UUID.match(i) for i in ids), f'ids of activities: {ids}')
    check(not fields(session, 'acme.net', 'copied'), 'a keyword that is not selected is not on')
    fault, = fields(session, 'acme.net', 'fault')
    check((fault['activity'], fault['why'], fault['tag']) == (requests[1]['activity'], 'reset', 0xbad), f'{fault}')
    reads = fields(session, 'acme-disk', 'read')
    check([r['block'] for r in reads] == [0x10, 0x20, 0x30, 0x40], 'the other provider is on all the time')
    check([r['related'] for r in reads][:2] == [r['activity'] for r in requests][:2], 'activities are related')
    check([r['bytes'] for r in reads][0] == [0xca, 0xfe, 0x10], 'fields describe themselves')


def test_a_running_component_registers_what_was_asked_for_ahead():
    session = Session()
    check(rs('enable', '-s', 's', 'parting:*').code == 3, 'nobody knows of it')
    enable('-a', '--level', '4', 'parting:*')
    enable('steered:error')
    wait_for('round 1', lambda: session.result('round 1'))
    check(rs('disable', '-s', 's', 'steered:*').code == 0, 'it goes on')
    check(session.end()[0] == 0, 'it ends well')
    check(session.result('parting') == 'parting: 0 -9', 'what was chosen is on when register returns')
    check([e['event'] for e in session.events()] == ['error', 'bye'], 'and recorded')


def kept():
    for row in rs.json('list', '-k', 's'):
        DOC.check('ringside list --kept', row)
    return [(k['wish'], k['glob'], k['filter'], k['met']) for k in rs.json('list', '-k', 's')]


def test_a_running_session_is_asked_for_events_of_a_program_that_comes_later():
    """It joins. Nobody knew of its provider, which comes and goes."""
    session = Session()
    r = rs('enable', '-s', 's', 'unload:*')
    check(r.code == 3 and '--ahead' in r.err, f'a glob that matches nothing may be a mistake: {r}')
    r = rs('enable', '-a', '-s', 's', '--level', '4', '--keyword', '0x1', 'unload:*')
    check(r.code == 0 and r.out == 'unload:*@level=4,keyword=0x1: no event matches yet; kept for what comes\n', f'{r}')
    enable('-a', 'mistaken:*')
    r = rs('filter', '-s', 's', 'unload:*: PID > 1')
    check(r.code == 3 and '--ahead' in r.err, f'so may a filter: {r}')
    r = rs('filter', '-a', '-s', 's', 'unload:*: PID > 1')
    check(r.code == 0 and 'kept' in r.out, f'which is kept, too: {r}')
    wanted = ('enable', 'unload:*@level=4,keyword=0x1', None)
    check(kept() == [(*wanted, False), ('enable', 'mistaken:*', None, False),
                     ('filter', 'unload:*', 'PID > 1', False)], 'all of it is listed')
    r = rs('list', 's')
    check('  unload:*@level=4,keyword=0x1  (no event yet; kept for host)\n' in r.out, f'also below the events: {r}')
    check(rs('list', 's', 'mistaken:*').code == 0 and rs('list', 's', 'nowhere:*').code == 3, 'and by its glob')
    r = rs('disable', '-s', 's', 'mistaken:*')
    check(r.code == 0 and r.out == 'mistaken:*: what comes stays off\n', f'disable ends it: {r}')
    check(rs('disable', '-s', 's', 'mistaken:*').code == 3, 'once')
    region = rs('ps', '--region', 's').out.strip()
    p = subprocess.run([unload, '30', library], env={**os.environ, 'RINGSIDE_REGION': region}, timeout=60,
                       capture_output=True, text=True)
    check(p.returncode == 0, f'the program runs: {p}')
    check((*wanted, True) in kept(), 'the wish has met its event')
    check(rs('disable', '-s', 's', '*').code == 0 and ('filter', 'unload:*', 'PID > 1', True) in kept(), 'and ends')
    session.end(signal.SIGINT)
    check(any(e['event'] == 'ping' for e in session.events()), 'its events were recorded')


def test_filters_see_opcodes_and_activities():
    session = Session('-e', 'acme.net:*', '-f', 'acme.net:*: opcode == start || tag & 0xf00',
                      '-f', 'acme.net:copied: activity ~ "????????-*-*-*-000000000001"')
    session.end(signal.SIGINT)
    seen = collections.Counter(e['event'] for e in session.events())
    check(seen == {'request': 3, 'fault': 1}, f'{seen}')


def test_levels_and_keywords_steer_a_running_component():
    session = Session()
    check(names('--level', '1') == ['steered:critical'], 'list --level 1')
    check(names('--level', '2') == ['acme.net:fault', 'steered:critical', 'steered:error'], 'list --level 2')
    check(names('steered:*', '--level', '3', '--keyword', '0x6') == ['steered:both', 'steered:error', 'steered:warning'],
          'list of both')
    check(names('--keyword-all', '6') == ['steered:both'], 'list --keyword-all')
    check(names('--keyword', '0x1000000000000000') == ['steered:both'], 'a keyword has 64 bits')
    check(names('steered:*@keyword=0x8') == ['steered:info'], 'a glob says it, too')
    check(names('--keyword', '0x8000') == 3, 'nothing is selected: not found')
    row, = rs.json('list', '-s', 's', 'steered:both')
    check((row['level'], row['keyword']) == (3, '0x1000000000000006'), 'JSON has level and keyword')
    enable('--keyword-all', '0x6', 'steered:*')
    wait_for('round 1', lambda: session.result('round 1'))
    check(session.result('round 1') == 'round 1: -9 -9 -9 -9 -9 0', 'only what is selected is on')
    check(rs('disable', '-s', 's', '--level', '3', 'steered:*').code == 0, 'disable --level')
    code = session.end()[0]
    check(code == 0, f'it ends well: {code}')
    check(session.result('round 2') == 'round 2: -9 -9 -9 -9 -9 -9', 'all is off')
    check([e['event'] for e in session.events()] == ['both'], 'and recorded')


def test_wrong_selections_are_one_error():
    session = Session()
    for args in (['--level', '0'], ['--level', '6'], ['--level', '3x'], ['--level', ''], ['--level', '-1'],
                 ['--keyword', '0'], ['--keyword', 'x'], ['--keyword', '0x'], ['--keyword', '0x10000000000000000'],
                 ['--keyword-all', '-1'], ['--keyword', '1,level=2'], ['--keyword', ' 1'], ['--keyword', '0x0x1']):
        for verb in (['enable', '-s', 's', 'steered:*'], ['disable', '-s', 's', 'steered:*'],
                     ['list', '-s', 's'], ['list', '-s', 's', 'steered:*'], ['run', '-e', '*', '--demo']):
            r = rs(*verb, *args)
            check(r.code == 2 and r.err.startswith(f'ringside: {args[0]}: ') and len(r.err.splitlines()) == 2,
                  f'{verb[0]} {args}: {r.err.splitlines()[0]}')
    for glob in ('steered:*@', 'steered:*@level', 'steered:*@level=9', 'steered:*@level=1,level=2', '@level=1',
                 'steered:*@what=1', 'steered:*@level=1,', 'steered:*@keyword=1@level=1'):
        for verb in (['enable', '-s', 's'], ['disable', '-s', 's'], ['list', '-s', 's'], ['format', '-s', 's']):
            r = rs(*verb, glob)
            check(r.code == 2 and len(r.err.splitlines()) == 1, f'{verb[0]} {glob}: {r.err.strip()}')
    check(rs('run', '--level', '3', *WHAT).code == 2, 'run --level without -e')
    check(rs('run', '-e', 'steered:*@level=7', *WHAT).code == 2, 'run -e with a wrong selection')
    check(rs('list', '-s', 's', '--providers', '--level', '3').code == 2, 'providers have no level')
    check(not session.events() and all(not e['enabled'] for e in rs.json('list', 's')), 'nothing was changed')


def test_selections_hold_for_events_that_appear_later():
    """The provider net leaves and comes back. Those events are on again that were selected."""
    session = Session('-e', 'acme.net:*', '--level', '3')
    session.end(signal.SIGINT)
    seen = collections.Counter(e['event'] for e in session.events())
    check(seen == {'fault': 1}, f'{seen}')


def test_several_processes_with_several_providers():
    count = 3
    what = [arg for i in range(count) for arg in (['--and'] if i else []) + ['--hosted', program]]
    session = Session('-e', 'acme*:*', what=what)
    wait_for('all wait', lambda: session.lines().count('waiting') == count)
    providers = rs.json('list', '-p', 's')
    seen = collections.Counter((p['source'], p['name']) for p in providers if p['state'] == 'live')
    check(len({source for source, _ in seen}) == count, 'each process is a source')
    for name in ('acme.net', 'acme-disk', 'steered'):
        check(sum(n for (_, provider), n in seen.items() if provider == name) == count, f'each has {name}')
    # One of them alone.
    first = session_sources()[0]
    enable(f'{first}/steered:*', '--keyword', '0x10')
    wait_for('round 1', lambda: session.result('round 1'))
    check(session.lines().count('round 1: -9 -9 -9 -9 0 -9') == 1, 'one process is steered')
    enable('steered:*', '--level', '1')
    wait_for('round 1', lambda: session.lines().count('round 1: 0 -9 -9 -9 -9 -9') == count - 1)
    rs('disable', '-s', 's', '*')
    check(session.end()[0] == 0, 'they end well')
    per_source = collections.Counter(e['source'] for e in session.events() if e['event'] == 'request')
    check(sorted(per_source.values()) == [3] * count, f'requests of each: {per_source}')
    ids = [e['fields']['activity'] for e in session.events() if e['event'] == 'request']
    check(len(set(ids)) == 3 * count, 'activities of all processes are different')


def session_sources():
    return sorted({e['source'] for e in rs.json('list', 's')})


def test_memory_of_a_provider_that_has_gone_is_not_touched():
    """While the library comes and goes the host switches its events all the time."""
    rounds = 60
    session = Session('-e', 'unload:*', what=['--hosted', unload, str(rounds), library], ready='')
    while session.process.poll() is None:
        rs('disable', '-s', 's', 'unload:*')
        rs('enable', '-s', 's', 'unload:*')
    code = session.end()[0]
    check(code == 0 and f'{rounds} rounds' in session.lines(), f'nobody has touched it: {code} {session.said()}')
    # Before it writes, the host compares: it would say that it found other bytes.
    check('site at' not in session.said(), 'the host has not even looked')
    seen = collections.Counter(e['event'] for e in session.events())
    check(set(seen) == {'ping'}, f'an event that could not be registered is not recorded: {seen}')
    check(seen['ping'] >= rounds, 'the others are')


def test_memory_is_not_touched_in_a_process_that_joined():
    """A process that joins patches itself."""
    session = Session('-e', 'unload:*')
    region = rs('ps', '--region', 's').out.strip()
    p = subprocess.run([unload, '30', library], env={**os.environ, 'RINGSIDE_REGION': region}, timeout=60,
                       capture_output=True, text=True)
    check(p.returncode == 0 and p.stdout == '30 rounds\n', f'nobody has touched it: {p}')
    session.end(signal.SIGINT)
    check(sum(e['event'] == 'ping' for e in session.events()) >= 30, 'its events were recorded')


TESTS = [test_a_component_runs_without_anybody_who_listens, test_events_are_asked_for_before_they_are_there,
         test_filters_see_opcodes_and_activities, test_levels_and_keywords_steer_a_running_component,
         test_selections_hold_for_events_that_appear_later,
         test_a_running_component_registers_what_was_asked_for_ahead]
if how == 'hosted':
    TESTS += [test_a_running_session_is_asked_for_events_of_a_program_that_comes_later, test_wrong_selections_are_one_error, test_several_processes_with_several_providers,
              test_memory_of_a_provider_that_has_gone_is_not_touched, test_memory_is_not_touched_in_a_process_that_joined]
run_tests(TESTS, after=stop_all)
