/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file as a busy guest leaves it: vCPUs that switch between tasks, wake-ups, system
 * calls, and now and then a loss. From random numbers, so that it is the same each time.
 *
 *	make-guest OUT EVENTS [VCPUS [TASKS]]
 */
#include "rs-trace-writer.h"
#include "build.h"

#include <ringside/control.h>

#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define SWITCH RS_FIRST_EVENT_ID
#define WAKEUP (SWITCH + 1)
#define ENTER (SWITCH + 2)
#define EXIT (SWITCH + 3)
#define WINDOW_NS G_GUINT64_CONSTANT(20000000)
#define LOSSES 2000u /* pages of a ring between two losses */

typedef struct {
	TestPage *page;
	gsize used;
	guint64 seq, records, lost;
	guint32 pid;
	gboolean in_call;
} Ring;

typedef struct {
	RsTraceWriter *writer;
	guint64 ns;
	guint32 seed, tasks;
	Ring *rings;
} Guest;

struct switched {
	guint32 prev_state, next_pid;
	char next_comm[16];
};

static void check(gboolean ok, GError *error)
{
	if (!ok)
		g_error("%s", error->message);
}

static guint32 any(Guest *guest, guint32 below)
{
	guest->seed ^= guest->seed << 13;
	guest->seed ^= guest->seed >> 17;
	guest->seed ^= guest->seed << 5;
	return guest->seed % below;
}

static void comm_of(guint32 pid, char comm[16])
{
	static const char *const names[] = {"kworker", "nginx", "postgres", "qemu", "ssh", "cc1"};

	g_snprintf(comm, 16, "%s/%u", pid ? names[pid % G_N_ELEMENTS(names)] : "swapper", pid);
}

static void describe(GByteArray *out)
{
	TestDesc *desc = test_desc_new(SWITCH, "sched", "switch");

	test_desc_int(desc, "prev_state", RS_KIND_ENUM, 4);
	test_desc_symbol(desc, 0, "R");
	test_desc_symbol(desc, 1, "S");
	test_desc_symbol(desc, 2, "D");
	test_desc_int(desc, "next_pid", RS_KIND_UINT, 4);
	test_desc_array(desc, "next_comm", RS_KIND_STRING, 1, 16, 0);
	test_desc_end(desc, "prev_state=%s ==> next_pid=%u next_comm=%s",
		      "prev_state, next_pid, next_comm", out);
	desc = test_desc_new(WAKEUP, "sched", "wakeup");
	test_desc_int(desc, "pid", RS_KIND_UINT, 4);
	test_desc_end(desc, "pid=%u", "pid", out);
	desc = test_desc_new(ENTER, "syscalls", "enter");
	test_desc_int(desc, "nr", RS_KIND_UINT, 4);
	test_desc_end(desc, "nr=%u", "nr", out);
	desc = test_desc_new(EXIT, "syscalls", "exit");
	test_desc_int(desc, "ret", RS_KIND_SINT, 4);
	test_desc_end(desc, "ret=%d", "ret", out);
}

static void begin(Guest *guest, guint vcpus)
{
	const struct rs_clock_epoch epoch = {.mult = 1u << 31, .shift = 31}; /* ticks are ns */
	const RsTraceWriterTable clock = {1, &epoch, 1, sizeof(epoch), NULL, 0};
	struct rs_file_source source = {
		.size = sizeof(source), .ring_count = vcpus, .number = 1, .name = "guest"};
	g_autoptr(GByteArray) descs = g_byte_array_new();
	struct rs_provider entry;
	RsTraceWriterTable provider = {0, &entry, 1, sizeof(entry), NULL, 0};
	GError *error = NULL;

	describe(descs);
	test_provider(&entry, 0, descs);
	provider.data = descs->data;
	provider.data_size = descs->len;
	check(rs_trace_writer_put(guest->writer, RS_FILE_SOURCE, 0, &source, sizeof(source),
				  &error),
	      error);
	check(rs_trace_writer_put_table(guest->writer, RS_FILE_PROVIDER, 0, &provider, &error),
	      error);
	check(rs_trace_writer_put_table(guest->writer, RS_FILE_CLOCK, 0, &clock, &error), error);
	for (guint32 pid = 0; pid <= guest->tasks; pid++) {
		char comm[16];
		struct rs_cmdline_entry name;
		RsTraceWriterTable names = {0, &name, 1, sizeof(name), NULL, 0};

		comm_of(pid, comm);
		name = test_task(pid, 0, comm);
		name.sequence = 2;
		check(rs_trace_writer_put_table(guest->writer, RS_FILE_NAMES, 0, &names, &error),
		      error);
	}
}

static void end_page(Guest *guest, guint number)
{
	Ring *ring = &guest->rings[number];
	struct rs_file_page entry = {
		.from = RS_RING_PAGE_HEADER, .ring = number, .lost = ring->lost};
	g_autoptr(GByteArray) bytes = NULL;
	GError *error = NULL;

	if (!ring->page)
		return;
	bytes = test_page_end(ring->page);
	entry.to = bytes->len;
	check(rs_trace_writer_put_page(guest->writer, 0, bytes->data, &entry, &error), error);
	ring->page = NULL;
	ring->lost = 0;
	if (++ring->seq % LOSSES == LOSSES / 2)
		ring->records += ring->lost = 1 + any(guest, 5000);
}

static void emit(Guest *guest, guint number, guint id, gconstpointer payload, gsize size)
{
	Ring *ring = &guest->rings[number];

	if (ring->page && test_page_size(ring->page) + size + 64 > PAGE)
		end_page(guest, number);
	if (!ring->page) {
		ring->page = test_page_new(number, ring->seq, guest->ns, ring->pid, 0);
		test_page_header(ring->page)->records = ring->records;
	}
	test_page_record(ring->page, id, (guint32)guest->ns, payload, size);
	ring->records++;
}

static void switch_task(Guest *guest, guint number)
{
	Ring *ring = &guest->rings[number];
	struct switched payload = {any(guest, 3), any(guest, 4) ? 1 + any(guest, guest->tasks) : 0,
				   ""};

	comm_of(payload.next_pid, payload.next_comm);
	emit(guest, number, SWITCH, &payload, sizeof(payload));
	ring->pid = payload.next_pid;
	ring->in_call = FALSE;
	if (ring->page)
		test_page_context(ring->page, ring->pid, 0);
}

/* One event of a vCPU, some microseconds after the last one of any. */
static void step(Guest *guest, guint vcpus)
{
	guint number = any(guest, vcpus);
	Ring *ring = &guest->rings[number];
	guint32 value = any(guest, 300);

	guest->ns += any(guest, 1000) + (any(guest, 5000) ? 0 : any(guest, 2000000));
	if (any(guest, 12) == 0) {
		switch_task(guest, number);
	} else if (any(guest, 10) == 0) {
		value = 1 + any(guest, guest->tasks);
		emit(guest, number, WAKEUP, &value, sizeof(value));
	} else {
		emit(guest, number, ring->in_call ? EXIT : ENTER, &value, sizeof(value));
		ring->in_call = !ring->in_call;
	}
}

static void end_window(Guest *guest, guint vcpus)
{
	GError *error = NULL;

	for (guint i = 0; i < vcpus; i++)
		end_page(guest, i);
	check(rs_trace_writer_end_window(guest->writer, guest->ns, &error), error);
}

int main(int argc, char **argv)
{
	const RsTraceWriterConfig config = {0};
	guint vcpus = argc > 3 ? (guint)atoi(argv[3]) : 8;
	Guest guest = {.seed = 1, .ns = 1000000, .tasks = argc > 4 ? (guint32)atoi(argv[4]) : 100};
	guint64 n = argc > 2 ? g_ascii_strtoull(argv[2], NULL, 10) : 0, ended = 0;
	g_autoptr(GFile) file = NULL;
	g_autoptr(GFileOutputStream) stream = NULL;
	GError *error = NULL;

	if (argc < 3 || !vcpus || vcpus > 64 || !guest.tasks)
		g_error("usage: make-guest OUT EVENTS [VCPUS [TASKS]]");
	file = g_file_new_for_path(argv[1]);
	stream = g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, &error);
	check(!!stream, error);
	guest.writer = rs_trace_writer_new(G_OUTPUT_STREAM(stream), &config, &error);
	check(!!guest.writer, error);
	guest.rings = g_new0(Ring, vcpus);
	begin(&guest, vcpus);
	for (guint64 i = 0; i < n; i++) {
		step(&guest, vcpus);
		if (guest.ns < ended + WINDOW_NS)
			continue;
		end_window(&guest, vcpus);
		ended = guest.ns;
	}
	end_window(&guest, vcpus);
	check(rs_trace_writer_close(guest.writer, &error), error);
	rs_trace_writer_free(guest.writer);
	g_free(guest.rings);
	return 0;
}
