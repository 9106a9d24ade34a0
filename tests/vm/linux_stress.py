#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the kernel module knows of the kernel. In the debug kernel also loads and unloads at any
time with everything on. With `whole` also CPUs that come and go, interrupts that cannot be
masked, a device that is unplugged, and a panic: docs/status.md says what has not passed yet.

    linux_stress.py 6.1|6.12|debug RINGSIDE RINGSIDE_KO [whole]
"""
import os
import re
import signal
import sys
import tempfile

from harness import PATIENCE, Background, Ringside, check, skip, wait_for
from libvirt_bed import Bed
from linux_guest import Guest
from linux_module import build_example

SERIES, RINGSIDE, MODULE, *HOW = sys.argv[1:]
rs = Ringside(os.path.realpath(RINGSIDE))
MIB = 16
SLOW = 240  # s, at most
CPUS, MAX_CPUS = 2, 4
DEBUG = SERIES == 'debug'
WHOLE = HOW == ['whole']
LOADS = 3 if DEBUG else 10
APPEND = f'sysrq_always_enabled maxcpus={CPUS}' if DEBUG else 'sysrq_always_enabled'
LOAD = '''for n in 1 2; do
(
	while [ ! -e /tmp/stop ]; do
		dd if=/dev/zero of=/tmp/zeroes$n bs=4096 count=50 2>/dev/null
		cat /tmp/zeroes$n | /bin/true
		/bin/echo here >/dev/null
		usleep 1000
	done
) >/dev/null 2>&1 </dev/null &
done'''


def begin_session(guest, name, *more):
    return Background(rs, 'attach', '--shm', f'/dev/shm/{guest.shm}', '--cpus', str(MAX_CPUS), '--ring-size', '2M',
                      '--name', name, '-q', *more, ready=lambda: rs('stat', name).code == 0)


def insert(guest):
    guest.sh('insmod /ringside.ko', timeout=PATIENCE)
    wait_for('the agent', lambda: rs.json('list'), PATIENCE)


def enable(*globs):
    r = rs('enable', *globs, timeout=PATIENCE)
    check(r.code == 0, f'{globs} are on: {r.err.strip()}')


def enable_everything():
    """To set some 1,300 probes takes QEMU's TCG half a minute, and a guest under load longer."""
    wait_for('everything to be on', lambda: rs('enable', *everything(), timeout=PATIENCE).code == 0, SLOW)


def key_of(guest, tracepoint):
    """Whether the tracepoint has users, as the kernel's memory shows it."""
    address = int(guest.sh(f"grep ' __tracepoint_{tracepoint}$' /proc/kallsyms").split()[0], 16)
    said = guest.bed.virsh('qemu-monitor-command', guest.name, '--hmp', f'x /1wd {address + 8:#x}').stdout
    return int(said.split(':')[1])


def check_probes(guest, **counts):
    """Tracepoints, and whether each has probes: that is so once a verb has answered."""
    there = {name: key_of(guest, name) for name in counts}
    check(there == counts, f'probes {there}, asked for {counts}')


def text_of(trace):
    return rs('report', trace, timeout=PATIENCE).out


def check_arguments(guest):
    """Those of each system call, as the kernel's own tracefs names them."""
    said = guest.sh("""cd /sys/kernel/tracing/events/syscalls && awk '
        FNR == 1 { printf "%s", (NR > 1 ? "\\n" : "") $2 }
        /field:/ && !/common_|__syscall_nr/ { sub(/;.*/, ""); sub(/.*[ *]/, ""); printf " %s", $0 }' sys_enter_*/format""",
                    timeout=PATIENCE)
    theirs = {name: fields for name, *fields in (line.split() for line in said.splitlines() if line.startswith('sys_'))}
    ours, name = {}, None
    for line in rs('format', 'syscalls:sys_enter_*').out.splitlines():
        if line.startswith('name: '):
            name = line.split()[1]
            ours[name] = []
        found = re.search(r'field:.*?(\w+)(\[\d*\])?;', line)
        if found and not found[1].startswith('common_') and found[1] != '__syscall_nr':
            ours[name].append(found[1])
    both = ours.keys() & theirs.keys()
    wrong = {name: (ours[name], theirs[name]) for name in both if ours[name] != theirs[name]}
    check(len(both) > 300 and not wrong, f'the arguments of {len(both)} calls are the kernel\'s: {wrong}')


def test_system_calls_and_private_fields(guest, directory):
    """Events of single calls have their arguments; others, what the kernel keeps to itself."""
    trace = os.path.join(directory, 'calls')
    session = begin_session(guest, 'calls', '-o', trace)
    try:
        insert(guest)
        there = {f"{e['system']}:{e['name']}" for e in rs.json('list')}
        for name in 'sched:sched_move_numa', 'sched:sched_stick_numa', 'sched:sched_swap_numa', \
                'net:net_dev_xmit_timeout', 'kmem:mm_page_alloc_extfrag', 'nmi:nmi_handler':
            check(DEBUG or name in there, f'there is {name}')
        check(sum(name.startswith('syscalls:') for name in there) > 650, 'there are the system calls')
        if not DEBUG:
            check_arguments(guest)
        enable('--stack', 'syscalls:sys_enter_openat')
        enable('syscalls:sys_exit_openat', 'syscalls:sys_enter_write', 'raw_syscalls:*', 'workqueue:*')
        check_probes(guest, sys_enter=1, sys_exit=1, workqueue_queue_work=1)
        guest.sh('mkdir -p /tmp/d; echo word >/tmp/d/file; cat /tmp/d/file /tmp/none; true')
        rs('disable', '*')
        enable('--stack', 'kmem:kmem_cache_free')
        enable('kmem:kmem_cache_alloc', 'kmem:rss_stat', 'sched:sched_switch')
        check_probes(guest, sys_enter=0, kmem_cache_free=1, kmem_cache_alloc=1, rss_stat=1)
        guest.sh('/bin/true')
        rs('disable', '*')
    finally:
        code, _, said = session.end(signal.SIGINT, PATIENCE)
    check(code == 0, f'the session ends well: {said}')
    text = text_of(trace)
    check(re.search(r'^ *<idle>-0 ', text, re.M) and not re.search(r'^ *swapper/\d+-0 ', text, re.M), 'task 0 has one name')
    for pattern in r' syscalls:sys_enter_openat: dfd=-100 filename=0x[0-9a-f]+ flags=0x\w* mode=0', \
            r' syscalls:sys_exit_openat: ret=-2\n', r' syscalls:sys_enter_write: fd=1 buf=0x[0-9a-f]+ count=5\n', \
            r' raw_syscalls:sys_enter: openat\(', \
            r' kmem:kmem_cache_alloc: call_site=\S+ ptr=0x[0-9a-f]+ bytes_req=4096 bytes_alloc=\d+ gfp_flags=GFP_\S+', \
            r' kmem:kmem_cache_free: .* name=names_cache\n', \
            r' kmem:rss_stat: mm_id=\d+ curr=[01] type=MM_ANONPAGES size=\d+B', \
            r' workqueue:workqueue_queue_work: .* workqueue=events\w* req_cpu=\d+ cpu=[01]\n':
        name = pattern.split()[0]
        found = [line for line in text.splitlines() if f' {name}' in line]
        check(re.search(pattern, text), f'{pattern}: {found[:5]}')
    return trace


def test_stacks(guest, trace):
    """By the unwinder of the kernel. Its own list of symbols names them on the host."""
    symbols = trace + '.symbols'
    with open(symbols, 'wb') as file:
        file.write(guest.get('/proc/kallsyms'))
    text = rs('report', '--symbols', symbols, trace, timeout=PATIENCE).out
    opened = re.search(r'sys_enter_openat: .*\n((?: +=> .*\n)+)', text)
    check(opened and re.match(r' +=> \w*syscall\w*(\.\w+)*\+0x\w+\n +=> do_syscall_64', opened[1]), f'where a system call begins: {opened and opened[1]}')
    freed = re.search(r'name=names_cache\n((?: +=> .*\n)+)', text)
    check(freed and re.match(r' +=> kmem_cache_free\+0x\w+\n +=> (?:.*\n)* +=> do_syscall_64\+', freed[1]),
          f'where a name is freed: {freed and freed[1]}')
    check('rs_' not in opened[1] + freed[1] and '__traceiter' not in opened[1] + freed[1], 'without what is ours')


def stack_of(text, event):
    """The names of the functions that led to the first such event."""
    found = re.search(event + r'.*\n((?: +=> .*\n)+)', text)
    return [''.join(part) for part in re.findall(r'=> (\w+)\S*( \[\w+\])?', found[1])] if found else []


def test_stacks_of_other_events(guest, directory):
    """Those of another module begin in that module, and the module's own in the kernel."""
    trace = os.path.join(directory, 'others')
    session = begin_session(guest, 'others', '-o', trace)
    try:
        wait_for('the agent', lambda: rs.json('list'))
        guest.put('/example.ko', open(build_example(SERIES, MODULE, directory), 'rb').read())
        guest.sh('insmod /example.ko')
        wait_for('the example', lambda: any(e['system'] == 'example' for e in rs.json('list')))
        enable('--stack', 'example:*', 'ktrace:syscall')
        guest.sh('until [ $(cat /sys/module/example/parameters/on) -gt 200 ]; do usleep 20000; done')
        check(rs('ktrace', '-t', 'c', '-p', '1').code == 0, 'init is traced')
        guest.sh('echo 1 >/sys/module/example/parameters/fire')
        symbols = trace + '.symbols'
        with open(symbols, 'wb') as file:
            file.write(guest.get('/proc/kallsyms'))
        rs('ktrace', '-C')
        guest.sh('rmmod example')
    finally:
        code, _, said = session.end(signal.SIGINT)
    check(code == 0, f'the session ends well: {said}')
    text = rs('report', '--symbols', symbols, trace).out
    tick = 'example_tick [example]'  # the event is its last act
    for event, first in ('example:tick: .* where=task', [tick, 'fire [example]']), \
            ('example:tick: .* where=timer', [tick, 'on_timer [example]']), \
            ('ktrace:syscall: ', ['syscall_trace_enter']):
        stack = stack_of(text, event)
        check(stack[:len(first)] == first and len(stack) > 2, f'{event}: {stack}')


def test_probes_are_there_only_while_something_is_on(guest):
    check_probes(guest, sched_switch=0, sys_enter=0, kfree=0)
    enable('sched:sched_switch', 'raw_syscalls:sys_enter', 'kmem:kfree')
    check_probes(guest, sched_switch=1, sys_enter=1, kfree=1)
    enable('syscalls:sys_exit_read', 'syscalls:sys_exit_write')
    check_probes(guest, sys_exit=1)
    rs('disable', 'raw_syscalls:*', 'syscalls:sys_exit_read')
    check_probes(guest, sched_switch=1, sys_enter=0, sys_exit=1)
    rs('disable', '*')
    check_probes(guest, sched_switch=0, sys_exit=0, kfree=0)


def everything():
    """Globs of all events. Those of lockdep come with each lock: the debug kernel is too slow."""
    if not DEBUG:
        return ['*']
    return sorted({f"{e['system']}:{e['name'][0]}*" for e in rs.json('list')} - {'tracepoint:l*'})


def set_online(guest, cpu, online):
    place = f'/sys/devices/system/cpu/cpu{cpu}/online'
    guest.sh(f'[ "$(cat {place})" = {online:d} ] || echo {online:d} >{place}')


def test_loads_and_unloads_with_everything_on(guest):
    """LOADS times, at any moment, while the guest works and the session wants all there is.

    Each changes the kernel's text some thousand times, which QEMU's fault with stale breakpoints
    (CONTRIBUTING.md) does not survive on a busy machine. With one CPU there is no such fault, and
    the debug kernel, which is slower, seldom meets it with two.
    """
    enable('--ahead', *everything())
    set_online(guest, 1, DEBUG)
    guest.sh(LOAD)
    guest.sh(f'''n=0
        while [ $n -lt {LOADS} ]; do
            rmmod ringside || exit 1
            usleep $((n * 2000))
            insmod /ringside.ko || exit 1
            usleep $((n % 10 * 30000))
            n=$((n + 1))
        done''', timeout=10 * PATIENCE)
    set_online(guest, 1, True)
    wait_for('the agent', lambda: rs.json('list'), PATIENCE)
    guest.check_well()


def test_cpus_come_and_go(guest):
    """One that was not there when the guest was booted, too; in the debug kernel, not used."""
    place = f'/sys/devices/system/cpu/cpu{CPUS}/online'
    enable_everything()
    if not DEBUG:
        guest.bed.virsh('setvcpus', guest.name, str(CPUS + 1), '--live')
    wait_for('the new CPU', lambda: guest.run(f'[ -e {place} ] && echo 1 >{place}; [ "$(cat {place})" = 1 ]')[0] == 0)
    guest.sh(f'taskset {1 << CPUS:x} sh -c "ls / >/dev/null; cat /proc/self/stat >/dev/null"')
    check(records(CPUS) > 0, f'events of the new CPU: {records(CPUS)}')
    set_online(guest, 1, False)
    guest.sh('usleep 50000')
    set_online(guest, 1, True)
    guest.check_well()


def records(cpu):
    return rs.json('stat')['cpus'][cpu]['written']


def test_nmi(guest):
    """With a stack each, and then with everything on."""
    rs('disable', '*')
    enable('--stack', 'nmi:nmi_handler')
    follow = Background(rs, 'trace', '-n', '1', '--new')
    inject(guest, 3)
    _, out, said = follow.end(timeout=PATIENCE)
    check(b'nmi:nmi_handler: ' in out and b' => ' in out, f'an event in an NMI: {out} {said}')
    enable_everything()
    # An NMI that nobody expects is printed, and 6.1 warns of this event there, with any probe.
    rs('disable', 'printk:console')
    inject(guest, 20)
    guest.check_well()


def inject(guest, times):
    for _ in range(times):
        guest.bed.virsh('inject-nmi', guest.name)


def test_the_device_goes_and_comes(guest):
    """Everything is on, and the guest is at work. The next device is the memory of before."""
    guest.detach_shmem(MIB)
    wait_for('no device', lambda: not guest.ivshmem(), SLOW)
    wait_for('the module to let it go', lambda: 'let go' in guest.sh('dmesg | tail -n 50'), SLOW)
    guest.check_well()
    check_probes(guest, sched_switch=0, sys_enter=0, kfree=0)
    guest.attach_shmem(MIB)
    wait_for('the device', guest.ivshmem)


def test_panic(guest):
    """The last events are there, and the session says what happened."""
    guest.order('echo c >/proc/sysrq-trigger')
    wait_for('the panic', lambda: 'Kernel panic' in guest.console_text(), PATIENCE)
    said = rs('trace', '--duration', '0.2', timeout=PATIENCE)
    check(len(said.out.splitlines()) > 50, f'the last events are there: {said.err}')


def main():
    if not os.path.getsize(MODULE):
        skip(f'{MODULE} was not built: its kernel or a compiler is missing')
    with tempfile.TemporaryDirectory() as d, Bed() as bed:
        os.environ['XDG_RUNTIME_DIR'] = d
        guest = Guest(bed, SERIES, files={'/ringside.ko': MODULE}, shmem=MIB, cpus=CPUS + DEBUG, max_cpus=MAX_CPUS,
                      memory=1536 if DEBUG else 512, append=APPEND, on_crash='preserve')
        trace = test_system_calls_and_private_fields(guest, d)
        test_stacks(guest, trace)
        test_stacks_of_other_events(guest, d)
        session = begin_session(guest, 'stress')
        try:
            wait_for('the agent', lambda: rs.json('list'), PATIENCE)
            test_probes_are_there_only_while_something_is_on(guest)
            if DEBUG or WHOLE:
                test_loads_and_unloads_with_everything_on(guest)
            if WHOLE:
                test_cpus_come_and_go(guest)
                test_nmi(guest)
                test_the_device_goes_and_comes(guest)
            guest.check_well()
            if WHOLE:
                test_panic(guest)
        finally:
            code, _, said = session.end(signal.SIGINT, PATIENCE)
        check(code == 0 and ('panic' in said) == WHOLE, f'the session ends well: {said}')


main()
