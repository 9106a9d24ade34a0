/* SPDX-License-Identifier: MIT */
#include "rs-trace-wish-private.h"

#include <string.h>

#define ALWAYS "CPU >= 0" /* each record has one */

char *rs_trace_wish_glob(const char *text)
{
	g_autofree char *glob = g_strstrip(g_strdup(text));
	gsize size = strlen(glob);
	const char *colon;

	if (size && glob[size - 1] == ':')
		glob[--size] = '\0';
	/* No expression is without a space or an operator, and no field has such characters. */
	if (!size || strpbrk(glob, " \t\n\"'&|=<>~()") || !strpbrk(glob, ":*?"))
		return NULL;
	colon = strchr(glob, ':');
	if (colon && strchr(colon + 1, ':'))
		return NULL;
	return g_strconcat(glob, ": " ALWAYS, NULL);
}

RsTraceSelection *rs_trace_wish_select(const char *const *filters, GError **error)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_auto(GStrv) wishes = NULL;
	RsTraceSelectionConfig config = {0};

	for (const char *const *filter = filters; filter && *filter; filter++) {
		g_autofree char *glob = rs_trace_wish_glob(*filter);

		g_strv_builder_add(builder, glob ? glob : *filter);
		config.only_filtered = TRUE;
	}
	wishes = g_strv_builder_end(builder);
	config.filters = (const char *const *)wishes;
	return rs_trace_selection_new(&config, error);
}
