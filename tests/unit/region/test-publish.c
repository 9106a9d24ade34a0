/* SPDX-License-Identifier: MIT */
#include "region/publish.h"

#include <errno.h>
#include <glib.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID
#define EVENTS (FIRST + 48)
#define SPACE 65536u

#define EPOCHS 4u

struct pages {
	struct rs_control control;
	struct rs_clock_epoch epochs[EPOCHS];
	uint32_t words[EVENTS], natives[EVENTS];
	_Alignas(64) uint8_t filters[SPACE];
};

static struct rs_publisher *make(struct pages *pages)
{
	struct rs_publisher_map map = {.control = &pages->control,
				       .event_ctl = pages->words,
				       .event_capacity = EVENTS,
				       .filters = pages->filters,
				       .filters_size = SPACE,
				       .native = pages->natives,
				       .epochs = pages->epochs,
				       .epoch_capacity = EPOCHS};

	return rs_publisher_create(&map);
}

static struct rs_filter_program *program_for(uint32_t id, uint32_t size, uint8_t fill)
{
	struct rs_filter_program *program = g_malloc(size);

	memset(program, fill, size);
	*program =
		(struct rs_filter_program){.insn_count = 1, .size = size, .pool = 64, .event = id};
	return program;
}

static struct rs_filter_program *published(struct pages *pages, uint32_t id)
{
	uint32_t at = pages->words[id] >> RS_EVENT_FILTER_SHIFT;

	return at ? (void *)(pages->filters + at * RS_FILTER_GRAIN) : NULL;
}

/* Code stands only for the filter for which it was named. */
static void test_natives(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	g_autofree struct rs_filter_program *program = program_for(FIRST, 256, 1);
	struct rs_publisher *p;

	memset(pages->natives, 0xa5, sizeof(pages->natives)); /* of an earlier session */
	p = make(pages);
	for (uint32_t id = 0; id < EVENTS; id++)
		g_assert_cmphex(pages->natives[id], ==, 0);
	rs_publisher_set_native(p, FIRST, 7); /* it has no filter */
	rs_publisher_set_native(p, EVENTS, 7);
	g_assert_cmphex(pages->natives[FIRST], ==, 0);
	for (unsigned int i = 0; i < 3; i++) {
		g_assert_cmpint(rs_publisher_set_filter(p, FIRST, program, NULL), ==, 0);
		g_assert_cmphex(pages->natives[FIRST], ==, 0);
		rs_publisher_set_native(p, FIRST, 7 + i);
		g_assert_cmphex(pages->natives[FIRST], ==, 7 + i);
		g_assert_cmphex(rs_publisher_native(p, FIRST), ==, 7 + i);
		/* On and off change no filter. */
		rs_publisher_set_enabled(p, FIRST, i % 2, NULL);
		g_assert_cmphex(pages->natives[FIRST], ==, 7 + i);
	}
	/* A program that is refused changes nothing. */
	program->event++;
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST, program, NULL), ==, -EINVAL);
	g_assert_cmphex(pages->natives[FIRST], ==, 9);
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST, NULL, NULL), ==, 0);
	g_assert_cmphex(pages->natives[FIRST], ==, 0);
	program->event--;
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST, program, NULL), ==, 0);
	rs_publisher_set_native(p, FIRST, 3);
	rs_publisher_reset(p);
	g_assert_cmphex(pages->natives[FIRST], ==, 0);
	rs_publisher_destroy(p);
}

static void test_words(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p;
	struct rs_error err = {0};

	memset(pages->words, 0xa5, sizeof(pages->words)); /* of an earlier session */
	pages->control.flags = RS_CONTROL_STOP;
	p = make(pages);
	for (uint32_t id = 0; id < EVENTS; id++)
		g_assert_cmphex(pages->words[id], ==, 0);
	g_assert_cmphex(pages->control.flags, ==, 0);
	g_assert_cmpint(rs_publisher_set_enabled(p, FIRST + 4, true, &err), ==, 0);
	g_assert_cmphex(pages->words[FIRST + 4], ==, RS_EVENT_ENABLED);
	/* The guest can write this page in QEMU, so nothing is read back. */
	pages->words[FIRST + 4] = 0xdeadbeef;
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST + 4, NULL, &err), ==, 0);
	g_assert_cmphex(pages->words[FIRST + 4], ==, RS_EVENT_ENABLED);
	rs_publisher_set_enabled(p, FIRST + 4, false, NULL);
	g_assert_cmphex(pages->words[FIRST + 4], ==, 0);
	g_assert_cmpint(rs_publisher_set_enabled(p, EVENTS, true, &err), ==, -EINVAL);
	g_assert_cmpint(rs_publisher_set_enabled(p, FIRST - 1, true, &err), ==, -EINVAL);
	g_assert_cmpuint(rs_publisher_commit(p), ==, 1);
	g_assert_cmpuint(pages->control.generation, ==, 1);
	rs_publisher_set_flags(p, RS_CONTROL_STOP | RS_CONTROL_SELF_PATCH, 0);
	rs_publisher_set_flags(p, 0, RS_CONTROL_SELF_PATCH);
	g_assert_cmphex(pages->control.flags, ==, RS_CONTROL_STOP);
	rs_publisher_destroy(p);
}

static void test_filter(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p = make(pages);
	g_autofree struct rs_filter_program *program = program_for(FIRST + 1, 192, 0xa5);
	struct rs_filter_program *there;
	struct rs_error err = {0};

	rs_publisher_set_enabled(p, FIRST + 1, true, NULL);
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST + 1, program, &err), ==, 0);
	there = published(pages, FIRST + 1);
	g_assert_nonnull(there);
	g_assert_true(pages->words[FIRST + 1] & RS_EVENT_ENABLED);
	g_assert_cmpuint(there->sequence, >, 0);
	g_assert_cmpuint(there->sequence % 2, ==, 0);
	g_assert_cmpuint(there->insn_count, ==, 1);
	g_assert_cmpmem(there + 1, 192 - sizeof(*there), program + 1, 192 - sizeof(*program));
	/* A program's offsets are right for only one event. */
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST + 2, program, &err), ==, -EINVAL);
	g_assert_cmphex(pages->words[FIRST + 2], ==, 0);
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST + 1, NULL, &err), ==, 0);
	g_assert_cmphex(pages->words[FIRST + 1], ==, RS_EVENT_ENABLED);
	rs_publisher_destroy(p);
}

/* A reused slot keeps its place and never has a sequence twice. */
static void test_slots_rest_and_count_up(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p = make(pages);
	g_autofree struct rs_filter_program *program = program_for(FIRST + 1, 128, 1);
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	uint32_t previous = 0;

	for (int i = 0; i < 1000; i++) {
		struct rs_filter_program *there;
		uint32_t at;

		g_assert_cmpint(rs_publisher_set_filter(p, FIRST + 1, program, NULL), ==, 0);
		at = pages->words[FIRST + 1] >> RS_EVENT_FILTER_SHIFT;
		there = published(pages, FIRST + 1);
		/* Never written in place: the old program is whole until the word changes. */
		g_assert_cmpuint(at, !=, previous);
		previous = at;
		g_assert_cmpuint(there->sequence, >,
				 GPOINTER_TO_UINT(g_hash_table_lookup(seen, GUINT_TO_POINTER(at))));
		g_hash_table_insert(seen, GUINT_TO_POINTER(at), GUINT_TO_POINTER(there->sequence));
	}
	/* Freed slots are not reused while there is other space: all of it has been used by now. */
	g_assert_cmpuint(g_hash_table_size(seen), ==, (SPACE - RS_FILTER_GRAIN) / 256);
	rs_publisher_destroy(p);
}

static void test_full(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p = make(pages);
	struct rs_error err = {0};
	uint32_t id = FIRST;
	int ret = 0;

	for (; id < EVENTS && !ret; id++) {
		g_autofree struct rs_filter_program *program =
			program_for(id, RS_FILTER_MAX_SIZE, 2);

		ret = rs_publisher_set_filter(p, id, program, &err);
	}
	g_assert_cmpint(ret, ==, -ENOSPC);
	g_assert_cmpuint(id - FIRST, ==, SPACE / RS_FILTER_MAX_SIZE);
	/* After another boot all of it is there again. */
	rs_publisher_reset(p);
	for (uint32_t i = 0; i < EVENTS; i++)
		g_assert_cmphex(pages->words[i], ==, 0);
	{
		g_autofree struct rs_filter_program *program =
			program_for(FIRST + 4, RS_FILTER_MAX_SIZE, 3);

		g_assert_cmpint(rs_publisher_set_filter(p, FIRST + 4, program, &err), ==, 0);
	}
	rs_publisher_destroy(p);
}

/* Which programs can be published: whole ones for their event, as large as a filter may be. */
static void test_program_limits(void)
{
	static const struct {
		uint32_t size;
		int ret;
	} sizes[] = {
		{0, -EINVAL},
		{8, -EINVAL},
		{sizeof(struct rs_filter_program) - 8, -EINVAL},
		{sizeof(struct rs_filter_program), 0},
		{sizeof(struct rs_filter_program) + 4, -EINVAL},
		{sizeof(struct rs_filter_program) + 8, 0},
		{RS_FILTER_MAX_SIZE - 8, 0},
		{RS_FILTER_MAX_SIZE, 0},
		{RS_FILTER_MAX_SIZE + 8, -EINVAL},
		{UINT32_MAX - 7, -EINVAL},
	};
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	g_autofree struct rs_filter_program *program =
		program_for(EVENTS - 1, 2 * RS_FILTER_MAX_SIZE, 7);
	struct rs_publisher *p = make(pages);

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		program->size = sizes[i].size;
		g_assert_cmpint(rs_publisher_set_filter(p, EVENTS - 1, program, NULL), ==,
				sizes[i].ret);
		if (!sizes[i].ret)
			g_assert_cmpmem(published(pages, EVENTS - 1) + 1,
					sizes[i].size - sizeof(*program), program + 1,
					sizes[i].size - sizeof(*program));
	}
	program->size = 128;
	program->event = FIRST;
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST, program, NULL), ==, 0);
	program->event = EVENTS;
	g_assert_cmpint(rs_publisher_set_filter(p, EVENTS, program, NULL), ==, -EINVAL);
	program->event = FIRST - 1;
	g_assert_cmpint(rs_publisher_set_filter(p, FIRST - 1, program, NULL), ==, -EINVAL);
	program->event = UINT32_MAX;
	g_assert_cmpint(rs_publisher_set_filter(p, UINT32_MAX, program, NULL), ==, -EINVAL);
	g_assert_cmpint(rs_publisher_set_enabled(p, FIRST, true, NULL), ==, 0);
	g_assert_cmpint(rs_publisher_set_enabled(p, EVENTS - 1, true, NULL), ==, 0);
	rs_publisher_destroy(p);
}

static void check_space(struct pages *pages, uint32_t space, uint32_t size)
{
	struct rs_publisher_map map = {.control = &pages->control,
				       .event_ctl = pages->words,
				       .event_capacity = EVENTS,
				       .filters = pages->filters,
				       .filters_size = space};
	struct rs_publisher *p = rs_publisher_create(&map);
	g_autofree struct rs_filter_program *program = program_for(FIRST, size, 0xff);
	uint32_t end = 0, n = 0, slot = MAX(256, (uint32_t)1 << g_bit_storage(size - 1));

	memset(pages->filters, 0, sizeof(pages->filters));
	for (program->event = FIRST; program->event < EVENTS; program->event++) {
		struct rs_filter_program *at;

		if (rs_publisher_set_filter(p, program->event, program, NULL))
			break;
		at = published(pages, program->event);
		/* They follow each other, but for what is left at the end of the guests' part. */
		g_assert_cmpuint((uint8_t *)at - pages->filters, >=, MAX(RS_FILTER_GRAIN, end));
		end = (uint32_t)((uint8_t *)at - pages->filters) + slot;
		g_assert_cmpuint(end, <=, space);
		n++;
	}
	for (uint32_t i = space; i < sizeof(pages->filters); i++)
		g_assert_cmpuint(pages->filters[i], ==, 0);
	/* Not used: the first grain, less than a slot in each part, and a part of a grain. */
	if (program->event < EVENTS)
		g_assert_cmpuint(n * slot + RS_FILTER_GRAIN + 2 * slot + RS_FILTER_GRAIN, >, space);
	rs_publisher_destroy(p);
}

/* Whatever space there is, nothing is written beside it. */
static void test_spaces(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);

	for (uint32_t space = 0; space < 4096; space += 8) {
		check_space(pages, space, 128);
		check_space(pages, space, 264);
	}
	for (uint32_t space = 4096; space <= SPACE; space += 4096 - 8)
		check_space(pages, space, 1024);
}

/* Both words count on, also those of an earlier session. */
static void test_counts(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p = make(pages);

	for (uint32_t i = 1; i <= 3; i++) {
		rs_publisher_nudge(p);
		g_assert_cmpuint(pages->control.nudge, ==, i);
		g_assert_cmpuint(rs_publisher_generation(p), ==, i - 1);
		g_assert_cmpuint(rs_publisher_commit(p), ==, i);
		g_assert_cmpuint(rs_publisher_generation(p), ==, i);
	}
	rs_publisher_destroy(p);
	p = make(pages);
	rs_publisher_nudge(p);
	g_assert_cmpuint(pages->control.nudge, ==, 4);
	g_assert_cmpuint(rs_publisher_generation(p), ==, 3);
	rs_publisher_set_flags(p, RS_CONTROL_STOP, RS_CONTROL_STOP);
	g_assert_cmphex(pages->control.flags, ==, RS_CONTROL_STOP);
	rs_publisher_destroy(p);
}

/* How many programs of that size fit for the guest, or for the host. */
static uint32_t fill(struct rs_publisher *p, uint32_t *id, uint32_t size, bool guest)
{
	uint32_t n = 0;

	for (; *id < EVENTS; ++*id, n++) {
		g_autofree struct rs_filter_program *program = program_for(*id, size, 2);
		int ret = guest ? rs_publisher_set_guest_filter(p, *id, program, NULL)
				: rs_publisher_set_filter(p, *id, program, NULL);

		if (ret)
			g_assert_cmpint(ret, ==, -ENOSPC);
		if (ret)
			break;
	}
	return n;
}

/* Whatever a guest takes, a quarter is left, also when the host has used that quarter before. */
static void test_kept_back(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p = make(pages);
	uint32_t id = FIRST, n;

	n = fill(p, &id, 4096, true);
	g_assert_cmpuint(n, ==, (SPACE - SPACE / 4 - RS_FILTER_GRAIN) / 4096);
	g_assert_cmpuint(fill(p, &id, 4096, false), ==, SPACE / 4 / 4096);
	for (uint32_t i = FIRST; i < id; i++)
		rs_publisher_set_filter(p, i, NULL, NULL);
	id = FIRST;
	/* A slot is never divided; one that is smaller fits behind them. */
	g_assert_cmpuint(fill(p, &id, 2048, true), ==, n + 1);
	g_assert_cmpuint(fill(p, &id, 2048, false), ==, SPACE / 4 / 4096);
	rs_publisher_destroy(p);
}

/* A later session on the same region goes on counting. */
static void test_again(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p = make(pages);
	g_autofree struct rs_filter_program *program = program_for(FIRST + 1, 128, 1);
	uint32_t first;

	rs_publisher_set_filter(p, FIRST + 1, program, NULL);
	first = published(pages, FIRST + 1)->sequence;
	rs_publisher_commit(p);
	rs_publisher_commit(p);
	rs_publisher_destroy(p);
	p = make(pages);
	g_assert_cmphex(pages->words[FIRST + 1], ==, 0);
	g_assert_cmpuint(rs_publisher_commit(p), ==, 3);
	rs_publisher_set_filter(p, FIRST + 1, program, NULL);
	g_assert_cmpuint(published(pages, FIRST + 1)->sequence, >, first);
	g_assert_cmpuint(published(pages, FIRST + 1)->sequence % 2, ==, 0);
	rs_publisher_destroy(p);
}

static void begin(struct rs_publisher *p, uint64_t hz, uint64_t ticks, uint64_t ns, bool continues)
{
	const struct rs_epoch_start start = {
		.hz = hz, .ticks = ticks, .ns = ns, .continues = continues};

	rs_publisher_begin_epoch(p, &start);
}

static void test_clock(void)
{
	g_assert_cmpuint(EPOCHS, ==, 4);
	for (uint64_t hz = 1000; hz <= 8000000000u; hz = hz * 3 + 7) {
		g_autofree struct pages *pages = g_new0(struct pages, 1);
		struct rs_publisher *p = make(pages);
		uint64_t hour;

		g_assert_cmpuint(rs_publisher_ns(p, 12345), ==, 0);
		begin(p, hz, 1000, 0, false);
		hour = rs_publisher_ns(p, 1000 + hz * 3600);
		/* Right to a part in a million even for slow clocks. */
		g_assert_cmpuint(hour, <=, 3600000000000u);
		g_assert_cmpuint(hour, >, 3600000000000u - 3600000u);
		g_assert_cmpuint(rs_publisher_ns(p, 999), ==, 0);
		rs_publisher_destroy(p);
	}
}

/* The number of an epoch is never used again, its place is. */
static void test_epochs(void)
{
	g_autofree struct pages *pages = g_new0(struct pages, 1);
	struct rs_publisher *p = make(pages);

	begin(p, 0, 5, 5, false); /* an unknown rate begins nothing */
	g_assert_cmpuint(pages->control.epoch_count, ==, 0);
	for (uint32_t i = 0; i < 10; i++) {
		begin(p, 1000000000, i * 100, i * 1000, true);
		g_assert_cmpuint(pages->control.epoch_count, ==, i + 1);
		g_assert_cmpuint(pages->control.clock_chain, ==, 0);
		g_assert_cmpuint(pages->epochs[i % EPOCHS].chain, ==, 0);
		g_assert_cmpuint(pages->epochs[i % EPOCHS].index, ==, i);
		g_assert_cmpuint(pages->epochs[i % EPOCHS].tsc_base, ==, i * 100);
		g_assert_cmpuint(pages->epochs[i % EPOCHS].ns_base, ==, i * 1000);
	}
	g_assert_cmpuint(rs_publisher_ns(p, 950), ==, 9050);
	g_assert_cmpuint(rs_publisher_ns(p, 850), ==, 8050);
	/* Another session goes on with the chain, until the counter goes back. */
	rs_publisher_destroy(p);
	p = make(pages);
	begin(p, 1000000000, 950, 20000, true);
	g_assert_cmpuint(pages->control.clock_chain, ==, 0);
	g_assert_cmpuint(pages->epochs[10 % EPOCHS].chain, ==, 0);
	begin(p, 1000000000, 100, 30000, false);
	g_assert_cmpuint(pages->control.clock_chain, ==, 11);
	begin(p, 1000000000, 200, 31000, true);
	g_assert_cmpuint(pages->control.clock_chain, ==, 11);
	g_assert_cmpuint(pages->epochs[12 % EPOCHS].chain, ==, 11);
	g_assert_cmpuint(rs_publisher_ns(p, 150), ==, 30050);
	begin(p, 1000000000, 150, 32000, true); /* it does not */
	g_assert_cmpuint(pages->control.clock_chain, ==, 13);
	rs_publisher_destroy(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/region/publish/natives", test_natives);
	g_test_add_func("/region/publish/words", test_words);
	g_test_add_func("/region/publish/filter", test_filter);
	g_test_add_func("/region/publish/program-limits", test_program_limits);
	g_test_add_func("/region/publish/spaces", test_spaces);
	g_test_add_func("/region/publish/counts", test_counts);
	g_test_add_func("/region/publish/slots", test_slots_rest_and_count_up);
	g_test_add_func("/region/publish/full", test_full);
	g_test_add_func("/region/publish/kept-back", test_kept_back);
	g_test_add_func("/region/publish/again", test_again);
	g_test_add_func("/region/publish/clock", test_clock);
	g_test_add_func("/region/publish/epochs", test_epochs);
	return g_test_run();
}
