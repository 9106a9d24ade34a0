/* SPDX-License-Identifier: MIT */
/* AddTrigger, RemoveTrigger and ListTriggers. */
#include "server/private.h"

#include "server/rows.h"
#include "session/triggers.h"
#include <errno.h>

/* The session's folder is not the peer's. */
static int check_paths(const struct rs_trigger_text *text, struct rs_error *err)
{
	for (guint i = 0; i < text->actions->len; i++) {
		const struct rs_trigger_action *action =
			&g_array_index(text->actions, struct rs_trigger_action, i);

		if (action->act == RS_TRIGGER_SNAPSHOT && (!action->arg || *action->arg != '/'))
			return rs_error_set(err, EINVAL, "snapshot=: a path from '/' on is due");
	}
	return 0;
}

static void give(GDBusMethodInvocation *invocation, const struct rs_session_result *result,
		 uint32_t number)
{
	g_auto(GStrv) problems = rs_server_problems(result);

	g_dbus_method_invocation_return_value(
		invocation, g_variant_new("(u^as@a{sv})", number, problems, rs_row_empty()));
}

static gboolean on_add(RsDBusSession1 *object, GDBusMethodInvocation *invocation, const char *glob,
		       const char *expression, const char *const *actions, GVariant *options,
		       gpointer data)
{
	struct rs_session_result result = {0};
	struct rs_server *server = data;
	struct rs_trigger_text *text = NULL;
	gboolean ahead = FALSE;
	struct rs_error err = {0};
	guint32 count = 0;
	uint32_t number;
	const struct rs_server_option known[] = {{"count", "u", &count, NULL},
						 {"ahead", "b", &ahead, NULL}};
	int ret;

	if (!rs_server_take_options(invocation, options, known, G_N_ELEMENTS(known)) ||
	    !rs_server_is_free(server, invocation))
		return TRUE;
	ret = rs_trigger_text_new(glob, expression, actions, count, &text, &err);
	if (!ret)
		ret = check_paths(text, &err);
	if (!ret)
		ret = rs_session_add_trigger(server->session, text, ahead, &number, &result, &err);
	if (ret) {
		rs_trigger_text_free(text);
		return rs_server_give_error(invocation, &err);
	}
	rs_server_answer(server, invocation, &result, give, number);
	rs_session_result_clear(&result);
	return TRUE;
}

static gboolean on_remove(RsDBusSession1 *object, GDBusMethodInvocation *invocation, guint number,
			  GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_error err = {0};

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	if (rs_session_remove_trigger(server->session, number, &err)) {
		rs_error_set(&err, EINVAL, "there is no trigger %u", number);
		return rs_server_give_error(invocation, &err);
	}
	rs_dbus_session1_complete_remove_trigger(object, invocation, rs_row_empty());
	return TRUE;
}

static gboolean on_list(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	g_autoptr(GArray) list = NULL;
	GVariantBuilder rows;

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	list = rs_session_list_triggers(server->session);
	g_variant_builder_init(&rows, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < list->len; i++)
		g_variant_builder_add_value(
			&rows, rs_row_trigger(&g_array_index(list, struct rs_trigger_info, i)));
	rs_dbus_session1_complete_list_triggers(object, invocation, g_variant_builder_end(&rows),
						rs_row_triggers(server->session));
	return TRUE;
}

void rs_server_connect_triggers(struct rs_server *server)
{
	g_signal_connect(server->skeleton, "handle-add-trigger", G_CALLBACK(on_add), server);
	g_signal_connect(server->skeleton, "handle-remove-trigger", G_CALLBACK(on_remove), server);
	g_signal_connect(server->skeleton, "handle-list-triggers", G_CALLBACK(on_list), server);
}
