/* SPDX-License-Identifier: MIT */
/* Threads: those of guests whose OS lets engines be attached. */
#include "server/private.h"

#include "server/rows.h"
#include <errno.h>
#include <string.h>

/* Of a session, in one answer. Others wait while it is made: some 80 ms. */
#define THREADS_MAX 4096u

struct threads_call {
	struct rs_server_call call;
	GPtrArray
		*sources; /* of struct rs_source, still to be asked; the last one is being asked */
	GVariantBuilder rows;
	struct rs_error err; /* of the first source that failed */
	uint32_t after;      /* the last thread that was told */
	guint n_rows;
	bool any; /* a source has answered */
	bool cut; /* there are more */
};

static void fini(struct rs_server_call *base)
{
	struct threads_call *call = (struct threads_call *)base;

	if (call->sources->len)
		rs_source_drop_commands(call->sources->pdata[call->sources->len - 1], call);
	g_ptr_array_unref(call->sources);
	g_variant_builder_clear(&call->rows);
}

static void ask_threads(struct threads_call *call);

static void add_thread(struct threads_call *call, const struct rs_source *source,
		       const struct rs_cmd_thread *thread)
{
	g_variant_builder_add_value(&call->rows, rs_row_thread(source, thread));
	call->n_rows++;
}

/*
 * Whether this source has more. The guest's threads must come in order, so that this ends. They may
 * be larger than ours, as it says.
 */
static bool add_threads(struct threads_call *call, const struct rs_source *source,
			const struct rs_command_result *result)
{
	const uint64_t stride = result->values[0];
	struct rs_cmd_thread thread;
	uint32_t at, more = 0;

	if (stride < sizeof(thread) || stride > RS_CMD_DATA)
		return false;
	for (at = 0; at + stride <= result->size; at += (uint32_t)stride, more++) {
		memcpy(&thread, result->data + at, sizeof(thread));
		thread.comm[sizeof(thread.comm) - 1] = 0;
		call->cut = call->n_rows >= THREADS_MAX;
		if (thread.id <= call->after || call->cut)
			return false;
		call->after = thread.id;
		add_thread(call, source, &thread);
	}
	return more >= RS_CMD_DATA / stride;
}

static void next_source(struct threads_call *call)
{
	g_ptr_array_set_size(call->sources, (gint)call->sources->len - 1);
	call->after = 0;
}

static void on_threads(void *data, int ret, const struct rs_command_result *result,
		       const struct rs_error *err)
{
	struct threads_call *call = data;
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
static void ask_threads(struct threads_call *call)
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
		rs_dbus_session1_complete_threads(
			call->call.server->skeleton, call->call.invocation,
			g_variant_builder_end(&call->rows), rs_row_threads(call->cut));
	else
		rs_server_give_error(call->call.invocation, &call->err);
	rs_server_call_end(&call->call);
}

static gboolean on_threads_asked(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_source *only = NULL;
	struct threads_call *call;

	if (!rs_server_take_source(server, invocation, options, &only))
		return TRUE;
	call = g_new0(struct threads_call, 1);
	call->sources = g_ptr_array_new();
	g_variant_builder_init(&call->rows, G_VARIANT_TYPE("aa{sv}"));
	rs_server_call_begin(&call->call, server, invocation, fini);
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
	for (GList *l = server->waiting.head; l; l = l->next) {
		struct rs_server_call *call = l->data;

		/* What was asked of it has failed by now. */
		if (call->fini == fini)
			g_ptr_array_remove(((struct threads_call *)call)->sources, source);
	}
}

void rs_server_connect_threads(struct rs_server *server)
{
	g_signal_connect(server->skeleton, "handle-threads", G_CALLBACK(on_threads_asked), server);
}
