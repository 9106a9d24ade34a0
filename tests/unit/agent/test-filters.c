/* SPDX-License-Identifier: MIT */
/*
 * Filters that the host replaces while the agent asks one, and where in their section they may lie.
 * The agent asks the OS who runs between its look at the control word and its look at the program.
 */
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "core.h"
#include "region/regions.h"
#include "text.h"

#include <glib.h>

#define GRAINS(n) ((n) << RS_EVENT_FILTER_SHIFT)

static RS_PROVIDER(provider, "filters-test");

static RsTraceRegion *region;
static struct rs_ring_state *state;
static uint32_t *words;
static uint8_t *filters;
static uint32_t last_grain; /* of the section */

/* What the host does while the agent asks for the PID, once. */
static void (*meanwhile)(void);

static uint64_t os_time(void)
{
	static uint64_t now = 1000;

	return now += 10;
}
static uint32_t os_cpu(void)
{
	return 0;
}
static uint32_t os_pid(void)
{
	void (*now)(void) = meanwhile;

	meanwhile = NULL;
	if (now)
		now();
	return 7;
}

static const struct rs_trace_ops ops = {
	.text_open = os_text_open,
	.text_close = os_text_close,
	.time_now = os_time,
	.cpu_id = os_cpu,
	.current_pid = os_pid,
};

static struct rs_filter_program *program_at(uint32_t grain)
{
	return (struct rs_filter_program *)(filters + grain * RS_FILTER_GRAIN);
}

/* Of one instruction: whether the PID is `pid`. The agent has a faster way for fields alone. */
static void put(uint32_t grain, uint32_t pid, bool field)
{
	struct rs_filter_program *program = program_at(grain);

	*program = (struct rs_filter_program){.insn_count = 1,
					      .size = RS_FILTER_GRAIN,
					      .pool = RS_FILTER_GRAIN,
					      .event = rs_event_test_pair.id,
					      .sequence = 2};
	*(struct rs_filter_insn *)(program + 1) =
		(struct rs_filter_insn){.op = RS_OP_EQ,
					.source = field ? RS_SRC_FIELD : RS_SRC_PID,
					.width = field ? 4 : 0,
					.on_true = RS_FILTER_ACCEPT,
					.on_false = RS_FILTER_REJECT,
					.imm = pid,
					.mask = UINT32_MAX};
}

static void use(uint32_t grain)
{
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED | GRAINS(grain);
}

static bool fires(void)
{
	uint32_t before = rs_word_records(state->word);

	trace_test_pair(1, 2);
	g_assert_null(meanwhile);
	return rs_word_records(state->word) != before;
}

static void apply(uint32_t flags)
{
	struct rs_control *control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);

	control->flags = flags;
	control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
}

static void set_up(void)
{
	struct rs_region_config layout = {.vcpus = 1, .ring_bytes = 64 * 1024};
	struct rs_agent_config config = {.ops = &ops, .cpu_count = 1, .flags = RS_GUEST_SELF_PATCH};
	size_t size;

	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	state = rs_trace_region_section(region, RS_SEC_RING_STATE, NULL);
	words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	filters = rs_trace_region_section(region, RS_SEC_FILTERS, &size);
	last_grain = (uint32_t)(size / RS_FILTER_GRAIN - 1);
	config.region = region->map;
	config.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED;
	apply(RS_CONTROL_SELF_PATCH);
}

static void tear_down(void)
{
	apply(RS_CONTROL_STOP);
	rs_agent_fini();
	rs_trace_region_free(region);
}

/* ---- the host replaces the filter ---- */

static void replace_by_strict(void)
{
	program_at(1)->sequence++;
	put(2, 8, false);
	use(2);
}
static void replace_by_lax(void)
{
	program_at(1)->sequence++;
	put(2, 7, false);
	use(2);
}
static void give_to_another(void)
{
	program_at(1)->event++;
	use(2);
}
static void take_away(void)
{
	program_at(1)->sequence++;
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED;
}
static void disable(void)
{
	program_at(1)->sequence++;
	words[rs_event_test_pair.id] = 0;
}
static void never_end(void)
{
	program_at(1)->sequence++;
}

static const struct {
	void (*host)(void);
	uint32_t pid; /* of the filter before */
	bool want;
} CASES[] = {
	{NULL, 7, true},
	{NULL, 8, false},
	{replace_by_strict, 7, false},
	{replace_by_lax, 8, true},
	{give_to_another, 7, false},
	{take_away, 8, true},
	{disable, 7, false},
	{never_end, 8, true}, /* in doubt, after some looks */
};

static void test_replaced(void)
{
	set_up();
	for (unsigned int i = 0; i < G_N_ELEMENTS(CASES); i++) {
		put(1, CASES[i].pid, false);
		put(2, 8, false);
		use(1);
		meanwhile = CASES[i].host;
		g_test_message("%u", i);
		g_assert_cmpint(fires(), ==, CASES[i].want);
	}
	tear_down();
}

/* ---- where a program may lie ---- */

static void test_places(void)
{
	set_up();
	for (int field = 0; field < 2; field++) {
		put(last_grain, 8, field);
		use(last_grain);
		g_assert_false(fires());
		/* One instruction fits into a grain. In doubt the event is recorded. */
		program_at(last_grain)->insn_count = 2;
		g_assert_true(fires());
		program_at(last_grain)->insn_count = 0;
		g_assert_true(fires());
		/* The first grain after the section, and the last that a control word can name. */
		use(last_grain + 1);
		g_assert_true(fires());
		use(0xffffff);
		g_assert_true(fires());
		/* A program of another event, and one that is being written. */
		put(last_grain, 8, field);
		use(last_grain);
		program_at(last_grain)->event++;
		g_assert_true(fires());
		put(last_grain, 8, field);
		program_at(last_grain)->sequence++;
		g_assert_true(fires());
		/* As many instructions as fit before the section's end. */
		put(last_grain - 1, 8, field);
		use(last_grain - 1);
		program_at(last_grain - 1)->insn_count = 3;
		g_assert_false(fires());
		program_at(last_grain - 1)->insn_count = 4;
		g_assert_true(fires());
	}
	tear_down();
}

/* Each way of a verdict on integer fields. */
static void test_verdicts(void)
{
	set_up();
	put(1, 1, true);
	use(1);
	g_assert_true(fires());
	put(1, 2, true);
	g_assert_false(fires());
	/* Two bytes wide: the agent's second way. */
	((struct rs_filter_insn *)(program_at(1) + 1))->width = 2;
	g_assert_false(fires());
	put(1, 1, true);
	((struct rs_filter_insn *)(program_at(1) + 1))->width = 2;
	g_assert_true(fires());
	tear_down();
}

/* Whether the third dynamic field, a string, ends so. */
static bool ends_with(const char *text, char end)
{
	uint32_t before = rs_word_records(state->word);
	struct rs_filter_program *program = program_at(1);
	uint8_t *pool = (uint8_t *)program_at(2);

	put(1, 0, false);
	program->event = rs_event_test_all.id;
	*(struct rs_filter_insn *)(program + 1) =
		(struct rs_filter_insn){.op = RS_OP_STR_SUFFIX,
					.source = RS_SRC_DYN,
					.width = 1,
					.offset = offsetof(struct rs_entry_test_all, why),
					.on_true = RS_FILTER_ACCEPT,
					.on_false = RS_FILTER_REJECT,
					.imm = RS_FILTER_GRAIN + (1ull << 32)};
	*pool = (uint8_t)end;
	words[rs_event_test_all.id] = RS_EVENT_ENABLED | GRAINS(1);
	apply(RS_CONTROL_SELF_PATCH);
	trace_test_all(NULL, NULL, NULL, 0, text);
	return rs_word_records(state->word) != before;
}

/* Of a string that is cut, a filter sees what the record keeps. */
static void test_cut(void)
{
	const uint32_t most = 4096 - RS_RING_PAGE_HEADER - 8 - sizeof(struct rs_entry_test_all);
	char text[4000];

	set_up();
	memset(text, 'a', sizeof(text));
	/* With its NUL it just fits. */
	text[most - 2] = 'z';
	text[most - 1] = 0;
	g_assert_true(ends_with(text, 'z'));
	g_assert_false(ends_with(text, 'a'));
	/* First the NUL does not fit any more, then the last letter. */
	text[most - 1] = 'z';
	text[most - 2] = 'a';
	text[most] = 0;
	g_assert_true(ends_with(text, 'z'));
	text[most - 1] = 'b';
	text[most] = 'z';
	text[most + 1] = 0;
	g_assert_false(ends_with(text, 'z'));
	g_assert_true(ends_with(text, 'b'));
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/filters/replaced", test_replaced);
	g_test_add_func("/agent/filters/places", test_places);
	g_test_add_func("/agent/filters/verdicts", test_verdicts);
	g_test_add_func("/agent/filters/cut", test_cut);
	return g_test_run();
}
