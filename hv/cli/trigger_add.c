/* SPDX-License-Identifier: MIT */
#include "cli/trigger_add.h"

#include "cli/input.h"
#include "cli/verb.h"

/* A path is the client's, and the session may be in another folder. To be freed. */
static char *format(const struct rs_trigger_action *action)
{
	struct rs_trigger_action whole = *action;
	g_autofree char *path = NULL;

	if (action->act == RS_TRIGGER_SNAPSHOT)
		whole.arg = path =
			g_canonicalize_filename(action->arg ? action->arg : RS_CLI_TRACE, NULL);
	return rs_trigger_action_format(&whole);
}

guint32 rs_cli_add_trigger(RsDBusSession1 *session, const struct rs_trigger_text *text, bool ahead,
			   bool *part, GError **error)
{
	g_autoptr(GPtrArray) actions = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) problems = NULL;
	GVariantDict options;
	guint32 number;

	for (guint i = 0; i < text->actions->len; i++)
		g_ptr_array_add(actions,
				format(&g_array_index(text->actions, struct rs_trigger_action, i)));
	g_ptr_array_add(actions, NULL);
	g_variant_dict_init(&options, NULL);
	if (text->count)
		g_variant_dict_insert(&options, "count", "u", (guint32)text->count);
	if (ahead)
		g_variant_dict_insert(&options, "ahead", "b", TRUE);
	if (!rs_dbus_session1_call_add_trigger_sync(
		    session, text->glob, text->expression ? text->expression : "",
		    (const char *const *)actions->pdata, g_variant_dict_end(&options), &number,
		    &problems, NULL, NULL, error))
		return 0;
	*part |= rs_cli_tell_problems(problems);
	return number;
}
