/* SPDX-License-Identifier: MIT */
/*
 * A file that grows while somebody looks for records in it: what is found is what one finds who
 * reads the whole file at its end, and comes in the same order.
 */
#include "document/rs-trace-picker-private.h"
#include "traces.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 20u
#define FILTER "next == 3"
#define PATIENCE (20 * G_USEC_PER_SEC)

typedef struct {
	GRand *rand;
	GArray *ends;
	char *path;
	char *bytes;
	gsize size, at; /* so many of them were written */
	gboolean back;
	guint64 seen, rank; /* an end that the timeline had, and rows before that */
	RsTraceFiles *files;
	int fd;
	RsTracePulse *pulse;
} Fixture;

static void nothing(gpointer data)
{
}

static void set_up(Fixture *f, gconstpointer seed)
{
	f->rand = g_rand_new_with_seed(GPOINTER_TO_UINT(seed));
	f->ends = g_array_new(FALSE, FALSE, sizeof(gsize));
	f->back = g_rand_boolean(f->rand);
	f->path = traces_write(f->rand, &(Plan){.sources = 2,
						.windows = 40,
						.session = 1,
						.back = f->back,
						.late = g_rand_boolean(f->rand),
						.ends = f->ends});
	g_assert_true(g_file_get_contents(f->path, &f->bytes, &f->size, NULL));
	g_assert_no_errno(truncate(f->path, 0));
	f->fd = g_open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	f->files = rs_trace_files_new();
	f->pulse = rs_trace_pulse_new(nothing, NULL);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_pulse_stop(f->pulse);
	rs_trace_pulse_unref(f->pulse);
	rs_trace_files_unref(f->files);
	close(f->fd);
	g_unlink(f->path);
	g_free(f->path);
	g_free(f->bytes);
	g_array_unref(f->ends);
	g_rand_free(f->rand);
}

static void write_to(Fixture *f, gsize end)
{
	g_assert_cmpint(write(f->fd, f->bytes + f->at, end - f->at), ==, (gssize)(end - f->at));
	f->at = end;
}

static char *describe_ring(RsTraceTimeline *timeline, const RsTraceTimelineRing *ring)
{
	GString *out = g_string_new(NULL);
	guint64 count = rs_trace_series_count(ring->events), ns;
	guint32 class;

	g_string_append_printf(out, "source %u, ring %u:", ring->source, ring->ring);
	for (guint64 i = 0; i < count; i++) {
		rs_trace_series_read(ring->events, i, 1, &ns, &class);
		g_string_append_printf(out, " %" G_GUINT64_FORMAT " %s,", ns,
				       rs_trace_timeline_class(timeline, class)->label);
	}
	return g_string_free(out, FALSE);
}

static int compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What is in each ring. Their order in a timeline is that of their first records. */
static char *describe(RsTraceTimeline *timeline)
{
	g_autoptr(GPtrArray) rings = g_ptr_array_new_with_free_func(g_free);
	const RsTraceTimelineRing *ring;

	rs_trace_timeline_lock(timeline);
	for (guint n = 0; (ring = rs_trace_timeline_ring(timeline, n)); n++)
		g_ptr_array_add(rings, describe_ring(timeline, ring));
	rs_trace_timeline_unlock(timeline);
	g_ptr_array_sort(rings, compare);
	g_ptr_array_add(rings, NULL);
	return g_strjoinv("\n", (char **)rings->pdata);
}

/* No row comes before those that were seen, but where times of a ring go back. */
static void check_order(Fixture *f, RsTraceTimeline *found)
{
	guint64 first;

	rs_trace_timeline_lock(found);
	if (!f->back)
		g_assert_cmpuint(rs_trace_timeline_rank(found, f->seen), ==, f->rank);
	rs_trace_timeline_span(found, &first, &f->seen);
	f->seen -= f->seen > 0; /* others may come at the time of the last one */
	f->rank = rs_trace_timeline_rank(found, f->seen);
	rs_trace_timeline_unlock(found);
}

static gboolean is_same(RsTraceTimeline *a, RsTraceTimeline *b)
{
	g_autofree char *rows = describe(a), *others = describe(b);

	return !strcmp(rows, others);
}

static RsTracePicker *new_picker(Fixture *f)
{
	RsTracePicker *picker =
		rs_trace_picker_new((const char *const[]){FILTER, NULL}, f->files, f->pulse, NULL);

	g_assert_nonnull(picker);
	return picker;
}

/* A search that has found all so far does not say whether it goes on. */
static void await(RsTraceTimeline *found, RsTraceTimeline *expected)
{
	const gint64 until = g_get_monotonic_time() + PATIENCE;
	g_autofree char *rows = NULL, *others = NULL;

	while (!is_same(found, expected) && g_get_monotonic_time() < until)
		g_usleep(1000);
	rows = describe(found);
	others = describe(expected);
	g_assert_cmpstr(rows, ==, others);
}

static void open_files(Fixture *f)
{
	write_to(f, g_array_index(f->ends, gsize, 0));
	rs_trace_files_take(f->files, g_open(f->path, O_RDONLY | O_CLOEXEC));
}

static void test_growing(Fixture *f, gconstpointer unused)
{
	RsTracePicker *live = new_picker(f), *whole;
	g_autoptr(RsTraceTimeline) found = rs_trace_picker_begin(live);
	g_autoptr(RsTraceTimeline) expected = NULL;

	open_files(f);
	for (guint i = 1; i < f->ends->len; i++) {
		const gsize end = g_array_index(f->ends, gsize, i);

		/* Half a window, and half a block perhaps. */
		write_to(f, (gsize)g_rand_int_range(f->rand, (gint32)f->at, (gint32)end));
		g_usleep((gulong)g_rand_int_range(f->rand, 0, 3000));
		check_order(f, found);
		write_to(f, end);
		g_usleep((gulong)g_rand_int_range(f->rand, 0, 3000));
	}
	write_to(f, f->size);
	rs_trace_files_end(f->files);
	whole = new_picker(f);
	expected = rs_trace_picker_begin(whole);
	while (rs_trace_picker_progress(whole) < 1)
		g_usleep(1000);
	await(found, expected);
	rs_trace_picker_free(live);
	rs_trace_picker_free(whole);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < ROUNDS; i++) {
		g_autofree char *path = g_strdup_printf("/picker/growing/%u", i);

		g_test_add(path, Fixture, GUINT_TO_POINTER(i), set_up, test_growing, tear_down);
	}
	return g_test_run();
}
