/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "vmm/internal.h"

#include "base/ticks.h"
#include "target/console.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLOT_RAM 0u
#define SLOT_REGIONS 1u /* and following */

static struct rs_vmm *vmm_of(struct rs_target *target)
{
	return (struct rs_vmm *)target;
}

void rs_vmm_wake(struct rs_vmm *vmm)
{
	uint64_t one = 1;

	if (write(vmm->wake_fd, &one, sizeof(one)) < 0)
		return; /* full: the session is awake already */
}

static void kick_all(struct rs_vmm *vmm, bool only_in_guest)
{
	for (uint32_t i = 0; i < vmm->target.vcpus; i++) {
		struct rs_vcpu *vcpu = &vmm->vcpu[i];

		if (vcpu->started && (vcpu->in_guest || !only_in_guest))
			rs_vcpu_kick(vcpu);
	}
}

void rs_vmm_end(struct rs_vmm *vmm, enum rs_end_reason reason, int code, const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&vmm->lock);
	if (!vmm->ending) {
		vmm->end.reason = reason;
		vmm->end.code = code;
		va_start(args, format);
		vsnprintf(vmm->end.text, sizeof(vmm->end.text), format, args);
		va_end(args);
		rs_store(&vmm->ending, true);
		kick_all(vmm, true);
		pthread_cond_broadcast(&vmm->go);
		rs_vmm_wake(vmm);
	}
	pthread_mutex_unlock(&vmm->lock);
}

/*
 * Only after `ending`. Kicks threads until they end, since one may wait for the console's reader.
 */
static void join_threads(struct rs_vmm *vmm)
{
	if (vmm->threads_joined)
		return;
	for (uint32_t i = 0; i < vmm->target.vcpus; i++) {
		struct rs_vcpu *vcpu = &vmm->vcpu[i];

		while (vcpu->started) {
			struct timespec until;

			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += 10000000;
			if (until.tv_nsec >= 1000000000) {
				until.tv_sec++;
				until.tv_nsec -= 1000000000;
			}
			if (pthread_timedjoin_np(vcpu->thread, NULL, &until) == 0)
				vcpu->started = false;
			else
				rs_vcpu_kick(vcpu);
		}
	}
	vmm->threads_joined = true;
}

static void drop_source(GSource **source)
{
	if (*source) {
		g_source_destroy(*source);
		g_source_unref(*source);
		*source = NULL;
	}
}

static void tell_end(void *data)
{
	struct rs_vmm *vmm = data;

	if (vmm->target.events.ended)
		vmm->target.events.ended(vmm->target.events.data, &vmm->end);
}

static gboolean on_wake(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_vmm *vmm = data;
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0 && errno == EAGAIN)
		return G_SOURCE_CONTINUE;
	rs_vmm_serve_call(vmm);
	if (rs_load(&vmm->ending) && !vmm->ended_told) {
		vmm->ended_told = true;
		join_threads(vmm);
		rs_console_finish(vmm->console, vmm->context, tell_end, vmm);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean on_doorbell(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_vmm *vmm = data;
	uint64_t count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return G_SOURCE_CONTINUE;
	rs_shared_add64(&vmm->doorbells, count);
	if (vmm->target.events.doorbell)
		vmm->target.events.doorbell(vmm->target.events.data);
	return G_SOURCE_CONTINUE;
}

static int vmm_start(struct rs_target *target, struct rs_error *err)
{
	struct rs_vmm *vmm = vmm_of(target);
	int ret = 0;

	/* No thread enters the guest before all exist, so the guest cannot end before that. */
	pthread_mutex_lock(&vmm->lock);
	for (uint32_t i = 0; i < target->vcpus && !ret; i++)
		ret = rs_vcpu_start(&vmm->vcpu[i], err);
	pthread_mutex_unlock(&vmm->lock);
	if (ret) {
		rs_store(&vmm->ended_told, true);
		rs_vmm_end(vmm, RS_END_FAULT, 0, "it could not be started");
		join_threads(vmm);
	}
	return ret;
}

static int vmm_pause(struct rs_target *target, struct rs_error *err)
{
	struct rs_vmm *vmm = vmm_of(target);

	pthread_mutex_lock(&vmm->lock);
	if (vmm->paused) {
		pthread_mutex_unlock(&vmm->lock);
		return rs_error_set(err, EBUSY, "guest '%s' is paused already", vmm->name);
	}
	vmm->paused = true;
	kick_all(vmm, true);
	for (uint32_t i = 0; i < target->vcpus; i++)
		while (vmm->vcpu[i].in_guest)
			pthread_cond_wait(&vmm->out, &vmm->lock);
	pthread_mutex_unlock(&vmm->lock);
	return 0;
}

static int vmm_resume(struct rs_target *target, struct rs_error *err)
{
	struct rs_vmm *vmm = vmm_of(target);

	pthread_mutex_lock(&vmm->lock);
	vmm->paused = false;
	pthread_cond_broadcast(&vmm->go);
	pthread_mutex_unlock(&vmm->lock);
	return 0;
}

/* All are outside now. enter() keeps those that are held there. */
static int vmm_hold(struct rs_target *target, const uint64_t *cpus, struct rs_error *err)
{
	struct rs_vmm *vmm = vmm_of(target);

	pthread_mutex_lock(&vmm->lock);
	for (uint32_t i = 0; i < target->vcpus; i++)
		vmm->vcpu[i].held = cpus && cpus[i / 64] >> i % 64 & 1;
	pthread_mutex_unlock(&vmm->lock);
	return 0;
}

/* Host address of guest-physical [at, at + size). NULL: it does not lie in one piece of memory. */
static uint8_t *memory_at(struct rs_vmm *vmm, uint64_t at, uint64_t size)
{
	if (at <= vmm->ram_size && size <= vmm->ram_size - at)
		return vmm->ram + at;
	at -= RS_VMM_REGION_GPA; /* an address below it wraps and becomes too large */
	if (vmm->regions && at <= vmm->regions_size && size <= vmm->regions_size - at)
		return vmm->regions + at;
	return NULL;
}

static int vmm_read_phys(struct rs_target *target, rs_gpa_t at, void *out, size_t size,
			 struct rs_error *err)
{
	const uint8_t *from = memory_at(vmm_of(target), at.v, size);

	if (!from)
		return rs_error_set(err, EFAULT, "no guest memory at 0x%" PRIx64 " (%zu bytes)",
				    at.v, size);
	memcpy(out, from, size);
	return 0;
}

/* Text lies only in RAM, never in the region. */
uint8_t *rs_vmm_text_at(struct rs_vmm *vmm, const struct rs_text_piece *piece)
{
	if (piece->at.v > vmm->ram_size || piece->size > vmm->ram_size - piece->at.v)
		return NULL;
	return vmm->ram + piece->at.v;
}

bool rs_vmm_write_patch(struct rs_vmm *vmm, const struct rs_text_patch *patch)
{
	struct rs_text_piece pieces[2];
	unsigned int n = rs_text_pieces(patch, pieces);

	for (unsigned int i = 0; i < n; i++)
		if (!rs_vmm_text_at(vmm, &pieces[i]))
			return false;
	for (unsigned int i = 0; i < n; i++)
		memcpy(rs_vmm_text_at(vmm, &pieces[i]), patch->new_bytes + pieces[i].offset,
		       pieces[i].size);
	return true;
}

/* Plain stores suffice: every vCPU is outside the guest, and entering it again is a barrier. */
static int vmm_write_text(struct rs_target *target, const struct rs_text_patch *patches,
			  size_t count, bool *bad, struct rs_error *err)
{
	struct rs_vmm *vmm = vmm_of(target);

	if (!vmm->paused) /* only this thread changes it */
		return rs_error_set(err, EPERM, "text is written only while paused");
	for (size_t i = 0; i < count; i++)
		bad[i] = !rs_vmm_write_patch(vmm, &patches[i]);
	return 0;
}

static void vmm_stats(struct rs_target *target, struct rs_target_stats *out)
{
	struct rs_vmm *vmm = vmm_of(target);

	*out = (struct rs_target_stats){.doorbells = rs_load(&vmm->doorbells)};
	rs_console_stats(vmm->console, out);
	for (uint32_t i = 0; i < target->vcpus; i++) {
		out->exits += rs_load(&vmm->vcpu[i].exits);
		out->kvm_exits += rs_kvm_exits(vmm->vcpu[i].stats_fd);
	}
}

static uint64_t vmm_clock_hz(struct rs_target *target)
{
	return vmm_of(target)->clock_hz;
}

static uint64_t vmm_clock_now(struct rs_target *target)
{
	return vmm_of(target)->tsc_shared ? rs_ticks() : 0;
}

/* All vCPUs: 255 is an xAPIC's broadcast address, and KVM accepts it for x2APICs too. */
#define MSI_ADDRESS_EVERYBODY 0xfeeff000u
#define MSI_DELIVER_NMI 0x400u

/* Sends a message to the APICs, since KVM_NMI would wait until its vCPU is outside the guest. */
static int vmm_nudge(struct rs_target *target, uint32_t vector, struct rs_error *err)
{
	struct rs_vmm *vmm = vmm_of(target);
	struct kvm_msi msi = {.address_lo = MSI_ADDRESS_EVERYBODY,
			      .data = vector ? vector : MSI_DELIVER_NMI};

	if (rs_load(&vmm->ending))
		return rs_error_set(err, ESRCH, "guest '%s' has ended", vmm->name);
	if (vector && (vector < 16 || vector > 255))
		return rs_error_set(err, EINVAL, "interrupt %u cannot be raised", vector);
	/* 0: no vCPU accepts it now, which is not an error of ours. */
	if (ioctl(vmm->vm_fd, KVM_SIGNAL_MSI, &msi) < 0)
		return rs_error_set(err, errno, "KVM_SIGNAL_MSI: %s", strerror(errno));
	return 0;
}

static void vmm_stop(struct rs_target *target, const char *why)
{
	rs_vmm_end(vmm_of(target), RS_END_KILLED, 0, "%s", why ? why : "stopped");
}

static void vmm_destroy(struct rs_target *target)
{
	struct rs_vmm *vmm = vmm_of(target);

	if (!vmm)
		return;
	rs_vmm_end(vmm, RS_END_KILLED, 0, "destroyed");
	join_threads(vmm);
	drop_source(&vmm->doorbell_source);
	drop_source(&vmm->wake_source);
	for (uint32_t i = 0; i < target->vcpus; i++)
		rs_vcpu_destroy(&vmm->vcpu[i]);
	if (vmm->vm_fd >= 0)
		close(vmm->vm_fd);
	if (vmm->ram)
		munmap(vmm->ram, vmm->ram_size);
	if (vmm->regions)
		munmap(vmm->regions, vmm->regions_size);
	g_free(vmm->parts);
	if (vmm->wake_fd >= 0)
		close(vmm->wake_fd);
	if (vmm->doorbell_fd >= 0)
		close(vmm->doorbell_fd);
	rs_console_free(vmm->console);
	if (vmm->context)
		g_main_context_unref(vmm->context);
	pthread_cond_destroy(&vmm->go);
	pthread_cond_destroy(&vmm->out);
	pthread_mutex_destroy(&vmm->lock);
	g_free(vmm->vcpu);
	g_free(vmm->name);
	g_free(vmm);
}

static const struct rs_target_ops vmm_ops = {
	.kind = "kvm",
	.native = true,
	.writer = "guest memory",
	.nudges = RS_GUEST_NUDGE_VECTOR | RS_GUEST_NUDGE_NMI,
	.tells_exits = true,
	.start = vmm_start,
	.pause = vmm_pause,
	.resume = vmm_resume,
	.hold = vmm_hold,
	.read_phys = vmm_read_phys,
	.write_text = vmm_write_text,
	.writes_live = rs_vmm_writes_live,
	.write_live = rs_vmm_write_live,
	.stats = vmm_stats,
	.clock_hz = vmm_clock_hz,
	.clock_now = vmm_clock_now,
	.nudge = vmm_nudge,
	.dump = rs_vmm_dump,
	.stop = vmm_stop,
	.destroy = vmm_destroy,
};

static int check_config(const struct rs_vmm_config *c, struct rs_error *err)
{
	if (!c->kernel)
		return rs_error_set(err, EINVAL, "no kernel was given");
	if (c->vcpus < 1 || c->vcpus > RS_MAX_CPUS)
		return rs_error_set(err, EINVAL, "%u vCPUs; 1 to %u are possible", c->vcpus,
				    RS_MAX_CPUS);
	if (c->memory < RS_VMM_MIN_MEMORY || c->memory > RS_VMM_MAX_MEMORY ||
	    c->memory % RS_PAGE_SIZE)
		return rs_error_set(
			err, EINVAL,
			"guest memory must be whole pages, from %llu MiB to %llu GiB (for KVM)",
			RS_VMM_MIN_MEMORY >> 20, RS_VMM_MAX_MEMORY >> 30);
	return 0;
}

static int map_memory(struct rs_vmm *vmm, const struct rs_vmm_config *c, struct rs_error *err)
{
	int fd = memfd_create("ringside-ram", MFD_CLOEXEC);
	void *map = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)c->memory) == 0)
		map = mmap(NULL, c->memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
			   0);
	if (map == MAP_FAILED) {
		int ret = rs_error_set(err, errno, "%" PRIu64 " MiB of guest memory: %s",
				       c->memory >> 20, strerror(errno));
		if (fd >= 0)
			close(fd);
		return ret;
	}
	close(fd);
	vmm->ram = map;
	vmm->ram_size = c->memory;
	return rs_vmm_map_regions(vmm, c->regions_fd, err);
}

int rs_vmm_add_slot(struct rs_vmm *vmm, uint32_t slot, uint64_t gpa, uint64_t size, void *at,
		    uint32_t flags, struct rs_error *err)
{
	struct kvm_userspace_memory_region region = {.slot = slot,
						     .flags = flags,
						     .guest_phys_addr = gpa,
						     .memory_size = size,
						     .userspace_addr = (uint64_t)(uintptr_t)at};

	if (ioctl(vmm->vm_fd, KVM_SET_USER_MEMORY_REGION, &region))
		return rs_error_set(err, errno, "KVM refuses guest memory at 0x%" PRIx64 ": %s",
				    gpa, strerror(errno));
	return 0;
}

static int add_slots(struct rs_vmm *vmm, struct rs_error *err)
{
	int ret = rs_vmm_add_slot(vmm, SLOT_RAM, 0, vmm->ram_size, vmm->ram, 0, err);

	return ret ? ret : rs_vmm_add_regions(vmm, SLOT_REGIONS, err);
}

static int add_doorbells(struct rs_vmm *vmm, struct rs_error *err)
{
	struct kvm_ioeventfd port = {.addr = RS_DOORBELL_PORT,
				     .len = 4,
				     .fd = vmm->doorbell_fd,
				     .flags = KVM_IOEVENTFD_FLAG_PIO};
	struct kvm_ioeventfd mmio = {.addr = RS_DOORBELL_MMIO, .len = 4, .fd = vmm->doorbell_fd};

	if (ioctl(vmm->vm_fd, KVM_IOEVENTFD, &port) || ioctl(vmm->vm_fd, KVM_IOEVENTFD, &mmio))
		return rs_error_set(err, errno, "KVM refuses the doorbell: %s", strerror(errno));
	return 0;
}

static int add_sources(struct rs_vmm *vmm, struct rs_error *err)
{
	vmm->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	vmm->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (vmm->wake_fd < 0 || vmm->doorbell_fd < 0)
		return rs_error_set(err, errno, "eventfd: %s", strerror(errno));
	vmm->context = g_main_context_ref_thread_default();
	vmm->wake_source = g_unix_fd_source_new(vmm->wake_fd, G_IO_IN);
	g_source_set_callback(vmm->wake_source, G_SOURCE_FUNC(on_wake), vmm, NULL);
	g_source_attach(vmm->wake_source, vmm->context);
	vmm->doorbell_source = g_unix_fd_source_new(vmm->doorbell_fd, G_IO_IN);
	g_source_set_callback(vmm->doorbell_source, G_SOURCE_FUNC(on_doorbell), vmm, NULL);
	g_source_attach(vmm->doorbell_source, vmm->context);
	return 0;
}

static int build(struct rs_vmm *vmm, const struct rs_vmm_config *c, int kvm, struct rs_error *err)
{
	rs_gpa_t entry = {0};
	int khz, ret = map_memory(vmm, c, err);

	if (!ret)
		ret = rs_vmm_load(vmm, c, &entry, err);
	if (!ret && c->serial_fd >= 0)
		ret = rs_console_create(c->serial_fd, &vmm->console, err);
	if (!ret)
		ret = add_sources(vmm, err);
	if (ret)
		return ret;
	ret = rs_kvm_check_vcpus(ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS), c->vcpus, err);
	if (ret)
		return ret;
	vmm->vm_fd = rs_kvm_create_vm(kvm, err);
	if (vmm->vm_fd < 0)
		return vmm->vm_fd;
	if (c->vcpus > RS_VMM_XAPIC_VCPUS)
		ret = rs_kvm_set_wide_apic_ids(vmm->vm_fd, err);
	if (ret)
		return ret;
	khz = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (khz < (int)sizeof(struct kvm_run))
		return rs_error_set(err, EIO, "KVM_GET_VCPU_MMAP_SIZE: %d", khz);
	vmm->run_size = (size_t)khz;
	ret = add_slots(vmm, err);
	if (!ret)
		ret = add_doorbells(vmm, err);
	for (uint32_t i = 0; i < c->vcpus && !ret; i++)
		ret = rs_vcpu_create(vmm, i, kvm, entry, err);
	if (ret)
		return ret;
	khz = ioctl(vmm->vcpu[0].fd, KVM_GET_TSC_KHZ, 0);
	vmm->clock_hz = khz > 0 ? (uint64_t)khz * 1000 : 0;
	return 0;
}

int rs_vmm_probe(struct rs_error *err)
{
	int fd = rs_kvm_open("/dev/kvm", err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int rs_vmm_create(const struct rs_vmm_config *config, struct rs_target **out, struct rs_error *err)
{
	struct rs_vmm *vmm;
	int kvm, ret = check_config(config, err);

	if (ret)
		return ret;
	kvm = rs_kvm_open("/dev/kvm", err);
	if (kvm < 0)
		return kvm;
	vmm = g_new0(struct rs_vmm, 1);
	vmm->target.ops = &vmm_ops;
	vmm->target.vcpus = config->vcpus;
	vmm->target.pid = getpid();
	vmm->name = g_strdup(config->name ? config->name : "guest");
	vmm->vm_fd = vmm->wake_fd = vmm->doorbell_fd = -1;
	pthread_mutex_init(&vmm->lock, NULL);
	pthread_cond_init(&vmm->out, NULL);
	pthread_cond_init(&vmm->go, NULL);
	rs_vmm_live_init(vmm, config->way);
	vmm->vcpu = g_new0(struct rs_vcpu, config->vcpus);
	for (uint32_t i = 0; i < config->vcpus; i++)
		vmm->vcpu[i].fd = vmm->vcpu[i].stats_fd = -1;
	ret = build(vmm, config, kvm, err);
	close(kvm);
	if (ret) {
		vmm_destroy(&vmm->target);
		return ret;
	}
	*out = &vmm->target;
	return 0;
}
