/* SPDX-License-Identifier: MIT */
/*
 * How a record of the ABI grows, so that either side may be the newer one.
 *
 * A struct that can grow has a least size, RS_X_MIN_SIZE: the size that it has in 1.0. The struct
 * may get longer at its end, its least size never changes. A stride or size in the region says how
 * long a record is there.
 *   - A stride or size is good from the least size on, whatever sizeof is on this side.
 *   - A reader takes the bytes that both sides know into a copy whose rest is zero. So in a later
 *     field zero has to mean that the writer does not know of it.
 *   - A writer writes no more than the bytes that both sides know.
 */
#ifndef RINGSIDE_GROW_H
#define RINGSIDE_GROW_H

#include <ringside/types.h>

/* What the stride of structs is a multiple of, so that each member lies aligned. */
#define RS_STRIDE_ALIGN 8u

#define RS_ASSERT_GROWS(type, least)                                                               \
	_Static_assert(sizeof(type) >= (least) && (least) % sizeof(uint32_t) == 0,                 \
		       "least size of " #type)

/* Bytes of a record that both sides know, where `there` bytes lie and we know `here`. */
static inline size_t rs_known_bytes(size_t there, size_t here)
{
	return there < here ? there : here;
}

/*
 * Whether elements of `least` bytes or more may lie `stride` bytes apart. Bytes and words, of less
 * than RS_STRIDE_ALIGN, cannot grow.
 */
static inline bool rs_stride_fits(size_t stride, size_t least)
{
	if (least < RS_STRIDE_ALIGN)
		return stride == least;
	return stride >= least && stride % RS_STRIDE_ALIGN == 0;
}

/* A record of `there` bytes, as the `here` bytes of our struct. Nobody may be writing to `from`. */
static inline void rs_take_record(void *out, size_t here, const void *from, size_t there)
{
	size_t known = rs_known_bytes(there, here);

	__builtin_memcpy(out, from, known);
	__builtin_memset((uint8_t *)out + known, 0, here - known);
}

/*
 * The same for a record that says its own size, in the 32 bits at `size_at`, and begins `mapped`
 * bytes. Its least size is taken first. False: it is smaller than that, or larger than what is
 * mapped; then no more was taken than the least size, if there is that much.
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
