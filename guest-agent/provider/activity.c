/* SPDX-License-Identifier: MIT */
/* Ids of activities. */
#include "core.h"

#include <ringside/provider.h>

static uint64_t salt, count;

/* The last steps of a hash: each bit of the result depends on each of the input. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* One for each agent: by the time of the first call, its process, and its boot. */
static uint64_t agents_salt(void)
{
	uint64_t mine, old = rs_load(&salt);

	if (old)
		return old;
	mine = mix(rs_core_time() ^
		   mix((uint64_t)rs_core.config.owner_pid << 32 | rs_core.rings.boot) ^
		   rs_core.header.session_id) |
	       1;
	__atomic_compare_exchange_n(&salt, &old, mine, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old ? old : mine;
}

static void put(uint8_t out[8], uint64_t x)
{
	for (uint32_t i = 0; i < 8; i++)
		out[i] = (uint8_t)(x >> (56 - 8 * i));
}

/* An UUID of version 8 (RFC 9562): the agent's salt, and a number. */
void rs_activity_create(struct rs_activity_id *id)
{
	put(id->bytes, agents_salt());
	put(id->bytes + 8, __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
	id->bytes[6] = (uint8_t)(0x80 | (id->bytes[6] & 0x0f));
	id->bytes[8] = (uint8_t)(0x80 | (id->bytes[8] & 0x3f));
}

void rs_activity_text(char *out, const struct rs_activity_id *id)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < sizeof(id->bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		*out++ = digits[id->bytes[i] >> 4];
		*out++ = digits[id->bytes[i] & 15];
	}
}
