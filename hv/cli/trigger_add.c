/* SPDX-License-Identifier: MIT */
#include "cli/trigger_add.h"

#include "cli/input.h"
#include <string.h>

#define SNAPSHOT "snapshot"

/* A path is the client's, and the session may be in another folder. To be freed. */
static char *complete(const char *action)
{
	const char *path = RS_CLI_TRACE;
	g_autofree char *whole = NULL;

	if (g_str_has_prefix(action, SNAPSHOT "=") && action[strlen(SNAPSHOT "=")])
		path = action + strlen(SNAPSHOT "=");
	else if (!g_str_equal(action, SNAPSHOT))
		return g_strdup(action);
	whole = g_canonicalize_filename(path, NULL);
	return g_strconcat(SNAPSHOT "=", whole, NULL);
}

guint32 rs_cli_add_trigger(RsDBusSession1 *session, const char *event, char **actions,
			   guint32 count, bool ahead, GError **error)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_auto(GStrv) all = NULL;
	GVariantDict options;
	guint32 number;

	for (; *actions; actions++) {
		g_autofree char *action = complete(*actions);

		g_strv_builder_add(builder, action);
	}
	all = g_strv_builder_end(builder);
	g_variant_dict_init(&options, NULL);
	if (count)
		g_variant_dict_insert(&options, "count", "u", count);
	if (ahead)
		g_variant_dict_insert(&options, "ahead", "b", TRUE);
	return rs_dbus_session1_call_add_trigger_sync(session, event, (const char *const *)all,
						      g_variant_dict_end(&options), &number, NULL,
						      NULL, error)
		       ? number
		       : 0;
}
