/* SPDX-License-Identifier: MIT */
/* Call stacks: the walk over good and bad chains of frames, and what an event's record gets. */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "core.h"
#include "region/regions.h"
#include "stack.h"
#include <ringside/callback.h>
#include <rs-trace-page.h>
#include <rs-trace-ring.h>

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- the walk ---- */

#define WORDS 64u
static uintptr_t memory[WORDS] __attribute__((aligned(16)));

static uintptr_t at(uint32_t word)
{
	return (uintptr_t)&memory[word];
}

/* A chain over these words: each has its caller's frame, and returns to 0x1000 + itself. */
static void chain(const uint32_t *words, uint32_t count)
{
	memset(memory, 0, sizeof(memory));
	for (uint32_t i = 0; i < count; i++) {
		memory[words[i]] = i + 1 < count ? at(words[i + 1]) : 0;
		memory[words[i] + 1] = 0x1000 + words[i];
	}
}

static uint32_t walk(uint32_t max, uint64_t *out)
{
	return rs_stack_walk(at(2), at(0), at(WORDS), out, max);
}

static void test_walk(void)
{
	static const uint32_t words[] = {2, 10, 12, 40, 62};
	uint64_t out[8] = {0};

	chain(words, G_N_ELEMENTS(words));
	g_assert_cmpuint(walk(8, out), ==, 5);
	for (uint32_t i = 0; i < 5; i++)
		g_assert_cmphex(out[i], ==, 0x1000 + words[i]);
	g_assert_cmpuint(walk(3, out), ==, 3);
	g_assert_cmpuint(walk(0, out), ==, 0);
	memory[41] = 0; /* the first function of all returns nowhere */
	g_assert_cmpuint(walk(8, out), ==, 3);
}

/* What follows the second frame is wrong. */
static void test_broken(void)
{
	static const uint32_t words[] = {2, 10, 12};
	uint64_t out[8];
	const uintptr_t wrong[] = {at(10),
				   at(2),
				   at(9), /* back */
				   at(12) + 1,
				   at(12) + 4,
				   at(WORDS),
				   at(WORDS - 1), /* half of it lies behind the end */
				   at(WORDS) + 0x100000,
				   1,
				   UINTPTR_MAX,
				   UINTPTR_MAX & ~(uintptr_t)7,
				   (uintptr_t)1 << 63};

	for (uint32_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		chain(words, G_N_ELEMENTS(words));
		memory[10] = wrong[i];
		g_assert_cmpuint(walk(8, out), ==, 2);
	}
	/* The first one is no better than the others. */
	g_assert_cmpuint(rs_stack_walk(at(0), at(0), at(WORDS), out, 8), ==, 0);
	g_assert_cmpuint(rs_stack_walk(0, at(0), at(WORDS), out, 8), ==, 0);
	g_assert_cmpuint(rs_stack_walk(at(2), at(4), at(WORDS), out, 8), ==, 0);
	g_assert_cmpuint(rs_stack_walk(at(2), at(0), at(3), out, 8), ==, 0);
	g_assert_cmpuint(rs_stack_walk(at(2), at(0), at(4), out, 8), ==, 1);
}

/* ---- events ---- */

static RsTraceRegion *region;
static uint32_t *control_word;

static struct rs_agent_provider provider = {.name = "stack-test"};

static void set_up(void)
{
	struct rs_region_config config = {.vcpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					  .ring_bytes = 16 * 1024,
					  .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_agent_config agent = {.agent = "test", .cpu_count = config.vcpus};

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	agent.region = region->map;
	agent.region_size = region->size;
	provider.events = &rs_event_test_pair;
	provider.events_end = &rs_event_test_pair + 1;
	g_assert_cmpint(rs_agent_init(&agent), ==, 0);
	g_assert_true(rs_core.info->flags & RS_GUEST_STACKS);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	control_word = (uint32_t *)rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL) +
		       rs_event_test_pair.id;
}

static void tear_down(void)
{
	rs_agent_unregister(&provider);
	rs_agent_fini();
	rs_trace_region_free(region);
}

static uint32_t with_stack(uint32_t depth)
{
	return RS_EVENT_ENABLED | depth << RS_EVENT_STACK_SHIFT;
}

/* The stack of the last record of all rings. */
static uint32_t last_stack(uint64_t out[RS_STACK_MAX])
{
	uint32_t count = 0;
	uint64_t newest = 0;

	for (uint32_t i = 0; i < region->header.ring_count; i++) {
		struct rs_ring ring = rs_ring_at(&rs_core.rings, i);
		const guint8 *page = (const guint8 *)rs_ring_page(&ring, ring.state->shape, 0);
		RsTracePageWalk now;
		uint32_t end = rs_word_offset(ring.state->word) * 8;
		RsTracePageItem item;

		if (!ring.state->pages)
			continue;
		g_assert_cmpuint(ring.state->pages, ==, 1);
		rs_trace_page_begin(&now, page);
		while ((item = rs_trace_page_next(&now, page, end)) >= RS_TRACE_PAGE_MARK) {
			if (item != RS_TRACE_PAGE_RECORD || now.ts < newest)
				continue;
			newest = now.ts;
			count = now.n_stack;
			memcpy(out, page + now.stack, count * 8);
		}
	}
	g_assert_cmpuint(newest, !=, 0);
	return count;
}

#ifdef __clang__
#define DEEP __attribute__((noinline))
#else
#define DEEP __attribute__((noipa))
#endif

/* As the site's jump would. */
DEEP static void inner(uint32_t control)
{
	*control_word = control;
	rs_emit_test_pair(1, 2);
	__asm__ volatile("");
}

DEEP static void recurse(uint32_t left, uint32_t control)
{
	if (left)
		recurse(left - 1, control);
	else
		inner(control);
	__asm__ volatile("");
}

/* Functions of the test begin where they say and are shorter than this. */
static bool is_in(uint64_t address, void *function)
{
	return address > (uintptr_t)function && address < (uintptr_t)function + 256;
}

static void test_emit(void)
{
	uint64_t stack[RS_STACK_MAX];

	set_up();
	recurse(10, with_stack(8));
	g_assert_cmpuint(last_stack(stack), ==, 8);
	g_assert_true(is_in(stack[0], inner));
	for (uint32_t i = 1; i < 8; i++)
		g_assert_true(is_in(stack[i], recurse));
	recurse(0, with_stack(3));
	g_assert_cmpuint(last_stack(stack), ==, 3);
	g_assert_true(is_in(stack[0], inner));
	g_assert_true(is_in(stack[1], recurse));
	g_assert_true(stack[2] > (uintptr_t)test_emit && stack[2] < (uintptr_t)test_emit + 2048);
	recurse(100, with_stack(127));
	g_assert_cmpuint(last_stack(stack), ==, RS_STACK_MAX);
	recurse(100, with_stack(0));
	g_assert_cmpuint(last_stack(stack), ==, 0);
	tear_down();
}

/* An event with callbacks gets the same stack, but for the function that calls them. */
static void called(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
}

static void test_callbacks(void)
{
	struct rs_callback callback = {.raw = called};
	uint64_t stack[RS_STACK_MAX];
	uint32_t n, found = 0;

	set_up();
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	recurse(0, with_stack(4));
	n = last_stack(stack);
	g_assert_cmpuint(n, ==, 4);
	for (uint32_t i = 0; i < n; i++)
		found += is_in(stack[i], inner) || is_in(stack[i], recurse);
	g_assert_cmpuint(found, ==, 2);
	unregister_trace_test_pair(&callback);
	tear_down();
}

/* ---- other stacks ---- */

static void *in_thread(void *data)
{
	recurse(2, with_stack(16));
	return NULL;
}

static void test_thread(void)
{
	uint64_t stack[RS_STACK_MAX];
	pthread_t thread;
	uint32_t n;

	set_up();
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	n = last_stack(stack);
	/* The C library's own functions may have no frames. */
	g_assert_cmpuint(n, >=, 5);
	g_assert_true(is_in(stack[0], inner));
	g_assert_true(is_in(stack[4], in_thread));
	tear_down();
}

static void on_signal(int signal)
{
	recurse(1, with_stack(16));
}

/* A handler's frame leads to the function that was interrupted, or to nothing. */
static void test_signal(void)
{
	uint64_t stack[RS_STACK_MAX];

	set_up();
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	g_assert_cmpuint(last_stack(stack), >=, 4);
	g_assert_true(is_in(stack[0], inner));
	g_assert_true(is_in(stack[3], on_signal));
	tear_down();
}

/* Nobody knows where another stack ends, so a handler there gets none. */
static void test_alternate(void)
{
	static uint8_t own[64 * 1024];
	const stack_t alternate = {.ss_sp = own, .ss_size = sizeof(own)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	uint64_t stack[RS_STACK_MAX];

	set_up();
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (uint32_t i = 0; i < 20; i++)
		raise(SIGUSR1);
	g_assert_cmpuint(last_stack(stack), ==, 0);
	recurse(1, with_stack(3));
	g_assert_cmpuint(last_stack(stack), ==, 3);
	tear_down();
}

/* Without frame pointers the chain is whatever was in that register. */
static void test_garbage(void)
{
	static const uintptr_t garbage[] = {0, 1, 8, 0x1000, UINTPTR_MAX, UINTPTR_MAX - 7};
	uint64_t stack[RS_STACK_MAX];

	set_up();
	for (uint32_t i = 0; i < G_N_ELEMENTS(garbage) + 2; i++) {
		uintptr_t here[2] = {0, 0},
			  value = i < G_N_ELEMENTS(garbage)
					  ? garbage[i]
					  : (uintptr_t)(i % 2 ? (void *)here : (void *)memory);
		uint64_t entry = 0;
		struct rs_event *event = &rs_event_test_pair;

		/* Its arguments in registers, and the frame pointer's is ours. */
		__asm__ volatile("pushq %%rbp; movq %%rsp, %%rbx; andq $-16, %%rsp;"
				 "xorl %%r8d, %%r8d; xorl %%r9d, %%r9d;"
				 "movq %[value], %%rbp; call rs_emit_entry;"
				 "movq %%rbx, %%rsp; popq %%rbp"
				 : "+D"(event)
				 : [value] "r"(value), "S"((uint64_t)with_stack(16)), "d"(&entry),
				   "c"((uint64_t)8)
				 : "rax", "rbx", "r8", "r9", "r10", "r11", "memory", "cc");
		g_assert_cmpuint(last_stack(stack), <=, 1);
	}
	tear_down();
}

/* ---- what an OS supplies ---- */

static uintptr_t os_end;

static bool os_stack_end(uintptr_t frame, uintptr_t *end)
{
	*end = os_end ? os_end : frame;
	return os_end != 0;
}

static void test_os_stack(void)
{
	uint64_t stack[RS_STACK_MAX];

	set_up();
	rs_core.ops.stack_end = os_stack_end;
	recurse(5, with_stack(16));
	g_assert_cmpuint(last_stack(stack), ==, 0);
	os_end = (uintptr_t)__builtin_frame_address(0) + 8; /* not all of this frame */
	recurse(5, with_stack(16));
	g_assert_cmpuint(last_stack(stack), ==, 8);
	g_assert_true(is_in(stack[6], recurse));
	g_assert_true(is_in(stack[0], inner));
	tear_down();
}

static uint32_t os_call_stack(uint64_t *frames, uint32_t max)
{
	for (uint32_t i = 0; i < max; i++)
		frames[i] = 0x1000 + i;
	return max;
}

static void test_os_unwinds(void)
{
	uint64_t stack[RS_STACK_MAX];

	set_up();
	rs_core.ops.call_stack = os_call_stack;
	recurse(1, with_stack(16));
	g_assert_cmpuint(last_stack(stack), ==, 16);
	g_assert_cmpuint(stack[0], ==, 0x1000);
	g_assert_cmpuint(stack[15], ==, 0x100f);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/stack/walk", test_walk);
	g_test_add_func("/agent/stack/broken", test_broken);
	g_test_add_func("/agent/stack/emit", test_emit);
	g_test_add_func("/agent/stack/callbacks", test_callbacks);
	g_test_add_func("/agent/stack/thread", test_thread);
	g_test_add_func("/agent/stack/signal", test_signal);
	g_test_add_func("/agent/stack/alternate", test_alternate);
	g_test_add_func("/agent/stack/garbage", test_garbage);
	g_test_add_func("/agent/stack/os", test_os_stack);
	g_test_add_func("/agent/stack/os-unwinds", test_os_unwinds);
	return g_test_run();
}
