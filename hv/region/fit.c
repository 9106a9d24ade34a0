/* SPDX-License-Identifier: MIT */
#include "region/fit.h"

#include <errno.h>
#include <ringside/directory.h>

#define LEVELS 8u /* each has half of the tables' bytes of the one before */
#define USERS 4u
#define RING_MAX (1ull << 20) /* unless somebody asks for more */
#define USER_RING_MAX (256u << 10)
#define DIRECTORY_BYTES (2ull * RS_REGION_ALIGN) /* of a directory of RS_MAX_REGIONS */

/* The tables of a region at level 0, and how small they may become. */
struct tables {
	uint32_t desc, desc_min;
	uint32_t filter, filter_min;
	uint32_t events, events_min;
};

static const struct tables of_main = {2u << 20, 128u << 10, 1u << 20, 32u << 10, 4096, 4096};
static const struct tables of_user = {512u << 10, 32u << 10, 256u << 10, 16u << 10, 1024, 256};

static uint32_t halved(uint32_t bytes, uint32_t least, unsigned int level)
{
	return MAX(bytes >> level, least);
}

static void set_tables(struct rs_region_config *config, const struct tables *tables,
		       unsigned int level)
{
	config->desc_bytes = halved(tables->desc, tables->desc_min, level);
	config->filter_bytes = halved(tables->filter, tables->filter_min, level);
	config->event_capacity = halved(tables->events, tables->events_min, level);
	config->providers = halved(256, 32, level);
	config->names = halved(512, 64, level);
	config->epochs = halved(1024, 128, level);
	config->requests = halved(MAX(config->vcpus, 16), 4, level);
}

/* Bytes of a region of that shape, with rings of that size. */
static uint64_t size_of(const struct rs_region_config *config, uint64_t ring_bytes)
{
	struct rs_region_config one = *config;
	struct rs_region_header header;

	one.ring_bytes = ring_bytes;
	one.ring_max = config->ring_max ? MAX(config->ring_max, ring_bytes) : 0;
	return rs_region_lay_out(&one, &header, NULL) ? UINT64_MAX : header.region_size;
}

/* The largest rings of up to `most` bytes with which the region takes no more than `room`. */
static uint64_t largest_ring(const struct rs_region_config *config, uint64_t most, uint64_t room)
{
	const uint64_t least = rs_region_min_ring_bytes(RS_RING_PAGE_MIN);

	for (uint64_t bytes = MAX(most, least); bytes >= least; bytes /= 2) {
		if (size_of(config, bytes) <= room)
			return bytes;
	}
	return 0;
}

/* What processes may have: a third of the memory, unless somebody asks for them. */
static bool fit_users(const struct rs_fit_wish *wish, uint64_t room, struct rs_fit *fit)
{
	const bool asked = wish->users != RS_FIT_USERS_DEFAULT;
	const uint64_t most = asked ? room : room / 3;

	fit->users = asked ? wish->users : USERS;
	for (; fit->users; fit->users--) {
		fit->user.ring_bytes = largest_ring(&fit->user, USER_RING_MAX, most / fit->users);
		if (fit->user.ring_bytes)
			return true;
		if (asked)
			return false;
	}
	return true;
}

/* With users' rings as small as can be, if that is what the kernel's need. */
static bool fit_level(const struct rs_fit_wish *wish, unsigned int level, struct rs_fit *fit)
{
	const uint64_t room = wish->size - DIRECTORY_BYTES;
	uint64_t most = wish->ring_bytes ? wish->ring_bytes : RING_MAX, left;

	set_tables(&fit->main, &of_main, level);
	set_tables(&fit->user, &of_user, level);
	if (!fit_users(wish, room, fit))
		return false;
	for (;;) {
		uint64_t users =
			fit->users ? fit->users * size_of(&fit->user, fit->user.ring_bytes) : 0;

		left = users < room ? room - users : 0;
		fit->main.ring_bytes = largest_ring(&fit->main, most, left);
		if (fit->main.ring_bytes &&
		    (!wish->ring_bytes || fit->main.ring_bytes >= wish->ring_bytes))
			return true;
		if (!fit->users)
			return false;
		if (fit->user.ring_bytes > rs_region_min_ring_bytes(RS_RING_PAGE_MIN))
			fit->user.ring_bytes /= 2;
		else if (wish->users == RS_FIT_USERS_DEFAULT)
			fit->users--;
		else
			return false;
	}
}

/*
 * How good it is. Rings of a quarter of the memory come first, then regions for processes, and
 * tables last: the first level of the best grade is taken.
 */
static unsigned int grade(const struct rs_fit_wish *wish, const struct rs_fit *fit)
{
	uint64_t rings = fit->main.ring_bytes * fit->main.vcpus;

	if (!wish->ring_bytes && fit->main.ring_bytes < RING_MAX && rings < wish->size / 4)
		return 1;
	if (wish->users != RS_FIT_USERS_DEFAULT)
		return 2;
	return fit->users ? 3 + (fit->users == USERS) : 2;
}

static struct rs_fit empty_fit(const struct rs_fit_wish *wish)
{
	return (struct rs_fit){
		.main = {.vcpus = wish->vcpus, .ring_max = wish->ring_max},
		.user.vcpus = wish->vcpus,
	};
}

/* Memory that would be enough. */
static uint64_t enough(const struct rs_fit_wish *wish)
{
	struct rs_fit_wish more = *wish;

	for (more.size = RS_FIT_MIN_BYTES; more.size < 1ull << 40; more.size *= 2) {
		struct rs_fit fit = empty_fit(wish);

		if (fit_level(&more, LEVELS - 1, &fit))
			break;
	}
	return more.size;
}

int rs_region_fit(const struct rs_fit_wish *wish, struct rs_fit *out, struct rs_error *err)
{
	const struct rs_fit none = empty_fit(wish);
	struct rs_fit fit, best = none;
	unsigned int found = 0;

	if (wish->vcpus < 1 || wish->vcpus > RS_MAX_CPUS)
		return rs_error_set(err, EINVAL, "%u vCPUs: 1 to %u can be traced", wish->vcpus,
				    RS_MAX_CPUS);
	if (wish->users != RS_FIT_USERS_DEFAULT && wish->users >= RS_MAX_REGIONS)
		return rs_error_set(err, EINVAL, "%u regions for processes: at most %u",
				    wish->users, RS_MAX_REGIONS - 1);
	if ((wish->ring_bytes || wish->ring_max) &&
	    size_of(&none.main, wish->ring_bytes ? wish->ring_bytes : wish->ring_max) ==
		    UINT64_MAX) {
		struct rs_region_config one = none.main;
		struct rs_region_header header;

		one.ring_bytes = wish->ring_bytes ? wish->ring_bytes : wish->ring_max;
		return rs_region_lay_out(&one, &header, err);
	}
	for (unsigned int level = 0; wish->size >= RS_FIT_MIN_BYTES && level < LEVELS; level++) {
		fit = none;
		if (!fit_level(wish, level, &fit) || grade(wish, &fit) <= found)
			continue;
		best = fit;
		found = grade(wish, &fit);
	}
	if (!found)
		return rs_error_set(err, ENOSPC,
				    "the memory has %" G_GUINT64_FORMAT
				    " KiB, and %u vCPUs need %" G_GUINT64_FORMAT " KiB",
				    wish->size >> 10, wish->vcpus, enough(wish) >> 10);
	*out = best;
	if (wish->ring_max)
		out->main.ring_max = MAX(wish->ring_max, out->main.ring_bytes);
	return 0;
}
