/* SPDX-License-Identifier: MIT */
/* Ktrace: what peers ask of the guests' agents, which answer late. */
#include "server/private.h"

#include "server/rows.h"
#include "session/commands.h"
#include <errno.h>
#include <rs-trace-session-error.h>
#include <string.h>

/* A call that waits for agents. */
struct ktrace_call {
	struct rs_server_call call;
	guint left;          /* sources that have not answered */
	guint changed;       /* processes, in all sources */
	guint done;          /* sources that did it */
	struct rs_error err; /* why not, if none does it: of the source that came furthest */
	GPtrArray *problems; /* of char *: what is wrong even if another source does it */
};

static GVariant *more_of(const struct ktrace_call *call)
{
	GVariantBuilder more;

	g_variant_builder_init(&more, G_VARIANT_TYPE_VARDICT);
	if (call->problems->len)
		g_variant_builder_add(&more, "{sv}", "problems",
				      g_variant_new_strv((const char *const *)call->problems->pdata,
							 call->problems->len));
	return g_variant_builder_end(&more);
}

static void finish(struct ktrace_call *call)
{
	if (call->done)
		rs_dbus_session1_complete_ktrace(call->call.server->skeleton, call->call.invocation,
						 call->changed, more_of(call));
	else
		rs_server_give_error(call->call.invocation, &call->err);
	rs_server_call_end(&call->call);
}

/*
 * Of several sources most have no such process, and some take no commands. That is no problem if
 * another one does what is asked for. If none does, the latter say less than any other failure.
 */
static void note_failure(struct ktrace_call *call, const struct rs_error *err)
{
	if (!call->err.code || (call->err.code == ENOTSUP && err->code != ENOTSUP))
		call->err = *err;
	if (err->code != ESRCH && err->code != ENOTSUP)
		g_ptr_array_add(call->problems, g_strdup(err->message));
}

static void on_answer(void *data, int ret, const struct rs_command_result *result,
		      const struct rs_error *err)
{
	struct ktrace_call *call = data;
	struct rs_error why = {0};

	call->left--;
	if (ret) {
		note_failure(call, err);
	} else if (result->result < 0) {
		rs_command_explain(result->result, &why);
		note_failure(call, &why);
	} else {
		call->done++;
		/* It is what a guest claims: the sum stays one. */
		call->changed += MIN((guint)result->result, G_MAXUINT - call->changed);
	}
	if (!call->left)
		finish(call);
}

static void fini(struct rs_server_call *base)
{
	struct ktrace_call *call = (struct ktrace_call *)base;
	const struct rs_session *session = base->server->session;

	for (guint i = 0; call->left && i < rs_session_n_sources(session); i++)
		rs_source_drop_commands(rs_session_source(session, i), call);
	g_ptr_array_unref(call->problems);
}

/* To one source, or to all that are not over. */
static gboolean send(struct rs_server *server, GDBusMethodInvocation *invocation,
		     struct rs_source *only, const struct rs_source_command *command)
{
	struct ktrace_call *call = g_new0(struct ktrace_call, 1);

	call->problems = g_ptr_array_new_with_free_func(g_free);
	rs_server_call_begin(&call->call, server, invocation, fini);
	for (guint i = 0; i < rs_session_n_sources(server->session); i++) {
		struct rs_source *source = rs_session_source(server->session, i);
		struct rs_error err = {0};

		if ((only && source != only) || (!only && rs_source_end(source)))
			continue;
		if (rs_source_send_command(source, command, on_answer, call, &err))
			note_failure(call, &err);
		else
			call->left++;
	}
	if (call->left)
		return TRUE;
	if (!call->err.code)
		rs_error_set(&call->err, ESHUTDOWN, "the session has ended");
	finish(call);
	return TRUE;
}

/* ---- methods ---- */

static gboolean on_ktrace(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			  const char *operation, guint facilities, int pid, GVariant *options,
			  gpointer data)
{
	static const char *const operations[] = {[RS_KTROP_SET] = "set",
						 [RS_KTROP_CLEAR] = "clear",
						 [RS_KTROP_CLEARALL] = "clear-all"};
	struct rs_source_command command = {.number = RS_CMD_KTRACE};
	struct rs_source *source = NULL;
	gboolean descend = FALSE;
	struct rs_error err = {0};

	if (!rs_server_take_source_and(data, invocation, options, &source, "descend", &descend) ||
	    !rs_server_is_free(data, invocation))
		return TRUE;
	command.args[0] = G_N_ELEMENTS(operations);
	for (guint i = 0; i < G_N_ELEMENTS(operations); i++)
		if (strcmp(operations[i], operation) == 0)
			command.args[0] = i;
	if (command.args[0] == G_N_ELEMENTS(operations)) {
		rs_error_set(&err, EINVAL, "the operation is 'set', 'clear' or 'clear-all'");
		return rs_server_give_error(invocation, &err);
	}
	command.args[1] = facilities;
	command.args[2] = (uint64_t)(int64_t)pid;
	command.args[3] = descend ? RS_KTROP_DESCEND : 0;
	return send(data, invocation, source, &command);
}

void rs_server_connect_ktrace(struct rs_server *server)
{
	g_signal_connect(server->skeleton, "handle-ktrace", G_CALLBACK(on_ktrace), server);
}
