#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_runs.py ACCEL RINGSIDE DEMO_GUEST HOSTED_DEMO: `ringside test` with guests that run."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from harness import HERE, Background, Ringside, check, need, run_tests, wait_for

ACCEL = sys.argv[1]
RINGSIDE, DEMO, HOSTED = map(os.path.realpath, sys.argv[2:5])
SCHEMA = os.path.realpath(os.path.join(HERE, '../unit/cli/junit.xsd'))
rs = Ringside(RINGSIDE)
# A guest that ends by itself passes, however long it takes.
PATIENT = '[test]\ntimeout = 50s\n'
FOREVER = ''
GOOD = '[expect tasks]\nevent = task:create\ncount = 4..\n[expect greeting]\nserial = ^demo: Ringside'
BAD = '[expect none]\nnever = task:exit: code == 0'
BROKEN = '[expect nix]\nevent = sched:switch: nix == 3'


def folder(name):
    """A new folder, in which the test is from now on."""
    path = os.path.join(os.environ['XDG_RUNTIME_DIR'], name)
    os.mkdir(path)
    os.chdir(path)


def write(name, expect, append='rounds=2', head=PATIENT, kernel=DEMO, guest=''):
    """NAME.spec of the demo guest. Returns its text."""
    text = (f'{head}[guest]\nkernel = {kernel}\naccel = {ACCEL}\nappend = {append}\n{guest}'
            f'[trace]\nenable = sched:*; task:*\n{expect}\n')
    with open(name + '.spec', 'w', encoding='utf-8') as f:
        f.write(text)
    return text


def line_of(text, what):
    return text.split('\n').index(what) + 1


def run(code, *args):
    r = rs('test', *args)
    if r.code != code:
        raise AssertionError(f'test {" ".join(args)}: not {code}, but {r}')
    print('ok: test', *args, flush=True)
    return r


def kept(path):
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def check_evidence(path):
    """It has what a run leaves, and others can read the trace. Returns the trace as text."""
    check({'trace', 'serial', 'result'} <= set(kept(path)), f'the evidence is there: {kept(path)}')
    r = rs('report', os.path.join(path, 'trace'))
    check(r.code == 0, f'report reads the trace: {r.err}')
    return r.out


def test_passes():
    folder('passes')
    write('good', GOOD)
    r = run(0, 'good.spec')
    check(re.match(r'ok +good ', r.out) and '1 passed, 0 failed' in r.out, 'it is said')
    check(kept('.') == ['good.spec'], f'nothing is left behind: {kept(".")}')
    run(0, '--keep', '-o', 'all', 'good.spec')
    check('task:create' in check_evidence('all/good'), 'what passed is kept on demand')


def test_fails():
    folder('fails')
    text = write('bad', BAD)
    r = run(1, 'bad.spec')
    check('FAIL bad: none: it happened ' in r.out, 'it is said why')
    check(f'at bad.spec:{line_of(text, "never = task:exit: code == 0")}\n' in r.out, 'and where')
    check(re.search(r'^ *→ .* task:exit: pid=\d+ code=0 ', r.out, re.M), 'with the record')
    check(len(re.findall(r' \[00\d\] .* (sched|task):', r.out)) > 3, 'and those around it')
    check('evidence: ringside-test/bad\n' in r.out, 'the evidence is named')
    check('task:exit' in check_evidence('ringside-test/bad'), 'the trace has it')
    with open('ringside-test/bad/theirs', 'w', encoding='utf-8'):
        pass
    write('bad', GOOD)
    run(0, 'bad.spec')
    check(kept('ringside-test/bad') == ['theirs'], 'once it passes, only what is not ours is left')


def test_broken():
    folder('broken')
    for name, expect, line, why in (
            ('key', '[expect x]\nevnt = task:exit', 'evnt = task:exit', "there is no key 'evnt'"),
            ('event', '[expect x]\nevent = shed:switch', 'event = shed:switch',
             "no event that is enabled matches 'shed:switch'"),
            ('range', '[expect x]\nnever = task:exit: code == 4294967296', 'never = task:exit: code == 4294967296',
             'lies between'),
            ('field', BROKEN, BROKEN.split('\n')[1], "has no field 'nix'")):
        text = write(name, expect)
        r = run(2, f'{name}.spec')
        first = r.out.split('\n', 1)[0]
        check(f'FAIL {name}: broken spec: ' in first and why in first, f'it is said why: {first}')
        check(f'at {name}.spec:{line_of(text, line)}\n' in r.out, 'and where')
    # Also if the trace has no record.
    with open('silent.spec', 'w', encoding='utf-8') as f:
        f.write(f'{PATIENT}[guest]\nkernel = {DEMO}\naccel = {ACCEL}\nappend = rounds=2\n'
                '[trace]\nenable = load:flood\n[expect x]\nnever = load:floud\n')
    check("no event that is enabled matches 'load:floud'" in run(2, 'silent.spec').out, 'a mistake in a silent trace')
    # An event that is there, but off, never happens.
    write('off', '[expect x]\nnever = irq:tick')
    check("no event that is enabled matches 'irq:tick'" in run(2, 'off.spec').out, 'an event that is not enabled is a mistake')
    # What the run itself refuses: nothing passes that was not traced as it was to be.
    for name, key, why in (('glob', 'enable = shed:*', "no event matches 'shed:*'"),
                           ('filter', 'enable = sched:*\nfilter = sched:switch: nix == 3', 'bad filter'),
                           ('cpus', 'enable = sched:*\n[matrix]\ncpus = many', 'this is no number')):
        with open(f'{name}.spec', 'w', encoding='utf-8') as f:
            f.write(f'{PATIENT}[guest]\nkernel = {DEMO}\naccel = {ACCEL}\nappend = rounds=2\n'
                    f'[trace]\n{key}\n[expect x]\nserial = demo\n')
        r = run(2, f'{name}.spec')
        check(f'FAIL {name}' in r.out and 'broken spec: ' in r.out and why in r.out, f'it is said why: {r.out}')
        wrong = next(n for n, text in enumerate(open(f'{name}.spec', encoding='utf-8'), 1)
                     if text.startswith('cpus' if name == 'cpus' else 'filter' if name == 'filter' else 'enable'))
        check(f'at {name}.spec:{wrong}\n' in r.out, 'and where')
    with open('off.spec', 'w', encoding='utf-8') as f:
        f.write(f'[guest]\nkernel = {DEMO}\naccel = {ACCEL}\n[expect x]\nnever = task:create\n')
    shutil.rmtree('ringside-test/off')
    check('no event is enabled' in run(2, 'off.spec').out, 'nothing is enabled')
    check(not os.path.exists('ringside-test/off'), 'of a spec that enables nothing')
    check(not os.path.exists('ringside-test/key'), 'a spec that cannot be read runs nothing')
    with open('empty.spec', 'w', encoding='utf-8'):
        pass
    check('at empty.spec:1\n' in run(2, 'empty.spec').out, 'an empty spec has a place, too')
    check('no spec' in run(2).err, 'no spec at all')


def test_matrix():
    folder('matrix')
    write('m', '[expect cpus]\nserial = , ${cpus} vCPUs$', guest='[matrix]\ncpus = 1; 2\n')
    r = run(0, '--list', 'm.spec')
    check(r.out == 'm (cpus=1)\nm (cpus=2)\n', 'both cases are listed')
    check(kept('.') == ['m.spec'], 'and nothing is run for that')
    r = run(0, '-j', '2', '--keep', 'm.spec')
    check('2 passed' in r.out and all(f' m (cpus={n}) ' in r.out for n in (1, 2)), 'both pass')
    check(len(kept('ringside-test')) == 2, f'in folders of their own: {kept("ringside-test")}')
    check(run(0, '--list', '--set', 'cpus=3', 'm.spec').out == 'm (cpus=3)\n', 'who runs it may choose others')
    check("no spec has a name 'cpu'" in run(2, '--list', '--set', 'cpu=3', 'm.spec').err, 'but not of another name')


def test_tags():
    folder('tags')
    write('a', GOOD, head=PATIENT + 'tags = quick; all\n')
    write('b', GOOD, head=PATIENT + 'tags = slow; all\n')
    for tag, want in (('quick', 'a\n'), ('all', 'a\nb\n')):
        check(run(0, '--list', '--tag', tag, '.').out == want, f'those with the tag {tag}')
    check(run(0, '--list', '--tag', 'quick', '--tag', 'slow', '.').out == 'a\nb\n', 'of two tags')
    run(2, '--tag', 'none', '.')
    check('1 passed' in run(0, '--tag', 'slow', '.').out, 'only one is run')


def test_ends():
    """How a guest may end. One that does not say how it ends must end well."""
    folder('ends')
    for how, why in (('panic', 'panic: the demo was told to panic'), ('triple', 'triple-fault'),
                     ('reset', 'reset')):
        write(how, GOOD, append=f'rounds=1 crash={how}')
        r = run(1, f'{how}.spec')
        check(f'the guest did not end by itself: {why}' in r.out and '\x1b' not in r.out, f'{how} is told')
        check('task:create' in check_evidence(f'ringside-test/{how}'), 'with all that came before')
        want = how.replace('triple', 'triple-fault')
        write(how, f'{GOOD}\n[expect it ends]\nend = {want}', append=f'rounds=1 crash={how}')
        run(0, f'{how}.spec')
    write('well', f'{GOOD}\n[expect it ends]\nend = panic', append='rounds=1')
    check('it ends: it should have ended by panic, and not so: exit' in run(1, 'well.spec').out, 'it ended well')
    write('code', GOOD, append='rounds=1 crash=exit:3')
    check('the guest ended with code 3' in run(1, 'code.spec').out, 'a code is a failure')
    write('code', '[expect code]\nexit = 3', append='rounds=1 crash=exit:3')
    run(0, 'code.spec')
    write('code', '[expect code]\nexit = 3', append='rounds=1')
    check('code: the guest ended with code 0, and not 3' in run(1, 'code.spec').out, 'but not another')


def test_times():
    folder('times')
    # The guest of a busy machine may not come far in a short time.
    for seconds in (3, 10, 30):
        write('endless', GOOD, append=FOREVER, head=f'[test]\ntimeout = {seconds}s\n')
        r = run(1, 'endless.spec')
        check(f'FAIL endless: it did not end within {seconds} s' in r.out, 'its time is over')
        if 'task:create' in check_evidence('ringside-test/endless'):
            break
    check(seconds < 30, 'what was traced until then is there')
    text = write('while', '[expect calm]\nserial-never = panic', append=FOREVER)
    with open('while.spec', 'w', encoding='utf-8') as f:
        f.write(text.replace('[trace]\n', '[trace]\nduration = 1s\n'))
    run(0, 'while.spec')


def test_not_run():
    folder('not-run')
    write('text', GOOD, kernel='text.spec')
    check('FAIL text: not run: ' in run(3, 'text.spec').out, 'a text is no kernel')
    text = write('none', GOOD, kernel='none')
    r = run(2, 'none.spec')
    check(f'none.spec:{line_of(text, "kernel = none")}\n' in r.out, 'a kernel that is not there')


def spec(path, guest, trace='enable = sched:*; task:*', test=PATIENT, expect=GOOD):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(f'{test}[guest]\naccel = {ACCEL}\n{guest}\n[trace]\n{trace}\n{expect}\n')


def test_commands():
    """What is done on the host before and after a guest."""
    folder('commands')
    guest = f'kernel = {DEMO}\nappend = rounds=2'
    spec('a.spec', guest, test=PATIENT + 'setup = echo $RINGSIDE_SESSION > before; ls "$RINGSIDE_FOLDER"\n'
         'teardown = test -e "$RINGSIDE_FOLDER/trace" && echo > after\n')
    run(0, 'a.spec')
    check({'before', 'after'} <= set(kept('.')), 'both were done, in the folder of the spec')
    with open('before', encoding='utf-8') as f:
        check(f.read().startswith('test-'), 'they know the session')
    spec('a.spec', guest, test=PATIENT + 'setup = echo no luck; exit 3\nteardown = echo > torn\n')
    r = run(3, 'a.spec')
    check('not run: the setup ended with code 3' in r.out and 'torn' in kept('.'), 'a setup that fails')
    with open('ringside-test/a/setup', encoding='utf-8') as f:
        check(f.read() == 'no luck\n', 'what it said is kept')
    spec('a.spec', guest, test='[test]\nsetup = sleep 1000 & sleep 1000\ntimeout = 1s\n')
    check('the setup did not end in time' in run(3, 'a.spec').out, 'a setup that hangs')
    check(not below(os.getpid()), 'leaves nothing behind')
    spec('a.spec', guest, test=PATIENT + 'teardown = exit 4\n')
    check('the teardown ended with code 4' in run(3, 'a.spec').out, 'a teardown that fails')


def test_fixtures():
    folder('fixtures')
    with open('kernel.fixture', 'w', encoding='utf-8') as f:
        f.write(f'[fixture]\nsetup = cp {DEMO} "$RINGSIDE_FOLDER/k" && echo up >> ups\n'
                'teardown = ls "$RINGSIDE_FOLDER" > downs\n')
    for name in 'ab':
        spec(f'{name}.spec', 'kernel = ${kernel}/k\nappend = rounds=${n}', test=PATIENT + 'fixtures = kernel.fixture\n',
             expect='[matrix]\nn = 2; 3\n' + GOOD)
    check('4 passed' in run(0, '.').out, 'all have it')
    with open('ups', encoding='utf-8') as ups, open('downs', encoding='utf-8') as downs:
        check(ups.read() == 'up\n' and 'k\n' in downs.read(), 'it was up once, and went down')
    check('ringside-test' not in kept('.'), 'and its folder is gone')
    with open('kernel.fixture', 'w', encoding='utf-8') as f:
        f.write('[fixture]\nsetup = echo no luck; exit 3\n')
    r = run(3, 'a.spec')
    check(r.out.count('not run: the setup of fixture kernel ended with code 3') == 2, 'one that fails')
    with open('kernel.fixture', 'a', encoding='utf-8') as f:
        f.write('teardown = echo down >> torn; sleep 0.3\n')
    run(3, 'a.spec')
    with open('torn', encoding='utf-8') as f:
        check(f.read() == 'down\n', 'it goes down once')
    with open('kernel.fixture', 'w', encoding='utf-8') as f:
        f.write('[fixture]\nserver = echo $$ > pid; exec sleep 1000\n'
                'teardown = kill -0 $(cat pid) && echo > alive\n')
    spec('c.spec', f'kernel = {DEMO}\nappend = rounds=2', test=PATIENT + 'fixtures = kernel.fixture\n'
         'setup = while ! kill -0 $(cat pid); do sleep 0.05; done\n')
    run(0, 'c.spec')
    check('alive' in kept('.') and not below(os.getpid()), 'a server lives as long as its fixture')
    with open('kernel.fixture', 'w', encoding='utf-8') as f:
        f.write('[fixture]\nserver = sleep 0.3\n')
    spec('d.spec', f'kernel = {DEMO}\nappend = rounds=2', test=PATIENT + 'fixtures = kernel.fixture\n'
         'setup = sleep 1; who=$${USER:-me}\n')
    check('the server of fixture kernel has ended' in run(3, 'd.spec').out, 'one that ends too soon')
    with open('kernel.fixture', 'w', encoding='utf-8') as f:
        f.write('[fixture]\nstep = 3\n')
    check("kernel.fixture:2: there is no key 'step' here" in run(2, 'a.spec').out, 'a broken one')
    os.unlink('kernel.fixture')
    check('No such file' in run(2, 'a.spec').out, 'none')


def test_retries():
    folder('retries')
    for name in ('first', 'second'):
        spec(f'{name}.spec', f'kernel = {DEMO}\nappend = rounds=1 crash=exit:${{code}}',
             test=PATIENT + f'setup = test -e {name} || {{ touch {name}; exit 3; }}\n',
             expect='[matrix]\ncode = 0\n' + GOOD)
    check('the setup ended with code 3' in run(3, 'first.spec').out, 'none is made by itself')
    r = run(0, '--retries', '2', 'second.spec')
    check('passed at attempt 2; the first said: the setup ended with code 3' in r.out, 'one is told')
    write('bad', BAD, head=PATIENT + 'retries = 1\n')
    r = run(1, 'bad.spec')
    check('FAIL bad: none: it happened' in r.out, 'what fails each time has failed')
    check('task:exit' in check_evidence('ringside-test/bad'), 'with the evidence of the last')


def test_boot_once():
    """Cases with the same guest and trace are judged by one run."""
    folder('once')
    spec('a.spec', f'kernel = {DEMO}\nappend = rounds=2', test=PATIENT + 'boot = once\nsetup = echo >> boots\n',
         expect='[matrix]\nn = 1; 2; 4000\n[expect x]\nevent = task:create\ncount = ${n}..')
    r = run(1, 'a.spec')
    check('2 passed, 1 failed' in r.out, 'each is judged by itself')
    with open('boots', encoding='utf-8') as f:
        check(f.read() == '\n', 'of one boot')
    check(len(kept('ringside-test')) == 1, 'with one folder')


def test_limits():
    """A run that writes too much, and what a program leaves behind."""
    folder('limits')
    spec('big.spec', f'kernel = {DEMO}\nappend = flood', 'enable = *\nloss = allowed', PATIENT + 'disk = 200K\n')
    check('it wrote more than 200.0\xa0KiB, and was stopped' in run(1, 'big.spec').out, 'it is stopped')
    check('load:flood' in check_evidence('ringside-test/big'), 'with the trace so far')
    spec('loud.spec', f'kernel = {DEMO}\nappend = rounds=1', test=PATIENT + 'disk = 200K\nsetup = yes\n')
    check('it wrote more than 200.0\xa0KiB, and was stopped' in run(1, 'loud.spec').out, 'also a command')
    with open('left.spec', 'w', encoding='utf-8') as f:
        f.write('[guest]\nhosted = /bin/sh -c "setsid sleep 1000 & setsid sh -c \'sleep 1000 & sleep 1000\' & exit 0"\n'
                '[trace]\nenable = *\n[expect x]\nexit = 0\n')
    run(3, 'left.spec')
    nest = 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); setsid sh -c "sleep 1000 & setsid sleep 1000 & exit 0" & done; exit 0'
    write('nest', GOOD, append='rounds=1', head=f'{PATIENT}setup = {nest}\n')
    run(0, 'nest.spec')
    check(not below(os.getpid()), 'nothing is left of what a program has started')


def test_losses():
    """Events that are in no trace, and a console with holes, fail a test."""
    folder('losses')
    cpu = max(os.sched_getaffinity(0))
    if cpu:
        with open('cpu.spec', 'w', encoding='utf-8') as f:
            f.write(f'[guest]\nhosted = /usr/bin/taskset -c {cpu} {HOSTED} 1\ncpus = {cpu}\n'
                    '[trace]\nenable = *\n[expect end]\nexit = 0\n')
        check(re.search('no loss: [1-9][0-9]* events are lost', run(1, 'cpu.spec').out), 'a CPU without a ring')
    write('console', '[expect calm]\nserial-never = panic', append='rounds=1',
          head=PATIENT + 'setup = ln -s /dev/full "$RINGSIDE_FOLDER/serial"\n')
    r = run(1, 'console.spec')
    check(re.search('no loss: [1-9][0-9]* bytes of its console could not be written', r.out), 'a full disk')
    check('calm: the guest wrote more than the 0 bytes that were read' in r.out, 'nobody knows what it wrote')


def test_serial():
    folder('serial')
    write('s', '[expect cpus]\nserial = ^demo: .* \\d+ vCPUs$\ncount = 1\n[expect calm]\nserial-never = panic')
    run(0, 's.spec')
    write('s', '[expect greeting]\nserial-never = ^demo: Ringside\n[expect nix]\nserial = no such line')
    r = run(1, 's.spec')
    check('greeting: the guest wrote it 1 times' in r.out and '(and 1 more)' in r.out, 'both are told')
    check('nix: the guest wrote it 0 times' in r.out, 'each with its reason')


def check_tap(path):
    """prove comes to the same. That of Debian 12 reads version 13 only, which is the same here."""
    if not shutil.which('prove'):
        print('prove is not here')
        return
    with open(path, encoding='utf-8') as f:
        text = f.read()
    check(text.startswith('TAP version 14\n1..3\n'), 'it has its version and plan')
    new = ['perl', '-MTAP::Parser', '-e', 'exit(TAP::Parser->VERSION < 3.48)']
    if subprocess.run(new, check=False).returncode:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text.replace('version 14', 'version 13', 1))
    p = subprocess.run(['prove', path], capture_output=True, text=True, check=False)
    check(p.returncode and 'Failed 2/3 subtests' in p.stdout + p.stderr, f'prove sees it so: {p.stdout} {p.stderr}')
    check('arse error' not in p.stdout + p.stderr, 'and complains of nothing')


def check_junit(path):
    if not (shutil.which('xmllint') and os.path.exists(SCHEMA)):
        print('xmllint is not here')
        return
    p = subprocess.run(['xmllint', '--noout', '--schema', SCHEMA, path], capture_output=True, text=True,
                       check=False)
    check(p.returncode == 0, f'xmllint accepts it: {p.stderr}')
    for what, count in (('testcase', 3), ('failure', 1), ('error', 1)):
        p = subprocess.run(['xmllint', '--xpath', f'count(//{what})', path], capture_output=True, text=True,
                           check=False)
        check(p.stdout.strip() == str(count), f'{p.stdout.strip()} {what}')


def test_reports():
    """The same three specs in each format."""
    folder('reports')
    texts = {name: write(name, expect) for name, expect in (('bad', BAD), ('good', GOOD), ('wrong', BROKEN))}
    with open('all.tap', 'w', encoding='utf-8') as f:
        f.write(run(2, '--format', 'tap', '.').out)
    check_tap('all.tap')
    os.symlink('all.xml', 'link.xml')
    r = run(2, '--format', 'junit', '--report', 'link.xml', '.')
    check(os.path.islink('link.xml'), 'a link, or a device, is written to and not replaced')
    check('1 passed, 1 failed, 1 broken' in r.out and '<' not in r.out, 'people read what people read')
    check_junit('all.xml')
    r = run(2, '--format', 'github', '.')
    for name, line in (('bad', 'never = task:exit: code == 0'), ('wrong', BROKEN.split('\n')[1])):
        place = f'::error file=./{name}.spec,line={line_of(texts[name], line)},title={name}::'
        check(sum(one.startswith(place) for one in r.out.split('\n')) == 1, place)
    check('file=./good.spec' not in r.out, 'and nothing of what passed')
    r = run(3, '--report', 'no/such/folder', 'good.spec')
    check('no/such/folder' in r.err, 'a report that cannot be written')


def processes():
    """(pid, when it began) → its parent, of all that are alive."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
                fields = f.read().rsplit(')', 1)[1].split()
        except OSError:
            continue
        if fields[0] not in 'ZX':
            found[int(pid), fields[19]] = int(fields[1])
    return found


def below(pid):
    """All that descend from it."""
    all_of_them, found, parents = processes(), set(), {pid}
    while more := {who for who, parent in all_of_them.items() if parent in parents} - found:
        found |= more
        parents = {who[0] for who in more}
    return found


def children(pid):
    return [who for who, parent in processes().items() if parent == pid]


def begin(jobs):
    """Three guests that run for ever, `jobs` of them at a time. Returns when these are traced."""
    for name in 'abc':
        write(name, GOOD, append=FOREVER)
    test = Background(rs, 'test', '-j', str(jobs), '.', start_new_session=True)

    def traced():
        if test.process.poll() is not None:
            raise AssertionError(f'it has ended: {test.said()}')
        stats = [rs('stat', '--json', s['name']) for s in rs.json('ps')]
        return len(stats) == jobs and all(r.code == 0 and json.loads(r.out)['sites_patched'] for r in stats)
    wait_for('guests that run', traced)
    found = below(test.process.pid)
    check(len(children(test.process.pid)) == jobs, f'{jobs} at a time')
    check(len(found) >= jobs * (2 if ACCEL == 'tcg' else 1), f'{len(found)} processes')
    return test, found


def session_files():
    return [os.path.join(path, name) for path, dirs, files in os.walk(os.environ['XDG_RUNTIME_DIR'])
            for name in dirs + files if name.startswith('test-')]


def check_gone(found):
    wait_for('the end of all processes', lambda: not found & set(processes()))
    left = rs.json('ps')
    check(left == [], f'there is no session any more: {left}')
    try:
        wait_for('the end of what belongs to one', lambda: not session_files())
    except AssertionError as e:
        raise AssertionError(f'nor what belongs to one: {session_files()}') from e


def test_interrupted():
    folder('interrupted')
    test, found = begin(2)
    # As a terminal does: to all that are still in the same group.
    os.killpg(test.process.pid, signal.SIGINT)
    code, out, _ = test.end()
    out = out.decode()
    check(code == 3, f'it was not run: {code}')
    check(out.count(': not run: it was interrupted\n') == 2 and ' 2 not run,' in out, 'two are told')
    check('1 not begun' in out, 'and one more')
    check_gone(found)


def test_interrupted_twice():
    """Who is in a hurry does not wait for a guest's end, and leaves nothing behind either."""
    folder('twice')
    test, found = begin(2)
    # Below us are their supervisors.
    for supervisor in children(test.process.pid):
        for process in children(supervisor[0]):
            os.kill(process[0], signal.SIGSTOP)
    test.process.send_signal(signal.SIGINT)
    wait_for('no end', lambda: not test.process.poll())
    time.sleep(0.5)
    check(test.process.poll() is None, 'runs that stand still do not end')
    test.process.send_signal(signal.SIGINT)
    code, out, _ = test.end()
    check(code == 3 and out.count(b': not run: it was interrupted') == 2, f'they are killed: {code} {out}')
    check_gone(found)


def test_progress():
    """A terminal shows what is going on, and what is told stays readable."""
    folder('progress')
    write('a', GOOD, append='rounds=20')
    main, other = os.openpty()
    with subprocess.Popen([RINGSIDE, 'test', 'a.spec'], stdin=other, stdout=other, stderr=other) as p:
        os.close(other)
        text = b''
        try:
            while part := os.read(main, 4096):
                text += part
        except OSError:
            pass
    os.close(main)
    check(p.returncode == 0 and re.search(rb'\r\x1b\[K0 of 1  a \d+\.\d s', text), f'it is shown: {text}')
    check(re.search(rb'\r\x1b\[K\x1b\[32mok\x1b\[0m   a ', text), 'and goes')


def test_interrupted_early():
    """No guest is left behind that has just been started."""
    folder('early')
    write('a', GOOD, append=FOREVER)
    for _ in range(3):
        test = Background(rs, 'test', 'a.spec')
        found = wait_for('a guest', lambda: len(them := below(test.process.pid)) > (ACCEL == 'tcg') and them)
        code, out, _ = test.end(signal.SIGTERM)
        check(code == 3 and b': not run: it was interrupted' in out, 'it is told')
        check_gone(found)


def test_killed():
    """Runs end with their parent, however it went."""
    folder('killed')
    test, found = begin(1)
    test.process.kill()
    test.process.wait()
    check_gone(found)
    # And whenever: while guests are started, or patched, or run.
    for i in range(8):
        test = Background(rs, 'test', '-j', '3', '.')
        time.sleep(0.1 + 0.15 * i)
        found = below(test.process.pid)
        test.process.kill()
        test.process.wait()
        check_gone(found)


def test_supervisor_killed():
    """A supervisor that dies, or a run that kills all that it can, leave nothing either."""
    folder('supervisor')
    test, found = begin(1)
    supervisor = children(test.process.pid)[0]
    os.kill(supervisor[0], signal.SIGKILL)
    code, _, _ = test.end(signal.SIGINT)
    check(code == 3, f'it was not run: {code}')
    check_gone(found)
    write('zero', '[expect nix]\nexit = 0', head=f'{PATIENT}setup = sleep 1000 & sleep 1000 & kill -9 0\n')
    check('setup' in run(3, 'zero.spec').out, 'a command that kills its group has failed')
    check(not below(os.getpid()), 'and nothing of it is left')


need(ACCEL)
run_tests([test_passes, test_fails, test_broken, test_matrix, test_tags, test_ends, test_times,
           test_not_run, test_commands, test_fixtures, test_retries, test_boot_once, test_limits,
           test_losses, test_serial, test_reports, test_progress, test_interrupted, test_interrupted_twice,
           test_interrupted_early, test_killed, test_supervisor_killed], sys.argv[5:])
