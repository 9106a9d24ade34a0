/* SPDX-License-Identifier: MIT */
/*
 * Filters as machine code in the agent's pool of text: which code judges which event. The code and
 * the program here say the opposite, so that each verdict tells who has judged.
 */
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "filter.h"
#include "judge.h"
#include "region/regions.h"
#include "text.h"

#include <glib.h>
#include <sys/mman.h>
#include <unistd.h>

#define POOL 4096u
#define ENTRIES (RS_NATIVE_ENTRY_BYTES(POOL) / (uint32_t)sizeof(struct rs_native_entry))

static RS_PROVIDER(provider, "native-test");

static RsTraceRegion *region;
static uint32_t *words, *natives;
static uint8_t *pool;
static uint32_t os_pid_is;

static uint64_t os_time(void)
{
	static uint64_t now = 1000;

	return now += 10;
}
static uint32_t os_pid(void)
{
	return os_pid_is;
}

static const struct rs_trace_ops ops = {.text_open = os_text_open,
					.text_close = os_text_close,
					.time_now = os_time,
					.current_pid = os_pid};

/* cmp $1,(%rdi): the pair's first number. 1 is accepted. */
static const uint8_t first_is_1[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xc0, 0x83,
				     0x3f, 0x01, 0x0f, 0x94, 0xc0, 0xc3};
/* cmp $1,32(%rsi): the task. */
static const uint8_t pid_is_1[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xc0, 0x83,
				   0x7e, 0x20, 0x01, 0x0f, 0x94, 0xc0, 0xc3};
#define CODE 2048u

static void apply(uint32_t flags)
{
	struct rs_control *control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);

	control->flags = flags;
	control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
}

static void set_up(bool told)
{
	struct rs_region_config layout = {.vcpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					  .ring_bytes = 64 * 1024};
	struct rs_agent_config config = {.ops = &ops,
					 .cpu_count = 1,
					 .flags = RS_GUEST_SELF_PATCH,
					 .text_pool = told ? pool : NULL,
					 .text_pool_size = POOL};
	struct rs_filter_program *program;

	memset(pool, RS_NATIVE_UNUSED, POOL);
	memcpy(pool + CODE, first_is_1, sizeof(first_is_1));
	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	natives = rs_trace_region_section(region, RS_SEC_NATIVE, NULL);
	config.region = region->map;
	config.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	/* The program: all but 1. */
	program = (void *)((uint8_t *)rs_trace_region_section(region, RS_SEC_FILTERS, NULL) +
			   RS_FILTER_GRAIN);
	*program = (struct rs_filter_program){.insn_count = 1,
					      .size = RS_FILTER_GRAIN,
					      .pool = RS_FILTER_GRAIN,
					      .event = rs_event_test_pair.id};
	*(struct rs_filter_insn *)(program + 1) =
		(struct rs_filter_insn){.op = RS_OP_NE,
					.width = 4,
					.on_true = RS_FILTER_ACCEPT,
					.on_false = RS_FILTER_REJECT,
					.imm = 1,
					.mask = UINT32_MAX};
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED | 1 << RS_EVENT_FILTER_SHIFT;
	apply(RS_CONTROL_SELF_PATCH);
}

static void tear_down(void)
{
	apply(RS_CONTROL_STOP);
	rs_agent_fini();
	rs_trace_region_free(region);
}

static struct rs_native_entry *entry(uint32_t number)
{
	return (struct rs_native_entry *)pool + number;
}

static struct rs_native_entry good(void)
{
	return (struct rs_native_entry){.code = CODE,
					.event = (uint16_t)rs_event_test_pair.id,
					.entry_size = sizeof(struct rs_entry_test_pair)};
}

/* The test's thread may run on any CPU. */
static uint64_t count_records(void)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < region->header.ring_count; i++) {
		const struct rs_ring_state *state =
			rs_trace_region_element(region, RS_SEC_RING_STATE, i);

		all += rs_word_records(rs_load(&state->word));
	}
	return all;
}

static bool passes(uint32_t value)
{
	uint64_t before = count_records();

	trace_test_pair(value, 2);
	return count_records() != before;
}

static void by_code(bool yes)
{
	g_assert_cmpint(passes(1), ==, yes);
	g_assert_cmpint(passes(2), ==, !yes);
}

/* The provider says where the pool is. */
static void test_told(void)
{
	const struct rs_provider *told;

	set_up(true);
	told = rs_trace_region_section(region, RS_SEC_PROVIDERS, NULL);
	g_assert_cmpuint(told->text_pool, ==, (uintptr_t)pool);
	g_assert_cmpuint(told->text_pool_size, ==, POOL);
	tear_down();
}

static void test_named(void)
{
	set_up(true);
	by_code(false);
	*entry(0) = good();
	by_code(false); /* the word does not name it */
	natives[rs_event_test_pair.id] = 1;
	by_code(true);
	*entry(ENTRIES / 4) = good();
	natives[rs_event_test_pair.id] = 1 + ENTRIES / 4;
	by_code(true);
	natives[rs_event_test_pair.id] = 0;
	by_code(false);
	/* Without a filter all are recorded, whatever the word says. */
	natives[rs_event_test_pair.id] = 1;
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED;
	g_assert_true(passes(1) && passes(2));
	tear_down();
}

/* Whatever the word names, nothing is run but what the pool has for this event. */
static void test_others(void)
{
	const uint32_t words_beyond[] = {1, 2, ENTRIES, ENTRIES + 1, 1u << 31, UINT32_MAX};

	set_up(true);
	for (unsigned int i = 0; i < G_N_ELEMENTS(words_beyond); i++) {
		natives[rs_event_test_pair.id] = words_beyond[i];
		by_code(false);
	}
	natives[rs_event_test_pair.id] = 1;
	*entry(0) = good();
	entry(0)->event++;
	by_code(false);
	*entry(0) = good();
	entry(0)->entry_size += 4;
	by_code(false);
	*entry(0) = good();
	by_code(true);
	/* Where code lies, its author may have chosen such bytes. */
	*entry(ENTRIES) = good();
	natives[rs_event_test_pair.id] = 1 + ENTRIES;
	by_code(false);
	*entry(ENTRIES - 1) = good();
	natives[rs_event_test_pair.id] = ENTRIES;
	by_code(true);
	tear_down();
}

/* The code asks for more than the entry. */
static void test_input(void)
{
	set_up(true);
	memcpy(pool + CODE, pid_is_1, sizeof(pid_is_1));
	*entry(0) = good();
	entry(0)->entry_size |= RS_NATIVE_INPUT << RS_NATIVE_KIND_SHIFT;
	natives[rs_event_test_pair.id] = 1;
	/* The fast way knows only the entry, so the program judges numbers there. */
	for (os_pid_is = 0; os_pid_is < 3; os_pid_is++) {
		struct rs_entry_test_pair pair = {7, 8};
		struct rs_filter_input input = {
			.entry = &pair, .entry_size = sizeof(pair), .pid = os_pid_is};

		g_assert_cmpint(
			rs_core_wanted(&rs_event_test_pair, words[rs_event_test_pair.id], &input),
			==, os_pid_is == 1);
		entry(0)->dyn_count = 1; /* the event has no such field: the program judges */
		g_assert_true(
			rs_core_wanted(&rs_event_test_pair, words[rs_event_test_pair.id], &input));
		entry(0)->dyn_count = 0;
	}
	tear_down();
}

/* An agent without a pool, and a host that lays out no words. */
static void test_without(void)
{
	set_up(false);
	*entry(0) = good();
	natives[rs_event_test_pair.id] = 1;
	by_code(false);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	g_assert(pool != MAP_FAILED);
	g_test_add_func("/agent/native/told", test_told);
	g_test_add_func("/agent/native/named", test_named);
	g_test_add_func("/agent/native/others", test_others);
	g_test_add_func("/agent/native/input", test_input);
	g_test_add_func("/agent/native/without", test_without);
	return g_test_run();
}
