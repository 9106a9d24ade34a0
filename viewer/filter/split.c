/* SPDX-License-Identifier: MIT */
#include "filter/filter.h"

#include <string.h>

/* Where the glob ends; NULL: there is none. */
static const char *find_end(const char *text)
{
	const char *colon = strstr(text, ": "), *quote = strchr(text, '"');

	/* A quote begins a string, which may have any bytes. Globs have none. */
	if (colon && (!quote || colon < quote))
		return colon;
	/* "GLOB:", or "SYSTEM:NAME:EXPR". */
	colon = strchr(text, ':');
	if (colon && colon[1])
		colon = strchr(colon + 1, ':');
	return colon && (!quote || colon < quote) ? colon : NULL;
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

bool rs_filter_is_none(const char *expression)
{
	return !*expression || strcmp(expression, "0") == 0;
}
