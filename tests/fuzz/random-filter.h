/* SPDX-License-Identifier: MIT */
/*
 * Random filter programs that the verifier accepts, and random records for them. Choices come from
 * the fuzzer's bytes, and once these are used up from a generator that they have seeded.
 */
#ifndef RS_TESTS_FUZZ_RANDOM_FILTER_H
#define RS_TESTS_FUZZ_RANDOM_FILTER_H

#include "../../guest-agent/core/filter.h"
#include "filter/filter.h"

#include <errno.h>
#include <glib.h>
#include <ringside/control.h>
#include <ringside/record.h>
#include <string.h>
#include <sys/mman.h>

#define RANDOM_ENTRY 72u /* bytes of the fixed part */
#define RANDOM_DYNS 2u

struct choices {
	const uint8_t *bytes;
	size_t left;
	uint64_t state;
};

static inline uint32_t choose(struct choices *c, uint32_t count)
{
	c->state = c->state * 6364136223846793005u + 1442695040888963407u;
	if (c->left) {
		c->left--;
		c->state += *c->bytes++;
		return c->bytes[-1] % count;
	}
	return (uint32_t)(c->state >> 33) % count;
}

static inline struct choices choices_of(const uint8_t *bytes, size_t size)
{
	struct choices c = {bytes, size, 0x9e3779b97f4a7c15u};

	for (size_t i = 0; i < size; i++)
		c.state = (c.state ^ bytes[i]) * 0x100000001b3u;
	return c;
}

/* Values that meet one another: small ones, and those at the edges of each width. */
static inline uint64_t random_value(struct choices *c)
{
	static const uint64_t edges[] = {0,          1,          0x7f,       0x80,
					 0xff,       0x7fff,     0x8000,     0xffff,
					 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 63,
					 UINT64_MAX, INT64_MAX,  0x100000000};
	uint64_t value = choose(c, 3) ? edges[choose(c, G_N_ELEMENTS(edges))] : 0;

	switch (choose(c, 4)) {
	case 0:
		return value + choose(c, 3) - 1;
	case 1:
		return -value;
	case 2:
		return choose(c, 4);
	default:
		return value ^ (uint64_t)choose(c, 256) << 8 * choose(c, 8);
	}
}

static inline void random_text(struct choices *c, uint8_t *to, uint32_t size, bool nul)
{
	for (uint32_t i = 0; i < size; i++) {
		static const char letters[] = "aaabbc\xff";

		to[i] = nul && !choose(c, 12) ? 0 : (uint8_t)letters[choose(c, 7)];
	}
}

struct random_program {
	GByteArray *bytes;
	struct choices *c;
};

static inline uint32_t pool_add(GByteArray *pool, const void *bytes, uint32_t size)
{
	uint32_t at;

	while (pool->len % 8)
		g_byte_array_append(pool, (const guint8 *)"", 1);
	at = pool->len;
	g_byte_array_append(pool, bytes, size);
	return at;
}

/* A pattern as the host's compiler makes them, out of classes of three letters. */
static inline uint32_t random_glob(struct choices *c, GByteArray *pool, uint32_t *size)
{
	struct rs_filter_glob *head;
	uint8_t bytes[sizeof(*head) + 5 * 8] = {0};
	uint64_t row[5] = {0};
	uint32_t length = 1 + choose(c, choose(c, 6) ? 8 : RS_FILTER_MAX_GLOB);

	head = (void *)bytes;
	head->length = (uint16_t)length;
	head->classes = 5;
	for (unsigned int b = 1; b < 256; b++)
		head->class_of[b] = b >= 'a' && b <= 'c' ? (uint8_t)(b - 'a' + 1) : 4;
	for (uint32_t i = 0; i < length; i++) {
		bool star = i && head->stay >> (i - 1) & 1;

		if (!star && !choose(c, 3))
			head->stay |= 1ull << i;
		else
			for (unsigned int k = 1 + choose(c, 4), n = choose(c, 3) ? 1 : 4; n; n--)
				row[(k + n) % 4 + 1] |= 1ull << i;
	}
	head->empty = head->stay;
	memcpy(bytes + sizeof(*head), row, sizeof(row));
	*size = sizeof(bytes);
	return pool_add(pool, bytes, sizeof(bytes));
}

/* A text and, before it, where to go on. */
static inline uint32_t random_sub(struct choices *c, GByteArray *pool, uint32_t *size)
{
	uint32_t length = 1 + choose(c, 6);
	uint16_t shorter[6] = {0};
	uint8_t bytes[18];

	random_text(c, bytes + 2 * length, length, false);
	for (uint32_t i = 2; i < length; i++) {
		const uint8_t *text = bytes + 2 * length;

		for (uint32_t n = 1; n < i; n++)
			if (!memcmp(text, text + i - n, n))
				shorter[i] = (uint16_t)n;
	}
	memcpy(bytes, shorter, 2 * length);
	*size = 3 * length;
	return pool_add(pool, bytes, *size);
}

static inline void random_source(struct choices *c, struct rs_filter_insn *in)
{
	static const uint8_t sources[] = {RS_SRC_FIELD, RS_SRC_FIELD,  RS_SRC_FIELD,
					  RS_SRC_PID,   RS_SRC_CPU,    RS_SRC_DYN_INT,
					  RS_SRC_TGID,  RS_SRC_DYN_INT};

	in->source = sources[choose(c, sizeof(sources))];
	if (in->source == RS_SRC_FIELD || in->source == RS_SRC_DYN_INT) {
		in->width = (uint16_t)(1u << choose(c, 4));
		in->offset = (uint16_t)choose(
			c, in->source == RS_SRC_FIELD ? RANDOM_ENTRY + 1 - in->width : 12);
	}
	if (in->source == RS_SRC_DYN_INT)
		in->width |= (uint16_t)(choose(c, RANDOM_DYNS) << 8);
}

static inline void random_string(struct choices *c, GByteArray *pool, struct rs_filter_insn *in)
{
	static const uint8_t sources[] = {RS_SRC_STRING, RS_SRC_STRING, RS_SRC_DYN, RS_SRC_DYN,
					  RS_SRC_COMM};
	uint32_t length = choose(c, choose(c, 5) ? 5 : 48), at;
	uint8_t text[48];

	in->source = sources[choose(c, sizeof(sources))];
	in->op = (uint8_t)(RS_OP_STR_EQ + choose(c, 5));
	if (in->source == RS_SRC_DYN)
		in->width = (uint16_t)choose(c, RANDOM_DYNS);
	if (in->source == RS_SRC_STRING) {
		in->width = (uint16_t)choose(c, choose(c, 3) ? 9 : 65);
		in->offset = (uint16_t)choose(c, RANDOM_ENTRY + 1 - in->width);
	}
	random_text(c, text, sizeof(text), false);
	if (in->op == RS_OP_STR_GLOB)
		at = random_glob(c, pool, &length);
	else if (in->op == RS_OP_STR_SUB)
		at = random_sub(c, pool, &length);
	else
		at = pool_add(pool, text, length);
	in->imm = at | (uint64_t)length << 32;
}

static inline void random_integer(struct choices *c, GByteArray *pool, struct rs_filter_insn *in)
{
	bool sized;
	unsigned int bits;

	random_source(c, in);
	sized = in->source == RS_SRC_FIELD || in->source == RS_SRC_DYN_INT;
	bits = 8 * (sized ? in->width & 0xffu : 4u);
	in->op = (uint8_t)choose(c, 14);
	if (!sized && in->op >= RS_OP_SLT && in->op <= RS_OP_SNE && in->op != RS_OP_ANY)
		in->op = RS_OP_EQ;
	if (in->op == RS_OP_CPUSET) {
		uint8_t map[24];
		uint32_t bytes = choose(c, 25);

		for (uint32_t i = 0; i < sizeof(map); i++)
			map[i] = (uint8_t)choose(c, 256);
		in->imm = pool_add(pool, map, bytes) | (uint64_t)bytes << 32;
		return;
	}
	in->mask = choose(c, 3) ? UINT64_MAX : random_value(c);
	if (bits < 64 && (in->op <= RS_OP_GE || in->op == RS_OP_ANY))
		in->mask &= (1ull << bits) - 1;
	in->imm = in->op == RS_OP_ANY ? 0 : random_value(c);
}

static inline void random_pair(struct choices *c, struct rs_filter_insn *in)
{
	struct rs_filter_insn second = {0};
	uint64_t word;

	random_source(c, in);
	random_source(c, &second);
	memcpy(&word, &second, sizeof(word));
	in->op = (uint8_t)(RS_OP_PAIR_EQ + choose(c, 6));
	in->imm = word & 0xffffffffffffull;
	in->mask = choose(c, 4);
}

static inline uint16_t random_place(struct choices *c, uint32_t at, uint32_t count)
{
	uint32_t left = count - at - 1;
	uint32_t to = choose(c, 5);

	if (to == 0 || !left)
		return choose(c, 2) ? RS_FILTER_ACCEPT : RS_FILTER_REJECT;
	return (uint16_t)(at + 1 + (to > 2 ? 0 : choose(c, left)));
}

/* A program for an event of RANDOM_ENTRY bytes and RANDOM_DYNS dynamic fields. */
static inline GByteArray *random_program(struct choices *c)
{
	uint32_t count = 1 + choose(c, choose(c, 4) ? 4 : 24);
	uint32_t code = (uint32_t)(sizeof(struct rs_filter_program) +
				   count * sizeof(struct rs_filter_insn));
	g_autoptr(GByteArray) pool = g_byte_array_new();
	GByteArray *program = g_byte_array_new();
	struct rs_filter_program head = {
		.insn_count = (uint16_t)count, .pool = code, .event = RS_FIRST_EVENT_ID};

	g_byte_array_append(program, (const guint8 *)&head, sizeof(head));
	for (uint32_t i = 0; i < count; i++) {
		struct rs_filter_insn in = {0};
		uint32_t kind = choose(c, 5);

		if (kind < 2)
			random_integer(c, pool, &in);
		else if (kind < 4)
			random_string(c, pool, &in);
		else
			random_pair(c, &in);
		if (in.op >= RS_OP_CPUSET && in.op <= RS_OP_STR_SUB)
			in.imm += code;
		in.on_true = random_place(c, i, count);
		in.on_false = random_place(c, i, count);
		g_byte_array_append(program, (const guint8 *)&in, sizeof(in));
	}
	g_byte_array_append(program, pool->data, pool->len);
	g_byte_array_set_size(program, RS_ALIGN_UP(program->len, RS_FILTER_GRAIN));
	memset(program->data + code + pool->len, 0, program->len - code - pool->len);
	((struct rs_filter_program *)program->data)->size = program->len;
	return program;
}

/* Memory that ends where no page is, so that a byte too many is a fault. */
struct fence {
	uint8_t *end;
};

static inline struct fence fence_new(void)
{
	uint8_t *at = mmap(NULL, 3 * RS_PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	g_assert(at != MAP_FAILED && !mprotect(at + 2 * RS_PAGE_SIZE, RS_PAGE_SIZE, PROT_NONE));
	return (struct fence){at + 2 * RS_PAGE_SIZE};
}

struct random_record {
	struct fence entry, comm, dyn_data[RANDOM_DYNS];
	struct rs_dyn dyn[RANDOM_DYNS];
	struct rs_filter_input input;
};

static inline void random_word(struct choices *c, struct random_record *r, uint32_t at)
{
	uint8_t *entry = r->entry.end - RANDOM_ENTRY;
	uint64_t value = random_value(c);

	if (choose(c, 2))
		random_text(c, entry + at, 8, true);
	else
		memcpy(entry + at, &value, 8);
}

static inline void random_dyn(struct choices *c, struct random_record *r, uint32_t i)
{
	uint32_t size = choose(c, 200) ? choose(c, 24) : RS_FILTER_MAX_STRING - 3 + choose(c, 9);
	uint8_t *data = r->dyn_data[i].end - size;

	if (size < 99)
		random_text(c, data, size, true);
	else
		memset(data, 'a' + (int)choose(c, 2), size);
	r->dyn[i] = (struct rs_dyn){choose(c, 8) ? data : NULL, size};
}

static inline void random_task(struct choices *c, struct random_record *r)
{
	uint8_t *comm = r->comm.end - RS_COMM_LEN;

	random_text(c, comm, RS_COMM_LEN, true);
	r->input = (struct rs_filter_input){
		.entry = r->entry.end - RANDOM_ENTRY,
		.entry_size = RANDOM_ENTRY,
		.dyn = r->dyn,
		.dyn_count = RANDOM_DYNS,
		.comm = choose(c, 8) ? (const char *)comm : NULL,
		.pid = (uint32_t)random_value(c),
		.tgid = (uint32_t)random_value(c),
		.cpu = choose(c, 200),
	};
}

static inline void random_record(struct choices *c, struct random_record *r)
{
	for (uint32_t at = 0; at < RANDOM_ENTRY; at += 8)
		random_word(c, r, at);
	for (uint32_t i = 0; i < RANDOM_DYNS; i++)
		random_dyn(c, r, i);
	random_task(c, r);
}

/* Another record: a part of it changes, which takes less time than a new one. */
static inline void random_change(struct choices *c, struct random_record *r)
{
	uint32_t what = choose(c, 16);

	if (what < 12)
		random_word(c, r, choose(c, RANDOM_ENTRY - 7));
	else if (what < 15)
		random_dyn(c, r, choose(c, RANDOM_DYNS));
	else
		random_task(c, r);
}

static inline void random_record_init(struct random_record *r)
{
	r->entry = fence_new();
	r->comm = fence_new();
	for (uint32_t i = 0; i < RANDOM_DYNS; i++)
		r->dyn_data[i] = fence_new();
}

#endif
