/* SPDX-License-Identifier: MIT */
#include "server/private.h"

#include "region/regions.h"
#include "server/hello.h"
#include "server/rows.h"
#include "session/engines.h"
#include <errno.h>
#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <rs-session-dbus.h>
#include <rs-trace-escape.h>
#include <rs-trace-session-error.h>
#include <string.h>
#include <unistd.h>

#define OBJECT_PATH "/org/ringside/Session"
#define INTERFACE "org.ringside.Session1"
/* Time between two Changed signals. A guest can make changes as fast as it can ask. */
#define CHANGED_US 20000
/* The same where an engine has stopped: its peer alone is told, and lets it go on. */
#define ENGINE_US 1000

/* ---- small helpers ---- */

gboolean rs_server_give_error(GDBusMethodInvocation *invocation, const struct rs_error *err)
{
	static const struct {
		int code;
		RsTraceSessionError error;
	} codes[] = {
		{ENOENT, RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT},
		{EBADMSG, RS_TRACE_SESSION_ERROR_BAD_FILTER},
		{EINVAL, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT},
		{EBUSY, RS_TRACE_SESSION_ERROR_BUSY},
		{EAGAIN, RS_TRACE_SESSION_ERROR_NOT_READY},
		{ESHUTDOWN, RS_TRACE_SESSION_ERROR_ENDED},
		{ESRCH, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD},
		{EBADF, RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE},
		{EINPROGRESS, RS_TRACE_SESSION_ERROR_NOT_STOPPED},
		{ENOTSUP, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED},
	};
	/* D-Bus carries UTF-8 only; a path in a message may be anything. */
	g_autofree char *text = g_utf8_make_valid(err->message, -1);
	RsTraceSessionError code = RS_TRACE_SESSION_ERROR_FAILED;

	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
		if (codes[i].code == err->code)
			code = codes[i].error;
	g_dbus_method_invocation_return_error_literal(invocation, RS_TRACE_SESSION_ERROR, code,
						      text);
	return TRUE;
}

static void update_properties(struct rs_server *server)
{
	rs_dbus_session1_set_state(server->skeleton,
				   rs_session_state_name(rs_session_state(server->session)));
}

bool rs_server_is_free(struct rs_server *server, GDBusMethodInvocation *invocation)
{
	if (!server->claimed ||
	    server->claimed == g_dbus_method_invocation_get_connection(invocation))
		return true;
	g_dbus_method_invocation_return_error_literal(invocation, RS_TRACE_SESSION_ERROR,
						      RS_TRACE_SESSION_ERROR_BUSY,
						      "another command is changing the session: "
						      "try again");
	return false;
}

bool rs_server_may_control(struct rs_server *server, GDBusMethodInvocation *invocation,
			   GVariant *options)
{
	return !rs_server_refuse_options(invocation, options) &&
	       rs_server_is_free(server, invocation);
}

bool rs_server_find_source(struct rs_server *server, GDBusMethodInvocation *invocation,
			   guint32 number, struct rs_source **out)
{
	for (guint i = 0; i < rs_session_n_sources(server->session); i++) {
		struct rs_source *source = rs_session_source(server->session, i);

		if (rs_source_number(source) == number)
			*out = source;
	}
	if (*out)
		return true;
	g_dbus_method_invocation_return_error(
		invocation, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
		"there is no source number %u, or not any more", number);
	return false;
}

/* ---- methods ---- */

static gboolean on_sources(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			   GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	GVariantBuilder builder;

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	g_variant_builder_init(&builder, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < rs_session_n_sources(server->session); i++)
		g_variant_builder_add_value(&builder,
					    rs_row_source(rs_session_source(server->session, i)));
	rs_dbus_session1_complete_sources(object, invocation, g_variant_builder_end(&builder),
					  rs_row_sources(server->session));
	return TRUE;
}

/* Whether the glob can be asked for. False: the peer got an error. */
static bool take_glob(GDBusMethodInvocation *invocation, const char *glob)
{
	struct rs_error err = {0};

	return !rs_event_glob_check(glob, &err) || !rs_server_give_error(invocation, &err);
}

static gboolean on_list(RsDBusSession1 *object, GDBusMethodInvocation *invocation, const char *glob,
			GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	g_autofree char *suggestion = NULL;
	g_autoptr(GArray) list = NULL;
	GVariantBuilder builder, more;

	if (rs_server_refuse_options(invocation, options) || !take_glob(invocation, glob))
		return TRUE;
	list = rs_session_list(server->session, *glob ? glob : NULL);
	g_variant_builder_init(&more, G_VARIANT_TYPE_VARDICT);
	if (!list->len && *glob)
		suggestion = rs_session_suggest(server->session, glob);
	if (suggestion && *suggestion)
		g_variant_builder_add(&more, "{sv}", "suggestion",
				      g_variant_new_string(suggestion));
	g_variant_builder_init(&builder, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < list->len; i++)
		g_variant_builder_add_value(
			&builder, rs_row_event(&g_array_index(list, struct rs_session_event, i)));
	rs_dbus_session1_complete_list(object, invocation, g_variant_builder_end(&builder),
				       g_variant_builder_end(&more));
	return TRUE;
}

static gboolean on_list_providers(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				  GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	g_autoptr(GArray) list = NULL;
	GVariantBuilder builder;

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	list = rs_session_list_providers(server->session);
	g_variant_builder_init(&builder, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < list->len; i++)
		g_variant_builder_add_value(
			&builder,
			rs_row_provider(&g_array_index(list, struct rs_session_provider, i)));
	rs_dbus_session1_complete_list_providers(object, invocation,
						 g_variant_builder_end(&builder), rs_row_empty());
	return TRUE;
}

static gboolean on_sites(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			 const char *glob, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	g_autoptr(GArray) list = NULL;
	uint64_t after = 0, next;
	GVariantBuilder builder;

	if (!rs_server_take_option(invocation, options, "after", "t", &after))
		return TRUE;
	if (!take_glob(invocation, glob))
		return TRUE;
	list = rs_session_list_sites(server->session, *glob ? glob : NULL, after, &next);
	g_variant_builder_init(&builder, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < list->len; i++)
		g_variant_builder_add_value(
			&builder, rs_row_site(&g_array_index(list, struct rs_session_site, i)));
	rs_dbus_session1_complete_sites(object, invocation, g_variant_builder_end(&builder),
					rs_row_sites(server->session, next));
	return TRUE;
}

/* A part of Format's answer ends with the event that makes it this long. */
#define FORMAT_PART 65536u

/* Where an event stands in the order of lists. */
static uint64_t place_of(const struct rs_session_event *e)
{
	return (uint64_t)rs_source_number(e->source) << 32 | e->event->id;
}

/* The formats of events after `after`. Returns where the next part begins after; 0: it is all. */
static uint64_t add_formats(const GArray *list, uint64_t after, bool several, GString *text)
{
	uint64_t last = 0;

	for (guint i = 0; i < list->len; i++) {
		const struct rs_session_event *e = &g_array_index(list, struct rs_session_event, i);
		g_autofree char *one = NULL;

		if (place_of(e) <= after)
			continue;
		if (text->len >= FORMAT_PART)
			return last;
		if (after || last)
			g_string_append_c(text, '\n');
		if (several)
			g_string_append_printf(text, "# source: %s\n", rs_source_name(e->source));
		one = rs_trace_event_format(e->event);
		g_string_append(text, one);
		last = place_of(e);
	}
	return 0;
}

static gboolean on_format(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			  const char *glob, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	g_autoptr(GArray) list = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *valid = NULL;
	uint64_t after = 0, next;
	GVariantBuilder more;

	if (!rs_server_take_option(invocation, options, "after", "t", &after))
		return TRUE;
	if (!take_glob(invocation, glob))
		return TRUE;
	list = rs_session_list(server->session, glob);
	if (!list->len) {
		g_autofree char *suggestion = rs_session_suggest(server->session, glob);

		g_dbus_method_invocation_return_error(invocation, RS_TRACE_SESSION_ERROR,
						      RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT,
						      "no event matches '%s'%s", glob, suggestion);
		return TRUE;
	}
	next = add_formats(list, after, rs_session_n_sources(server->session) > 1, text);
	g_variant_builder_init(&more, G_VARIANT_TYPE_VARDICT);
	if (next)
		g_variant_builder_add(&more, "{sv}", "next", g_variant_new_uint64(next));
	valid = g_utf8_make_valid(text->str, (gssize)text->len);
	rs_dbus_session1_complete_format(object, invocation, valid, g_variant_builder_end(&more));
	return TRUE;
}

static gboolean on_stat(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_source *source = NULL;
	gboolean wants_each = FALSE;
	struct rs_source_stat stat;
	GVariantBuilder cpus, each_of;
	g_autoptr(GVariant) rows = NULL;

	if (!rs_server_take_source_and(server, invocation, options, &source, "each", &wants_each))
		return TRUE;
	g_variant_builder_init(&cpus, G_VARIANT_TYPE("aa{sv}"));
	g_variant_builder_init(&each_of, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < rs_session_n_sources(server->session); i++) {
		struct rs_source *each = rs_session_source(server->session, i);

		if (source && each != source)
			continue;
		rs_source_stat(each, &stat);
		rs_row_add_cpus(&cpus, each, &stat);
		rs_row_add_each(&each_of, each, &stat);
	}
	if (!source)
		rs_session_stat(server->session, &stat);
	rows = g_variant_ref_sink(g_variant_builder_end(&each_of));
	rs_dbus_session1_complete_stat(object, invocation,
				       rs_row_stat(source, &stat, wants_each ? rows : NULL),
				       g_variant_builder_end(&cpus));
	return TRUE;
}

static void note_state(struct rs_server *server);

static gboolean on_pause(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			 GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_error err = {0};

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	if (rs_session_pause(server->session, &err))
		return rs_server_give_error(invocation, &err);
	note_state(server);
	rs_dbus_session1_complete_pause(object, invocation, rs_row_paused(server->session));
	return TRUE;
}

static gboolean on_resume(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			  GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_error err = {0};

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	if (rs_session_resume(server->session, &err))
		return rs_server_give_error(invocation, &err);
	note_state(server);
	rs_dbus_session1_complete_resume(object, invocation, rs_row_empty());
	return TRUE;
}

static gboolean on_set_ring_mode(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 const char *mode, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_error err = {0};
	const bool drop = strcmp(mode, "drop") == 0;

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	if (!drop && strcmp(mode, "overwrite")) {
		rs_error_set(&err, EINVAL, "a ring's mode is 'overwrite' or 'drop'");
		return rs_server_give_error(invocation, &err);
	}
	if (rs_session_set_ring_mode(server->session, drop ? RS_MODE_DROP : RS_MODE_OVERWRITE,
				     &err))
		return rs_server_give_error(invocation, &err);
	rs_dbus_session1_complete_set_ring_mode(object, invocation, rs_row_empty());
	return TRUE;
}

static gboolean on_set_ring_size(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 guint64 bytes, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_rings_change change;
	struct rs_error err = {0};
	GVariantBuilder more;

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	if (rs_session_set_ring_bytes(server->session, bytes, &change, &err))
		return rs_server_give_error(invocation, &err);
	g_variant_builder_init(&more, G_VARIANT_TYPE_VARDICT);
	g_variant_builder_add(&more, "{sv}", "bytes", g_variant_new_uint64(change.bytes));
	g_variant_builder_add(&more, "{sv}", "changed", g_variant_new_uint32(change.changed));
	g_variant_builder_add(&more, "{sv}", "offered", g_variant_new_uint32(change.offered));
	g_variant_builder_add(&more, "{sv}", "held", g_variant_new_uint32(change.held));
	rs_dbus_session1_complete_set_ring_size(object, invocation, g_variant_builder_end(&more));
	return TRUE;
}

static gboolean on_set_frozen(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			      gboolean frozen, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_error err = {0};

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	if (rs_session_set_frozen(server->session, frozen, &err))
		return rs_server_give_error(invocation, &err);
	rs_dbus_session1_complete_set_frozen(object, invocation, rs_row_empty());
	return TRUE;
}

static gboolean on_clear_rings(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			       GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_error err = {0};
	uint64_t records;

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	if (rs_session_clear_rings(server->session, &records, &err))
		return rs_server_give_error(invocation, &err);
	rs_dbus_session1_complete_clear_rings(object, invocation, records, rs_row_empty());
	return TRUE;
}

static gboolean on_stop(RsDBusSession1 *object, GDBusMethodInvocation *invocation, const char *why,
			GVariant *options, gpointer data)
{
	struct rs_server *server = data;

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	/* First the answer, since the connection may close soon after the stop. */
	rs_dbus_session1_complete_stop(object, invocation, rs_row_empty());
	rs_session_stop(server->session, *why ? why : "asked to");
	return TRUE;
}

static gboolean on_claim(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			 GVariant *options, gpointer data)
{
	struct rs_server *server = data;

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	server->claimed = g_dbus_method_invocation_get_connection(invocation);
	rs_dbus_session1_complete_claim(object, invocation, rs_row_empty());
	return TRUE;
}

static gboolean on_release(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			   GVariant *options, gpointer data)
{
	struct rs_server *server = data;

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	server->claimed = NULL;
	rs_dbus_session1_complete_release(object, invocation, rs_row_empty());
	return TRUE;
}

static gboolean on_open_region(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			       GUnixFDList *fds, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_source *source = NULL;
	const RsTraceRegion *region;
	g_autoptr(GUnixFDList) out = NULL;
	struct rs_error err = {0};
	int fd;

	if (!rs_server_take_source(server, invocation, options, &source))
		return TRUE;
	if (!source && rs_session_n_sources(server->session) > 1) {
		rs_error_set(&err, EINVAL, "the region of which source? The session has several");
		return rs_server_give_error(invocation, &err);
	}
	region = rs_source_region(source ? source : rs_session_source(server->session, 0));
	if (rs_region_reopen_readonly(region, &fd, &err))
		return rs_server_give_error(invocation, &err);
	out = g_unix_fd_list_new_from_array(&fd, 1); /* takes fd */
	rs_dbus_session1_complete_open_region(object, invocation, out, g_variant_new_handle(0),
					      rs_row_region(region));
	return TRUE;
}

static gboolean on_open_program(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				GUnixFDList *fds, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_source *source = NULL;
	g_autoptr(GUnixFDList) out = NULL;
	g_autofree char *name = NULL;
	struct rs_error err = {0};
	GVariantDict more;
	int fd;

	if (!rs_server_take_source(server, invocation, options, &source))
		return TRUE;
	if (!source && rs_session_n_sources(server->session) > 1) {
		rs_error_set(&err, EINVAL, "the program of which source? The session has several");
		return rs_server_give_error(invocation, &err);
	}
	source = source ? source : rs_session_source(server->session, 0);
	if (rs_source_open_program(source, &fd, &err))
		return rs_server_give_error(invocation, &err);
	out = g_unix_fd_list_new_from_array(&fd, 1); /* takes fd */
	name = g_utf8_make_valid(rs_source_program(source), -1);
	g_variant_dict_init(&more, NULL);
	g_variant_dict_insert(&more, "name", "s", name);
	rs_dbus_session1_complete_open_program(object, invocation, out, g_variant_new_handle(0),
					       g_variant_dict_end(&more));
	return TRUE;
}

/* ---- from the session ---- */

static void tell_changed(struct rs_server *server)
{
	server->changed_at = g_get_monotonic_time();
	rs_peers_tell(
		server->peers, OBJECT_PATH, INTERFACE, "Changed",
		g_variant_new("(u@a{sv})", server->generation, rs_row_changes(server->session)),
		true);
}

static void drop_later(struct rs_server *server)
{
	if (!server->later)
		return;
	g_source_destroy(server->later);
	g_clear_pointer(&server->later, g_source_unref);
}

static gboolean on_later(gpointer data)
{
	drop_later(data);
	tell_changed(data);
	return G_SOURCE_REMOVE;
}

static void on_changed(void *data, uint32_t generation)
{
	struct rs_server *server = data;

	server->generation = generation;
	/* The news may wait; who asks is told what is. */
	update_properties(server);
	if (server->later)
		return;
	if (g_get_monotonic_time() - server->changed_at >= CHANGED_US) {
		tell_changed(server);
		return;
	}
	server->later = g_timeout_source_new(CHANGED_US / 1000);
	g_source_set_callback(server->later, on_later, server, NULL);
	g_source_attach(server->later, g_main_context_get_thread_default());
}

static void on_engine(void *data, const void *owner)
{
	struct rs_server *server = data;
	const gint64 now = g_get_monotonic_time();

	if (now - server->engine_at < ENGINE_US) {
		on_changed(server, server->generation);
		return;
	}
	server->engine_at = now;
	rs_peers_tell_one(
		server->peers, owner, OBJECT_PATH, INTERFACE, "Changed",
		g_variant_new("(u@a{sv})", server->generation, rs_row_changes(server->session)));
}

/* The state may be another one. */
static void note_state(struct rs_server *server)
{
	on_changed(server, server->generation);
}

static void on_hello(void *data, struct rs_source *source, const struct rs_guest_info *info)
{
	note_state(data);
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *each)
{
	struct rs_server *server = data;
	const struct rs_target_end *end = rs_session_end(server->session);
	g_autofree char *escaped = NULL;

	if (server->later) {
		drop_later(server);
		tell_changed(server);
	}
	update_properties(server);
	if (!end)
		return;
	escaped = rs_trace_escape(end->text, -1, NULL);
	rs_peers_tell(server->peers, OBJECT_PATH, INTERFACE, "Ended",
		      g_variant_new("(sis@a{sv})", rs_end_reason_name(end->reason), end->code,
				    escaped, rs_row_ended(rs_session_end_source(server->session))),
		      false);
}

static void on_settled(void *data, uint32_t request, int ret,
		       const struct rs_session_result *result, const struct rs_error *err)
{
	rs_server_settle(data, request, ret, result, err);
}

/* ---- peers ---- */

/* The value of one property, or of all. */
static void serve_properties(struct rs_server *server, GDBusMethodInvocation *invocation)
{
	g_autoptr(GVariant) all = g_variant_ref_sink(g_dbus_interface_skeleton_get_properties(
		G_DBUS_INTERFACE_SKELETON(server->skeleton)));
	const GDBusPropertyInfo *one = g_dbus_method_invocation_get_property_info(invocation);
	g_autoptr(GVariant) value = one ? g_variant_lookup_value(all, one->name, NULL) : NULL;

	/* GDBus has refused what is no property, and to set one. */
	g_dbus_method_invocation_return_value(invocation, one ? g_variant_new("(v)", value)
							      : g_variant_new("(@a{sv})", all));
}

/* A call whose turn it is. */
static void serve(void *data, GDBusMethodInvocation *invocation)
{
	struct rs_server *server = data;
	const char *interface = g_dbus_method_invocation_get_interface_name(invocation);
	const GDBusInterfaceVTable *vtable =
		g_dbus_interface_skeleton_get_vtable(G_DBUS_INTERFACE_SKELETON(server->skeleton));

	if (server->over) {
		struct rs_error err = {.code = ESHUTDOWN, .message = "the session has ended"};

		rs_server_give_error(invocation, &err);
		return;
	}
	if (!g_str_equal(interface, INTERFACE)) {
		serve_properties(server, invocation);
		return;
	}
	vtable->method_call(g_dbus_method_invocation_get_connection(invocation), NULL, OBJECT_PATH,
			    interface, g_dbus_method_invocation_get_method_name(invocation),
			    g_dbus_method_invocation_get_parameters(invocation), invocation,
			    server->skeleton);
}

static bool on_joined(void *data, GDBusConnection *connection)
{
	struct rs_server *server = data;
	/* Requests by glob are not dear: what they cause is worked out in turns. */
	static const char *const dear[] = {"Format", "List", "ListProviders", "Sites", NULL};
	static struct rs_calls_object session = {.dear = dear, .serve = serve};
	g_autoptr(GError) error = NULL;

	session.info = rs_dbus_session1_interface_info();
	if (!rs_calls_export(server->calls, connection, OBJECT_PATH, &session, server, &error)) {
		g_warning("a peer cannot be served: %s", error->message);
		return false;
	}
	rs_hello_export(server->calls, connection);
	return true;
}

static void on_left(void *data, GDBusConnection *connection)
{
	struct rs_server *server = data;

	if (server->claimed == connection)
		server->claimed = NULL;
	rs_calls_drop(server->calls, connection);
	rs_server_refuse_calls(server, connection);
	rs_engine_drop_owner(server->session, connection);
	rs_server_drop_peer(server, connection);
}

static void connect_methods(struct rs_server *server)
{
	static const struct {
		const char *signal;
		GCallback callback;
	} handlers[] = {
		{"handle-sources", G_CALLBACK(on_sources)},
		{"handle-list", G_CALLBACK(on_list)},
		{"handle-list-providers", G_CALLBACK(on_list_providers)},
		{"handle-sites", G_CALLBACK(on_sites)},
		{"handle-format", G_CALLBACK(on_format)},
		{"handle-stat", G_CALLBACK(on_stat)},
		{"handle-pause", G_CALLBACK(on_pause)},
		{"handle-resume", G_CALLBACK(on_resume)},
		{"handle-set-ring-mode", G_CALLBACK(on_set_ring_mode)},
		{"handle-set-ring-size", G_CALLBACK(on_set_ring_size)},
		{"handle-set-frozen", G_CALLBACK(on_set_frozen)},
		{"handle-clear-rings", G_CALLBACK(on_clear_rings)},
		{"handle-stop", G_CALLBACK(on_stop)},
		{"handle-claim", G_CALLBACK(on_claim)},
		{"handle-release", G_CALLBACK(on_release)},
		{"handle-open-region", G_CALLBACK(on_open_region)},
		{"handle-open-program", G_CALLBACK(on_open_program)},
	};

	rs_server_connect_wishes(server);
	rs_server_connect_ktrace(server);
	rs_server_connect_guest_command(server);
	rs_server_connect_inject(server);
	rs_server_connect_triggers(server);
	rs_server_connect_threads(server);
	rs_server_connect_engines(server);
	rs_server_connect_examine(server);
	for (size_t i = 0; i < G_N_ELEMENTS(handlers); i++)
		g_signal_connect(server->skeleton, handlers[i].signal, handlers[i].callback,
				 server);
}

int rs_server_create(struct rs_session *session, const char *path, struct rs_server **out,
		     struct rs_error *err)
{
	struct rs_server *server = g_new0(struct rs_server, 1);
	const struct rs_peers_config peers = {.data = server, .joined = on_joined, .left = on_left};
	int ret;

	rs_trace_session_error_quark();
	server->session = session;
	server->bonds = rs_server_bonds_new();
	server->saved = rs_server_saved_new();
	server->calls = rs_calls_new();
	server->skeleton = rs_dbus_session1_skeleton_new();
	rs_dbus_session1_set_name(server->skeleton, rs_session_name(session));
	rs_dbus_session1_set_version(server->skeleton, RS_VERSION);
	update_properties(server);
	connect_methods(server);
	server->listener = (struct rs_session_listener){.data = server,
							.changed = on_changed,
							.engine = on_engine,
							.hello = on_hello,
							.settled = on_settled,
							.ended = on_ended};
	rs_session_add_listener(session, &server->listener);
	ret = rs_peers_create(path, &peers, &server->peers, err);
	if (ret) {
		rs_server_destroy(server);
		return ret;
	}
	*out = server;
	return 0;
}

void rs_server_destroy(struct rs_server *server)
{
	if (!server)
		return;
	rs_session_remove_listener(server->session, &server->listener);
	drop_later(server);
	rs_server_refuse_calls(server, NULL);
	server->over = true;
	while (rs_calls_step(server->calls))
		;
	rs_calls_free(server->calls);
	rs_peers_destroy(server->peers);
	g_array_unref(server->bonds);
	g_hash_table_unref(server->saved);
	g_object_unref(server->skeleton);
	g_free(server);
}
