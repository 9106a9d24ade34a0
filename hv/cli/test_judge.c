/* SPDX-License-Identifier: MIT */
#include "cli/test_judge.h"

#include "cli/test_faults.h"
#include "cli/test_story.h"
#include "expect/rs-trace-verdict.h"
#include "filter/rs-trace-event-glob.h"

#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <rs-trace-escape.h>
#include <rs-trace-reader.h>
#include <string.h>

#define SERIAL_MAX ((gsize)64 << 20)
#define LAST_LINES 8u /* of the console, in the story of a crash */
#define LAST_BYTES 2048

/*
 * What a thread works on. Main and the thread have a reference each. Of `is` and of what it works
 * with, main keeps its hands off until the thread is done.
 */
struct work {
	struct rs_test_judgement is;
	struct rs_test_judge_config config;
	GCancellable *cancellable;
	struct rs_test_story *story;
};

/* ---- how it ended ---- */

struct result {
	RsTraceRunEnd end;
	char *serial, *words, *damage, *how, *text;
	bool over, killed, by_fault, agent, matched;
	uint64_t unwritten; /* bytes of the console */
	uint64_t records;   /* of the trace */
};

static char *read_part(const char *path, size_t max, bool end, size_t *size)
{
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(GFileInputStream) in = g_file_read(file, NULL, NULL);
	g_autoptr(GFileInfo) info = NULL;
	g_autofree char *text = NULL;
	size_t whole;

	if (in)
		info = g_file_input_stream_query_info(in, G_FILE_ATTRIBUTE_STANDARD_SIZE, NULL,
						      NULL);
	if (!info)
		return NULL;
	whole = (size_t)g_file_info_get_size(info);
	max = MIN(max, whole);
	text = g_malloc0(max + 1);
	if (end && !g_seekable_seek(G_SEEKABLE(in), (goffset)(whole - max), G_SEEK_SET, NULL, NULL))
		return NULL;
	if (!g_input_stream_read_all(G_INPUT_STREAM(in), text, max, size, NULL, NULL))
		return NULL;
	return g_steal_pointer(&text);
}

char *rs_test_read(const char *path, size_t max, size_t *size)
{
	return read_part(path, max, false, size);
}

char *rs_test_read_end(const char *path, size_t max, size_t *size)
{
	return read_part(path, max, true, size);
}

static void read_serial(const struct work *work, struct result *r)
{
	r->serial = rs_test_read(work->config.serial, SERIAL_MAX, &r->end.serial_size);
	r->end.serial = r->serial;
	r->end.serial_cut = r->serial && (r->end.serial_size >= SERIAL_MAX || r->unwritten);
}

/* It is our own file, so what is missing in it is a fault of the run. */
static bool read_result(const struct work *work, struct result *r, GError **error)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	const char *how, *text;
	JsonObject *o;

	if (!json_parser_load_from_file(parser, work->config.result, error))
		return false;
	o = json_node_get_object(json_parser_get_root(parser));
	how = json_object_get_string_member_with_default(o, "end", NULL);
	text = json_object_get_string_member_with_default(o, "text", NULL);
	r->over = json_object_get_boolean_member_with_default(o, "over", FALSE);
	r->killed = !how || g_str_equal(how, "killed");
	r->agent = json_object_get_boolean_member_with_default(o, "agent", FALSE);
	r->matched = json_object_get_boolean_member_with_default(o, "matched", FALSE);
	r->end.exited = how && g_str_equal(how, "exit");
	/* So are the other CPUs of one that ends badly. */
	r->end.stopped = r->over || !r->end.exited;
	r->end.how = r->how = g_strdup(how);
	r->end.text = r->text = g_strdup(text);
	r->end.lost = (guint64)json_object_get_int_member_with_default(o, "lost_no_ring", 0) +
		      (guint64)json_object_get_int_member_with_default(o, "lost_nested", 0);
	r->unwritten = (guint64)json_object_get_int_member_with_default(o, "console_unread", 0);
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

	if (*remarks)
		r->damage = g_strjoinv("; ", remarks);
	else if (r->unwritten)
		r->damage = g_strdup_printf("%" G_GUINT64_FORMAT
					    " bytes of its console could not be written",
					    r->unwritten);
	r->end.damage = r->damage;
}

static bool read_trace(const struct work *work, RsTraceVerdict *verdict, struct result *r,
		       GError **error)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(work->config.trace, NULL, error);
	g_autoptr(GPtrArray) enabled = globs_of(work->config.enabled, work->config.has_faults);
	struct knowing knowing = {.verdict = verdict, .enabled = enabled};
	const RsTraceRecord *record;
	GError *why = NULL;

	if (!reader)
		return false;
	rs_trace_reader_set_event_func(reader, know, &knowing);
	while ((record = rs_trace_reader_next(reader, work->cancellable, &why))) {
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

static void tell_finding(struct work *work, const RsTraceFinding *f)
{
	GString *text = rs_test_story_text(work->story);

	g_string_append_printf(text, "expect %s: %s\n", f->name, f->why);
	if (f->record == RS_TRACE_VERDICT_NONE)
		return;
	if (f->nearest)
		g_string_append(text, "nearest to it:\n");
	rs_test_story_show(work->story, f->record);
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
static void tell_end(struct work *work, const struct result *r)
{
	if (r->records) {
		g_string_append(rs_test_story_text(work->story), "its last records:\n");
		rs_test_story_show(work->story, r->records - 1);
	}
	show_console(r, rs_test_story_text(work->story));
}

/* ---- the verdict ---- */

static enum rs_test_verdict sum_up(struct work *work)
{
	const RsTraceFinding *worst = NULL;
	guint n = 0;

	for (guint i = 0; i < work->is.found->len; i++) {
		const RsTraceFinding *f = work->is.found->pdata[i];
		struct rs_test_check check = {.name = f->name,
					      .line = f->line,
					      .passed = f->kind == RS_TRACE_FINDING_MET,
					      .why = f->why};

		g_array_append_val(work->is.checks, check);
		if (check.passed)
			continue;
		n++;
		if (!worst || f->kind > worst->kind)
			worst = f;
		tell_finding(work, f);
	}
	if (!worst)
		return RS_TEST_PASSED;
	work->is.line = worst->line;
	work->is.why =
		n > 1 ? g_strdup_printf("%s: %s (and %u more)", worst->name, worst->why, n - 1)
		      : g_strdup_printf("%s: %s", worst->name, worst->why);
	return worst->kind == RS_TRACE_FINDING_BROKEN ? RS_TEST_BROKEN : RS_TEST_FAILED;
}

/* A crash, and a hang, fail a test that does not speak of the end. */
static bool ended_badly(struct work *work, const struct result *r)
{
	bool exit = false, bad = false;

	for (guint i = 0; i < work->config.expectations->len; i++) {
		const RsTraceExpectation *e = work->config.expectations->pdata[i];

		exit |= e->kind == RS_TRACE_EXPECT_EXIT;
		bad |= e->kind == RS_TRACE_EXPECT_END;
	}
	/* One that panics while it is being stopped has panicked. */
	if ((r->over && r->killed && work->config.may_go_on) ||
	    (r->by_fault && work->config.may_be_killed))
		return false;
	if (r->over && r->killed)
		work->is.why = g_strdup_printf("it did not end within %.3g s",
					       (double)work->config.timeout_ns / 1e9);
	else if (bad)
		return false;
	else if (!r->end.exited)
		work->is.why = g_strdup_printf("the guest did not end by itself: %s", r->end.end);
	else if (!exit && r->end.code)
		work->is.why = g_strdup_printf("the guest ended with code %u", r->end.code);
	return work->is.why != NULL;
}

/*
 * What was asked for could not be traced. A guest that has not come so far is to blame itself. Of
 * one that was well nobody knows what it did, or the spec asks for events that it does not have.
 */
static enum rs_test_verdict judge_untraced(struct work *work, const struct result *r)
{
	const char *what = r->agent ? "" : "; its agent never reported";
	g_autofree char *badly = NULL;

	if (!ended_badly(work, r))
		return r->agent ? RS_TEST_BROKEN : RS_TEST_NOT_RUN;
	badly = work->is.why;
	work->is.why = g_strconcat(badly, what, NULL);
	tell_end(work, r);
	return RS_TEST_FAILED;
}

/* The trace is read. */
static enum rs_test_verdict judge_trace(struct work *work, RsTraceVerdict *verdict,
					struct result *r)
{
	enum rs_test_verdict is;
	g_autofree char *what = NULL;

	work->is.found = rs_trace_verdict_finish(verdict, &r->end);
	is = sum_up(work);
	/* What is wrong with the spec comes first, then how the guest ended. */
	if (is == RS_TEST_BROKEN)
		return is;
	what = g_steal_pointer(&work->is.why);
	if (ended_badly(work, r)) {
		tell_end(work, r);
		return RS_TEST_FAILED;
	}
	work->is.why = g_steal_pointer(&what);
	return is;
}

static void judge(struct work *work)
{
	g_autoptr(RsTraceVerdict) verdict =
		rs_trace_verdict_new(work->config.expectations, work->config.may_lose);
	g_autoptr(GError) error = NULL;
	struct result r = {0};

	work->is.verdict = RS_TEST_NOT_RUN;
	if (read_result(work, &r, &error))
		read_serial(work, &r);
	if (error)
		work->is.why = g_strdup(error->message);
	else if (!r.agent || !r.matched)
		work->is.verdict = judge_untraced(work, &r);
	else if (!read_trace(work, verdict, &r, &error))
		work->is.why = g_strdup(error->message);
	else
		work->is.verdict = judge_trace(work, verdict, &r);
	g_free(r.serial);
	g_free(r.words);
	g_free(r.how);
	g_free(r.text);
	g_free(r.damage);
}

/* ---- the thread ---- */

static void work_clear(void *data)
{
	struct work *work = data;

	g_ptr_array_unref(work->config.expectations);
	g_strfreev(work->config.enabled);
	g_free((char *)work->config.trace);
	g_free((char *)work->config.result);
	g_free((char *)work->config.serial);
	g_object_unref(work->cancellable);
	rs_test_story_free(work->story);
	g_free(work->is.why);
	g_free(work->is.story);
	g_array_unref(work->is.checks);
	g_clear_pointer(&work->is.found, g_ptr_array_unref);
}

static void work_unref(gpointer work)
{
	g_atomic_rc_box_release_full(work, work_clear);
}

static void run_work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct work *work = data;

	judge(work);
	work->is.story = rs_test_story_tell(work->story, work->config.trace, cancellable);
	if (!*work->is.story)
		g_clear_pointer(&work->is.story, g_free);
	g_task_return_boolean(task, TRUE);
}

/* In main. Who has let it go does not want to know. */
static void on_done(GObject *source, GAsyncResult *result, gpointer data)
{
	struct work *work = data;

	if (!g_cancellable_is_cancelled(work->cancellable))
		work->config.done(work->config.data);
	work_unref(work);
}

struct rs_test_judgement *rs_test_judge(const struct rs_test_judge_config *config)
{
	struct work *work = g_atomic_rc_box_new0(struct work);
	g_autoptr(GTask) task = NULL;

	work->config = *config;
	g_ptr_array_ref(work->config.expectations);
	work->config.enabled = g_strdupv(config->enabled);
	work->config.trace = g_strdup(config->trace);
	work->config.result = g_strdup(config->result);
	work->config.serial = g_strdup(config->serial);
	work->cancellable = g_cancellable_new();
	work->story = rs_test_story_new();
	work->is.checks = g_array_new(FALSE, TRUE, sizeof(struct rs_test_check));
	task = g_task_new(NULL, work->cancellable, on_done, g_atomic_rc_box_acquire(work));
	g_task_set_task_data(task, g_atomic_rc_box_acquire(work), work_unref);
	g_task_run_in_thread(task, run_work);
	return &work->is;
}

void rs_test_judgement_free(struct rs_test_judgement *judgement)
{
	struct work *work = (struct work *)(void *)judgement;

	if (!work)
		return;
	g_cancellable_cancel(work->cancellable);
	work_unref(work);
}
