/* SPDX-License-Identifier: MIT */
/* Takes the fuzzer's bytes apart. Behind their end everything is 0. */
#ifndef RS_TESTS_FUZZ_INPUT_H
#define RS_TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For checks of a target that go over long texts: the fuzzer learns nothing there. */
#define RS_FUZZ_NOT_SEEN __attribute__((no_sanitize("coverage")))

struct rs_fuzz_input {
	const uint8_t *data;
	size_t left;
};

/* Fills a struct, whose padding is its own affair. False: the input ended within it. */
static inline bool rs_fuzz_take(struct rs_fuzz_input *in, void *out, size_t size)
{
	size_t some = size < in->left ? size : in->left;

	memset(out, 0, size);
	memcpy(out, in->data, some);
	in->data += some;
	in->left -= some;
	return some == size;
}

static inline uint8_t rs_fuzz_u8(struct rs_fuzz_input *in)
{
	uint8_t value;

	rs_fuzz_take(in, &value, sizeof(value));
	return value;
}

/*
 * Changes a word of a record with many fields, whichever is meant: `value` is put there, or added
 * to what is there. `how`: its size (1, 2, 4, 8), and 4: add.
 */
static inline void rs_fuzz_change(void *at, uint8_t how, uint64_t value)
{
	size_t size = (size_t)1 << how % 4;
	uint64_t now = 0;

	memcpy(&now, at, size);
	now = how & 4 ? now + value : value;
	memcpy(at, &now, size);
}

#endif
