/* SPDX-License-Identifier: MIT */
/*
 * Puts kernel, initrd and PVH start info into RAM, and sets the CPU state of the PVH boot protocol:
 * 32-bit protected mode, flat segments, paging off, ebx = start info.
 */
#include "vmm/elf.h"
#include "vmm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Boot data, all below RS_ELF_LOWEST. */
#define START_INFO 0x1000u
#define MODULES 0x1100u
#define MEMMAP 0x1200u
#define CMDLINE 0x2000u
_Static_assert(CMDLINE + RS_VMM_MAX_CMDLINE + 1 <= RS_ELF_LOWEST, "boot data");

#define PVH_MAGIC 0x336ec578u
#define E820_RAM 1u
#define E820_RESERVED 2u
#define LOW_RAM_END 0x9fc00u
#define HIGH_RAM 0x100000u

struct hvm_start_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modlist, cmdline, rsdp, memmap;
	uint32_t memmap_entries, reserved;
};

struct hvm_module {
	uint64_t addr, size, cmdline, reserved;
};

struct hvm_memmap {
	uint64_t addr, size;
	uint32_t type, reserved;
};

static int load_initrd(struct rs_vmm *vmm, const char *path, uint64_t low, struct hvm_module *out,
		       struct rs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	struct stat st;
	uint64_t at, have = 0;

	if (fd < 0 || fstat(fd, &st)) {
		ret = rs_error_set(err, errno, "initrd '%s': %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > vmm->ram_size) {
		ret = rs_error_set(err, EINVAL, "initrd '%s': %s", path,
				   S_ISREG(st.st_mode) ? "larger than the guest's memory"
						       : "not a regular file");
		goto out;
	}
	at = (vmm->ram_size - (uint64_t)st.st_size) & ~(uint64_t)(RS_PAGE_SIZE - 1);
	if (at < low || at < HIGH_RAM) {
		ret = rs_error_set(err, ERANGE,
				   "initrd '%s': no room beside the kernel in %" PRIu64 " MiB",
				   path, vmm->ram_size >> 20);
		goto out;
	}
	while (have < (uint64_t)st.st_size) {
		ssize_t n = read(fd, vmm->ram + at + have, (uint64_t)st.st_size - have);

		if (n > 0)
			have += (uint64_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	if (have < (uint64_t)st.st_size)
		ret = rs_error_set(err, EIO, "initrd '%s': became shorter while read", path);
	*out = (struct hvm_module){.addr = at, .size = have};
out:
	if (fd >= 0)
		close(fd);
	return ret;
}

static int write_cmdline(struct rs_vmm *vmm, const char *user, struct rs_error *err)
{
	g_autofree char *own = NULL, *text = NULL;

	if (vmm->regions)
		own = g_strdup_printf("ringside=0x%llx,0x%" PRIx64, RS_VMM_REGION_GPA,
				      vmm->regions_size);
	text = g_strjoin(own && user && *user ? " " : "", own ? own : "", user ? user : "", NULL);
	if (strlen(text) > RS_VMM_MAX_CMDLINE)
		return rs_error_set(err, E2BIG, "kernel command line is longer than %u bytes",
				    RS_VMM_MAX_CMDLINE);
	memcpy(vmm->ram + CMDLINE, text, strlen(text) + 1);
	return 0;
}

int rs_vmm_load(struct rs_vmm *vmm, const struct rs_vmm_config *config, rs_gpa_t *entry,
		struct rs_error *err)
{
	struct hvm_memmap map[4] = {{0, LOW_RAM_END, E820_RAM, 0},
				    {LOW_RAM_END, HIGH_RAM - LOW_RAM_END, E820_RESERVED, 0}};
	struct hvm_start_info info = {.magic = PVH_MAGIC,
				      .version = 1,
				      .cmdline = CMDLINE,
				      .memmap = MEMMAP,
				      .memmap_entries = 2};
	struct hvm_module module = {0};
	struct rs_elf_image image;
	int ret = rs_elf_load_path(config->kernel, vmm->ram, vmm->ram_size, &image, err);

	if (!ret)
		ret = write_cmdline(vmm, config->cmdline, err);
	if (!ret && config->initrd)
		ret = load_initrd(vmm, config->initrd, image.high.v, &module, err);
	if (ret)
		return ret;
	if (config->initrd) {
		info.nr_modules = 1;
		info.modlist = MODULES;
		memcpy(vmm->ram + MODULES, &module, sizeof(module));
	}
	if (vmm->ram_size > HIGH_RAM)
		map[info.memmap_entries++] =
			(struct hvm_memmap){HIGH_RAM, vmm->ram_size - HIGH_RAM, E820_RAM, 0};
	if (vmm->regions)
		map[info.memmap_entries++] =
			(struct hvm_memmap){RS_VMM_REGION_GPA, vmm->regions_size, E820_RESERVED, 0};
	memcpy(vmm->ram + MEMMAP, map, sizeof(map));
	memcpy(vmm->ram + START_INFO, &info, sizeof(info));
	*entry = image.entry;
	return 0;
}

int rs_vmm_set_boot_state(int vcpu_fd, rs_gpa_t entry, struct rs_error *err)
{
	struct kvm_segment code = {.limit = 0xffffffff,
				   .selector = 0x08,
				   .type = 0xb,
				   .present = 1,
				   .db = 1,
				   .s = 1,
				   .g = 1};
	struct kvm_segment data = {.limit = 0xffffffff,
				   .selector = 0x10,
				   .type = 0x3,
				   .present = 1,
				   .db = 1,
				   .s = 1,
				   .g = 1};
	struct kvm_segment task = {.limit = 0x67, .selector = 0x18, .type = 0xb, .present = 1};
	struct kvm_regs regs = {.rip = entry.v, .rbx = START_INFO, .rflags = 2};
	struct kvm_sregs sregs;

	if (ioctl(vcpu_fd, KVM_GET_SREGS, &sregs))
		goto fail;
	sregs.cs = code;
	sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = data;
	sregs.tr = task;
	sregs.ldt = (struct kvm_segment){.type = 2, .present = 1};
	sregs.gdt.base = sregs.gdt.limit = sregs.idt.base = sregs.idt.limit = 0;
	sregs.cr0 = 0x11; /* PE, ET */
	sregs.cr3 = sregs.cr4 = sregs.efer = 0;
	if (ioctl(vcpu_fd, KVM_SET_SREGS, &sregs) || ioctl(vcpu_fd, KVM_SET_REGS, &regs))
		goto fail;
	return 0;
fail:
	return rs_error_set(err, errno, "KVM refuses the boot state: %s", strerror(errno));
}
