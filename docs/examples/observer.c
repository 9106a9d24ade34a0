/* SPDX-License-Identifier: MIT */
/* observer SESSION: prints the events of a running session, until it ends. */
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

	for (guint i = 0; !error && i < sources->len; i++) {
		guint32 number = ((RsTraceClientSource *)sources->pdata[i])->number;
		RsTraceRegion *region = rs_trace_client_open_region(session, number, &error);

		if (region)
			rs_trace_pump_add(pump,
					  rs_trace_live_new(region, RS_TRACE_FROM_OLDEST, 0, NULL),
					  NULL);
	}
	if (error)
		g_error("%s", error->message);
	g_signal_connect_swapped(g_dbus_proxy_get_connection(G_DBUS_PROXY(session)), "closed",
				 G_CALLBACK(g_main_loop_quit), loop);
	rs_trace_pump_start(pump);
	g_main_loop_run(loop);
	rs_trace_pump_finish(pump); /* reads what is still in the rings */
	rs_trace_pump_free(pump);
	return 0;
}
