/* SPDX-License-Identifier: MIT */
#include "hand.h"
#include "sample.h"

#include <errno.h>
#include <ringside/control.h>
#include <string.h>

static GByteArray *compile(const char *expression)
{
	GByteArray *program = NULL;

	g_assert_cmpint(sample_compile(expression, &program, NULL), ==, 0);
	return program;
}

static int verify(const GByteArray *p, struct rs_filter_error *err)
{
	return rs_filter_verify(p->data, p->len, sample_event.entry_size,
				rs_filter_dyn_count(&sample_event), err);
}

static struct rs_filter_program *head(GByteArray *p)
{
	return (struct rs_filter_program *)p->data;
}

static struct rs_filter_insn *insn(GByteArray *p, unsigned int i)
{
	return (struct rs_filter_insn *)(p->data + sizeof(struct rs_filter_program)) + i;
}

static void test_compiled_pass(void)
{
	g_autoptr(GByteArray) p = compile("u8 == 1 && why ~ *a?c* || CPU & CPUS{0,2} || !s32 < -5");

	g_assert_cmpint(verify(p, NULL), ==, 0);
	g_assert_cmpuint(head(p)->insn_count, ==, 4);
	g_assert_cmpuint(head(p)->event, ==, RS_FIRST_EVENT_ID);
	g_assert_cmpuint(head(p)->sequence, ==, 0);
	g_assert_cmpuint(p->len % RS_FILTER_GRAIN, ==, 0);
	/* not for an event with a smaller entry, or fewer dynamic fields */
	g_assert_cmpint(rs_filter_verify(p->data, p->len, 12, 2, NULL), ==, -EINVAL);
	g_assert_cmpint(rs_filter_verify(p->data, p->len, sizeof(struct sample), 1, NULL), ==,
			-EINVAL);
}

/* Each damages a good program in one way. */
static void set_count_0(GByteArray *p)
{
	head(p)->insn_count = 0;
}
static void set_count_huge(GByteArray *p)
{
	head(p)->insn_count = 129;
}
static void set_size(GByteArray *p)
{
	head(p)->size += 64;
}
static void set_pool_low(GByteArray *p)
{
	head(p)->pool = 40;
}
static void set_pool_odd(GByteArray *p)
{
	head(p)->pool += 4;
}
static void set_pool_high(GByteArray *p)
{
	head(p)->pool = 1u << 20;
}
static void set_reserved(GByteArray *p)
{
	head(p)->reserved0 = 1;
}
static void set_event(GByteArray *p)
{
	head(p)->event = 65536;
}
static void set_op(GByteArray *p)
{
	insn(p, 0)->op = 14;
}
static void set_op_high(GByteArray *p)
{
	insn(p, 0)->op = RS_OP_STR_SUB + 1;
}
static void set_source(GByteArray *p)
{
	insn(p, 0)->source = RS_SRC_COMM;
}
static void set_width(GByteArray *p)
{
	insn(p, 0)->width = 3;
}
static void set_offset(GByteArray *p)
{
	insn(p, 0)->offset = sizeof(struct sample);
}
static void set_offset_wrap(GByteArray *p)
{
	insn(p, 0)->offset = 0xffff;
}
static void set_mask(GByteArray *p)
{
	insn(p, 0)->mask = 0x1ff;
}

static void set_self(GByteArray *p)
{
	insn(p, 1)->on_true = 1;
}
static void set_back(GByteArray *p)
{
	insn(p, 1)->on_false = 0;
}
static void set_far(GByteArray *p)
{
	insn(p, 0)->on_true = 3;
}
static void set_insn_reserved(GByteArray *p)
{
	insn(p, 0)->reserved1 = 1;
}
static void set_text_on_number(GByteArray *p)
{
	insn(p, 0)->op = RS_OP_STR_EQ;
}
static void set_number_on_text(GByteArray *p)
{
	insn(p, 1)->op = RS_OP_EQ;
}
static void set_dyn(GByteArray *p)
{
	insn(p, 1)->width = 2;
}
static void set_text_before_pool(GByteArray *p)
{
	insn(p, 1)->imm = 8 | 4ull << 32;
}
static void set_text_after_end(GByteArray *p)
{
	insn(p, 1)->imm |= 0xffffffffull << 32;
}
static void set_text_at_end(GByteArray *p)
{
	insn(p, 1)->imm = 0xfffffff8ull | 16ull << 32;
}
static void set_text_mask(GByteArray *p)
{
	insn(p, 1)->mask = 1;
}
static void set_text_nul(GByteArray *p)
{
	p->data[(uint32_t)insn(p, 1)->imm] = 0;
}
static void set_glob_odd(GByteArray *p)
{
	insn(p, 2)->imm += 4;
}
static void set_glob_short(GByteArray *p)
{
	insn(p, 2)->imm -= 8ull << 32;
}

static struct rs_filter_glob *glob(GByteArray *p)
{
	return (struct rs_filter_glob *)(p->data + (uint32_t)insn(p, 2)->imm);
}

static void set_glob_length(GByteArray *p)
{
	glob(p)->length = 64;
}
static void set_glob_length_0(GByteArray *p)
{
	glob(p)->length = 0;
}
static void set_glob_classes(GByteArray *p)
{
	glob(p)->classes++;
}
static void set_glob_row(GByteArray *p)
{
	glob(p)->class_of[7] = (uint8_t)glob(p)->classes;
}
static void set_glob_first_row(GByteArray *p)
{
	glob(p)->class_of[0] = (uint8_t)glob(p)->classes;
}
static void set_glob_last_row(GByteArray *p)
{
	glob(p)->class_of[255] = (uint8_t)glob(p)->classes;
}
static void set_glob_stars(GByteArray *p)
{
	glob(p)->stay = glob(p)->empty = 3;
}
static void set_glob_stay(GByteArray *p)
{
	glob(p)->stay = 0;
}
static void set_glob_bits(GByteArray *p)
{
	*(uint64_t *)(glob(p) + 1) |= 1ull << 40;
}

static void test_damage(void)
{
	static void (*const damage[])(GByteArray *) = {set_count_0,
						       set_count_huge,
						       set_size,
						       set_pool_low,
						       set_pool_odd,
						       set_pool_high,
						       set_reserved,
						       set_event,
						       set_op,
						       set_op_high,
						       set_source,
						       set_width,
						       set_offset,
						       set_offset_wrap,
						       set_mask,
						       set_self,
						       set_back,
						       set_far,
						       set_insn_reserved,
						       set_text_on_number,
						       set_number_on_text,
						       set_dyn,
						       set_text_before_pool,
						       set_text_after_end,
						       set_text_at_end,
						       set_text_mask,
						       set_text_nul,
						       set_glob_odd,
						       set_glob_short,
						       set_glob_length,
						       set_glob_length_0,
						       set_glob_classes,
						       set_glob_row,
						       set_glob_first_row,
						       set_glob_last_row,
						       set_glob_stars,
						       set_glob_stay,
						       set_glob_bits};

	for (unsigned int i = 0; i < G_N_ELEMENTS(damage); i++) {
		g_autoptr(GByteArray) p = compile("u8 == 1 && why == abc && name ~ a*c?");
		struct rs_filter_error err = {0};

		g_assert_cmpuint(head(p)->insn_count, ==, 3);
		g_assert_cmpint(verify(p, NULL), ==, 0);
		damage[i](p);
		g_assert_cmpint(verify(p, &err), ==, -EINVAL);
		g_test_message("%u: %s", i, err.message);
		g_assert_cmpstr(err.message, !=, "");
	}
	g_assert_cmpint(rs_filter_verify("", 0, 8, 0, NULL), ==, -EINVAL);
}

static int verify_hand(const struct by_hand *p)
{
	g_autofree void *bytes = g_memdup2(p, p->head.size); /* so that ASan sees its end */

	return rs_filter_verify(bytes, p->head.size, ENTRY, DYNS, NULL);
}

static int verify_one(struct rs_filter_insn insn)
{
	struct by_hand p;

	begin(&p, 1, insn, 0);
	return verify_hand(&p);
}

/* Text in the pool: `before` bytes behind its begin, `length` bytes long, "aaa…". */
static int verify_text(unsigned int op, unsigned int before, unsigned int length, unsigned int pool)
{
	struct rs_filter_insn insn = {.op = (uint8_t)op,
				      .source = op == RS_OP_CPUSET ? RS_SRC_CPU : RS_SRC_COMM};
	struct by_hand p;

	begin(&p, 1, insn, pool);
	memset(p.insn + 1, 'a', sizeof(p) - offsetof(struct by_hand, insn[1]));
	p.insn[0].imm = p.head.pool + before + ((uint64_t)length << 32);
	return verify_hand(&p);
}

#define SECOND(source, width, offset)                                                              \
	((uint64_t)(source) << 8 | (uint64_t)(width) << 16 | (uint64_t)(offset) << 32)

static const struct {
	const char *what;
	struct rs_filter_insn insn;
	int want;
} INSNS[] = {
	{"a field at the entry's end", {.width = 8, .offset = ENTRY - 8}, 0},
	{"one byte of it outside", {.width = 8, .offset = ENTRY - 7}, -EINVAL},
	{"two bytes", {.width = 2, .offset = ENTRY - 2}, 0},
	{"one byte", {.width = 1, .offset = ENTRY - 1}, 0},
	{"at the end", {.width = 1, .offset = ENTRY}, -EINVAL},
	{"no bytes", {.width = 0}, -EINVAL},
	{"five bytes", {.width = 5}, -EINVAL},
	{"more than eight bytes", {.width = 9}, -EINVAL},
	{"a string at the entry's end",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_STRING, .width = 5, .offset = ENTRY - 5, .imm = 64},
	 0},
	{"one byte of it outside",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_STRING, .width = 5, .offset = ENTRY - 4, .imm = 64},
	 -EINVAL},
	{"a string that is read as a number", {.source = RS_SRC_STRING, .width = 4}, -EINVAL},
	{"a CPU list in a string",
	 {.op = RS_OP_CPUSET, .source = RS_SRC_STRING, .width = 4, .imm = 64},
	 -EINVAL},
	{"a locator at the entry's end",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_DYN, .width = 1, .offset = ENTRY - 4, .imm = 64},
	 0},
	{"one byte of it outside",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_DYN, .width = 1, .offset = ENTRY - 3, .imm = 64},
	 -EINVAL},
	{"a dynamic field too many",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_DYN, .width = DYNS, .imm = 64},
	 -EINVAL},
	{"COMM", {.op = RS_OP_STR_EQ, .source = RS_SRC_COMM, .imm = 64}, 0},
	{"COMM with a width",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_COMM, .width = 1, .imm = 64},
	 -EINVAL},
	{"COMM as a number", {.source = RS_SRC_COMM}, -EINVAL},
	{"PID", {.source = RS_SRC_PID}, 0},
	{"TGID", {.source = RS_SRC_TGID}, 0},
	{"CPU", {.source = RS_SRC_CPU}, 0},
	{"after the last source", {.source = RS_SRC_DYN_INT + 1, .width = 4}, -EINVAL},
	{"PID with a width", {.source = RS_SRC_PID, .width = 4}, -EINVAL},
	{"PID with an offset", {.source = RS_SRC_PID, .offset = 4}, -EINVAL},
	{"PID as text", {.op = RS_OP_STR_EQ, .source = RS_SRC_PID, .imm = 64}, -EINVAL},
	{"PID, last unsigned", {.op = RS_OP_GE, .source = RS_SRC_PID}, 0},
	{"PID, first signed", {.op = RS_OP_SLT, .source = RS_SRC_PID}, -EINVAL},
	{"PID, last signed", {.op = RS_OP_SNE, .source = RS_SRC_PID}, -EINVAL},
	{"PID, a mask alone", {.op = RS_OP_ANY, .source = RS_SRC_PID, .mask = UINT32_MAX}, 0},
	{"PID in a list", {.op = RS_OP_CPUSET, .source = RS_SRC_PID, .imm = 64}, 0},
	{"PID, all its bits", {.source = RS_SRC_PID, .mask = UINT32_MAX}, 0},
	{"PID, one bit more", {.source = RS_SRC_PID, .mask = 1ull << 32}, -EINVAL},
	{"all bits of a byte", {.op = RS_OP_GE, .width = 1, .mask = 0xff}, 0},
	{"one more", {.op = RS_OP_GE, .width = 1, .mask = 0x100}, -EINVAL},
	{"one more, a mask alone", {.op = RS_OP_ANY, .width = 1, .mask = 0x100}, -EINVAL},
	{"one more, signed", {.op = RS_OP_SLT, .width = 1, .mask = 0x100}, 0},
	{"all bits of four bytes", {.width = 4, .mask = UINT32_MAX}, 0},
	{"all bits", {.width = 8, .mask = UINT64_MAX}, 0},
	{"a mask alone", {.op = RS_OP_ANY, .width = 1, .mask = 1}, 0},
	{"a mask alone, with a value", {.op = RS_OP_ANY, .width = 1, .mask = 1, .imm = 1}, -EINVAL},
	{"the last integer operation", {.op = RS_OP_SNE, .width = 1}, 0},
	{"after the CPU list", {.op = RS_OP_CPUSET + 1, .width = 1}, -EINVAL},
	{"before the strings", {.op = RS_OP_STR_EQ - 1, .source = RS_SRC_COMM}, -EINVAL},
	{"after the strings", {.op = RS_OP_STR_SUB + 1, .source = RS_SRC_COMM}, -EINVAL},
	{"a text with a mask",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_COMM, .imm = 64, .mask = 1},
	 -EINVAL},
	{"a CPU list with a mask",
	 {.op = RS_OP_CPUSET, .source = RS_SRC_CPU, .imm = 64, .mask = 1},
	 -EINVAL},
	{"a reserved bit", {.width = 1, .reserved0 = 1}, -EINVAL},
	{"another", {.width = 1, .reserved1 = 1}, -EINVAL},
	{"on to itself", {.width = 1, .on_true = 1}, -EINVAL},
	{"after the last place", {.width = 1, .on_false = 0xfffd}, -EINVAL},
	{"two fields",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .imm = SECOND(RS_SRC_FIELD, 8, ENTRY - 8)},
	 0},
	{"the last comparison of two",
	 {.op = RS_OP_PAIR_GE, .width = 4, .imm = SECOND(RS_SRC_PID, 0, 0), .mask = 3},
	 0},
	{"after it",
	 {.op = RS_OP_PAIR_GE + 1, .width = 4, .imm = SECOND(RS_SRC_PID, 0, 0)},
	 -EINVAL},
	{"before the first",
	 {.op = RS_OP_PAIR_EQ - 1, .width = 4, .imm = SECOND(RS_SRC_PID, 0, 0)},
	 -EINVAL},
	{"the second outside",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .imm = SECOND(RS_SRC_FIELD, 8, ENTRY - 7)},
	 -EINVAL},
	{"the first outside",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .offset = ENTRY - 3, .imm = SECOND(RS_SRC_FIELD, 8, 0)},
	 -EINVAL},
	{"the second of no size",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .imm = SECOND(RS_SRC_FIELD, 3, 0)},
	 -EINVAL},
	{"the second a string",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .imm = SECOND(RS_SRC_STRING, 4, 0)},
	 -EINVAL},
	{"the first a string",
	 {.op = RS_OP_PAIR_EQ,
	  .source = RS_SRC_STRING,
	  .width = 4,
	  .imm = SECOND(RS_SRC_FIELD, 4, 0)},
	 -EINVAL},
	{"the first COMM",
	 {.op = RS_OP_PAIR_EQ, .source = RS_SRC_COMM, .imm = SECOND(RS_SRC_FIELD, 4, 0)},
	 -EINVAL},
	{"the second has an operation",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .imm = SECOND(RS_SRC_PID, 0, 0) | 1},
	 -EINVAL},
	{"the second leads somewhere",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .imm = SECOND(RS_SRC_PID, 0, 0) | 1ull << 48},
	 -EINVAL},
	{"two fields and a mask",
	 {.op = RS_OP_PAIR_EQ, .width = 4, .imm = SECOND(RS_SRC_PID, 0, 0), .mask = 4},
	 -EINVAL},
	{"in a dynamic field",
	 {.source = RS_SRC_DYN_INT,
	  .width = 8 | (DYNS - 1) << 8,
	  .offset = UINT16_MAX,
	  .mask = UINT64_MAX},
	 0},
	{"in one too many", {.source = RS_SRC_DYN_INT, .width = 8 | DYNS << 8}, -EINVAL},
	{"there, of no size", {.source = RS_SRC_DYN_INT, .width = 1 << 8}, -EINVAL},
	{"there, of nine bytes", {.source = RS_SRC_DYN_INT, .width = 9}, -EINVAL},
	{"there, all its bits", {.source = RS_SRC_DYN_INT, .width = 2, .mask = 0xffff}, 0},
	{"there, one more", {.source = RS_SRC_DYN_INT, .width = 2, .mask = 0x10000}, -EINVAL},
	{"there, signed",
	 {.op = RS_OP_SLT, .source = RS_SRC_DYN_INT, .width = 2, .mask = UINT64_MAX},
	 0},
	{"there, in a list",
	 {.op = RS_OP_CPUSET, .source = RS_SRC_DYN_INT, .width = 4, .imm = 64},
	 0},
	{"there, as text",
	 {.op = RS_OP_STR_EQ, .source = RS_SRC_DYN_INT, .width = 4, .imm = 64},
	 -EINVAL},
	{"the second there",
	 {.op = RS_OP_PAIR_LT, .width = 4, .imm = SECOND(RS_SRC_DYN_INT, 2 | 1 << 8, 6)},
	 0},
	{"the second in one too many",
	 {.op = RS_OP_PAIR_LT, .width = 4, .imm = SECOND(RS_SRC_DYN_INT, 2 | DYNS << 8, 6)},
	 -EINVAL},
	{"reject, then accept",
	 {.width = 1, .on_true = RS_FILTER_REJECT, .on_false = RS_FILTER_ACCEPT},
	 0},
};

static void test_limits(void)
{
	const struct rs_filter_insn byte = {.width = 1};
	struct by_hand p;

	for (unsigned int i = 0; i < G_N_ELEMENTS(INSNS); i++) {
		g_test_message("%s", INSNS[i].what);
		g_assert_cmpint(verify_one(INSNS[i].insn), ==, INSNS[i].want);
	}
	/* where texts and CPU lists lie: the pool of these has 64 bytes */
	g_assert_cmpint(verify_text(RS_OP_STR_EQ, 0, 64, 64), ==, 0);
	g_assert_cmpint(verify_text(RS_OP_STR_EQ, 0, 65, 64), ==, -EINVAL);
	g_assert_cmpint(verify_text(RS_OP_STR_EQ, 64, 0, 64), ==, 0);
	g_assert_cmpint(verify_text(RS_OP_STR_EQ, 65, 0, 64), ==, -EINVAL);
	g_assert_cmpint(verify_text(RS_OP_STR_EQ, UINT32_MAX, 4, 64), ==, -EINVAL);
	g_assert_cmpint(verify_text(RS_OP_CPUSET, 0, 64, 64), ==, 0);
	g_assert_cmpint(verify_text(RS_OP_CPUSET, 1, 64, 64), ==, -EINVAL);
	g_assert_cmpint(verify_text(RS_OP_CPUSET, 64, 0, 64), ==, 0);
	g_assert_cmpint(verify_text(RS_OP_CPUSET, 65, 0, 64), ==, -EINVAL);
	g_assert_cmpint(verify_text(RS_OP_CPUSET, UINT32_MAX, 4, 64), ==, -EINVAL);
	/* how long they are */
	g_assert_cmpint(verify_text(RS_OP_STR_EQ, 0, RS_FILTER_MAX_STRING, 8192), ==, 0);
	g_assert_cmpint(verify_text(RS_OP_STR_EQ, 0, RS_FILTER_MAX_STRING + 1, 8192), ==, -EINVAL);
	g_assert_cmpint(verify_text(RS_OP_CPUSET, 0, RS_MAX_CPUS / 8, 8192), ==, 0);
	g_assert_cmpint(verify_text(RS_OP_CPUSET, 0, RS_MAX_CPUS / 8 + 1, 8192), ==, -EINVAL);
	/* the program itself */
	begin(&p, 1, byte, 0);
	g_assert_cmpuint(p.head.size, ==, RS_FILTER_GRAIN);
	g_assert_cmpint(verify_hand(&p), ==, 0);
	p.head.pool = p.head.size;
	g_assert_cmpint(verify_hand(&p), ==, 0);
	p.head.pool += 8;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	begin(&p, 1, byte, 0);
	p.head.event++;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	begin(&p, 1, byte, 0);
	p.head.reserved1 = 1;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	begin(&p, 3, byte, 0); /* 128 bytes */
	p.head.insn_count = 4;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	begin(&p, 2, byte, 0);
	p.insn[0].on_true = 1;
	g_assert_cmpint(verify_hand(&p), ==, 0);
	p.insn[0].on_true = 2;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	begin(&p, RS_FILTER_MAX_INSNS, byte, 0);
	g_assert_cmpint(verify_hand(&p), ==, 0);
	p.insn[RS_FILTER_MAX_INSNS - 1].reserved0 = 1;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	begin(&p, RS_FILTER_MAX_INSNS + 1, byte, 0);
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	begin(&p, 1, byte, RS_FILTER_MAX_SIZE - 64);
	g_assert_cmpint(verify_hand(&p), ==, 0);
	begin(&p, 1, byte, RS_FILTER_MAX_SIZE - 63);
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
}

/* A pattern of so many elements and rows. */
static int verify_glob(unsigned int length, unsigned int classes, uint64_t stars, uint64_t row)
{
	struct rs_filter_insn insn = {.op = RS_OP_STR_GLOB, .source = RS_SRC_COMM};
	struct rs_filter_glob *at;
	struct by_hand p;
	unsigned int bytes = (unsigned int)sizeof(*at) + classes * 8;

	begin(&p, 1, insn, bytes);
	p.insn[0].imm = p.head.pool + ((uint64_t)bytes << 32);
	at = (struct rs_filter_glob *)((uint8_t *)&p + p.head.pool);
	at->length = (uint16_t)length;
	at->classes = (uint16_t)classes;
	at->empty = at->stay = stars;
	if (classes)
		at->class_of[255] = (uint8_t)(classes - 1);
	for (unsigned int i = 0; i < classes; i++)
		((uint64_t *)(at + 1))[i] = row;
	return verify_hand(&p);
}

static void test_glob_limits(void)
{
	g_assert_cmpint(verify_glob(1, 1, 0, 1), ==, 0);
	g_assert_cmpint(verify_glob(0, 1, 0, 0), ==, -EINVAL);
	g_assert_cmpint(verify_glob(RS_FILTER_MAX_GLOB, 256, 0, (1ull << 63) - 1), ==, 0);
	g_assert_cmpint(verify_glob(RS_FILTER_MAX_GLOB, 1, 0, 1ull << 63), ==, -EINVAL);
	g_assert_cmpint(verify_glob(RS_FILTER_MAX_GLOB + 1, 1, 0, 1), ==, -EINVAL);
	g_assert_cmpint(verify_glob(1, 0, 0, 0), ==, -EINVAL);
	g_assert_cmpint(verify_glob(1, 257, 0, 1), ==, -EINVAL);
	/* a row names no element that is not there, and no star */
	g_assert_cmpint(verify_glob(4, 2, 0, 0xf), ==, 0);
	g_assert_cmpint(verify_glob(4, 2, 0, 0x10), ==, -EINVAL);
	g_assert_cmpint(verify_glob(4, 2, 0x5, 0xa), ==, 0);
	g_assert_cmpint(verify_glob(4, 2, 0x5, 0xb), ==, -EINVAL);
	/* nor is a star outside, or beside another */
	g_assert_cmpint(verify_glob(4, 2, 0x8, 0x7), ==, 0);
	g_assert_cmpint(verify_glob(4, 2, 0x10, 0x7), ==, -EINVAL);
	g_assert_cmpint(verify_glob(4, 2, 0x6, 0x9), ==, -EINVAL);
}

/* A table of so many bytes, of which number `at` is `shorter`. */
static int verify_sub(unsigned int bytes, unsigned int at, uint16_t shorter)
{
	struct rs_filter_insn insn = {.op = RS_OP_STR_SUB, .source = RS_SRC_COMM};
	struct by_hand p;

	begin(&p, 1, insn, bytes);
	p.insn[0].imm = p.head.pool + ((uint64_t)bytes << 32);
	memset((uint8_t *)&p + p.head.pool + bytes / 3 * 2, 'a', bytes / 3);
	((uint16_t *)((uint8_t *)&p + p.head.pool))[at] = shorter;
	return verify_hand(&p);
}

static void test_sub_limits(void)
{
	struct rs_filter_insn insn = {.op = RS_OP_STR_SUB, .source = RS_SRC_COMM};
	struct by_hand p;

	g_assert_cmpint(verify_sub(30, 5, 4), ==, 0);
	g_assert_cmpint(verify_sub(30, 5, 5), ==, -EINVAL);
	g_assert_cmpint(verify_sub(30, 9, 8), ==, 0);
	g_assert_cmpint(verify_sub(30, 9, 10), ==, -EINVAL);
	g_assert_cmpint(verify_sub(30, 0, 1), ==, -EINVAL);
	g_assert_cmpint(verify_sub(30, 1, 1), ==, -EINVAL);
	g_assert_cmpint(verify_sub(3, 0, 0), ==, 0);
	g_assert_cmpint(verify_sub(31, 0, 0), ==, -EINVAL);
	g_assert_cmpint(verify_sub(3 * RS_FILTER_MAX_STRING, 0, 0), ==, 0);
	g_assert_cmpint(verify_sub(3 * (RS_FILTER_MAX_STRING + 1), 0, 0), ==, -EINVAL);
	begin(&p, 1, insn, 64); /* a NUL in the text, which is at an odd place, and no text */
	p.insn[0].imm = p.head.pool | 3ull << 32;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	((uint8_t *)&p)[p.head.pool + 2] = 'a';
	g_assert_cmpint(verify_hand(&p), ==, 0);
	p.insn[0].imm++;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
	p.insn[0].imm = p.head.pool;
	g_assert_cmpint(verify_hand(&p), ==, -EINVAL);
}

/* Ends of long strings are asked for. Each leads to the next one, or passes it by. */
static int verify_steps(unsigned int count, bool past)
{
	const struct rs_filter_insn insn = {
		.op = RS_OP_STR_SUFFIX, .source = RS_SRC_DYN, .width = 1, .imm = 0};
	struct by_hand p;

	begin(&p, count, insn, 64);
	for (unsigned int i = 0; i < count; i++) {
		p.insn[i].imm = p.head.pool | 1ull << 32;
		if (i + 1 < count)
			p.insn[i].on_false = (uint16_t)(i + 1);
		if (i + 2 < count && past)
			p.insn[i].on_false = (uint16_t)(i + 2);
	}
	memset((uint8_t *)&p + p.head.pool, 'a', 64);
	return verify_hand(&p);
}

/* 1,025 steps each. Not all of them count, where no way leads through all. */
static void test_steps(void)
{
	G_STATIC_ASSERT(RS_FILTER_MAX_STEPS / (1 + RS_FILTER_MAX_STRING / 4) == 31);
	g_assert_cmpint(verify_steps(31, false), ==, 0);
	g_assert_cmpint(verify_steps(32, false), ==, -E2BIG);
	g_assert_cmpint(verify_steps(60, true), ==, 0);
	g_assert_cmpint(verify_steps(64, true), ==, -E2BIG);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/verify/compiled", test_compiled_pass);
	g_test_add_func("/filter/verify/damage", test_damage);
	g_test_add_func("/filter/verify/limits", test_limits);
	g_test_add_func("/filter/verify/glob-limits", test_glob_limits);
	g_test_add_func("/filter/verify/sub-limits", test_sub_limits);
	g_test_add_func("/filter/verify/steps", test_steps);
	return g_test_run();
}
