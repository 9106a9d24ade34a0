/* SPDX-License-Identifier: MIT */
/* What callbacks may do to filters, what filters do to them, and callbacks under an OS's lock. */
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "filter/filter.h"
#include "region/regions.h"
#include <ringside/agent.h>
#include <ringside/callback.h>

#include <glib.h>
#include <rs-trace-schema.h>
#include <string.h>

static RS_PROVIDER(provider, "callback-rules");

static RsTraceRegion *region;
static uint32_t *words;

/* ---- a host that compiles filters ---- */

static void set_filter(const char *expression)
{
	uint8_t *filters = rs_trace_region_section(region, RS_SEC_FILTERS, NULL);
	struct rs_filter_program *program = (struct rs_filter_program *)(filters + RS_FILTER_GRAIN);
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GByteArray) compiled = NULL;
	g_autofree guint8 *descriptors = NULL;
	const RsTraceEvent *event;
	struct rs_provider entry;
	gsize size;
	guint bad;

	g_assert_true(rs_trace_region_provider(region, 0, &entry));
	descriptors = rs_trace_region_descriptors(region, 0, &entry, &size);
	rs_trace_schema_take(schema, 0, &entry, descriptors, size, &bad, NULL);
	event = rs_trace_schema_by_name(schema, "test", "pair");
	g_assert_nonnull(event);
	g_assert_cmpint(rs_filter_compile(&event, 1, expression, &compiled, NULL), ==, 0);
	memcpy(program, compiled->data, compiled->len);
	program->event = event->id;
	program->sequence = 2;
	words[event->id] = RS_EVENT_ENABLED | 1u << RS_EVENT_FILTER_SHIFT;
}

static void op_ring(uint32_t slot)
{
	const struct rs_hcall_request *request =
		rs_trace_region_element(region, RS_SEC_REQUEST, slot);
	struct rs_hcall_response *response = rs_trace_region_element(region, RS_SEC_RESPONSE, slot);
	g_autofree char *text = g_strndup((const char *)request->data, request->data_size);

	response->result = 0;
	response->data_size = 0;
	if (request->number == RS_HCALL_SET_FILTER) {
		g_assert_true(g_str_has_prefix(text, "test:pair: "));
		set_filter(text + strlen("test:pair: "));
	}
	rs_store_release(&response->sequence, rs_load(&request->sequence));
}

static struct rs_trace_ops ops = {.hypercall_ring = op_ring};

static void begin(void)
{
	struct rs_region_config layout = {
		.vcpus = 4, .ring_bytes = 64 * 1024, .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_agent_config config = {.ops = &ops, .cpu_count = 4};

	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	config.region = region->map;
	config.region_size = region->size;
	words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	g_assert_cmpint(rs_agent_hello(), ==, 0);
	words[rs_event_test_pair.id] = RS_EVENT_ENABLED;
}

static void end(void)
{
	g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
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

/* ---- filters ---- */

static uint32_t raws, records;

static void count_raw(const struct rs_event *event, const uint64_t *args, uint32_t count,
		      void *data)
{
	raws++;
}

static void count_record(const struct rs_event *event, const void *record, uint32_t size,
			 void *data)
{
	records++;
}

static void test_a_filter_does_not_concern_callbacks(void)
{
	struct rs_callback callback = {.raw = count_raw, .record = count_record};

	begin();
	raws = records = 0;
	set_filter("a > 8 && b > 5");
	rs_event_enable_callbacks(&rs_event_test_pair, true);
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(9, 5);
	g_assert_cmpuint(recorded(), ==, 0);
	g_assert_cmpuint(raws, ==, 1);
	g_assert_cmpuint(records, ==, 1);
	rs_emit_test_pair(9, 6);
	g_assert_cmpuint(recorded(), ==, 1);
	g_assert_cmpuint(raws, ==, 2);
	g_assert_cmpuint(records, ==, 2);
	rs_event_enable_callbacks(&rs_event_test_pair, false);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(9, 5);
	g_assert_cmpuint(recorded(), ==, 1);
	end();
}

static void filters(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	g_autofree char *text = g_strdup_printf("test:pair: a == %u", (uint32_t)args[1]);

	g_assert_cmpint(rs_agent_set_filter(text, NULL), ==, 0);
}

static void test_a_callback_may_change_the_filter(void)
{
	struct rs_callback callback = {.raw = filters};

	begin();
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	/* Each event sets a filter, which is in force for that event itself. */
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(recorded(), ==, 0);
	rs_emit_test_pair(3, 3);
	g_assert_cmpuint(recorded(), ==, 1);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(2, 2);
	g_assert_cmpuint(recorded(), ==, 1);
	rs_emit_test_pair(3, 2);
	g_assert_cmpuint(recorded(), ==, 2);
	end();
}

/* ---- a lock of the OS, which would wait for itself ---- */

static uint32_t readers, nested_reads, writes, writes_under_read;

static void op_read(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data)
{
	nested_reads += readers++ != 0;
	f(&rs_event_by_id(id)->state, data);
	readers--;
}

static void op_write(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data)
{
	writes++;
	writes_under_read += readers != 0;
	f(&rs_event_by_id(id)->state, data);
}

static void begin_with_lock(void)
{
	readers = nested_reads = writes = writes_under_read = 0;
	ops.read_tracepoint_state = op_read;
	ops.write_tracepoint_state = op_write;
	begin();
}

static void end_with_lock(void)
{
	end();
	ops.read_tracepoint_state = NULL;
	ops.write_tracepoint_state = NULL;
}

static struct rs_callback inner = {.raw = count_raw}, outer;
static uint32_t held;

static void registers(const struct rs_event *event, const uint64_t *args, uint32_t count,
		      void *data)
{
	held += readers != 0;
	g_assert_cmpint(register_trace_test_bare(&inner), ==, 0);
	/* This one waits for the callback that it is in, and leaves the list as it is. */
	g_assert_cmpint(unregister_trace_test_bare(&inner), ==, -RS_EINPROGRESS);
}

static void fires(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	held += readers != 0;
	rs_emit_test_bare();
}

static void test_callbacks_run_under_the_lock_of_the_os(void)
{
	begin_with_lock();
	held = 0;
	/* To register needs the lock for writing, which a lock that is held would never give. */
	outer = (struct rs_callback){.raw = registers};
	g_assert_cmpint(register_trace_test_pair(&outer), ==, 0);
	g_assert_cmpuint(writes_under_read, ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(held, ==, 1);
	g_assert_cmpuint(writes, ==, 2);
	g_assert_cmpuint(writes_under_read, ==, 1);
	g_assert_cmpint(unregister_trace_test_bare(&inner), ==, 0);
	g_assert_cmpint(unregister_trace_test_pair(&outer), ==, 0);
	g_assert_cmpuint(writes, ==, 4);
	/* To fire an event with callbacks needs it once more for reading. */
	outer = (struct rs_callback){.raw = fires};
	g_assert_cmpint(register_trace_test_pair(&outer), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(nested_reads, ==, 0);
	g_assert_cmpint(register_trace_test_bare(&inner), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(nested_reads, ==, 1);
	g_assert_cmpint(unregister_trace_test_bare(&inner), ==, 0);
	g_assert_cmpint(unregister_trace_test_pair(&outer), ==, 0);
	g_assert_cmpuint(held, ==, 3);
	g_assert_cmpuint(writes_under_read, ==, 1);
	end_with_lock();
}

static void test_filters_do_not_need_the_lock_of_the_os(void)
{
	struct rs_callback callback = {.raw = filters};

	begin_with_lock();
	g_assert_cmpint(register_trace_test_pair(&callback), ==, 0);
	rs_emit_test_pair(1, 2);
	g_assert_cmpuint(writes, ==, 1);
	g_assert_cmpuint(nested_reads, ==, 0);
	rs_emit_test_pair(3, 3);
	g_assert_cmpuint(recorded(), ==, 1);
	g_assert_cmpint(unregister_trace_test_pair(&callback), ==, 0);
	end_with_lock();
}

/* ---- the states ---- */

static void copy_state(const struct rs_event_state *state, void *data)
{
	*(struct rs_event_state *)data = *state;
}

static void own(struct rs_event_state *state, void *data)
{
	state->own = data;
}

static void test_registering_installs_the_states(void)
{
	struct rs_event_state seen = {.called = 77};
	int anything;
	uint32_t id;

	begin();
	id = rs_event_test_pair.id;
	rs_event_read_state(id, copy_state, &seen);
	g_assert_cmpuint(seen.called & 0xffff, ==, 0);
	g_assert_null(seen.callbacks);
	rs_event_write_state(id, own, &anything);
	rs_event_read_state(id, copy_state, &seen);
	g_assert_true(seen.own == &anything);
	/* Each event has one of its own. */
	rs_event_read_state(rs_event_test_bare.id, copy_state, &seen);
	g_assert_null(seen.own);
	rs_event_write_state(id, own, NULL);
	g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
	seen.called = 77;
	rs_event_read_state(id, copy_state, &seen);
	g_assert_cmpuint(seen.called, ==, 77);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	rs_event_read_state(rs_event_test_pair.id, copy_state, &seen);
	g_assert_cmpuint(seen.called, !=, 77);
	end();
}

#define ADD(path, test) g_test_add_func("/agent/callback-rules/" path, test)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("filter", test_a_filter_does_not_concern_callbacks);
	ADD("change-filter", test_a_callback_may_change_the_filter);
	ADD("lock", test_callbacks_run_under_the_lock_of_the_os);
	ADD("lock-filter", test_filters_do_not_need_the_lock_of_the_os);
	ADD("states", test_registering_installs_the_states);
	return g_test_run();
}
