/* SPDX-License-Identifier: MIT */
/*
 * Lines of a trace file, from its pages to text and JSON: the best of many passes over a file that
 * lies in memory. First on one core, then by one thread and by two in turns, as ringside report
 * makes them. What two threads take of the CPU more than one is what they pay for it. On a busy
 * machine it still says something when the time does not.
 *
 *	bench-lines FILE
 */
#include "rs-trace-json.h"
#include "rs-trace-lines.h"
#include "rs-trace-reader.h"
#include "rs-trace-text.h"

#include <time.h>

#define SECONDS 3.0

typedef void (*LineFunc)(GString *out, const RsTraceRecord *record, const RsTraceTask *task);

static void no_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task)
{
}

static void text_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task)
{
	rs_trace_text_line(out, record, task, 0);
}

/* One pass. Returns the number of events. */
static guint64 pass(RsTraceReader *reader, LineFunc line, GString *out)
{
	g_autoptr(GError) error = NULL;
	const RsTraceRecord *record;
	guint64 n = 0;

	if (!rs_trace_reader_seek(reader, 0, NULL, &error))
		g_error("%s", error->message);
	while ((record = rs_trace_reader_next(reader, NULL, &error))) {
		if (out->len > 1u << 16)
			g_string_truncate(out, 0);
		line(out, record, rs_trace_reader_task(reader));
		n += record->kind == RS_TRACE_RECORD_EVENT;
	}
	if (error)
		g_error("%s", error->message);
	return n;
}

static void measure(RsTraceReader *reader, const char *name, LineFunc line)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GTimer) all = g_timer_new(), one = g_timer_new();
	gdouble best = 1e9;
	guint64 n = 0;

	while (g_timer_elapsed(all, NULL) < SECONDS) {
		g_timer_start(one);
		n = pass(reader, line, out);
		best = MIN(best, g_timer_elapsed(one, NULL));
	}
	g_print("lines %-8s %6.2f M events/s %7.1f ns an event\n", name, (gdouble)n / best / 1e6,
		best * 1e9 / (gdouble)MAX(n, 1));
}

/* ---- by several threads ---- */

typedef struct {
	RsTraceReader *reader;
	guint64 n, bytes;
} Jobs;

static const RsTraceRecord *next(const RsTraceTask **task, gpointer data)
{
	Jobs *jobs = data;
	const RsTraceRecord *record = rs_trace_reader_next(jobs->reader, NULL, NULL);

	if (!record)
		return NULL;
	*task = rs_trace_reader_task(jobs->reader);
	jobs->n += record->kind == RS_TRACE_RECORD_EVENT;
	return record;
}

static void text_of_jobs(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			 gpointer state, gpointer data)
{
	text_line(out, record, task);
}

static void json_of_jobs(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			 gpointer state, gpointer data)
{
	rs_trace_json_line(out, record, task);
}

static gboolean take_text(const char *text, gsize size, gpointer data)
{
	((Jobs *)data)->bytes += size;
	return TRUE;
}

static gdouble cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (gdouble)now.tv_sec + (gdouble)now.tv_nsec / 1e9;
}

static void measure_jobs(RsTraceReader *reader, const char *name, gboolean json)
{
	g_autoptr(GTimer) all = g_timer_new(), one = g_timer_new();
	gdouble best[3] = {0, 1e9, 1e9}, cpu[3] = {0, 1e9, 1e9}, before;
	guint64 n = 0, bytes[3] = {0};

	while (g_timer_elapsed(all, NULL) < 4 * SECONDS) {
		for (guint threads = 1; threads <= 2; threads++) {
			Jobs jobs = {.reader = reader};
			const RsTraceLinesConfig config = {.jobs = threads,
							   .next = next,
							   .line = json ? json_of_jobs
									: text_of_jobs,
							   .write = take_text,
							   .data = &jobs};

			if (!rs_trace_reader_seek(reader, 0, NULL, NULL))
				g_error("it cannot be read again");
			before = cpu_seconds();
			g_timer_start(one);
			rs_trace_lines_make(reader, &config);
			best[threads] = MIN(best[threads], g_timer_elapsed(one, NULL));
			cpu[threads] = MIN(cpu[threads], cpu_seconds() - before);
			bytes[threads] = jobs.bytes;
			n = jobs.n;
		}
	}
	g_assert_cmpuint(bytes[1], ==, bytes[2]);
	for (guint threads = 1; threads <= 2; threads++)
		g_print("lines %-4s by %u thread%s %6.2f M events/s %7.1f ns an event\n", name,
			threads, threads > 1 ? "s" : " ", (gdouble)n / best[threads] / 1e6,
			best[threads] * 1e9 / (gdouble)MAX(n, 1));
	g_print("lines %-4s of 2 threads, those of 1: %.2f x, with %.1f %% more CPU time\n", name,
		best[1] / best[2], 100 * (cpu[2] / cpu[1] - 1));
}

int main(int argc, char **argv)
{
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GError) error = NULL;

	if (argc != 2)
		return 2;
	reader = rs_trace_reader_open(argv[1], NULL, &error);
	if (!reader)
		g_error("%s", error->message);
	measure(reader, "records", no_line);
	measure(reader, "text", text_line);
	measure(reader, "json", rs_trace_json_line);
	measure_jobs(reader, "text", FALSE);
	measure_jobs(reader, "json", TRUE);
	return 0;
}
