/* SPDX-License-Identifier: MIT */
/* Callbacks: who is called with what, from inside of one another, and what the host hears. */
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "core.h"
#include "region/regions.h"
#include "text.h"
#include <ringside/callback.h>

#include <glib.h>
#include <string.h>

/* It has no shadow of text, so a program with it cannot write its own. */
#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN true
#elif defined(__clang__)
#define HAS_TSAN __has_feature(thread_sanitizer)
#else
#define HAS_TSAN false
#endif

static RS_PROVIDER(provider, "callbacks");

static RsTraceRegion *region;
static struct rs_guest_info *info;
static uint32_t *words;
static struct rs_hcall_request asked[8];
static uint32_t n_asked;
static bool many;               /* threads ask at the same time */
static void (*meanwhile)(void); /* once, while the host is asked */

/* The host answers at once. */
static void op_ring(uint32_t slot)
{
	const struct rs_hcall_request *request =
		rs_trace_region_element(region, RS_SEC_REQUEST, slot);
	struct rs_hcall_response *response = rs_trace_region_element(region, RS_SEC_RESPONSE, slot);

	if (request->number == RS_HCALL_CALLBACKS && !many)
		asked[n_asked++ % G_N_ELEMENTS(asked)] = *request;
	if (request->number == RS_HCALL_CALLBACKS && meanwhile)
		g_steal_pointer (&meanwhile)();
	rs_store_release(&response->sequence, rs_load(&request->sequence));
}

static struct rs_trace_ops ops = {
	.hypercall_ring = op_ring, .text_open = os_text_open, .text_close = os_text_close};

static void begin(uint32_t flags)
{
	struct rs_region_config layout = {
		.vcpus = 64, .ring_bytes = 64 * 1024, .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_agent_config config = {.ops = &ops, .cpu_count = 1, .flags = flags};

	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	config.region = region->map;
	config.region_size = region->size;
	words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	n_asked = 0;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	g_assert_cmpint(rs_agent_hello(), ==, 0);
}

static void end(void)
{
	rs_agent_unregister(&provider);
	rs_agent_fini();
	rs_trace_region_free(region);
}

static uint64_t recorded(void)
{
	const struct rs_ring_state *states =
		rs_trace_region_section(region, RS_SEC_RING_STATE, NULL);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < region->header.ring_count; i++)
		sum += rs_load(&states[i].word) >> RS_WORD_RECORDS_SHIFT;
	return sum;
}

/* ---- what a callback gets ---- */

struct seen {
	const struct rs_event *event;
	uint64_t args[8];
	uint32_t count, calls;
	uint8_t record[2048];
	uint32_t size, records;
	GString *order;
	char name;
};

static void on_raw(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	struct seen *seen = data;

	seen->event = event;
	seen->calls++;
	seen->count = count;
	memcpy(seen->args, args, MIN(count, G_N_ELEMENTS(seen->args)) * sizeof(*args));
	if (seen->order)
		g_string_append_c(seen->order, seen->name);
}

static void on_record(const struct rs_event *event, const void *record, uint32_t size, void *data)
{
	struct seen *seen = data;

	g_assert_cmpuint(size, <=, sizeof(seen->record));
	memcpy(seen->record, record, size);
	seen->size = size;
	seen->records++;
}

static void test_raw_callback_gets_arguments(void)
{
	struct seen seen = {0};
	struct rs_callback callback = {.raw = on_raw, .data = &seen};
	static const uint16_t list[] = {1, 2};

	begin(0);
	g_assert_cmpint(register_trace_test_all(&callback), ==, 0);
	rs_emit_test_all(list, "comm", list, 2, NULL);
	g_assert_true(seen.event == &rs_event_test_all);
	g_assert_cmpuint(seen.count, ==, 5);
	g_assert_cmphex(seen.args[0], ==, (uintptr_t)list);
	g_assert_cmpstr((const char *)(uintptr_t)seen.args[1], ==, "comm");
	g_assert_cmphex(seen.args[2], ==, (uintptr_t)list);
	g_assert_cmphex(seen.args[3], ==, 2);
	g_assert_cmphex(seen.args[4], ==, 0);
	g_assert_cmpint(unregister_trace_test_all(&callback), ==, 0);
	g_assert_cmpint(register_trace_test_bare(&callback), ==, 0);
	rs_emit_test_bare();
	g_assert_cmpuint(seen.count, ==, 0);
	g_assert_cmpint(unregister_trace_test_bare(&callback), ==, 0);
	/* An argument of 4 bytes leaves zeroes behind it. */
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(~0u, 5);
	g_assert_cmphex(seen.args[0], ==, 0xffffffffu);
	g_assert_cmphex(seen.args[1], ==, 5);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 3);
	end();
}

static void test_last_registered_is_called_first(void)
{
	g_autoptr(GString) order = g_string_new(NULL);
	struct seen seen[3];
	struct rs_callback callbacks[3];

	begin(0);
	for (int i = 0; i < 3; i++) {
		seen[i] = (struct seen){.order = order, .name = (char)('a' + i)};
		callbacks[i] = (struct rs_callback){.raw = on_raw, .data = &seen[i]};
		g_assert_cmpint(register_trace_test_pair(&callbacks[i]), ==, 0);
	}
	rs_emit_test_pair(1, 2);
	/* The one in the middle goes, then the last one in the list, then the first. */
	g_assert_cmpint(unregister_trace_test_pair(&callbacks[1]), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpint(unregister_trace_test_pair(&callbacks[0]), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpint(unregister_trace_test_pair(&callbacks[2]), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpstr(order->str, ==, "cbacac");
	g_assert_null(rs_event_test_pair.state.callbacks);
	end();
}

static void test_registration_errors(void)
{
	struct seen seen = {0};
	struct rs_callback callback = {.data = &seen};

	begin(0);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, -RS_EINVAL);
	callback.raw = on_raw;
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, -RS_ENOENT);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, -RS_EBUSY);
	g_assert_cmpint(register_trace_test_bare(&callback), ==, -RS_EBUSY);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 1);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, -RS_ENOENT);
	/* As many as can be counted, and one less. */
	rs_event_test_pair.state.called |= 0xffff;
	g_assert_cmpint(register_trace_test_pair(&callback), ==, -RS_ENOSPC);
	g_assert_null(rs_event_test_pair.state.callbacks);
	rs_event_test_pair.state.called--;
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	rs_event_test_pair.state.called &= ~0xffffu;
	end();
}

static void test_event_callback_has_its_own_enable(void)
{
	struct seen seen = {0};
	struct rs_callback callback = {.record = on_record, .data = &seen};
	const struct rs_rec_header *header = (const struct rs_rec_header *)seen.record;
	uint32_t pair[2];

	begin(0);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(3, 4);
	g_assert_cmpuint(seen.records, ==, 0);
	rs_event_enable_callbacks(&rs_event_test_pair, true);
	rs_emit_test_pair(3, 4);
	g_assert_cmpuint(seen.records, ==, 1);
	g_assert_cmpuint(seen.size, ==, 16);
	g_assert_cmpuint(header->id, ==, rs_event_test_pair.id);
	g_assert_cmpuint(header->size, ==, 16);
	memcpy(pair, header + 1, sizeof(pair));
	g_assert_cmpuint(pair[0], ==, 3);
	g_assert_cmpuint(pair[1], ==, 4);
	rs_event_enable_callbacks(&rs_event_test_pair, false);
	rs_emit_test_pair(3, 4);
	g_assert_cmpuint(seen.records, ==, 1);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	end();
}

static void test_record_of_a_callback_is_cut_at_its_limit(void)
{
	const uint32_t fixed = rs_event_test_all.info->entry_size;
	struct seen seen = {0};
	struct rs_callback callback = {.record = on_record, .data = &seen};
	const struct rs_rec_header *header = (const struct rs_rec_header *)seen.record;
	char text[RS_RAW_MAX];

	begin(0);
	memset(text, 'x', sizeof(text));
	rs_event_enable_callbacks(&rs_event_test_all, true);
	g_assert_cmpint(register_trace_test_all(&callback), ==, 0);
	/* With its NUL the text fills the record to the last byte. */
	text[RS_RAW_MAX - 8 - fixed - 1] = 0;
	rs_emit_test_all(NULL, "", NULL, 0, text);
	g_assert_cmpuint(seen.size, ==, RS_RAW_MAX);
	g_assert_cmpuint(header->size, ==, RS_RAW_MAX);
	g_assert_cmpmem(seen.record + 8 + fixed, seen.size - 8 - fixed, text,
			RS_RAW_MAX - 8 - fixed);
	text[RS_RAW_MAX - 8 - fixed - 1] = 'x';
	text[RS_RAW_MAX - 8 - fixed] = 0;
	rs_emit_test_all(NULL, "", NULL, 0, text);
	g_assert_cmpuint(seen.size, ==, RS_RAW_MAX);
	g_assert_cmpuint(header->size, ==, RS_RAW_MAX | RS_REC_CUT);
	g_assert_cmpint(unregister_trace_test_all(&callback), ==, 0);
	rs_event_enable_callbacks(&rs_event_test_all, false);
	end();
}

static void test_callbacks_and_records_are_apart(void)
{
	struct seen seen = {0};
	struct rs_callback callback = {.raw = on_raw, .record = on_record, .data = &seen};

	begin(0);
	rs_event_enable_callbacks(&rs_event_test_pair, true);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(recorded(), ==, 0);
	/* A filter that is published before its event is switched on. There is no such program, and
	 * then the event passes. */
	words[rs_event_test_pair.id] = 0xffffffu << RS_EVENT_FILTER_SHIFT;
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(recorded(), ==, 0);
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED;
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(recorded(), ==, 1);
	g_assert_cmpuint(seen.calls, ==, 3);
	g_assert_cmpuint(seen.records, ==, 3);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(recorded(), ==, 2);
	rs_event_enable_callbacks(&rs_event_test_pair, false);
	end();
}

/* ---- from inside ---- */

static struct rs_callback inner, outer;
static struct seen inside;
static int results[4];
static uint32_t depth, deepest;

static void registers_another(const struct rs_event *event, const uint64_t *args, uint32_t count,
			      void *data)
{
	results[0] = rs_callback_register(&rs_event_test_pair, &inner);
}

static void test_callback_may_register(void)
{
	begin(0);
	inside = (struct seen){0};
	inner = (struct rs_callback){.raw = on_raw, .data = &inside};
	outer = (struct rs_callback){.raw = registers_another};
	g_assert_cmpint(register_trace_test_pair(&outer), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpint(results[0], ==, 0);
	/* It was not there when the event fired. */
	g_assert_cmpuint(inside.calls, ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpint(results[0], ==, -RS_EBUSY);
	g_assert_cmpuint(inside.calls, ==, 1);
	g_assert_cmpint(rs_callback_unregister(&inner), ==, 0);
	g_assert_cmpint(rs_callback_unregister(&outer), ==, 0);
	end();
}

static void unregisters(const struct rs_event *event, const uint64_t *args, uint32_t count,
			void *data)
{
	results[0] = rs_callback_unregister(&outer);
	results[1] = rs_callback_unregister(&inner);
	results[2] = rs_callback_register(&rs_event_test_pair, &inner);
}

static void test_callback_may_unregister(void)
{
	begin(0);
	inside = (struct seen){0};
	inner = (struct rs_callback){.raw = on_raw, .data = &inside};
	outer = (struct rs_callback){.raw = unregisters};
	g_assert_cmpint(register_trace_test_pair(&inner), ==, 0);
	g_assert_cmpint(register_trace_test_pair(&outer), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpint(results[0], ==, -RS_EINPROGRESS);
	g_assert_cmpint(results[1], ==, -RS_EINPROGRESS);
	/* Its memory was not given back yet. */
	g_assert_cmpint(results[2], ==, -RS_EBUSY);
	/* Neither is called any more, not even the one that came later in this event. */
	g_assert_cmpuint(inside.calls, ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(inside.calls, ==, 0);
	g_assert_cmpint(rs_callback_unregister(&outer), ==, 0);
	g_assert_cmpint(rs_callback_unregister(&inner), ==, 0);
	g_assert_cmpint(rs_callback_unregister(&inner), ==, -RS_ENOENT);
	g_assert_null(rs_event_test_pair.state.callbacks);
	end();
}

static void fires(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	depth++;
	deepest = MAX(deepest, depth);
	rs_emit_test_pair((uint32_t)args[0] + 1, 0);
	depth--;
}

static void test_recursion_is_bounded_and_counted(void)
{
	begin(0);
	depth = deepest = 0;
	outer = (struct rs_callback){.raw = fires};
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED;
	g_assert_cmpint(register_trace_test_pair(&outer), ==, 0);
	rs_emit_test_pair(0, 0);
	g_assert_cmpuint(deepest, ==, RS_CALLBACK_DEPTH);
	g_assert_cmpuint(info->callbacks_skipped, ==, 1);
	/* The event that was too deep is recorded all the same. */
	g_assert_cmpuint(recorded(), ==, RS_CALLBACK_DEPTH + 1);
	rs_emit_test_pair(0, 0);
	g_assert_cmpuint(deepest, ==, RS_CALLBACK_DEPTH);
	g_assert_cmpuint(info->callbacks_skipped, ==, 2);
	g_assert_cmpint(rs_callback_unregister(&outer), ==, 0);
	end();
}

/* ---- the hooks of an OS ---- */

static uint32_t reads, writes;

static void op_read(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data)
{
	g_assert_cmpuint(id, ==, rs_event_test_pair.id);
	reads++;
	f(&rs_event_test_pair.state, data);
}

static void op_write(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data)
{
	g_assert_cmpuint(id, ==, rs_event_test_pair.id);
	writes++;
	f(&rs_event_test_pair.state, data);
}

static void test_state_is_used_through_the_hooks(void)
{
	struct seen seen = {0};
	struct rs_callback callback = {.raw = on_raw, .data = &seen};

	reads = writes = 0;
	ops.read_tracepoint_state = op_read;
	ops.write_tracepoint_state = op_write;
	begin(0);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	g_assert_cmpuint(writes, ==, 1);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(reads, ==, 1);
	g_assert_cmpuint(seen.calls, ==, 1);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	g_assert_cmpuint(writes, ==, 2);
	g_assert_cmpuint(reads, ==, 1);
	end();
	ops.read_tracepoint_state = NULL;
	ops.write_tracepoint_state = NULL;
}

/* ---- the sites ---- */

static void assert_asked(uint32_t n, uint32_t id, uint64_t number, bool on)
{
	g_assert_cmpuint(n_asked, ==, n);
	g_assert_cmpuint(asked[n - 1].args[0], ==, id);
	g_assert_cmpuint(asked[n - 1].args[1], ==, number);
	g_assert_cmpuint(asked[n - 1].args[2], ==, on);
}

static void test_host_hears_of_the_first_and_the_last(void)
{
	struct rs_callback one = {.raw = on_raw, .data = &inside}, two = one;
	uint32_t id, number;

	begin(0);
	id = rs_event_test_pair.id;
	number = rs_event_test_pair.state.called >> 16;
	g_assert_cmpint(register_trace_test_pair(&one), ==, 0);
	assert_asked(1, id, (number + 1) & 0xffff, true);
	g_assert_cmpint(register_trace_test_pair(&two), ==, 0);
	g_assert_cmpuint(n_asked, ==, 1);
	g_assert_cmpint(rs_callback_unregister(&one), ==, 0);
	g_assert_cmpuint(n_asked, ==, 1);
	g_assert_cmpint(rs_callback_unregister(&two), ==, 0);
	assert_asked(2, id, (number + 2) & 0xffff, false);
	/* The number wraps. */
	rs_event_test_pair.state.called = 0xffff0000u;
	g_assert_cmpint(register_trace_test_pair(&one), ==, 0);
	assert_asked(3, id, 0, true);
	end();
	/* One that is there before its provider is told with it. */
	begin(0);
	g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
	g_assert_cmpint(register_trace_test_pair(&one), ==, 0);
	g_assert_cmpuint(n_asked, ==, 0);
	number = rs_event_test_pair.state.called >> 16;
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	assert_asked(1, rs_event_test_pair.id, number, true);
	g_assert_cmpint(rs_callback_unregister(&one), ==, 0);
	end();
}

static struct rs_callback early = {.raw = on_raw};

static void unregister_early(void)
{
	g_assert_cmpint(rs_callback_unregister(&early), ==, -RS_EBUSY);
}

/* The one who registers waits for the host, and another thread does not. */
static void test_unregister_while_it_is_registered_is_ebusy(void)
{
	struct seen seen = {0};

	begin(0);
	early.data = &seen;
	meanwhile = unregister_early;
	g_assert_cmpint(register_trace_test_pair(&early), ==, 0);
	g_assert_null(meanwhile);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 1);
	g_assert_cmpint(rs_callback_unregister(&early), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 1);
	end();
}

/* The image may be gone: nobody touches its events any more. */
static void test_callbacks_go_with_their_provider(void)
{
	static const struct rs_event_info what = {
		.system = "gone", .name = "event", .print = "", .print_args = ""};
	struct seen seen = {0};
	struct rs_callback one = {.raw = on_raw, .data = &seen}, two = one;
	struct rs_event *event =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rs_agent_provider image = {.name = "gone", .events = event, .events_end = event + 1};

	begin(0);
	event->info = &what;
	g_assert_cmpint(rs_agent_register(&image), ==, 0);
	g_assert_cmpint(rs_callback_register(event, &one), ==, 0);
	g_assert_cmpint(rs_callback_register(event, &two), ==, 0);
	g_assert_cmpint(rs_agent_unregister(&image), ==, 0);
	g_assert_null(event->state.callbacks);
	g_assert_cmpuint(event->state.called & 0xffff, ==, 0);
	munmap(event, 4096);
	g_assert_cmpint(rs_callback_unregister(&one), ==, -RS_ENOENT);
	/* Its memory may be used again. */
	g_assert_cmpint(register_trace_test_pair(&two), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 1);
	g_assert_cmpint(rs_callback_unregister(&two), ==, 0);
	end();
}

static void test_guest_patches_itself_for_callbacks(void)
{
	struct rs_control *control;
	struct seen seen = {0};
	struct rs_callback callback = {.raw = on_raw, .data = &seen};

	begin(RS_GUEST_SELF_PATCH);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	control->flags |= RS_CONTROL_SELF_PATCH;
	trace_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 0);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	trace_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 1);
	g_assert_cmpuint(n_asked, ==, 0);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	trace_test_pair(1, 2);
	g_assert_cmpuint(seen.calls, ==, 1);
	/* From inside of a callback it is left for later. */
	inner = (struct rs_callback){.raw = on_raw, .data = &inside};
	outer = (struct rs_callback){.raw = registers_another};
	g_assert_cmpint(register_trace_test_bare(&outer), ==, 0);
	g_assert_false(rs_agent_control_due());
	rs_emit_test_bare();
	g_assert_true(rs_agent_control_due());
	inside.calls = 0;
	trace_test_pair(1, 2);
	g_assert_cmpuint(inside.calls, ==, 0);
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_false(rs_agent_control_due());
	trace_test_pair(1, 2);
	g_assert_cmpuint(inside.calls, ==, 1);
	g_assert_cmpint(rs_callback_unregister(&inner), ==, 0);
	g_assert_cmpint(rs_callback_unregister(&outer), ==, 0);
	end();
}

/* ---- several threads ---- */

#define THREADS 3
#define ROUNDS 3000
#define ALIVE 0x11aau

struct heap {
	struct rs_callback callback;
	uint32_t alive;
};

static uint32_t called, over;

static void on_heap(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	const struct heap *heap = data;

	g_assert_cmphex(rs_load(&heap->alive), ==, ALIVE);
	rs_shared_add32(&called, 1);
	g_assert_cmphex(rs_load(&heap->alive), ==, ALIVE);
}

static gpointer emit(gpointer data)
{
	while (!rs_load_acquire(&over))
		rs_emit_test_pair(1, 2);
	return NULL;
}

static gpointer come_and_go(gpointer data)
{
	for (uint32_t i = 0; i < ROUNDS || !rs_load(&called); i++) {
		struct heap *heap = g_new0(struct heap, 1);

		heap->alive = ALIVE;
		heap->callback = (struct rs_callback){.raw = on_heap, .data = heap};
		g_assert_cmpint(register_trace_test_pair(&heap->callback), ==, 0);
		g_assert_cmpint(unregister_trace_test_pair(&heap->callback), ==, 0);
		memset(heap, 0xee, sizeof(*heap));
		g_free(heap);
	}
	return NULL;
}

static void test_callbacks_come_and_go_while_threads_fire(void)
{
	GThread *threads[2 * THREADS];

	begin(0);
	called = over = 0;
	many = true;
	for (int i = 0; i < 2 * THREADS; i++)
		threads[i] = g_thread_new("t", i < THREADS ? come_and_go : emit, NULL);
	for (int i = 0; i < THREADS; i++)
		g_thread_join(threads[i]);
	rs_store_release(&over, 1);
	for (int i = THREADS; i < 2 * THREADS; i++)
		g_thread_join(threads[i]);
	many = false;
	g_assert_null(rs_event_test_pair.state.callbacks);
	g_assert_cmpuint(rs_event_test_pair.state.called & 0xffff, ==, 0);
	g_assert_cmpuint(info->callbacks_skipped, ==, 0);
	end();
}

#define ADD(path, test) g_test_add_func("/agent/callbacks/" path, test)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("arguments", test_raw_callback_gets_arguments);
	ADD("order", test_last_registered_is_called_first);
	ADD("errors", test_registration_errors);
	ADD("own-enable", test_event_callback_has_its_own_enable);
	ADD("cut", test_record_of_a_callback_is_cut_at_its_limit);
	ADD("apart", test_callbacks_and_records_are_apart);
	ADD("may-register", test_callback_may_register);
	ADD("may-unregister", test_callback_may_unregister);
	ADD("recursion", test_recursion_is_bounded_and_counted);
	ADD("hooks", test_state_is_used_through_the_hooks);
	ADD("busy", test_unregister_while_it_is_registered_is_ebusy);
	ADD("provider-goes", test_callbacks_go_with_their_provider);
	ADD("host-hears", test_host_hears_of_the_first_and_the_last);
	if (!HAS_TSAN)
		ADD("self-patch", test_guest_patches_itself_for_callbacks);
	ADD("threads", test_callbacks_come_and_go_while_threads_fire);
	return g_test_run();
}
