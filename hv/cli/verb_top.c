/* SPDX-License-Identifier: MIT */
/* `ringside top`: what is recorded now, what is lost, and what it costs. */
#include "cli/live.h"
#include "cli/screen.h"
#include "cli/stat_cost.h"
#include "cli/top.h"
#include "machine/event_cost.h"

#include <string.h>

#define BLOCK_ROWS 20u /* of a block, if nothing else was asked for */

struct top {
	RsTraceTop *model; /* the pump's thread has it while there is one */
	struct rs_top_view view;
	bool json, help;
	GCancellable *cancellable;
	bool asked;        /* and there is no answer yet */
	GMutex lock;       /* of the costs: the pump's thread asks */
	GHashTable *costs; /* number of a source → a double */
};

static void free_source(gpointer data)
{
	g_free(((struct rs_top_source *)data)->kind);
	g_free(data);
}

/* ---- on the pump's thread ---- */

static double cost_of(guint32 number, gpointer data)
{
	struct top *top = data;
	const double *cost;
	double ns;

	g_mutex_lock(&top->lock);
	cost = g_hash_table_lookup(top->costs, GUINT_TO_POINTER(number));
	ns = cost ? *cost : -1;
	g_mutex_unlock(&top->lock);
	return ns;
}

static void add(const RsTraceSample *item, void *data)
{
	rs_trace_top_add(((struct top *)data)->model, item);
}

static void *take(uint64_t now_ns, void *data)
{
	return rs_trace_top_take(((struct top *)data)->model, now_ns);
}

/* ---- what the session says ---- */

static void come(const RsTraceClientSource *source, void *data)
{
	struct top *top = data;
	struct rs_top_source *told = g_new0(struct rs_top_source, 1);
	double *cost = g_new(double, 1);

	told->kind = g_strdup(source->kind);
	/*
	 * What was measured is that of code which this machine's CPU runs. What interprets the
	 * guest's code takes longer, and nobody has said by how much.
	 */
	*cost = source->native ? top->view.event_ns : -1;
	g_hash_table_replace(top->view.sources, GUINT_TO_POINTER(source->number), told);
	g_mutex_lock(&top->lock);
	g_hash_table_replace(top->costs, GUINT_TO_POINTER(source->number), cost);
	g_mutex_unlock(&top->lock);
}

static void take_each(struct top *top, GVariant *each)
{
	for (gsize i = 0; i < g_variant_n_children(each); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(each, i);
		struct rs_top_source *source;
		guint64 natives;
		guint32 number = 0;

		g_variant_lookup(row, "source_number", "u", &number);
		source = g_hash_table_lookup(top->view.sources, GUINT_TO_POINTER(number));
		if (!source)
			continue;
		g_variant_lookup(row, "pause_total_ns", "t", &source->paused_ns);
		if (g_variant_lookup(row, "native_pause_ns", "t", &natives))
			source->paused_ns += natives;
	}
}

static void on_stat(GObject *object, GAsyncResult *result, gpointer data)
{
	struct top *top = data;
	g_autoptr(GVariant) totals = NULL, each = NULL;

	if (rs_dbus_session1_call_stat_finish((RsDBusSession1 *)object, &totals, NULL, result,
					      NULL)) {
		each = g_variant_lookup_value(totals, "each", G_VARIANT_TYPE("aa{sv}"));
		if (each)
			take_each(top, each);
		top->view.frozen = rs_cli_says_frozen(totals);
	}
	top->asked = false;
}

/*
 * One call for all sources. The answer comes when it comes: a session that is stopped must not hold
 * the page up.
 */
static void tick(RsDBusSession1 *session, void *data)
{
	struct top *top = data;

	top->view.paused = rs_cli_is_paused(session);
	if (top->asked)
		return;
	top->asked = true;
	rs_dbus_session1_call_stat(session, rs_cli_stat_each(), top->cancellable, on_stat, top);
}

/* ---- what the user does ---- */

static bool key(int key, void *data)
{
	struct top *top = data;
	struct rs_top_view *view = &top->view;

	if (key >= '1' && key < '1' + RS_TRACE_TOP_KINDS)
		view->by = (RsTraceTopBy)(key - '1');
	else if (key == '\t')
		view->by = (view->by + 1) % RS_TRACE_TOP_KINDS;
	else if (key == RS_KEY_BACKTAB)
		view->by = (view->by + RS_TRACE_TOP_KINDS - 1) % RS_TRACE_TOP_KINDS;
	else if (key == 's' || key == RS_KEY_RIGHT)
		view->sort = (view->sort + 1) % RS_TRACE_TOP_SORTS;
	else if (key == RS_KEY_LEFT)
		view->sort = (view->sort + RS_TRACE_TOP_SORTS - 1) % RS_TRACE_TOP_SORTS;
	else if (key != '?')
		return false;
	top->help = key == '?' && !top->help;
	return true;
}

static void show(const void *page, const struct rs_cli_screen *screen, bool is_held, GString *out,
		 void *data)
{
	const struct top *top = data;

	if (top->json)
		rs_top_append_json(&top->view, page, out);
	else if (!screen)
		rs_top_append_block(&top->view, page, out);
	else
		rs_top_append_page(&top->view, page, rs_cli_screen_rows(screen),
				   rs_cli_screen_columns(screen), is_held, top->help, out);
}

static void free_page(void *page)
{
	rs_trace_top_page_free(page);
}

/* ---- the verb ---- */

static int take_by(const struct rs_verb *verb, const char *text, RsTraceTopBy *by)
{
	for (unsigned i = 0; text && i < RS_TRACE_TOP_KINDS; i++) {
		if (strcmp(text, rs_top_by_names[i]))
			continue;
		*by = (RsTraceTopBy)i;
		return RS_CLI_OK;
	}
	return text ? rs_cli_usage(verb, "--by is event, source, cpu or task, not '%s'", text)
		    : RS_CLI_OK;
}

static int watch(RsDBusSession1 *session, const struct rs_cli_live *live, struct top *top)
{
	const struct rs_cli_live_config config = {
		.add = add,
		.take = take,
		.free_page = free_page,
		.show = show,
		.key = key,
		.come = come,
		.tick = tick,
		.data = top,
	};
	struct rs_error err = {0};
	int code;

	if (rs_event_cost(&top->view.event_ns, &err)) {
		top->view.event_ns = -1;
		rs_cli_fail(0, "the cost of an event could not be measured: %s", err.message);
	}
	top->view.session = rs_dbus_session1_get_name(session);
	top->view.frozen = rs_cli_is_frozen(session);
	top->view.paused = rs_cli_is_paused(session);
	top->view.sources = g_hash_table_new_full(NULL, NULL, NULL, free_source);
	top->costs = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	top->cancellable = g_cancellable_new();
	top->model = rs_trace_top_new(cost_of, top);
	g_mutex_init(&top->lock);
	code = rs_cli_live_run(session, live, &config);
	g_cancellable_cancel(top->cancellable);
	while (top->asked)
		g_main_context_iteration(NULL, TRUE);
	rs_trace_top_free(top->model);
	g_object_unref(top->cancellable);
	g_mutex_clear(&top->lock);
	g_hash_table_unref(top->costs);
	g_hash_table_unref(top->view.sources);
	return code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_auto(RsCliLive) live = {.interval = RS_CLI_LIVE_INTERVAL};
	g_autofree char *by = NULL;
	g_autoptr(RsDBusSession1) session = NULL;
	struct top top = {0};
	int code, rows = G_MININT;
	const GOptionEntry options[] = {
		{"by", 'b', 0, G_OPTION_ARG_STRING, &by, "What has a row (event)",
		 "event|source|cpu|task"},
		{"rows", 0, 0, G_OPTION_ARG_INT, &rows,
		 "So many rows at most (20; on a terminal what fits; 0: all)", "N"},
		RS_CLI_LIVE_OPTIONS(live),
		{0}};

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_live_check(verb, &live);
	if (!code)
		code = take_by(verb, by, &top.view.by);
	if (!code && rows != G_MININT && rows < 0)
		code = rs_cli_usage(verb, "--rows is a number of rows; 0: all");
	if (code)
		return code;
	session = rs_cli_connect(verb, live.name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	if (rows >= 0)
		top.view.rows = (unsigned)rows;
	else if (live.json || !rs_cli_screen_is_possible())
		top.view.rows = BLOCK_ROWS;
	top.view.color = live.color;
	top.json = live.json;
	return watch(session, &live, &top);
}

const struct rs_verb rs_verb_top = {
	.name = "top",
	.args = "[NAME]",
	.summary = "show what is recorded now, what is lost, and what it costs",
	.details = "On a terminal the page is drawn anew in each interval, and ? tells the keys. "
		   "Into a pipe\n"
		   "goes one block for each interval. Other observers lose nothing by it.",
	.run = run,
};
