/* SPDX-License-Identifier: MIT */
/* A directory and its regions: laid out, opened again, taken, left and given to the next one. */
#define _GNU_SOURCE
#include "region/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define USERS 3u

static const struct rs_region_config kernel_config = {.vcpus = 2, .ring_bytes = 64 << 10};
static const struct rs_region_config user_config = {.vcpus = 1,
						    .ring_bytes = 16 << 10,
						    .event_capacity = 100,
						    .control_flags = RS_CONTROL_SELF_PATCH};
static const struct rs_regions_run runs[] = {
	{&kernel_config, RS_SOURCE_KERNEL, 1},
	{&user_config, RS_SOURCE_USER, USERS},
};

static struct rs_regions *create(bool power_of_two)
{
	struct rs_regions *regions = NULL;
	struct rs_error err = {0};

	if (rs_regions_create(runs, G_N_ELEMENTS(runs), power_of_two, -1, &regions, &err))
		g_error("%s", err.message);
	return regions;
}

/* All of it, as an agent or a guest has it. */
static uint8_t *map_all(const struct rs_regions *regions)
{
	void *map = mmap(NULL, rs_regions_size(regions), PROT_READ | PROT_WRITE, MAP_SHARED,
			 rs_regions_fd(regions), 0);

	g_assert_true(map != MAP_FAILED);
	return map;
}

static struct rs_directory_entry *entry_of(uint8_t *map, uint32_t index)
{
	const struct rs_directory *head = (void *)map;

	return (void *)(map + head->entries_offset + (uint64_t)index * head->entry_stride);
}

static void test_layout(void)
{
	struct rs_regions *regions = create(false);
	uint8_t *map = map_all(regions);
	const struct rs_directory *head = (void *)map;
	uint64_t end = head->claims_offset + 8;

	g_assert_cmpuint(rs_regions_count(regions), ==, 1 + USERS);
	g_assert_cmpuint(head->size, ==, rs_regions_size(regions));
	for (uint32_t i = 0; i < 1 + USERS; i++) {
		const struct rs_directory_entry *entry = entry_of(map, i);
		const struct rs_region_header *h = (void *)(map + entry->offset);
		RsTraceRegion *region = NULL;

		g_assert_cmpuint(rs_regions_kind(regions, i), ==,
				 i ? RS_SOURCE_USER : RS_SOURCE_KERNEL);
		g_assert_cmpuint(entry->kind, ==, rs_regions_kind(regions, i));
		g_assert_cmpuint(entry->generation, ==, 1);
		g_assert_cmpuint(entry->offset % RS_REGION_ALIGN, ==, 0);
		g_assert_cmpuint(entry->offset, >=, end);
		end = entry->offset + entry->size;
		g_assert_cmpuint(h->ring_count, ==, i ? 1 : 2);
		g_assert_cmpuint(h->event_capacity, ==, i ? 100 : 4096);
		/* The processes' times are the machine's. */
		g_assert_cmpuint(
			h->origin_ns, ==,
			((const struct rs_region_header *)(void *)(map + entry_of(map, 0)->offset))
				->origin_ns);
		g_assert_cmpint(rs_regions_map(regions, i, &region, NULL), ==, 0);
		g_assert_cmpmem(&region->header, sizeof(*h), h, sizeof(*h));
		g_assert_cmpuint(((const struct rs_control *)rs_trace_region_section(
					  region, RS_SEC_CONTROL, NULL))
					 ->flags,
				 ==, i ? RS_CONTROL_SELF_PATCH : 0);
		rs_trace_region_free(region);
	}
	g_assert_cmpuint(end, ==, rs_regions_size(regions));
	munmap(map, rs_regions_size(regions));
	rs_regions_free(regions);
	regions = create(true);
	g_assert_cmpuint(rs_regions_size(regions) & (rs_regions_size(regions) - 1), ==, 0);
	rs_regions_free(regions);
}

/* A region of its own has a memory of its own, which ends where it does. */
static void test_alone(void)
{
	RsTraceRegion *region = NULL;
	struct rs_regions *regions = NULL;
	RsTraceRegion *again = NULL;
	uint32_t owner;

	g_assert_cmpint(rs_region_create(&kernel_config, &region, NULL), ==, 0);
	g_assert_cmpint(rs_regions_open(dup(region->fd), &regions, NULL), ==, 0);
	g_assert_cmpuint(rs_regions_count(regions), ==, 1);
	g_assert_cmpuint(rs_regions_kind(regions, 0), ==, RS_SOURCE_KERNEL);
	g_assert_false(rs_regions_owner(regions, 0, &owner));
	g_assert_cmpuint(rs_regions_size(regions), ==, region->offset + region->size);
	g_assert_cmpint(rs_regions_map(regions, 0, &again, NULL), ==, 0);
	g_assert_cmpuint(again->header.session_id, ==, region->header.session_id);
	rs_trace_region_free(again);
	rs_regions_free(regions);
	rs_trace_region_free(region);
}

/* Ids of regions and of the memory differ, so that a reader knows one from the next. */
static void test_session_ids(void)
{
	struct rs_regions *regions = create(false);
	uint8_t *map = map_all(regions);
	uint64_t ids[USERS + 2] = {((const struct rs_directory *)(void *)map)->session_id};

	for (uint32_t i = 0; i <= USERS; i++)
		ids[i + 1] =
			((const struct rs_region_header *)(void *)(map + entry_of(map, i)->offset))
				->session_id;
	for (uint32_t i = 0; i < G_N_ELEMENTS(ids); i++)
		for (uint32_t k = 0; k < i; k++)
			g_assert_cmpuint(ids[i], !=, ids[k]);
	munmap(map, rs_regions_size(regions));
	rs_regions_free(regions);
}

static void test_bad_runs(void)
{
	static const struct rs_region_config impossible = {.vcpus = 1, .ring_bytes = 1};
	const struct {
		struct rs_regions_run run[2];
	} bad[] = {
		{{{&user_config, RS_SOURCE_USER, 0}}},
		{{{&user_config, RS_SOURCE_USER, RS_MAX_REGIONS + 1}}},
		{{{&user_config, RS_SOURCE_USER, RS_MAX_REGIONS},
		  {&user_config, RS_SOURCE_USER, 1}}},
		{{{&user_config, RS_SOURCE_USER, UINT32_MAX}, {&user_config, RS_SOURCE_USER, 2}}},
		{{{&impossible, RS_SOURCE_USER, 1}}},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct rs_regions *regions = NULL;
		struct rs_error err = {0};
		int fd = memfd_create("test", MFD_CLOEXEC);
		size_t n = bad[i].run[1].config ? 2 : 1;

		g_assert_cmpint(rs_regions_create(bad[i].run, n, false, fd, &regions, &err), ==,
				-EINVAL);
		g_assert_null(regions);
		g_assert_cmpstr(err.message, !=, "");
		/* Not taken over. */
		g_assert_cmpint(close(fd), ==, 0);
	}
}

/* A descriptor is any number from 0 on: a program may have closed its standard input. */
static void test_descriptor_zero(void)
{
	const struct rs_regions_run bad = {&user_config, RS_SOURCE_USER, 0};
	int input = dup(0), other;
	struct rs_regions *regions = NULL;

	close(0);
	g_assert_cmpint(memfd_create("test", MFD_CLOEXEC), ==, 0);
	g_assert_cmpint(rs_regions_create(&bad, 1, false, 0, &regions, NULL), ==, -EINVAL);
	g_assert_cmpint(rs_regions_open(0, &regions, NULL), ==, -EPROTO);
	/* Still there, and not taken over. */
	other = dup(0);
	g_assert_cmpint(rs_regions_create(runs, G_N_ELEMENTS(runs), false, 0, &regions, NULL), ==,
			0);
	g_assert_cmpint(rs_regions_fd(regions), ==, 0);
	g_assert_cmpint(lseek(other, 0, SEEK_END), ==, (off_t)rs_regions_size(regions));
	g_assert_cmpint(fcntl(other, F_GET_SEALS) & F_SEAL_GROW, ==, 0);
	rs_regions_free(regions);
	g_assert_cmpint(fcntl(0, F_GETFD), ==, -1);
	close(other);
	if (input < 0)
		return;
	g_assert_cmpint(dup2(input, 0), ==, 0);
	close(input);
}

/* The memory of an earlier session is opened by the next one. */
static void test_open_again(void)
{
	struct rs_regions *regions = create(false), *again = NULL;
	struct rs_error err = {0};
	struct rs_place place;
	uint8_t *map = map_all(regions);
	uint32_t owner;

	g_assert_cmpint(
		rs_directory_take(map, rs_regions_size(regions), RS_SOURCE_USER, 42, &place), ==,
		0);
	g_assert_cmpint(rs_regions_renew(regions, 2, &err), ==, 0);
	if (rs_regions_open(dup(rs_regions_fd(regions)), &again, &err))
		g_error("%s", err.message);
	g_assert_cmpuint(rs_regions_count(again), ==, 1 + USERS);
	g_assert_cmpuint(rs_regions_size(again), ==, rs_regions_size(regions));
	for (uint32_t i = 0; i < 1 + USERS; i++) {
		RsTraceRegion *a = NULL, *b = NULL;

		g_assert_cmpuint(rs_regions_kind(again, i), ==, rs_regions_kind(regions, i));
		g_assert_cmpuint(rs_regions_claim(again, i, 7), ==,
				 rs_regions_claim(regions, i, 7));
		g_assert_cmpint(rs_regions_map(regions, i, &a, NULL), ==, 0);
		g_assert_cmpint(rs_regions_map(again, i, &b, NULL), ==, 0);
		g_assert_cmpmem(&a->header, sizeof(a->header), &b->header, sizeof(b->header));
		rs_trace_region_free(a);
		rs_trace_region_free(b);
	}
	g_assert_true(rs_regions_owner(again, place.index, &owner));
	g_assert_cmpuint(owner, ==, 42);
	g_assert_false(rs_regions_owner(again, 2, &owner));
	/* The next session can lay regions out anew, as the first one could. */
	rs_regions_leave(again, place.index);
	g_assert_cmpint(rs_regions_renew(again, place.index, &err), ==, 0);
	g_assert_cmpuint(entry_of(map, place.index)->generation, ==, 2);
	munmap(map, rs_regions_size(regions));
	rs_regions_free(again);
	rs_regions_free(regions);
}

/* A guest has written nonsense into the memory before it is opened: the only result is EPROTO. */
static void test_hostile(void)
{
	static const struct {
		size_t offset;
		uint64_t value;
		size_t size;
	} heads[] =
		{
#define HEAD(field, value)                                                                         \
	{offsetof(struct rs_directory, field), value, sizeof(((struct rs_directory *)0)->field)}
			HEAD(magic, 0),
			HEAD(abi_major, RS_ABI_MAJOR + 1),
			HEAD(header_size, 8),
			HEAD(size, UINT64_MAX),
			HEAD(size, 0),
			HEAD(entries_offset, 0),
			HEAD(entries_offset, 132),
			HEAD(entries_offset, UINT64_MAX - 7),
			HEAD(claims_offset, 0),
			HEAD(claims_offset, 128),
			HEAD(claims_offset, UINT64_MAX - 65535),
			HEAD(entry_count, 0),
			HEAD(entry_count, RS_MAX_REGIONS + 1),
			HEAD(entry_stride, 64),
			HEAD(entry_stride, 132),
			HEAD(entry_stride, UINT32_MAX - 7),
		},
	  entries[] = {
#define ENTRY(field, value)                                                                        \
	{offsetof(struct rs_directory_entry, field), value,                                        \
	 sizeof(((struct rs_directory_entry *)0)->field)}
		  ENTRY(offset, 0),        ENTRY(offset, 65536),
		  ENTRY(offset, 8),        ENTRY(offset, UINT64_MAX - 65535),
		  ENTRY(size, 0),          ENTRY(size, 65536),
		  ENTRY(size, UINT64_MAX), ENTRY(kind, 99),
	  };

	for (size_t i = 0; i < G_N_ELEMENTS(heads) + G_N_ELEMENTS(entries); i++) {
		bool head = i < G_N_ELEMENTS(heads);
		struct rs_regions *regions = create(false), *again = NULL;
		struct rs_error err = {0};
		uint8_t *map = map_all(regions);
		int fd = dup(rs_regions_fd(regions));

		if (head)
			memcpy(map + heads[i].offset, &heads[i].value, heads[i].size);
		else
			memcpy((uint8_t *)entry_of(map, 2) +
				       entries[i - G_N_ELEMENTS(heads)].offset,
			       &entries[i - G_N_ELEMENTS(heads)].value,
			       entries[i - G_N_ELEMENTS(heads)].size);
		g_assert_cmpint(rs_regions_open(fd, &again, &err), ==, -EPROTO);
		g_assert_null(again);
		g_assert_cmpint(close(fd), ==, 0);
		munmap(map, rs_regions_size(regions));
		rs_regions_free(regions);
	}
}

/* Two entries that mean the same bytes: to give one away would wipe the other's. */
static void test_overlap(void)
{
	struct rs_regions *regions = create(false), *again = NULL;
	struct rs_error err = {0};
	uint8_t *map = map_all(regions);
	int fd = dup(rs_regions_fd(regions));

	entry_of(map, 2)->offset = entry_of(map, 1)->offset;
	g_assert_cmpint(rs_regions_open(fd, &again, &err), ==, -EPROTO);
	/* In an entry that nobody may use, it does not matter. */
	entry_of(map, 2)->kind = RS_SOURCE_NONE;
	g_assert_cmpint(rs_regions_open(fd, &again, &err), ==, 0);
	g_assert_cmpuint(rs_regions_kind(again, 2), ==, RS_SOURCE_NONE);
	munmap(map, rs_regions_size(regions));
	rs_regions_free(again);
	rs_regions_free(regions);
}

#define CLAIMS RS_REGION_ALIGN

static int open_only(int file)
{
	struct rs_regions *again = NULL;
	int fd = dup(file);
	int ret = rs_regions_open(fd, &again, NULL);

	if (ret)
		close(fd);
	rs_regions_free(again);
	return ret;
}

/* Opens again what is in `regions` now. */
static int open_again(const struct rs_regions *regions)
{
	return open_only(rs_regions_fd(regions));
}

/* An entry is as large as its region at least, and regions may touch, but not by one page more. */
static void test_entry_limits(void)
{
	struct rs_regions *regions = create(true);
	uint8_t *map = map_all(regions);
	struct rs_directory_entry *last = entry_of(map, USERS);
	uint64_t size = last->size, offset = last->offset;

	g_assert_cmpint(open_again(regions), ==, 0);
	last->size = size - RS_REGION_ALIGN;
	g_assert_cmpint(open_again(regions), ==, -EPROTO);
	last->size = size + RS_REGION_ALIGN;
	g_assert_cmpuint(offset + last->size, <=, rs_regions_size(regions));
	g_assert_cmpint(open_again(regions), ==, 0);
	last->size = rs_regions_size(regions) - offset;
	g_assert_cmpint(open_again(regions), ==, 0);
	last->size = size;
	/* Somewhere else, and then one page into another: at its end, and at its beginning. */
	memmove(map + offset + RS_REGION_ALIGN, map + offset, size);
	last->offset = offset + RS_REGION_ALIGN;
	g_assert_cmpint(open_again(regions), ==, 0);
	memmove(map + offset - RS_REGION_ALIGN, map + offset + RS_REGION_ALIGN, size);
	last->offset = offset - RS_REGION_ALIGN;
	g_assert_cmpint(open_again(regions), ==, -EPROTO);
	/* What is not laid out yet may lie anywhere, since nobody may use it. */
	last->generation = 0;
	g_assert_cmpint(open_again(regions), ==, 0);
	munmap(map, rs_regions_size(regions));
	rs_regions_free(regions);
}

/* A file of somebody else: what was in it is gone, and if it cannot be had it stays theirs. */
static void test_file(void)
{
	struct rs_regions *regions = NULL;
	int fd = memfd_create("test", MFD_CLOEXEC), again = dup(fd);
	uint8_t *map, byte;

	/* Too short to be opened: nothing, and a byte less than the least. */
	g_assert_cmpint(rs_regions_open(fd, &regions, NULL), ==, -EPROTO);
	g_assert_cmpint(ftruncate(fd, RS_DIRECTORY_MIN_SIZE - 1), ==, 0);
	g_assert_cmpint(rs_regions_open(fd, &regions, NULL), ==, -EPROTO);
	g_assert_cmpint(ftruncate(fd, 64 << 20), ==, 0);
	g_assert_cmpint(pwrite(fd, "x", 1, 65536 + 9), ==, 1);
	g_assert_cmpint(pwrite(fd, "x", 1, (64 << 20) - 1), ==, 1);
	g_assert_cmpint(rs_regions_create(runs, G_N_ELEMENTS(runs), false, fd, &regions, NULL), ==,
			0);
	g_assert_cmpint(rs_regions_fd(regions), ==, fd);
	g_assert_cmpint(lseek(again, 0, SEEK_END), ==, (off_t)rs_regions_size(regions));
	g_assert_cmpint(pread(again, &byte, 1, 65536 + 9), ==, 1);
	g_assert_cmpuint(byte, ==, 0);
	map = map_all(regions);
	/* How many were turned away stands behind the claims. */
	g_assert_cmpuint(rs_regions_turned_away(regions), ==, 0);
	*rs_regions_claim_word(regions, 1 + USERS) = 5;
	g_assert_cmpuint(rs_regions_turned_away(regions), ==, 5);
	g_assert_cmpuint(((uint64_t *)(void *)(map + CLAIMS))[1 + USERS], ==, 5);
	munmap(map, rs_regions_size(regions));
	rs_regions_free(regions);
	g_assert_cmpint(open_only(again), ==, 0);
	close(again);
}

/* A claim is read afresh each time, and only that of the generation counts. */
static void test_claims(void)
{
	struct rs_regions *regions = create(false);
	uint64_t *word = rs_regions_claim_word(regions, 1);
	uint32_t owner = 99;

	g_assert_false(rs_regions_owner(regions, 1, &owner));
	g_assert_cmpuint(owner, ==, 99);
	*word = rs_regions_claim(regions, 1, 7);
	g_assert_true(rs_regions_owner(regions, 1, &owner));
	g_assert_cmpuint(owner, ==, 7);
	*word = rs_directory_claim_word(2, 7); /* of a generation that is to come */
	g_assert_false(rs_regions_owner(regions, 1, &owner));
	rs_regions_leave(regions, 1);
	g_assert_cmpuint(*word, ==, rs_directory_claim_word(2, 7));
	*word = rs_regions_claim(regions, 1, 7);
	rs_regions_leave(regions, 1);
	rs_regions_leave(regions, 1);
	g_assert_true(rs_regions_owner(regions, 1, &owner));
	g_assert_cmpuint(owner, ==, RS_CLAIM_LEFT);
	rs_regions_free(regions);
}

/*
 * A reader of a region that was laid out anew finds another session id, and zeros in place of the
 * pages.
 */
static void test_renew(void)
{
	struct rs_regions *regions = create(false);
	RsTraceRegion *region = NULL, *other = NULL, *next = NULL;
	struct rs_error err = {0};
	uint8_t *map = map_all(regions);
	uint8_t *page, *beside;
	uint32_t owner;

	g_assert_cmpint(rs_regions_map(regions, 1, &region, NULL), ==, 0);
	g_assert_cmpint(rs_regions_map(regions, 2, &other, NULL), ==, 0);
	page = rs_trace_region_section(region, RS_SEC_RINGS, NULL);
	beside = rs_trace_region_section(other, RS_SEC_RINGS, NULL);
	memset(page, 0xee, 4096);
	memset(beside, 0xee, 4096);
	*rs_regions_claim_word(regions, 1) = rs_regions_claim(regions, 1, 7);
	rs_regions_leave(regions, 1);
	if (rs_regions_renew(regions, 1, &err))
		g_error("%s", err.message);
	g_assert_cmpuint(page[0], ==, 0);
	g_assert_cmpuint(beside[4095], ==, 0xee);
	g_assert_cmpuint(((const struct rs_region_header *)(void *)region->map)->session_id, !=,
			 region->header.session_id);
	g_assert_cmpuint(((const struct rs_region_header *)(void *)other->map)->session_id, ==,
			 other->header.session_id);
	g_assert_cmpuint(entry_of(map, 1)->generation, ==, 2);
	g_assert_false(rs_regions_owner(regions, 1, &owner));
	/* The next one finds all as the first one did. */
	g_assert_cmpint(rs_regions_map(regions, 1, &next, NULL), ==, 0);
	g_assert_cmpmem(&next->header, sizeof(next->header), next->map, sizeof(next->header));
	g_assert_cmpuint(next->header.origin_ns, ==, region->header.origin_ns);
	g_assert_cmpuint(
		((const struct rs_control *)rs_trace_region_section(next, RS_SEC_CONTROL, NULL))
			->flags,
		==, RS_CONTROL_SELF_PATCH);
	rs_trace_region_free(region);
	rs_trace_region_free(other);
	rs_trace_region_free(next);
	munmap(map, rs_regions_size(regions));
	rs_regions_free(regions);
}

/* A region is not laid out anew by what its header in shared memory says. */
/* Regions that somebody has, and those that are free or laid out anew later. */
static void test_ring_mode(void)
{
	struct rs_regions *regions = create(false), *again = NULL;
	RsTraceRegion *taken = NULL, *next = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_regions_map(regions, 1, &taken, NULL), ==, 0);
	g_assert_cmpuint(rs_trace_region_ring_mode(taken), ==, RS_MODE_OVERWRITE);
	g_assert_cmpint(rs_regions_set_ring_mode(regions, RS_MODE_DROP, &err), ==, 0);
	g_assert_cmpuint(rs_trace_region_ring_mode(taken), ==, RS_MODE_DROP);
	/* What it was when the region was mapped. */
	g_assert_cmpuint(taken->header.ring_mode, ==, RS_MODE_OVERWRITE);
	*rs_regions_claim_word(regions, 1) = rs_regions_claim(regions, 1, 7);
	rs_regions_leave(regions, 1);
	g_assert_cmpint(rs_regions_renew(regions, 1, &err), ==, 0);
	for (uint32_t i = 0; i < 1 + USERS; i++) {
		g_assert_cmpint(rs_regions_map(regions, i, &next, NULL), ==, 0);
		g_assert_cmpuint(rs_trace_region_ring_mode(next), ==, RS_MODE_DROP);
		g_assert_cmpuint(next->header.ring_mode, ==, RS_MODE_DROP);
		rs_trace_region_free(next);
	}
	/* A session that takes the memory up finds it, too. */
	g_assert_cmpint(rs_regions_open(dup(rs_regions_fd(regions)), &again, &err), ==, 0);
	g_assert_cmpint(rs_regions_map(again, 2, &next, NULL), ==, 0);
	g_assert_cmpuint(next->header.ring_mode, ==, RS_MODE_DROP);
	rs_trace_region_free(next);
	rs_trace_region_free(taken);
	rs_regions_free(again);
	rs_regions_free(regions);
}

static void test_renew_hostile(void)
{
	struct rs_regions *regions = create(false);
	uint8_t *map = map_all(regions);
	struct rs_directory_entry *entry = entry_of(map, 1);
	uint64_t at = entry->offset;
	struct rs_error err = {0};

	entry_of(map, 3)->size = 0;
	memset(map + at, 0xff, sizeof(struct rs_region_header));
	entry->offset = entry_of(map, 2)->offset;
	entry->size = UINT64_MAX;
	entry->generation = 77;
	((struct rs_directory *)(void *)map)->entry_stride = 0;
	((struct rs_directory *)(void *)map)->entry_count = UINT32_MAX;
	g_assert_cmpint(rs_regions_renew(regions, 1, &err), ==, 0);
	g_assert_cmpuint(entry->generation, ==, 2);
	g_assert_cmpuint(((const struct rs_region_header *)(void *)(map + at))->magic, ==,
			 RS_REGION_MAGIC);
	g_assert_cmpuint(rs_regions_count(regions), ==, 1 + USERS);
	munmap(map, rs_regions_size(regions));
	rs_regions_free(regions);
}

/* An agent's way in: a lock of its own, which lives as long as the mapping. */
static void *enter(const struct rs_regions *regions, uint64_t offset)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", rs_regions_fd(regions));
	struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)offset, .l_len = 1};
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *map;

	g_assert_cmpint(fcntl(fd, F_OFD_SETLK, &lock), ==, 0);
	map = mmap(NULL, RS_REGION_ALIGN, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	g_assert_true(map != MAP_FAILED);
	close(fd);
	return map;
}

static void test_held(void)
{
	struct rs_regions *regions = create(false);
	uint8_t *all = map_all(regions);
	uint64_t offset = entry_of(all, 1)->offset;
	uint32_t owner;
	int pipes[2];
	void *map;
	pid_t pid;
	char byte;

	*rs_regions_claim_word(regions, 1) = rs_regions_claim(regions, 1, 7);
	g_assert_false(rs_regions_held(regions, 1));
	map = enter(regions, offset);
	g_assert_true(rs_regions_held(regions, 1));
	g_assert_false(rs_regions_held(regions, 2));
	g_assert_false(rs_regions_leave_unheld(regions, 1));
	/* A fork holds it as well, after its parent has gone out. */
	g_assert_cmpint(pipe(pipes), ==, 0);
	pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	munmap(map, RS_REGION_ALIGN);
	g_assert_true(rs_regions_held(regions, 1));
	close(pipes[1]);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	close(pipes[0]);
	g_assert_false(rs_regions_held(regions, 1));
	g_assert_true(rs_regions_owner(regions, 1, &owner) && owner == 7);
	g_assert_true(rs_regions_leave_unheld(regions, 1));
	g_assert_true(rs_regions_owner(regions, 1, &owner) && owner == RS_CLAIM_LEFT);
	/* Our own look has left no lock behind. */
	map = enter(regions, offset);
	g_assert_true(rs_regions_held(regions, 1));
	munmap(map, RS_REGION_ALIGN);
	munmap(all, rs_regions_size(regions));
	rs_regions_free(regions);
}

static bool first_byte_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

	g_assert_cmpint(fcntl(fd, F_OFD_GETLK, &lock), ==, 0);
	return lock.l_type != F_UNLCK;
}

/* The lock that says that the host lives: as long as the regions, whoever has their descriptor. */
static void test_life(void)
{
	struct rs_region_config config = user_config;
	const struct rs_regions_run run = {&config, RS_SOURCE_USER, 1};

	for (int held = 0; held < 2; held++) {
		struct rs_regions *regions = NULL;
		g_autofree char *path = NULL;
		int kept, other;

		config.control_flags = held ? RS_CONTROL_HELD : 0;
		g_assert_cmpint(rs_regions_create(&run, 1, false, -1, &regions, NULL), ==, 0);
		kept = dup(rs_regions_fd(regions));
		path = g_strdup_printf("/proc/self/fd/%d", kept);
		other = open(path, O_RDWR | O_CLOEXEC);
		g_assert_cmpint(other, >=, 0);
		g_assert_cmpint(first_byte_locked(other), ==, held);
		/* Nor do those that inherit the descriptor own the lock. */
		g_assert_cmpint(first_byte_locked(kept), ==, held);
		rs_regions_free(regions);
		g_assert_false(first_byte_locked(other));
		close(other);
		close(kept);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/region/regions/layout", test_layout);
	g_test_add_func("/region/regions/alone", test_alone);
	g_test_add_func("/region/regions/session-ids", test_session_ids);
	g_test_add_func("/region/regions/bad-runs", test_bad_runs);
	g_test_add_func("/region/regions/descriptor-zero", test_descriptor_zero);
	g_test_add_func("/region/regions/open-again", test_open_again);
	g_test_add_func("/region/regions/hostile", test_hostile);
	g_test_add_func("/region/regions/overlap", test_overlap);
	g_test_add_func("/region/regions/entry-limits", test_entry_limits);
	g_test_add_func("/region/regions/file", test_file);
	g_test_add_func("/region/regions/claims", test_claims);
	g_test_add_func("/region/regions/renew", test_renew);
	g_test_add_func("/region/regions/ring-mode", test_ring_mode);
	g_test_add_func("/region/regions/renew-hostile", test_renew_hostile);
	g_test_add_func("/region/regions/held", test_held);
	g_test_add_func("/region/regions/life", test_life);
	return g_test_run();
}
