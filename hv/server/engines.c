/* SPDX-License-Identifier: MIT */
/* Threads and Engine*: the engines that peers have in guests. A peer is its connection. */
#include "session/engines.h"

#include "server/private.h"
#include "server/rows.h"
#include <errno.h>
#include <ringside/registers.h>
#include <rs-trace-escape.h>
#include <rs-trace-session-error.h>
#include <string.h>

/* Of a session, in one answer. Others wait while it is made: some 80 ms. */
#define THREADS_MAX 4096u

/* A call that waits for a guest. */
struct engine_call {
	struct rs_server *server;
	GDBusMethodInvocation *invocation;
	/* Completes the invocation. */
	void (*give)(struct engine_call *call, const struct rs_engine_info *engine,
		     const struct rs_command_result *result);
	/* Threads: */
	GPtrArray
		*sources; /* of struct rs_source, still to be asked; the last one is being asked */
	GVariantBuilder rows;
	struct rs_error err; /* of the first source that failed */
	uint32_t after;      /* the last thread that was told */
	guint n_rows;
	bool any; /* a source has answered */
	bool cut; /* there are more */
};

static GDBusConnection *peer_of(GDBusMethodInvocation *invocation)
{
	return g_dbus_method_invocation_get_connection(invocation);
}

/* ---- the calls that wait ---- */

static void call_free(gpointer data)
{
	struct engine_call *call = data;
	const struct rs_session *session = call->server->session;

	rs_engine_drop_calls(call->server->session, call);
	for (guint i = 0; i < rs_session_n_sources(session); i++)
		rs_source_drop_commands(rs_session_source(session, i), call);
	if (call->sources) {
		g_ptr_array_unref(call->sources);
		g_variant_builder_clear(&call->rows);
	}
	g_free(call);
}

GPtrArray *rs_server_engine_calls_new(void)
{
	return g_ptr_array_new_with_free_func(call_free);
}

static struct engine_call *new_call(struct rs_server *server, GDBusMethodInvocation *invocation,
				    void (*give)(struct engine_call *call,
						 const struct rs_engine_info *engine,
						 const struct rs_command_result *result))
{
	struct engine_call *call = g_new0(struct engine_call, 1);

	*call = (struct engine_call){.server = server, .invocation = invocation, .give = give};
	g_ptr_array_add(server->engine_calls, call);
	return call;
}

static void end_call(struct engine_call *call)
{
	g_ptr_array_remove_fast(call->server->engine_calls, call);
}

void rs_server_refuse_engine_calls(struct rs_server *server, const GDBusConnection *connection)
{
	struct rs_error err = {0};

	rs_error_set(&err, ESHUTDOWN, "the session has ended");
	for (guint i = server->engine_calls->len; i-- > 0;) {
		const struct engine_call *call = server->engine_calls->pdata[i];

		if (connection && peer_of(call->invocation) != connection)
			continue;
		rs_server_give_error(call->invocation, &err);
		g_ptr_array_remove_index(server->engine_calls, i);
	}
}

static void on_done(void *data, int ret, const struct rs_engine_info *engine,
		    const struct rs_command_result *result, const struct rs_error *err)
{
	struct engine_call *call = data;

	if (ret)
		rs_server_give_error(call->invocation, err);
	else
		call->give(call, engine, result);
	end_call(call);
}

/*
 * For all methods about one engine. A claim of the session refuses none of them: the engine is the
 * peer's own, and its thread must not stay stopped for somebody else's claim.
 */
static gboolean send(struct rs_server *server, GDBusMethodInvocation *invocation, guint engine,
		     GVariant *options, const struct rs_source_command *command,
		     void (*give)(struct engine_call *call, const struct rs_engine_info *info,
				  const struct rs_command_result *result))
{
	struct engine_call *call;
	struct rs_error err = {0};

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	call = new_call(server, invocation, give);
	if (!rs_engine_send(server->session, peer_of(invocation), engine, command, on_done, call,
			    &err))
		return TRUE;
	rs_server_give_error(invocation, &err);
	end_call(call);
	return TRUE;
}

/* ---- Threads ---- */

static void ask_threads(struct engine_call *call);

static void add_thread(struct engine_call *call, const struct rs_source *source,
		       const struct rs_cmd_thread *thread)
{
	g_variant_builder_add_value(&call->rows, rs_row_thread(source, thread));
	call->n_rows++;
}

/* Whether this source has more. The guest's threads must come in order, so that this ends. */
static bool add_threads(struct engine_call *call, const struct rs_source *source,
			const struct rs_command_result *result)
{
	struct rs_cmd_thread thread;
	uint32_t at;

	for (at = 0; at + sizeof(thread) <= result->size; at += sizeof(thread)) {
		memcpy(&thread, result->data + at, sizeof(thread));
		thread.comm[sizeof(thread.comm) - 1] = 0;
		call->cut = call->n_rows >= THREADS_MAX;
		if (thread.id <= call->after || call->cut)
			return false;
		call->after = thread.id;
		add_thread(call, source, &thread);
	}
	return at >= RS_CMD_THREADS_MAX * sizeof(thread);
}

static void next_source(struct engine_call *call)
{
	g_ptr_array_set_size(call->sources, (gint)call->sources->len - 1);
	call->after = 0;
}

static void on_threads(void *data, int ret, const struct rs_command_result *result,
		       const struct rs_error *err)
{
	struct engine_call *call = data;
	const struct rs_source *source = call->sources->pdata[call->sources->len - 1];

	if (ret || result->result < 0) {
		if (!call->err.code && ret)
			call->err = *err;
		else if (!call->err.code)
			rs_command_explain(result->result, &call->err);
		next_source(call);
	} else {
		call->any = true;
		if (!add_threads(call, source, result))
			next_source(call);
	}
	ask_threads(call);
}

/* Asks the next source, or answers once there is none. */
static void ask_threads(struct engine_call *call)
{
	struct rs_source_command command = {.number = RS_CMD_THREADS, .args = {call->after}};
	struct rs_error err = {0};

	for (; call->sources->len; next_source(call)) {
		struct rs_source *source = call->sources->pdata[call->sources->len - 1];

		command.args[0] = call->after;
		if (!rs_source_send_command(source, &command, on_threads, call, &err))
			return;
		if (!call->err.code)
			call->err = err;
	}
	if (call->any)
		rs_dbus_session1_complete_threads(call->server->skeleton, call->invocation,
						  g_variant_builder_end(&call->rows),
						  rs_row_threads(call->cut));
	else
		rs_server_give_error(call->invocation, &call->err);
	end_call(call);
}

static gboolean on_threads_asked(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_source *only = NULL;
	struct engine_call *call;

	if (!rs_server_take_source(server, invocation, options, &only))
		return TRUE;
	call = new_call(server, invocation, NULL);
	call->sources = g_ptr_array_new();
	g_variant_builder_init(&call->rows, G_VARIANT_TYPE("aa{sv}"));
	/* The last one is asked first. */
	for (guint i = rs_session_n_sources(server->session); i-- > 0;) {
		struct rs_source *source = rs_session_source(server->session, i);

		if ((only && source == only) || (!only && !rs_source_end(source)))
			g_ptr_array_add(call->sources, source);
	}
	if (!call->sources->len)
		rs_error_set(&call->err, ESHUTDOWN, "the session has ended");
	ask_threads(call);
	return TRUE;
}

void rs_server_forget_source(struct rs_server *server, struct rs_source *source)
{
	for (guint i = 0; i < server->engine_calls->len; i++) {
		struct engine_call *call = server->engine_calls->pdata[i];

		/* What was asked of it has failed by now. */
		if (call->sources)
			g_ptr_array_remove(call->sources, source);
	}
}

/* ---- engines ---- */

static void give_attached(struct engine_call *call, const struct rs_engine_info *engine,
			  const struct rs_command_result *result)
{
	rs_dbus_session1_complete_engine_attach(call->server->skeleton, call->invocation,
						engine->number, rs_row_empty());
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
	struct rs_server *server = data;
	struct rs_source *source = NULL;
	struct engine_call *call;
	struct rs_error err = {0};

	if (!rs_server_take_source(server, invocation, options, &source) ||
	    !rs_server_is_free(server, invocation))
		return TRUE;
	if (!source && rs_session_n_sources(server->session) > 1)
		rs_error_set(&err, EINVAL, "a thread of which source? The session has several");
	else
		check_events(events, &err);
	if (err.code)
		return rs_server_give_error(invocation, &err);
	call = new_call(server, invocation, give_attached);
	if (!rs_engine_attach(source ? source : rs_session_source(server->session, 0),
			      peer_of(invocation), thread, events, on_done, call, &err))
		return TRUE;
	rs_server_give_error(invocation, &err);
	end_call(call);
	return TRUE;
}

static void give_controlled(struct engine_call *call, const struct rs_engine_info *engine,
			    const struct rs_command_result *result)
{
	rs_dbus_session1_complete_engine_control(call->server->skeleton, call->invocation,
						 rs_row_empty());
}

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

	for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
		const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
							  .args = {0, actions[i].action}};

		if (strcmp(actions[i].name, action) == 0)
			return send(data, invocation, engine, options, &command, give_controlled);
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
	const GDBusConnection *peer = peer_of(invocation);
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

static GVariant *numbers(const uint8_t *bytes, uint32_t count)
{
	return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT64, bytes, count, sizeof(uint64_t));
}

static void give_registers(struct engine_call *call, const struct rs_engine_info *engine,
			   const struct rs_command_result *result)
{
	const uint32_t words = result->size / 8;
	const uint32_t count = MIN((uint32_t)result->result, MIN(words, RS_REGISTERS_MAX));
	GVariantBuilder more;

	g_variant_builder_init(&more, G_VARIANT_TYPE_VARDICT);
	if (result->values[1] == 1 && words >= count) {
		g_variant_builder_add(&more, "{sv}", "syscall",
				      g_variant_new_uint64(result->values[2]));
		g_variant_builder_add(&more, "{sv}", "arguments",
				      numbers(result->data + count * 8,
					      (uint32_t)MIN(result->values[3], words - count)));
	}
	rs_dbus_session1_complete_engine_registers(call->server->skeleton, call->invocation,
						   numbers(result->data, count),
						   g_variant_builder_end(&more));
}

static gboolean on_registers(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			     guint engine, GVariant *options, gpointer data)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_REGISTERS};

	return send(data, invocation, engine, options, &command, give_registers);
}

static void give_registers_set(struct engine_call *call, const struct rs_engine_info *engine,
			       const struct rs_command_result *result)
{
	rs_dbus_session1_complete_engine_set_registers(call->server->skeleton, call->invocation,
						       rs_row_empty());
}

/* Copies at most `most` numbers. False: there are more, and the peer got an error. */
static bool take_numbers(GDBusMethodInvocation *invocation, GVariant *from, uint64_t *to,
			 gsize most, gsize *count)
{
	struct rs_error err = {0};
	gsize n;
	const guint64 *values = g_variant_get_fixed_array(from, &n, sizeof(guint64));

	if (n > most) {
		rs_error_set(&err, EINVAL, "%" G_GSIZE_FORMAT " numbers at most", most);
		return !rs_server_give_error(invocation, &err);
	}
	if (n)
		memcpy(to, values, n * sizeof(*to));
	*count = n;
	return true;
}

static gboolean on_set_registers(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 guint engine, GVariant *registers, guint64 mask, GVariant *options,
				 gpointer data)
{
	uint64_t values[RS_REGISTERS_MAX] = {0};
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_REGISTERS,
						  .args = {0, mask},
						  .data = values,
						  .size = sizeof(values)};
	struct rs_error err = {0};
	gsize count;

	if (!take_numbers(invocation, registers, values, RS_REGISTERS_MAX, &count))
		return TRUE;
	if (!mask || (count < 64 && mask >> count)) {
		rs_error_set(&err, EINVAL, "the mask names no register, or one that is not given");
		return rs_server_give_error(invocation, &err);
	}
	return send(data, invocation, engine, options, &command, give_registers_set);
}

static void give_syscall_set(struct engine_call *call, const struct rs_engine_info *engine,
			     const struct rs_command_result *result)
{
	rs_dbus_session1_complete_engine_set_syscall(call->server->skeleton, call->invocation,
						     rs_row_empty());
}

static gboolean on_set_syscall(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			       guint engine, guint64 number, GVariant *arguments, GVariant *options,
			       gpointer data)
{
	uint64_t values[6];
	struct rs_source_command command = {
		.number = RS_CMD_ENGINE_SET_SYSCALL, .args = {0, number}, .data = values};
	gsize count;

	if (!take_numbers(invocation, arguments, values, G_N_ELEMENTS(values), &count))
		return TRUE;
	command.args[2] = count;
	command.size = (uint32_t)(count * sizeof(*values));
	return send(data, invocation, engine, options, &command, give_syscall_set);
}

static void give_memory(struct engine_call *call, const struct rs_engine_info *engine,
			const struct rs_command_result *result)
{
	const uint32_t size = MIN((uint32_t)result->result, result->size);

	rs_dbus_session1_complete_engine_read_memory(
		call->server->skeleton, call->invocation,
		g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, result->data, size, 1),
		rs_row_empty());
}

static gboolean on_read_memory(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			       guint engine, guint64 address, guint size, GVariant *options,
			       gpointer data)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_MEMORY,
						  .args = {0, address, MIN(size, RS_CMD_DATA)}};

	return send(data, invocation, engine, options, &command, give_memory);
}

void rs_server_connect_engines(struct rs_server *server)
{
	static const struct {
		const char *signal;
		GCallback callback;
	} handlers[] = {
		{"handle-threads", G_CALLBACK(on_threads_asked)},
		{"handle-engine-attach", G_CALLBACK(on_attach)},
		{"handle-engine-control", G_CALLBACK(on_control)},
		{"handle-engine-list", G_CALLBACK(on_list)},
		{"handle-engine-registers", G_CALLBACK(on_registers)},
		{"handle-engine-set-registers", G_CALLBACK(on_set_registers)},
		{"handle-engine-set-syscall", G_CALLBACK(on_set_syscall)},
		{"handle-engine-read-memory", G_CALLBACK(on_read_memory)},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(handlers); i++)
		g_signal_connect(server->skeleton, handlers[i].signal, handlers[i].callback,
				 server);
}
