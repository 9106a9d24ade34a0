/* SPDX-License-Identifier: MIT */
#include "room.h"

#include "region/regions.h"
#include "../agent/text.h"

#include <ringside/agent.h>
#include <rs-trace-live.h>
#include <rs-trace-text.h>
#include <string.h>
#include <unistd.h>

static RS_PROVIDER(provider, "ktrace-test");

void (*room_on_time)(void);
struct room_task room_task;
static uint64_t now;

static uint64_t os_time(void)
{
	if (room_on_time)
		room_on_time();
	return __atomic_add_fetch(&now, 1000, __ATOMIC_RELAXED);
}

static uint32_t os_pid(void)
{
	return room_task.pid;
}
static uint32_t os_tgid(void)
{
	return room_task.tgid;
}
static const char *os_comm(void)
{
	return room_task.comm;
}

static const struct rs_trace_ops ops = {
	.time_now = os_time,
	.current_pid = os_pid,
	.current_tgid = os_tgid,
	.current_comm = os_comm,
	.text_open = os_text_open,
	.text_close = os_text_close,
};

static void free_seen(gpointer data)
{
	struct seen *seen = data;

	g_free(seen->payload);
	g_free(seen);
}

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct room *room = data;
	struct seen *seen = g_new0(struct seen, 1);

	if (room->also)
		room->also(record, task);
	g_assert_cmpint(record->kind, ==, RS_TRACE_RECORD_EVENT);
	g_assert_nonnull(record->event);
	seen->event = record->event;
	seen->payload = g_memdup2(record->payload, record->size);
	seen->size = record->size;
	seen->pid = record->pid;
	seen->cut = record->cut;
	g_ptr_array_add(room->records, seen);
}

void room_set_up(struct room *room, gconstpointer data)
{
	const struct rs_region_config layout = {.vcpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
						.ring_bytes = 4 << 20,
						.ring_page_size = 4096};
	struct rs_agent_config config = {.ops = &ops,
					 .agent = "ktrace 1",
					 .name = "ktrace",
					 .cpu_count = layout.vcpus,
					 .flags = RS_GUEST_SELF_PATCH};

	now = 1000000000;
	g_assert_cmpint(rs_region_create(&layout, &room->region, NULL), ==, 0);
	config.region = room->region->map;
	config.region_size = room->region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	room->records = g_ptr_array_new_with_free_func(free_seen);
	room->known = 0;
	room->also = NULL;
	room_task = (struct room_task){.pid = 8, .tgid = 7, .comm = "cat"};
	room->proc = (struct rs_ktrace_proc){.pid = 7};
	room->thread = (struct rs_ktrace_thread){.proc = &room->proc};
	room_switch(room, NULL, true);
}

/* The schema of the last records goes with it. */
static void forget(struct room *room)
{
	g_clear_pointer(&room->feed, rs_trace_feed_free);
	if (room->follower)
		room->follower->ops->free(room->follower);
	room->follower = NULL;
}

void room_tear_down(struct room *room, gconstpointer data)
{
	room_on_time = NULL;
	room_switch(room, NULL, false);
	rs_agent_fini();
	forget(room);
	g_ptr_array_unref(room->records);
	rs_trace_region_free(room->region);
}

void room_switch(struct room *room, const char *name, bool on)
{
	struct rs_control *control = rs_trace_region_section(room->region, RS_SEC_CONTROL, NULL);
	uint32_t *words = rs_trace_region_section(room->region, RS_SEC_EVENT_CTL, NULL);
	guint found = 0;

	for (const struct rs_event *event = __start_rs_events; event < __stop_rs_events; event++)
		if (!name || !strcmp(event->info->name, name)) {
			words[event->id] = on ? RS_EVENT_ENABLED : 0;
			found++;
		}
	g_assert_cmpuint(found, ==, name ? 1 : 11);
	control->flags = RS_CONTROL_SELF_PATCH;
	control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
}

static struct rs_ktrace_proc *only_proc(const struct rs_ktrace_caller *caller,
					struct rs_ktrace_proc *last)
{
	return last ? NULL : caller->data;
}

void room_trace(struct room *room, uint32_t facilities)
{
	const struct rs_ktrace_caller caller = {.next = only_proc, .data = &room->proc};

	rs_ktrace_exit(&room->proc);
	if (facilities)
		g_assert_cmpint(rs_ktrace_set(&caller, 7, facilities), ==, 1);
}

/* A new observer reads all, and passes over what was known: a follower has one end. */
guint room_read(struct room *room)
{
	const RsTraceFollowerConfig config = {.record = on_record, .data = room};
	guint known = room->known;

	g_ptr_array_set_size(room->records, 0);
	forget(room);
	room->follower = rs_trace_follower_new(&config);
	room->feed =
		rs_trace_feed_new(rs_trace_live_new(room->region, RS_TRACE_FROM_START, 0, NULL),
				  room->follower, 0, NULL);
	do
		room->follower->ops->begin_round(room->follower);
	while (rs_trace_feed_read(room->feed, 0) == RS_TRACE_RING_DATA);
	rs_trace_feed_finish(room->feed);
	room->follower->ops->end(room->follower);
	g_assert_cmpuint(rs_trace_follower_bad(room->follower), ==, 0);
	room->known = room->records->len;
	g_assert_cmpuint(room->known, >=, known);
	g_ptr_array_remove_range(room->records, 0, known);
	return room->records->len;
}

const struct seen *room_only(struct room *room, const char *name)
{
	const struct seen *seen;

	g_assert_cmpuint(room_read(room), ==, 1);
	seen = room->records->pdata[0];
	g_assert_cmpstr(seen->event->system, ==, "ktrace");
	g_assert_cmpstr(seen->event->name, ==, name);
	g_assert_false(seen->cut);
	return seen;
}

const guint8 *seen_bytes(const struct seen *seen, const char *field, guint *size)
{
	const RsTraceField *of = rs_trace_event_field(seen->event, field);
	const guint8 *bytes;

	g_assert_nonnull(of);
	g_assert_true(rs_trace_field_bytes(of, seen->payload, seen->size, &bytes, size));
	return bytes;
}

gint64 seen_int(const struct seen *seen, const char *field)
{
	const RsTraceField *of = rs_trace_event_field(seen->event, field);
	guint size;
	const guint8 *bytes = seen_bytes(seen, field, &size);

	return (gint64)rs_trace_load_integer(bytes, size, of->is_signed);
}

char *seen_text(const struct seen *seen, const char *field)
{
	guint size;
	const guint8 *bytes = seen_bytes(seen, field, &size);

	return g_strndup((const char *)bytes, size);
}
