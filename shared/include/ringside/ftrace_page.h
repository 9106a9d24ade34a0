/* SPDX-License-Identifier: MIT */
/*
 * A page of Linux' ring buffer, as reading trace_pipe_raw gives it on a 64-bit machine: a time, the
 * length of what follows, then records. Each has a word with its kind and the time since the one
 * before it. The bytes may be hostile: all is bounded here, and each word is read once.
 *
 *	struct rs_ftrace_walk walk;
 *	struct rs_ftrace_record record;
 *
 *	if (rs_ftrace_begin(&walk, page, size))
 *		while (rs_ftrace_next(&walk, &record))
 *			…
 */
#ifndef RINGSIDE_FTRACE_PAGE_H
#define RINGSIDE_FTRACE_PAGE_H

#include <ringside/types.h>

#define RS_FTRACE_HEADER 16u        /* bytes before the first record */
#define RS_FTRACE_PAGE_MAX 65536u   /* bytes of a page that we take */
#define RS_FTRACE_COMMON 8u         /* id, flags, preempt count and pid of each record */
#define RS_FTRACE_MISSED (1u << 31) /* in the length: records were lost before the page … */
#define RS_FTRACE_STORED (1u << 30) /* … and their number stands behind the last record */
#define RS_FTRACE_LENGTH 0xfffffu

/* The kind of a record; smaller ones are its length in words. */
#define RS_FTRACE_PADDING 29u
#define RS_FTRACE_EXTEND 30u
#define RS_FTRACE_STAMP 31u

struct rs_ftrace_walk {
	const uint8_t *page;
	uint32_t at, end; /* bytes from the page's start */
	uint64_t ts;
	uint64_t missed; /* records lost before the page: UINT64_MAX: some, but not how many */
};

struct rs_ftrace_record {
	uint32_t at;         /* of its word */
	uint32_t size;       /* with that word */
	const uint8_t *data; /* behind the word */
	uint32_t data_size;
	uint64_t ts;
};

static inline uint32_t rs_ftrace_word(const uint8_t *at)
{
	uint32_t word;

	__builtin_memcpy(&word, at, sizeof(word));
	return word;
}

/* False: it is too short, or longer than it says it may be. */
static inline bool rs_ftrace_begin(struct rs_ftrace_walk *walk, const uint8_t *page, uint32_t size)
{
	uint32_t commit, length;

	if (size < RS_FTRACE_HEADER || size > RS_FTRACE_PAGE_MAX)
		return false;
	__builtin_memcpy(&walk->ts, page, sizeof(walk->ts));
	commit = rs_ftrace_word(page + 8);
	length = commit & RS_FTRACE_LENGTH;
	walk->page = page;
	walk->at = RS_FTRACE_HEADER;
	walk->missed = commit & RS_FTRACE_MISSED ? UINT64_MAX : 0;
	if (length > size - RS_FTRACE_HEADER)
		return false;
	/* The length is that of the records. What was lost stands behind them. */
	walk->end = RS_FTRACE_HEADER + length;
	if (commit & RS_FTRACE_MISSED && commit & RS_FTRACE_STORED) {
		if (size - walk->end < 8)
			return false;
		__builtin_memcpy(&walk->missed, page + walk->end, 8);
	}
	return true;
}

/* What a record of this word takes, word included; 0: it makes no sense. */
static inline uint32_t rs_ftrace_size(const struct rs_ftrace_walk *walk, uint32_t kind)
{
	uint32_t room = walk->end - walk->at, length;

	if (kind == RS_FTRACE_EXTEND || kind == RS_FTRACE_STAMP)
		return room >= 8 ? 8 : 0;
	if (kind && kind != RS_FTRACE_PADDING)
		return 4 + 4 * kind <= room ? 4 + 4 * kind : 0;
	if (room < 8)
		return 0;
	length = rs_ftrace_word(walk->page + walk->at + 4);
	/* The length counts itself. */
	return length >= 4 && length <= room - 4 ? (length + 4 + 3) & ~3u : 0;
}

/* False: there are no more, or the rest makes no sense. */
static inline bool rs_ftrace_next(struct rs_ftrace_walk *walk, struct rs_ftrace_record *out)
{
	while (walk->end - walk->at >= 4) {
		uint32_t at = walk->at, word = rs_ftrace_word(walk->page + at);
		uint32_t kind = word & 31, delta = word >> 5, size = rs_ftrace_size(walk, kind);
		uint32_t skip = kind ? 4 : 8;

		if (!size || size > walk->end - at || (kind == RS_FTRACE_PADDING && !delta))
			break;
		walk->at += size;
		if (kind == RS_FTRACE_STAMP) {
			uint64_t low = (uint64_t)rs_ftrace_word(walk->page + at + 4) << 27 | delta;

			/* The upper five bits are as they were. */
			walk->ts = (walk->ts & 0xf800000000000000ull) | low;
			continue;
		}
		walk->ts += delta;
		if (kind == RS_FTRACE_EXTEND)
			walk->ts += (uint64_t)rs_ftrace_word(walk->page + at + 4) << 27;
		if (kind >= RS_FTRACE_PADDING)
			continue;
		out->at = at;
		out->size = size;
		out->data = walk->page + at + skip;
		out->data_size = size - skip;
		out->ts = walk->ts;
		return true;
	}
	walk->at = walk->end;
	return false;
}

/*
 * Takes a record out of its page, which is the caller's. The times of others stay, but padding must
 * take some time: where a record came in the same tick as one before it, all that follow get one
 * tick more, as when the kernel takes a record out.
 */
static inline void rs_ftrace_drop(uint8_t *page, const struct rs_ftrace_record *record)
{
	uint32_t word = rs_ftrace_word(page + record->at), length = record->size - 4;
	uint32_t delta = word >> 5;
	uint64_t ts;

	/* Mostly the first record, whose time is the page's. */
	if (!delta && record->at == RS_FTRACE_HEADER) {
		__builtin_memcpy(&ts, page, sizeof(ts));
		ts--;
		__builtin_memcpy(page, &ts, sizeof(ts));
	}
	word = RS_FTRACE_PADDING | (delta ? delta : 1) << 5;
	__builtin_memcpy(page + record->at, &word, sizeof(word));
	__builtin_memcpy(page + record->at + 4, &length, sizeof(length));
}

#endif
