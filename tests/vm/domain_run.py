#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside run --domain`, and specs of domains, which are started for a run and end with it.

    domain_run.py RINGSIDE GUEST [TEST…]
"""
import functools
import glob
import json
import os
import re
import signal
import subprocess
import sys

from core import check_core
from demo_domain import DOMAIN, Domain
from harness import HERE, Background, Ringside, check, need, run_tests, wait_for
from libvirt_bed import Bed, daemon_of, give, restart_daemon

SPECS = os.path.join(HERE, '../specs/domains')
RINGSIDE, GUEST = map(os.path.realpath, sys.argv[1:3])
rs = Ringside(RINGSIDE)
# So many seconds after its start a run is killed. Whatever it has done by then, nothing is left.
KILLED_AFTER = 0.1, 0.2, 0.3, 0.4, 0.6, 1.0
DISK = '''<disk type="file"><driver name="qemu" type="raw"/><source file="{path}"/>
<target dev="{dev}" bus="{bus}"/></disk>'''
CARD = '<interface type="user"><mac address="52:54:00:11:22:33"/></interface>'


class Place:
    """A bed, and a template in it."""

    def __init__(self, bed):
        self.bed = bed
        self.kernel = bed.place(GUEST, 'kernel')
        self.number = 0

    def template(self, append='', devices='', machine='pc', features='<features><acpi/></features>'):
        """A new one. Its name is its session's, and begins those of its domains."""
        self.number += 1
        text = DOMAIN.format(name='template', kernel=self.kernel, serial='/nowhere/serial')
        text = text.replace('</kernel>', f'</kernel><cmdline>{append}</cmdline>') \
            .replace('</devices>', f'{devices}</devices>').replace('machine="pc"', f'machine="{machine}"') \
            .replace('<cpu ', f'<uuid>{"1" * 8}-1111-1111-1111-{"1" * 12}</uuid>{features}<cpu ')
        path = self.bed.path('shared', f'{self.bed.token}-{self.number}.xml')
        with open(path, 'w') as file:
            file.write(text)
        return path

    def disk(self, name):
        path = self.bed.path('shared', name)
        with open(path, 'wb') as file:
            file.write(bytes(1 << 20))
        give(path)
        return path

    def args(self, domain, *more):
        return 'run', '-q', '-c', self.bed.uri, '--domain', domain, '-e', 'sched:*', *more

    def run(self, domain, *more):
        """Returns what it left: the command's result, the result as JSON, the console."""
        here = os.environ['XDG_RUNTIME_DIR']
        result, serial = os.path.join(here, 'result'), os.path.join(here, 'serial')
        console = ('--serial', serial) if domain.endswith('.xml') else ()
        done = rs(*self.args(domain, '--result', result, '-o', os.path.join(here, 'trace'), '--force', *console, *more))
        if not os.path.exists(result):
            return done, None, ''
        with open(result) as file:
            told = json.load(file)
        os.unlink(result)
        if not console:
            return done, told, ''
        with open(serial) as file:
            return done, told, file.read()

    def background(self, domain, *more, ready=None):
        return Background(rs, *self.args(domain, *more), ready=ready)

    def domains(self):
        return self.bed.virsh('list', '--name').stdout.split()

    def left(self):
        """Of what runs have: domains, memory, processes, files of disks."""
        found = self.domains() + glob.glob(f'/dev/shm/*{self.bed.token}*')
        found += glob.glob(self.bed.path('shared', '*TRANSIENT*'))
        for path in glob.glob('/proc/[0-9]*/cmdline'):
            try:
                with open(path, 'rb') as file:
                    words = file.read().split(b'\0')
            except OSError:
                continue  # it has ended
            if b'libvirtd' not in words[0] and self.bed.token.encode() in b' '.join(words[:-1]) and \
                    (b'qemu' in words[0] or b'ringside' in words[0]):
                found.append(f'{path}: {words[0]}')
        return found

    def check_clean(self):
        wait_for('an end of all that runs had', lambda: not self.left())

    def shows(self, name):
        """The runs that are served under such a name, and have events."""
        return [s['name'] for s in rs.sessions() if name in s['name'] and s['state'] == 'running' and
                re.search(r' [1-9]\d* patched', rs('stat', s['name']).out)]


def test_ends_of_a_guest(place):
    for how, code, end, said in (
            ('crash=exit:0', 0, 'exit', ''), ('crash=exit:3', 5, 'exit', 'exit code 3'),
            ('crash=panic', 4, 'panic', 'the demo was told to panic'), ('crash=reset', 4, 'reset', 'reset the machine')):
        done, told, console = place.run(place.template(how))
        check((done.code, told['end'], told['over']) == (code, end, False) and said in done.err,
              f'{how}: {told} {done.err}')
        check(f'command line "{how}"' in console, 'its console was read')
        report = rs('report', os.path.join(os.environ['XDG_RUNTIME_DIR'], 'trace')).out
        check(report.count('sched:switch') > 5, 'and its trace was recorded')
        place.check_clean()
    done, told, _ = place.run(place.template('crash=hang'), '--duration', '4')
    check(done.code == 0 and told['over'] and told['end'] == 'killed', f'one that hangs is ended: {told} {done.err}')
    place.check_clean()


def test_a_template_is_changed_by_options(place):
    done, _, console = place.run(place.template('of the template'), '--cpus', '3', '--mem', '96M', '--append',
                                 'crash=exit:0 "<&>"', '--ring-size', '8M', '--regions', '2')
    check(done.code == 0 and 'command line "crash=exit:0 "<&>""' in console, f'the command line: {console} {done.err}')
    path = os.path.join(os.environ['XDG_RUNTIME_DIR'], 'trace')
    cpus = set(re.findall(r'\[(\d{3})\]', rs('report', path).out))
    check(cpus == {'000', '001', '002'}, f'three vCPUs: {cpus}')


def xml_of(place, name):
    return place.bed.virsh('dumpxml', name).stdout


def test_many_of_one_template(place):
    disk = place.disk('many.disk')
    template = place.template('', CARD + DISK.format(path=disk, dev='vda', bus='virtio'))
    runs = [place.background(template) for _ in range(3)]
    stem = os.path.basename(template)[:-len('.xml')]
    try:
        sessions = wait_for('three sessions', lambda: len(found := place.shows(stem)) == 3 and found)
    except AssertionError:
        print(*(run.said() for run in runs))
        raise
    domains = place.domains()
    check(len(domains) == 3 and all(name.startswith(stem) for name in domains), f'each has its domain: {domains}')
    texts = [xml_of(place, name) for name in domains]
    for what in '<mac address=.*/>', '<uuid>.*</uuid>', '<shmem name=.*>', r"<source file='.*TRANSIENT.*'":
        found = {re.search(what, text)[0] for text in texts}
        check(len(found) == 3, f'each has its own {what}: {found}')
    memory = glob.glob(f'/dev/shm/*{place.bed.token}*')
    check(not memory, f'memory has no name: {memory}')
    written = place.bed.virsh('qemu-monitor-command', domains[0], '--hmp',
                              'qemu-io -d /machine/peripheral/virtio-disk0/virtio-backend "write -P 65 0 512"').stdout
    check('rror' not in written, f'one writes to its disk {written}')
    check(rs('stop', sessions[0]).code == 0, 'one is stopped')
    wait_for('its end', lambda: len(place.domains()) == 2)
    for run in runs:
        run.end(signal.SIGTERM)
    place.check_clean()
    with open(disk, 'rb') as file:
        check(not any(file.read()), 'the disk is as it was')


def test_the_memory_of_a_guest_that_hangs(place):
    path = place.bed.path('shared', 'core')
    done, told, _ = place.run(place.template('crash=hang', DISK.format(path=place.disk('d'), dev='vda', bus='virtio')),
                              '--duration', '4', '--core', path, '--core-late')
    check(done.code == 0 and told['core'] and f'memory is in {path}' in done.err, f'{told} {done.err}')
    check_core(path, GUEST, registers=2)
    os.unlink(path)
    done, told, _ = place.run(place.template('crash=reset'), '--core', path)
    check(not told['core'] and 'QEMU has ended' in done.err and not os.path.exists(path), f'{told} {done.err}')
    done, told, _ = place.run(place.template('crash=exit:0'), '--core', path, '--core-late', '--duration', '50')
    check(done.code == 0 and not told['core'] and not os.path.exists(path), f'a good end has none: {told} {done.err}')


def test_other_machines_and_buses(place):
    for machine, bus, dev in ('q35', 'virtio', 'vda'), ('q35', 'sata', 'sda'), ('pc', 'ide', 'hda'):
        disk = place.disk(f'{machine}-{bus}')
        template = place.template('crash=exit:0', DISK.format(path=disk, dev=dev, bus=bus), machine)
        done, told, _ = place.run(template)
        check(done.code == 0 and told['end'] == 'exit', f'{machine} with a disk on {bus}: {done.err}')
        place.check_clean()


def test_nothing_is_left_of_a_run_that_was_killed(place):
    """At any moment: before it has a domain, while it is made, and after."""
    template = place.template('', DISK.format(path=place.disk('killed'), dev='vda', bus='virtio'))
    for moment in KILLED_AFTER:
        running = place.background(template)
        try:
            running.process.wait(moment)
        except subprocess.TimeoutExpired:  # it runs, as it should
            pass
        running.end(signal.SIGKILL)
    place.check_clean()
    for session in [s for s in rs.sessions() if s['state'] != 'dead']:
        check(rs('stop', session['name']).code == 0, f'{session["name"]} is stopped, of which only files are left')
    files = os.listdir(os.environ['XDG_RUNTIME_DIR'] + '/ringside')
    check(rs.sessions() == [] and not [name for name in files if place.bed.token in name], f'none are left: {files}')


def test_a_known_domain(place):
    domain = Domain(rs, place.bed, GUEST, 'known')
    virsh = place.bed.virsh
    done, told, _ = place.run(domain.name, '--duration', '3')
    check(done.code == 0 and told['end'] == 'killed', f'it is started and ended: {told} {done.err}')
    check(domain.state() == 'shut off', 'it is off, and known')
    place.check_clean()
    running = place.background(domain.name, ready=lambda: place.shows(domain.name))
    again, _, _ = place.run(domain.name)
    check(again.code == 1 and f"'ringside attach {domain.name}' traces it" in again.err, f'it runs already: {again}')
    running.end(signal.SIGKILL)
    wait_for('its end', lambda: domain.state() == 'shut off')
    place.check_clean()
    rs('stop', domain.name)
    running = place.background(domain.name, ready=lambda: place.shows(domain.name))
    virsh('destroy', domain.name)
    code, _, said = running.end()
    check(code == 4 and 'it was forced off' in said, f'somebody else ends it: {said}')
    check(rs('prepare', '-c', place.bed.uri, '--remove', domain.name).code == 0, 'its device is taken away')
    done, _, _ = place.run(domain.name)
    check(done.code == 1 and "'ringside prepare' adds it" in done.err, f'it has no device: {done.err}')
    virsh('undefine', domain.name)


def test_what_is_refused(place):
    bad = place.bed.path('shared', 'bad.xml')
    block = '<disk type="block"><source dev="/dev/null"/><target dev="vda" bus="virtio"/></disk>'
    with open(bad, 'w') as file:
        file.write('<domain type="qemu"><vcpu>1</vcpu>')
    for args, code, said in (
            ([bad], 2, 'bad.xml: '), (['/nowhere/x.xml'], 1, 'No such file'), (['/x/nobody'], 1, "no domain '/x/nobody'"),
            ([place.template('', block)], 1, 'needs <readonly/>'),
            ([place.template(), '--cpus', '0'], 2, '--cpus is 1 to'),
            (['name', '--cpus', '2'], 2, 'for a template'), (['name', '--initrd', '/x'], 2, 'own XML'),
            (['name', '--demo'], 2, 'are two guests'), ([''], 2, 'needs a name'),
            ([place.template().replace('.xml', '.nix')], 1, 'no domain')):
        done = rs(*place.args(*args))
        check(done.code == code and said in done.err, f'{args}: {done.code} {done.err}')
    done = rs('run', '-c', place.bed.uri, '--demo')
    check(done.code == 2 and '--connect is for --domain' in done.err, done.err)
    # What libvirt or QEMU refuses is told in their words, and leaves nothing.
    done = rs(*place.args(place.template('', '<disk type="file"><source file="/nowhere/disk"/><target dev="hda"/></disk>')))
    check(done.code == 1 and '/nowhere/disk' in done.err, f'a disk that is missing: {done.err}')
    place.check_clean()


def write_spec(name, place, guest, expect, trace='', uri=None):
    with open(f'{name}.spec', 'w') as file:
        file.write(f'[test]\ntimeout = 50s\n[guest]\nconnect = {uri or place.bed.uri}\n{guest}\n'
                   f'[trace]\nenable = sched:*; task:*\n{trace}\n{expect}\n')


def test_the_spec_of_a_template(place):
    os.environ.update(TEMPLATE=place.template(), URI=place.bed.uri)
    done = rs('test', '-o', os.path.join(os.environ['XDG_RUNTIME_DIR'], 'evidence'), SPECS)
    check(done.code == 0 and '4 passed' in done.out, f'{done}')
    place.check_clean()


def test_specs(place):
    os.chdir(os.environ['XDG_RUNTIME_DIR'])
    tasks = '[expect tasks]\nevent = task:create\ncount = 4..\n'
    greeting = '[expect greeting]\nserial = ^demo: Ringside\n'
    template = f'template = {place.template()}\nappend = rounds=2\n'
    write_spec('good', place, template + '[matrix]\ncpus = 1; 2; 3', tasks + greeting)
    done = rs('test', '-j', '3', 'good.spec')
    check(done.code == 0 and '3 passed' in done.out, f'{done}')
    write_spec('bad', place, template, '[expect none]\nnever = task:create')
    done = rs('test', 'bad.spec')
    check(done.code == 1 and {'trace', 'serial', 'result'} <= set(os.listdir('ringside-test/bad')), f'{done}')
    write_spec('panics', place, f'template = {place.template("crash=panic")}', tasks)
    done = rs('test', 'panics.spec')
    check(done.code == 1 and 'the demo was told to panic' in done.out, f'{done}')
    domain = Domain(rs, place.bed, GUEST, 'spec')
    write_spec('known', place, f'domain = {domain.name}', tasks, trace='duration = 4s')
    done = rs('test', 'known.spec')
    check(done.code == 0, f'a domain that libvirt knows: {done}')
    place.check_clean()
    for guest, expect, line in (
            (f'domain = {domain.name}', greeting, 'the console of a domain'), ('template = x.nix', tasks, 'no such file'),
            (f'domain = {domain.name}\ndemo = true', tasks, 'a guest is one of'), ('demo = true', tasks, 'this is for domain'),
            ('domain = x.xml', tasks, 'a file is a template')):
        write_spec('wrong', place, guest, expect)
        done = rs('test', 'wrong.spec')
        check(done.code == 2 and line in done.out, f'{guest}: {done}')
    write_spec('nowhere', place, template, tasks, uri='qemu+unix:///session?socket=/nowhere/sock')
    done = rs('test', 'nowhere.spec')
    check(done.code == 0 and '1 skipped' in done.out and 'does not answer' in done.out, f'{done}')
    place.bed.virsh('undefine', domain.name)


def test_a_daemon_that_goes_and_comes(place):
    """The last one: then there is no daemon."""
    running = place.background(place.template(), ready=lambda: place.shows(place.bed.token))
    daemon = restart_daemon(place.bed)
    next(daemon)
    wait_for('word of it', lambda: 'has gone away' in running.said())
    next(daemon)
    wait_for('word of its return', lambda: 'there again' in running.said())
    code, _, said = running.end(signal.SIGINT)
    check(code == 0, f'the run ends: {said}')
    place.check_clean()
    next(daemon, None)


def bound(test, place):
    @functools.wraps(test)
    def run():
        test(place)
    return run


def main():
    need('tcg')
    with Bed() as bed:
        place = Place(bed)
        tests = [t for n, t in list(globals().items()) if n.startswith('test_')]
        run_tests([bound(test, place) for test in tests], sys.argv[3:])


if __name__ == '__main__':
    main()
