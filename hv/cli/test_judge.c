/* SPDX-License-Identifier: MIT */
#include "cli/test_judge.h"

#include "cli/test_faults.h"
#include "expect/rs-trace-verdict.h"
#include "filter/rs-trace-event-glob.h"

#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <rs-trace-escape.h>
#include <rs-trace-reader.h>
#include <rs-trace-text.h>
#include <string.h>

#define SERIAL_MAX ((gsize)64 << 20)
#define BEFORE 4u /* records of a story before that which it is about */
#define AFTER 3u
#define LAST_LINES 8u /* of the console, in the story of a crash */
#define LAST_BYTES 2048
#define STORY_MAX 65536u /* bytes */

/* ---- how it ended ---- */

struct result {
	RsTraceRunEnd end;
	char *serial, *words, *damage;
	bool over, killed, by_fault, agent, matched;
	uint64_t records; /* of the trace */
};

char *rs_test_read(const char *path, size_t max, size_t *size)
{
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(GFileInputStream) in = g_file_read(file, NULL, NULL);
	g_autoptr(GFileInfo) info = NULL;
	g_autofree char *text = NULL;

	if (in)
		info = g_file_input_stream_query_info(in, G_FILE_ATTRIBUTE_STANDARD_SIZE, NULL,
						      NULL);
	if (!info)
		return NULL;
	max = MIN(max, (size_t)g_file_info_get_size(info));
	text = g_malloc0(max + 1);
	if (!g_input_stream_read_all(G_INPUT_STREAM(in), text, max, size, NULL, NULL))
		return NULL;
	return g_steal_pointer(&text);
}

static void read_serial(const struct rs_test_judge *judge, struct result *r)
{
	r->serial = rs_test_read(judge->serial, SERIAL_MAX, &r->end.serial_size);
	r->end.serial = r->serial;
	r->end.serial_cut = r->serial && r->end.serial_size >= SERIAL_MAX;
}

/* It is our own file, so what is missing in it is a fault of the run. */
static bool read_result(const struct rs_test_judge *judge, struct result *r, GError **error)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	const char *how, *text;
	JsonObject *o;

	if (!json_parser_load_from_file(parser, judge->result, error))
		return false;
	o = json_node_get_object(json_parser_get_root(parser));
	how = json_object_get_string_member_with_default(o, "end", NULL);
	text = json_object_get_string_member_with_default(o, "text", NULL);
	r->over = json_object_get_boolean_member_with_default(o, "over", FALSE);
	r->killed = !how || g_str_equal(how, "killed");
	r->agent = json_object_get_boolean_member_with_default(o, "agent", FALSE);
	r->matched = json_object_get_boolean_member_with_default(o, "matched", FALSE);
	r->end.exited = how && g_str_equal(how, "exit");
	r->end.stopped = r->over;
	r->end.until_ns = (guint64)json_object_get_int_member_with_default(o, "until_ns", 0);
	r->by_fault = rs_test_faults_killed(how, text);
	r->end.code = (guint)json_object_get_int_member_with_default(o, "code", 0);
	r->words = g_strdup_printf("%s%s%s", how ? how : "it goes on", text ? ": " : "",
				   text ? text : "");
	r->end.end = r->words;
	return true;
}

/* ---- its trace ---- */

/* What the guest could tell. */
struct knowing {
	RsTraceVerdict *verdict;
	GPtrArray *enabled; /* of RsTraceEventGlob */
};

/* An event that is off never happens, so an expectation of it is a mistake. */
static void know(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer data)
{
	const struct knowing *knowing = data;
	bool enabled = false;

	for (guint i = 0; i < knowing->enabled->len; i++)
		enabled |= rs_trace_event_glob_matches(knowing->enabled->pdata[i], origin->name,
						       event);
	if (enabled)
		rs_trace_verdict_know(knowing->verdict, origin, event);
}

static GPtrArray *globs_of(char **texts, bool faults)
{
	GPtrArray *globs = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_event_glob_free);

	for (char **text = texts; text && *text; text++) {
		RsTraceEventGlob *glob = rs_trace_event_glob_new(*text, NULL);

		if (glob)
			g_ptr_array_add(globs, glob);
	}
	if (faults)
		g_ptr_array_add(globs, rs_trace_event_glob_new("host:fault", NULL));
	return globs;
}

/* Records that cannot be trusted, or that are missing without a count. */
static void take_damage(RsTraceReader *reader, struct result *r)
{
	g_auto(GStrv) remarks = rs_trace_reader_remarks(reader);

	if (!*remarks)
		return;
	r->damage = g_strjoinv("; ", remarks);
	r->end.damage = r->damage;
}

static bool read_trace(const struct rs_test_judge *judge, RsTraceVerdict *verdict, struct result *r,
		       GError **error)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(judge->trace, NULL, error);
	g_autoptr(GPtrArray) enabled = globs_of(judge->enabled, judge->has_faults);
	struct knowing knowing = {.verdict = verdict, .enabled = enabled};
	const RsTraceRecord *record;
	GError *why = NULL;

	if (!reader)
		return false;
	rs_trace_reader_set_event_func(reader, know, &knowing);
	while ((record = rs_trace_reader_next(reader, NULL, &why))) {
		const RsTraceSample sample = {
			.record = record,
			.task = rs_trace_reader_task(reader),
			.source = record->origin->name ? record->origin->name : "",
			.source_index = record->origin->index,
		};

		rs_trace_verdict_add(verdict, &sample);
		r->records++;
	}
	if (why)
		g_propagate_error(error, why);
	else
		take_damage(reader, r);
	return !why;
}

/* ---- the story ---- */

/* The records around that number, with a mark before it. */
static void show_records(const struct rs_test_judge *judge, guint64 number, GString *out)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(judge->trace, NULL, NULL);
	const RsTraceRecord *record;
	g_autoptr(GString) line = g_string_new(NULL);

	for (guint64 at = 0; reader && out->len < STORY_MAX && at <= number + AFTER &&
			     (record = rs_trace_reader_next(reader, NULL, NULL));
	     at++) {
		if (at + BEFORE < number)
			continue;
		g_string_truncate(line, 0);
		rs_trace_text_line(line, record, rs_trace_reader_task(reader), RS_TRACE_TEXT_NONE);
		g_string_append_printf(out, "%s %s", at == number ? "→" : " ", line->str);
	}
}

static void tell_finding(struct rs_test_judge *judge, const RsTraceFinding *f, GString *out)
{
	g_string_append_printf(out, "expect %s: %s\n", f->name, f->why);
	if (f->record == RS_TRACE_VERDICT_NONE)
		return;
	if (f->nearest)
		g_string_append(out, "nearest to it:\n");
	show_records(judge, f->record, out);
}

/* The last lines of the guest's console. */
static void show_console(const struct result *r, GString *out)
{
	const char *text = r->serial, *end = text ? text + r->end.serial_size : NULL, *from = end;
	unsigned int lines = 0;

	while (from > text && lines <= LAST_LINES && end - from < LAST_BYTES)
		lines += *--from == '\n';
	if (from == end)
		return;
	g_string_append(out, "the end of its console:\n");
	rs_trace_append_escaped(out, from, (gsize)(end - from), "\n\t");
	if (end[-1] != '\n')
		g_string_append_c(out, '\n');
}

/* What a guest did last that did not end well. */
static void tell_end(struct rs_test_judge *judge, const struct result *r)
{
	g_autoptr(GString) out = g_string_new(judge->story);

	if (r->records) {
		g_string_append(out, "its last records:\n");
		show_records(judge, r->records - 1, out);
	}
	show_console(r, out);
	g_free(judge->story);
	judge->story = g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- the verdict ---- */

static enum rs_test_verdict sum_up(struct rs_test_judge *judge, GArray *checks)
{
	g_autoptr(GString) story = g_string_new(NULL);
	const RsTraceFinding *worst = NULL;
	guint n = 0;

	for (guint i = 0; i < judge->found->len; i++) {
		const RsTraceFinding *f = judge->found->pdata[i];
		struct rs_test_check check = {.name = f->name,
					      .line = f->line,
					      .passed = f->kind == RS_TRACE_FINDING_MET,
					      .why = f->why};

		g_array_append_val(checks, check);
		if (check.passed)
			continue;
		n++;
		if (!worst || f->kind > worst->kind)
			worst = f;
		tell_finding(judge, f, story);
	}
	if (!worst)
		return RS_TEST_PASSED;
	judge->story = g_string_free(g_steal_pointer(&story), FALSE);
	judge->line = worst->line;
	judge->why = n > 1 ? g_strdup_printf("%s: %s (and %u more)", worst->name, worst->why, n - 1)
			   : g_strdup_printf("%s: %s", worst->name, worst->why);
	return worst->kind == RS_TRACE_FINDING_BROKEN ? RS_TEST_BROKEN : RS_TEST_FAILED;
}

/* A crash, and a hang, fail a test that does not speak of the end. */
static bool ended_badly(struct rs_test_judge *judge, const struct result *r)
{
	bool speaks = false;

	for (guint i = 0; i < judge->expectations->len; i++) {
		const RsTraceExpectation *e = judge->expectations->pdata[i];

		speaks |= e->kind == RS_TRACE_EXPECT_EXIT;
	}
	/* One that panics while it is being stopped has panicked. */
	if ((r->over && r->killed && judge->may_go_on) || (r->by_fault && judge->may_be_killed))
		return false;
	if (r->over && r->killed)
		judge->why = g_strdup_printf("it did not end within %.3g s",
					     (double)judge->timeout_ns / 1e9);
	else if (!r->end.exited)
		judge->why = g_strdup_printf("the guest did not end by itself: %s", r->end.end);
	else if (!speaks && r->end.code)
		judge->why = g_strdup_printf("the guest ended with code %u", r->end.code);
	return judge->why != NULL;
}

/*
 * What was asked for could not be traced. A guest that has not come so far is to blame itself. Of
 * one that was well nobody knows what it did, or the spec asks for events that it does not have.
 */
static enum rs_test_verdict judge_untraced(struct rs_test_judge *judge, const struct result *r)
{
	const char *what = r->agent ? "" : "; its agent never reported";
	g_autofree char *badly = NULL;

	if (!ended_badly(judge, r))
		return r->agent ? RS_TEST_BROKEN : RS_TEST_NOT_RUN;
	badly = judge->why;
	judge->why = g_strconcat(badly, what, NULL);
	tell_end(judge, r);
	return RS_TEST_FAILED;
}

enum rs_test_verdict rs_test_judge(struct rs_test_judge *judge, GArray *checks)
{
	g_autoptr(RsTraceVerdict) verdict =
		rs_trace_verdict_new(judge->expectations, judge->may_lose);
	enum rs_test_verdict is = RS_TEST_NOT_RUN;
	struct result r = {0};
	GError *error = NULL;
	char *badly;

	read_serial(judge, &r);
	if (!read_result(judge, &r, &error)) {
		judge->why = g_strdup(error->message);
		g_error_free(error);
	} else if (!r.agent || !r.matched) {
		is = judge_untraced(judge, &r);
	} else if (!read_trace(judge, verdict, &r, &error)) {
		judge->why = g_strdup(error->message);
		g_error_free(error);
	} else {
		judge->found = rs_trace_verdict_finish(verdict, &r.end);
		is = sum_up(judge, checks);
		badly = g_steal_pointer(&judge->why);
		/* What is wrong with the spec comes first, then how the guest ended. */
		if (is == RS_TEST_BROKEN || !ended_badly(judge, &r)) {
			g_free(judge->why);
			judge->why = badly;
		} else {
			is = RS_TEST_FAILED;
			g_free(badly);
			tell_end(judge, &r);
		}
	}
	g_free(r.serial);
	g_free(r.words);
	g_free(r.damage);
	return is;
}
