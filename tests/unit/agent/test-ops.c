/* SPDX-License-Identifier: MIT */
/*
 * An operating system that defines all ops. Each is called at the right time with the right
 * arguments, and no default is used. tests/golden/roundtrip.expected shows what the ops of records
 * return.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "arch.h"
#include "core.h"
#include "ports.h"
#include "region/regions.h"
#include <rs-trace-page.h>
#include <rs-trace-ring.h>

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static RS_PROVIDER(provider, "ops-test");

static RsTraceRegion *region;
static struct rs_ring_state *state;
static uint32_t *words;
static uint64_t now = 5000;
static uint32_t cpu, pid = 7;

/* The calls that the OS got. */
static uint32_t pushed_pids[8], n_pushed, n_pid, doorbells, rung_slot, n_rung, relaxed, n_read,
	n_write;
static uint32_t text_opened, text_closed, n_written;
static bool cannot_write;
static bool answer_at_ring, holding;
static GByteArray *pipe_bytes;

static uint64_t os_time(void)
{
	return now += 10;
}
static uint32_t os_cpu(void)
{
	return cpu;
}
static uint32_t os_pid(void)
{
	n_pid++;
	return pid;
}
static void os_push_raw(const void *record, uint32_t size)
{
	g_byte_array_append(pipe_bytes, record, size);
}
static void os_push_cmdline(uint32_t task)
{
	g_assert_cmpuint(n_pushed, <, G_N_ELEMENTS(pushed_pids));
	pushed_pids[n_pushed++] = task;
}
static void os_doorbell(void)
{
	doorbells++;
}

static void answer(void)
{
	struct rs_hcall_request *request = rs_trace_region_section(region, RS_SEC_REQUEST, NULL);
	struct rs_hcall_response *response = rs_trace_region_section(region, RS_SEC_RESPONSE, NULL);

	response[rung_slot].result = (int32_t)request[rung_slot].number;
	response[rung_slot].data_size = 0;
	rs_store_release(&response[rung_slot].sequence, request[rung_slot].sequence);
}
static void os_ring(uint32_t slot)
{
	rung_slot = slot;
	n_rung++;
	if (answer_at_ring)
		answer();
}
static void os_relax(void)
{
	if (++relaxed == 3)
		answer();
}

/* Like an OS with a lock: the state is accessible only inside. */
static void os_read_state(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data)
{
	const struct rs_event *event = rs_event_by_id(id);

	n_read++;
	holding = true;
	if (event)
		f(&event->state, data);
	holding = false;
}
static void os_write_state(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data)
{
	struct rs_event *event = rs_event_by_id(id);

	n_write++;
	holding = true;
	if (event)
		f(&event->state, data);
	holding = false;
}

static void protect(void *from, void *to, int protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)from & ~(page - 1);

	g_assert_cmpint(mprotect((void *)start, (uintptr_t)to - start, protection), ==, 0);
}
static void os_text_open(void *from, void *to)
{
	g_assert_cmpuint(text_opened, ==, text_closed);
	text_opened++;
	protect(from, to, PROT_READ | PROT_WRITE | PROT_EXEC);
}
static void os_write_text(void *at, const void *bytes, uint32_t size)
{
	g_assert_cmpuint(text_opened, ==, text_closed + 1);
	g_assert_cmpuint(size, ==, RS_SITE_BYTES);
	if (!cannot_write)
		memcpy(at, bytes, size);
	n_written++;
}
static void os_text_close(void *from, void *to)
{
	text_closed++;
	protect(from, to, PROT_READ | PROT_EXEC);
}

static const struct rs_trace_ops every_op = {
	.time_now = os_time,
	.cpu_id = os_cpu,
	.current_pid = os_pid,
	.trace_cmdline_push = os_push_cmdline,
	.write_kernel_text = os_write_text,
	.text_open = os_text_open,
	.text_close = os_text_close,
	.read_tracepoint_state = os_read_state,
	.write_tracepoint_state = os_write_state,
	.hypercall_ring = os_ring,
	.doorbell = os_doorbell,
	.relax = os_relax,
};

static void apply(uint32_t flags)
{
	struct rs_control *control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);

	control->flags = flags;
	control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
}

static void set_up(const struct rs_trace_ops *ops)
{
	struct rs_region_config layout = {
		.vcpus = 2, .ring_bytes = 64 * 1024, .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_agent_config config = {.ops = ops, .flags = RS_GUEST_SELF_PATCH};

	cpu = 0;
	pid = 7;
	n_pushed = doorbells = n_rung = relaxed = n_read = n_write = 0;
	answer_at_ring = false;
	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	state = rs_trace_region_section(region, RS_SEC_RING_STATE, NULL);
	words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
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

static void test_text(void)
{
	uint32_t written = n_written;

	set_up(&every_op);
	/* One site of one event is one store. Without a change there is none. */
	g_assert_cmpuint(n_written, >, written);
	g_assert_cmpuint(text_opened, >, 0);
	g_assert_cmpuint(text_opened, ==, text_closed);
	g_assert_true(rs_site_test_pair());
	written = n_written;
	apply(RS_CONTROL_SELF_PATCH);
	g_assert_cmpuint(n_written, ==, written);
	tear_down();
	g_assert_cmpuint(n_written, >, written);
	g_assert_false(rs_site_test_pair());
}

/* The agent notices a poke that does nothing: the site counts as what its bytes say. */
static void test_text_that_stays(void)
{
	struct rs_control *control;
	uint32_t on;

	set_up(&every_op);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	on = rs_core.info->sites_on;
	g_assert_cmpuint(on, >, 0);
	cannot_write = true;
	control->flags = RS_CONTROL_STOP;
	control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, (int)on);
	g_assert_cmpuint(rs_core.info->patch_errors, ==, on);
	g_assert_cmpuint(rs_core.info->sites_on, ==, on);
	cannot_write = false;
	tear_down();
}

/* Pokes that the OS puts off. */
static struct {
	void *at;
	uint8_t bytes[RS_SITE_BYTES];
} put_off[RS_TEXT_POKES];
static uint32_t n_put_off, n_flushed;

static void os_write_later(void *at, const void *bytes, uint32_t size)
{
	g_assert_cmpuint(n_put_off, <, RS_TEXT_POKES);
	put_off[n_put_off].at = at;
	memcpy(put_off[n_put_off++].bytes, bytes, size);
}

static void os_text_flush(void)
{
	g_assert_cmpuint(text_opened, ==, text_closed + 1);
	for (uint32_t i = 0; i < n_put_off; i++)
		memcpy(put_off[i].at, put_off[i].bytes, RS_SITE_BYTES);
	n_flushed += n_put_off;
	n_put_off = 0;
}

static void test_text_later(void)
{
	struct rs_trace_ops ops = every_op;
	uint32_t on;

	ops.write_kernel_text = os_write_later;
	ops.text_flush = os_text_flush;
	n_flushed = 0;
	set_up(&ops);
	on = rs_core.info->sites_on;
	g_assert_cmpuint(on, >, 0);
	g_assert_cmpuint(n_flushed, ==, on);
	g_assert_cmpuint(rs_core.info->patch_errors, ==, 0);
	g_assert_true(rs_site_test_pair());
	tear_down();
	g_assert_cmpuint(n_flushed, ==, 2 * on);
	g_assert_false(rs_site_test_pair());
}

/* The agent's own store, for text that is plain memory. It is tested at each place of a site in its
 * word, while another thread writes the bytes beside it. */
static struct {
	union {
		uint64_t word;
		volatile uint8_t bytes[8];
	};
	uint32_t offset, lost;
	gint stop;
} stored;

static gpointer write_beside(gpointer data)
{
	uint32_t at = (uint32_t)(stored.offset + RS_SITE_BYTES) % 8;

	for (uint8_t n = 1; !g_atomic_int_get(&stored.stop); n++) {
		stored.bytes[at] = n;
		for (int again = 0; again < 20; again++)
			stored.lost += stored.bytes[at] != n;
	}
	return NULL;
}

static void test_store(void)
{
	const uint8_t one[RS_SITE_BYTES] = {1, 2, 3, 4, 5}, two[RS_SITE_BYTES] = {6, 7, 8, 9, 10};

	for (stored.offset = 0; stored.offset <= 8 - RS_SITE_BYTES; stored.offset++) {
		uintptr_t site = (uintptr_t)&stored.word + stored.offset;
		GThread *thread;
		uint8_t now_there[8];

		stored.word = 0;
		stored.stop = 0;
		thread = g_thread_new("beside", write_beside, NULL);
		for (int i = 0; i < 200000; i++)
			rs_arch_site_store(site, i & 1 ? two : one);
		g_atomic_int_set(&stored.stop, 1);
		g_thread_join(thread);
		g_assert_cmpuint(stored.lost, ==, 0);
		memcpy(now_there, &stored.word, 8);
		g_assert_cmpmem(now_there + stored.offset, RS_SITE_BYTES, two, RS_SITE_BYTES);
	}
}

static void test_names_and_doorbell(void)
{
	RsTraceRingConfig config = {.ring = 1};
	struct rs_cmdline_bucket *cache;
	RsTraceRing *reader;
	RsTraceChunk chunk;
	size_t size;

	set_up(&every_op);
	cpu = 1;
	trace_test_pair(1, 2);
	pid = 8;
	trace_test_pair(3, 4);
	g_assert_cmpuint(n_pushed, ==, 2);
	g_assert_cmpuint(pushed_pids[0], ==, 7);
	g_assert_cmpuint(pushed_pids[1], ==, 8);
	cache = rs_trace_region_section(region, RS_SEC_CMDLINE, &size);
	for (size_t i = 0; i < size / sizeof(*cache); i++)
		for (uint32_t way = 0; way < RS_CMDLINE_WAYS; way++)
			g_assert_cmpuint(cache[i].way[way].sequence, ==, 0);

	g_assert_cmpuint(doorbells, ==, 0);
	reader = rs_trace_ring_new(region, &config, NULL);
	g_assert_nonnull(reader);
	g_assert_cmpint(rs_trace_ring_next(reader, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(rs_trace_page_count(chunk.page, chunk.from, chunk.to, NULL), ==, 2);
	rs_trace_ring_arm(reader, 48);
	trace_test_pair(5, 6); /* a context mark and 16 bytes: 24 */
	g_assert_cmpuint(doorbells, ==, 0);
	trace_test_pair(5, 6);
	g_assert_cmpuint(doorbells, ==, 1);
	trace_test_pair(5, 6);
	g_assert_cmpuint(doorbells, ==, 1);
	rs_trace_ring_free(reader);
	tear_down();
}

/* Without the op, the region says where the bell is; a port may not have mapped it. */
static void test_other_doorbells(void)
{
	static const struct {
		uint32_t channel;
		bool mapped;
		uint32_t rung, writes;
	} cases[] = {
		{RS_CHANNEL_MMIO, true, 1, 0},
		{RS_CHANNEL_MMIO, false, 0, 0},
		{RS_CHANNEL_MAILBOX, true, 0, 0},
		{RS_CHANNEL_PORT, true, 0, 1},
	};
	struct rs_trace_ops ops = every_op;

	ops.doorbell = NULL;
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		RsTraceRingConfig config = {.ring = 0};
		volatile uint32_t bell = 0;
		RsTraceRing *reader;

		set_up(&ops);
		rs_core.header.doorbell_channel = cases[i].channel;
		rs_core.header.doorbell_addr = 0x510;
		rs_core.config.doorbell_mmio = cases[i].mapped ? &bell : NULL;
		reader = rs_trace_ring_new(region, &config, NULL);
		g_assert_nonnull(reader);
		rs_trace_ring_arm(reader, 0);
		g_assert_cmpuint(bell, ==, 0);
		catch_ports();
		ports.writes = 0;
		trace_test_pair(1, 2);
		let_ports_be();
		g_assert_cmpuint(bell, ==, cases[i].rung);
		g_assert_cmpuint(ports.writes, ==, cases[i].writes);
		if (ports.writes) {
			g_assert_cmphex(ports.port, ==, 0x510);
			g_assert_cmpuint(ports.value, ==, 1);
		}
		bell = 5;
		trace_test_pair(1, 2);
		g_assert_cmpuint(bell, ==, 5);
		rs_trace_ring_free(reader);
		tear_down();
	}
	g_assert_cmpuint(doorbells, ==, 0);
}

static void test_hypercalls(void)
{
	set_up(&every_op);
	answer_at_ring = true;
	cpu = 1;
	g_assert_cmpint(rs_agent_log("hello"), ==, RS_HCALL_LOG);
	g_assert_cmpuint(n_rung, ==, 1);
	g_assert_cmpuint(rung_slot, ==, 1);
	g_assert_cmpuint(relaxed, ==, 0);
	/* The answer comes late. The OS decides what to do meanwhile. */
	answer_at_ring = false;
	g_assert_cmpint(rs_agent_disable("test:*", NULL), ==, RS_HCALL_DISABLE);
	g_assert_cmpuint(n_rung, ==, 2);
	g_assert_cmpuint(relaxed, ==, 3);
	answer_at_ring = true;
	tear_down();
}

static void on_write(struct rs_event_state *s, void *data)
{
	g_assert_true(holding);
	s->own = data;
}
static void on_read(const struct rs_event_state *s, void *data)
{
	g_assert_true(holding);
	*(void **)data = s->own;
}

static void test_state(void)
{
	void *got = NULL;

	set_up(&every_op);
	rs_event_write_state(rs_event_test_bare.id, on_write, &now);
	rs_event_read_state(rs_event_test_bare.id, on_read, &got);
	g_assert_true(got == &now);
	g_assert_cmpuint(n_write, ==, 1);
	g_assert_cmpuint(n_read, ==, 1);
	tear_down();
}

/*
 * With a pipe of its own, the OS gets whole records and the ring none; ids and times are the same.
 */
static void test_pipe(void)
{
	struct rs_trace_ops ops = every_op;
	const struct rs_rec_header *record;
	uint64_t before = now;

	ops.trace_pipe_push_raw_record = os_push_raw;
	pipe_bytes = g_byte_array_new();
	set_up(&ops);
	trace_test_pair(0x11, 0x22);
	cpu = 5; /* has no ring, needs none */
	trace_test_pair(0x33, 0x44);
	g_assert_cmpuint(pipe_bytes->len, ==, 32);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t *payload;

		record = (const struct rs_rec_header *)(pipe_bytes->data + i * 16);
		payload = (const uint32_t *)(record + 1);
		g_assert_cmpuint(record->id, ==, rs_event_test_pair.id);
		g_assert_cmpuint(record->size, ==, 16);
		g_assert_cmpuint(record->ts, >, before);
		before = record->ts;
		g_assert_cmphex(payload[0], ==, 0x11 + i * 0x22);
		g_assert_cmphex(payload[1], ==, 0x22 + i * 0x22);
	}
	g_assert_cmpuint(rs_word_records(state[0].word), ==, 0);
	g_assert_cmpuint(rs_word_records(state[1].word), ==, 0);
	g_assert_cmpuint(rs_core.info->lost_no_ring, ==, 0);
	cpu = 0;
	tear_down();
	g_byte_array_unref(pipe_bytes);
}

/* The pipe's records end at RS_RAW_MAX bytes. */
static void test_pipe_limit(void)
{
	struct rs_trace_ops ops = every_op;
	uint8_t bytes[RS_RAW_MAX];

	ops.trace_pipe_push_raw_record = os_push_raw;
	memset(bytes, 0xa5, sizeof(bytes));
	for (uint32_t size = RS_RAW_MAX - 9; size <= RS_RAW_MAX + 1; size++) {
		struct rs_dyn dyn = {.data = bytes, .size = size - 16};
		const struct rs_rec_header *record;
		uint64_t entry = 1;

		pipe_bytes = g_byte_array_new();
		set_up(&ops);
		rs_emit_entry(&rs_event_test_pair, RS_EVENT_ENABLED, &entry, 8, &dyn, 1);
		record = (const struct rs_rec_header *)pipe_bytes->data;
		g_assert_cmpuint(pipe_bytes->len, ==, MIN(size, RS_RAW_MAX));
		g_assert_cmphex(record->size, ==,
				MIN(size, RS_RAW_MAX) | (size > RS_RAW_MAX ? RS_REC_CUT : 0));
		g_assert_cmpmem(pipe_bytes->data + 16, pipe_bytes->len - 16, bytes,
				pipe_bytes->len - 16);
		tear_down();
		g_byte_array_unref(pipe_bytes);
	}
}

/* Nobody is asked twice for an event, nor is a task named twice that the OS does not tell apart. */
static void test_asked_once(void)
{
	struct rs_trace_ops ops = every_op;
	const uint64_t entry = 0;

	set_up(&ops);
	for (uint32_t i = 1; i <= 3; i++) {
		n_pid = 0;
		rs_emit_entry(&rs_event_test_pair, RS_EVENT_ENABLED, &entry, 8, NULL, 0);
		g_assert_cmpuint(n_pid, ==, 1);
		g_assert_cmpuint(n_pushed, ==, i);
	}
	tear_down();
	ops.current_pid = NULL;
	set_up(&ops);
	for (uint32_t i = 1; i <= 3; i++) {
		trace_test_pair(i, i);
		g_assert_cmpuint(n_pushed, ==, 1);
	}
	tear_down();
}

/* The OS has only one op: the others are the port's. */
static void test_one(void)
{
	struct rs_trace_ops ops = {
		.current_pid = os_pid, .text_open = os_text_open, .text_close = os_text_close};
	RsTraceChunk chunk = {0};
	uint32_t records = 0;

	set_up(&ops);
	pid = 4242;
	for (uint32_t i = 0; i < 1000; i++)
		trace_test_pair(i, i);
	for (uint32_t ring = 0; ring < 2; ring++) {
		RsTraceRingConfig config = {.ring = ring};
		RsTraceRing *reader;

		reader = rs_trace_ring_new(region, &config, NULL);
		g_assert_nonnull(reader);
		while (rs_trace_ring_next(reader, 0, &chunk) == RS_TRACE_RING_DATA) {
			g_assert_cmpuint(((const struct rs_ring_page *)chunk.page)->pid, ==, 4242);
			records += rs_trace_page_count(chunk.page, chunk.from, chunk.to, NULL);
		}
		rs_trace_ring_free(reader);
	}
	/* This machine may run us on a CPU that has no ring here. */
	g_assert_cmpuint(records + rs_core.info->lost_no_ring, ==, 1000);
	tear_down();
}

static uint32_t n_waited;

static void os_wait_events(void)
{
	/* Whoever looks now finds every event off. */
	g_assert_false(rs_event_control(&rs_event_test_pair) & RS_EVENT_ENABLED);
	g_assert_true(rs_agent_active());
	n_waited++;
}

/* Between the last event and the end of the rings the OS is asked to wait. */
static void test_waits_for_events(void)
{
	struct rs_trace_ops ops = every_op;

	ops.wait_events = os_wait_events;
	n_waited = 0;
	set_up(&ops);
	g_assert_cmpuint(n_waited, ==, 0);
	tear_down();
	g_assert_cmpuint(n_waited, ==, 1);
}

/* Nothing is written into a region that the host has laid out anew. */
static void test_laid_out_anew(void)
{
	struct rs_region_header *header;
	const struct rs_provider *entry;
	uint32_t flags = 0;

	set_up(&every_op);
	header = (struct rs_region_header *)region->map;
	entry = rs_trace_region_section(region, RS_SEC_PROVIDERS, NULL);
	g_assert_cmpint(rs_agent_region_flags(region->map, region->size, &flags), ==, 0);
	g_assert_cmpuint(flags, ==, RS_CONTROL_SELF_PATCH);
	apply(RS_CONTROL_STOP);
	header->session_id++;
	rs_agent_fini();
	g_assert_cmpuint(entry->state, ==, RS_PROVIDER_LIVE);
	header->magic = 0;
	g_assert_cmpint(rs_agent_region_flags(region->map, region->size, &flags), ==, -RS_ENODEV);
	g_assert_cmpuint(flags, ==, RS_CONTROL_SELF_PATCH);
	rs_trace_region_free(region);
}

/* Marks and requests without a word of the host. */
static void test_notes_wait_for_nobody(void)
{
	const struct rs_hcall_request *request;

	set_up(&every_op);
	request = rs_trace_region_section(region, RS_SEC_REQUEST, NULL);
	relaxed = 0;
	rs_agent_note_panic("no way on");
	g_assert_cmpuint(rs_core.info->state, ==, RS_GUEST_PANICKED);
	g_assert_cmpuint(request[0].number, ==, RS_HCALL_PANIC);
	g_assert_cmpmem(request[0].data, request[0].data_size, "no way on", 9);
	rs_agent_note_exit(3);
	g_assert_cmpuint(rs_core.info->state, ==, RS_GUEST_EXITED);
	g_assert_cmpuint(rs_core.info->exit_code, ==, 3);
	g_assert_cmpuint(relaxed, ==, 0);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/ops/text", test_text);
	g_test_add_func("/agent/ops/text-that-stays", test_text_that_stays);
	g_test_add_func("/agent/ops/text-later", test_text_later);
	g_test_add_func("/agent/ops/store", test_store);
	g_test_add_func("/agent/ops/names-and-doorbell", test_names_and_doorbell);
	g_test_add_func("/agent/ops/other-doorbells", test_other_doorbells);
	g_test_add_func("/agent/ops/hypercalls", test_hypercalls);
	g_test_add_func("/agent/ops/state", test_state);
	g_test_add_func("/agent/ops/pipe", test_pipe);
	g_test_add_func("/agent/ops/pipe-limit", test_pipe_limit);
	g_test_add_func("/agent/ops/asked-once", test_asked_once);
	g_test_add_func("/agent/ops/one", test_one);
	g_test_add_func("/agent/ops/waits-for-events", test_waits_for_events);
	g_test_add_func("/agent/ops/laid-out-anew", test_laid_out_anew);
	g_test_add_func("/agent/ops/notes-wait-for-nobody", test_notes_wait_for_nobody);
	return g_test_run();
}
