/* SPDX-License-Identifier: MIT */
/* EngineAttach, Control, SetEvents, List: the engines that peers have. A peer is its connection. */
#include "server/private.h"

#include "server/rows.h"
#include <errno.h>
#include <string.h>

/* A call that waits for a guest. */
struct engine_call {
	struct rs_server_call call;
	rs_server_give_engine give;
	bool sent; /* and not answered */
};

static void fini(struct rs_server_call *call)
{
	if (((struct engine_call *)call)->sent)
		rs_engine_drop_calls(call->server->session, call);
}

static struct engine_call *new_call(struct rs_server *server, GDBusMethodInvocation *invocation,
				    rs_server_give_engine give)
{
	struct engine_call *call = g_new0(struct engine_call, 1);

	call->give = give;
	call->sent = true;
	rs_server_call_begin(&call->call, server, invocation, fini);
	return call;
}

static void on_done(void *data, int ret, const struct rs_engine_info *engine,
		    const struct rs_command_result *result, const struct rs_error *err)
{
	struct engine_call *call = data;

	call->sent = false;
	if (ret) {
		rs_server_call_fail(&call->call, err);
		return;
	}
	call->give(call->call.server, call->call.invocation, engine, result);
	rs_server_call_end(&call->call);
}

/* It was not sent after all. */
static gboolean fail(struct engine_call *call, const struct rs_error *err)
{
	call->sent = false;
	rs_server_call_fail(&call->call, err);
	return TRUE;
}

gboolean rs_server_send_engine(struct rs_server *server, GDBusMethodInvocation *invocation,
			       guint engine, const struct rs_source_command *command,
			       rs_server_give_engine give)
{
	struct engine_call *call = new_call(server, invocation, give);
	struct rs_error err = {0};

	if (rs_engine_send(server->session, rs_server_peer(invocation), engine, command, on_done,
			   call, &err))
		return fail(call, &err);
	return TRUE;
}

void rs_server_give_done(struct rs_server *server, GDBusMethodInvocation *invocation,
			 const struct rs_engine_info *engine,
			 const struct rs_command_result *result)
{
	g_dbus_method_invocation_return_value(invocation,
					      g_variant_new("(@a{sv})", rs_row_empty()));
}

/* ---- attach, events ---- */

static void give_attached(struct rs_server *server, GDBusMethodInvocation *invocation,
			  const struct rs_engine_info *engine,
			  const struct rs_command_result *result)
{
	rs_dbus_session1_complete_engine_attach(server->skeleton, invocation, engine->number,
						rs_row_engine(engine));
}

/* Whether a thread can stop at each of them. If not, `err` is set. */
static void check_events(guint events, struct rs_error *err)
{
	if (events >> RS_UTRACE_EVENTS)
		rs_error_set(err, EINVAL, "there are no such events");
	else if (events & 1u << RS_UTRACE_EVENT_QUIESCE)
		rs_error_set(err, EINVAL,
			     "QUIESCE is no event of its own: EngineControl 'stop' stops a thread "
			     "at its next safe point");
	else if (events & RS_UTRACE_EVENT_NO_STOPS)
		rs_error_set(err, EINVAL,
			     "no thread stops at DEATH or REAP; EngineList tells of its end");
}

static gboolean on_attach(RsDBusSession1 *object, GDBusMethodInvocation *invocation, guint thread,
			  guint events, GVariant *options, gpointer data)
{
	struct rs_engine_wish wish = {.events = events};
	struct rs_server *server = data;
	struct rs_source *source = NULL;
	struct engine_call *call;
	struct rs_error err = {0};
	gboolean follow = FALSE;

	if (!rs_server_take_source_and(server, invocation, options, &source, "follow", &follow) ||
	    !rs_server_is_free(server, invocation))
		return TRUE;
	wish.flags = follow ? RS_ENGINE_FOLLOW : 0;
	if (!source && rs_session_n_sources(server->session) > 1)
		rs_error_set(&err, EINVAL, "a thread of which source? The session has several");
	else
		check_events(events, &err);
	if (err.code)
		return rs_server_give_error(invocation, &err);
	call = new_call(server, invocation, give_attached);
	if (rs_engine_attach(source ? source : rs_session_source(server->session, 0),
			     rs_server_peer(invocation), thread, &wish, on_done, call, &err))
		return fail(call, &err);
	return TRUE;
}

static gboolean on_set_events(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			      guint engine, guint events, GVariant *options, gpointer data)
{
	struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_EVENTS,
					    .args = {0, events}};
	struct rs_error err = {0};
	gboolean follow = FALSE;

	if (!rs_server_take_option(invocation, options, "follow", "b", &follow))
		return TRUE;
	check_events(events, &err);
	if (err.code)
		return rs_server_give_error(invocation, &err);
	command.args[2] = follow ? RS_ENGINE_FOLLOW : 0;
	return rs_server_send_engine(data, invocation, engine, &command, rs_server_give_done);
}

/* ---- control, list ---- */

static gboolean on_control(RsDBusSession1 *object, GDBusMethodInvocation *invocation, guint engine,
			   const char *action, GVariant *options, gpointer data)
{
	static const struct {
		const char *name;
		uint32_t action;
	} actions[] = {
		{"stop", RS_UTRACE_STOP},       {"interrupt", RS_UTRACE_INTERRUPT},
		{"step", RS_UTRACE_SINGLESTEP}, {"block-step", RS_UTRACE_BLOCKSTEP},
		{"resume", RS_UTRACE_RESUME},   {"detach", RS_UTRACE_DETACH},
	};
	struct rs_error err = {0};

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
		const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
							  .args = {0, actions[i].action}};

		if (strcmp(actions[i].name, action) == 0)
			return rs_server_send_engine(data, invocation, engine, &command,
						     rs_server_give_done);
	}
	rs_error_set(&err, EINVAL,
		     "the action is 'stop', 'interrupt', 'step', 'block-step', 'resume' or "
		     "'detach'");
	return rs_server_give_error(invocation, &err);
}

static gboolean on_list(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	const GDBusConnection *peer = rs_server_peer(invocation);
	const struct rs_engine_info *info;
	struct rs_engine_iter iter;
	GVariantBuilder rows;

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	g_variant_builder_init(&rows, G_VARIANT_TYPE("aa{sv}"));
	rs_engine_iter_init(&iter, server->session, peer);
	while ((info = rs_engine_iter_next(&iter)))
		g_variant_builder_add_value(&rows, rs_row_engine(info));
	rs_engine_forget_gone(server->session, peer);
	rs_dbus_session1_complete_engine_list(object, invocation, g_variant_builder_end(&rows),
					      rs_row_empty());
	return TRUE;
}

void rs_server_connect_engines(struct rs_server *server)
{
	static const struct {
		const char *signal;
		GCallback callback;
	} handlers[] = {
		{"handle-engine-attach", G_CALLBACK(on_attach)},
		{"handle-engine-set-events", G_CALLBACK(on_set_events)},
		{"handle-engine-control", G_CALLBACK(on_control)},
		{"handle-engine-list", G_CALLBACK(on_list)},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(handlers); i++)
		g_signal_connect(server->skeleton, handlers[i].signal, handlers[i].callback,
				 server);
}
