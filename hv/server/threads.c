/* SPDX-License-Identifier: MIT */
/* Threads: those of guests whose OS lets engines be attached. */
#include "server/private.h"

#include "server/rows.h"
#include <errno.h>
#include <string.h>

/* Of a session, in one answer. Others wait while it is made: some 80 ms. */
#define THREADS_MAX 4096u

struct threads_call;

/* What one source says. */
struct part {
	struct threads_call *call;
	struct rs_source *source;
	GPtrArray *rows; /* of GVariant */
	uint32_t after;  /* the last thread that was told */
	bool asked;      /* it has not answered yet */
};

struct threads_call {
	struct rs_server_call call;
	GPtrArray *parts;    /* of struct part, in the order of sources */
	GPtrArray *problems; /* of char *: a source that others may do without */
	struct rs_error err; /* of the first source that failed */
	guint left;          /* parts that are asked */
	guint n_rows;
	bool any; /* a source has answered */
	bool cut; /* there are more */
};

static void part_free(gpointer data)
{
	struct part *part = data;

	if (part->asked)
		rs_source_drop_commands(part->source, part);
	g_ptr_array_unref(part->rows);
	g_free(part);
}

static void fini(struct rs_server_call *base)
{
	struct threads_call *call = (struct threads_call *)base;

	g_ptr_array_unref(call->parts);
	g_ptr_array_unref(call->problems);
}

/* ---- the answer ---- */

static GVariant *rows_of(const struct threads_call *call)
{
	GVariantBuilder rows;

	g_variant_builder_init(&rows, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < call->parts->len; i++) {
		const struct part *part = call->parts->pdata[i];

		for (guint k = 0; k < part->rows->len; k++)
			g_variant_builder_add_value(&rows, part->rows->pdata[k]);
	}
	return g_variant_builder_end(&rows);
}

static void finish(struct threads_call *call)
{
	if (call->any)
		rs_dbus_session1_complete_threads(call->call.server->skeleton,
						  call->call.invocation, rows_of(call),
						  rs_row_threads(call->cut, call->problems));
	else
		rs_server_give_error(call->call.invocation, &call->err);
	rs_server_call_end(&call->call);
}

/* A guest whose OS has no threads to show is no problem, if another one has. */
static void note_failure(struct threads_call *call, const struct rs_source *source,
			 const struct rs_error *err)
{
	if (!call->err.code || (call->err.code == ENOTSUP && err->code != ENOTSUP))
		call->err = *err;
	if (err->code != ENOTSUP)
		g_ptr_array_add(call->problems,
				g_strdup_printf("%s: %s", rs_source_name(source), err->message));
}

/* ---- one source ---- */

/*
 * Whether it has more. The guest's threads must come in order, so that this ends. They may be
 * larger than ours, as it says.
 */
static bool add_threads(struct part *part, const struct rs_command_result *result)
{
	const uint64_t stride = result->values[0];
	struct threads_call *call = part->call;
	struct rs_cmd_thread thread;
	uint32_t at, n = 0;

	if (stride < sizeof(thread) || stride > RS_CMD_DATA)
		return false;
	for (at = 0; at + stride <= result->size; at += (uint32_t)stride, n++) {
		memcpy(&thread, result->data + at, sizeof(thread));
		thread.comm[sizeof(thread.comm) - 1] = 0;
		call->cut = call->cut || call->n_rows >= THREADS_MAX;
		if (thread.id <= part->after || call->cut)
			return false;
		part->after = thread.id;
		g_ptr_array_add(part->rows,
				g_variant_ref_sink(rs_row_thread(part->source, &thread)));
		call->n_rows++;
	}
	return n >= RS_CMD_DATA / stride;
}

static void ask(struct part *part);

/* Whoever carries out no such command has no engines at all. */
static void explain(int32_t result, struct rs_error *why)
{
	if (result == -RS_ENOSYS)
		rs_error_set(why, ENOTSUP, "this guest has no engines");
	else
		rs_command_explain(result, why);
}

static void on_threads(void *data, int ret, const struct rs_command_result *result,
		       const struct rs_error *err)
{
	struct part *part = data;
	struct threads_call *call = part->call;
	struct rs_error why = {0};

	part->asked = false;
	call->left--;
	if (ret) {
		note_failure(call, part->source, err);
	} else if (result->result < 0) {
		explain(result->result, &why);
		note_failure(call, part->source, &why);
	} else {
		call->any = true;
		if (add_threads(part, result))
			ask(part);
	}
	if (!call->left)
		finish(call);
}

static void ask(struct part *part)
{
	const struct rs_source_command command = {.number = RS_CMD_THREADS, .args = {part->after}};
	struct rs_error err = {0};

	if (rs_source_send_command(part->source, &command, on_threads, part, &err)) {
		note_failure(part->call, part->source, &err);
		return;
	}
	part->asked = true;
	part->call->left++;
}

/* ---- the method ---- */

static void add_part(struct threads_call *call, struct rs_source *source)
{
	struct part *part = g_new0(struct part, 1);

	part->call = call;
	part->source = source;
	part->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
	g_ptr_array_add(call->parts, part);
	ask(part);
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
	call->parts = g_ptr_array_new_with_free_func(part_free);
	call->problems = g_ptr_array_new_with_free_func(g_free);
	rs_server_call_begin(&call->call, server, invocation, fini);
	for (guint i = 0; i < rs_session_n_sources(server->session); i++) {
		struct rs_source *source = rs_session_source(server->session, i);

		if ((only && source == only) || (!only && !rs_source_end(source)))
			add_part(call, source);
	}
	if (!call->parts->len)
		rs_error_set(&call->err, ESHUTDOWN, "the session has ended");
	if (!call->left)
		finish(call);
	return TRUE;
}

void rs_server_connect_threads(struct rs_server *server)
{
	g_signal_connect(server->skeleton, "handle-threads", G_CALLBACK(on_threads_asked), server);
}
