/* SPDX-License-Identifier: MIT */
/* The agent runs programs that nobody has verified: at each limit, and with any bytes. */
#include "filter.h"
#include "hand.h"
#include "sample.h"

#include <string.h>

/* What an operation says of a value of `width` bytes, all of whose bits count. */
static bool compared(unsigned int op, unsigned int width, uint64_t raw, uint64_t imm)
{
	uint64_t a = width == 8 ? raw : raw & ((1ull << width * 8) - 1);
	int64_t s = width == 1 ? (int8_t)raw : width == 2 ? (int16_t)raw : (int64_t)raw;

	if (width == 4)
		s = (int32_t)raw;
	switch (op) {
	case RS_OP_EQ:
		return a == imm;
	case RS_OP_NE:
		return a != imm;
	case RS_OP_LT:
		return a < imm;
	case RS_OP_LE:
		return a <= imm;
	case RS_OP_GT:
		return a > imm;
	case RS_OP_GE:
		return a >= imm;
	case RS_OP_SLT:
		return s < (int64_t)imm;
	case RS_OP_SLE:
		return s <= (int64_t)imm;
	case RS_OP_SGT:
		return s > (int64_t)imm;
	case RS_OP_SGE:
		return s >= (int64_t)imm;
	case RS_OP_ANY:
		return a != 0;
	case RS_OP_SEQ:
		return s == (int64_t)imm;
	default:
		return s != (int64_t)imm;
	}
}

/*
 * What comes before an instruction and leads to it on either way. The agent has a way of its own
 * for programs of unsigned operations on 4 and 8 bytes, for those on any integer field, for others.
 */
static const struct rs_filter_insn LEADS[] = {
	{.op = RS_OP_GE, .width = 4, .on_true = 1, .on_false = 1, .mask = UINT32_MAX},
	{.op = RS_OP_SGE, .width = 1, .on_true = 1, .on_false = 1, .mask = UINT64_MAX},
	{.op = RS_OP_EQ, .source = RS_SRC_PID, .on_true = 1, .on_false = 1},
};

static bool run_hand(const struct by_hand *p, const struct rs_filter_input *in)
{
	g_autofree void *bytes = g_memdup2(p, p->head.size);

	return rs_filter_run(bytes, p->head.size, in);
}

/* Whether the agent looks at what the instruction names, and finds no 1 and no "aaaa" there. */
static bool reaches(const struct rs_filter_insn *lead, struct rs_filter_insn insn,
		    const struct rs_filter_input *in)
{
	struct by_hand p;

	begin(&p, 2, insn, 128);
	p.insn[0] = *lead;
	p.insn[1].imm = insn.op >= RS_OP_STR_EQ ? p.head.pool | 4ull << 32 : 1;
	memset(p.insn + 2, 'a', 128);
	return !run_hand(&p, in);
}

static void check_operation(unsigned int op, unsigned int width, uint64_t raw, uint64_t imm)
{
	const struct rs_filter_insn insn = {
		.op = (uint8_t)op,
		.width = (uint16_t)width,
		.offset = 8,
		.imm = imm,
		.mask = op >= RS_OP_SLT && op != RS_OP_ANY ? UINT64_MAX
							   : UINT64_MAX >> (64 - width * 8),
	};
	uint64_t entry[3] = {0, raw, UINT64_MAX};
	const struct rs_filter_input in = {.entry = entry, .entry_size = sizeof(entry)};
	struct by_hand p;

	for (unsigned int i = 0; i <= G_N_ELEMENTS(LEADS); i++) {
		begin(&p, i ? 2 : 1, insn, 0);
		if (i)
			p.insn[0] = LEADS[i - 1];
		g_assert_cmpint(run_hand(&p, &in), ==, compared(op, width, raw, imm));
	}
}

static void test_operations(void)
{
	static const uint64_t values[] = {0,
					  1,
					  99,
					  100,
					  101,
					  0x7f,
					  0x80,
					  (uint64_t)-100,
					  (uint64_t)-99,
					  (uint64_t)-101,
					  UINT64_MAX,
					  1ull << 63,
					  1ull << 32,
					  0x7fffffff,
					  0x80000000};

	for (unsigned int op = RS_OP_EQ; op <= RS_OP_SNE; op++) {
		for (unsigned int width = 1; width <= 8; width *= 2) {
			for (unsigned int i = 0; i < G_N_ELEMENTS(values); i++) {
				check_operation(op, width, values[i], 0);
				check_operation(op, width, values[i], 100);
				check_operation(op, width, values[i], (uint64_t)-100);
			}
		}
	}
}

/* A field that ends where the entry does is looked at. In doubt the event passes. */
static void test_fields(void)
{
	const struct rs_dyn dyn[] = {{"abc", 4}, {NULL, 0}};
	const struct rs_filter_input in = {.entry = g_malloc0(ENTRY),
					   .entry_size = ENTRY,
					   .dyn = dyn,
					   .dyn_count = DYNS,
					   .comm = "sixteen-bytes-ab"};

	for (unsigned int i = 0; i < G_N_ELEMENTS(LEADS); i++) {
		struct rs_filter_insn insn = {.source = RS_SRC_FIELD};

		for (unsigned int width = 1; width <= 8; width *= 2) {
			insn.width = (uint16_t)width;
			insn.offset = (uint16_t)(ENTRY - width);
			g_assert_true(reaches(&LEADS[i], insn, &in));
			insn.offset++;
			g_assert_false(reaches(&LEADS[i], insn, &in));
		}
		insn.offset = 0;
		insn.width = 0;
		g_assert_false(reaches(&LEADS[i], insn, &in));
		insn.width = 9;
		g_assert_false(reaches(&LEADS[i], insn, &in));
		insn = (struct rs_filter_insn){.op = RS_OP_STR_EQ,
					       .source = RS_SRC_STRING,
					       .width = 5,
					       .offset = ENTRY - 5};
		g_assert_true(reaches(&LEADS[i], insn, &in));
		insn.offset++;
		g_assert_false(reaches(&LEADS[i], insn, &in));
		insn.offset = ENTRY;
		insn.width = 0;
		g_assert_true(reaches(&LEADS[i], insn, &in));
		insn.offset++;
		g_assert_false(reaches(&LEADS[i], insn, &in));
		insn.source = RS_SRC_DYN;
		insn.offset = 0;
		insn.width = DYNS - 1;
		g_assert_true(reaches(&LEADS[i], insn, &in));
		insn.width = DYNS;
		g_assert_false(reaches(&LEADS[i], insn, &in));
		insn.source = RS_SRC_TGID + 1;
		g_assert_false(reaches(&LEADS[i], insn, &in));
		/* What is no integer has none. */
		insn = (struct rs_filter_insn){.op = RS_OP_EQ, .mask = UINT64_MAX};
		for (unsigned int source = 0; source < 256; source++) {
			bool integer = source == RS_SRC_PID || source == RS_SRC_CPU ||
				       source == RS_SRC_TGID;

			insn.source = (uint8_t)source;
			insn.op = RS_OP_EQ;
			g_assert_true(reaches(&LEADS[i], insn, &in) == integer);
			insn.op = RS_OP_CPUSET;
			if (!integer)
				g_assert_false(reaches(&LEADS[i], insn, &in));
		}
	}
	g_free((void *)in.entry);
}

/* The text `want` in the pool, compared with what `in` holds. */
static bool run_text(unsigned int op, unsigned int source, const char *want, unsigned int length,
		     const struct rs_filter_input *in)
{
	struct rs_filter_insn insn = {.op = (uint8_t)op, .source = (uint8_t)source, .width = 4};
	struct by_hand p;

	begin(&p, 1, insn, 64); /* of the size 128: the pool ends where the program does */
	memcpy(p.insn + 1, want, length);
	p.insn[0].imm = p.head.pool | (uint64_t)length << 32;
	return run_hand(&p, in);
}

static void test_texts(void)
{
	static const char full[] = {'a', 'b', 'c', 'd'}; /* without a NUL */
	struct rs_filter_input in = {.entry = "abc\0efg", .entry_size = 8, .comm = "task"};

	g_assert_true(run_text(RS_OP_STR_EQ, RS_SRC_STRING, "abc", 3, &in));
	g_assert_false(run_text(RS_OP_STR_EQ, RS_SRC_STRING, "abcd", 4, &in));
	g_assert_false(run_text(RS_OP_STR_EQ, RS_SRC_STRING, "ab", 2, &in));
	g_assert_false(run_text(RS_OP_STR_EQ, RS_SRC_STRING, "abd", 3, &in));
	g_assert_true(run_text(RS_OP_STR_PREFIX, RS_SRC_STRING, "abc", 3, &in));
	g_assert_false(run_text(RS_OP_STR_PREFIX, RS_SRC_STRING, "abce", 4, &in));
	g_assert_true(run_text(RS_OP_STR_SUFFIX, RS_SRC_STRING, "abc", 3, &in));
	g_assert_true(run_text(RS_OP_STR_SUFFIX, RS_SRC_STRING, "c", 1, &in));
	g_assert_false(run_text(RS_OP_STR_SUFFIX, RS_SRC_STRING, "xabc", 4, &in));
	in.entry = "\0bcd"; /* empty */
	g_assert_false(run_text(RS_OP_STR_SUFFIX, RS_SRC_STRING, "d", 1, &in));
	g_assert_true(run_text(RS_OP_STR_SUFFIX, RS_SRC_STRING, "", 0, &in));
	g_assert_true(run_text(RS_OP_STR_EQ, RS_SRC_STRING, "", 0, &in));
	in.entry = full;
	in.entry_size = sizeof(full);
	g_assert_true(run_text(RS_OP_STR_EQ, RS_SRC_STRING, "abcd", 4, &in));
	g_assert_false(run_text(RS_OP_STR_EQ, RS_SRC_STRING, "abcde", 5, &in));
	g_assert_true(run_text(RS_OP_STR_PREFIX, RS_SRC_STRING, "abcd", 4, &in));
	g_assert_false(run_text(RS_OP_STR_PREFIX, RS_SRC_STRING, "abcde", 5, &in));
	g_assert_true(run_text(RS_OP_STR_SUFFIX, RS_SRC_STRING, "abcd", 4, &in));
	/* of a long string the first bytes count */
	{
		g_autofree char *text = g_strnfill(RS_FILTER_MAX_STRING + 1, 'a');
		const struct rs_dyn dyn[5] = {[4] = {text, RS_FILTER_MAX_STRING + 2}};

		in.dyn = dyn;
		in.dyn_count = 5;
		text[RS_FILTER_MAX_STRING - 1] = 'y';
		text[RS_FILTER_MAX_STRING] = 'z';
		g_assert_true(run_text(RS_OP_STR_SUFFIX, RS_SRC_DYN, "ay", 2, &in));
		g_assert_false(run_text(RS_OP_STR_SUFFIX, RS_SRC_DYN, "yz", 2, &in));
	}
}

/* A text in another, with a table that is right, and with wrong ones. */
static void test_subs(void)
{
	struct rs_filter_insn insn = {.op = RS_OP_STR_SUB, .source = RS_SRC_COMM};
	struct rs_filter_input in = {.comm = "xaababaaabaac"};
	static const uint8_t aabaac[] = {0, 0, 0, 0,   1,   0,   0,   0,   1,
					 0, 2, 0, 'a', 'a', 'b', 'a', 'a', 'c'};
	uint16_t *shorter;
	struct by_hand p;

	begin(&p, 1, insn, 64);
	memcpy(p.insn + 1, aabaac, sizeof(aabaac));
	shorter = (uint16_t *)(p.insn + 1);
	p.insn[0].imm = p.head.pool | (uint64_t)sizeof(aabaac) << 32;
	g_assert_true(run_hand(&p, &in));
	in.comm = "xaababaaabaa";
	g_assert_false(run_hand(&p, &in));
	in.comm = "";
	g_assert_false(run_hand(&p, &in));
	in.comm = NULL;
	g_assert_false(run_hand(&p, &in));
	in.comm = "aabaaab";
	g_assert_false(run_hand(&p, &in));
	shorter[5] = 5; /* it would not end */
	g_assert_true(run_hand(&p, &in));
	shorter[5] = UINT16_MAX;
	g_assert_true(run_hand(&p, &in));
	shorter[5] = 2;
	p.insn[0].imm++; /* not aligned */
	g_assert_true(run_hand(&p, &in));
	p.insn[0].imm = p.head.pool | 2ull << 32; /* no text */
	g_assert_true(run_hand(&p, &in));
	p.insn[0].imm = p.head.size | 3ull << 32;
	g_assert_true(run_hand(&p, &in));
}

/* Integers in a dynamic field: what is not there is 0 if some of it is, else the test is false. */
static void test_dynamic(void)
{
	const uint8_t bytes[] = {1, 2, 3, 4, 5};
	const struct rs_dyn dyn[] = {{NULL, 0}, {bytes, sizeof(bytes)}, {bytes, 0}};
	const struct rs_filter_input in = {.dyn = dyn, .dyn_count = 3};
	static const struct {
		unsigned int number, width, offset;
		uint64_t value; /* 0: none */
	} cases[] = {{1, 1, 0, 1}, {1, 1, 4, 5},         {1, 1, 5, 0},     {1, 2, 3, 0x504},
		     {1, 2, 4, 5}, {1, 4, 1, 0x5040302}, {1, 4, 3, 0x504}, {1, 8, 0, 0x504030201},
		     {1, 8, 5, 0}, {1, 8, 65535, 0},     {0, 1, 0, 0},     {2, 1, 0, 0}};

	for (unsigned int i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_filter_insn insn = {
			.op = RS_OP_EQ,
			.source = RS_SRC_DYN_INT,
			.width = (uint16_t)(cases[i].width | cases[i].number << 8),
			.offset = (uint16_t)cases[i].offset,
			.imm = cases[i].value,
			.mask = UINT64_MAX >> (64 - 8 * cases[i].width)};
		bool there = cases[i].value != 0;
		struct by_hand p;

		begin(&p, 1, insn, 0);
		g_assert_cmpint(run_hand(&p, &in), ==, there);
		p.insn[0].op = RS_OP_NE;
		g_assert_false(run_hand(&p, &in));
		p.insn[0].imm = 77;
		g_assert_cmpint(run_hand(&p, &in), ==, there);
		p.insn[0].op = RS_OP_PAIR_NE;
		p.insn[0].imm = RS_SRC_PID << 8;
		p.insn[0].mask = 0;
		g_assert_cmpint(run_hand(&p, &in), ==, there);
		/* senseless: no such field, no bytes, too many */
		p.insn[0].width = (uint16_t)(cases[i].width | 3 << 8);
		g_assert_true(run_hand(&p, &in));
		p.insn[0].op = RS_OP_EQ;
		g_assert_true(run_hand(&p, &in));
		p.insn[0].width = (uint16_t)(cases[i].number << 8);
		g_assert_true(run_hand(&p, &in));
		p.insn[0].width = (uint16_t)(9 | cases[i].number << 8);
		g_assert_true(run_hand(&p, &in));
	}
}

/* Two integers of any width and sign, compared as in mathematics. */
static void test_pairs(void)
{
	static const uint64_t values[] = {0,          1,         5,          0x7f,      0x80,
					  0xff,       0x7fff,    0x8000,     INT32_MAX, 0x80000000,
					  UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX};
	const unsigned int n = G_N_ELEMENTS(values);

	for (unsigned int i = 0; i < n * n * 64; i++) {
		unsigned int wa = 1u << i / 4 % 4, wb = 1u << i / 16 % 4;
		bool sa = i & 1, sb = i & 2;
		uint64_t entry[2] = {values[i / 64 % n], values[i / 64 / n]};
		uint64_t ra = entry[0] << (64 - 8 * wa), rb = entry[1] << (64 - 8 * wb);
		__int128 a = sa ? (int64_t)ra >> (64 - 8 * wa) : (__int128)(ra >> (64 - 8 * wa));
		__int128 b = sb ? (int64_t)rb >> (64 - 8 * wb) : (__int128)(rb >> (64 - 8 * wb));
		const bool want[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
		const struct rs_filter_input in = {.entry = entry, .entry_size = sizeof(entry)};
		struct rs_filter_insn insn = {.width = (uint16_t)wa,
					      .imm = (uint64_t)wb << 16 | 8ull << 32,
					      .mask = (sa ? 1u : 0u) | (sb ? 2u : 0u)};
		struct by_hand p;

		begin(&p, 1, insn, 0);
		for (unsigned int op = 0; op < 6; op++) {
			p.insn[0].op = (uint8_t)(RS_OP_PAIR_EQ + op);
			g_assert_cmpint(run_hand(&p, &in), ==, want[op]);
		}
		p.insn[0].op = RS_OP_PAIR_GE + 1; /* it makes no sense */
		g_assert_true(run_hand(&p, &in));
		p.insn[0].op = RS_OP_PAIR_EQ;
		p.insn[0].imm = (uint64_t)wb << 16 | (uint64_t)(17 - wb) << 32;
		g_assert_true(run_hand(&p, &in));
	}
}

/* A pattern that is longer, has more rows, or names another row than it has: in doubt yes. */
static void test_globs(void)
{
	struct rs_filter_insn insn = {.op = RS_OP_STR_GLOB, .source = RS_SRC_COMM};
	const struct rs_filter_input in = {.comm = "x"};
	struct rs_filter_glob *glob;
	struct by_hand p;
	uint32_t bytes = (uint32_t)sizeof(*glob) + 2 * 8;

	begin(&p, 1, insn, bytes);
	p.insn[0].imm = p.head.pool | (uint64_t)bytes << 32;
	glob = (struct rs_filter_glob *)((uint8_t *)&p + p.head.pool);
	glob->length = RS_FILTER_MAX_GLOB;
	glob->classes = 2;
	glob->class_of['x'] = 1;
	g_assert_false(run_hand(&p, &in));
	glob->class_of['x'] = 2;
	g_assert_true(run_hand(&p, &in));
	glob->class_of['x'] = 1;
	glob->classes = 3;
	g_assert_true(run_hand(&p, &in));
	glob->classes = 2;
	glob->length = RS_FILTER_MAX_GLOB + 1;
	g_assert_true(run_hand(&p, &in));
	glob->length = 1;
	p.insn[0].imm += 4; /* not aligned */
	g_assert_true(run_hand(&p, &in));
	p.insn[0].imm = p.head.pool | (uint64_t)(sizeof(*glob) - 1) << 32;
	g_assert_true(run_hand(&p, &in));
}

/* A text and a list that reach the program's end, and such as reach further. */
static void test_pool(void)
{
	static const unsigned int ops[] = {RS_OP_STR_PREFIX, RS_OP_CPUSET};
	const struct rs_filter_input in = {.comm = "task", .cpu = 64 * 8};

	for (unsigned int i = 0; i < G_N_ELEMENTS(ops); i++) {
		bool is_text = ops[i] == RS_OP_STR_PREFIX;
		struct rs_filter_insn insn = {.op = (uint8_t)ops[i],
					      .source = is_text ? RS_SRC_COMM : RS_SRC_CPU};
		struct by_hand p;

		begin(&p, 1, insn, 64);
		g_assert_cmpuint(p.head.size, ==, 128);
		p.insn[0].imm = 64 | 64ull << 32;
		g_assert_false(run_hand(&p, &in));
		p.insn[0].imm = 64 | 65ull << 32;
		g_assert_true(run_hand(&p, &in));
		p.insn[0].imm = 128 | 0ull << 32;
		g_assert_cmpint(run_hand(&p, &in), ==, is_text);
		p.insn[0].imm = 129 | 0ull << 32;
		g_assert_true(run_hand(&p, &in));
	}
}

static void test_cpus(void)
{
	struct rs_filter_insn insn = {.op = RS_OP_CPUSET, .source = RS_SRC_CPU};
	struct rs_filter_input in = {.cpu = 0};
	struct by_hand p;

	begin(&p, 1, insn, 64);
	p.insn[0].imm = p.head.pool | 2ull << 32;
	((uint8_t *)(p.insn + 1))[0] = 0x81;
	((uint8_t *)(p.insn + 1))[1] = 0x80;
	((uint8_t *)(p.insn + 1))[2] = 0xff; /* after the list */
	for (in.cpu = 0; in.cpu < 24; in.cpu++)
		g_assert_cmpint(run_hand(&p, &in), ==, in.cpu == 0 || in.cpu == 7 || in.cpu == 15);
}

/* Where a program may lead, and how many instructions it may say that it has. */
static void test_places(void)
{
	const struct rs_filter_input in = {.entry = g_malloc0(ENTRY), .entry_size = ENTRY};

	for (unsigned int i = 0; i < G_N_ELEMENTS(LEADS); i++) {
		const struct rs_filter_insn no = {
			.width = 4, .on_true = RS_FILTER_REJECT, .on_false = RS_FILTER_REJECT};
		struct by_hand p;

		begin(&p, 3, no, 0);
		p.insn[0] = LEADS[i];
		g_assert_false(run_hand(&p, &in));
		p.head.insn_count = 2;
		p.insn[0].on_true = p.insn[0].on_false = 2;
		g_assert_true(run_hand(&p, &in)); /* 2 is not one of them, though it is there */
		p.insn[0].on_true = p.insn[0].on_false = 0;
		g_assert_true(run_hand(&p, &in)); /* not back, nor on to itself */
		p.insn[0] = LEADS[i];
		p.insn[1].on_true = p.insn[1].on_false = 0;
		g_assert_true(run_hand(&p, &in));
		p.insn[1].on_true = p.insn[1].on_false = 1;
		g_assert_true(run_hand(&p, &in));
		/* as many as fit; one more; none */
		begin(&p, 3, no, 0);
		p.insn[0] = LEADS[i];
		g_assert_cmpuint(p.head.size, ==, 128);
		g_assert_false(run_hand(&p, &in));
		p.head.insn_count = 4;
		g_assert_true(run_hand(&p, &in));
		p.head.insn_count = 0;
		g_assert_true(run_hand(&p, &in));
	}
	g_free((void *)in.entry);
}

/* Unverified bytes: with any bytes the agent stays inside (ASan checks) and ends. */
static void test_any_bytes(void)
{
	g_autoptr(GRand) r = g_rand_new_with_seed(1);
	GByteArray *good = NULL;

	g_assert_cmpint(
		sample_compile("u8 == 1 && why == abc && name ~ a*c? || COMM ~ *x", &good, NULL),
		==, 0);
	for (unsigned int i = 0; i < 200000; i++) {
		g_autofree uint8_t *bytes = g_memdup2(good->data, good->len);
		g_autofree uint8_t *entry = g_malloc0(i % 81 + 1);
		g_autofree char *text = g_strdup("abc");
		struct rs_dyn dyn[] = {{NULL, 0}, {text, 4}};
		struct rs_filter_input in = {.entry = entry,
					     .entry_size = i % 81 + 1,
					     .dyn = dyn,
					     .dyn_count = 2,
					     .comm = "0123456789abcdef"};

		for (int k = g_rand_int_range(r, 1, 6); k-- > 0;)
			bytes[g_rand_int_range(r, 0, (gint)MIN(good->len, 200))] =
				(uint8_t)g_rand_int(r);
		rs_filter_run((const struct rs_filter_program *)bytes, good->len, &in);
	}
	g_assert_true(rs_filter_run((const struct rs_filter_program *)good->data, 63,
				    &(struct rs_filter_input){0}));
	g_byte_array_unref(good);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/agent/operations", test_operations);
	g_test_add_func("/filter/agent/fields", test_fields);
	g_test_add_func("/filter/agent/texts", test_texts);
	g_test_add_func("/filter/agent/globs", test_globs);
	g_test_add_func("/filter/agent/subs", test_subs);
	g_test_add_func("/filter/agent/dynamic", test_dynamic);
	g_test_add_func("/filter/agent/pairs", test_pairs);
	g_test_add_func("/filter/agent/pool", test_pool);
	g_test_add_func("/filter/agent/cpus", test_cpus);
	g_test_add_func("/filter/agent/places", test_places);
	g_test_add_func("/filter/agent/any-bytes", test_any_bytes);
	return g_test_run();
}
