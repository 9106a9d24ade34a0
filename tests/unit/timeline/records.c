/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <ringside/descriptor.h>
#include <string.h>

static guint32 boot = 1;

static const RsTraceField switch_fields[] = {
	{.name = "prev_state", .type = "s64", .kind = RS_KIND_SINT, .size = 8, .is_signed = TRUE},
	{.name = "next_comm",
	 .type = "char[16]",
	 .kind = RS_KIND_STRING,
	 .offset = 8,
	 .size = 16,
	 .elem_size = 1},
	{.name = "next_pid",
	 .type = "s32",
	 .kind = RS_KIND_SINT,
	 .offset = 24,
	 .size = 4,
	 .is_signed = TRUE}};
static const RsTraceField wakeup_fields[] = {
	{.name = "pid", .type = "s32", .kind = RS_KIND_SINT, .size = 4}};
static const RsTraceEvent switch_event = {.unique = 1000,
					  .system = "sched",
					  .name = "sched_switch",
					  .print = "",
					  .n_fields = G_N_ELEMENTS(switch_fields),
					  .fields = switch_fields};
static const RsTraceEvent wakeup_event = {.unique = 1001,
					  .system = "sched",
					  .name = "sched_wakeup",
					  .print = "",
					  .n_fields = G_N_ELEMENTS(wakeup_fields),
					  .fields = wakeup_fields};

void guest_init(Guest *guest)
{
	static const char *const names[] = {"kernel", "program", "other"};

	boot = 1;
	guest->timeline = rs_trace_timeline_new();
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		memset(&guest->info[i], 0, sizeof(guest->info[i]));
		g_strlcpy(guest->info[i].name, names[i], sizeof(guest->info[i].name));
		guest->origins[i] = rs_trace_origin_new(&guest->info[i], TRUE, i, guest);
	}
	guest->origins[1]->machine = 0;
}

void guest_clear(Guest *guest)
{
	rs_trace_timeline_unref(guest->timeline);
	for (guint i = 0; i < G_N_ELEMENTS(guest->origins); i++)
		rs_trace_origin_free(guest->origins[i]);
}

static void take(Guest *guest, guint source, const RsTraceRecord *what)
{
	RsTraceRecord record = *what;
	g_autofree char *comm = g_strdup_printf("task%u", record.pid);
	const RsTraceTask task = {comm, record.pid};

	record.sorted_ns = record.ns;
	record.when.boot = boot;
	record.origin = guest->origins[source];
	rs_trace_timeline_take(guest->timeline, &record,
			       rs_trace_timeline_wants_task(guest->timeline, &record) ? &task
										      : NULL);
}

void guest_event(Guest *guest, guint source, guint ring, guint64 ns, guint32 pid, guint name)
{
	static RsTraceEvent events[26];
	static char names[26][2];
	RsTraceEvent *event = &events[name];
	RsTraceRecord record = {.ns = ns, .ring = (guint16)ring, .pid = pid, .event = event};

	names[name][0] = (char)('a' + name);
	event->unique = name + 1;
	event->system = "test";
	event->name = names[name];
	event->print = "";
	take(guest, source, &record);
}

void guest_lasts(Guest *guest, guint ring, guint64 ns, guint32 pid, guint64 duration)
{
	static const RsTraceField fields[] = {
		{.name = "guest_ns", .type = "u64", .kind = RS_KIND_UINT, .size = 8},
		{.name = "host_ns", .type = "u64", .kind = RS_KIND_UINT, .offset = 8, .size = 8}};
	static const RsTraceEvent event = {.unique = 100,
					   .system = "test",
					   .name = "lasts",
					   .print = "",
					   .n_fields = G_N_ELEMENTS(fields),
					   .fields = fields};
	const guint64 payload[2] = {7, duration};
	RsTraceRecord record = {.ns = ns,
				.ring = (guint16)ring,
				.pid = pid,
				.event = &event,
				.payload = (const guint8 *)payload,
				.size = sizeof(payload)};

	take(guest, 0, &record);
}

void guest_new_event(Guest *guest, guint ring, guint64 ns, guint32 pid, guint number)
{
	g_autofree char *name = g_strdup_printf("event%u", number);
	const RsTraceEvent event = {
		.unique = 10000 + number, .system = "test", .name = name, .print = ""};
	const RsTraceRecord record = {.ns = ns, .ring = (guint16)ring, .pid = pid, .event = &event};

	take(guest, 0, &record);
}

void guest_switch(Guest *guest, guint ring, guint64 ns, guint32 pid, guint32 state, guint32 next,
		  const char *comm)
{
	struct {
		guint64 state;
		char comm[16];
		guint32 next;
		guint32 pad;
	} payload = {state, "", next, 0};
	RsTraceRecord record = {.ns = ns,
				.ring = (guint16)ring,
				.pid = pid,
				.event = &switch_event,
				.payload = (const guint8 *)&payload,
				.size = 28};

	g_strlcpy(payload.comm, comm, sizeof(payload.comm));
	take(guest, 0, &record);
}

void guest_wakeup(Guest *guest, guint ring, guint64 ns, guint32 pid, guint32 woken)
{
	RsTraceRecord record = {.ns = ns,
				.ring = (guint16)ring,
				.pid = pid,
				.event = &wakeup_event,
				.payload = (const guint8 *)&woken,
				.size = 4};

	take(guest, 0, &record);
}

void guest_loss(Guest *guest, guint ring, guint64 ns, guint64 lost)
{
	RsTraceRecord record = {
		.kind = RS_TRACE_RECORD_LOSS, .ns = ns, .ring = (guint16)ring, .lost = lost};

	take(guest, 0, &record);
}

void guest_boot(Guest *guest, guint ring, guint64 ns, guint32 number)
{
	RsTraceRecord record = {.kind = RS_TRACE_RECORD_BOOT, .ns = ns, .ring = (guint16)ring};

	boot = number;
	take(guest, 0, &record);
}

void guest_flush(Guest *guest)
{
	rs_trace_timeline_flush(guest->timeline);
}

char *series_text(const RsTraceSeries *series)
{
	GString *out = g_string_new(NULL);
	guint64 ns;
	guint32 tag;

	for (guint64 i = 0; rs_trace_series_read(series, i, 1, &ns, &tag); i++)
		g_string_append_printf(out, "%" G_GUINT64_FORMAT ":%u ", ns, tag);
	return g_string_free(out, FALSE);
}
