/* SPDX-License-Identifier: MIT */
/* The options of methods: those that one knows are taken, and any other is refused. */
#include "server/private.h"

#include <rs-trace-session-error.h>
#include <string.h>

static const struct rs_server_option *find(const struct rs_server_option *known, gsize n,
					   const char *name, GVariant *value)
{
	for (gsize i = 0; i < n; i++)
		if (strcmp(known[i].name, name) == 0 &&
		    strcmp(known[i].type, g_variant_get_type_string(value)) == 0)
			return &known[i];
	return NULL;
}

static void take(const struct rs_server_option *option, GVariant *value)
{
	if (strcmp(option->type, "s") == 0)
		*(const char **)option->out = g_variant_get_string(value, NULL);
	else
		g_variant_get(value, option->type, option->out);
	if (option->given)
		*option->given = TRUE;
}

bool rs_server_take_options(GDBusMethodInvocation *invocation, GVariant *options,
			    const struct rs_server_option *known, gsize n)
{
	const char *name;
	GVariantIter iter;
	GVariant *value;

	g_variant_iter_init(&iter, options);
	while (g_variant_iter_next(&iter, "{&sv}", &name, &value)) {
		const struct rs_server_option *option = find(known, n, name, value);

		if (option)
			take(option, value);
		g_variant_unref(value);
		if (option)
			continue;
		g_dbus_method_invocation_return_error(invocation, RS_TRACE_SESSION_ERROR,
						      RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
						      "option '%s' is not known here", name);
		return false;
	}
	return true;
}

bool rs_server_refuse_options(GDBusMethodInvocation *invocation, GVariant *options)
{
	return !rs_server_take_options(invocation, options, NULL, 0);
}

bool rs_server_take_option(GDBusMethodInvocation *invocation, GVariant *options, const char *known,
			   const char *type, void *out)
{
	const struct rs_server_option option = {known, type, out, NULL};

	return rs_server_take_options(invocation, options, &option, 1);
}

bool rs_server_take_source_and(struct rs_server *server, GDBusMethodInvocation *invocation,
			       GVariant *options, struct rs_source **out, const char *flag,
			       gboolean *set)
{
	gboolean given = FALSE;
	guint32 number = 0;
	const struct rs_server_option known[] = {{"source", "u", &number, &given},
						 {flag, "b", set, NULL}};

	return rs_server_take_options(invocation, options, known, flag ? 2 : 1) &&
	       (!given || rs_server_find_source(server, invocation, number, out));
}

bool rs_server_take_source(struct rs_server *server, GDBusMethodInvocation *invocation,
			   GVariant *options, struct rs_source **out)
{
	return rs_server_take_source_and(server, invocation, options, out, NULL, NULL);
}
