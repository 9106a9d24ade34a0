/* SPDX-License-Identifier: MIT */
/*
 * How a record of the ABI grows, so that either side may be the newer one.
 *
 * A struct that can grow has a least size, RS_X_MIN_SIZE: the size that it has in 1.0. Later
 * versions may add fields at its end. The least size never changes. A stride or size in the region
 * says how many bytes each record has there.
 *   - A side accepts each stride or size that is not below the least size, whatever sizeof says on
 *     this side.
 *   - A reader copies the bytes that both sides know, and sets the rest of its copy to zero. So in
 *     a field that is added later, zero must mean that the writer does not know the field.
 *   - A writer writes no more than the bytes that both sides know.
 */
#ifndef RINGSIDE_GROW_H
#define RINGSIDE_GROW_H

#include <ringside/types.h>

/* A stride of structs is a multiple of this, so that each field is aligned. */
#define RS_STRIDE_ALIGN 8u

#define RS_ASSERT_GROWS(type, least)                                                               \
	RS_STATIC_ASSERT(sizeof(type) >= (least) && (least) % sizeof(uint32_t) == 0,               \
			 "least size of " #type)

/*
 * Bytes of a record that both sides know. The record has `there` bytes in memory, our struct has
 * `here`.
 */
static inline size_t rs_known_bytes(size_t there, size_t here)
{
	return there < here ? there : here;
}

/*
 * Whether elements with the least size `least` may lie `stride` bytes apart. Elements of less than
 * RS_STRIDE_ALIGN bytes are plain bytes and words, which cannot grow.
 */
static inline bool rs_stride_fits(size_t stride, size_t least)
{
	if (least < RS_STRIDE_ALIGN)
		return stride == least;
	return stride >= least && stride % RS_STRIDE_ALIGN == 0;
}

/*
 * Copies a record of `there` bytes into our struct of `here` bytes. Nobody may be writing to
 * `from`.
 */
static inline void rs_take_record(void *out, size_t here, const void *from, size_t there)
{
	size_t known = rs_known_bytes(there, here);

	__builtin_memcpy(out, from, known);
	__builtin_memset((uint8_t *)out + known, 0, here - known);
}

/*
 * The same for a record that holds its own size, in the 32 bits at `size_at`. The record lies at
 * the start of `mapped` bytes. False: the record is smaller than its least size, or larger than
 * `mapped`. Then `out` has the first `least` bytes if as many are mapped, and zero elsewhere.
 */
static inline bool rs_take_sized_record(void *out, size_t here, const void *from, uint64_t mapped,
					size_t least, size_t size_at)
{
	uint32_t there;

	__builtin_memset(out, 0, here);
	if (mapped < least)
		return false;
	__builtin_memcpy(out, from, least);
	__builtin_memcpy(&there, (const uint8_t *)out + size_at, sizeof(there));
	if (there < least || there > mapped)
		return false;
	__builtin_memcpy((uint8_t *)out + least, (const uint8_t *)from + least,
			 rs_known_bytes(there, here) - least);
	return true;
}

#endif
