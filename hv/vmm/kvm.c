/* SPDX-License-Identifier: MIT */
#include "vmm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct {
	int cap;
	const char *name;
} needed[] = {
	{KVM_CAP_USER_MEMORY, "user memory"},      {KVM_CAP_IRQCHIP, "an in-kernel irqchip"},
	{KVM_CAP_PIT2, "an in-kernel PIT"},        {KVM_CAP_IMMEDIATE_EXIT, "immediate_exit"},
	{KVM_CAP_IOEVENTFD, "ioeventfd"},          {KVM_CAP_READONLY_MEM, "read-only memory slots"},
	{KVM_CAP_EXT_CPUID, "CPUID of the guest"}, {KVM_CAP_SIGNAL_MSI, "message interrupts"}};

static int open_error(const char *device, int code, struct rs_error *err)
{
	switch (code) {
	case ENOENT:
		return rs_error_set(err, code,
				    "%s is missing: no virtualisation here, or the kvm module "
				    "is not loaded",
				    device);
	case EACCES:
	case EPERM:
		return rs_error_set(err, code,
				    "no permission to use %s: join the group that owns it "
				    "(usually 'kvm')",
				    device);
	case ENODEV:
	case ENXIO:
		return rs_error_set(err, code, "%s is there, but no hypervisor is behind it",
				    device);
	default:
		return rs_error_set(err, code, "%s: %s", device, strerror(code));
	}
}

int rs_kvm_open(const char *device, struct rs_error *err)
{
	int fd = open(device, O_RDWR | O_CLOEXEC), version;

	if (fd < 0)
		return open_error(device, errno, err);
	version = ioctl(fd, KVM_GET_API_VERSION, 0);
	if (version != KVM_API_VERSION) {
		int ret = version < 0 ? rs_error_set(err, ENOTTY, "%s is not KVM", device)
				      : rs_error_set(err, ENOTSUP,
						     "%s speaks KVM API version %d instead of %d",
						     device, version, KVM_API_VERSION);
		close(fd);
		return ret;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++) {
		if (ioctl(fd, KVM_CHECK_EXTENSION, needed[i].cap) > 0)
			continue;
		close(fd);
		return rs_error_set(err, ENOTSUP, "this machine's KVM lacks %s", needed[i].name);
	}
	return fd;
}

int rs_kvm_create_vm(int kvm, struct rs_error *err)
{
	struct kvm_pit_config pit = {.flags = KVM_PIT_SPEAKER_DUMMY};
	uint64_t identity = 0xfffbc000;
	const char *what = "a VM";
	int vm;

	do
		vm = ioctl(kvm, KVM_CREATE_VM, 0);
	while (vm < 0 && errno == EINTR);
	if (vm < 0)
		goto fail;
	what = "a place for KVM's own pages";
	if (ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_SET_IDENTITY_MAP_ADDR) > 0 &&
	    ioctl(vm, KVM_SET_IDENTITY_MAP_ADDR, &identity))
		goto fail;
	if (ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_SET_TSS_ADDR) > 0 &&
	    ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000ul))
		goto fail;
	what = "an irqchip";
	if (ioctl(vm, KVM_CREATE_IRQCHIP, 0))
		goto fail;
	what = "a PIT";
	if (ioctl(vm, KVM_CREATE_PIT2, &pit))
		goto fail;
	return vm;
fail:;
	int ret = rs_error_set(err, errno, "KVM refuses to make %s: %s", what, strerror(errno));

	if (vm >= 0)
		close(vm);
	return ret;
}

int rs_kvm_check_vcpus(int limit, uint32_t wanted, struct rs_error *err)
{
	if (limit > 0 && wanted > (uint32_t)limit)
		return rs_error_set(err, EINVAL,
				    "%u vCPUs are more than this machine's KVM can run: %d", wanted,
				    limit);
	return 0;
}

int rs_kvm_set_wide_apic_ids(int vm, struct rs_error *err)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_X2APIC_API,
		.args = {KVM_X2APIC_API_USE_32BIT_IDS | KVM_X2APIC_API_DISABLE_BROADCAST_QUIRK}};

	if (ioctl(vm, KVM_ENABLE_CAP, &cap))
		return rs_error_set(err, errno,
				    "more than %u vCPUs need APIC ids of 32 bits, which this "
				    "machine's KVM lacks: %s",
				    RS_VMM_XAPIC_VCPUS, strerror(errno));
	return 0;
}

/* The counter "exits" in KVM's binary statistics of a vCPU. */
uint64_t rs_kvm_exits(int stats_fd)
{
	struct kvm_stats_header head;
	uint64_t value = 0;

	if (stats_fd < 0 || pread(stats_fd, &head, sizeof(head), 0) != sizeof(head) ||
	    head.name_size > 256)
		return 0;
	for (uint32_t i = 0; i < head.num_desc && i < 1024; i++) {
		union {
			struct kvm_stats_desc desc;
			char room[sizeof(struct kvm_stats_desc) + 257];
		} u = {0};
		size_t size = sizeof(struct kvm_stats_desc) + head.name_size;

		if (pread(stats_fd, &u, size, head.desc_offset + (off_t)(i * size)) !=
		    (ssize_t)size)
			return 0;
		if (strcmp(u.room + sizeof(struct kvm_stats_desc), "exits") || u.desc.size != 1)
			continue;
		if (pread(stats_fd, &value, sizeof(value), head.data_offset + u.desc.offset) !=
		    sizeof(value))
			return 0;
		return value;
	}
	return 0;
}
