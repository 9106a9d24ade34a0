/* SPDX-License-Identifier: MIT */
/* `ringside hist`: how the values of an event's field are spread, while they come. */
#include "cli/figures.h"
#include "cli/json_line.h"
#include "cli/list_fields.h"
#include "cli/live.h"
#include "cli/screen.h"
#include "cli/table.h"

#include "analysis/rs-trace-column.h"
#include <string.h>

#define BLOCK_ROWS 40u /* of values that are no amounts, if nothing else was asked for */

struct hist {
	const char *session, *event;
	char *field; /* "EVENT.FIELD" */
	const char *by;
	unsigned rows;
	bool json, color, each;
	bool frozen, off; /* when this began: the session was; no such event was on */
	gint clear;       /* atomic: what came so far is to be forgotten */
	/* These belong to the pump's thread while there is one. */
	RsTraceHist *of;
	uint64_t lost, since_ns;
};

struct page {
	GPtrArray *groups; /* of RsTraceHistGroup; NULL: there is no value yet */
	uint64_t lost, took_ns;
};

/* ---- on the pump's thread ---- */

/* The names have been checked. */
static void renew(struct hist *hist, uint64_t now_ns)
{
	rs_trace_hist_free(hist->of);
	hist->of = rs_trace_hist_new(hist->field, hist->by, NULL);
	rs_trace_hist_set_few(hist->of);
	hist->lost = 0;
	hist->since_ns = now_ns;
}

static void add(const RsTraceSample *item, void *data)
{
	struct hist *hist = data;

	if (item->record->kind == RS_TRACE_RECORD_LOSS)
		hist->lost += item->record->lost;
	else if (item->record->kind == RS_TRACE_RECORD_EVENT)
		rs_trace_hist_add(hist->of, item);
}

static void *take(uint64_t now_ns, void *data)
{
	struct hist *hist = data;
	struct page *page = g_new0(struct page, 1);

	if (!hist->since_ns || g_atomic_int_compare_and_exchange(&hist->clear, 1, 0))
		renew(hist, now_ns);
	/* It fails while no event has had the field, and leaves NULL. */
	rs_trace_hist_result(hist->of, &page->groups, NULL);
	page->lost = hist->lost;
	page->took_ns = now_ns - MIN(hist->since_ns, now_ns);
	if (hist->each)
		renew(hist, now_ns);
	return page;
}

/* ---- what is shown ---- */

static void free_page(void *data)
{
	struct page *page = data;

	g_clear_pointer(&page->groups, g_ptr_array_unref);
	g_free(page);
}

static uint64_t values_of(const struct page *page)
{
	uint64_t sum = 0;

	for (guint i = 0; page->groups && i < page->groups->len; i++)
		sum += ((const RsTraceHistGroup *)page->groups->pdata[i])->count;
	return sum;
}

static void append_json(const struct hist *hist, const struct page *page, GString *out)
{
	const struct rs_cli_figures figures = {.hist = hist->field, .by = hist->by};

	if (page->groups)
		rs_cli_show_hist(&figures, page->groups, true, out);
	rs_json_begin(out);
	rs_json_text(out, "hist", hist->field);
	rs_json_text(out, "session", hist->session);
	rs_json_number(out, "values", values_of(page));
	rs_json_number(out, "lost", page->lost);
	rs_json_number(out, "span_ns", page->took_ns);
	rs_json_end(out);
}

static void append_sums(const struct hist *hist, const struct page *page, unsigned width,
			GString *out)
{
	g_autofree char *line = g_strdup_printf(
		"%s: %.1f s, %" G_GUINT64_FORMAT " record%s lost of any event", hist->session,
		(double)page->took_ns / 1e9, page->lost, rs_cli_plural(page->lost, "s"));

	rs_cli_append_line(out, line, width, hist->color, RS_COLOR_HEAD);
}

static void append_figures(const struct hist *hist, const struct page *page, unsigned width,
			   GString *out)
{
	const struct rs_cli_figures figures = {.hist = hist->field, .by = hist->by};
	g_autofree char *none =
		hist->frozen
			? g_strdup_printf("%s: no value yet; the session was frozen: ringside "
					  "ring --thaw %s",
					  hist->field, hist->session)
			: g_strdup_printf("%s: no value yet%s%s", hist->field,
					  hist->off ? "; the event was off: ringside enable " : "",
					  hist->off ? hist->event : "");

	if (page->groups)
		rs_cli_show_hist(&figures, page->groups, false, out);
	else
		rs_cli_append_line(out, none, width, false, NULL);
}

static void show(const void *data, const struct rs_cli_screen *screen, bool is_held, GString *out,
		 void *user_data)
{
	const struct hist *hist = user_data;
	const struct page *page = data;
	const unsigned width = screen ? rs_cli_screen_columns(screen) : 0;
	const unsigned height = screen ? rs_cli_screen_rows(screen) : 0;
	unsigned max = hist->rows;

	/* Besides: three lines above, the field's own, and that of the others. */
	if (screen)
		max = MIN(max ? max : G_MAXUINT, height > 6 ? height - 5 : 1);
	if (page->groups)
		rs_trace_hist_fold(page->groups, max);
	if (hist->json) {
		append_json(hist, page, out);
		return;
	}
	append_sums(hist, page, width, out);
	if (screen) {
		g_autofree char *keys =
			g_strdup_printf("q quit  space hold  c clear%s", is_held ? "   HELD" : "");

		rs_cli_append_line(out, keys, width, hist->color,
				   is_held ? RS_COLOR_INVERSE : RS_COLOR_FAINT);
		g_string_append_c(out, '\n');
	}
	append_figures(hist, page, width, out);
	/* Several groups end with an empty line already. */
	if (!screen && !page->groups)
		g_string_append_c(out, '\n');
}

static bool key(int key, void *data)
{
	struct hist *hist = data;

	if (key == 'c')
		g_atomic_int_set(&hist->clear, 1);
	return key == 'c';
}

/* ---- what was asked for ---- */

/* The part behind the last dot, of which a column is made. */
static const char *field_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* What fields there are, for who has asked for another one. */
static char *list_names(const RsTraceEvent *event)
{
	GString *names = g_string_new(NULL);

	for (guint i = 0; i < event->n_fields; i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", event->fields[i].name);
	return g_string_free(names, FALSE);
}

/* Whether one of the events has the field, or a message. */
static int check_field(GVariant *events, const struct rs_cli_fields *fields, const char *glob,
		       const char *field)
{
	const RsTraceEvent *known = NULL;
	g_autofree char *names = NULL;

	if (rs_trace_column_is_common(field))
		return RS_CLI_OK;
	for (gsize i = 0; i < g_variant_n_children(events); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(events, i);
		guint32 source = 0, id = 0;
		const RsTraceEvent *event;

		g_variant_lookup(row, "source_number", "u", &source);
		g_variant_lookup(row, "id", "u", &id);
		event = rs_cli_fields_event(fields, source, id);
		if (event && rs_trace_event_field(event, field))
			return RS_CLI_OK;
		known = event ? event : known;
	}
	/* One that cannot be read now may have it. */
	if (!known)
		return RS_CLI_OK;
	names = list_names(known);
	return rs_cli_fail(
		RS_CLI_USAGE,
		"no event that matches '%s' has a field '%s'; %s:%s has %s, and each has "
		"comm, cpu, pid, tgid, event and source",
		glob, field, known->system, known->name, *names ? names : "none");
}

static bool any_on(GVariant *events)
{
	bool any = false;

	for (gsize i = 0; i < g_variant_n_children(events); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(events, i);
		gboolean on = FALSE;

		any |= g_variant_lookup(row, "enabled", "b", &on) && on;
	}
	return any;
}

static int check(RsDBusSession1 *session, struct hist *hist)
{
	g_autoptr(rs_cli_fields) fields = NULL;
	g_autoptr(RsTraceHist) made = NULL;
	g_autoptr(GVariant) events = NULL, more = NULL;
	g_autoptr(GError) error = NULL;
	GError *failed = NULL;
	int code;

	if (!rs_dbus_session1_call_list_sync(session, hist->event, rs_trace_client_no_options(),
					     &events, &more, NULL, &failed))
		return rs_cli_fail_gerror(failed);
	if (!g_variant_n_children(events))
		return rs_cli_fail(RS_CLI_NOT_FOUND, "no event matches '%s'%s", hist->event,
				   rs_cli_suggestion(more));
	made = rs_trace_hist_new(hist->field, hist->by, &error);
	if (!made)
		return rs_cli_fail(RS_CLI_USAGE, "%s", error->message);
	fields = rs_cli_fields_read(session);
	code = check_field(events, fields, hist->event, field_of(hist->field));
	if (!code && hist->by)
		code = check_field(events, fields, hist->event, field_of(hist->by));
	hist->frozen = rs_cli_is_frozen(session);
	hist->off = !any_on(events);
	if (!code && hist->frozen)
		rs_cli_tell_frozen(hist->session);
	else if (!code && hist->off)
		rs_cli_fail(0, "no event that matches '%s' is on: ringside enable %s '%s'",
			    hist->event, hist->session, hist->event);
	return code;
}

/* ---- the verb ---- */

static int watch(RsDBusSession1 *session, const struct rs_cli_live *live, struct hist *hist)
{
	const struct rs_cli_live_config config = {
		.add = add,
		.take = take,
		.free_page = free_page,
		.show = show,
		.key = key,
		.data = hist,
	};
	int code;

	hist->session = rs_dbus_session1_get_name(session);
	code = check(session, hist);
	if (!code)
		code = rs_cli_live_run(session, live, &config);
	rs_trace_hist_free(hist->of);
	return code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_auto(RsCliLive) live = {.interval = RS_CLI_LIVE_INTERVAL};
	g_autofree char *by = NULL, *field = NULL;
	g_autoptr(RsDBusSession1) session = NULL;
	struct hist hist = {0};
	gboolean each = FALSE;
	int code, rows = -1;
	const GOptionEntry options[] = {
		{"by", 'b', 0, G_OPTION_ARG_STRING, &by, "For each value of this", "FIELD"},
		{"each", 0, 0, G_OPTION_ARG_NONE, &each,
		 "Each interval by itself, not all since the beginning", NULL},
		{"rows", 0, 0, G_OPTION_ARG_INT, &rows,
		 "So many values at most that are no amounts (40; on a terminal what fits; 0: all)",
		 "N"},
		RS_CLI_LIVE_OPTIONS(live),
		{0}};

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_live_check(verb, &live);
	if (!code && rows < -1)
		code = rs_cli_usage(verb, "--rows is a number of rows; 0: all");
	if (!code && argc < 3)
		code = rs_cli_usage(verb,
				    "which event, and which of its fields? See ringside list -v");
	if (!code)
		code = rs_cli_check_name(verb, live.name, 2, argc, argv);
	if (code)
		return code;
	session = rs_cli_connect(verb, live.name, 2, &argc, argv, &code);
	if (!session)
		return code;
	hist.event = argv[1];
	hist.field = field = g_strdup_printf("%s.%s", argv[1], argv[2]);
	hist.by = by;
	hist.rows = rows >= 0 ? (unsigned)rows : live.json ? 0 : BLOCK_ROWS;
	hist.json = live.json;
	hist.color = live.color;
	hist.each = each;
	return watch(session, &live, &hist);
}

const struct rs_verb rs_verb_hist = {
	.name = "hist",
	.args = "[NAME] EVENT FIELD",
	.summary = "show how the values of an event's field are spread",
	.details =
		"EVENT is a glob, FIELD a field of it, or one of comm, cpu, pid, tgid, event and "
		"source.\n"
		"Amounts are counted in buckets of a power of two, few different ones and all "
		"else each\n"
		"by itself. On a terminal the page is drawn anew in each interval.",
	.run = run,
};
