/* SPDX-License-Identifier: MIT */
/* Where the mistake of a filter is, for who types it. */
#include "document/rs-trace-document.h"
#include "filter/filter.h"
#include "rs-trace-wish-private.h"

#include <string.h>

static void set(guint *at, guint *length, char **message, guint where, guint size, const char *what)
{
	if (at)
		*at = where;
	if (length)
		*length = size;
	if (message)
		*message = g_utf8_make_valid(what, -1);
}

/* Behind the glob, if there is one. */
static guint find_expression(const char *text, const char *expression)
{
	const gsize size = strlen(text), part = strlen(expression);

	for (gsize at = size - MIN(part, size);; at--) {
		if (!strncmp(text + at, expression, part))
			return (guint)at;
		if (!at)
			return 0;
	}
}

/* What a selection refuses, other than an expression, has no place: it is all of the text. */
static gboolean check_all(const char *text, guint *at, guint *length, char **message)
{
	const char *const filters[] = {text, NULL};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSelection) selection = rs_trace_wish_select(filters, &error);

	if (!selection)
		set(at, length, message, 0, (guint)strlen(text), error->message);
	return !!selection;
}

gboolean rs_trace_document_check_filter(const char *text, guint *at, guint *length, char **message)
{
	g_autofree char *alone = rs_trace_wish_glob(text), *glob = NULL, *expression = NULL;
	struct rs_filter_error why = {0};

	if (alone)
		return check_all(text, at, length, message);
	if (!rs_filter_split(text, &glob, &expression))
		expression = g_strdup(text);
	if (*expression && rs_filter_check(expression, &why)) {
		set(at, length, message, find_expression(text, expression) + why.at, why.length,
		    why.message);
		return FALSE;
	}
	return check_all(text, at, length, message);
}
