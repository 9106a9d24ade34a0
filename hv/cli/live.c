/* SPDX-License-Identifier: MIT */
#include "cli/live.h"

#include "base/output.h"
#include "cli/observe.h"
#include "cli/screen.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_MIN 0.05
#define INTERVAL_MAX 86400.0

struct live {
	const struct rs_cli_live *options;
	const struct rs_cli_live_config *config;
	RsDBusSession1 *session;
	struct rs_observation observation;
	RsTracePump *pump;
	RsTraceSelection *selection;  /* of the pump's thread, while there is one; NULL: none */
	struct rs_cli_screen *screen; /* NULL: blocks are written */
	GPtrArray *sources;           /* of struct named */
	guint timer;
	bool over;   /* the pump has ended by itself: there is nothing to read any more */
	bool untold; /* nobody has been told so, since there is a screen */
	bool held;
	void *page;      /* the latest; NULL: none yet */
	uint64_t blocks; /* pages that were shown, or would have been */
	/* Blocks. */
	struct rs_output output;
	GString *unwritten;
	int error; /* -errno of the output; 0: none */
	/* Between the threads. */
	gint wanted;       /* atomic: a page is */
	GAsyncQueue *done; /* pages */
};

/* What a feed's source is called. */
struct named {
	guint32 number;
	int feed; /* its number of the pump; -1: it has gone */
	char name[64];
};

/* ---- on the pump's thread, or when there is none ---- */

static uint64_t now_ns(void)
{
	return (uint64_t)g_get_monotonic_time() * 1000;
}

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct live *live = data;
	const RsTraceSample item = {
		.record = record,
		.task = task,
		.source = record->origin->name ? record->origin->name : "",
		.source_index = record->origin->index,
	};

	if (rs_cli_choice_wants(live->selection, record, task))
		live->config->add(&item, live->config->data);
}

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	const struct named *named = source;

	out->number = named->number;
	g_strlcpy(out->name, named->name, sizeof(out->name));
}

static gboolean on_page(gpointer data);

static gboolean on_round(gpointer data)
{
	struct live *live = data;

	if (g_atomic_int_compare_and_exchange(&live->wanted, 1, 0)) {
		g_async_queue_push(live->done, live->config->take(now_ns(), live->config->data));
		g_idle_add_full(G_PRIORITY_DEFAULT, on_page, live, NULL);
	}
	return TRUE;
}

/* ---- what is shown ---- */

static void end(struct live *live)
{
	live->observation.stopped = true;
	g_main_loop_quit(live->observation.loop);
}

/* What can be written at once, or until `until`. A reader that is slow has the rest later. */
static void flush(struct live *live, gint64 until)
{
	size_t done = 0;
	int ret = live->error ? live->error
			      : rs_output_write(&live->output, live->unwritten->str,
						live->unwritten->len, &until, &done);

	g_string_erase(live->unwritten, 0, (gssize)done);
	if (ret && ret != -ETIMEDOUT)
		live->error = ret;
}

static void draw(struct live *live)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!live->page)
		return;
	live->config->show(live->page, live->screen, live->held, text, live->config->data);
	rs_cli_screen_draw(live->screen, text->str);
}

static void write_block(struct live *live)
{
	live->config->show(live->page, NULL, false, live->unwritten, live->config->data);
	flush(live, 1);
	if (live->error)
		end(live);
}

static void take_page(struct live *live, void *page)
{
	if (live->page)
		live->config->free_page(live->page);
	live->page = page;
}

static gboolean on_page(gpointer data)
{
	struct live *live = data;
	void *page = g_async_queue_try_pop(live->done);

	/* The loop may have been told to end before this came. */
	if (!page || live->observation.stopped)
		g_clear_pointer(&page, live->config->free_page);
	if (!page)
		return G_SOURCE_REMOVE;
	if (live->held) {
		live->config->free_page(page);
	} else {
		take_page(live, page);
		if (live->screen)
			draw(live);
		else
			write_block(live);
	}
	live->blocks++;
	if (live->options->count && live->blocks >= (uint64_t)live->options->count)
		end(live);
	return G_SOURCE_REMOVE;
}

static void tell_over(struct live *live)
{
	live->untold = live->screen;
	for (guint i = 0; i < live->sources->len && !live->untold; i++) {
		const struct named *named = live->sources->pdata[i];
		g_autofree char *name = rs_trace_escape(named->name, -1, NULL);

		if (named->feed >= 0)
			rs_cli_fail(0, "the rings of %s cannot be read any more", name);
	}
}

/* Its thread touches nothing any more, and we may take the figures. */
static void on_done(gpointer data)
{
	struct live *live = data;

	live->over = true;
	tell_over(live);
}

static void ask_for_page(struct live *live)
{
	g_atomic_int_set(&live->wanted, 1);
	if (live->over)
		on_round(live);
	else
		rs_trace_pump_wake(live->pump);
}

/* While a block is not written, its reader has what it can take: the interval goes on. */
static gboolean on_tick(gpointer data)
{
	struct live *live = data;

	flush(live, 1);
	if (live->error) {
		end(live);
	} else if (!live->unwritten->len) {
		if (live->config->tick)
			live->config->tick(live->session, live->config->data);
		ask_for_page(live);
	}
	return G_SOURCE_CONTINUE;
}

/* ---- keys ---- */

static void on_key(int key, void *data)
{
	struct live *live = data;

	if (key == 'q' || key == 'Q' || key == 4) {
		end(live);
		return;
	}
	if (key == ' ')
		live->held = !live->held;
	else if (key != 12 && !(live->config->key && live->config->key(key, live->config->data)))
		return;
	draw(live);
}

static void on_redraw(void *data)
{
	draw(data);
}

static void on_gone(void *data)
{
	end(data);
}

/* ---- from the observation ---- */

static int come(const char *name, const RsTraceClientSource *source, RsTraceRegion *region,
		RsTraceFrom from, void *data)
{
	struct live *live = data;
	struct named *named = g_new0(struct named, 1);
	g_autoptr(GError) error = NULL;
	RsTraceSource *pages =
		rs_trace_live_new_take(region, from, rs_trace_live_flags(source->joined), &error);

	named->number = source->number;
	named->feed = -1;
	g_strlcpy(named->name, source->name, sizeof(named->name));
	g_ptr_array_add(live->sources, named);
	if (!pages) {
		rs_cli_fail(0, "%s: %s", name, error->message);
		return -1;
	}
	rs_cli_symbols_give(&live->options->symbols, live->session, source->number, pages);
	if (live->config->come)
		live->config->come(source, live->config->data);
	return named->feed = (int)rs_trace_pump_add(live->pump, pages, named);
}

static void gone(int number, void *data)
{
	struct live *live = data;

	for (guint i = 0; i < live->sources->len; i++) {
		struct named *named = live->sources->pdata[i];

		if (named->feed == number)
			named->feed = -1;
	}
	rs_trace_pump_end(live->pump, (unsigned)number);
}

/* Signals that end us are heard from here on, so the terminal can be changed. */
static void begin(void *data)
{
	struct live *live = data;
	const struct rs_cli_screen_config screen = {
		.key = on_key, .redraw = on_redraw, .gone = on_gone, .data = live};

	if (!live->options->json && rs_cli_screen_is_possible())
		live->screen = rs_cli_screen_new(&screen);
	if (live->config->tick)
		live->config->tick(live->session, live->config->data);
	take_page(live, live->config->take(now_ns(), live->config->data));
	if (live->screen)
		draw(live);
	rs_trace_pump_start(live->pump);
	live->timer = g_timeout_add((guint)(live->options->interval * 1000), on_tick, live);
}

/* Messages go to the first screen. */
static void closing(void *data)
{
	struct live *live = data;

	g_clear_handle_id(&live->timer, g_source_remove);
	g_clear_pointer(&live->screen, rs_cli_screen_free);
	if (live->untold)
		tell_over(live);
}

/* ---- life ---- */

int rs_cli_live_check(const struct rs_verb *verb, struct rs_cli_live *live)
{
	int code;

	if (!(live->interval >= INTERVAL_MIN && live->interval <= INTERVAL_MAX))
		return rs_cli_usage(verb, "--interval is in seconds, %g to a day", INTERVAL_MIN);
	if (live->count < 0)
		return rs_cli_usage(verb, "--count is a number of intervals; 0: no limit");
	code = rs_cli_color_take(verb, live->when, STDOUT_FILENO, &live->color);
	return code ? code : rs_cli_symbols_take(verb, &live->symbols);
}

/* What came since the last block, when the session has ended by itself. */
static void show_last(struct live *live)
{
	take_page(live, live->config->take(now_ns(), live->config->data));
	live->config->show(live->page, NULL, false, live->unwritten, live->config->data);
}

static int finish(struct live *live)
{
	const bool stopped = live->observation.stopped;
	void *page;

	if (stopped)
		rs_trace_pump_stop(live->pump);
	else
		rs_trace_pump_finish(live->pump);
	while (g_idle_remove_by_data(live))
		;
	while ((page = g_async_queue_try_pop(live->done)))
		live->config->free_page(page);
	if (!stopped)
		show_last(live);
	flush(live, stopped ? 1 : 0);
	rs_trace_pump_free(live->pump);
	if (live->error && live->error != -EPIPE)
		return rs_cli_fail(RS_CLI_FAILED, "the output could not be written: %s",
				   g_strerror(-live->error));
	if (live->observation.lost && !stopped)
		return rs_cli_fail(RS_CLI_FAILED, "the session went away");
	return RS_CLI_OK;
}

int rs_cli_live_run(RsDBusSession1 *session, const struct rs_cli_live *options,
		    const struct rs_cli_live_config *config)
{
	struct live live = {
		.options = options,
		.config = config,
		.session = session,
		.observation = {.come = come,
				.gone = gone,
				.begin = begin,
				.closing = closing,
				.data = &live},
	};
	const RsTraceFollowerConfig follower = {
		.record = on_record, .round = on_round, .describe = describe, .data = &live};
	RsTracePumpConfig pump = {.done = on_done, .data = &live};
	int code = rs_cli_choice_take(&options->choice, &live.selection);

	if (code)
		return code;
	rs_output_init(&live.output, STDOUT_FILENO);
	live.unwritten = g_string_new(NULL);
	live.done = g_async_queue_new();
	live.sources = g_ptr_array_new_with_free_func(g_free);
	pump.sink = rs_trace_follower_new(&follower);
	live.pump = rs_trace_pump_new(&pump);
	rs_cli_observe(session, RS_TRACE_FROM_NOW, 0, &live.observation);
	code = rs_cli_choice_finish(live.selection, finish(&live));
	g_clear_pointer(&live.page, config->free_page);
	rs_trace_selection_free(live.selection);
	g_ptr_array_unref(live.sources);
	g_async_queue_unref(live.done);
	g_string_free(live.unwritten, TRUE);
	rs_output_deinit(&live.output);
	return code;
}

void rs_cli_live_clear(struct rs_cli_live *live)
{
	g_free(live->name);
	g_free(live->when);
	rs_cli_choice_clear(&live->choice);
	rs_cli_symbols_clear(&live->symbols);
}
