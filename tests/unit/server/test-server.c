/* SPDX-License-Identifier: MIT */
/*
 * Server and clients on a private socket, each in a thread of its own as if they were two
 * processes.
 */
#include "server/server.h"
#include "session/triggers.h"

#include <rs-trace-client.h>
#include <rs-trace-session-error.h>
#include <rs-trace-sites.h>
#include <rs-trace-watch.h>
#include "sham.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <ringside/record.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const sched[] = {"switch", "wakeup", NULL};

struct host {
	char *path;
	struct sham *sham, *other; /* NULL: there is no other */
	struct rs_session *session;
	struct rs_server *server;
	void (*body)(struct host *host);
	gint at; /* atomic; of test_turns() */
};

static void set_up(struct host *host, gconstpointer data)
{
	g_autofree char *dir = g_dir_make_tmp("server-XXXXXX", NULL);
	struct rs_source_config config = {.kernel = "k"};
	struct rs_error err = {0};

	host->path = g_build_filename(dir, "s p=a,c.sock", NULL);
	host->sham = sham_new(2, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_create("t", &host->session, &err), ==, 0);
	g_assert_cmpint(rs_session_add_source(host->session, &config, host->sham->region,
					      &host->sham->target, NULL, &err),
			==, 0);
	g_assert_cmpint(rs_server_create(host->session, host->path, &host->server, &err), ==, 0);
	g_assert_cmpint(rs_session_start(host->session, &err), ==, 0);
	sham_hello(host->sham, RS_GUEST_SELF_PATCH);
	sham_provider(host->sham, "sched", sched);
	rs_session_refresh(host->session);
}

/* With another guest, which has text and cannot be stopped. */
static void set_up_other(struct host *host, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "other"};
	static struct rs_target_ops program;

	set_up(host, data);
	host->other = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 64);
	host->other->unstoppable = true;
	program = *host->other->target.ops;
	program.is_program = program.native = true;
	host->other->target.ops = &program;
	g_assert_cmpint(rs_session_add_source(host->session, &config, host->other->region,
					      &host->other->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(host->session, NULL), ==, 0);
	sham_hello(host->other, 0);
	sham_provider(host->other, "sched", sched);
	rs_session_refresh(host->session);
}

#define SITES 50000u

/* The other guest can be stopped, and one of its events has very many sites. */
static void set_up_bulk(struct host *host, gconstpointer data)
{
	struct rs_source_stat stat;

	set_up_other(host, data);
	host->other->unstoppable = false;
	sham_bulk(host->other, "bulk", "many", SITES);
	do {
		rs_session_refresh(host->session);
		rs_session_stat(host->session, &stat);
	} while (stat.sites < SITES);
}

#define MANY 150u
#define LONG_NAME                                                                                  \
	"an_event_with_a_name_that_is_rather_long_so_that_its_format_is_too_"                      \
	"and_the_answer_has_to_come_in_parts_"

static void set_up_many(struct host *host, gconstpointer data)
{
	char *names[MANY + 1] = {NULL};

	set_up(host, data);
	for (guint i = 0; i < MANY; i++)
		names[i] = g_strdup_printf(LONG_NAME "%u", i);
	sham_provider(host->sham, "many", (const char *const *)names);
	rs_session_refresh(host->session);
	for (guint i = 0; i < MANY; i++)
		g_free(names[i]);
}

static void tear_down(struct host *host, gconstpointer data)
{
	g_autofree char *dir = g_path_get_dirname(host->path);

	rs_server_destroy(host->server);
	rs_session_destroy(host->session);
	sham_free(host->sham);
	if (host->other)
		sham_free(host->other);
	g_assert_false(g_file_test(host->path, G_FILE_TEST_EXISTS));
	g_rmdir(dir);
	g_free(host->path);
}

/* The clients' side of a test, in a thread and main context of its own. */
static gpointer run_body(gpointer data)
{
	struct host *host = data;
	g_autoptr(GMainContext) context = g_main_context_new();

	g_main_context_push_thread_default(context);
	host->body(host);
	/* GDBus lets go of a proxy's signals from here. */
	while (g_main_context_iteration(context, FALSE))
		;
	g_main_context_pop_thread_default(context);
	return NULL;
}

static gpointer run_and_tell(gpointer data)
{
	gpointer *pair = data;

	run_body(pair[0]);
	g_main_loop_quit(pair[1]);
	return NULL;
}

static void run_test(struct host *host, gconstpointer data)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	gpointer pair[2] = {host, loop};
	GThread *thread;

	host->body = *(void (*const *)(struct host *))data;
	thread = g_thread_new("clients", run_and_tell, pair);
	g_main_loop_run(loop);
	g_thread_join(thread);
	g_main_loop_unref(loop);
}

static RsDBusSession1 *connect_to(struct host *host)
{
	RsDBusSession1 *client = rs_trace_client_connect_path(host->path, NULL);

	g_assert_nonnull(client);
	return client;
}

/* One part; `after` is that of the next one. */
static char *format_part(RsDBusSession1 *client, guint64 *after)
{
	g_autoptr(GVariant) more = NULL;
	GVariantBuilder options;
	char *text = NULL;

	g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
	if (*after)
		g_variant_builder_add(&options, "{sv}", "after", g_variant_new_uint64(*after));
	g_assert_true(rs_dbus_session1_call_format_sync(
		client, "*", g_variant_builder_end(&options), &text, &more, NULL, NULL));
	*after = 0;
	g_variant_lookup(more, "next", "t", after);
	return text;
}

/* Much that guests describe comes in parts, which together are all of it. */
static void test_format_parts(struct host *host)
{
	g_autoptr(RsDBusSession1) client = connect_to(host);
	g_autoptr(GString) all = g_string_new(NULL);
	g_auto(GStrv) names = NULL;
	guint64 after = 0;
	guint parts = 0;

	do {
		g_autofree char *text = format_part(client, &after);

		g_assert_cmpuint(strlen(text), <, 2 * 65536);
		g_string_append(all, text);
		parts++;
	} while (after);
	g_assert_cmpuint(parts, >, 1);
	g_assert_cmpuint(parts, <, 10);
	names = g_strsplit(all->str, "\nname: ", -1);
	g_assert_cmpuint(g_strv_length(names), ==, 2 + MANY);
	for (guint i = 0; i < MANY; i++) {
		g_autofree char *want = g_strdup_printf(LONG_NAME "%u\nID: ", i);

		g_assert_true(g_str_has_prefix(names[2 + i], want));
	}
}

static void test_control(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) events = NULL, row = NULL, totals = NULL, cpus = NULL;
	g_auto(GStrv) problems = NULL;
	g_autofree char *format = NULL;
	GError *error = NULL;
	const char *system, *name, *filter;
	gboolean on, pending;
	guint64 value;
	guint touched, id;

	g_assert_cmpstr(rs_dbus_session1_get_name(c), ==, "t");
	g_assert_cmpstr(rs_dbus_session1_get_state(c), ==, "running");
	g_assert_true(rs_dbus_session1_call_enable_sync(c, "sched:switch",
							rs_trace_client_no_options(), &touched,
							&pending, &problems, NULL, NULL, NULL));
	g_assert_cmpuint(touched, ==, 1);
	g_assert_true(rs_dbus_session1_call_set_filter_sync(c, "sched:switch", "a > 2",
							    rs_trace_client_no_options(), &touched,
							    &pending, NULL, NULL, NULL, NULL));
	g_assert_true(rs_dbus_session1_call_list_sync(c, "", rs_trace_client_no_options(), &events,
						      NULL, NULL, NULL));
	g_assert_cmpuint(g_variant_n_children(events), ==, 2);
	row = g_variant_get_child_value(events, 0);
	g_assert_true(g_variant_lookup(row, "source_number", "u", &id));
	g_assert_cmpuint(id, ==, 1);
	g_assert_true(g_variant_lookup(row, "id", "u", &id));
	g_assert_true(g_variant_lookup(row, "system", "&s", &system));
	g_assert_true(g_variant_lookup(row, "name", "&s", &name));
	g_assert_true(g_variant_lookup(row, "enabled", "b", &on));
	g_assert_true(g_variant_lookup(row, "filter", "&s", &filter));
	g_assert_false(g_variant_lookup(row, "note", "&s", NULL));
	g_assert_cmpuint(id, ==, RS_FIRST_EVENT_ID);
	g_assert_cmpstr(system, ==, "sched");
	g_assert_cmpstr(name, ==, "switch");
	g_assert_true(on);
	g_assert_cmpstr(filter, ==, "a > 2");
	g_assert_true(rs_dbus_session1_call_format_sync(
		c, "sched:switch", rs_trace_client_no_options(), &format, NULL, NULL, NULL));
	g_assert_nonnull(strstr(format, "name: switch"));
	g_assert_true(rs_dbus_session1_call_stat_sync(c, rs_trace_client_no_options(), &totals,
						      &cpus, NULL, NULL));
	g_assert_true(g_variant_lookup(totals, "events_enabled", "t", &value));
	g_assert_cmpuint(value, ==, 1);
	g_assert_cmpuint(g_variant_n_children(cpus), ==, 2);
	/* What only a source has is not told of the session. */
	g_assert_false(g_variant_lookup(totals, "kind", "&s", NULL));
	g_assert_false(g_variant_lookup(totals, "clock_hz", "t", NULL));

	g_assert_false(rs_dbus_session1_call_disable_sync(
		c, "nix", rs_trace_client_no_options(), &touched, NULL, NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT);
	g_clear_error(&error);
	g_assert_false(rs_dbus_session1_call_set_filter_sync(c, "sched:*", "a >",
							     rs_trace_client_no_options(), &touched,
							     &pending, NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_FILTER);
	rs_trace_client_fix_error(&error);
	g_assert_nonnull(strstr(error->message, "^"));
	g_assert_false(g_str_has_prefix(error->message, "GDBus"));
	g_clear_error(&error);
}

static void test_claim(struct host *host)
{
	g_autoptr(RsDBusSession1) a = connect_to(host);
	RsDBusSession1 *b = connect_to(host);
	GError *error = NULL;
	guint touched;

	g_assert_true(rs_dbus_session1_call_claim_sync(b, rs_trace_client_no_options(), NULL, NULL,
						       NULL));
	g_assert_false(rs_dbus_session1_call_disable_sync(
		a, "*", rs_trace_client_no_options(), &touched, NULL, NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BUSY);
	g_dbus_error_strip_remote_error(error);
	g_assert_cmpstr(error->message, ==, "another command is changing the session: try again");
	g_clear_error(&error);
	/* Looking on is always allowed. */
	{
		g_autoptr(GVariant) events = NULL;

		g_assert_true(rs_dbus_session1_call_list_sync(a, "", rs_trace_client_no_options(),
							      &events, NULL, NULL, NULL));
	}
	g_assert_true(rs_dbus_session1_call_disable_sync(b, "*", rs_trace_client_no_options(),
							 &touched, NULL, NULL, NULL, NULL, NULL));
	/* The claim ends when the controller dies. */
	g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(b)), NULL, NULL);
	g_object_unref(b);
	for (int i = 0; i < 500; i++) {
		if (rs_dbus_session1_call_disable_sync(a, "*", rs_trace_client_no_options(),
						       &touched, NULL, NULL, NULL, NULL, NULL))
			return;
		g_usleep(10000);
	}
	g_assert_not_reached();
}

static void test_region_is_read_only(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	RsTraceRegion *region = rs_trace_client_open_region(c, 0, NULL);

	g_assert_nonnull(region);
	g_assert_cmpuint(region->header.ring_count, ==, 2);
	g_assert_cmpuint(region->header.session_id, ==, host->sham->region->header.session_id);
	g_assert_cmpint(fcntl(region->fd, F_GETFL) & O_ACCMODE, ==, O_RDONLY);
	g_assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd, 0) ==
		      MAP_FAILED);
	g_assert_cmpint(ftruncate(region->fd, 0), ==, -1);
	rs_trace_region_free(region);
}

static guint number_of(GVariant *row, const char *key)
{
	guint value;

	g_assert_true(g_variant_lookup(row, key, "u", &value));
	return value;
}

static void on_ended(RsDBusSession1 *c, const char *reason, int code, const char *text,
		     GVariant *more, gpointer data)
{
	g_assert_cmpstr(reason, ==, "killed");
	g_assert_cmpstr(text, ==, "enough");
	g_assert_true(g_variant_lookup(more, "source", "&s", &text));
	g_assert_cmpstr(text, ==, "k");
	g_assert_cmpuint(number_of(more, "source_number"), ==, 1);
	*(bool *)data = true;
}

static void on_state(RsDBusSession1 *session, guint generation, GVariant *more, gpointer data)
{
	const char *state = "";

	g_assert_true(g_variant_lookup(more, "state", "&s", &state));
	if (g_str_equal(state, "paused"))
		*(bool *)data = true;
}

/* D-Bus's own signal would pile up for a peer that does not read. */
static void on_property(GDBusProxy *proxy, GVariant *changed, GStrv invalidated, gpointer data)
{
	g_assert_not_reached();
}

/* Changed says the state. */
static void test_state(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	bool paused = false;

	g_signal_connect(c, "changed", G_CALLBACK(on_state), &paused);
	g_signal_connect(c, "g-properties-changed", G_CALLBACK(on_property), NULL);
	for (guint i = 0; i < 20; i++) {
		g_assert_true(rs_dbus_session1_call_pause_sync(c, rs_trace_client_no_options(),
							       NULL, NULL, NULL));
		if (i == 0)
			sham_wait(&paused);
		g_assert_true(rs_dbus_session1_call_resume_sync(c, rs_trace_client_no_options(),
								NULL, NULL, NULL));
	}
}

static void test_stop(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	bool ended = false;
	guint touched;
	GError *error = NULL;

	g_signal_connect(c, "ended", G_CALLBACK(on_ended), &ended);
	g_assert_true(rs_dbus_session1_call_pause_sync(c, rs_trace_client_no_options(), NULL, NULL,
						       NULL));
	g_assert_true(rs_dbus_session1_call_resume_sync(c, rs_trace_client_no_options(), NULL, NULL,
							NULL));
	g_assert_true(rs_dbus_session1_call_stop_sync(c, "enough", rs_trace_client_no_options(),
						      NULL, NULL, NULL));
	sham_wait(&ended);
	g_assert_false(rs_dbus_session1_call_disable_sync(
		c, "*", rs_trace_client_no_options(), &touched, NULL, NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_ENDED);
	g_clear_error(&error);
}

struct watched {
	guint come, gone, several;
	guint32 last; /* number of the newest source */
	RsTraceFrom from;
	bool there, over;
	char *reason;
};

static gint on_come(const RsTraceClientSource *source, RsTraceRegion *region, RsTraceFrom from,
		    gpointer data)
{
	struct watched *watched = data;

	rs_trace_region_free(region);
	watched->come++;
	watched->last = source->number;
	watched->from = from;
	watched->there = true;
	return (gint)source->number;
}

static void on_gone(gint number, gpointer data)
{
	struct watched *watched = data;

	watched->gone++;
}

static void on_several(gpointer data)
{
	struct watched *watched = data;

	watched->several++;
}

static void on_over(const RsTraceWatchEnd *end, gpointer data)
{
	struct watched *watched = data;

	g_assert_false(watched->over);
	watched->over = true;
	watched->reason = end ? g_strdup_printf("%s of %s", end->reason, end->source) : NULL;
}

static gboolean add_other(gpointer data)
{
	const struct rs_source_config config = {.kernel = "other"};
	struct host *host = data;

	host->other = sham_new(1, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_add_source(host->session, &config, host->other->region,
					      &host->other->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(host->session, NULL), ==, 0);
	sham_hello(host->other, 0);
	rs_session_refresh(host->session);
	return G_SOURCE_REMOVE;
}

/* An observer is told of a source that is there, of a later one, and how the session ended. */
static void test_watch(struct host *host)
{
	struct watched watched = {0};
	const RsTraceWatchConfig config = {.come = on_come,
					   .gone = on_gone,
					   .several = on_several,
					   .over = on_over,
					   .data = &watched};
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(RsTraceWatch) watch = rs_trace_watch_new(c, RS_TRACE_FROM_OLDEST, &config);

	g_assert_nonnull(watch);
	g_assert_cmpuint(watched.come, ==, 1);
	g_assert_cmpint(watched.from, ==, RS_TRACE_FROM_OLDEST);
	g_assert_cmpuint(watched.last, ==, 1);
	watched.there = false;
	g_main_context_invoke(NULL, add_other, host);
	sham_wait(&watched.there);
	g_assert_cmpuint(watched.come, ==, 2);
	g_assert_cmpint(watched.from, ==, RS_TRACE_FROM_START);
	g_assert_cmpuint(watched.last, ==, 2);
	while (!watched.several)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	g_assert_true(rs_dbus_session1_call_stop_sync(c, "enough", rs_trace_client_no_options(),
						      NULL, NULL, NULL));
	sham_wait(&watched.over);
	g_assert_true(g_str_has_prefix(watched.reason, "killed of "));
	g_assert_cmpuint(watched.several, ==, 1);
	/* Their ends are that of the session. */
	g_assert_cmpuint(watched.gone, ==, 0);
	g_free(watched.reason);
}

static gboolean end_server(gpointer data)
{
	struct host *host = data;

	g_clear_pointer(&host->server, rs_server_destroy);
	return G_SOURCE_REMOVE;
}

/* That the session says no more can be seen before it is read. */
static void test_closing(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);

	g_assert_false(rs_trace_client_is_closing(c));
	g_main_context_invoke(NULL, end_server, host);
	while (!rs_trace_client_is_closing(c))
		g_usleep(1000);
	while (!g_dbus_connection_is_closed(g_dbus_proxy_get_connection(G_DBUS_PROXY(c))))
		g_usleep(1000);
	g_assert_true(rs_trace_client_is_closing(c));
}

/* Who comes after the end is told so, but not by rs_trace_watch_new() itself. */
static void test_watch_late(struct host *host)
{
	struct watched watched = {0};
	const RsTraceWatchConfig config = {
		.come = on_come, .gone = on_gone, .over = on_over, .data = &watched};
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(RsTraceWatch) watch = NULL;

	g_assert_true(g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(c)),
						   NULL, NULL));
	watch = rs_trace_watch_new(c, RS_TRACE_FROM_OLDEST, &config);
	g_assert_false(watched.over);
	g_assert_cmpuint(watched.come, ==, 0);
	sham_wait(&watched.over);
	g_assert_null(watched.reason);
}

/* What List says of a glob that nothing matches: "" if that is nothing. To be freed. */
static char *suggestion_for(RsDBusSession1 *c, const char *glob)
{
	g_autoptr(GVariant) events = NULL, more = NULL;
	char *text = NULL;

	g_assert_true(rs_dbus_session1_call_list_sync(c, glob, rs_trace_client_no_options(),
						      &events, &more, NULL, NULL));
	g_variant_lookup(more, "suggestion", "s", &text);
	return text ? text : g_strdup("");
}

static void test_suggestion(struct host *host)
{
	static const struct {
		const char *glob, *said;
	} cases[] = {
		{"sched:swich", "; did you mean 'sched:switch'?"},
		{"k/swich", "; did you mean 'sched:switch'?"},
		{"sched:switch", ""},
		{"sched:swich*", ""},
		{"nothing-like-it", ""},
		{"", ""},
	};
	g_autoptr(RsDBusSession1) c = connect_to(host);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *said = suggestion_for(c, cases[i].glob);

		g_assert_cmpstr(said, ==, cases[i].said);
	}
}

/* A wrong selection is an error of each call that takes a glob. */
static void test_wrong_selection(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	GVariant *none = g_variant_ref_sink(rs_trace_client_no_options());
	const char *wrong = "*@level=6";
	GError *error = NULL;

	g_assert_false(rs_dbus_session1_call_list_sync(c, wrong, none, NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	g_assert_false(rs_dbus_session1_call_format_sync(c, wrong, none, NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	g_assert_false(rs_dbus_session1_call_enable_sync(c, wrong, none, NULL, NULL, NULL, NULL,
							 NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	g_assert_false(rs_dbus_session1_call_set_filter_sync(c, wrong, "prev == 1", none, NULL,
							     NULL, NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	g_variant_unref(none);
}

/* An unknown option is refused, not ignored. */
static void test_options(struct host *host)
{
	static const char *const wrong[] = {"{'stack': <uint32 3>}", "{'owner': <uint32 3>}",
					    "{'owner': <'x'>, 'ahead': <'yes'>}"};
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) options = g_variant_ref_sink(g_variant_new_parsed("{'hue': <'red'>}"));
	g_autoptr(GVariant) totals = NULL, cpus = NULL, events = NULL;
	GError *error = NULL;
	guint64 value;
	guint touched;

	g_assert_false(rs_dbus_session1_call_enable_sync(c, "sched:switch", options, &touched, NULL,
							 NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_assert_nonnull(strstr(error->message, "'hue'"));
	g_clear_error(&error);
	g_assert_true(rs_dbus_session1_call_stat_sync(c, rs_trace_client_no_options(), &totals,
						      &cpus, NULL, NULL));
	g_assert_true(g_variant_lookup(totals, "events_enabled", "t", &value));
	g_assert_cmpuint(value, ==, 0);
	g_assert_false(
		rs_dbus_session1_call_list_sync(c, "", options, &events, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	/* One that another method knows, and one of another type. */
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_assert_false(rs_dbus_session1_call_disable_sync(
			c, "sched:*", g_variant_new_parsed(wrong[i]), &touched, NULL, NULL, NULL,
			NULL, &error));
		g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
		g_clear_error(&error);
	}
}

/* Whether the second source failed, with this problem. */
static void check_part(GStrv problems, GVariant *more, const char *why)
{
	g_autoptr(GVariant) failed = g_variant_lookup_value(more, "failed", G_VARIANT_TYPE("au"));
	guint number;

	g_assert_nonnull(failed);
	g_assert_cmpuint(g_variant_n_children(failed), ==, 1);
	g_variant_get_child(failed, 0, "u", &number);
	g_assert_cmpuint(number, ==, 2);
	g_assert_cmpuint(g_strv_length(problems), ==, 1);
	g_assert_true(g_str_has_prefix(problems[0], "other: "));
	g_assert_nonnull(strstr(problems[0], why));
}

/* What it is follows from no name of a kind. */
static void check_what(RsDBusSession1 *c, guint n, gboolean program)
{
	g_autoptr(GVariant) rows = NULL, row = NULL;
	gboolean is_program, native;

	g_assert_true(rs_dbus_session1_call_sources_sync(c, rs_trace_client_no_options(), &rows,
							 NULL, NULL, NULL));
	row = g_variant_get_child_value(rows, n);
	g_assert_true(g_variant_lookup(row, "program", "b", &is_program));
	g_assert_true(g_variant_lookup(row, "native", "b", &native));
	g_assert_cmpint(is_program, ==, program);
	g_assert_cmpint(native, ==, program);
}

/* What one source has is asked of it by its number. */
static void test_sources(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GPtrArray) sources = rs_trace_client_sources(c, NULL);
	g_autoptr(GVariant) totals = NULL, cpus = NULL, row = NULL;
	g_autoptr(RsTraceRegion) region = NULL;
	GError *error = NULL;
	const char *text;

	g_assert_nonnull(sources);
	g_assert_cmpuint(sources->len, ==, 2);
	g_assert_cmpuint(((RsTraceClientSource *)sources->pdata[1])->number, ==, 2);
	g_assert_true(((RsTraceClientSource *)sources->pdata[1])->native);
	check_what(c, 0, FALSE);
	check_what(c, 1, TRUE);
	g_assert_cmpstr(((RsTraceClientSource *)sources->pdata[1])->kernel, ==, "other");
	g_assert_true(rs_dbus_session1_call_stat_sync(c, rs_trace_client_source(2), &totals, &cpus,
						      NULL, NULL));
	g_assert_true(g_variant_lookup(totals, "kind", "&s", &text));
	g_assert_cmpstr(text, ==, "sham");
	g_assert_cmpuint(g_variant_n_children(cpus), ==, 1);
	row = g_variant_get_child_value(cpus, 0);
	g_assert_cmpuint(number_of(row, "source_number"), ==, 2);
	g_assert_null(rs_trace_client_open_region(c, 0, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	region = rs_trace_client_open_region(c, 2, NULL);
	g_assert_nonnull(region);
	g_assert_cmpuint(region->header.session_id, ==, host->other->region->header.session_id);
}

/* One answer about each of them, for who asks often. */
static void test_each(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) totals = NULL, each = NULL, plain = NULL;
	GVariantDict dict;

	g_variant_dict_init(&dict, NULL);
	g_variant_dict_insert(&dict, "each", "b", TRUE);
	g_assert_true(rs_dbus_session1_call_stat_sync(c, g_variant_dict_end(&dict), &totals, NULL,
						      NULL, NULL));
	each = g_variant_lookup_value(totals, "each", G_VARIANT_TYPE("aa{sv}"));
	g_assert_nonnull(each);
	g_assert_cmpuint(g_variant_n_children(each), ==, 2);
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(each, i);
		guint64 value;

		g_assert_cmpuint(number_of(row, "source_number"), ==, i + 1);
		g_assert_true(g_variant_lookup(row, "pause_total_ns", "t", &value));
		g_assert_true(g_variant_lookup(row, "written", "t", &value));
	}
	g_assert_true(rs_dbus_session1_call_stat_sync(c, rs_trace_client_no_options(), &plain, NULL,
						      NULL, NULL));
	g_assert_null(g_variant_lookup_value(plain, "each", NULL));
}

/* What was asked for is done in one of two guests. */
static void test_part(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) enabled = NULL, filtered = NULL, cleared = NULL, disabled = NULL;
	g_auto(GStrv) enable = NULL, filter = NULL, clear = NULL, disable = NULL;
	gboolean pending = TRUE;
	guint touched;

	g_assert_true(rs_dbus_session1_call_enable_sync(c, "switch", rs_trace_client_no_options(),
							&touched, &pending, &enable, &enabled, NULL,
							NULL));
	g_assert_cmpuint(touched, ==, 1);
	g_assert_false(pending);
	check_part(enable, enabled, "it runs away");
	g_assert_true(rs_dbus_session1_call_set_filter_sync(
		c, "switch", "a > 1", rs_trace_client_no_options(), &touched, &pending, &filter,
		&filtered, NULL, NULL));
	/* No filter is published for an event that is off. */
	g_assert_cmpuint(touched, ==, 2);
	g_assert_cmpuint(g_strv_length(filter), ==, 0);
	g_clear_pointer(&enable, g_strfreev);
	g_clear_pointer(&enabled, g_variant_unref);
	g_assert_true(rs_dbus_session1_call_enable_sync(c, "switch", rs_trace_client_no_options(),
							&touched, &pending, &enable, &enabled, NULL,
							NULL));
	g_assert_cmpuint(touched, ==, 1);
	check_part(enable, enabled, "filter");
	g_assert_true(rs_dbus_session1_call_clear_filter_sync(
		c, "switch", rs_trace_client_no_options(), &touched, &pending, &clear, &cleared,
		NULL, NULL));
	g_assert_cmpuint(touched, ==, 2);
	g_assert_true(rs_dbus_session1_call_disable_sync(c, "switch", rs_trace_client_no_options(),
							 &touched, &pending, &disable, &disabled,
							 NULL, NULL));
	g_assert_cmpuint(touched, ==, 2);
	g_assert_cmpuint(g_strv_length(clear) + g_strv_length(disable), ==, 0);
}

/* Asks for sched:switch, with or without a filter. */
static gboolean ask(RsDBusSession1 *c, const char *options, const char *filter, GError **error)
{
	g_autoptr(GVariant) o = g_variant_ref_sink(g_variant_new_parsed(options));

	if (filter)
		return rs_dbus_session1_call_set_filter_sync(c, "sched:switch", filter, o, NULL,
							     NULL, NULL, NULL, NULL, error);
	return rs_dbus_session1_call_enable_sync(c, "sched:switch", o, NULL, NULL, NULL, NULL, NULL,
						 error);
}

/* "host+ view:a > 1": whose wishes sched:switch has, as List tells them. */
static void check_owners(RsDBusSession1 *c, const char *want)
{
	g_autoptr(GString) have = g_string_new(NULL);
	g_autoptr(GVariant) events = NULL, row = NULL, owners = NULL;

	g_assert_true(rs_dbus_session1_call_list_sync(c, "switch", rs_trace_client_no_options(),
						      &events, NULL, NULL, NULL));
	row = g_variant_get_child_value(events, 0);
	owners = g_variant_lookup_value(row, "owners", G_VARIANT_TYPE("aa{sv}"));
	for (gsize i = 0; owners && i < g_variant_n_children(owners); i++) {
		g_autoptr(GVariant) owner = g_variant_get_child_value(owners, i);
		const char *name = "", *filter = "";
		gboolean enabled = FALSE;

		g_variant_lookup(owner, "name", "&s", &name);
		g_variant_lookup(owner, "enabled", "b", &enabled);
		g_variant_lookup(owner, "filter", "&s", &filter);
		g_string_append_printf(have, "%s%s%s%s%s", have->len ? " " : "", name,
				       enabled ? "+" : "", *filter ? ":" : "", filter);
	}
	g_assert_cmpstr(have->str, ==, want);
}

static void test_owners(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) more = NULL;
	g_autofree const char **names = NULL;
	GError *error = NULL;
	guint touched, kept;

	check_owners(c, "");
	g_assert_true(ask(c, "@a{sv} {}", NULL, NULL));
	g_assert_true(ask(c, "{'owner': <'view'>}", "a > 1", NULL));
	check_owners(c, "host+ view:a > 1");
	g_assert_true(ask(c, "{'owner': <'view'>}", NULL, NULL));
	g_assert_true(rs_dbus_session1_call_disable_sync(c, "sched:*", rs_trace_client_no_options(),
							 &touched, NULL, NULL, &more, NULL, NULL));
	g_assert_cmpuint(touched, ==, 2);
	g_assert_true(g_variant_lookup(more, "kept", "u", &kept));
	g_assert_cmpuint(kept, ==, 1);
	g_assert_true(g_variant_lookup(more, "kept_for", "^a&s", &names));
	g_assert_true(names[0] && strcmp(names[0], "view") == 0 && !names[1]);
	check_owners(c, "view+:a > 1");
	g_assert_false(ask(c, "{'owner': <'no name'>}", NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	g_assert_false(ask(c, "{'owner': <5>}", NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
	g_assert_false(ask(c, "{'owner': <'host'>, 'until-disconnect': <true>}", NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(&error);
}

static void hang_up(RsDBusSession1 *c)
{
	g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(c)), NULL, NULL);
}

/* Until it is so, or the test times out: a connection ends when the session's loop sees it. */
static void wait_owners(RsDBusSession1 *c, const char *name, bool there)
{
	for (bool found = !there; found != there; g_usleep(1000)) {
		g_autoptr(GVariant) events = NULL;
		g_autofree char *text = NULL;

		g_assert_true(rs_dbus_session1_call_list_sync(
			c, "switch", rs_trace_client_no_options(), &events, NULL, NULL, NULL));
		text = g_variant_print(events, FALSE);
		found = strstr(text, name);
	}
}

/* What a peer wants for as long as it is there. */
static void test_until_disconnect(struct host *host)
{
	static const char *const bound = "{'owner': <'view'>, 'until-disconnect': <true>}";
	g_autoptr(RsDBusSession1) c = connect_to(host), a = connect_to(host), b = connect_to(host);

	g_assert_true(ask(c, "@a{sv} {}", NULL, NULL));
	g_assert_true(ask(c, "{'owner': <'other'>}", "a == 3", NULL));
	g_assert_true(ask(a, bound, NULL, NULL));
	g_assert_true(ask(b, bound, "a > 1", NULL));
	g_assert_true(ask(b, "{'owner': <'mine'>, 'until-disconnect': <true>}", NULL, NULL));
	check_owners(c, "host+ mine+ other:a == 3 view+:a > 1");
	hang_up(b);
	wait_owners(c, "mine", false);
	check_owners(c, "host+ other:a == 3 view+:a > 1");
	hang_up(a);
	wait_owners(c, "view", false);
	check_owners(c, "host+ other:a == 3");
}

/* An owner without wishes is forgotten, so its bond to a connection ends with its wishes. */
static void test_idle_bonds(struct host *host)
{
	g_autoptr(RsDBusSession1) a = connect_to(host), c = connect_to(host);
	g_autoptr(GVariant) options = g_variant_ref_sink(
		g_variant_new_parsed("{'owner': <'idle'>, 'until-disconnect': <true>}"));
	g_autoptr(GVariant) more = NULL;
	guint touched;

	g_assert_true(rs_dbus_session1_call_disable_sync(a, "*", options, &touched, NULL, NULL,
							 &more, NULL, NULL));
	g_assert_true(ask(c, "{'owner': <'idle'>}", NULL, NULL));
	g_assert_true(ask(a, "{'owner': <'late'>, 'until-disconnect': <true>}", NULL, NULL));
	hang_up(a);
	wait_owners(c, "late", false);
	check_owners(c, "idle+");
}

/* What `gdbus introspect` sees. */
static void fill_provider(struct host *host, uint32_t slot, bool dead)
{
	struct rs_provider *p = rs_trace_region_element(host->sham->region, RS_SEC_PROVIDERS, slot);

	p->image_start = 0x7f0000001000;
	p->image_end = 0x7f0000003000;
	p->owner_pid = 77;
	p->site_count = 9;
	p->build_id_size = 200; /* a guest may say anything */
	for (size_t i = 0; i < sizeof(p->build_id); i++)
		p->build_id[i] = (uint8_t)(0xf0 + i);
	strcpy(p->name, "a\xff\nb");
	if (dead)
		sham_provider_dies(host->sham, slot);
	else
		sham_provider_returns(host->sham, slot);
}

/* One row of ListProviders, by slot. */
static GVariant *provider_row(RsDBusSession1 *c, guint slot)
{
	g_autoptr(GVariant) rows = NULL;
	GVariant *row;
	guint at;

	g_assert_true(rs_dbus_session1_call_list_providers_sync(c, rs_trace_client_no_options(),
								&rows, NULL, NULL, NULL));
	g_assert_cmpuint(g_variant_n_children(rows), >, slot);
	row = g_variant_get_child_value(rows, slot);
	g_assert_true(g_variant_lookup(row, "slot", "u", &at));
	g_assert_cmpuint(at, ==, slot);
	return row;
}

static void on_sites(GObject *object, GAsyncResult *result, gpointer data)
{
	RsTraceSites **sites = data;
	g_autoptr(GError) error = NULL;

	*sites = rs_trace_sites_get_finish(result, &error);
	g_assert_no_error(error);
}

/* Of one guest many, which come in parts, and of the other, which patches itself, none. */
static void test_sites(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(RsTraceSites) some = NULL, all = NULL, none = NULL;
	g_autoptr(GVariant) rows = NULL;
	g_autoptr(GError) error = NULL;
	GVariantDict options;
	const RsTraceSite *site;

	some = rs_trace_sites_get(c, "sched:switch", 10, NULL);
	g_assert_cmpuint(some->sites->len, ==, 1);
	g_assert_false(some->cut);
	g_assert_cmpuint(some->self_patch->len, ==, 1);
	g_assert_cmpuint(g_array_index(some->self_patch, guint32, 0), ==, 1);
	site = some->sites->pdata[0];
	g_assert_cmpstr(site->name, ==, "switch");
	g_assert_cmpstr(site->system, ==, "sched");
	g_assert_cmpstr(site->source, ==, "other");
	g_assert_cmpuint(site->source_number, ==, 2);
	g_assert_cmpuint(site->event, ==, RS_FIRST_EVENT_ID);
	g_assert_cmpstr(site->state, ==, "off");
	g_assert_cmpuint(site->arch, ==, RS_ARCH_X86_64);
	/* There is nothing before it. */
	g_assert_cmpuint(g_bytes_get_size(site->text), ==, 32);
	g_assert_cmphex(site->text_address, ==, site->address);

	rs_trace_sites_get_async(c, "bulk:*", 1000, NULL, on_sites, &all);
	while (!all)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	g_assert_cmpuint(all->sites->len, ==, 1000);
	g_assert_true(all->cut);
	none = rs_trace_sites_get(c, "nix", 1000, NULL);
	g_assert_cmpuint(none->sites->len, ==, 0);

	g_variant_dict_init(&options, NULL);
	g_variant_dict_insert(&options, "before", "t", (guint64)1);
	g_assert_false(rs_dbus_session1_call_sites_sync(c, "", g_variant_dict_end(&options), &rows,
							NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
}

static void test_providers(struct host *host)
{
	static const char *const more[] = {"one", NULL};
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) first = provider_row(c, 0), live = NULL, dead = NULL;
	guint32 slot = sham_provider(host->sham, "net", more);
	const char *text;
	guint64 address;
	gboolean on;

	/* Keys of unknown values are missing. */
	g_assert_false(g_variant_lookup(first, "build_id", "&s", NULL));
	g_assert_false(g_variant_lookup(first, "image_start", "t", NULL));
	g_assert_false(g_variant_lookup(first, "sites_patched", "u", NULL));
	g_assert_true(g_variant_lookup(first, "source", "&s", &text));
	g_assert_cmpstr(text, ==, "k");
	g_assert_true(g_variant_lookup(first, "name", "&s", &text));
	g_assert_cmpstr(text, ==, "sched");
	g_assert_cmpuint(number_of(first, "source_number"), ==, 1);
	g_assert_cmpuint(number_of(first, "events"), ==, 2);
	g_assert_cmpuint(number_of(first, "generation"), ==, 1);
	g_assert_cmpuint(number_of(first, "pid"), ==, 0);

	fill_provider(host, slot, false);
	live = provider_row(c, slot);
	g_assert_true(g_variant_lookup(live, "live", "b", &on));
	g_assert_true(on);
	g_assert_cmpuint(number_of(live, "generation"), ==, 2);
	g_assert_cmpuint(number_of(live, "pid"), ==, 77);
	g_assert_cmpuint(number_of(live, "events"), ==, 1);
	g_assert_cmpuint(number_of(live, "sites"), ==, 9);
	g_assert_true(g_variant_lookup(live, "image_start", "t", &address));
	g_assert_cmphex(address, ==, 0x7f0000001000);
	g_assert_true(g_variant_lookup(live, "image_end", "t", &address));
	g_assert_cmphex(address, ==, 0x7f0000003000);
	g_assert_true(g_variant_lookup(live, "build_id", "&s", &text));
	g_assert_cmpstr(text, ==,
			"f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f");
	g_assert_true(g_variant_lookup(live, "name", "&s", &text));
	g_assert_cmpstr(text, ==, "a\xef\xbf\xbd\nb");

	fill_provider(host, slot, true);
	dead = provider_row(c, slot);
	g_assert_true(g_variant_lookup(dead, "live", "b", &on));
	g_assert_false(on);
	g_assert_cmpuint(number_of(dead, "sites"), ==, 0);
	g_assert_true(g_variant_lookup(dead, "build_id", "&s", NULL));
}

static void test_introspect(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) answer = g_dbus_connection_call_sync(
		g_dbus_proxy_get_connection(G_DBUS_PROXY(c)), NULL, "/org/ringside/Session",
		"org.freedesktop.DBus.Introspectable", "Introspect", NULL, G_VARIANT_TYPE("(s)"),
		G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
	const char *xml;

	g_assert_nonnull(answer);
	g_variant_get(answer, "(&s)", &xml);
	g_assert_nonnull(strstr(xml, "org.ringside.Session1"));
	g_assert_nonnull(strstr(xml, "OpenRegion"));
}

static void test_nobody(void)
{
	GError *error = NULL;

	g_assert_null(rs_trace_client_connect_path("/nonexistent/x.sock", &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION);
	g_clear_error(&error);
}

/*
 * Sites are patched in many turns: whoever asked has the answer after the last one. A peer that
 * goes before its answer harms nobody.
 */
static void test_late(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);

	for (guint i = 0; i < 3; i++) {
		RsDBusSession1 *hasty = connect_to(host);
		guint touched = 0;

		rs_dbus_session1_call_enable(hasty, "other/sched:*", rs_trace_client_no_options(),
					     NULL, NULL, NULL);
		g_dbus_connection_flush_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(hasty)), NULL,
					     NULL);
		g_object_unref(hasty);
		g_assert_true(
			rs_dbus_session1_call_enable_sync(c, "bulk:*", rs_trace_client_no_options(),
							  &touched, NULL, NULL, NULL, NULL, NULL));
		g_assert_cmpuint(touched, ==, 1);
		g_assert_cmpuint(sham_bulk_patched(host->other), ==, SITES);
		g_assert_true(rs_dbus_session1_call_disable_sync(
			c, "bulk:*", rs_trace_client_no_options(), &touched, NULL, NULL, NULL, NULL,
			NULL));
		g_assert_cmpuint(sham_bulk_patched(host->other), ==, 0);
	}
}

static int watch(void *data, uint32_t number, const char *glob, const char *expression, bool shows,
		 struct rs_error *err)
{
	if (expression)
		g_assert_cmpstr(glob, ==, "k/sched:*,none:x");
	return 0;
}

static void unwatch(void *data, uint32_t number)
{
}

static uint64_t no_hits(void *data, uint32_t number)
{
	return 0;
}

static uint64_t none_lost(void *data)
{
	return 0;
}

static void set_up_watched(struct host *host, gconstpointer data)
{
	static const struct rs_trigger_watcher watcher = {
		.watch = watch, .unwatch = unwatch, .hits = no_hits, .lost = none_lost};

	set_up_bulk(host, data);
	rs_session_set_trigger_watcher(host->session, &watcher);
}

static guint32 add_trigger(RsDBusSession1 *c, const char *glob, const char *expression,
			   const char *action, const char *options, GError **error)
{
	const char *const actions[] = {action, NULL};
	g_autoptr(GVariant) more = NULL;
	g_auto(GStrv) problems = NULL;
	guint32 number;

	if (!rs_dbus_session1_call_add_trigger_sync(c, glob, expression, actions,
						    g_variant_new_parsed(options), &number,
						    &problems, &more, NULL, error))
		return 0;
	g_assert_cmpuint(g_strv_length(problems), ==, 0);
	return number;
}

/* Whoever adds a trigger has the answer once its event is on. Glob and expression stay apart. */
static void test_trigger(struct host *host)
{
	static const struct {
		const char *glob, *expression, *action, *options;
		RsTraceSessionError error;
	} wrong[] = {
		{"bulk:*: PID", "", "stack", "@a{sv} {}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT},
		{"", "PID", "stack", "@a{sv} {}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT},
		{"bulk:*", "", "snapshot=x", "@a{sv} {}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT},
		{"bulk:*", "", "stack", "{'count': <'1'>}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT},
		{"bulk:*", "", "stack", "{'owner': <'x'>}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT},
	};
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_autoptr(GVariant) rows = NULL, all = NULL, row = NULL;
	GError *error = NULL;
	const char *text;
	guint32 number;

	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {

		g_assert_cmpuint(add_trigger(c, wrong[i].glob, wrong[i].expression, wrong[i].action,
					     wrong[i].options, &error),
				 ==, 0);
		g_assert_error(error, RS_TRACE_SESSION_ERROR, (int)wrong[i].error);
		g_clear_error(&error);
	}
	number = add_trigger(c, "bulk:*", "", "pause", "@a{sv} {}", &error);
	g_assert_no_error(error);
	g_assert_cmpuint(number, ==, 1);
	g_assert_cmpuint(sham_bulk_patched(host->other), ==, SITES);
	number = add_trigger(c, "k/sched:*,none:x", "PID != 7", "pause",
			     "{'count': <uint32 3>, 'ahead': <true>}", &error);
	g_assert_no_error(error);
	g_assert_cmpuint(number, ==, 2);
	g_assert_true(rs_dbus_session1_call_list_triggers_sync(c, rs_trace_client_no_options(),
							       &rows, NULL, NULL, NULL));
	g_assert_cmpuint(g_variant_n_children(rows), ==, 2);
	all = g_variant_get_child_value(rows, 0);
	g_assert_true(g_variant_lookup(all, "glob", "&s", &text));
	g_assert_cmpstr(text, ==, "bulk:*");
	g_assert_false(g_variant_lookup(all, "filter", "&s", &text));
	row = g_variant_get_child_value(rows, 1);
	g_assert_true(g_variant_lookup(row, "glob", "&s", &text));
	g_assert_cmpstr(text, ==, "k/sched:*,none:x");
	g_assert_true(g_variant_lookup(row, "filter", "&s", &text));
	g_assert_cmpstr(text, ==, "PID != 7");
	g_assert_cmpuint(number_of(row, "count"), ==, 3);
}

#define ASKERS 8u

enum { COMING, CONNECTED, ASKED };

static void on_enabled(GObject *object, GAsyncResult *result, gpointer data)
{
	guint touched;

	g_assert_true(rs_dbus_session1_call_enable_finish(RS_DBUS_SESSION1(object), &touched, NULL,
							  NULL, NULL, result, NULL));
	g_assert_cmpuint(touched, ==, 1);
	++*(guint *)data;
}

/* Each enables an event of its own. */
static void ask_together(struct host *host)
{
	RsDBusSession1 *peers[ASKERS];
	guint answers = 0;

	for (guint i = 0; i < ASKERS; i++)
		peers[i] = connect_to(host);
	g_atomic_int_set(&host->at, CONNECTED);
	for (guint i = 0; i < ASKERS; i++) {
		g_autofree char *glob = g_strdup_printf(LONG_NAME "%u", i);

		rs_dbus_session1_call_enable(peers[i], glob, rs_trace_client_no_options(), NULL,
					     on_enabled, &answers);
		g_dbus_connection_flush_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(peers[i])),
					     NULL, NULL);
	}
	g_atomic_int_set(&host->at, ASKED);
	while (answers < ASKERS)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	for (guint i = 0; i < ASKERS; i++)
		g_object_unref(peers[i]);
}

/* What many ask together is not done in one round of the main loop. */
static void test_turns(struct host *host, gconstpointer data)
{
	struct rs_source_stat stat;
	GThread *thread;
	uint64_t before = 0;

	host->body = ask_together;
	thread = g_thread_new("clients", run_body, host);
	while (g_atomic_int_get(&host->at) < CONNECTED)
		g_main_context_iteration(NULL, FALSE);
	while (g_atomic_int_get(&host->at) < ASKED)
		g_usleep(1000);
	g_usleep(50000); /* all calls are probably there: the test holds anyway */
	do {
		g_main_context_iteration(NULL, FALSE);
		rs_session_stat(host->session, &stat);
		g_assert_cmpuint(stat.events_on, <=, before + 1);
		before = stat.events_on;
	} while (before < ASKERS);
	g_thread_join(thread);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*body)(struct host *host);
		void (*set_up)(struct host *host, gconstpointer data);
	} tests[] = {
		{"/server/server/sites", test_sites, set_up_bulk},
		{"/server/server/part", test_part, set_up_other},
		{"/server/server/sources", test_sources, set_up_other},
		{"/server/server/each", test_each, set_up_other},
		{"/server/server/late", test_late, set_up_bulk},
		{"/server/server/trigger", test_trigger, set_up_watched},
		{"/server/server/format-parts", test_format_parts, set_up_many},
		{"/server/server/control", test_control},
		{"/server/server/claim", test_claim},
		{"/server/server/region", test_region_is_read_only},
		{"/server/server/state", test_state},
		{"/server/server/stop", test_stop},
		{"/server/server/watch", test_watch},
		{"/server/server/watch-late", test_watch_late},
		{"/server/server/closing", test_closing},
		{"/server/server/options", test_options},
		{"/server/server/suggestion", test_suggestion},
		{"/server/server/wrong-selection", test_wrong_selection},
		{"/server/server/owners", test_owners},
		{"/server/server/until-disconnect", test_until_disconnect},
		{"/server/server/idle-bonds", test_idle_bonds},
		{"/server/server/providers", test_providers},
		{"/server/server/introspect", test_introspect},
	};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/server/nobody", test_nobody);
	g_test_add("/server/server/turns", struct host, NULL, set_up_many, test_turns, tear_down);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct host, &tests[i].body,
			   tests[i].set_up ? tests[i].set_up : set_up, run_test, tear_down);
	return g_test_run();
}
