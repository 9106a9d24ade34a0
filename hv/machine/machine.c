/* SPDX-License-Identifier: MIT */
#include "machine/machine.h"

#include "hosted/hosted.h"
#include "machine/run_domain.h"
#include "qemu/qemu.h"
#include "vmm/elf.h"
#include "vmm/vmm.h"
#include <errno.h>
#include <fcntl.h>
#include <ringside/hypercall.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_MEMORY (256ull << 20)
#define DEFAULT_LINUX_MEMORY (512ull << 20)
#define DEFAULT_CPUS 2
/* The regions for processes: how many, and how large. */
#define GUEST_USERS 4u
#define HOSTED_USERS 16u
#define USER_EVENTS 1024u
#define USER_FILTER_BYTES (256u << 10)
#define USER_DESC_BYTES (512u << 10)
#define USER_RING_BYTES (256u << 10)
#define GUEST_RINGS_ROOM (64ull << 20) /* for rings that may grow, unless somebody asks */
#define HOSTED_RINGS_ROOM (256ull << 20)

enum kind { KIND_KVM, KIND_QEMU, KIND_HOSTED };

/* A Linux kernel image, which our own VMM does not boot. */
static bool is_bzimage(const char *path)
{
	char magic[4] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && pread(fd, magic, 4, 0x202) == 4 && memcmp(magic, "HdrS", 4) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/* A linker puts the program headers at the start of the file. */
static bool is_program(const char *path)
{
	char head[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd >= 0 ? pread(fd, head, sizeof(head), 0) : -1;

	if (fd >= 0)
		close(fd);
	return size > 0 && rs_elf_is_program(head, (size_t)size);
}

/* QEMU would start some files that are no kernel, and report no error. */
static int check_kernel(const char *path, struct rs_error *err)
{
	struct stat st;

	if (stat(path, &st))
		return rs_error_set(err, EIO, "kernel '%s': %s", path, g_strerror(errno));
	if (!S_ISREG(st.st_mode))
		return rs_error_set(err, ENOEXEC, "kernel '%s': not a regular file", path);
	if (st.st_size == 0)
		return rs_error_set(err, ENOEXEC, "kernel '%s': empty", path);
	if (is_program(path))
		return rs_error_set(err, ENOEXEC,
				    "'%s' is a program of this host, not a kernel: run it with "
				    "--hosted",
				    path);
	return 0;
}

static int choose_kind(const struct rs_machine_config *config, enum kind *out, struct rs_error *err)
{
	struct rs_error why = {0};

	if (config->hosted) {
		*out = KIND_HOSTED;
		return 0;
	}
	if (strcmp(config->accel, "tcg") == 0) {
		*out = KIND_QEMU;
		return 0;
	}
	if (strcmp(config->accel, "kvm") == 0) {
		if (is_bzimage(config->kernel))
			return rs_error_set(err, EINVAL,
					    "%s is a Linux bzImage: run it with --accel tcg",
					    config->kernel);
		*out = KIND_KVM;
		return rs_vmm_probe(err);
	}
	if (strcmp(config->accel, "auto"))
		return rs_error_set(err, EINVAL, "--accel is auto, kvm or tcg, not '%s'",
				    config->accel);
	*out = is_bzimage(config->kernel) || rs_vmm_probe(&why) ? KIND_QEMU : KIND_KVM;
	return 0;
}

/*
 * What rings may become, if nobody has asked: eight times as much, as far as address space is not
 * wasted. Pages that nobody has written take no memory. 0: they stay as they are.
 */
static uint64_t ring_max(const struct rs_machine_config *config, enum kind kind, uint32_t cpus)
{
	const uint64_t least = rs_region_round_up(config->ring_bytes);
	const uint64_t room = kind == KIND_HOSTED ? HOSTED_RINGS_ROOM : GUEST_RINGS_ROOM;
	uint64_t max = 8 * least;

	if (config->ring_max)
		return config->ring_max;
	while (max > least && max / RS_RING_PAGE_MIN > RS_RING_PAGES_MAX)
		max /= 2;
	while (max > least && 2 * max * cpus > room)
		max /= 2;
	return 2 * max * cpus > room ? 0 : max;
}

/* The region of the kernel, or of the program that we start. */
static struct rs_region_config main_region(const struct rs_machine_config *config, enum kind kind,
					   uint32_t cpus)
{
	struct rs_region_config region = {
		.vcpus = cpus,
		.ring_bytes = config->ring_bytes,
		.ring_max = ring_max(config, kind, cpus),
		.ring_mode = config->ring_mode,
		.hcall_channel = RS_CHANNEL_MAILBOX,
		.doorbell_channel = RS_CHANNEL_NONE,
		.origin_ns = config->origin_ns,
	};

	if (kind == KIND_KVM) {
		region.hcall_channel = RS_CHANNEL_PORT;
		region.hcall_addr = RS_HCALL_PORT;
		region.doorbell_channel = RS_CHANNEL_PORT;
		region.doorbell_addr = RS_DOORBELL_PORT;
	} else if (kind == KIND_HOSTED) {
		region.doorbell_channel = RS_CHANNEL_EVENTFD;
		region.control_flags = RS_CONTROL_HELD;
	}
	return region;
}

/*
 * The region of a process that we do not start. It patches itself, and reaches us by its memory
 * alone.
 */
static struct rs_region_config user_region(const struct rs_machine_config *config, enum kind kind,
					   uint32_t cpus)
{
	struct rs_region_config region = {
		.vcpus = cpus,
		.ring_bytes = config->ring_bytes,
		.ring_mode = config->ring_mode,
		.event_capacity = USER_EVENTS,
		.filter_bytes = USER_FILTER_BYTES,
		.desc_bytes = USER_DESC_BYTES,
		.control_flags = RS_CONTROL_SELF_PATCH,
		.hcall_channel = RS_CHANNEL_MAILBOX,
		.doorbell_channel = RS_CHANNEL_NONE,
	};

	/* In a guest, regions take address space, and all of them are one BAR. */
	if (kind != KIND_HOSTED) {
		region.ring_bytes = MIN(region.ring_bytes, USER_RING_BYTES);
		return region;
	}
	region.ring_max = ring_max(config, kind, cpus);
	region.control_flags |= RS_CONTROL_HELD;
	return region;
}

static int create_regions(const struct rs_machine_config *config, enum kind kind, uint32_t cpus,
			  struct rs_machine *machine, struct rs_error *err)
{
	const struct rs_region_config main = main_region(config, kind, cpus);
	const struct rs_region_config user = user_region(config, kind, cpus);
	uint32_t users = config->users;
	int ret;

	if (users == RS_MACHINE_USERS_DEFAULT)
		users = kind == KIND_HOSTED ? HOSTED_USERS : GUEST_USERS;
	const struct rs_regions_run runs[] = {
		{&main, kind == KIND_HOSTED ? RS_SOURCE_GIVEN : RS_SOURCE_KERNEL, 1},
		{&user, RS_SOURCE_USER, users},
	};

	ret = rs_regions_create(runs, G_N_ELEMENTS(runs), kind == KIND_QEMU, -1, &machine->regions,
				err);
	if (!ret)
		ret = rs_regions_map(machine->regions, 0, &machine->region, err);
	machine->same_host = kind == KIND_HOSTED;
	return ret;
}

/*
 * Opens the output of the serial console. *fd is -1 if there is none. *owned: the caller closes it.
 */
static int open_serial(const struct rs_machine_config *config, int *fd, bool *owned,
		       struct rs_error *err)
{
	const char *serial = config->serial;
	/* A QEMU writes by itself to what it can append to. */
	const int append = config->counts_console ? 0 : O_APPEND;

	*owned = false;
	*fd = -1;
	if (!serial || strcmp(serial, "-") == 0) {
		*fd = STDERR_FILENO;
		return 0;
	}
	if (strcmp(serial, "none") == 0)
		return 0;
	*fd = open(serial, O_WRONLY | O_CREAT | O_TRUNC | append | O_CLOEXEC, 0644);
	if (*fd < 0)
		return rs_error_set(err, EIO, "%s: %s", serial, g_strerror(errno));
	*owned = true;
	return 0;
}

static int create_kvm(const struct rs_machine_config *config, const struct rs_regions *regions,
		      uint32_t cpus, int serial, struct rs_target **out, struct rs_error *err)
{
	struct rs_vmm_config vmm = {
		.name = config->name,
		.kernel = config->kernel,
		.initrd = config->initrd,
		.cmdline = config->append,
		.memory = config->memory ? config->memory : DEFAULT_MEMORY,
		.vcpus = cpus,
		.regions_fd = rs_regions_fd(regions),
		.serial_fd = serial,
	};

	return rs_vmm_create(&vmm, out, err);
}

static int create_qemu(const struct rs_machine_config *config, const struct rs_regions *regions,
		       uint32_t cpus, int serial, struct rs_target **out, struct rs_error *err)
{
	uint64_t memory = is_bzimage(config->kernel) ? DEFAULT_LINUX_MEMORY : DEFAULT_MEMORY;
	struct rs_qemu_config qemu = {
		.kernel = config->kernel,
		.initrd = config->initrd,
		.append = config->append,
		.memory = config->memory ? config->memory : memory,
		.vcpus = cpus,
		.accel = RS_QEMU_TCG,
		.region_fd = rs_regions_fd(regions),
		.region_size = rs_regions_size(regions),
		.serial_fd = serial,
		.name = config->name,
		.run_dir = config->run_dir,
	};

	return rs_qemu_create(&qemu, out, err);
}

static int create_target(const struct rs_machine_config *config, enum kind kind,
			 const struct rs_regions *regions, uint32_t cpus, struct rs_target **out,
			 struct rs_error *err)
{
	struct rs_hosted_config hosted = {
		.argv = (const char *const *)config->hosted,
		.regions_fd = rs_regions_fd(regions),
		.claim = rs_regions_claim_word(regions, 0),
		.claim_base = rs_regions_claim(regions, 0, 0),
	};
	bool owned;
	int serial, ret;

	if (kind == KIND_HOSTED)
		return rs_hosted_create(&hosted, out, err);
	ret = open_serial(config, &serial, &owned, err);
	if (ret)
		return ret;
	ret = kind == KIND_KVM ? create_kvm(config, regions, cpus, serial, out, err)
			       : create_qemu(config, regions, cpus, serial, out, err);
	/* The target has its own duplicate. */
	if (owned)
		close(serial);
	return ret;
}

static uint32_t default_cpus(enum kind kind)
{
	long online;

	if (kind != KIND_HOSTED)
		return DEFAULT_CPUS;
	/* A thread may run on any CPU, and takes the ring with that CPU's number. */
	online = sysconf(_SC_NPROCESSORS_CONF);
	return (uint32_t)CLAMP(online, 1, (long)RS_MAX_CPUS);
}

int rs_machine_create(const struct rs_machine_config *config, struct rs_machine *out,
		      struct rs_error *err)
{
	struct rs_machine machine = {0};
	enum kind kind;
	uint32_t cpus;
	int ret = 0;

	if (config->domain)
		return rs_machine_run_domain(config, out, err);
	if (config->kernel && !config->hosted)
		ret = check_kernel(config->kernel, err);
	if (!ret)
		ret = choose_kind(config, &kind, err);
	if (ret)
		return ret;
	cpus = config->cpus ? config->cpus : default_cpus(kind);
	ret = create_regions(config, kind, cpus, &machine, err);
	if (!ret)
		ret = create_target(config, kind, machine.regions, cpus, &machine.target, err);
	if (ret)
		rs_machine_clear(&machine);
	else
		*out = machine;
	return ret;
}

static int open_regions(const char *path, struct rs_machine *machine, struct rs_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return rs_error_set(err, errno, "the guest's trace regions cannot be opened: %s",
				    g_strerror(errno));
	ret = rs_regions_open(fd, &machine->regions, err);
	if (ret)
		close(fd);
	else
		ret = rs_regions_map(machine->regions, 0, &machine->region, err);
	/* -ENOENT would say that the guest has ended. */
	return ret ? -(err->code = EPROTO) : 0;
}

int rs_machine_attach(const char *run_dir, const char *name, struct rs_machine *out,
		      struct rs_error *err)
{
	struct rs_machine machine = {0};
	int ret = rs_qemu_attach(run_dir, name, NULL, &machine.target, err);

	if (ret)
		return ret;
	ret = open_regions(rs_qemu_region_path(machine.target), &machine, err);
	if (ret)
		rs_machine_clear(&machine);
	else
		*out = machine;
	return ret;
}

void rs_machine_clear(struct rs_machine *machine)
{
	if (machine->target)
		machine->target->ops->destroy(machine->target);
	rs_trace_region_free(machine->region);
	rs_regions_free(machine->regions);
	*machine = (struct rs_machine){0};
}

bool rs_machine_can_patch(const struct rs_target *target)
{
	struct rs_error why;

	return !target->ops->is_program || rs_hosted_can_patch(target, &why);
}

struct rs_machine_place rs_machine_place(const struct rs_target *target)
{
	if (!g_str_has_prefix(target->ops->kind, "qemu"))
		return (struct rs_machine_place){0};
	return (struct rs_machine_place){.qmp = rs_qemu_qmp_path(target),
					 .gdb = rs_qemu_gdb_path(target),
					 .region = rs_qemu_region_path(target)};
}
