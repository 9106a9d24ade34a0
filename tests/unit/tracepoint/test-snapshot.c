/* SPDX-License-Identifier: MIT */
/*
 * A guest without a host lays out a region in its own memory, records there, takes snapshots and
 * prints them. The host's reader and decoder, which the guest does not have, must make the same
 * lines of that memory.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "schema.h"

#include "../agent/text.h"

#include <ringside/ring.h>
#include <ringside/tracepoint.h>
#include <ringside/tracepoint_alone.h>
#include <ringside/tracepoint_snapshot.h>
#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-text.h>
#include <string.h>
#include <sys/mman.h>

RS_TRACE_EVENT(own, event, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b), TP_printk("a=%u b=%u", a, b))

#define CPUS 3u
#define EVENTS 6u
#define RING_PAGES 8u

static uint64_t now, begun;
static uint32_t cpu, pid, context;
static char comm[RS_COMM_LEN];
static guint8 *memory;
static gsize memory_size;
static int fd;

static uint64_t os_time(void)
{
	return now += 1000;
}
static uint32_t os_cpu(void)
{
	return cpu;
}
static uint32_t os_pid(void)
{
	return pid;
}
static uint32_t os_tgid(void)
{
	return pid / 2;
}
static uint32_t os_context(void)
{
	return context;
}
static const char *os_comm(void)
{
	return comm;
}

/* The tasks above, and text that can be written. */
static const struct rs_trace_ops ops = {
	.time_now = os_time,
	.cpu_id = os_cpu,
	.current_pid = os_pid,
	.current_tgid = os_tgid,
	.context_flags = os_context,
	.current_comm = os_comm,
	.text_open = os_text_open,
	.text_close = os_text_close,
};

static void attach(const struct rs_trace_ops *with, uint64_t hz)
{
	struct rs_agent_config config = {
		.ops = with, .cpu_count = CPUS, .tsc_hz = hz, .flags = RS_GUEST_SELF_PATCH};

	memory_size = rs_alone_size(CPUS, RING_PAGES);
	fd = memfd_create("alone", 0);
	g_assert_cmpint(ftruncate(fd, (off_t)memory_size), ==, 0);
	memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	g_assert_true(memory != MAP_FAILED);
	memset(memory, 0xa5, memory_size);
	now = 1000000000;
	g_assert_false(rs_alone());
	g_assert_cmpint(rs_alone_lay_out(memory, memory_size, CPUS), ==, 0);
	config.region = memory;
	config.region_size = memory_size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	begun = now;
	g_assert_true(rs_alone());
	g_assert_cmpint(rs_alone_lay_out(memory, memory_size, CPUS), ==, -RS_EBUSY);
}

static void detach(void)
{
	rs_agent_fini();
	g_assert_false(rs_alone());
	munmap(memory, memory_size);
	close(fd);
}

/* ---- random events ---- */

struct fixture {
	GRand *rand;
	struct schema schemas[EVENTS];
	struct rs_event events[EVENTS];
	struct rs_agent_provider provider;
	char names[EVENTS][16];
};

static guint draw(gpointer data, guint below)
{
	return (guint)g_rand_int_range(data, 0, (gint32)below);
}

static struct fixture *set_up(void)
{
	struct fixture *f = g_aligned_alloc0(1, sizeof(*f), 64);

	f->rand = g_rand_new_with_seed((guint32)g_test_rand_int());
	attach(&ops, 1000000000);
	for (guint i = 0; i < EVENTS; i++) {
		schema_make(&f->schemas[i], draw, f->rand);
		while (f->schemas[i].refused) {
			schema_clear(&f->schemas[i]);
			schema_make(&f->schemas[i], draw, f->rand);
		}
		g_snprintf(f->names[i], sizeof(f->names[i]), "event%u", i);
		f->schemas[i].info.name = f->names[i];
		f->events[i].info = &f->schemas[i].info;
	}
	f->provider = (struct rs_agent_provider){
		.name = "random", .events = f->events, .events_end = f->events + EVENTS};
	g_assert_cmpint(rs_agent_register(&f->provider), ==, 0);
	return f;
}

static void tear_down(struct fixture *f)
{
	g_assert_cmpint(rs_agent_unregister(&f->provider), ==, 0);
	detach();
	for (guint i = 0; i < EVENTS; i++)
		schema_clear(&f->schemas[i]);
	g_rand_free(f->rand);
	g_aligned_free(f);
}

/* A task that may be new, may have a new name, and may be anywhere. */
static void switch_task(struct fixture *f)
{
	static const char *const names[] = {"init", "a name of thirty-two characters.",
					    "e\x1b[2Jvil\xff", "\xc3\xa9t\xc3\xa9", "kworker/0:1"};
	const char *name;

	cpu = draw(f->rand, CPUS);
	pid = draw(f->rand, 20) * (draw(f->rand, 10) ? 1 : 1234567);
	name = names[draw(f->rand, 20) ? pid % G_N_ELEMENTS(names)
				       : draw(f->rand, G_N_ELEMENTS(names))];
	context = draw(f->rand, 0x8000);
	memset(comm, 0, sizeof(comm));
	memcpy(comm, name, MIN(strlen(name), sizeof(comm)));
	if (!draw(f->rand, 50))
		now += 5000000000; /* more than 2^32 */
}

static void emit(struct fixture *f)
{
	guint i = draw(f->rand, EVENTS), entry = f->schemas[i].info.entry_size;
	g_autoptr(GByteArray) payload = schema_payload(&f->schemas[i], draw, f->rand);
	struct rs_dyn dyn = {.size = 0};
	uint64_t words[64] = {0};

	g_assert_cmpuint(entry, <=, sizeof(words));
	if (payload->len)
		memcpy(words, payload->data, MIN(entry, payload->len));
	if (payload->len > entry)
		dyn = (struct rs_dyn){payload->data + entry, payload->len - entry};
	rs_emit_entry(&f->events[i], RS_EVENT_ENABLED, words, entry, &dyn, dyn.size > 0);
}

/* ---- both sides' lines ---- */

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	RsTraceRecord shown = *record;
	GString *line = g_string_new(NULL);

	if (record->kind != RS_TRACE_RECORD_EVENT) {
		g_string_free(line, TRUE);
		return;
	}
	shown.ns = record->when.ts - begun; /* no host has told the clock */
	rs_trace_text_line(line, &shown, task, 0);
	g_ptr_array_add(data, g_string_free(line, FALSE));
}

static GPtrArray *host_lines(void)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	const RsTraceFollowerConfig config = {.record = on_record, .data = lines};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceRegion) region = rs_trace_region_open(dup(fd), 0, FALSE, &error);
	RsTraceSink *follower = rs_trace_follower_new(&config);
	RsTraceFeed *feed;

	g_assert_no_error(error);
	feed = rs_trace_feed_new(rs_trace_live_new(region, RS_TRACE_FROM_OLDEST, 0, NULL), follower,
				 0, NULL);
	for (guint i = 0; i < 20; i++) {
		follower->ops->begin_round(follower);
		rs_trace_feed_read(feed, 0);
		rs_trace_feed_update_names(feed);
	}
	rs_trace_feed_finish(feed);
	follower->ops->end(follower);
	g_assert_cmpuint(rs_trace_follower_bad(follower), ==, 0);
	rs_trace_feed_free(feed);
	follower->ops->free(follower);
	return lines;
}

static GPtrArray *guest_lines(struct rs_snapshot *snapshot, void *room, gsize size)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	struct rs_tracepoint_record record;
	char few[60];

	g_assert_cmpint(rs_snapshot_take(snapshot, room, size), ==, 0);
	while (rs_snapshot_next(snapshot, &record)) {
		uint32_t length = rs_tracepoint_line(&record, NULL, 0);
		char *line = g_malloc(length + 1);

		g_assert_cmpuint(rs_tracepoint_line(&record, line, length + 1), ==, length);
		g_assert_cmpuint(strlen(line), ==, length);
		rs_tracepoint_line(&record, few, sizeof(few));
		g_assert_true(strncmp(few, line, sizeof(few) - 1) == 0);
		g_ptr_array_add(lines, line);
	}
	g_assert_cmpuint(snapshot->entries, ==, lines->len);
	g_assert_cmpuint(snapshot->left_out, ==, 0);
	g_assert_false(rs_snapshot_next(snapshot, &record));
	return lines;
}

/* Random bytes now and then make a character that nobody has assigned: escape.h. */
static gboolean same_but_unassigned(const char *host, const char *guest)
{
	if (!strcmp(host, guest))
		return TRUE;
	for (const char *at = guest; *at; at = g_utf8_next_char(at))
		if (g_unichar_type(g_utf8_get_char(at)) == G_UNICODE_UNASSIGNED)
			return TRUE;
	g_printerr("%s%s", host, guest);
	return FALSE;
}

static void test_snapshot_lines_are_the_hosts(void)
{
	for (guint round = 0; round < 30; round++) {
		struct fixture *f = set_up();
		gsize size = rs_snapshot_size(RING_PAGES);
		g_autofree guint8 *room = g_malloc(size);
		struct rs_snapshot snapshot;

		for (guint n = draw(f->rand, round % 3 ? 100 : 5000); n; n--) {
			if (!draw(f->rand, 3))
				switch_task(f);
			emit(f);
		}
		{
			g_autoptr(GPtrArray) guest = guest_lines(&snapshot, room, size);
			g_autoptr(GPtrArray) host = host_lines();

			g_assert_cmpuint(guest->len, ==, host->len);
			for (guint i = 0; i < guest->len; i++)
				g_assert_true(same_but_unassigned(host->pdata[i], guest->pdata[i]));
		}
		tear_down(f);
	}
}

/* Less memory holds the newest records: of each ring the last ones. */
static void test_snapshot_keeps_the_newest(void)
{
	struct fixture *f = set_up();
	gsize size = rs_snapshot_size(2), whole = rs_snapshot_size(RING_PAGES);
	g_autofree guint8 *room = g_malloc(size), *all_room = g_malloc(whole);
	struct rs_snapshot snapshot, all;
	char header[800];

	for (guint n = 0; n < 5000; n++) {
		switch_task(f);
		emit(f);
	}
	{
		g_autoptr(GPtrArray) few = guest_lines(&snapshot, room, size);
		g_autoptr(GPtrArray) lines = guest_lines(&all, all_room, whole);
		guint i = 0;

		g_assert_cmpuint(few->len, <, lines->len);
		g_assert_cmpstr(few->pdata[few->len - 1], ==, lines->pdata[lines->len - 1]);
		for (guint k = 0; k < lines->len && i < few->len; k++)
			i += !strcmp(few->pdata[i], lines->pdata[k]);
		g_assert_cmpuint(i, ==, few->len);
		g_assert_cmpuint(snapshot.written, ==, 5000);
		g_assert_cmpuint(snapshot.refused, ==, 0);
	}
	{
		g_autoptr(GString) expected = g_string_new(NULL);

		rs_trace_text_header(expected, snapshot.entries, 5000, CPUS);
		rs_tracepoint_header(&snapshot, header, sizeof(header));
		g_assert_cmpstr(header, ==, expected->str);
	}
	tear_down(f);
}

static void test_snapshot_errors(void)
{
	g_autofree guint8 *room = g_malloc(1 << 20);
	struct rs_snapshot snapshot;
	struct rs_tracepoint_record record;

	g_assert_cmpint(rs_snapshot_take(&snapshot, room, 1 << 20), ==, -RS_ENOTCONN);
	g_assert_false(rs_snapshot_next(&snapshot, &record));
	g_assert_cmpuint(rs_snapshot_size(4), ==, 0);
	attach(&ops, 0);
	g_assert_cmpint(rs_snapshot_take(&snapshot, room + 4, 1 << 19), ==, -RS_EINVAL);
	g_assert_cmpint(rs_snapshot_take(&snapshot, room, rs_snapshot_size(1) - 8), ==, -RS_ENOSPC);
	g_assert_cmpint(rs_snapshot_take(&snapshot, room, 0), ==, -RS_ENOSPC);
	g_assert_cmpint(rs_snapshot_take(&snapshot, room, rs_snapshot_size(1)), ==, 0);
	g_assert_cmpuint(snapshot.entries, ==, 0);
	g_assert_false(rs_snapshot_next(&snapshot, &record));
	detach();
	g_assert_cmpint(rs_alone_lay_out(room + 8, 1 << 20, 1), ==, -RS_EINVAL);
	g_assert_cmpint(rs_alone_lay_out(NULL, 1 << 20, 0), ==, -RS_EINVAL);
	g_assert_cmpint(rs_alone_lay_out(NULL, 1 << 30, RS_MAX_CPUS + 1), ==, -RS_EINVAL);
	g_assert_cmpint(rs_alone_lay_out(NULL, rs_alone_size(2, 4) - 1, 2), ==, -RS_ENOSPC);
}

/* A record of an interrupt that a snapshot has interrupted is not complete. It is left out. */
static void test_page_that_is_being_written_is_left_out(void)
{
	struct fixture *f = set_up();
	gsize size = rs_snapshot_size(RING_PAGES);
	g_autofree guint8 *room = g_malloc(size);
	struct rs_region_header *header = (void *)memory;
	struct rs_ring_page *page = (void *)(memory + header->section[RS_SEC_RINGS].offset);
	struct rs_tracepoint_record record;
	struct rs_snapshot snapshot;

	cpu = 0;
	emit(f);
	page->committed -= 8;
	g_assert_cmpint(rs_snapshot_take(&snapshot, room, size), ==, 0);
	g_assert_cmpuint(snapshot.left_out, ==, 1);
	g_assert_cmpuint(snapshot.entries, ==, 0);
	g_assert_cmpuint(snapshot.written, ==, 1);
	page->committed += 8;
	g_assert_cmpint(rs_snapshot_take(&snapshot, room, size), ==, 0);
	g_assert_cmpuint(snapshot.entries, ==, 1);
	/* Another boot's pages mean other events. */
	page->boot++;
	g_assert_cmpint(rs_snapshot_take(&snapshot, room, size), ==, 0);
	g_assert_cmpuint(snapshot.entries, ==, 0);
	g_assert_false(rs_snapshot_next(&snapshot, &record));
	page->boot--;
	tear_down(f);
}

/* Wherever the ring says that it is: taking ends, and what is not there is not shown. */
static void test_snapshot_of_a_hostile_position(void)
{
	static const uint64_t pages[] = {1ull << 62,       (1ull << 63) - 1, 1ull << 63,
					 (1ull << 63) + 1, UINT64_MAX,       (1ull << 62) - 1};
	struct fixture *f = set_up();
	gsize size = rs_snapshot_size(RING_PAGES);
	g_autofree guint8 *room = g_malloc(size);
	struct rs_region_header *header = (void *)memory;
	struct rs_ring_state *state = (void *)(memory + header->section[RS_SEC_RING_STATE].offset);
	uint64_t word, count;

	cpu = 0;
	emit(f);
	word = state->word;
	count = state->pages;
	for (guint i = 0; i < G_N_ELEMENTS(pages); i++) {
		/* The page's number in the word, which is its high half's, in two ways. */
		for (guint k = 0; k < 2; k++) {
			struct rs_snapshot snapshot;

			state->pages = pages[i];
			state->word = k ? UINT64_MAX : word;
			g_assert_cmpint(rs_snapshot_take(&snapshot, room, size), ==, 0);
			g_assert_cmpuint(snapshot.entries, <=, 1);
		}
	}
	state->word = word;
	state->pages = count;
	tear_down(f);
}

/* Whatever stands in the region: nothing is read outside of the snapshot (by address sanitizer). */
static void test_snapshot_of_hostile_pages(void)
{
	struct fixture *f = set_up();
	gsize size = rs_snapshot_size(RING_PAGES), at, length;
	struct rs_region_header *header = (void *)memory;
	guint n = 0;

	for (guint i = 0; i < 3000; i++) {
		switch_task(f);
		emit(f);
	}
	at = header->section[RS_SEC_CMDLINE].offset;
	length = memory_size - at;
	for (guint round = 0; round < 200; round++) {
		g_autofree guint8 *room = g_malloc(size);
		struct rs_tracepoint_record record;
		struct rs_snapshot snapshot;
		char line[300];

		for (guint k = 0; k < 50; k++)
			memory[at + g_rand_int(f->rand) % length] ^= (guint8)g_rand_int(f->rand);
		g_assert_cmpint(rs_snapshot_take(&snapshot, room, size), ==, 0);
		for (; rs_snapshot_next(&snapshot, &record); n++)
			rs_tracepoint_line(&record, line, sizeof(line));
	}
	g_assert_cmpuint(n, >, 0);
	tear_down(f);
}

/* ---- a raw record ---- */

static void test_parse_of_a_raw_record(void)
{
	struct fixture *f = set_up();
	struct {
		struct rs_rec_header head;
		guint8 payload[8];
	} raw = {{(uint16_t)f->events[0].id, 16, 77}, {0}};
	struct rs_tracepoint_record record;
	char text[100];

	g_assert_true(rs_tracepoint_parse(&record, &raw, 16));
	g_assert_cmpuint(record.size, ==, 8);
	g_assert_cmpuint(record.ts, ==, 77);
	g_assert_false(record.cut);
	raw.head.size |= RS_REC_CUT;
	g_assert_true(rs_tracepoint_parse(&record, &raw, 16));
	g_assert_true(record.cut);
	g_assert_false(rs_tracepoint_parse(&record, &raw, 15));
	g_assert_false(rs_tracepoint_parse(&record, &raw, 7));
	raw.head.size = 7;
	g_assert_false(rs_tracepoint_parse(&record, &raw, 16));
	raw.head = (struct rs_rec_header){RS_REC_TIME, 16, 0};
	g_assert_false(rs_tracepoint_parse(&record, &raw, 16));
	/* An event that nobody has. */
	raw.head = (struct rs_rec_header){0xbfff, 8, 0};
	g_assert_true(rs_tracepoint_parse(&record, &raw, 16));
	rs_tracepoint_text(&record, text, sizeof(text));
	g_assert_cmpstr(text, ==, "(unknown event, 0 bytes)");
	tear_down(f);
}

/* ---- without a host ---- */

static RS_PROVIDER(own_provider, "own");

static guint called;

static void on_own(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	called += (guint)args[0];
	/* In a callback the agent's lock is not to be had, so the site stays until later. */
	g_assert_cmpint(rs_tracepoint_write(event->id, RS_TRACEPOINT_ENABLE, "0", 1, NULL), ==, 0);
	g_assert_true(rs_agent_control_due());
}

static guint fire(uint32_t a)
{
	g_autofree guint8 *room = g_malloc(rs_snapshot_size(RING_PAGES));
	struct rs_snapshot snapshot;

	trace_own_event(a, 2);
	g_assert_cmpint(rs_snapshot_take(&snapshot, room, rs_snapshot_size(RING_PAGES)), ==, 0);
	return (guint)snapshot.entries;
}

static void test_tracepoints_without_a_host(void)
{
	struct rs_callback callback = {.raw = on_own};
	char text[16];
	uint32_t id;

	attach(&ops, 1000000000);
	g_assert_cmpint(rs_agent_register(&own_provider), ==, 0);
	cpu = 0;
	id = rs_tracepoint_find("own", "event");
	g_assert_cmpuint(fire(1), ==, 0);
	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_ENABLE, "1\n", 2, NULL), ==, 0);
	rs_tracepoint_read(id, RS_TRACEPOINT_ENABLE, text, sizeof(text));
	g_assert_cmpstr(text, ==, "1\n");
	g_assert_cmpuint(fire(1), ==, 1);
	/* Nobody compiles filters. */
	rs_tracepoint_read(id, RS_TRACEPOINT_FILTER, text, sizeof(text));
	g_assert_cmpstr(text, ==, "none\n");
	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_FILTER, "a > 1", 5, NULL), ==,
			-RS_EHOSTUNREACH);
	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_ENABLE, "0", 1, NULL), ==, 0);
	g_assert_cmpuint(fire(1), ==, 1);
	/* Callbacks are called, enabled or not. */
	g_assert_cmpint(register_trace_own_event(&callback), ==, 0);
	g_assert_cmpuint(fire(5), ==, 1);
	g_assert_cmpuint(called, ==, 5);
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_cmpint(unregister_trace_own_event(&callback), ==, 0);
	g_assert_cmpuint(fire(5), ==, 1);
	g_assert_cmpuint(called, ==, 5);
	g_assert_cmpint(rs_agent_unregister(&own_provider), ==, 0);
	detach();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tracepoint/snapshot/lines", test_snapshot_lines_are_the_hosts);
	g_test_add_func("/tracepoint/snapshot/newest", test_snapshot_keeps_the_newest);
	g_test_add_func("/tracepoint/snapshot/errors", test_snapshot_errors);
	g_test_add_func("/tracepoint/snapshot/busy", test_page_that_is_being_written_is_left_out);
	g_test_add_func("/tracepoint/snapshot/position", test_snapshot_of_a_hostile_position);
	g_test_add_func("/tracepoint/snapshot/hostile", test_snapshot_of_hostile_pages);
	g_test_add_func("/tracepoint/snapshot/raw", test_parse_of_a_raw_record);
	g_test_add_func("/tracepoint/alone", test_tracepoints_without_a_host);
	return g_test_run();
}
