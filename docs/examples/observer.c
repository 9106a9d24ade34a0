/* SPDX-License-Identifier: MIT */
/*
 * observer SESSION: prints the events of the sources that a running session has now, until it ends.
 *
 *     gcc -o observer observer.c $(pkg-config --cflags --libs libringside)
 */
#include <rs-trace-client.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <rs-trace-text.h>

/* The records of all sources come here in the order of time, on the pump's thread. */
static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer source,
		      gpointer data)
{
	g_autoptr(GString) line = g_string_new(NULL);

	rs_trace_text_line(line, record, task, NULL, 0);
	g_print("%s", line->str);
}

int main(int argc, char **argv)
{
	RsTraceFollowerConfig follower = {.record = on_record};
	RsTracePumpConfig config = {.sink = rs_trace_follower_new(&follower)};
	RsTracePump *pump = rs_trace_pump_new(&config);
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	GError *error = NULL;
	RsDBusSession1 *session = rs_trace_client_connect(argc > 1 ? argv[1] : "", &error);
	GPtrArray *sources = error ? NULL : rs_trace_client_sources(session, &error);
	GPtrArray *regions = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_region_free);

	for (guint i = 0; !error && i < sources->len; i++) {
		guint32 number = ((RsTraceClientSource *)sources->pdata[i])->number;
		RsTraceRegion *region = rs_trace_client_open_region(session, number, &error);
		RsTraceSource *source = NULL;

		if (region) {
			g_ptr_array_add(regions, region);
			source = rs_trace_live_new(region, RS_TRACE_FROM_OLDEST, 0, &error);
		}
		if (source)
			rs_trace_pump_add(pump, source, NULL);
	}
	if (error) {
		g_printerr("observer: %s\n", error->message);
		return 1;
	}
	g_signal_connect_swapped(g_dbus_proxy_get_connection(G_DBUS_PROXY(session)), "closed",
				 G_CALLBACK(g_main_loop_quit), loop);
	rs_trace_pump_start(pump);
	g_main_loop_run(loop);
	rs_trace_pump_finish(pump); /* reads what is still in the rings */
	rs_trace_pump_free(pump);
	g_ptr_array_unref(regions); /* not before the pump: its sources read them */
	g_ptr_array_unref(sources);
	g_object_unref(session);
	g_main_loop_unref(loop);
	return 0;
}
