/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-domains.h"

#include "app/rs-viewer-sessions.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <string.h>

/* A daemon that says nothing is given up by the command before. */
#define PATIENCE_S 30
#define DOMAINS_MAX 4096u

RsViewerDomain *rs_viewer_domain_copy(const RsViewerDomain *domain)
{
	RsViewerDomain *copy = g_new0(RsViewerDomain, 1);

	copy->name = g_strdup(domain->name);
	copy->uuid = g_strdup(domain->uuid);
	copy->uri = g_strdup(domain->uri);
	copy->state = g_strdup(domain->state);
	copy->session = g_strdup(domain->session);
	copy->device = domain->device;
	return copy;
}

void rs_viewer_domain_free(RsViewerDomain *domain)
{
	if (!domain)
		return;
	g_free(domain->name);
	g_free(domain->uuid);
	g_free(domain->uri);
	g_free(domain->state);
	g_free(domain->session);
	g_free(domain);
}

/* The command beside our own program, or else the one that PATH finds; to be freed. */
static char *find_command(GError **error)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = g_path_get_dirname(self ? self : "");
	g_autofree char *beside = g_build_filename(folder, "ringside", NULL);
	char *found;

	if (self && g_file_test(beside, G_FILE_TEST_IS_EXECUTABLE))
		return g_steal_pointer(&beside);
	found = g_find_program_in_path("ringside");
	if (!found)
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
				    _("The command “ringside” is not installed"));
	return found;
}

/* What a command that failed has said, without its name. */
static void set_said(GError **error, const char *said)
{
	g_autofree char *text = g_strndup(said ? said : "", 2000);
	const char *begin =
		g_str_has_prefix(text, "ringside: ") ? text + strlen("ringside: ") : text;

	g_strchomp(text);
	g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED,
			    *begin ? begin : _("The command has failed"));
}

/* ---- the list ---- */

static const char *text_of(JsonObject *object, const char *name)
{
	return json_object_get_string_member_with_default(object, name, NULL);
}

static GPtrArray *read_list(const char *json, GError **error)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	g_autoptr(GPtrArray) list =
		g_ptr_array_new_with_free_func((GDestroyNotify)rs_viewer_domain_free);
	JsonNode *root, *member = NULL;
	JsonArray *array;

	if (!json_parser_load_from_data(parser, json, -1, error))
		return NULL;
	root = json_parser_get_root(parser);
	if (root && JSON_NODE_HOLDS_OBJECT(root))
		member = json_object_get_member(json_node_get_object(root), "domains");
	array = member && JSON_NODE_HOLDS_ARRAY(member) ? json_node_get_array(member) : NULL;
	for (guint i = 0; array && i < MIN(json_array_get_length(array), DOMAINS_MAX); i++) {
		JsonNode *node = json_array_get_element(array, i);
		JsonObject *object =
			JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
		RsViewerDomain *domain;

		if (!object || !text_of(object, "domain") || !text_of(object, "uuid"))
			continue;
		domain = g_new0(RsViewerDomain, 1);
		domain->name = g_strdup(text_of(object, "domain"));
		domain->uuid = g_strdup(text_of(object, "uuid"));
		domain->uri = g_strdup(text_of(json_node_get_object(root), "uri"));
		domain->state = g_strdup(text_of(object, "state"));
		domain->session = g_strdup(text_of(object, "session"));
		domain->device =
			json_object_get_boolean_member_with_default(object, "device", FALSE);
		g_ptr_array_add(list, domain);
	}
	return g_steal_pointer(&list);
}

static gboolean too_late(gpointer data)
{
	g_subprocess_force_exit(data);
	return G_SOURCE_REMOVE;
}

static void listed(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	g_autofree char *out = NULL, *said = NULL;
	GSubprocess *process = G_SUBPROCESS(object);
	GPtrArray *list = NULL;
	GError *error = NULL;

	g_source_destroy(g_task_get_task_data(task));
	if (!g_subprocess_communicate_utf8_finish(process, result, &out, &said, &error))
		g_subprocess_force_exit(process);
	else if (!g_subprocess_get_successful(process))
		set_said(&error, said);
	else
		list = read_list(out, &error);
	if (list)
		g_task_return_pointer(task, list, (GDestroyNotify)g_ptr_array_unref);
	else
		g_task_return_error(task, error);
}

void rs_viewer_domains_list_async(GCancellable *cancellable, GAsyncReadyCallback done,
				  gpointer data)
{
	g_autoptr(GTask) task = g_task_new(NULL, cancellable, done, data);
	g_autoptr(GSubprocess) process = NULL;
	GError *error = NULL;
	g_autofree char *command = find_command(&error);
	GSource *timer;

	if (command)
		process = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE |
						   G_SUBPROCESS_FLAGS_STDERR_PIPE,
					   &error, command, "prepare", "--list", "--json", NULL);
	if (!process) {
		g_task_return_error(task, error);
		return;
	}
	timer = g_timeout_source_new_seconds(PATIENCE_S);
	g_source_set_callback(timer, too_late, g_object_ref(process), g_object_unref);
	g_source_attach(timer, NULL);
	g_task_set_task_data(task, timer, (GDestroyNotify)g_source_unref);
	g_subprocess_communicate_utf8_async(process, NULL, cancellable, listed,
					    g_steal_pointer(&task));
}

GPtrArray *rs_viewer_domains_list_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}

/* ---- attaching ---- */

/* Of GSubprocess: the sessions that were started here. */
static GPtrArray *attached;

/* One that is to come. */
struct attach {
	char *mark; /* that is in how the session reaches its guest: "#UUID#" */
	GSubprocess *process;
	RsViewerSessions *sessions; /* NULL: nobody waits for it any more */
	gulong handler;
};

static void stop_looking(struct attach *attach)
{
	if (attach->sessions)
		g_signal_handler_disconnect(attach->sessions, attach->handler);
	g_clear_object(&attach->sessions);
}

static void free_attach(gpointer data)
{
	struct attach *attach = data;

	g_free(attach->mark);
	stop_looking(attach);
	g_clear_object(&attach->process);
	g_free(attach);
}

static void ended(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	struct attach *attach = g_task_get_task_data(task);
	g_autofree char *said = NULL;
	GError *error = NULL;

	g_subprocess_communicate_utf8_finish(G_SUBPROCESS(object), result, NULL, &said, NULL);
	g_ptr_array_remove(attached, object);
	if (!attach->sessions)
		return;
	stop_looking(attach);
	set_said(&error, said);
	g_task_return_error(task, error);
}

/* Whether the session is there. */
static void look(RsViewerSessions *sessions, GTask *task)
{
	struct attach *attach = g_task_get_task_data(task);
	const GPtrArray *list = rs_viewer_sessions_list(sessions);

	for (guint i = 0; i < list->len; i++) {
		const RsTraceRundirEntry *entry = list->pdata[i];
		const RsTraceRundirSource *source = rs_trace_rundir_entry_source(entry, 1);

		if (!entry->live || !source || !source->via || !strstr(source->via, attach->mark))
			continue;
		g_task_return_pointer(task, g_strdup(entry->name), g_free);
		stop_looking(attach);
		return;
	}
}

void rs_viewer_domains_attach_async(const RsViewerDomain *domain, GCancellable *cancellable,
				    GAsyncReadyCallback done, gpointer data)
{
	g_autoptr(GTask) task = g_task_new(NULL, cancellable, done, data);
	struct attach *attach = g_new0(struct attach, 1);
	GError *error = NULL;
	g_autofree char *command = find_command(&error);

	g_task_set_task_data(task, attach, free_attach);
	if (command)
		attach->process = g_subprocess_new(
			G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error,
			command, "attach", "--quiet", "--prepare", "-c", domain->uri, domain->uuid,
			NULL);
	if (!attach->process) {
		g_task_return_error(task, error);
		return;
	}
	if (!attached)
		attached = g_ptr_array_new_with_free_func(g_object_unref);
	g_ptr_array_add(attached, g_object_ref(attach->process));
	attach->mark = g_strdup_printf("#%s#", domain->uuid);
	attach->sessions = rs_viewer_sessions_new();
	attach->handler = g_signal_connect(attach->sessions, "changed", G_CALLBACK(look), task);
	/* Until the process ends, it keeps the task. */
	g_subprocess_communicate_utf8_async(attach->process, NULL, NULL, ended,
					    g_steal_pointer(&task));
}

char *rs_viewer_domains_attach_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}

void rs_viewer_domains_detach_all(void)
{
	for (guint i = 0; attached && i < attached->len; i++)
		g_subprocess_send_signal(attached->pdata[i], SIGINT);
}
