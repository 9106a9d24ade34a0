/* SPDX-License-Identifier: MIT */
/*
 * One record format in ring, file and pipe. Records fill a page from RS_RING_PAGE_HEADER on, each
 * at a multiple of 8 bytes.
 *
 * A timestamp is the low 32 bits of the event clock. Within a ring records are in time order, so
 * the full value is the previous one (first: the page header's) with its low half replaced, plus 2^32 if
 * that went back. Where 2^32 ticks or more may have passed, an RS_REC_TIME comes first.
 */
#ifndef RINGSIDE_RECORD_H
#define RINGSIDE_RECORD_H

#include <ringside/types.h>

/* Event ids below this are marks in the stream, not records: they are never counted. */
#define RS_REC_PAD 0u     /* the rest of the page is empty */
#define RS_REC_CONTEXT 1u /* struct rs_rec_context: holds from here on, in this page */
#define RS_REC_TIME 2u    /* struct rs_rec_time: full timestamp of what follows */
#define RS_FIRST_EVENT_ID 16u

#define RS_REC_CUT 0x8000u /* in `size`: the payload did not fit and was cut */
#define RS_REC_SIZE_MASK 0x7fffu
#define RS_REC_MAX 0x7ff8u /* largest record in bytes, header included */

struct rs_rec_header {
	uint16_t id;   /* RS_REC_* or an event id */
	uint16_t size; /* bytes, header included, not rounded up; RS_REC_CUT */
	uint32_t ts;   /* low half of the event clock */
};
RS_ASSERT_SIZE(struct rs_rec_header, 8);

/* Context bits: what the vCPU was doing. ftrace's flag column is printed from these. */
#define RS_CTX_IRQS_OFF (1u << 0)
#define RS_CTX_NEED_RESCHED (1u << 1)
#define RS_CTX_HARDIRQ (1u << 2)
#define RS_CTX_SOFTIRQ (1u << 3)
#define RS_CTX_NMI (1u << 4)
#define RS_CTX_USER (1u << 5)  /* emitted by user space */
#define RS_CTX_PREEMPT_SHIFT 8 /* bits 8..15: preempt-disable depth, saturated */

struct rs_rec_context {
	uint16_t id;      /* RS_REC_CONTEXT */
	uint16_t context; /* RS_CTX_* */
	uint32_t pid;
};
RS_ASSERT_SIZE(struct rs_rec_context, 8);

struct rs_rec_time {
	uint16_t id;   /* RS_REC_TIME */
	uint16_t size; /* 16 */
	uint32_t reserved;
	uint64_t ts;
};
RS_ASSERT_SIZE(struct rs_rec_time, 16);

/*
 * In a payload, a dynamic array or string is a 32-bit locator in the fixed part, as in Linux:
 * low half the offset of the bytes from the payload's start, high half their length. A string's
 * length includes its NUL. The dynamic bytes follow the fixed part in field order.
 */
static inline uint32_t rs_locator(uint32_t offset, uint32_t length)
{
	return length << 16 | offset;
}

#endif
