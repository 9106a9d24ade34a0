/* SPDX-License-Identifier: MIT */
#include "made.h"

static const uint64_t values[] = {0,
				  1,
				  6,
				  7,
				  8,
				  0x7f,
				  0x80,
				  0xff,
				  0x100,
				  0x7fff,
				  0x8000,
				  0xffff,
				  0x10000,
				  0x7fffffff,
				  0x80000000,
				  0xffffffff,
				  1ull << 32,
				  1ull << 63,
				  (1ull << 63) - 1,
				  UINT64_MAX,
				  -2ull};
static struct random_record record;

/* The code and the program say the same of the record. */
static void same(const struct made *m, const struct rs_native *native)
{
	bool want = rs_filter_run(&m->head, m->head.size, &record.input);

	g_assert_false(rs_filter_verify(m, m->head.size, RANDOM_ENTRY, RANDOM_DYNS, NULL));
	if (made_run(native, &record.input) != want)
		g_error("op %u, source %u, width %u, imm %#" G_GINT64_MODIFIER
			"x: the code says %d",
			m->in.op, m->in.source, m->in.width, m->in.imm, !want);
}

static void set_record(void)
{
	struct choices c = choices_of(NULL, 0);

	random_record(&c, &record);
	record.input.comm = (const char *)record.comm.end - RS_COMM_LEN;
}

/* Each operation on integers, each width, around the edges of each. */
static void test_integers(void)
{
	static struct made m;
	static struct rs_native native;

	set_record();
	for (unsigned int op = RS_OP_EQ; op <= RS_OP_SNE; op++)
		for (unsigned int width = 1; width <= 8; width *= 2)
			for (unsigned int i = 0; i < 2 * G_N_ELEMENTS(values); i++) {
				uint64_t imm = values[i / 2],
					 all = width < 8 ? (1ull << 8 * width) - 1 : UINT64_MAX;
				bool sign = op >= RS_OP_SLT && op != RS_OP_ANY;
				struct rs_filter_insn in = {.op = (uint8_t)op,
							    .width = (uint16_t)width,
							    .offset = 3,
							    .imm = imm};

				in.mask = sign ? UINT64_MAX : all;
				in.mask &= i % 2 ? 0x8180818081808180u : UINT64_MAX;
				if (op == RS_OP_ANY) {
					in.mask = imm & all;
					in.imm = 0;
				}
				made_program(&m, in, NULL, 0);
				made_code(&m, &native);
				g_assert_cmpuint(native.kind, ==, RS_NATIVE_FIELDS);
				for (unsigned int v = 0; v < G_N_ELEMENTS(values); v++) {
					memcpy((uint8_t *)record.input.entry + 3, &values[v], 8);
					same(&m, &native);
				}
			}
}

/* The most common filter is two instructions and its ends. */
static void test_short(void)
{
	struct rs_filter_insn in = {
		.op = RS_OP_EQ, .width = 4, .offset = 4, .imm = 7, .mask = UINT32_MAX};
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x83, 0x7f, 0x04, 0x07, 0x75, 0x06,
				       0xb8, 1,    0,    0,    0,    0xc3, 0x31, 0xc0, 0xc3};
	static struct made m;
	static struct rs_native native;

	made_program(&m, in, NULL, 0);
	made_code(&m, &native);
	g_assert_cmpmem(native.bytes, native.size, code, sizeof(code));
	g_assert_cmpuint(native.text, ==, sizeof(code));
	g_assert_cmpuint(native.entry_size, ==, RANDOM_ENTRY);
}

static void check_input(struct rs_filter_insn in, const void *pool, uint32_t size)
{
	static struct made m;
	static struct rs_native native;
	struct choices c = choices_of((const uint8_t *)&in, sizeof(in));

	made_program(&m, in, pool, size);
	made_code(&m, &native);
	g_assert_cmpuint(native.kind, ==,
			 in.source == RS_SRC_FIELD || in.source == RS_SRC_STRING ? RS_NATIVE_FIELDS
										 : RS_NATIVE_INPUT);
	for (unsigned int i = 0; i < 200; i++) {
		random_record(&c, &record);
		same(&m, &native);
	}
}

/* What is not in the entry. */
static void test_input(void)
{
	static const uint8_t map[16] = {0x55, 0xaa, 1, 2,  3,  4,  5,  6,
					7,    8,    9, 10, 11, 12, 13, 0x80};

	for (uint8_t source = RS_SRC_PID; source <= RS_SRC_TGID; source++) {
		check_input(
			(struct rs_filter_insn){
				.op = RS_OP_LE, .source = source, .imm = 77, .mask = UINT32_MAX},
			NULL, 0);
		for (uint32_t size = 0; size <= sizeof(map); size += 4)
			check_input((struct rs_filter_insn){.op = RS_OP_CPUSET, .source = source},
				    map, size);
	}
	for (uint16_t width = 1; width <= 8; width *= 2)
		for (uint16_t offset = 0; offset < 12; offset++)
			check_input((struct rs_filter_insn){.op = RS_OP_SGT,
							    .source = RS_SRC_DYN_INT,
							    .width = width | 1 << 8,
							    .offset = offset,
							    .imm = 'a',
							    .mask = UINT64_MAX},
				    NULL, 0);
}

static void test_strings(void)
{
	static const uint8_t sources[] = {RS_SRC_STRING, RS_SRC_DYN, RS_SRC_COMM};
	static char text[4000];

	memset(text, 'a', sizeof(text));
	for (unsigned int s = 0; s < sizeof(sources); s++)
		for (uint8_t op = RS_OP_STR_EQ; op <= RS_OP_STR_SUFFIX; op++)
			for (uint32_t size = 0; size < 70; size++)
				check_input(
					(struct rs_filter_insn){
						.op = op,
						.source = sources[s],
						.width = sources[s] == RS_SRC_STRING ? 66
							 : sources[s] == RS_SRC_DYN  ? 1
										     : 0},
					text, size ? size : 1);
	check_input((struct rs_filter_insn){.op = RS_OP_STR_EQ, .source = RS_SRC_DYN}, text,
		    sizeof(text));
}

/* Records at random, and programs of all kinds: the fuzzer has more time for it. */
static void test_random(void)
{
	static struct rs_native native;

	for (uint32_t i = 0; i < 3000; i++) {
		struct choices c = choices_of((const uint8_t *)&i, sizeof(i));
		g_autoptr(GByteArray) program = random_program(&c);

		if (rs_filter_verify(program->data, program->len, RANDOM_ENTRY, RANDOM_DYNS, NULL))
			continue;
		made_code(program->data, &native);
		for (unsigned int k = 0; k < 20; k++) {
			random_record(&c, &record);
			g_assert_cmpint(made_run(&native, &record.input), ==,
					rs_filter_run((const void *)program->data, program->len,
						      &record.input));
		}
	}
}

static void test_refused(void)
{
	static char text[RS_FILTER_MAX_STRING];
	static struct made m;
	static struct rs_native native, before;
	struct rs_error err = {0};

	memset(&before, 0x5a, sizeof(before));
	native = before;
	memset(text, 'x', sizeof(text));
	made_program(&m, (struct rs_filter_insn){.op = RS_OP_STR_EQ, .source = RS_SRC_DYN}, text,
		     sizeof(text));
	g_assert_cmpint(
		rs_native_compile(RS_ARCH_AARCH64, &m, RANDOM_ENTRY, RANDOM_DYNS, &native, &err),
		==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "architecture"));
	g_assert_cmpint(rs_native_check(RS_ARCH_AARCH64, &native, &err), ==, -ENOTSUP);

	/* A text in another has a table of 3 bytes for each. */
	memset(m.pool, 0, sizeof(m.pool));
	memset(m.pool + 2 * 4000, 'x', 4000);
	m.in.op = RS_OP_STR_SUB;
	m.in.imm = offsetof(struct made, pool) | 12000ull << 32;
	g_assert_cmpint(
		rs_native_compile(RS_ARCH_X86_64, &m, RANDOM_ENTRY, RANDOM_DYNS, &native, &err), ==,
		-E2BIG);
	/* It is as it was. */
	g_assert_cmpmem(&native, sizeof(native), &before, sizeof(before));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	random_record_init(&record);
#ifdef __x86_64__
	g_test_add_func("/native/compile/integers", test_integers);
	g_test_add_func("/native/compile/input", test_input);
	g_test_add_func("/native/compile/strings", test_strings);
	g_test_add_func("/native/compile/random", test_random);
#endif
	g_test_add_func("/native/compile/short", test_short);
	g_test_add_func("/native/compile/refused", test_refused);
	return g_test_run();
}
