/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "region/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <ringside/door.h>
#include <ringside/atomic.h>
#include <rs-trace-directory.h>
#include <rs-trace-mapping.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAVE_TRIES 64 /* of a swap that others may disturb */
#define ENTRIES_OFFSET 128u
#define CLAIMS_OFFSET RS_REGION_ALIGN
_Static_assert(ENTRIES_OFFSET + RS_MAX_REGIONS * sizeof(struct rs_directory_entry) <= CLAIMS_OFFSET,
	       "what the host writes lies before the claims");

/* A private copy of what was laid out in a region, or was read from it and checked once. */
struct layout {
	struct rs_region_header header;
	uint64_t offset;
	uint32_t kind, generation;
	uint32_t control_flags;
};

struct rs_regions {
	int fd;
	int life_fd; /* holds the lock that says that we live; -1: none was asked for */
	uint64_t size;
	struct rs_directory head;
	uint8_t *map; /* the directory: [0, map_size) */
	size_t map_size;
	struct layout *layouts; /* head.entry_count of them */
};

static struct rs_directory_entry *entry_of(const struct rs_regions *regions, uint32_t index)
{
	return (void *)(regions->map + regions->head.entries_offset +
			(uint64_t)index * regions->head.entry_stride);
}

uint64_t *rs_regions_claim_word(const struct rs_regions *regions, uint32_t index)
{
	return (uint64_t *)(void *)(regions->map + regions->head.claims_offset) + index;
}

/* ---- making ---- */

static int add_run(struct rs_regions *regions, const struct rs_regions_run *run,
		   struct rs_error *err)
{
	struct rs_region_config config = *run->config;

	for (uint32_t i = 0; i < run->count; i++) {
		struct layout *layout = &regions->layouts[regions->head.entry_count];
		int ret;

		/* All regions of a memory have the same time 0. */
		if (!config.origin_ns && regions->head.entry_count)
			config.origin_ns = regions->layouts[0].header.origin_ns;
		ret = rs_region_lay_out(&config, &layout->header, err);
		if (ret)
			return ret;
		layout->kind = run->kind;
		layout->control_flags = config.control_flags;
		layout->generation = 1;
		layout->offset = regions->size;
		regions->size += layout->header.region_size;
		regions->head.entry_count++;
	}
	return 0;
}

static int plan(struct rs_regions *regions, const struct rs_regions_run *runs, size_t n,
		bool power_of_two, struct rs_error *err)
{
	struct rs_directory *head = &regions->head;
	uint64_t count = 0;
	int ret = 0;

	for (size_t i = 0; i < n; i++)
		count += runs[i].count;
	if (count < 1 || count > RS_MAX_REGIONS)
		return rs_error_set(err, EINVAL,
				    "%" G_GUINT64_FORMAT " regions: 1 to %u can be had", count,
				    RS_MAX_REGIONS);
	regions->layouts = g_new0(struct layout, count);
	regions->map_size = CLAIMS_OFFSET + RS_REGION_ALIGN;
	regions->size = regions->map_size;
	for (size_t i = 0; i < n && !ret; i++)
		ret = add_run(regions, &runs[i], err);
	if (ret)
		return ret;
	if (power_of_two)
		regions->size = rs_region_round_up(regions->size);
	head->magic = RS_DIRECTORY_MAGIC;
	head->abi_major = RS_ABI_MAJOR;
	head->abi_minor = RS_ABI_MINOR;
	head->header_size = sizeof(*head);
	head->size = regions->size;
	head->entries_offset = ENTRIES_OFFSET;
	head->claims_offset = CLAIMS_OFFSET;
	head->entry_stride = sizeof(struct rs_directory_entry);
	return rs_region_new_id(&head->session_id, err);
}

/* Makes bytes of the file read as zero. Its size stays, since others have it mapped. */
static int empty(int fd, uint64_t offset, uint64_t size, struct rs_error *err)
{
	void *map;

	if (!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size))
		return 0;
	/* A device's memory has no holes. */
	map = errno == EOPNOTSUPP || errno == ENODEV ? rs_trace_mapping_new(fd, offset, size, TRUE)
						     : NULL;
	if (!map)
		return rs_error_set(err, errno, "trace regions cannot be emptied: %s",
				    g_strerror(errno));
	memset(map, 0, size);
	rs_trace_mapping_free(map, size);
	return 0;
}

static int make_file(int fd, uint64_t size, int *out, struct rs_error *err)
{
	int made = fd;

	if (made < 0)
		made = memfd_create(RS_REGIONS_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (made < 0)
		return rs_error_set(err, errno, "cannot create the trace regions: %s",
				    g_strerror(errno));
	/* Size 0 first, so that all that an earlier session left there reads as zero. */
	if (ftruncate(made, 0) || ftruncate(made, (off_t)size)) {
		int code = errno;

		if (fd < 0)
			close(made);
		return rs_error_set(err, code,
				    "cannot make the trace regions %" G_GUINT64_FORMAT
				    " bytes large: %s",
				    size, g_strerror(code));
	}
	/* So nobody else who has the descriptor can shrink the memory under our mapping. */
	if (fd < 0 && fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int code = errno;

		close(made);
		return rs_error_set(err, code, "cannot seal the trace regions: %s",
				    g_strerror(code));
	}
	*out = made;
	return 0;
}

static int map_directory(struct rs_regions *regions, int fd, struct rs_error *err)
{
	void *map = rs_trace_mapping_new(fd, 0, regions->map_size, TRUE);

	if (!map)
		return rs_error_set(err, errno, "cannot map the trace regions: %s",
				    g_strerror(errno));
	regions->map = map;
	return 0;
}

static int write_region(const struct rs_regions *regions, const struct layout *layout,
			struct rs_error *err)
{
	void *map = rs_trace_mapping_new(regions->fd, layout->offset,
					 (gsize)layout->header.guest_offset, TRUE);

	if (!map)
		return rs_error_set(err, errno, "cannot map a trace region: %s", g_strerror(errno));
	rs_region_write(map, &layout->header, layout->control_flags);
	rs_trace_mapping_free(map, (gsize)layout->header.guest_offset);
	return 0;
}

static int write_all(const struct rs_regions *regions, struct rs_error *err)
{
	const struct rs_directory *head = &regions->head;
	size_t magic = sizeof(head->magic);
	int ret = 0;

	for (uint32_t i = 0; i < head->entry_count && !ret; i++) {
		struct rs_directory_entry *entry = entry_of(regions, i);
		const struct layout *layout = &regions->layouts[i];

		ret = write_region(regions, layout, err);
		entry->offset = layout->offset;
		entry->size = layout->header.region_size;
		entry->kind = layout->kind;
		rs_store_release(&entry->generation, layout->generation);
	}
	memcpy(regions->map + magic, (const uint8_t *)head + magic, sizeof(*head) - magic);
	/* The magic last; pairs with the agent's acquire load of it. */
	rs_store_release((uint64_t *)(void *)regions->map, head->magic);
	return ret;
}

/*
 * The lock belongs to an open file description. This one is nobody else's: the programs that we
 * start inherit that of `fd`.
 */
static int hold(struct rs_regions *regions, struct rs_error *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", regions->fd);
	bool wanted = false;

	for (uint32_t i = 0; i < regions->head.entry_count; i++)
		wanted |= (regions->layouts[i].control_flags & RS_CONTROL_HELD) != 0;
	if (!wanted)
		return 0;
	regions->life_fd = open(path, O_RDWR | O_CLOEXEC);
	if (regions->life_fd < 0 || fcntl(regions->life_fd, F_OFD_SETLK, &lock))
		return rs_error_set(err, errno, "the trace regions cannot be locked: %s",
				    g_strerror(errno));
	return 0;
}

int rs_regions_lock(int fd, struct rs_error *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	int own = open(path, O_RDWR | O_CLOEXEC), code;

	if (own >= 0 && !fcntl(own, F_OFD_SETLK, &lock))
		return own;
	code = errno;
	if (own >= 0)
		close(own);
	if (own >= 0 && (code == EAGAIN || code == EACCES))
		return rs_error_set(err, EBUSY, "another session has this memory");
	return rs_error_set(err, code, "the trace regions cannot be locked: %s", g_strerror(code));
}

void rs_regions_keep_lock(struct rs_regions *regions, int lock)
{
	regions->life_fd = lock;
}

static struct rs_regions *new_regions(int fd)
{
	struct rs_regions *regions = g_new0(struct rs_regions, 1);

	regions->fd = fd;
	regions->life_fd = -1;
	return regions;
}

int rs_regions_create(const struct rs_regions_run *runs, size_t n, bool power_of_two, int fd,
		      struct rs_regions **out, struct rs_error *err)
{
	struct rs_regions *regions = new_regions(-1);
	int made = -1, ret;

	ret = plan(regions, runs, n, power_of_two, err);
	if (!ret)
		ret = make_file(fd, regions->size, &made, err);
	if (!ret)
		ret = map_directory(regions, made, err);
	regions->fd = made;
	/* Before anybody can find a region there. */
	if (!ret)
		ret = hold(regions, err);
	if (!ret)
		ret = write_all(regions, err);
	if (ret) {
		/* Not taken over. */
		if (fd >= 0)
			regions->fd = -1;
		rs_regions_free(regions);
		return ret;
	}
	*out = regions;
	return 0;
}

int rs_regions_create_in(int fd, uint64_t size, const struct rs_regions_run *runs, size_t n,
			 struct rs_regions **out, struct rs_error *err)
{
	struct rs_regions *regions = new_regions(-1);
	int ret = plan(regions, runs, n, false, err);

	if (!ret && regions->size > size)
		ret = rs_error_set(err, ENOSPC, "the trace regions do not fit into the memory");
	if (!ret) {
		regions->size = regions->head.size = size;
		ret = map_directory(regions, fd, err);
	}
	if (!ret) {
		regions->fd = fd;
		/* Whoever looks now finds no directory. */
		rs_store_release((uint64_t *)(void *)regions->map, 0);
		ret = empty(fd, 0, size, err);
	}
	if (!ret)
		ret = write_all(regions, err);
	if (ret) {
		regions->fd = -1;
		rs_regions_free(regions);
		return ret;
	}
	*out = regions;
	return 0;
}

/* ---- opening ---- */

static int read_entry(struct rs_regions *regions, uint32_t index, struct rs_error *err)
{
	struct rs_directory_entry *shared = entry_of(regions, index), entry;
	struct layout *layout = &regions->layouts[index];
	g_autoptr(RsTraceRegion) region = NULL;
	GError *error = NULL;
	int fd;

	layout->generation = rs_load_acquire(&shared->generation);
	if (!rs_trace_directory_take_entry(&regions->head, shared, &entry, &error))
		return rs_error_take(err, EPROTO, error);
	layout->kind = layout->generation ? entry.kind : RS_SOURCE_NONE;
	layout->offset = entry.offset;
	if (layout->kind == RS_SOURCE_NONE)
		return 0;
	fd = fcntl(regions->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return rs_error_set(err, errno, "trace regions: %s", g_strerror(errno));
	region = rs_trace_region_open(fd, layout->offset, FALSE, &error);
	if (!region) {
		close(fd);
		return rs_error_take(err, EPROTO, error);
	}
	if (region->size > entry.size)
		return rs_error_set(err, EPROTO, "a trace region is larger than its entry says");
	layout->header = region->header;
	layout->control_flags = layout->kind == RS_SOURCE_USER ? RS_CONTROL_SELF_PATCH : 0;
	return 0;
}

/* Regions must not overlap, or laying out one of them anew would change another. */
static int check_apart(const struct rs_regions *regions, struct rs_error *err)
{
	for (uint32_t i = 0; i < regions->head.entry_count; i++) {
		const struct layout *a = &regions->layouts[i];

		for (uint32_t k = 0; k < i; k++) {
			const struct layout *b = &regions->layouts[k];

			if (a->kind != RS_SOURCE_NONE && b->kind != RS_SOURCE_NONE &&
			    a->offset < b->offset + b->header.region_size &&
			    b->offset < a->offset + a->header.region_size)
				return rs_error_set(err, EPROTO, "trace regions %u and %u overlap",
						    k, i);
		}
	}
	return 0;
}

static int read_head(struct rs_regions *regions, struct rs_error *err)
{
	GError *error = NULL;
	struct stat st;
	gboolean good;
	void *map;

	if (fstat(regions->fd, &st))
		return rs_error_set(err, errno, "trace regions: %s", g_strerror(errno));
	if (st.st_size < (off_t)RS_DIRECTORY_MIN_SIZE)
		return rs_error_set(err, EPROTO, "the trace regions are too short");
	map = rs_trace_mapping_new(regions->fd, 0, (gsize)st.st_size, FALSE);
	if (!map)
		return rs_error_set(err, errno, "cannot map the trace regions: %s",
				    g_strerror(errno));
	good = rs_trace_directory_take(map, (guint64)st.st_size, &regions->head, &error);
	rs_trace_mapping_free(map, (gsize)st.st_size);
	return good ? 0 : rs_error_take(err, EPROTO, error);
}

static int read_all(struct rs_regions *regions, struct rs_error *err)
{
	int ret = read_head(regions, err);

	if (ret)
		return ret;
	regions->size = regions->head.size;
	regions->map_size = (size_t)MIN(rs_trace_directory_end(&regions->head), regions->size);
	regions->layouts = g_new0(struct layout, regions->head.entry_count);
	ret = map_directory(regions, regions->fd, err);
	for (uint32_t i = 0; i < regions->head.entry_count && !ret; i++)
		ret = read_entry(regions, i, err);
	return ret ? ret : check_apart(regions, err);
}

int rs_regions_open(int fd, struct rs_regions **out, struct rs_error *err)
{
	struct rs_regions *regions = new_regions(fd);
	int ret;

	ret = read_all(regions, err);
	if (ret) {
		regions->fd = -1;
		rs_regions_free(regions);
		return ret;
	}
	*out = regions;
	return 0;
}

void rs_regions_free(struct rs_regions *regions)
{
	if (!regions)
		return;
	rs_trace_mapping_free(regions->map, regions->map_size);
	if (regions->life_fd >= 0)
		close(regions->life_fd);
	if (regions->fd >= 0)
		close(regions->fd);
	g_free(regions->layouts);
	g_free(regions);
}

/* ---- plain questions ---- */

int rs_regions_fd(const struct rs_regions *regions)
{
	return regions->fd;
}

uint64_t rs_regions_size(const struct rs_regions *regions)
{
	return regions->size;
}

uint32_t rs_regions_count(const struct rs_regions *regions)
{
	return regions->head.entry_count;
}

uint32_t rs_regions_kind(const struct rs_regions *regions, uint32_t index)
{
	return regions->layouts[index].kind;
}

/* ---- giving and taking ---- */

int rs_regions_map(const struct rs_regions *regions, uint32_t index, RsTraceRegion **out,
		   struct rs_error *err)
{
	const struct layout *layout = &regions->layouts[index];
	GError *error = NULL;
	int fd;

	if (layout->kind == RS_SOURCE_NONE)
		return rs_error_set(err, ENOENT, "the memory has no region %u", index);
	fd = fcntl(regions->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return rs_error_set(err, errno, "trace region: %s", g_strerror(errno));
	*out = rs_trace_region_map(fd, layout->offset, &layout->header, TRUE, &error);
	if (*out)
		return 0;
	close(fd);
	return rs_error_take(err, EIO, error);
}

uint64_t rs_regions_claim(const struct rs_regions *regions, uint32_t index, uint32_t owner)
{
	return rs_directory_claim_word(regions->layouts[index].generation, owner);
}

bool rs_regions_owner(const struct rs_regions *regions, uint32_t index, uint32_t *owner)
{
	/* Acquire: pairs with the agent's release when it leaves. */
	uint64_t word = rs_load_acquire(rs_regions_claim_word(regions, index));

	if (rs_directory_claim_generation(word) != regions->layouts[index].generation)
		return false;
	*owner = rs_directory_claim_owner(word);
	return true;
}

uint64_t rs_regions_turned_away(const struct rs_regions *regions)
{
	return rs_load(rs_regions_claim_word(regions, regions->head.entry_count));
}

void rs_regions_leave(const struct rs_regions *regions, uint32_t index)
{
	uint64_t *claim = rs_regions_claim_word(regions, index), word = rs_load(claim);
	uint64_t gone = rs_regions_claim(regions, index, RS_CLAIM_LEFT);

	/* Who writes the word without end keeps the region until the caller looks again. */
	for (int i = 0; i < LEAVE_TRIES; i++) {
		if (rs_directory_claim_generation(word) != regions->layouts[index].generation ||
		    rs_shared_cas64(claim, &word, gone))
			return;
	}
}

void rs_regions_ask_to_leave(const struct rs_regions *regions, bool on)
{
	for (uint32_t i = 0; i < regions->head.entry_count; i++) {
		g_autoptr(RsTraceRegion) region = NULL;
		struct rs_control *control;
		uint32_t flags;

		if (rs_regions_map(regions, i, &region, NULL))
			continue;
		control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
		flags = rs_load(&control->flags) & ~RS_CONTROL_LEAVE;
		rs_store_release(&control->flags, on ? flags | RS_CONTROL_LEAVE : flags);
		rs_shared_add32(&control->generation, 1);
		rs_shared_add32(&control->nudge, 1);
	}
}

static struct flock first_byte(const struct rs_regions *regions, uint32_t index, short type)
{
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)regions->layouts[index].offset,
			      .l_len = 1};
}

bool rs_regions_held(const struct rs_regions *regions, uint32_t index)
{
	struct flock lock = first_byte(regions, index, F_WRLCK);

	return fcntl(regions->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool rs_regions_leave_unheld(const struct rs_regions *regions, uint32_t index)
{
	struct flock lock = first_byte(regions, index, F_WRLCK);
	struct flock unlock = first_byte(regions, index, F_UNLCK);

	/*
	 * Test first: even a short lock of ours could make an agent that is just looking pass the
	 * region over.
	 */
	if (rs_regions_held(regions, index) || fcntl(regions->fd, F_OFD_SETLK, &lock))
		return false;
	rs_regions_leave(regions, index);
	fcntl(regions->fd, F_OFD_SETLK, &unlock);
	return true;
}

int rs_regions_renew(struct rs_regions *regions, uint32_t index, struct rs_error *err)
{
	struct layout *layout = &regions->layouts[index];
	int ret;

	/*
	 * Frees its pages, so they read as zero. A process that still has the region mapped finds
	 * no magic there.
	 */
	ret = empty(regions->fd, layout->offset, layout->header.region_size, err);
	if (!ret)
		ret = rs_region_new_id(&layout->header.session_id, err);
	if (!ret)
		ret = write_region(regions, layout, err);
	if (ret)
		return ret;
	layout->generation++;
	/* Release: whoever sees this generation sees the region laid out. */
	rs_store_release(&entry_of(regions, index)->generation, layout->generation);
	return 0;
}

/* Release: who sees the mode sees what was consumed before. */
static void store_ring_mode(void *map, uint32_t mode)
{
	rs_store_release(&((struct rs_region_header *)map)->ring_mode, mode);
}

int rs_regions_set_ring_mode(struct rs_regions *regions, uint32_t mode, struct rs_error *err)
{
	for (uint32_t i = 0; i < regions->head.entry_count; i++) {
		struct layout *layout = &regions->layouts[i];
		void *map;

		if (layout->kind == RS_SOURCE_NONE)
			continue;
		map = rs_trace_mapping_new(regions->fd, layout->offset, RS_PAGE_SIZE, TRUE);
		if (!map)
			return rs_error_set(err, errno, "cannot map a trace region: %s",
					    g_strerror(errno));
		layout->header.ring_mode = mode;
		store_ring_mode(map, mode);
		rs_trace_mapping_free(map, RS_PAGE_SIZE);
	}
	return 0;
}

/* ---- one region ---- */

void rs_region_set_ring_mode(const RsTraceRegion *region, uint32_t mode)
{
	store_ring_mode(region->map, mode);
}

int rs_region_create(const struct rs_region_config *config, RsTraceRegion **out,
		     struct rs_error *err)
{
	const struct rs_regions_run run = {.config = config, .kind = RS_SOURCE_KERNEL, .count = 1};
	struct rs_regions *regions;
	int ret = rs_regions_create(&run, 1, false, -1, &regions, err);

	if (ret)
		return ret;
	ret = rs_regions_map(regions, 0, out, err);
	rs_regions_free(regions);
	return ret;
}

int rs_region_reopen_readonly(const RsTraceRegion *region, int *fd, struct rs_error *err)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", region->fd);
	int made = open(path, O_RDONLY | O_CLOEXEC);

	if (made < 0)
		return rs_error_set(err, errno, "cannot open the region read-only: %s",
				    g_strerror(errno));
	*fd = made;
	return 0;
}
