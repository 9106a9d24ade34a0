/* SPDX-License-Identifier: MIT */
#include "machine/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <ringside/control.h>
#include <ringside/directory.h>
#include <ringside/hypercall.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAVE_MS 3000 /* an agent may look for news once a second */
#define LOOK_US 5000
#define SETTLE_US 20000 /* an event that was under way when its agent left */

int rs_machine_open_memory(const char *path, enum rs_machine_word word, int *out,
			   struct rs_error *err)
{
	int follow = word == RS_MACHINE_WORD_OURS ? 0 : O_NOFOLLOW;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow);
	struct stat st;
	int ret = 0;

	if (fd < 0)
		return rs_error_set(err, errno, "%s: %s", path, g_strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		ret = rs_error_set(err, ENOTSUP, "%s is not a regular file", path);
	else if (word == RS_MACHINE_WORD_GUEST && st.st_uid != geteuid())
		ret = rs_error_set(err, EACCES,
				   "%s is not your own file, and whether QEMU has it open is not "
				   "known",
				   path);
	else if ((uint64_t)st.st_size < RS_FIT_MIN_BYTES)
		ret = rs_error_set(err, ENOTSUP,
				   "%s has %" PRIu64
				   " bytes: a memory for traces has %llu at least",
				   path, (uint64_t)st.st_size, RS_FIT_MIN_BYTES);
	if (ret)
		close(fd);
	else
		*out = fd;
	return ret;
}

int rs_machine_check_memory(int fd, uid_t user, const char *path, struct rs_error *err)
{
	struct stat is, asked;
	bool there;

	if (fstat(fd, &is))
		return rs_error_set(err, errno, "the device's memory: %s", g_strerror(errno));
	/* Root's processes have all files anyway. */
	if (user && is.st_uid != user)
		return rs_error_set(err, ENOTSUP,
				    "the device's memory belongs to user %u, and QEMU to %u",
				    is.st_uid, user);
	if (!path)
		return 0;
	there = !lstat(path, &asked);
	if (there ? is.st_dev != asked.st_dev || is.st_ino != asked.st_ino : is.st_nlink)
		return rs_error_set(err, ENOTSUP, "QEMU has another file open than %s", path);
	return 0;
}

/* ---- what it holds ---- */

enum content { NOTHING, REGIONS, OTHER_VERSION, SOMETHING_ELSE };

static enum content look(int fd)
{
	uint8_t page[RS_PAGE_SIZE] = {0};
	struct rs_directory head;
	bool zero = true;

	if (pread(fd, page, sizeof(page), 0) != (ssize_t)sizeof(page))
		return SOMETHING_ELSE;
	memcpy(&head, page, sizeof(head));
	if (head.magic == RS_DIRECTORY_MAGIC)
		return head.abi_major == RS_ABI_MAJOR ? REGIONS : OTHER_VERSION;
	for (size_t i = 0; i < sizeof(page); i++)
		zero &= !page[i];
	return zero ? NOTHING : SOMETHING_ELSE;
}

static int refuse(enum content content, const char *path, struct rs_error *err)
{
	return rs_error_set(err, EPROTO, "%s holds %s: --new-layout overwrites it", path,
			    content == OTHER_VERSION ? "the regions of another version of ringside"
						     : "something else than trace regions");
}

/* ---- laying it out ---- */

static void set_common(struct rs_region_config *region, const struct rs_machine_memory_wish *wish)
{
	region->ring_mode =
		wish->ring_mode == RS_MACHINE_MODE_DEFAULT ? RS_MODE_OVERWRITE : wish->ring_mode;
	region->hcall_channel = RS_CHANNEL_MAILBOX;
	region->doorbell_channel = RS_CHANNEL_NONE;
}

static uint32_t cpus_of(const struct rs_machine_memory_wish *wish)
{
	long here = sysconf(_SC_NPROCESSORS_CONF);

	return wish->cpus ? wish->cpus : (uint32_t)CLAMP(here, 1, (long)RS_MAX_CPUS);
}

/* For regions that take a descriptor over. */
static int duplicate(int fd, struct rs_error *err)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return own < 0 ? rs_error_set(err, errno, "trace regions: %s", g_strerror(errno)) : own;
}

static int lay_out(int fd, const struct rs_machine_memory_wish *wish, struct rs_regions **out,
		   struct rs_error *err)
{
	struct rs_fit_wish fit_wish = {
		.size = wish->size,
		.vcpus = cpus_of(wish),
		.ring_bytes = wish->ring_bytes,
		.ring_max = wish->ring_max,
		.users = wish->users,
	};
	struct rs_fit fit;
	int ret = rs_region_fit(&fit_wish, &fit, err), own = ret ? ret : duplicate(fd, err);

	if (own < 0)
		return own;
	set_common(&fit.main, wish);
	set_common(&fit.user, wish);
	fit.main.origin_ns = wish->origin_ns;
	fit.user.control_flags = RS_CONTROL_SELF_PATCH;
	const struct rs_regions_run runs[] = {
		{&fit.main, RS_SOURCE_KERNEL, 1},
		{&fit.user, RS_SOURCE_USER, fit.users},
	};
	ret = rs_regions_create_in(own, wish->size, runs, G_N_ELEMENTS(runs), out, err);
	if (ret)
		close(own);
	return ret;
}

/* ---- taking it up ---- */

/* The kernel's region; false: there is none. */
static bool find_kernel(const struct rs_regions *regions, uint32_t *index)
{
	for (*index = 0; *index < rs_regions_count(regions); ++*index) {
		if (rs_regions_kind(regions, *index) == RS_SOURCE_KERNEL)
			return true;
	}
	return false;
}

static uint32_t count_users(const struct rs_regions *regions)
{
	uint32_t users = 0;

	for (uint32_t i = 0; i < rs_regions_count(regions); i++)
		users += rs_regions_kind(regions, i) == RS_SOURCE_USER;
	return users;
}

/* Why the layout does not fit the wish, to be freed; NULL: it does. */
static char *find_fault(const struct rs_regions *regions, const struct rs_machine_memory_wish *wish)
{
	g_autoptr(RsTraceRegion) region = NULL;
	const struct rs_region_header *h;
	uint64_t ring, max;
	uint32_t index;

	if (!find_kernel(regions, &index) || rs_regions_map(regions, index, &region, NULL))
		return g_strdup("there is no region for a kernel");
	h = &region->header;
	ring = (uint64_t)h->ring_pages * h->ring_page_size;
	if (wish->anew)
		return g_strdup("it is to be laid out anew");
	if (wish->cpus > h->ring_count)
		return g_strdup_printf("there are %u vCPUs, and it has %u rings", wish->cpus,
				       h->ring_count);
	if (wish->ring_bytes && rs_region_round_up(wish->ring_bytes) != ring)
		return g_strdup_printf("its rings have %" PRIu64 " KiB each", ring >> 10);
	max = (uint64_t)h->ring_room * h->ring_page_size;
	if (wish->ring_max > max)
		return max ? g_strdup_printf("its rings can become %" PRIu64 " KiB each", max >> 10)
			   : g_strdup("the size of its rings cannot change");
	if (wish->ring_mode != RS_MACHINE_MODE_DEFAULT && wish->ring_mode != h->ring_mode)
		return g_strdup("its rings have the other mode");
	if (wish->users != RS_FIT_USERS_DEFAULT && wish->users != count_users(regions))
		return g_strdup_printf("it has %u regions for processes", count_users(regions));
	return NULL;
}

/*
 * Whether an agent is at work there. The claim of a process that was killed stays. So at `last` a
 * process counts only if it holds its lock, as far as we see locks.
 */
static bool anyone_there(const struct rs_regions *regions, bool last)
{
	for (uint32_t i = 0; i < rs_regions_count(regions); i++) {
		uint32_t owner;

		if (!rs_regions_owner(regions, i, &owner) || owner == RS_CLAIM_LEFT)
			continue;
		if (!last || rs_regions_kind(regions, i) != RS_SOURCE_USER ||
		    rs_regions_held(regions, i))
			return true;
	}
	return false;
}

/* Whether all agents have left. */
static bool empty_it(const struct rs_regions *regions)
{
	gint64 until = g_get_monotonic_time() + LEAVE_MS * 1000;

	if (!anyone_there(regions, false))
		return true;
	rs_regions_ask_to_leave(regions, true);
	while (anyone_there(regions, false)) {
		if (g_get_monotonic_time() > until && anyone_there(regions, true)) {
			rs_regions_ask_to_leave(regions, false);
			return false;
		}
		if (g_get_monotonic_time() > until)
			break;
		g_usleep(LOOK_US);
	}
	g_usleep(SETTLE_US);
	return true;
}

/* Replaces *regions by a new layout of the same memory. */
static int lay_out_anew(int fd, const struct rs_machine_memory_wish *wish, const char *why,
			struct rs_regions **regions, GPtrArray *lines, struct rs_error *err)
{
	struct rs_regions *made;
	int ret;

	if (!empty_it(*regions)) {
		if (wish->anew)
			return rs_error_set(err, EBUSY,
					    "an agent at work in %s does not leave it. If its "
					    "guest has ended, empty the file",
					    wish->path);
		g_ptr_array_add(lines, g_strdup_printf("%s keeps its layout, since its agent does "
						       "not leave it: %s",
						       wish->path, why));
		return 0;
	}
	ret = lay_out(fd, wish, &made, err);
	if (ret)
		return ret;
	rs_regions_free(*regions);
	*regions = made;
	return 0;
}

static int reuse(int fd, const struct rs_machine_memory_wish *wish, struct rs_regions **out,
		 GPtrArray *lines, struct rs_error *err)
{
	struct rs_regions *regions = NULL;
	g_autofree char *why = NULL;
	int own = duplicate(fd, err), ret;

	if (own < 0)
		return own;
	ret = rs_regions_open(own, &regions, err);
	if (ret) {
		close(own);
		return wish->anew ? lay_out(fd, wish, out, err)
				  : rs_error_prefix(err, "%s", wish->path);
	}
	why = find_fault(regions, wish);
	if (why)
		ret = lay_out_anew(fd, wish, why, &regions, lines, err);
	if (ret)
		rs_regions_free(regions);
	else
		*out = regions;
	return ret;
}

static int open_or_lay_out(int fd, const struct rs_machine_memory_wish *wish,
			   struct rs_regions **out, GPtrArray *lines, struct rs_error *err)
{
	enum content content = look(fd);

	if (content == REGIONS)
		return reuse(fd, wish, out, lines, err);
	if (content != NOTHING && !wish->anew)
		return refuse(content, wish->path, err);
	return lay_out(fd, wish, out, err);
}

int rs_machine_take_memory(int fd, const struct rs_machine_memory_wish *given,
			   struct rs_regions **out, RsTraceRegion **region, GPtrArray *lines,
			   struct rs_error *err)
{
	struct rs_machine_memory_wish wish = *given;
	struct rs_regions *regions = NULL;
	uint32_t kernel;
	struct stat st;
	int lock, ret;

	if (fstat(fd, &st))
		return rs_error_set(err, errno, "%s: %s", wish.path, g_strerror(errno));
	if (!wish.size)
		wish.size = (uint64_t)st.st_size;
	wish.size -= wish.size % RS_REGION_ALIGN;
	if (wish.size > (uint64_t)st.st_size)
		return rs_error_set(err, ENOTSUP, "%s is smaller than the device's memory",
				    wish.path);
	lock = rs_regions_lock(fd, err);
	if (lock < 0)
		return rs_error_prefix(err, "%s", wish.path);
	ret = open_or_lay_out(fd, &wish, &regions, lines, err);
	if (!ret && !find_kernel(regions, &kernel))
		ret = rs_error_set(err, EPROTO, "%s has no region for a kernel: see --new-layout",
				   wish.path);
	if (!ret)
		ret = rs_regions_map(regions, kernel, region, err);
	if (ret) {
		rs_regions_free(regions);
		close(lock);
		return ret;
	}
	rs_regions_keep_lock(regions, lock);
	close(fd);
	*out = regions;
	return 0;
}
