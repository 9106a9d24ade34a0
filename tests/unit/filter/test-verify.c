/* SPDX-License-Identifier: MIT */
#include "reference.h"
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

static int verify(const GByteArray *p, struct rs_error *err)
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
	insn(p, 0)->op = 20;
}
static void set_source(GByteArray *p)
{
	insn(p, 0)->source = 6;
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
						       set_glob_stars,
						       set_glob_stay,
						       set_glob_bits};

	for (unsigned int i = 0; i < G_N_ELEMENTS(damage); i++) {
		g_autoptr(GByteArray) p = compile("u8 == 1 && why == abc && name ~ a*c?");
		struct rs_error err = {0};

		g_assert_cmpuint(head(p)->insn_count, ==, 3);
		g_assert_cmpint(verify(p, NULL), ==, 0);
		damage[i](p);
		g_assert_cmpint(verify(p, &err), ==, -EINVAL);
		g_test_message("%u: %s", i, err.message);
		g_assert_cmpstr(err.message, !=, "");
	}
	g_assert_cmpint(rs_filter_verify("", 0, 8, 0, NULL), ==, -EINVAL);
}

/* Unverified bytes: with any bytes the agent stays inside (ASan checks) and ends. */
static void test_agent_alone(void)
{
	g_autoptr(GRand) r = g_rand_new_with_seed(1);
	g_autoptr(GByteArray) good = compile("u8 == 1 && why == abc && name ~ a*c? || COMM ~ *x");

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
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/verify/compiled", test_compiled_pass);
	g_test_add_func("/filter/verify/damage", test_damage);
	g_test_add_func("/filter/verify/agent-alone", test_agent_alone);
	return g_test_run();
}
