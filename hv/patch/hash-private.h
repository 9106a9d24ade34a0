/* SPDX-License-Identifier: MIT */
/*
 * A hash of two addresses that a guest chooses. It does not know the seed, so it cannot make many
 * of them collide. Any thread.
 */
#ifndef RS_HV_PATCH_HASH_PRIVATE_H
#define RS_HV_PATCH_HASH_PRIVATE_H

#include <glib.h>
#include <stdint.h>

struct rs_hash_seed {
	uint64_t word[2]; /* odd */
};

static inline struct rs_hash_seed rs_hash_seed_new(void)
{
	struct rs_hash_seed seed;

	for (unsigned int i = 0; i < 2; i++)
		seed.word[i] = (uint64_t)g_random_int() << 32 | g_random_int() | 1;
	return seed;
}

static inline uint32_t rs_hash_pair(const struct rs_hash_seed *seed, uint64_t a, uint64_t b)
{
	uint64_t x = a * seed->word[0] + b * seed->word[1];

	x ^= x >> 32;
	x *= seed->word[0];
	return (uint32_t)(x >> 32);
}

#endif
