#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""host.py ACCEL RINGSIDE DEMO_GUEST: the host's own events, in order with a guest's.

They are what `stat` counts, and while a guest stands still it records nothing. Their order is in
tests/specs/host.spec.
"""
import json
import os
import signal
import sys
import time

from harness import Background, Ringside, check, need, run_tests, wait_for

ACCEL, RINGSIDE, DEMO = sys.argv[1:4]
rs = Ringside(RINGSIDE)
GUEST = ('--accel', ACCEL, '--serial', 'none', '--source', 'demo', DEMO)
NS = 1000000000


def rows_of(text):
    """The lines of a trace in JSON that show an event, which is called system:name here."""
    rows = [row for row in map(json.loads, text.splitlines()) if 'event' in row]
    for row in rows:
        row['event'] = f'{row["system"]}:{row["event"]}'
        row['fields'] = {name: value['name'] if isinstance(value, dict) else value
                         for name, value in row['fields'].items()}
    return rows


def named(rows, name):
    return [row for row in rows if row['event'] == 'host:' + name]


def switch_often(name, times):
    for _ in range(times):
        for verb in ('disable', 'enable'):
            r = rs(verb, '-s', name, 'demo/sched:*')
            # A QEMU on a busy machine may not stop in time. Then nothing is patched, or later.
            check(r.code == 0 or ACCEL == 'tcg' and 'in time' in r.err, f'{verb}: {r.code} {r.err}')


def traced(way=None):
    """A guest whose tracepoints go off and on; its trace, and what stat said in the end."""
    os.environ.pop('RINGSIDE_GUEST_TEXT', None)
    if way:
        os.environ['RINGSIDE_GUEST_TEXT'] = way
    run = Background(rs, 'run', '--host', '--name', 'h', '-e', '*', '--ring-size', '8M', '--json', *GUEST,
                     ready=lambda: rs('stat', 'h').code == 0 and rs.json('stat', 'h')['sites_patched'])
    switch_often('h', 5)
    for verb in ('pause', 'resume'):
        check(rs(verb, 'h').code == 0, verb)
        time.sleep(0.2)
    stat = next(s for s in rs.json('stat', 'h')['sources'] if s['name'] == 'demo')
    # What came before is told by then.
    check(rs('stop', 'h').code == 0, 'stop')
    code, out, said = run.end()
    check(code == 0, f'run: {code} {said[-300:]}')
    text = out.decode()
    return rows_of(text), json.loads(text.splitlines()[-1])['summary'], stat


def check_batches(rows, stat):
    """What the patcher did while the session was there, but for its end."""
    batches = [row['fields'] for row in named(rows, 'batch')][:stat['patch_batches']]
    check(len(batches) == stat['patch_batches'] >= (11 if ACCEL == 'kvm' else 2), f'{len(batches)} batches')
    for what, total in (('sites', stat['patches']), ('pause_ns', stat['pause_total_ns'])):
        check(sum(b[what] for b in batches) == total, f'their {what} are those of stat: {total}')
    check(max(b['pause_ns'] for b in batches) == stat['pause_max_ns'], 'and so is the longest pause')


def check_patches(rows):
    """Each patch comes before its batch."""
    count = 0
    for row in rows:
        if row['event'] == 'host:patch':
            count += 1
            check_quietly(row['fields']['now'] in ('on', 'off'), row)
        elif row['event'] == 'host:batch':
            check_quietly(count == row['fields']['sites'], (count, row))
            count = 0
    check(count == 0, 'each batch follows its patches')


def check_quietly(ok, what):
    if not ok:
        check(ok, what)


def check_pauses(rows):
    pauses = [row for row in rows if row['event'] in ('host:pause', 'host:resume')]
    names = [row['event'][5:] for row in pauses]
    check(names == ['pause', 'resume'] * (len(names) // 2) and len(names) >= (24 if ACCEL == 'kvm' else 6),
          f'pauses begin and end: {names}')
    guest = [row for row in rows if row['source'] == 'demo']
    pairs = list(zip(pauses[::2], pauses[1::2]))
    # Under TCG a guest's times can be off by ms on a busy machine: only the long pause counts.
    slack = 0 if ACCEL == 'kvm' else NS // 20
    check(all(end['ns'] - begin['ns'] >= end['fields']['still_ns'] for begin, end in pairs),
          'pauses are as long as they say')
    for begin, end in [pair for pair in pairs if pair[1]['fields']['still_ns'] > 2 * slack]:
        inside = [row for row in guest if begin['ns'] + slack < row['ns'] <
                  begin['ns'] + end['fields']['still_ns'] - slack]
        check(not inside, f'no event of the guest in {end["fields"]["still_ns"]} ns: {inside[:2]}')
    check(max(end['fields']['still_ns'] for _, end in pairs) > NS // 5, 'one of them was made by hand')
    begin, end = pairs[0][0]['ns'], pairs[-1][1]['ns']
    # The guest's first events come after the pause in which they were switched on.
    check(guest[0]['ns'] > begin - slack, f'nothing of the guest before: {guest[0]["ns"] - begin} ns')
    check(any(begin < row['ns'] < end for row in guest), 'a guest goes on between its pauses')


def check_exits(rows, total):
    exits = named(rows, 'exit')
    if ACCEL != 'kvm':
        check(not exits, 'a QEMU does not tell its exits')
        return
    counted = [row for row in exits if row['fields']['reason'] != 'kick']
    check(len(counted) == total > 20, f'{len(counted)} exits, as stat counts them: {total}')
    for vcpu in (0, 1):
        mine = [row for row in exits if row['fields']['vcpu'] == vcpu]
        check(mine and all(row['cpu'] == vcpu and row['comm'] == f'rs-vcpu-{vcpu}' for row in mine),
              f'those of vCPU {vcpu} are in its ring, by its thread')
        inside = sum(row['fields']['guest_ns'] + row['fields']['host_ns'] for row in mine[1:])
        span = mine[-1]['ns'] - mine[0]['ns']
        check(abs(inside - span) < span / 20 + NS / 20, f'and their times add up: {inside} of {span} ns')
    at = {row['fields']['at'] for row in exits if row['fields']['reason'] == 'hypercall'}
    check(at == {0x5270}, f'an exit says where: {at}')


def test_all():
    rows, summary, stat = traced('stop')
    check(all(a['ns'] <= b['ns'] for a, b in zip(rows, rows[1:])) or ACCEL == 'tcg',
          f'{len(rows)} events in the order of time')
    check(summary['recorded'] == len(rows) and not summary['lost'], f'all of {summary["recorded"]} are there')
    check_batches(rows, stat)
    check_patches(rows)
    check_pauses(rows)
    check_exits(rows, summary['exits'])


def test_live():
    """Where text changes while the guest runs, nothing says that it stood still for that."""
    rows, _, stat = traced()
    check_batches(rows, stat)
    check_patches(rows)
    check(stat['pause_total_ns'] == 0, f'no pause for a patch: {stat["pause_total_ns"]} ns')
    names = [row['event'] for row in rows if row['event'] in ('host:pause', 'host:resume')]
    check(names == ['host:pause', 'host:resume'], f'one by hand: {names}')


def test_unasked():
    """An event of the host that nobody wants is not recorded; a session without --host has none."""
    r = rs('run', '--host', '-e', 'sched:*', '--count', '50', '--json', *GUEST)
    check(r.code == 0 and {row['source'] for row in rows_of(r.out)} == {'demo'}, 'only the guest is traced')
    run = Background(rs, 'run', '--name', 'p', '-q', '-e', '*', *GUEST,
                     ready=lambda: rs('list', '-s', 'p', 'sched:*').code == 0)
    check([s['name'] for s in rs.json('stat', 'p')['sources']] == ['demo'], 'there is no host without --host')
    check(rs('enable', '-s', 'p', 'host:exit').code == 3, 'nor its events')
    check(rs('stop', 'p').code == 0 and run.end()[0] == 0, 'it ends')


def test_like_any_source():
    """It is listed, switched, filtered, recorded and exported as others are."""
    run = Background(rs, 'run', '--host', '--name', 'l', '-q', *GUEST,
                     ready=lambda: rs('list', '-s', 'l', 'demo/sched:*').code == 0)
    host = next(s for s in rs.sessions()[0]['sources'] if s['kind'] == 'host')
    check(host['name'] == 'host' and host['joined'] and host['pid'] == run.process.pid,
          f'ps shows it: {host}')
    events = rs.json('list', '-s', 'l', 'host:*')
    check(len(events) == 12 and all(e['source'] == 'host' and not e['enabled'] for e in events),
          f'{len(events)} events, all off')
    check(rs('filter', '-s', 'l', 'host:patch: now == 1').code == 0, 'a filter by a name of a value')
    check(rs('enable', '-s', 'l', 'host:*').code == 0, 'enable')
    file = os.path.join(os.environ['XDG_RUNTIME_DIR'], 'h.rst')
    record = Background(rs, 'record', '-s', 'l', '-o', file,
                        ready=lambda: os.path.exists(file))
    switch_often('l', 2)
    check(record.end(signal.SIGINT)[0] == 0, 'record')
    r = rs('pause', 'l')
    check(r.code == 0 and not r.err, f'pause does not speak of it: {r.err}')
    check(rs('stop', 'l').code == 0 and run.end()[0] == 0, 'it ends with the guest')
    rows = rows_of(rs('report', '--json', file).out)
    patches = named(rows, 'patch')
    check(patches and all(row['fields']['now'] == 'on' for row in patches), f'{len(patches)} filtered patches')
    check(len(named(rows, 'batch')) >= 3, 'and the batches are in the file')
    out = file + '.json'
    r = rs('export', '--to', 'chrome', '--slice', 'host:pause..host:resume', '-o', out, file)
    check(r.code == 0 and os.path.getsize(out) > 1000, f'pauses are slices of an export: {r.err}')


def test_taken_up():
    """The guest of a session that was killed is taken up with the host as a source."""
    run = Background(rs, 'run', '--host', '--name', 'k', '-q', '-e', '*', *GUEST,
                     ready=lambda: rs('stat', 'k').code == 0 and rs.json('stat', 'k')['sites_patched'])
    run.process.kill()
    run.process.wait()
    r = rs('attach', '--host', '-e', 'host:*', '--new', '--duration', '1', '--json', 'k')
    check(r.code == 0, f'attach: {r.code} {r.err[-300:]}')
    check('not traced any more' not in r.err, 'nobody misses the host of the dead session')
    rows = [row for row in rows_of(r.out) if row['source'] == 'host']
    check([row['event'] for row in rows][:2] == ['host:attach', 'host:boot'], 'it tells of the guest')
    check(named(rows, 'detach')[-1]['fields']['reason'] == 'detached', 'and that it was let go')
    check(rs('stop', 'k').code == 0, 'stop')


need(ACCEL)
TESTS = [test_all, test_unasked, test_like_any_source]
if ACCEL == 'kvm':
    TESTS.append(test_live)
if ACCEL == 'tcg':
    TESTS.append(test_taken_up)
run_tests(TESTS, sys.argv[4:])
