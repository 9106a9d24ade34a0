#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ringside command with a guest that really runs.

    cli.py kvm|tcg|hosted RINGSIDE GUEST

Exits 77, with the reason, if the accelerator is missing.
"""
import array
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import time

from harness import DOC, PATIENCE, Background, Ringside, check, need, run_tests, wait_for

KIND, RINGSIDE, GUEST = sys.argv[1:4]
rs = Ringside(RINGSIDE)
# Events of the two bundled guests, by role.
if KIND == 'hosted':
    ALL, SOME, FIELD = 'pool:*', 'pool:take', 'job'
    EVENT_COUNT, ALL_COUNT = 6, 3
else:
    ALL, SOME, FIELD = '*', 'sched:switch', 'prev_pid'
    EVENT_COUNT = ALL_COUNT = 31
LINE = re.compile(r'^ *(\S.*)-(\d+) +\[(\d+)\] (\S{5}) +(\d+)\.(\d{6}): (\w+:\w+): (.*)$')


def guest_args(*options):
    if KIND == 'hosted':
        return [*options, '--hosted', *GUEST.split()]
    return ['--accel', KIND, *options, GUEST]


def events(text):
    return [m for m in map(LINE.match, text.splitlines()) if m]


class Running(Background):
    """A session in the background."""

    def __init__(self, name, *options):
        super().__init__(rs, 'run', *guest_args('--name', name, *options),
                         ready=lambda: rs('list', '-s', name, '-q').out.count('\n') >= EVENT_COUNT)

    def wait_for_event(self):
        wait_for('an event', lambda: events(self.read(self.out).decode()))

    def wait_for_event_json(self):
        wait_for('an event', lambda: b'"event":' in self.read(self.out))

    def end(self, *how):
        code, out, err = super().end(*how)
        return code, out.decode(), err


def in_order(lines):
    """Each CPU's records are in order, and nearly all together: docs/adr/0002-ring.md. A vCPU
    that stands still with a time in its hands comes late."""
    stamps = [(m[3], int(m[5]), int(m[6])) for m in lines]
    for cpu in {s[0] for s in stamps}:
        own = [s[1:] for s in stamps if s[0] == cpu]
        check(own == sorted(own), f'the records of CPU {cpu} are in the order of time')
    late = sum(b[1:] < a[1:] for a, b in zip(stamps, stamps[1:]))
    return late <= len(stamps) // 100 + 1


def run_for_a_while():
    r = rs('run', *guest_args('--name', 'a', '-e', ALL, '--duration', '2', '--ring-size', '8M'))
    check(r.code == 0, f'run ends well: {r.code} {r.err[-300:]}')
    return r, events(r.out)


def test_run():
    """-e from the start, a filter, a summary, and an end by time."""
    # On a busy machine vCPUs stand still often. Where nothing sorts, no run is in order.
    for _ in range(5):
        r, lines = run_for_a_while()
        if in_order(lines):
            break
    else:
        check(False, 'in the order of time')
    check(len(lines) > 100, f'{len(lines)} events were printed')
    check('# tracer:' in r.out and 'TASK-PID' in r.out, 'under a header')
    m = re.search(r'# events: (\d+) recorded, (\d+) printed, (\d+) lost', r.err)
    check(m and int(m[1]) == int(m[2]) + int(m[3]), f'the summary adds up: {m and m[0]}')
    check(int(m[2]) == len(lines), 'and is true')
    if KIND != 'hosted':
        check(len({m[3] for m in lines}) == 2, 'from both CPUs')


def test_filter():
    r = rs('run', *guest_args('--name', 'f', '-e', SOME, '-f', f'{SOME}: {FIELD} == 3',
                              '--duration', '1.5', '--json'))
    check(r.code == 0, f'run with a filter: {r.code} {r.err[-300:]}')
    objects = [json.loads(l) for l in r.out.splitlines() if l.startswith('{')]
    for o in objects:
        DOC.check_line(o)
    check('summary' in objects[-1], 'every key of the trace is in docs/json.md')
    summary = objects.pop()['summary']
    check(summary['printed'] == sum('event' in o for o in objects), 'the JSON summary is true')
    check(all(o['fields'][FIELD] == 3 for o in objects if 'event' in o),
          f'{len(objects)} events, all let through by the filter')
    r = rs('run', *guest_args('--name', 'f', '-e', SOME, '-f', f'{SOME}: nix == 3',
                              '--duration', '5'))
    check(r.code == 2 and '^' in r.err, f'a filter on a field that is not there: {r.code}')
    r = rs('run', *guest_args('--name', 'f', '-f', f'{SOME}: {FIELD} == ', '--duration', '5'))
    check(r.code == 2 and '^' in r.err, 'a filter that is no expression')
    r = rs('run', *guest_args('--name', 'f', '-n', '5', '-e', SOME, '--duration', '20'))
    check(r.code == 0 and len(events(r.out)) == 5, f'-n 5 prints five events: {r.code}')


def test_views():
    """What one reader sees, and when it says that it was, is no concern of the others."""
    some = SOME.split(':')[0]
    r = rs('run', *guest_args('--name', 'v', '-e', f'*,!{SOME}', '--events', f'{some}:*', '--cpu', '0', '--time',
                              'relative', '-n', '20', '--json'))
    check(r.code == 2 and 'is of text' in r.err, f'JSON has no relative times: {r.err}')
    r = rs('run', *guest_args('--name', 'v', '-q', '-n', '3', '-e', SOME))
    check(r.code == 0 and not r.out, f'-n ends a run that prints nothing: {r.code} {r.err}')
    for view, part in ((('--events', 'nix:*'), "no event came that matches 'nix:*'"),
                       (('-F', 'nix == 2'), "no field 'nix'")):
        r = rs('run', *guest_args('--name', 'v', '-e', SOME, *view, '--duration', '2'))
        check(r.code == 0 and part in r.err, f'a view of nothing is told: {r.code} {r.err[-300:]}')
    v = Running('v', '-e', f'*,!{SOME}', '--cpu', '0', '--time', 'wall', '--json', '--duration', '60')
    v.wait_for_event_json()
    listed = rs.json('list', '*')
    on = {f'{e["system"]}:{e["name"]}' for e in listed if e['enabled']}
    check(SOME not in on and len(on) == len(listed) - 1, f'all but {SOME} are on: {on}')
    check(rs('list', f'*,!{SOME}', '-q').out.count('\n') == len(listed) - 1, 'list takes such a list')

    def look():
        """The events that another reader sees."""
        r = rs('trace', '--json', '--time', 'wall', '--duration', '0.3')
        rows = [row for row in map(json.loads, r.out.splitlines()) if 'event' in row]
        return KIND == 'hosted' and rows or {row['cpu'] for row in rows} == {0, 1} and rows
    rows = wait_for('both CPUs for the other reader', look)
    now = time.time()
    check(all(now - 600 < row['wall_ns'] / 1e9 < now + 60 for row in rows), 'of today')
    code, out, _ = v.end(signal.SIGINT)
    mine = [row for row in map(json.loads, out.splitlines()) if 'event' in row]
    check(code == 0 and mine and {row['cpu'] for row in mine} == {0}, 'of CPU 0 alone')
    check('wall_ns' in mine[0], 'with the time of day')


def test_filter_forms():
    """What only the guest's evaluator can decide: a field alone, and two fields."""
    r = rs('run', *guest_args('--name', 'g', '-n', '20', '-e', SOME, '--duration', '60', '--json',
                              '-f', f'{SOME}: {FIELD} && 4294967295 > {FIELD} && {FIELD} > CPU'))
    check(r.code == 0, f'a field alone, two fields, and a value first: {r.code} {r.err[-300:]}')
    lines = [json.loads(l) for l in r.out.splitlines() if l.startswith('{"')]
    lines = [o for o in lines if 'event' in o]
    check(len(lines) == 20, f'{len(lines)} events pass')
    check(all(o['fields'][FIELD] > o['cpu'] for o in lines), 'and it is true of each')
    for text, part in [(f'{FIELD} =~ 3', "written '~'"), (f'{FIELD} == 1 and CPU', "written '&&'"),
                       (f'{FIELD}[0] == 1', 'is no array'), ('CPU & CPUS(1)', 'CPUS{0-2,5}'),
                       (' || '.join(f'COMM ~ "*{i}?*"' for i in range(110)), 'bytes'),
                       (f'{FIELD}.function == main', 'is no address')]:
        r = rs('run', *guest_args('--name', 'g', '-f', f'{SOME}: {text}', '--duration', '5'))
        check(r.code == 2 and part in r.err, f'{text[:40]}: {r.code} {r.err[-300:]}')
    g = Running('g')
    r = rs('filter', '-s', 'g', f'{SOME}: COMM == "x*"')
    check(r.code == 0 and "the character '*'" in r.err, f'a doubt is told: {r.err}')
    r = rs('filter', '-s', 'g', f'{SOME}: COMM ~ "!x*"')
    check(r.code == 0 and not r.err, f'a pattern that is inverted: {r.err}')
    check(rs.json('list', '-s', 'g', SOME)[0]['filter'], 'it is there')
    r = rs('filter', '-s', 'g', f'{SOME}: 0')
    check(r.code == 0 and 'no filter' in r.out, f'0 clears: {r.out} {r.err}')
    check(rs.json('list', '-s', 'g', SOME)[0]['filter'] is None, 'it is gone')
    g.end(signal.SIGINT)


def test_functions():
    """`.function`: by the symbols of the kernel, and of a recorded trace."""
    fault, kept = 'mm:page_fault', os.path.join(os.environ['XDG_RUNTIME_DIR'], 'functions.trace')
    r = rs('run', *guest_args('--name', 'h', '-e', fault, '-n', '4', '--duration', '60', '-o', kept,
                              '-f', f'{fault}: ip.function == pager_task'))
    lines = events(r.out)
    check(r.code == 0 and len(lines) == 4, f'{len(lines)} events: {r.code} {r.err[-300:]}')
    check(all(' ip=pager_task+' in m[8] for m in lines), 'each in the function')
    for text, want in [('ip.function == pager_task', len(lines)), ('ip.function != pager_task', 0)]:
        r = rs('report', kept, '-F', f'{fault}: {text}')
        check(r.code == 0 and (len(events(r.out)) >= want if want else not events(r.out)),
              f'{text} of a recorded trace: {len(events(r.out))} {r.err}')
    for more, part in [((), "'nix' is no function"), (('--no-symbols',), 'has no symbols')]:
        r = rs('report', kept, *more, '-F', 'ip.function == nix')
        check(r.code == 2 and part in r.err, f'{part}: {r.code} {r.err}')
    r = rs('run', *guest_args('--name', 'h', '-f', f'{fault}: ip.function == nix', '--duration', '5'))
    check(r.code != 0 and "'nix' is no symbol" in r.err, f'a name that is not there: {r.err}')


def test_owners():
    """Another owner beside the host, which wants SOME with a filter."""
    check(rs('filter', '--owner', 'view', f'{SOME}: {FIELD} & 1').code == 0, 'filter --owner')
    check(rs('enable', '--owner', 'view', SOME).code == 0, 'enable --owner')
    e = rs.json('list', SOME)[0]
    for owner in e['owners']:
        DOC.check('ringside list: an owner', owner)
    mine = f'{FIELD} > 1 && COMM ~ "*"'
    check(e['owners'] == [{'name': 'host', 'enabled': True, 'filter': mine, 'stack': 0},
                          {'name': 'view', 'enabled': True, 'filter': f'{FIELD} & 1', 'stack': 0}],
          f'list shows whose is whose: {e["owners"]}')
    check(e['filter'] == f'({mine}) || ({FIELD} & 1)', f'and what it amounts to: {e["filter"]}')
    line = rs('list', SOME).out.splitlines()[-1]
    check(line.endswith(f'{SOME}  for host if {mine}; for view if {FIELD} & 1'),
          f'as text too: {line}')
    check(len(rs.json('list', '--owner', 'view')) == 1, 'list --owner')
    check(rs.json('list', '--owner', 'nix') == [], 'of nobody')
    r = rs('disable', SOME)
    check(r.out.strip() == f'{SOME}: 0 of 1 event off; 1 stays on for view', f'kept: {r.out}')
    t = rs('trace', '--new', '--json', '-n', '5', '--duration', '20')
    values = [o['fields'][FIELD] for o in map(json.loads, t.out.splitlines()) if 'event' in o]
    check(values and all(v & 1 for v in values), f'the other filter alone is in force: {values}')
    check(rs('enable', SOME).code == 0 and rs('filter', '--owner', 'view', '-c', SOME).code == 0,
          'filter -c --owner')
    r = rs('filter', f'{SOME}: {mine}')
    check(r.out.strip().endswith('1 is recorded without one for view'), f'told: {r.out}')
    check(rs('enable', '--owner', 'a b', SOME).code == 2, 'a bad name for an owner')
    check(rs('disable', '--owner', 'view', '*').code == 0, 'disable --owner')
    e = rs.json('list', SOME)[0]
    check([o['name'] for o in e['owners']] == ['host'] and e['enabled'], 'only the host is left')


def build_id_of(program):
    """The build id as binutils read it. None: they are not installed."""
    if not shutil.which('readelf'):
        return None
    out = subprocess.run(['readelf', '-n', program], capture_output=True, text=True).stdout
    return re.search(r'Build ID: ([0-9a-f]+)', out)[1]


def test_providers():
    """`list --providers`: the images that events are part of."""
    g = Running('p', '-e', SOME)
    rows = rs.json('list', '--providers')
    for row in rows:
        DOC.check('ringside list --providers', row)
    p = rows[0]
    check(len(rows) == 1 and p['state'] == 'live' and p['generation'] == 1, f'one provider: {p}')
    check(p['events'] == EVENT_COUNT and p['sites'] >= EVENT_COUNT, 'with all events and sites')
    stat = rs.json('stat')
    check(p['sites_patched'] == stat['sites_patched'] > 0, 'and patched ones')
    program = GUEST.split()[0]
    wanted = build_id_of(program)
    check(wanted is None or p['build_id'] == wanted, f'of the build {wanted}')
    start, end = int(p['image_start'], 16), int(p['image_end'], 16)
    if KIND == 'hosted':
        maps = [(int(m[1], 16), int(m[2], 16)) for m in re.finditer(
            rf'^([0-9a-f]+)-([0-9a-f]+) .*{re.escape(os.path.realpath(program))}$',
            open(f'/proc/{p["pid"]}/maps').read(), re.M)]
        check(start == min(m[0] for m in maps), 'which begins where the kernel has mapped it')
        check(max(m[1] for m in maps) - 4096 < end, 'and holds all of it')
    else:
        check(start == 0x100000 < end < 1 << 30 and p['pid'] == 0, 'at 1 MiB, of no process')
    table = rs('list', '-p', 'p').out.splitlines()
    check(len(table) == 2 and p['build_id'] in table[1] and 'live' in table[1], f'{table[1]}')
    check(rs('list', '-pq').out == p['name'] + '\n', '-q prints the name alone')
    check(rs('list', '-p', 'p', 'sched:*').code == 2, 'a glob makes no sense there')
    g.end(signal.SIGINT)


def test_sites():
    """`list --sites`: where the host patches the guest's text."""
    g = Running('t', '-e', SOME)
    rows = rs.json('list', '--sites')
    for row in rows:
        DOC.check('ringside list --sites', row)
    stat = rs.json('stat')
    check(len(rows) == stat['sites'] and {r['event'] for r in rows if r['event']} ==
          {e['id'] for e in rs.json('list')}, f'all {len(rows)} sites')
    on = [r for r in rows if r['state'] == 'on']
    check(len(on) == stat['sites_patched'] > 0, f'{len(on)} of them on')
    check(all(r['instruction'] == f'jmp {r["target"]}' for r in on), 'which are jumps to their targets')
    check(all(r['instruction'].startswith('nop') for r in rows if r['state'] == 'off'), 'others are NOPs')
    site = next(r for r in on if f'{r["system"]}:{r["name"]}' == SOME)
    offset = int(site['address'], 16) - int(site['text_address'], 16)
    check(site['text'][2 * offset:][:2] == 'e9', f'with the bytes around it: {site}')
    check(rs('disable', SOME).code == 0, 'disable')
    table = rs('list', '-t', 't', SOME).out.splitlines()
    check(table[1].startswith('off ') and SOME in table[1] and 'nop' in table[1], f'{table[1]}')
    check(rs('list', '-t', '-s', 't', 'nix:nix').code == 3, 'of no event')
    check(rs('list', '-tq', 't').code == 2, 'sites have no names')
    g.end(signal.SIGINT)


def test_looks():
    """A list is in order and has fields; there are colours only where they are wanted."""
    s = Running('a-name-of-more-than-16-characters', '-e', SOME)
    names = rs('list', '-q').out.splitlines()
    check(names == sorted(names) and len(names) == EVENT_COUNT, f'by name: {names}')
    table = rs('list').out.splitlines()
    check([row.split()[-1] for row in table[1:] if ' on ' not in row] == [n for n in names if n != SOME],
          'the table too')
    row = [i for i, row in enumerate(table) if row.endswith(' ' + SOME)]
    check(len(row) == 1 and table[row[0]].split()[1] == 'on', f'with what is on: {row}')
    fields = {f['name']: f['type'] for f in rs.json('list', '-v', SOME)[0]['fields']}
    for e in rs.json('list', '-v'):
        DOC.check('ringside list', e)
        for field in e['fields']:
            DOC.check('ringside list: a field', field)
    check(fields[FIELD] == 'u32', f'fields have types: {fields}')
    line = rs('list', '-v', SOME).out.splitlines()[2]
    check(line.startswith('    ') and f' {FIELD}:u32' in line, f'-v shows them: {line}')
    check(rs('list', '-vq').code == 2, 'names alone have no fields')
    head, line = rs('ps').out.splitlines()
    check(head.index('STATE') == line.index('running'), f'columns are below their heads: {line}')
    for args in ['list'], ['ps'], ['trace', '-n', '1']:
        plain, always = rs(*args), rs(*args, '--color', 'always')
        check(plain.code == 0 and '\x1b' not in plain.out, f'a pipe gets no colours: {args}')
        check('\x1b[' in always.out, f'but if they are asked for: {args}')
        check(rs(*args, '--color', 'green').code == 2, f'a colour is no answer: {args}')
    check('\x1b' not in rs('trace', '--json', '-n', '1', '--color', 'always').out, 'JSON has none')
    for no, wanted in ('1', False), ('', True):
        master, slave = pty.openpty()
        p = rs.start('trace', '-n', '1', stdout=slave, env={**os.environ, 'NO_COLOR': no, 'TERM': 'xterm'})
        os.close(slave)
        text = b''
        try:
            while part := os.read(master, 65536):
                text += part
        except OSError:  # its end
            pass
        os.close(master)
        check(p.wait(PATIENCE) == 0 and (b'\x1b[' in text) == wanted, f'a terminal, NO_COLOR={no}: {wanted}')
    s.end(signal.SIGINT)


def test_other_user():
    """Root uses another user's sessions as that user, also where no runtime directory is set."""
    uid = 40000 + os.getpid() % 20000
    who = {'user': uid, 'group': uid, 'extra_groups': [], 'cwd': '/', 'stdin': subprocess.DEVNULL,
           'env': {k: v for k, v in os.environ.items() if k != 'XDG_RUNTIME_DIR'}}
    command = [os.path.abspath(p) for p in (RINGSIDE, GUEST.split()[0])]

    def ask(*args, **more):
        return subprocess.run([command[0], *args], capture_output=True, text=True, timeout=PATIENCE, **{**who, **more})

    try:
        ask('--version')
    except PermissionError as error:
        print('skipped:', error)
        return
    theirs = f'/tmp/ringside-{uid}'
    p = subprocess.Popen([command[0], 'run', '--name', 'o', '-q', '-e', SOME, '--hosted', command[1], '60'], **who,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for('its session', lambda: ' running ' in ask('ps').stdout)
        check(os.stat(theirs).st_uid == uid and os.stat(theirs).st_mode & 0o777 == 0o700, 'it is theirs alone')
        check(SOME in ask('trace', '-n', '1').stdout, 'root reads its trace as that user')
        # A directory of another user is refused, whoever we are, and so is a link to one.
        base = os.path.join(os.environ['XDG_RUNTIME_DIR'], 'of-another')
        there = os.path.join(base, 'ringside')
        os.makedirs(there)
        os.chown(there, uid, uid)
        refused = subprocess.run([command[0], 'ps'], capture_output=True, text=True,
                                 env={**os.environ, 'XDG_RUNTIME_DIR': base})
        check(refused.returncode == 1 and 'with sudo -u' in refused.stderr, f'the message says how: {refused}')
        os.rmdir(there)
        os.symlink(theirs, there)
        refused = subprocess.run([command[0], 'ps'], capture_output=True, text=True,
                                 env={**os.environ, 'XDG_RUNTIME_DIR': base})
        check(refused.returncode == 1 and 'only you can write' in refused.stderr, f'no link is followed: {refused}')
        check(ask('stop', 'o').returncode == 0 and p.wait(PATIENCE) is not None, 'and ends it')
    finally:
        p.kill()
        p.wait()
        shutil.rmtree(theirs, ignore_errors=True)


def test_control():
    """Commands from another terminal while the session runs."""
    g = Running('c', '--ring-size', '4M')
    ps = rs.sessions()
    check([s['name'] for s in ps] == ['c'] and ps[0]['state'] == 'running', 'ps shows it')
    listing = rs.json('list')
    check(not any(e['enabled'] for e in listing), 'nothing is on')
    for section, rows in (('ringside ps', ps), ('ringside list', listing)):
        for row in rows:
            DOC.check(section, row)
    for source in ps[0]['sources']:
        DOC.check('ringside ps: a source', source)
    check(True, 'docs/json.md says their keys')
    check(all(e['sites'] >= 1 for e in listing), 'every event has a site that can be patched')
    check(rs('enable', 'c', SOME).code == 0, 'enable, with the name')
    check(rs('enable', SOME).out.strip() == f'{SOME}: 1 event enabled', 'enable, without')
    t = rs('trace', '-n', '10', '--duration', '20')
    check(t.code == 0 and len(events(t.out)) == 10, f'trace shows it {t}')
    check({m[7] for m in events(t.out)} == {SOME}, 'by its full name')
    t = rs('trace', '--short', '-n', '3', '--duration', '20')
    check(t.out.count(f': {SOME.split(":")[1]}: ') == 3 and f'{SOME}: ' not in t.out,
          '--short leaves the system out')
    j = rs('trace', '--json', '-n', '3', '--duration', '20', '-s', 'c')
    check(len([json.loads(l) for l in j.out.splitlines()]) >= 3, 'as JSON too')
    check(rs('filter', f'{SOME}: {FIELD} > 1 && COMM ~ "*"').code == 0, 'filter')
    e = [e for e in rs.json('list', SOME)][0]
    check(e['filter'] == f'{FIELD} > 1 && COMM ~ "*"', 'list shows the filter')
    bad = rs('filter', f'{SOME}: nix == 1')
    check(bad.code == 2 and '^' in bad.err, 'a bad filter has a caret')
    test_owners()
    e = [e for e in rs.json('list', SOME)][0]
    check(e['filter'].startswith(FIELD), 'and changes nothing')
    # Space may be a newline. It must not make a row of the list.
    check(rs('filter', f'{SOME}: {FIELD} > 1 ||\nforged:row == 1').code == 2, 'no such field')
    check(rs('filter', f'{SOME}: {FIELD} > 1\n&& COMM ~ "*"').code == 0, 'a filter of two lines')
    rows = rs('list').out.splitlines()
    check(len(rows) == 1 + len(listing) and not [r for r in rows if r.startswith('&&')],
          f'is one row of the list: {rows}')
    check(rs('filter', '-c', SOME).code == 0, 'filter -c')
    check(rs('enable', 'nix:*').code == 3, 'no such event: 3')
    r = rs('disable', 'test', '*')
    check(r.code == 3 and "no session 'test' runs" in r.err, f'no such session is no glob: {r}')
    check(rs('enable', SOME.split(':')[1], 'nix:*').code == 3, 'the name of an event is one')
    check(rs('stat', 'nix').code == 3, 'no such session: 3')
    check(rs('enable').code == 2, 'wrong usage: 2')
    row, = rs.json('format', SOME)
    DOC.check('ringside format', row)
    check(row['format'] == rs('format', SOME).out, 'the same as JSON')
    check(rs('format', '--json', 'nix:*').code == 3, 'of no event')
    f = rs('format', SOME)
    check(f.code == 0 and f'name: {SOME.split(":")[1]}' in f.out and 'print fmt:' in f.out,
          'format')
    s = rs.json('stat')
    DOC.check('ringside stat', s)
    for ring in s['cpus']:
        DOC.check('ringside stat: a ring', ring)
    for source in s['sources']:
        DOC.check('ringside stat: a source', source)
        check((source['ring_mode'], source['ring_bytes']) == ('overwrite', 4 << 20),
              f'its rings: {source["ring_mode"]}, {source["ring_bytes"]}')
    check(' of 4096 KiB, mode overwrite' in rs('stat').out, 'as text too')
    check(s['events_enabled'] == 1 and s['sites_patched'] >= 1 and s['sites_refused'] == 0,
          'stat counts patched sites')
    check(s['patch_batches'] >= 1 and s['pause_max_ns'] >= s['pause_last_ns'],
          f'and the pause: {s["pause_max_ns"] / 1e3} us')
    check((s['pause_last_ns'] > 0) == (KIND != 'kvm') or KIND == 'hosted',
          'which a guest of our VMM does not need')
    check(('pause:       none' in rs('stat').out) == (s['pause_max_ns'] == 0), 'as text says')
    check(sum(c['written'] for c in s['cpus']) > 0, 'and records by CPU')
    check(all(c['now_ns'] >= c['oldest_ns'] for c in s['cpus']), 'and times')
    check(rs('pause').code == 0, 'pause')
    check(rs.sessions()[0]['state'] == 'paused', 'ps says so')
    check(rs('enable', ALL).code == 0, 'enable while paused')
    before = sum(c['written'] for c in rs.json('stat')['cpus'])
    time.sleep(0.3)
    after = sum(c['written'] for c in rs.json('stat')['cpus'])
    check(before == after, 'nothing runs meanwhile')
    check(rs('resume').code == 0, 'resume')
    t = rs('trace', '--new', '-n', '20', '--duration', '20')
    check(len({m[7] for m in events(t.out)}) > 1, 'now more than one event comes')
    check(rs('disable', ALL).code == 0, 'disable')
    time.sleep(0.2)
    s = rs.json('stat')
    check(s['sites_patched'] == 0, 'all text is restored')
    time.sleep(0.2)
    s2 = rs.json('stat')
    check(s['cpus'] == s2['cpus'] or all(
        a['written'] == b['written'] for a, b in zip(s['cpus'], s2['cpus'])), 'and silent')
    p = subprocess.Popen([RINGSIDE, 'trace'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    p.stdout.readline()  # it has connected
    check(rs('stop').code == 0, 'stop')
    code, out, err = g.end()
    check(code == 0 and '# events:' in err, f'run ends with its summary: {code} {err[-200:]}')
    said = p.communicate(timeout=PATIENCE)[1]
    check(p.returncode == 0 and 'ended' in said, f'and tells who is looking on: {said}')
    check(rs('ps', '-q').out == '', 'ps shows nothing any more')
    check(rs('stat').code == 3, 'no session: 3')


def check_stopped_client():
    """A trace that was stopped (Ctrl-Z) neither grows the session nor delays its end."""
    g = Running('z', '-e', ALL)
    looker = Background(rs, 'trace', 'z')
    wait_for('what it prints', lambda: looker.read(looker.out))
    looker.process.send_signal(signal.SIGSTOP)
    for _ in range(20):
        check_quietly(rs('disable', '-s', 'z', ALL))
        check_quietly(rs('enable', '-s', 'z', ALL))
    start = time.time()
    code, _, err = g.end(signal.SIGTERM)
    check(code == 0 and time.time() - start < 10,
          f'it ends beside a stopped client: {code} {time.time() - start:.1f} s {err[-300:]}')
    check(looker.end(signal.SIGCONT)[0] == 0, 'and so does the client, once it goes on')


def check_slow_reader():
    """The end of a trace's time loses nothing for a reader that is slow, as a pager is."""
    g = Running('w', '-e', ALL)
    mine, theirs = small_pipe()
    p = subprocess.Popen([RINGSIDE, 'trace', 'w', '--duration', '1'], stdout=theirs,
                         stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    time.sleep(4)
    check(p.poll() is None, 'trace waits for its reader after --duration')
    with open(mine, 'rb') as out:
        text = out.read()
    check(p.wait(20) == 0 and text.endswith(b'\n') and 'not written' not in p.stderr.read(),
          'which gets all of it')
    mine, theirs = small_pipe()
    p = subprocess.Popen([RINGSIDE, 'trace', 'w', '--duration', '1'], stdout=theirs)
    os.close(theirs)
    time.sleep(3)
    p.send_signal(signal.SIGTERM)
    check(p.wait(10) in (0, -signal.SIGTERM), 'a signal ends it')
    os.close(mine)
    g.end(signal.SIGTERM)


def check_quietly(result):
    if result.code:
        raise AssertionError(str(result))


def small_pipe():
    mine, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    return mine, theirs


def unread(fd):
    """How many bytes can be read."""
    count = array.array('i', [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


def is_full(fd):
    """There is something to read, and no more comes."""
    before = unread(fd)
    time.sleep(2)
    return 0 < before == unread(fd)


def check_unread(*options):
    """Nobody reads the output: what it is is full soon, and signals must still work."""
    for kind, pair, duration in (('pipe', small_pipe, '60'), ('pipe', small_pipe, '5'),
                                 ('terminal', pty.openpty, '60'), ('both', small_pipe, '60')):
        mine, theirs = pair()
        started = time.time()
        p = subprocess.Popen([RINGSIDE, 'run', *guest_args('--name', 'u', '-e', ALL, *options,
                                                           '--duration', duration)],
                             stdout=theirs, text=True,
                             stderr=theirs if kind == 'both' else subprocess.PIPE)
        os.close(theirs)
        wait_for('a full pipe', lambda: is_full(mine))
        if duration == '60':
            r = rs('stat', '-s', 'u')
            check(r.code == 0, f'stat answers: {r}')
        else:
            time.sleep(max(0, started + 7 - time.time()))
        check(p.poll() is None, f'{kind}: it waits for its reader')
        start = time.time()
        p.send_signal(signal.SIGTERM)
        code = p.wait(20)
        check(code == 0 and time.time() - start < 10,
              f'and ends by a signal, --duration {duration}: {code} {time.time() - start:.1f} s')
        check(kind != 'pipe' or re.search(r'dropped, [1-9]\d* not read', p.stderr.read()),
              'it says what is missing')
        os.close(mine)


def full(pair):
    """What takes no more bytes. A terminal finds more room by and by."""
    mine, theirs = pair()
    os.set_blocking(theirs, False)
    room = True
    while room:
        room = False
        try:
            while os.write(theirs, b'.' * 1024):
                room = True
        except BlockingIOError:
            time.sleep(0.1)
    os.set_blocking(theirs, True)
    return mine, theirs


def check_unread_console(pair, append):
    """Nobody reads the guest's console, which stands in an unfinished line, or at its end."""
    mine, theirs = full(pair)
    p = subprocess.Popen([RINGSIDE, 'run', '--json', *guest_args('--name', 'c', '-e', ALL, '--append',
                                                                 append)],
                         stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    p.stdout.readline()  # it runs
    wait_for('its end', lambda: append == 'prompt' or rs.json('stat', 'c')['state'] == 'ended')
    time.sleep(0.5)
    for verb in ('list', 'stat'):
        check(rs(verb, 'c').code == 0, f'{append}: {verb} is answered')
    p.send_signal(signal.SIGTERM)
    check(p.communicate(timeout=PATIENCE) and p.returncode == 0, f'{append}: a signal ends it')
    os.close(mine)


def check_late_console():
    """Whoever reads the console late gets all of it, and the end after it."""
    mine, theirs = full(small_pipe)
    p = subprocess.Popen([RINGSIDE, 'run', *guest_args('--append', 'prompt rounds=1')],
                         stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    time.sleep(2)
    check(p.poll() is None, 'it waits for the reader of the console')
    with open(mine, 'rb') as out:
        said = out.read()
    check(p.wait(PATIENCE) == 0 and re.search(rb'demo> demo: 1 rounds.*\ndemo: ok\n', said),
          f'who gets all of it: {said[-400:]}')


def test_console():
    for pair in (small_pipe, pty.openpty):
        for append in ('prompt', 'prompt rounds=1'):
            if KIND == 'kvm' or pair == pty.openpty or append == 'prompt':
                check_unread_console(pair, append)
    if KIND == 'kvm':  # QEMU writes to a pipe itself, and leaves its last words unwritten
        check_late_console()


def test_signals():
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        g = Running('s', '-e', ALL)
        g.wait_for_event()
        code, out, err = g.end(sig)
        check(code == 0 and '# events:' in err and len(events(out)) > 0,
              f'{sig.name} ends it cleanly: {code} {err[-300:]}')
    p = subprocess.Popen([RINGSIDE, 'run', *guest_args('--name', 'p', '-e', ALL, '--duration', '30')],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdout.read(2000)
    p.stdout.close()
    start = time.time()
    check(p.wait(20) == 0 and time.time() - start < 10, 'so does a closed pipe')
    check_stopped_client()
    check_slow_reader()
    for json_option in ([], ['--json']):
        check_unread(*json_option)
    left = [f for f in os.listdir(os.path.join(os.environ['XDG_RUNTIME_DIR'], 'ringside'))]
    check(left == [], f'nothing is left behind: {left}')


def test_both_signalled():
    """A terminal signals the program as well as us. It is the same end, whoever is seen first."""
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) * 3:
        g = Background(rs, 'run', *guest_args('--name', 'b', '-e', ALL), start_new_session=True)
        wait_for('an event', lambda: events(g.read(g.out).decode()))
        os.killpg(g.process.pid, sig)
        code, _, err = g.end()
        check(code == 0 and 'the guest was stopped: ' in err, f'{sig.name}: {code} {err[-300:]}')
    g = Background(rs, 'run', *guest_args('--name', 'b', '-e', ALL))
    wait_for('an event', lambda: events(g.read(g.out).decode()))
    os.kill(rs.sessions()[0]['sources'][0]['pid'], signal.SIGINT)
    code, _, err = g.end()
    check(code == 4 and 'signal 2' in err, f'the program alone is another matter: {code} {err}')


def test_words():
    """What the command says without a session, or of one that was killed."""
    r = rs('help', 'run')
    check(r.code == 0 and r.out == rs('run', '--help').out, 'help VERB is the verb\'s')
    check(rs('help', 'nix').code == 2 and rs('help', 'run', 'ps').code == 2, 'and of one verb')
    check(rs('-V').out == rs('--version').out != '', '-V is --version')
    check(rs('ps', 'x').err.endswith('usage: ringside ps\n'), 'a usage without arguments')
    r = rs('trace', '--duration', '1e9')
    check('--duration' in r.err and '--count' not in r.err, f'one message for one fault: {r.err}')
    r = rs('run', GUEST.split()[0])
    check(r.code == 1 and '--hosted' in r.err, f'a program is no kernel: {r}')
    g, lives = Running('q', '-e', ALL), Running('d1')
    r = rs('disable', '-s', 'd1', ALL)
    check(r.out.strip() == f'{ALL}: {ALL_COUNT} events are off', f'disable: {r.out}')
    program = next(s for s in rs.sessions() if s['name'] == 'q')['sources'][0]['pid']
    g.process.kill()
    g.process.wait()
    r = rs('list', 'q')
    check(r.code == 3 and "session 'd1'" in r.err and "'q' has died" in r.err,
          f'list of a dead session: {r.err}')
    r = rs('list', '-s', 'd1', 'nix')
    check(r.code == 3 and "session 'd1'" in r.err and 'died' not in r.err, f'no event: {r.err}')
    for args in (['list', '-s', 'd1'], ['enable', 'd1'], ['format', 'd1']):
        for wrong in (SOME[:-1] + 'w', SOME.split(':')[1][1:]):
            r = rs(*args, wrong)
            check(r.code == 3 and f"did you mean '{SOME}'?" in r.err, f'{args[0]} {wrong}: {r.err}')
    far = f'a-source-of-a-long-name/{SOME[:-1]}w'
    for args in (['list', '-s', 'd1', far], ['hist', '-s', 'd1', far, 'x']):
        r = rs(*args)
        check(r.code == 3 and f"did you mean '{SOME}'?" in r.err, f'{args[0]}, of some source: {r.err}')
    r = rs('enable', 'd1', SOME[:-1] + '?' + 'x')
    check(r.code == 3 and 'did you mean' not in r.err, f'a glob has no nearest name: {r.err}')
    check(rs('stop', 'q').code == 0, 'stop of a dead session')
    check([s['name'] for s in rs.sessions()] == ['d1'], 'removes it')
    os.kill(program, signal.SIGKILL)
    lives.end(signal.SIGINT)


def test_modes():
    r = rs('run', *guest_args('--name', 'm', '-e', '*', '--duration', '2', '--mode', 'drop',
                              '--ring-size', '64K'))
    m = re.search(r'# events: (\d+) recorded, (\d+) printed, (\d+) lost, (\d+) dropped', r.err)
    check(r.code == 0 and m, f'mode drop: {r.code} {r.err[-300:]}')
    check(int(m[1]) == int(m[2]) and int(m[3]) == int(m[4]),
          f'nothing that was recorded is lost, what was refused is counted: {m[0]}')
    check(KIND != 'hosted' or int(m[3]) > 0, 'a program that is faster than we loses some')
    lost = sum(map(int, re.findall(r'^CPU:\d+ \[LOST (\d+) EVENTS\]$', r.out, re.M)))
    check(lost == int(m[3]), f'in its place: {lost}')
    r = rs('run', *guest_args('--name', 'm', '-e', ALL, '--ring-size', '1K'))
    check(r.code != 0 and 'too small' in r.err, 'too small a ring is refused')


def test_ends():
    """A guest that ends badly: a clear message, an exit code, and its records."""
    for crash, code, text in (('panic', 4, 'panicked'), ('triple', 4, 'triple fault'),
                              ('reset', 4, 'reset'), ('exit:3', 5, 'exit code 3')):
        r = rs('run', *guest_args('--name', 'e', '-e', 'sched:*', '-e', 'nix:*', '--duration', '30',
                                  '--append', f'crash={crash} rounds=1'))
        check("no event matches 'nix:*'" in r.err, 'a glob that matched nothing is told')
        check(r.code == code and text in r.err, f'{crash}: {r.code} {r.err[-400:]}')
        check(len(events(r.out)) > 0, 'what it recorded is printed')
        check("Ringside's demo guest" in r.err, f'its console is shown: {r.err[:400]}')
    r = rs('run', *guest_args('--name', 'e', '--serial', 'none', '--duration', '30',
                              '--append', 'crash=panic rounds=1'))
    check('panic\\x1b[31m!\\x0aringside: not so\n' in r.err, f'a panic is one line: {r.err[:400]}')
    r = rs('run', *guest_args('--name', 'e', '-e', 'sched:*', '--duration', '3',
                              '--append', 'crash=hang rounds=1'))
    check(r.code == 0 and 'its time is over' in r.err and len(events(r.out)) > 0,
          f'a guest that hangs ends with its time: {r.code}')


def test_attach():
    """The session is killed (-9), and the next session restores the text."""
    g = Running('k', '-e', ALL)
    wait_for('patched text', lambda: rs.json('stat')['sites_patched'] >= ALL_COUNT)
    g.process.kill()
    g.process.wait()
    check(rs.sessions()[0]['state'] == 'lost', 'ps says lost')
    r = rs('run', '--name', 'k', '--hosted', '/bin/true')
    check(r.code == 1 and 'attach k' in r.err, f'its name is not to be had: {r.code} {r.err[:300]}')
    check(rs('attach', '-z', '1', 'k').code == 2, 'options of a recording need one')
    file = os.path.join(os.environ['XDG_RUNTIME_DIR'], 'k.trace')
    r = rs('attach', '--duration', '1', '-o', file, 'k')
    check(r.code == 0 and re.search(r'(\d+) put back', r.err), f'attach: {r.code} {r.err[:300]}')
    check(int(re.search(r'(\d+) put back', r.err)[1]) >= ALL_COUNT, 'text was put right')
    check(len(events(r.out)) > 0, 'what was in the rings is printed')
    # But for names: the guest keeps few of a pid, and both look at different times.
    check([m.groups()[1:] for m in events(rs('report', file).out)] == [m.groups()[1:] for m in events(r.out)],
          'what is printed is recorded')
    r = rs('attach', '--new', '-e', SOME, '--duration', '2', 'k')
    check(r.code == 0 and 'put back' not in r.err, 'a detached guest has nothing to put right')
    check({m[7] for m in events(r.out)} == {SOME}, '--new leaves old records out')
    check(rs('stop', 'k').code == 0, 'stop ends it')
    check(rs('ps').out.count('\n') == 1, 'and it is gone')


def main():
    need(KIND)
    tests = [test_run, test_filter, test_filter_forms, test_views, test_providers, test_sites, test_looks,
             test_control, test_signals, test_modes]
    if KIND == 'hosted':
        tests += [test_both_signalled, test_words, test_other_user]
    else:
        tests += [test_functions, test_ends, test_console]
    if KIND == 'tcg':
        tests.append(test_attach)
    run_tests(tests, sys.argv[4:])


main()
