/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * One vCPU and its thread. `in_guest` is true only around KVM_RUN. So other work of the thread,
 * such as console output or a hypercall that waits for the session, never delays a pause.
 */
#include "vmm/internal.h"

#include "base/ticks.h"
#include "target/console.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define UART 0x3f8u
#define UART_LSR_IDLE 0x60u /* transmitter empty */
#define UART_IIR_NONE 0x01u
#define KEYBOARD 0x64u
#define KEYBOARD_RESET 0xfeu
#define RESET_CONTROL 0xcf9u
#define RESET_CPU 0x04u

static void reset(struct rs_vcpu *vcpu, const char *by)
{
	rs_vmm_end(vcpu->vmm, RS_END_RESET, 0, "vCPU %u reset the machine by %s", vcpu->index, by);
}

static void uart_write(struct rs_vcpu *vcpu, uint16_t reg, const uint8_t *bytes, size_t size)
{
	struct rs_uart *uart = &vcpu->vmm->uart;
	bool dlab = rs_load(&uart->lcr) & 0x80;

	switch (reg) {
	case 0:
		if (dlab)
			rs_store(&uart->divisor[0], bytes[0]);
		else
			rs_console_put(vcpu->vmm->console, bytes, size, &vcpu->vmm->ending);
		break;
	case 1:
		if (dlab)
			rs_store(&uart->divisor[1], bytes[0]);
		else
			rs_store(&uart->ier, bytes[0] & 0x0f);
		break;
	case 3:
		rs_store(&uart->lcr, bytes[0]);
		break;
	case 4:
		rs_store(&uart->mcr, bytes[0]);
		break;
	case 7:
		rs_store(&uart->scratch, bytes[0]);
		break;
	}
}

static uint8_t uart_read(struct rs_vcpu *vcpu, uint16_t reg)
{
	struct rs_uart *uart = &vcpu->vmm->uart;
	bool dlab = rs_load(&uart->lcr) & 0x80;

	switch (reg) {
	case 0:
		return dlab ? rs_load(&uart->divisor[0]) : 0;
	case 1:
		return dlab ? rs_load(&uart->divisor[1]) : rs_load(&uart->ier);
	case 2:
		return UART_IIR_NONE;
	case 3:
		return rs_load(&uart->lcr);
	case 4:
		return rs_load(&uart->mcr);
	case 5:
		return UART_LSR_IDLE;
	case 6:
		return 0xb0; /* carrier, ready, clear to send */
	default:
		return rs_load(&uart->scratch);
	}
}

static void doorbell(struct rs_vmm *vmm)
{
	uint64_t one = 1;

	/* If the counter is full, the doorbell is ringing already. */
	if (write(vmm->doorbell_fd, &one, sizeof(one)) < 0)
		return;
}

static uint32_t word_of(const uint8_t *bytes, uint32_t size)
{
	uint32_t value = 0;

	memcpy(&value, bytes, size < sizeof(value) ? size : sizeof(value));
	return value;
}

static void port_out(struct rs_vcpu *vcpu, uint16_t port, uint32_t size, uint32_t count,
		     const uint8_t *bytes)
{
	struct rs_vmm *vmm = vcpu->vmm;

	if (port == UART && size == 1) {
		uart_write(vcpu, 0, bytes, count);
		return;
	}
	for (uint32_t i = 0; i < count && !rs_load(&vmm->ending); i++, bytes += size) {
		if (port > UART && port < UART + 8 && size == 1)
			uart_write(vcpu, port - UART, bytes, 1);
		else if (port == RS_HCALL_PORT)
			rs_vmm_hypercall(vcpu, size == 4 ? word_of(bytes, size) : UINT32_MAX);
		else if (port == RS_DOORBELL_PORT)
			doorbell(vmm);
		else if (port == KEYBOARD && bytes[0] == KEYBOARD_RESET)
			reset(vcpu, "the keyboard controller (port 0x64)");
		else if (port == RESET_CONTROL && bytes[0] & RESET_CPU)
			reset(vcpu, "the reset register (port 0xcf9)");
	}
}

static void port_in(struct rs_vcpu *vcpu, uint16_t port, uint32_t size, uint32_t count,
		    uint8_t *bytes)
{
	memset(bytes, port == KEYBOARD ? 0 : 0xff, (size_t)size * count);
	if (port >= UART && port < UART + 8 && size == 1)
		memset(bytes, uart_read(vcpu, port - UART), count);
}

static void mmio(struct rs_vcpu *vcpu, uint64_t at, bool write, uint32_t size, uint8_t *bytes)
{
	if (!write)
		memset(bytes, 0xff, 8);
	else if (at == RS_HCALL_MMIO)
		rs_vmm_hypercall(vcpu, size == 4 ? word_of(bytes, size) : UINT32_MAX);
	else if (at == RS_DOORBELL_MMIO)
		doorbell(vcpu->vmm);
}

static void internal_error(struct rs_vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	struct kvm_regs regs = {0};

	ioctl(vcpu->fd, KVM_GET_REGS, &regs);
	rs_vmm_end(vcpu->vmm, RS_END_FAULT, 0,
		   "vCPU %u: KVM cannot go on at rip 0x%llx (%s, suberror %u)", vcpu->index,
		   regs.rip,
		   run->internal.suberror == KVM_INTERNAL_ERROR_EMULATION
			   ? "an instruction that it cannot emulate"
			   : "internal error",
		   run->internal.suberror);
}

static void handle_exit(struct rs_vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	struct rs_vmm *vmm = vcpu->vmm;

	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		if (run->io.data_offset > vmm->run_size ||
		    (uint64_t)run->io.size * run->io.count > vmm->run_size - run->io.data_offset) {
			rs_vmm_end(vmm, RS_END_FAULT, 0, "KVM describes an impossible port access");
		} else if (run->io.direction == KVM_EXIT_IO_OUT) {
			port_out(vcpu, run->io.port, run->io.size, run->io.count,
				 (uint8_t *)run + run->io.data_offset);
		} else {
			port_in(vcpu, run->io.port, run->io.size, run->io.count,
				(uint8_t *)run + run->io.data_offset);
		}
		break;
	case KVM_EXIT_MMIO:
		mmio(vcpu, run->mmio.phys_addr, run->mmio.is_write, run->mmio.len, run->mmio.data);
		break;
	case KVM_EXIT_SHUTDOWN:
		rs_vmm_end(vmm, RS_END_TRIPLE_FAULT, 0, "vCPU %u: triple fault", vcpu->index);
		break;
	case KVM_EXIT_SYSTEM_EVENT:
		reset(vcpu, "a system event");
		break;
	case KVM_EXIT_FAIL_ENTRY:
		rs_vmm_end(vmm, RS_END_FAULT, 0,
			   "vCPU %u: the CPU refuses the guest's state (reason 0x%" PRIx64 ")",
			   vcpu->index, (uint64_t)run->fail_entry.hardware_entry_failure_reason);
		break;
	case KVM_EXIT_INTERNAL_ERROR:
		internal_error(vcpu);
		break;
	case KVM_EXIT_INTR:
	case KVM_EXIT_IRQ_WINDOW_OPEN:
	case KVM_EXIT_HLT:
		break;
	default:
		rs_vmm_end(vmm, RS_END_FAULT, 0, "vCPU %u: KVM exit %u is unknown here",
			   vcpu->index, run->exit_reason);
	}
}

/* False: the guest ends. */
static bool enter(struct rs_vcpu *vcpu)
{
	struct rs_vmm *vmm = vcpu->vmm;
	bool go;

	pthread_mutex_lock(&vmm->lock);
	while ((vmm->paused || vcpu->held) && !vmm->ending)
		pthread_cond_wait(&vmm->go, &vmm->lock);
	go = !vmm->ending;
	vcpu->in_guest = go;
	if (go)
		rs_store(&vcpu->run->immediate_exit, 0);
	pthread_mutex_unlock(&vmm->lock);
	return go;
}

static void leave(struct rs_vcpu *vcpu)
{
	struct rs_vmm *vmm = vcpu->vmm;

	pthread_mutex_lock(&vmm->lock);
	vcpu->in_guest = false;
	if (vmm->paused)
		pthread_cond_signal(&vmm->out);
	pthread_mutex_unlock(&vmm->lock);
}

/* ---- telling of exits ---- */

static enum rs_exit_reason port_reason(uint16_t port)
{
	if (port >= UART && port < UART + 8)
		return RS_EXIT_CONSOLE;
	if (port == RS_HCALL_PORT)
		return RS_EXIT_HYPERCALL;
	return port == RS_DOORBELL_PORT ? RS_EXIT_DOORBELL : RS_EXIT_PORT;
}

static enum rs_exit_reason mmio_reason(uint64_t at)
{
	if (at == RS_HCALL_MMIO)
		return RS_EXIT_HYPERCALL;
	return at == RS_DOORBELL_MMIO ? RS_EXIT_DOORBELL : RS_EXIT_MMIO;
}

/* `code`: the error of KVM_RUN; 0: none. */
static void describe_exit(const struct kvm_run *run, int code, struct rs_vcpu_exit *exit)
{
	if (code) {
		exit->reason = code == EINTR || code == EAGAIN ? RS_EXIT_KICK : RS_EXIT_ERROR;
		return;
	}
	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		exit->at = run->io.port;
		exit->reason = port_reason(run->io.port);
		break;
	case KVM_EXIT_MMIO:
		exit->at = run->mmio.phys_addr;
		exit->reason = mmio_reason(run->mmio.phys_addr);
		break;
	case KVM_EXIT_INTR:
	case KVM_EXIT_IRQ_WINDOW_OPEN:
		exit->reason = RS_EXIT_KICK;
		break;
	case KVM_EXIT_HLT:
		exit->reason = RS_EXIT_HALT;
		break;
	case KVM_EXIT_SHUTDOWN:
		exit->reason = RS_EXIT_SHUTDOWN;
		break;
	case KVM_EXIT_SYSTEM_EVENT:
		exit->reason = RS_EXIT_SYSTEM;
		break;
	case KVM_EXIT_FAIL_ENTRY:
	case KVM_EXIT_INTERNAL_ERROR:
		exit->reason = RS_EXIT_ERROR;
		break;
	default:
		exit->reason = RS_EXIT_OTHER;
		break;
	}
}

/* The time, if somebody asks for exits now; else 0. While nobody does that is one load. */
static inline uint64_t exit_time(const uint32_t *asked)
{
	if (rs_likely(!(rs_load(asked) & RS_EVENT_ENABLED)))
		return 0;
	return rs_monotonic_ns();
}

/* `in`, `out`: when it went into the guest and left it; `in` 0: unknown. */
static __attribute__((__noinline__)) void tell_exit(struct rs_vcpu *vcpu, int code, uint64_t in,
						    uint64_t out)
{
	const struct rs_target_watch *watch = vcpu->vmm->target.watch;
	struct rs_vcpu_exit exit = {.vcpu = vcpu->index};

	describe_exit(vcpu->run, code, &exit);
	if (in)
		exit.guest_ns = out - in;
	if (in && vcpu->left_ns)
		exit.host_ns = in - vcpu->left_ns;
	vcpu->left_ns = out;
	watch->exit(watch->data, &exit);
}

static void *vcpu_thread(void *data)
{
	static const uint32_t nobody;
	struct rs_vcpu *vcpu = data;
	const struct rs_target_watch *watch = vcpu->vmm->target.watch;
	const uint32_t *asked = watch ? watch->exits : &nobody;
	char name[16];

	snprintf(name, sizeof(name), "rs-vcpu-%u", vcpu->index);
	pthread_setname_np(pthread_self(), name);
	while (enter(vcpu)) {
		uint64_t in = exit_time(asked), out;
		int ret = ioctl(vcpu->fd, KVM_RUN, 0), code = errno;

		out = exit_time(asked);
		leave(vcpu);
		if (rs_unlikely(out))
			tell_exit(vcpu, ret ? code : 0, in, out);
		else
			vcpu->left_ns = 0;
		if (ret == 0) {
			rs_store(&vcpu->exits, rs_load(&vcpu->exits) + 1);
			handle_exit(vcpu);
		} else if (code != EINTR && code != EAGAIN) {
			rs_vmm_end(vcpu->vmm, RS_END_FAULT, 0, "vCPU %u: KVM_RUN: %s", vcpu->index,
				   strerror(code));
		}
	}
	return NULL;
}

static void on_kick(int signal)
{
	/* The signal does its work by arriving: it makes KVM_RUN and write(2) return. */
}

void rs_vcpu_kick(struct rs_vcpu *vcpu)
{
	/*
	 * Set the flag before the signal: a thread that is about to enter KVM_RUN sees one of them.
	 */
	rs_store_release(&vcpu->run->immediate_exit, 1);
	pthread_kill(vcpu->thread, RS_VMM_KICK_SIGNAL);
}

int rs_vcpu_start(struct rs_vcpu *vcpu, struct rs_error *err)
{
	struct sigaction action = {.sa_handler = on_kick};
	sigset_t all, old;
	int ret;

	sigaction(RS_VMM_KICK_SIGNAL, &action, NULL);
	/* The session's thread handles all other signals. */
	sigfillset(&all);
	sigdelset(&all, RS_VMM_KICK_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&vcpu->thread, NULL, vcpu_thread, vcpu);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return rs_error_set(err, ret, "cannot start the thread of vCPU %u: %s", vcpu->index,
				    strerror(ret));
	vcpu->started = true;
	return 0;
}

static int set_cpuid(struct rs_vcpu *vcpu, int kvm_fd, struct rs_error *err)
{
	const uint32_t room = 256;
	g_autofree struct kvm_cpuid2 *cpuid =
		g_malloc0(sizeof(*cpuid) + room * sizeof(cpuid->entries[0]));

	cpuid->nent = room;
	if (ioctl(kvm_fd, KVM_GET_SUPPORTED_CPUID, cpuid))
		return rs_error_set(err, errno, "KVM_GET_SUPPORTED_CPUID: %s", strerror(errno));
	for (uint32_t i = 0; i < cpuid->nent; i++) {
		struct kvm_cpuid_entry2 *e = &cpuid->entries[i];

		if (e->function == 1)
			/* 8 bits each; who has more CPUs reads leaf 0xb. */
			e->ebx = (e->ebx & 0x0000ffff) | vcpu->index << 24 |
				 MIN(vcpu->vmm->target.vcpus, 255) << 16;
		else if (e->function == 0xb || e->function == 0x1f)
			e->edx = vcpu->index;
	}
	if (ioctl(vcpu->fd, KVM_SET_CPUID2, cpuid))
		return rs_error_set(err, errno, "KVM_SET_CPUID2: %s", strerror(errno));
	return 0;
}

/* Makes the guest's TSC the host's, so that timestamps of host and guest agree. */
static bool share_tsc(struct rs_vcpu *vcpu)
{
#ifdef KVM_VCPU_TSC_CTRL
	uint64_t offset = 0;
	struct kvm_device_attr attr = {.group = KVM_VCPU_TSC_CTRL,
				       .attr = KVM_VCPU_TSC_OFFSET,
				       .addr = (uint64_t)(uintptr_t)&offset};

	/* If KVM refuses, it keeps its own offset, which is the same for every vCPU. */
	return ioctl(vcpu->fd, KVM_SET_DEVICE_ATTR, &attr) == 0;
#else
	return false;
#endif
}

int rs_vcpu_create(struct rs_vmm *vmm, uint32_t index, int kvm_fd, rs_gpa_t entry,
		   struct rs_error *err)
{
	struct rs_vcpu *vcpu = &vmm->vcpu[index];
	int ret;

	vcpu->vmm = vmm;
	vcpu->index = index;
	vcpu->fd = ioctl(vmm->vm_fd, KVM_CREATE_VCPU, (unsigned long)index);
	if (vcpu->fd < 0)
		return rs_error_set(err, errno, "KVM refuses to make vCPU %u: %s", index,
				    strerror(errno));
	vcpu->run = mmap(NULL, vmm->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED) {
		vcpu->run = NULL;
		return rs_error_set(err, errno, "vCPU %u: mmap: %s", index, strerror(errno));
	}
	ret = set_cpuid(vcpu, kvm_fd, err);
	if (!ret && index == 0)
		ret = rs_vmm_set_boot_state(vcpu->fd, entry, err);
	if (ret)
		return ret;
	vmm->tsc_shared = share_tsc(vcpu) && (index == 0 || vmm->tsc_shared);
	vcpu->stats_fd = ioctl(vcpu->fd, KVM_GET_STATS_FD, NULL);
	return 0;
}

void rs_vcpu_destroy(struct rs_vcpu *vcpu)
{
	if (vcpu->run)
		munmap(vcpu->run, vcpu->vmm->run_size);
	if (vcpu->stats_fd >= 0)
		close(vcpu->stats_fd);
	if (vcpu->fd >= 0)
		close(vcpu->fd);
}
