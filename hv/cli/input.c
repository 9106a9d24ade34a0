/* SPDX-License-Identifier: MIT */
#include "cli/input.h"

#include <rs-trace-escape.h>
#include <rs-trace-lines.h>
#include <stdio.h>

#define LOOK_EVERY 65536u /* records between two looks at the clock; a power of 2 */
#define SHOW_AFTER_US 300000

const char *const *rs_cli_input_paths(const struct rs_verb *verb, int argc, char **argv, int *code)
{
	static const char *const usual[] = {RS_CLI_TRACE, NULL};
	bool is_stdin = false;

	*code = RS_CLI_OK;
	if (argc < 2 && g_file_test(RS_CLI_TRACE, G_FILE_TEST_EXISTS))
		return usual;
	if (argc < 2)
		*code = rs_cli_usage(verb, "no file is named, and there is no %s", RS_CLI_TRACE);
	for (int i = 1; i < argc && !*code; i++) {
		if (is_stdin && g_str_equal(argv[i], "-"))
			*code = rs_cli_usage(verb, "standard input can be read only once");
		is_stdin |= g_str_equal(argv[i], "-");
	}
	return *code ? NULL : (const char *const *)argv + 1;
}

/* All files. *name: which one it is about if there is an error. */
static RsTraceReader *open_all(struct rs_cli_input *input, const char **name, GError **error)
{
	const char *const *paths = input->paths;
	g_autoptr(RsTraceReader) reader = NULL;
	guint64 done, total = 0;

	*name = *paths;
	reader = rs_trace_reader_open(*paths, input->cancellable, error);
	while (reader && *++paths) {
		*name = *paths;
		if (!rs_trace_reader_add_path(reader, *paths, input->cancellable, error))
			return NULL;
	}
	if (reader)
		rs_trace_reader_progress(reader, &done, &total);
	input->is_pipe = !total;
	return g_steal_pointer(&reader);
}

/* ---- events that must be there ---- */

void rs_cli_input_expect(struct rs_cli_input *input, const char *globs)
{
	if (!input->expected)
		input->expected = rs_trace_expected_new();
	rs_trace_expected_add(input->expected, globs);
}

void rs_cli_input_expect_pair(struct rs_cli_input *input, const char *pair)
{
	rs_cli_input_expect(input, NULL);
	rs_trace_expected_add_pair(input->expected, pair);
}

void rs_cli_input_expect_field(struct rs_cli_input *input, const char *field)
{
	rs_cli_input_expect(input, NULL);
	rs_trace_expected_add_field(input->expected, field);
}

/* Of the reader: an event is described. */
static void look_at_event(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer data)
{
	struct rs_cli_input *input = data;

	if (input->expected)
		rs_trace_expected_see(input->expected, origin->name, event);
	if (input->selection)
		rs_trace_selection_know(input->selection, origin, event);
}

int rs_cli_tell_missing(char **globs)
{
	int code = RS_CLI_OK;

	for (char **glob = globs; glob && *glob; glob++) {
		g_autofree char *clean = rs_trace_escape(*glob, -1, NULL);

		code = rs_cli_fail(RS_CLI_NOT_FOUND, "no event matches '%s'", clean);
	}
	return code;
}

static int tell_missing(struct rs_cli_input *input)
{
	g_auto(GStrv) globs = NULL;

	if (input->whole && input->expected)
		globs = rs_trace_expected_missing(input->expected);
	if (!input->missing)
		return rs_cli_tell_missing(globs);
	*input->missing = g_steal_pointer(&globs);
	return RS_CLI_OK;
}

/*
 * A file that can be sought tells its events by its index. So a field that none of them has is told
 * before any line. What is wrong with the file itself is told when it is read.
 */
static int learn(struct rs_cli_input *input, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (input->is_pipe || !input->selection ||
	    !rs_trace_selection_is_filtered(input->selection))
		return RS_CLI_OK;
	if (rs_trace_reader_seek_last(input->reader, 1, input->cancellable, NULL) &&
	    !rs_trace_selection_finish(input->selection, &why))
		return rs_cli_fail(RS_CLI_USAGE, "%s", why->message);
	rs_trace_reader_seek(input->reader, 0, input->cancellable, error);
	return RS_CLI_OK;
}

/* ---- where to begin ---- */

/* The time of the record that comes next. False: there is none, or an error. */
static bool peek(struct rs_cli_input *input, uint64_t *ns, GError **error)
{
	const RsTraceRecord *record =
		rs_trace_reader_next(input->reader, input->cancellable, error);

	if (record)
		*ns = record->sorted_ns;
	return record != NULL;
}

/* Tells the selection where the trace begins and ends, if it counts from there. */
static bool find_ends(struct rs_cli_input *input, bool *moved, GError **error)
{
	RsTraceSelection *selection = input->selection;
	g_autoptr(GError) why = NULL;
	uint64_t ns = 0;

	if (rs_trace_selection_needs_first(selection) &&
	    (input->last || rs_trace_selection_needs_last(selection))) {
		*moved = true;
		if (peek(input, &ns, &why))
			rs_trace_selection_set_first(selection, ns);
	}
	if (!why && rs_trace_selection_needs_last(selection)) {
		*moved = true;
		if (rs_trace_reader_seek_last(input->reader, 1, input->cancellable, &why) &&
		    peek(input, &ns, &why))
			rs_trace_selection_set_last(selection, ns);
	}
	if (!why)
		return true;
	if (g_error_matches(why, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED))
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
			    "a time before the end cannot be found in a pipe");
	else
		g_propagate_error(error, g_steal_pointer(&why));
	return false;
}

static bool is_wanted(struct rs_cli_input *input, const RsTraceRecord *record,
		      const RsTraceTask **task)
{
	*task = rs_trace_reader_task(input->reader);
	return !input->selection || rs_trace_selection_matches(input->selection, record, *task);
}

/*
 * Goes to where the last events begin. Of those that are wanted, nobody knows how far back that is:
 * so it looks four times as far each time, and is done when there are enough, or at the start.
 */
static bool seek_last(struct rs_cli_input *input, GError **error)
{
	uint64_t last = input->last;

	for (;; last *= 4) {
		uint64_t events = 0, wanted = 0;
		const RsTraceRecord *record;
		const RsTraceTask *task;

		if (!rs_trace_reader_seek_last(input->reader, last, input->cancellable, error))
			return false;
		if (!input->selection)
			return true;
		while ((record = rs_trace_reader_next(input->reader, input->cancellable, NULL))) {
			if (record->kind != RS_TRACE_RECORD_EVENT)
				continue;
			events++;
			wanted += is_wanted(input, record, &task);
		}
		if (wanted < input->last && events >= last && last < UINT64_MAX / 4)
			continue;
		input->skip = wanted - MIN(wanted, input->last);
		return rs_trace_reader_seek_last(input->reader, last, input->cancellable, error);
	}
}

/* What comes before the time at which the selection begins belongs to no rate. */
static void see(struct rs_cli_input *input, uint64_t ns)
{
	if (input->selection)
		ns = CLAMP(ns, rs_trace_selection_from(input->selection),
			   rs_trace_selection_until(input->selection));
	input->first_ns = input->has_span ? MIN(input->first_ns, ns) : ns;
	input->last_ns = input->has_span ? MAX(input->last_ns, ns) : ns;
	input->has_span = true;
}

static bool find_start(struct rs_cli_input *input, GError **error)
{
	bool moved = false;
	uint64_t from, first;

	if (input->selection && !find_ends(input, &moved, error))
		return false;
	if (input->last)
		return seek_last(input, error);
	from = input->selection ? rs_trace_selection_from(input->selection) : 0;
	if (!from && !moved)
		return true;
	if (!input->last && !input->is_pipe) {
		/* A trace that begins later than that has no rate before it does. */
		if (!rs_trace_reader_seek(input->reader, 0, input->cancellable, error))
			return false;
		if (peek(input, &first, error))
			see(input, first);
		else if (*error)
			return false;
	} else if (from) {
		see(input, from);
	}
	return rs_trace_reader_seek(input->reader, from, input->cancellable, error);
}

/* Of the reader: a provider has come. */
static void add_symbols(RsTraceSymbols *symbols, const struct rs_provider *entry, gpointer file)
{
	rs_trace_symbol_file_add(file, entry, symbols);
}

int rs_cli_input_open(struct rs_cli_input *input)
{
	g_autoptr(GError) error = NULL;
	const char *name = NULL;
	int code;

	input->progress = input->progress && isatty(STDERR_FILENO);
	input->reader = open_all(input, &name, &error);
	if (input->reader && input->symbols)
		rs_trace_reader_set_provider_func(input->reader, add_symbols, input->symbols);
	if (input->reader && input->no_symbols)
		rs_trace_reader_hide_symbols(input->reader);
	if (input->reader && (input->expected || input->selection))
		rs_trace_reader_set_event_func(input->reader, look_at_event, input);
	code = input->reader ? learn(input, &error) : RS_CLI_OK;
	if (input->reader && !code && !error && find_start(input, &error)) {
		input->name = g_strjoinv(", ", (char **)input->paths);
		return RS_CLI_OK;
	}
	rs_cli_input_drop(input);
	return code ? code : rs_cli_fail(RS_CLI_FAILED, "%s: %s", name, error->message);
}

/* ---- reading ---- */

static void show_progress(struct rs_cli_input *input)
{
	gint64 now = g_get_monotonic_time();
	guint64 done, total;

	if (!input->shown)
		input->shown = now;
	if (now - input->shown < SHOW_AFTER_US)
		return;
	input->shown = now;
	input->is_shown = true;
	rs_trace_reader_progress(input->reader, &done, &total);
	if (total)
		fprintf(stderr, "\r%3u %%", (unsigned)(100 * ((double)done / (double)total)));
	else
		fprintf(stderr, "\r%" G_GUINT64_FORMAT " MiB", done >> 20);
	fflush(stderr);
}

const RsTraceRecord *rs_cli_input_next(struct rs_cli_input *input, const RsTraceTask **task)
{
	const RsTraceRecord *record;
	bool wanted;

	while ((record = rs_trace_reader_next(input->reader, input->cancellable, &input->error))) {
		if (!(++input->records & (LOOK_EVERY - 1))) {
			if (input->progress)
				show_progress(input);
			if (input->selection && rs_trace_selection_is_over(input->selection))
				break;
		}
		wanted = is_wanted(input, record, task);
		/* Of the last ones, the first that is wanted begins the span. */
		if (!input->skip && (wanted || !input->last || input->has_span))
			see(input, record->sorted_ns);
		if (!wanted)
			continue;
		if (input->skip) {
			input->skip -= record->kind == RS_TRACE_RECORD_EVENT;
			continue;
		}
		return record;
	}
	if (!record && !input->error && rs_trace_lines_is_paused(input->reader))
		return NULL;
	input->whole = !record && !input->error;
	input->ended = true;
	return NULL;
}

/* ---- the end ---- */

static int tell(struct rs_cli_input *input)
{
	g_auto(GStrv) remarks = rs_trace_reader_remarks(input->reader);
	g_autoptr(GError) error = NULL;
	const RsTraceFileDamage *damage = rs_trace_reader_damage(input->reader);

	for (guint i = 0; remarks[i]; i++)
		rs_cli_fail(0, "%s", remarks[i]);
	if (input->error)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %s", input->name, input->error->message);
	/* Of a part, nobody knows whether another event has the field that was asked for. */
	if (input->selection && input->ended &&
	    !rs_trace_selection_finish(input->selection, &error))
		return rs_cli_fail(RS_CLI_USAGE, "%s", error->message);
	if (damage->gaps || rs_trace_reader_stats(input->reader)->bad_pages)
		return RS_CLI_FAILED;
	return tell_missing(input);
}

int rs_cli_input_close(struct rs_cli_input *input)
{
	int code = RS_CLI_OK;

	if (input->is_shown)
		fputs("\r\033[K", stderr);
	if (input->reader)
		code = tell(input);
	rs_cli_input_drop(input);
	return code;
}

void rs_cli_input_drop(struct rs_cli_input *input)
{
	g_clear_object(&input->reader);
	g_clear_pointer(&input->selection, rs_trace_selection_free);
	g_clear_pointer(&input->expected, rs_trace_expected_free);
	g_clear_pointer(&input->name, g_free);
	g_clear_error(&input->error);
}
