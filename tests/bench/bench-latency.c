/* SPDX-License-Identifier: MIT */
/*
 * How long after an event its reader has it: an observer that polls all rings of a session's first
 * source, and never sleeps.
 *
 *     bench-latency SESSION SECONDS
 */
#include <rs-trace-client.h>
#include <rs-trace-decoder.h>
#include <rs-trace-ring.h>

#include <stdlib.h>
#include <time.h>

struct bench {
	const RsTraceRegion *region;
	RsTraceClock *clock;
	GArray *ns; /* guint64 */
	guint64 ahead;
};

/* By the clock of the trace. */
static guint64 now(const struct bench *bench)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (guint64)ts.tv_sec * 1000000000 + (guint64)ts.tv_nsec -
	       bench->region->header.origin_ns;
}

static void take(const RsTraceRecord *record, gpointer data)
{
	struct bench *bench = data;
	guint64 read = now(bench), ns;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return;
	/* The clocks agree within the error of an epoch. */
	bench->ahead += record->ns > read;
	ns = record->ns > read ? 0 : read - record->ns;
	g_array_append_val(bench->ns, ns);
}

static void take_epochs(struct bench *bench)
{
	g_autofree struct rs_clock_epoch *table = NULL;
	struct rs_control control;
	gsize size = 0;

	rs_trace_region_section(bench->region, RS_SEC_CLOCK, &size);
	table = g_malloc(size);
	size = rs_trace_region_copy(bench->region, RS_SEC_CLOCK, 0, table, size);
	if (rs_trace_region_take(bench->region, RS_SEC_CONTROL, 0, &control, sizeof(control)))
		rs_trace_clock_take(bench->clock, table, (guint)(size / sizeof(*table)),
				    control.epoch_count);
}

static gint compare(gconstpointer a, gconstpointer b)
{
	guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

	return x < y ? -1 : x > y;
}

static gdouble part_us(const struct bench *bench, gdouble part)
{
	guint at = (guint)((gdouble)(bench->ns->len - 1) * part);

	return (gdouble)g_array_index(bench->ns, guint64, at) / 1e3;
}

int main(int argc, char **argv)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);
	g_autoptr(GArray) ns = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(RsTraceRegion) region = NULL;
	g_autoptr(RsTraceDecoder) decoder = NULL;
	g_autoptr(GPtrArray) rings =
		g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_ring_free);
	g_autoptr(GError) error = NULL;
	struct bench bench = {.clock = clock, .ns = ns};
	gint64 until;

	if (argc != 3)
		g_error("usage: bench-latency SESSION SECONDS");
	session = rs_trace_client_connect(argv[1], &error);
	if (session)
		region = rs_trace_client_open_region(session, 1, &error);
	if (!region)
		g_error("%s", error->message);
	bench.region = region;
	decoder = rs_trace_decoder_new(region->header.ring_count, schema, clock, take, &bench);
	for (guint i = 0; i < region->header.ring_count; i++) {
		const RsTraceRingConfig config = {.ring = i, .from = RS_TRACE_FROM_NOW};

		g_ptr_array_add(rings, rs_trace_ring_new(region, &config, NULL));
	}
	until = g_get_monotonic_time() + atol(argv[2]) * G_USEC_PER_SEC;
	while (g_get_monotonic_time() < until) {
		take_epochs(&bench);
		for (guint i = 0; i < rings->len; i++) {
			RsTraceChunk chunk;

			while (rs_trace_ring_next(rings->pdata[i],
						  (guint64)g_get_monotonic_time() * 1000,
						  &chunk) == RS_TRACE_RING_DATA)
				rs_trace_decoder_push(decoder, i, chunk.page, chunk.from, chunk.to,
						      chunk.lost);
		}
	}
	g_array_sort(ns, compare);
	if (!ns->len)
		g_error("no event came");
	g_print("%u events, of which %" G_GUINT64_FORMAT " came before their time: "
		"median %.1f us, 90 %% %.1f us, 99 %% %.1f us, most %.1f us\n",
		ns->len, bench.ahead, part_us(&bench, 0.5), part_us(&bench, 0.9),
		part_us(&bench, 0.99), part_us(&bench, 1));
	return 0;
}
