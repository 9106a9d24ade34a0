/* SPDX-License-Identifier: MIT */
#include "cli/run_printing.h"

#include "cli/summary.h"
#include "cli/verb.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rs-trace-live.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_LOOK_MS 50 /* between two looks whether a signal came */

struct rs_run_printing {
	struct rs_session *session;
	const struct rs_runner_config *config;
	const struct rs_run_signals *signals;
	struct rs_run_recording *recording; /* NULL: none reads the same rings */
	struct rs_printer *printer;         /* NULL: nothing is printed so far */
	struct rs_printer_stats stats;      /* of the end */
	GHashTable *printed;                /* source → its number in the printer */
	int fd;
	bool begun, draining, is_done;
	void (*done)(void *data);
	void *data;
};

struct rs_run_printing *rs_run_printing_new(struct rs_session *session,
					    const struct rs_runner_config *config,
					    const struct rs_run_signals *signals,
					    void (*done)(void *data), void *data)
{
	struct rs_run_printing *printing = g_new0(struct rs_run_printing, 1);

	printing->session = session;
	printing->config = config;
	printing->signals = signals;
	printing->printed = g_hash_table_new(NULL, NULL);
	printing->fd = -1;
	printing->done = done;
	printing->data = data;
	return printing;
}

void rs_run_printing_free(struct rs_run_printing *printing)
{
	if (!printing)
		return;
	rs_printer_destroy(printing->printer);
	g_hash_table_unref(printing->printed);
	if (printing->fd > STDERR_FILENO)
		close(printing->fd);
	g_free(printing);
}

/* ---- from the printer ---- */

static void on_done(void *data)
{
	struct rs_run_printing *printing = data;

	printing->is_done = true;
	printing->done(printing->data);
}

/* The region of the source may be laid out anew from now on. */
static void on_source_printed(void *data, void *source)
{
	struct rs_run_printing *printing = data;

	g_hash_table_remove(printing->printed, source);
	rs_source_release(source);
}

/* ---- its beginning ---- */

int rs_run_printing_open(struct rs_run_printing *printing, struct rs_error *err)
{
	const char *path = printing->config->output;

	printing->fd = STDOUT_FILENO;
	/* What is counted must be read. */
	if (printing->config->quiet && printing->config->count)
		path = "/dev/null";
	if (!path || strcmp(path, "-") == 0)
		return 0;
	printing->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (printing->fd < 0)
		return rs_error_set(err, EIO, "%s: %s", path, g_strerror(errno));
	return 0;
}

int rs_run_printing_add(struct rs_run_printing *printing, struct rs_source *source,
			RsTraceFrom from)
{
	g_autoptr(GError) error = NULL;
	RsTraceSource *pages;
	guint number;

	if (!printing->printer || g_hash_table_contains(printing->printed, source))
		return 0;
	pages = rs_trace_live_new_beside(
		rs_source_region(source), rs_run_recording_consumers(printing->recording, source),
		from, RS_TRACE_LIVE_OWNER | rs_trace_live_flags(rs_source_joined(source)), &error);
	if (!pages)
		return rs_cli_fail(RS_CLI_FAILED, "%s", error->message);
	if (printing->config->symbols)
		rs_cli_symbols_give_own(printing->config->symbols, source, pages);
	number = rs_printer_add(printing->printer, rs_source_name(source), rs_source_number(source),
				pages, source);
	rs_source_hold(source);
	g_hash_table_insert(printing->printed, source, GUINT_TO_POINTER(number));
	return 0;
}

static int start(struct rs_run_printing *printing, RsTraceFrom from)
{
	const struct rs_runner_config *config = printing->config;
	struct rs_session *session = printing->session;
	struct rs_printer_head head = {0};
	struct rs_printer_config printer = {
		.json = config->json,
		.head = &head,
		.style = config->style,
		.time = config->time,
		.view = config->view,
		/* The host reports first. */
		.source_names = rs_session_n_sources(session) > 1,
		.count = config->count,
		.fd = config->quiet && !config->count ? -1 : printing->fd,
		.data = printing,
		.ended = on_source_printed,
		.done = on_done,
	};
	int code = 0;

	rs_line_time_live(config->time,
			  rs_source_region(rs_session_source(session, 0))->header.origin_ns);
	for (guint i = 0; i < rs_session_n_sources(session); i++)
		rs_printer_count(&head, rs_source_region(rs_session_source(session, i)));
	printing->printer = rs_printer_create(&printer);
	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		struct rs_source *source = rs_session_source(session, i);
		int ret = rs_source_end(source) ? 0 : rs_run_printing_add(printing, source, from);

		code = code ? code : ret;
	}
	rs_printer_start(printing->printer);
	return code;
}

static bool is_wanted(const struct rs_run_printing *printing)
{
	const struct rs_runner_config *config = printing->config;
	bool consumed = false;

	/* A quiet session is for others to observe. But in drop mode somebody has to consume. */
	for (guint i = 0; i < rs_session_n_sources(printing->session); i++)
		consumed |= rs_trace_region_ring_mode(rs_source_region(
				    rs_session_source(printing->session, i))) == RS_MODE_DROP;
	return !config->quiet || config->count || (consumed && !printing->recording);
}

int rs_run_printing_begin(struct rs_run_printing *printing, struct rs_run_recording *recording)
{
	printing->begun = true;
	printing->recording = recording;
	/* Not before: what was there stays if the session cannot begin. */
	if (printing->fd > STDERR_FILENO && ftruncate(printing->fd, 0) && errno != EINVAL)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %s", printing->config->output,
				   g_strerror(errno));
	return is_wanted(printing) ? start(printing, printing->config->from) : 0;
}

int rs_run_printing_ring_mode(struct rs_run_printing *printing, uint32_t mode)
{
	if (mode != RS_MODE_DROP || !printing->begun || printing->printer || printing->draining ||
	    rs_run_recording_reads(printing->recording))
		return 0;
	return start(printing, RS_TRACE_FROM_NOW);
}

/* ---- meanwhile ---- */

void rs_run_printing_end(struct rs_run_printing *printing, struct rs_source *source)
{
	gpointer number;

	if (g_hash_table_lookup_extended(printing->printed, source, NULL, &number))
		rs_printer_end(printing->printer, GPOINTER_TO_UINT(number));
}

void rs_run_printing_name_sources(struct rs_run_printing *printing)
{
	if (printing->printer)
		rs_printer_name_sources(printing->printer);
}

void rs_run_printing_wake(struct rs_run_printing *printing)
{
	if (printing->printer)
		rs_printer_wake(printing->printer);
}

void rs_run_printing_hurry(struct rs_run_printing *printing)
{
	if (printing->printer)
		rs_printer_hurry(printing->printer);
}

bool rs_run_printing_is_for_script(const struct rs_run_printing *printing)
{
	return printing->config->json && printing->fd == STDOUT_FILENO;
}

bool rs_run_printing_is_done(const struct rs_run_printing *printing)
{
	return printing->is_done;
}

/* ---- its end ---- */

void rs_run_printing_drain(struct rs_run_printing *printing)
{
	g_autoptr(GList) numbers = NULL;

	printing->draining = true;
	if (!printing->printer)
		return;
	numbers = g_hash_table_get_values(printing->printed);
	for (const GList *at = numbers; at; at = at->next)
		rs_printer_end(printing->printer, GPOINTER_TO_UINT(at->data));
	while (g_hash_table_size(printing->printed) && !printing->is_done)
		g_main_context_iteration(NULL, TRUE);
}

int rs_run_printing_finish(struct rs_run_printing *printing)
{
	/* The recording has ended, too. */
	printing->recording = NULL;
	rs_printer_finish(printing->printer, &printing->stats);
	if (!printing->stats.error)
		return 0;
	return rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
			   g_strerror(printing->stats.error));
}

/* A line can be written without waiting. False: nobody reads the output, and a signal came. */
static bool await_output(const struct rs_run_printing *printing)
{
	struct pollfd fd = {.fd = printing->fd, .events = POLLOUT};

	while (!rs_run_signals_first(printing->signals) && poll(&fd, 1, OUTPUT_LOOK_MS) == 0)
		g_main_context_iteration(NULL, FALSE);
	return poll(&fd, 1, 0) != 0;
}

void rs_run_printing_summarise(const struct rs_run_printing *printing)
{
	const struct rs_printer_stats *stats = &printing->stats;
	bool json = printing->config->json && !stats->closed && !stats->unread;

	if (!printing->config->quiet)
		rs_summary_print(printing->session, stats,
				 json && await_output(printing) ? printing->fd : -1);
}
