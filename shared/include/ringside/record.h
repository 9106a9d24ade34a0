/* SPDX-License-Identifier: MIT */
/*
 * One record format in ring, file and pipe. Records follow the page's header, each at a multiple of
 * 8 bytes.
 *
 * A timestamp is the low 32 bits of the event clock. Within a ring records are in time order. So
 * the full value is that of the record before with its low half replaced, plus 2^32 if the result
 * is smaller. The first record of a page starts from the page header's time. If 2^32 ticks or more
 * may have passed, an RS_REC_TIME comes first.
 */
#ifndef RINGSIDE_RECORD_H
#define RINGSIDE_RECORD_H

#include <ringside/types.h>

/*
 * Ids below RS_FIRST_EVENT_ID are marks in the stream. They are not counted as records. PAD and
 * CONTEXT have the shapes below. Every other mark begins with an id and its size in bytes, which is
 * 8 or more. So a reader skips the marks that it does not know.
 */
#define RS_REC_PAD 0u     /* the rest of the page is empty */
#define RS_REC_CONTEXT 1u /* struct rs_rec_context: valid from here to the end of the page */
#define RS_REC_TIME 2u    /* struct rs_rec_time: full timestamp and clock chain of what follows */
/* struct rs_rec_tgid: valid to an RS_REC_CONTEXT with another pid, or the end of the page */
#define RS_REC_TGID 3u
#define RS_REC_ACTIVITY 4u  /* struct rs_rec_activity: activity of the next record */
#define RS_REC_RELATED 5u   /* struct rs_rec_activity: the activity that caused it */
#define RS_REC_STACK 6u     /* struct rs_rec_stack: who called the next record's tracepoint */
#define RS_REC_CONTINUED 7u /* struct rs_rec_continued: the next record is a piece */
#define RS_FIRST_EVENT_ID 64u
#define RS_FIRST_HOST_EVENT_ID 0xc000u /* the host gives the ids from here on, the guest others */

/*
 * A record has at most RS_REC_MAX bytes and fits in its page. A larger payload may be written in
 * pieces: records of the same id, each with an RS_REC_CONTINUED right before it. A reader that
 * cannot join pieces shows each as a cut record: the first one with the fields that it holds, the
 * others without any. A writer that cannot make pieces cuts the payload.
 */
#define RS_REC_CUT 0x8000u /* in `size`: the payload did not fit and was cut */
#define RS_REC_SIZE_MASK 0x7fffu
#define RS_REC_MAX 0x7ff8u /* largest record in bytes, header included */

struct rs_rec_header {
	uint16_t id;   /* RS_REC_* or an event id */
	uint16_t size; /* bytes, header included, not rounded up; RS_REC_CUT */
	uint32_t ts;   /* low half of the event clock */
};
RS_ASSERT_SIZE(struct rs_rec_header, 8);

/*
 * Context bits: what the vCPU was doing. The printer makes ftrace's flag column of them. Bits 0..7
 * and 15 are flags. Between them lie two depths, which stay at their largest value when the real
 * depth is larger.
 */
#define RS_CTX_IRQS_OFF (1u << 0)
#define RS_CTX_NEED_RESCHED (1u << 1)
#define RS_CTX_HARDIRQ (1u << 2)
#define RS_CTX_SOFTIRQ (1u << 3)
#define RS_CTX_NMI (1u << 4)
#define RS_CTX_USER (1u << 5)  /* emitted by user space */
#define RS_CTX_PREEMPT_SHIFT 8 /* bits 8..11: preempt-disable depth */
#define RS_CTX_PREEMPT_MAX 15u
#define RS_CTX_MIGRATE_SHIFT 12 /* bits 12..14: migrate-disable depth */
#define RS_CTX_MIGRATE_MAX 7u

struct rs_rec_context {
	uint16_t id;      /* RS_REC_CONTEXT */
	uint16_t context; /* RS_CTX_* */
	uint32_t pid;
};
RS_ASSERT_SIZE(struct rs_rec_context, 8);

struct rs_rec_time {
	uint16_t id;    /* RS_REC_TIME */
	uint16_t size;  /* 16 */
	uint32_t chain; /* clock chain from here on: see control.h */
	uint64_t ts;
};
RS_ASSERT_SIZE(struct rs_rec_time, 16);

struct rs_rec_tgid {
	uint16_t id;   /* RS_REC_TGID */
	uint16_t size; /* 8 */
	uint32_t tgid; /* thread group of the running task; 0: not known */
};
RS_ASSERT_SIZE(struct rs_rec_tgid, 8);

struct rs_rec_activity {
	uint16_t id;   /* RS_REC_ACTIVITY or RS_REC_RELATED */
	uint16_t size; /* 24 */
	uint32_t reserved;
	uint8_t activity[16];
};
RS_ASSERT_SIZE(struct rs_rec_activity, 24);

/*
 * In the ring it is right before its record, and in the same page. A stack may be shorter than was
 * asked for, or missing: where it ends, where a frame cannot be right, where the page is too small
 * for both, and in a record that an agent writes in another way.
 */
struct rs_rec_stack {
	uint16_t id;   /* RS_REC_STACK */
	uint16_t size; /* 8, and 8 for each frame */
	uint32_t reserved;
	/* uint64_t frames[]: return addresses (GVA), innermost first */
};
RS_ASSERT_SIZE(struct rs_rec_stack, 8);
#define RS_STACK_MAX 64u /* frames of one mark; a reader leaves out what is beyond */

struct rs_rec_continued {
	uint16_t id;     /* RS_REC_CONTINUED */
	uint16_t size;   /* 24 */
	uint32_t offset; /* of the piece in the whole payload */
	uint32_t total;  /* bytes of the whole payload */
	uint32_t reserved;
	uint64_t
		tag; /* the same in all pieces of one record; neighbours in the ring have another */
};
RS_ASSERT_SIZE(struct rs_rec_continued, 24);

/*
 * In a payload, a dynamic array or string is a 32-bit locator in the fixed part, as in Linux. Its
 * low half is the offset of the bytes from the payload's start, its high half their length. A
 * string's length includes its NUL. The dynamic bytes follow the fixed part in field order.
 *
 * RS_LOCATOR_CUT: the field did not fit. These bytes are its front: whole elements, or the text's
 * first bytes, without a NUL. The record has RS_REC_CUT, too. A reader that does not know the bit
 * sees a length beyond any payload, so that the field lies outside.
 */
#define RS_LOCATOR_CUT 0x80000000u

static inline uint32_t rs_locator(uint32_t offset, uint32_t length)
{
	return length << 16 | offset;
}

static inline uint32_t rs_locator_offset(uint32_t locator)
{
	return locator & 0xffff;
}

static inline uint32_t rs_locator_length(uint32_t locator)
{
	return (locator & ~RS_LOCATOR_CUT) >> 16;
}

#endif
