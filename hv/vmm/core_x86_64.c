/* SPDX-License-Identifier: MIT */
/* The guest's memory and registers as a core. */
#include "internal.h"

#include "target/core.h"

#include <errno.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void read_registers(int fd, struct user_regs_struct *out)
{
	struct kvm_regs r;
	struct kvm_sregs s;

	if (ioctl(fd, KVM_GET_REGS, &r) || ioctl(fd, KVM_GET_SREGS, &s))
		return;
	*out = (struct user_regs_struct){
		.r15 = r.r15,
		.r14 = r.r14,
		.r13 = r.r13,
		.r12 = r.r12,
		.rbp = r.rbp,
		.rbx = r.rbx,
		.r11 = r.r11,
		.r10 = r.r10,
		.r9 = r.r9,
		.r8 = r.r8,
		.rax = r.rax,
		.rcx = r.rcx,
		.rdx = r.rdx,
		.rsi = r.rsi,
		.rdi = r.rdi,
		.orig_rax = ~0ull,
		.rip = r.rip,
		.cs = s.cs.selector,
		.eflags = r.rflags,
		.rsp = r.rsp,
		.ss = s.ss.selector,
		.fs_base = s.fs.base,
		.gs_base = s.gs.base,
		.ds = s.ds.selector,
		.es = s.es.selector,
		.fs = s.fs.selector,
		.gs = s.gs.selector,
	};
}

/* The vCPUs are outside of the guest. */
static int dump(struct rs_vmm *vmm, int fd, struct rs_error *err)
{
	const struct rs_core_memory memory = {0, vmm->ram, vmm->ram_size};
	g_autofree struct user_regs_struct *vcpus =
		g_new0(struct user_regs_struct, vmm->target.vcpus);
	const struct rs_core core = {
		.memory = &memory, .n_memory = 1, .vcpus = vcpus, .n_vcpus = vmm->target.vcpus};

	for (uint32_t i = 0; i < vmm->target.vcpus; i++)
		read_registers(vmm->vcpu[i].fd, &vcpus[i]);
	return rs_core_write(fd, &core, err);
}

int rs_vmm_dump(struct rs_target *target, const char *path, struct rs_error *err)
{
	int fd = -1, ret = rs_target_pause(target, err);

	if (ret)
		return ret;
	ret = rs_core_create(path, &fd, err);
	if (!ret)
		ret = dump((struct rs_vmm *)target, fd, err);
	if (fd >= 0)
		close(fd);
	rs_target_resume(target, NULL, NULL);
	return ret;
}
