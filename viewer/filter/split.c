/* SPDX-License-Identifier: MIT */
#include "filter/filter.h"
#include "filter/rs-trace-event-glob.h"

#include <string.h>

/* Whether the first `size` bytes are a glob, as far as the names tell. */
static bool is_glob(const char *text, gsize size)
{
	g_autofree char *glob = g_strstrip(g_strndup(text, size));
	g_autofree char *wrong = rs_trace_event_glob_misnamed(glob);

	return *glob && !wrong;
}

/* Where the glob ends; NULL: there is none. */
static const char *find_end(const char *text)
{
	const char *colon = strstr(text, ": "), *quote = strchr(text, '"');
	const gsize size = strlen(text);

	/* A quote begins a string, which may have any bytes. Globs have none. */
	if (colon && (!quote || colon < quote))
		return colon;
	/* "GLOB:" */
	if (size && text[size - 1] == ':' && is_glob(text, size - 1))
		return text + size - 1;
	/* "SYSTEM:NAME:EXPR". A list has such colons of its own. */
	colon = strchr(text, ':');
	if (colon)
		colon = strchr(colon + 1, ':');
	if (!colon || (quote && quote < colon) || strcspn(text, ",@") < (gsize)(colon - text))
		return NULL;
	return colon;
}

bool rs_filter_split(const char *text, char **glob, char **expression)
{
	const char *end;

	*glob = *expression = NULL;
	/* An expression may have colons, too. */
	if (!rs_filter_check(text, NULL)) {
		*expression = g_strdup(text);
		return true;
	}
	end = find_end(text);
	if (!end || end == text)
		return false;
	*glob = g_strstrip(g_strndup(text, (gsize)(end - text)));
	*expression = g_strstrip(g_strdup(end + 1));
	if (rs_filter_is_none(*expression))
		**expression = '\0';
	return true;
}

void rs_filter_split_event(const char *text, char **glob, char **expression)
{
	g_autofree char *plain = g_strstrip(g_strdup(text));

	if (!rs_filter_split(plain, glob, expression) || !*glob) {
		char **alone = is_glob(plain, strlen(plain)) ? glob : expression;

		g_clear_pointer(expression, g_free);
		*alone = g_steal_pointer(&plain);
	}
	if (*expression && !**expression)
		g_clear_pointer(expression, g_free);
}

bool rs_filter_is_none(const char *expression)
{
	return !*expression || strcmp(expression, "0") == 0;
}
