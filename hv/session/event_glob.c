/* SPDX-License-Identifier: MIT */
#include "session/event_glob.h"

#include <errno.h>
#include <ringside/types.h>
#include <rs-trace-escape.h>
#include <string.h>

/* ---- the selection ---- */

static int refuse(struct rs_error *err, const char *text, const char *what)
{
	g_autofree char *shown = rs_trace_escape(text, -1, NULL);

	return rs_error_set(err, EINVAL, "'%s' is %s", shown, what);
}

static int take_level(struct rs_event_glob *glob, const char *value, struct rs_error *err)
{
	if (value[0] < '1' || value[0] > '5' || value[1])
		return refuse(err, value, "no level: 1 (critical) to 5 (verbose)");
	glob->level = (uint32_t)(value[0] - '0');
	return 0;
}

/* g_ascii_string_to_unsigned() takes no "0x", but it takes "\v6". */
static int take_mask(uint64_t *mask, const char *value, struct rs_error *err)
{
	const bool hex = g_ascii_strncasecmp(value, "0x", 2) == 0;
	guint64 number;

	if (!g_ascii_isxdigit(value[hex ? 2 : 0]) ||
	    !g_ascii_string_to_unsigned(value + (hex ? 2 : 0), hex ? 16 : 10, 1, G_MAXUINT64,
					&number, NULL) ||
	    (hex && g_ascii_strncasecmp(value + 2, "0x", 2) == 0))
		return refuse(err, value, "no mask of keywords, such as 6 or 0x6; it has 64 bits");
	*mask = number;
	return 0;
}

static int take_term(struct rs_event_glob *glob, const char *term, struct rs_error *err)
{
	const char *value = strchr(term, '=');
	g_autofree char *key = g_strndup(term, value ? (gsize)(value - term) : strlen(term));
	const bool level = strcmp(key, "level") == 0, any = strcmp(key, "keyword") == 0;

	if (!value || (!level && !any && strcmp(key, "keyword-all") != 0))
		return refuse(err, term,
			      "no selection of events: level=N, keyword=MASK or keyword-all=MASK");
	if (level ? glob->level : any ? glob->keyword_any : glob->keyword_all)
		return rs_error_set(err, EINVAL, "%s is given twice", key);
	if (level)
		return take_level(glob, value + 1, err);
	return take_mask(any ? &glob->keyword_any : &glob->keyword_all, value + 1, err);
}

static int take_selection(struct rs_event_glob *glob, const char *text, struct rs_error *err)
{
	g_auto(GStrv) terms = g_strsplit(text, ",", 4);
	int ret = terms[0] ? 0 : refuse(err, text, "no selection of events");

	for (char **term = terms; *term && !ret; term++)
		ret = take_term(glob, *term, err);
	return ret;
}

int rs_event_glob_check(const char *text, struct rs_error *err)
{
	const char *at = strchr(text, RS_EVENT_GLOB_SELECT);
	struct rs_event_glob unused = {0};

	if (at == text)
		return rs_error_set(err, EINVAL, "an event glob is needed before the '@'");
	return at ? take_selection(&unused, at + 1, err) : 0;
}

/* What no name of a system or event has makes the glob match none. */
int rs_event_glob_check_names(const char *text, struct rs_error *err)
{
	const size_t size = strcspn(text, (char[]){RS_EVENT_GLOB_SELECT, 0});
	g_autofree char *names = g_strndup(text, size), *shown = NULL;
	const char *at = strchr(names, '/');
	guint colons = 0;

	for (at = at ? at + 1 : names; *at; at++) {
		const char *end = *at == '[' ? strchr(at + 1, ']') : NULL;

		if (end)
			at = end;
		else if (*at == ':' && !colons)
			colons++;
		else if (!g_ascii_isalnum(*at) && !strchr("_-.*?\\", *at))
			break;
	}
	if (!*at)
		return 0;
	shown = rs_trace_escape(text, -1, NULL);
	return rs_error_set(err, EINVAL, "no event can have a name that '%s' matches", shown);
}

/* An event of which something is asked that it does not have is not selected. */
static bool is_selected(const struct rs_event_glob *glob, const RsTraceEvent *event)
{
	if (glob->level && (event->level < 1 || event->level > glob->level))
		return false;
	if (glob->keyword_any && !(event->keyword & glob->keyword_any))
		return false;
	return (event->keyword & glob->keyword_all) == glob->keyword_all;
}

/* ---- the whole ---- */

struct rs_event_glob *rs_event_glob_new(const char *text)
{
	struct rs_event_glob *glob = g_new0(struct rs_event_glob, 1);
	const char *at = strchr(text, RS_EVENT_GLOB_SELECT);
	g_autofree char *names = at ? g_strndup(text, (gsize)(at - text)) : g_strdup(text);
	const char *slash = strchr(names, '/');

	if (at && take_selection(glob, at + 1, NULL))
		return glob;
	if (slash) {
		g_autofree char *source = g_strndup(names, (gsize)(slash - names));

		glob->source = rs_trace_glob_new(source);
		if (!glob->source)
			return glob;
	}
	glob->event = rs_trace_glob_new(slash ? slash + 1 : names);
	return glob;
}

void rs_event_glob_free(struct rs_event_glob *glob)
{
	if (!glob)
		return;
	rs_trace_glob_free(glob->source);
	rs_trace_glob_free(glob->event);
	g_free(glob);
}

bool rs_event_glob_matches(const struct rs_event_glob *glob, const char *source,
			   const RsTraceEvent *event)
{
	return glob->event && is_selected(glob, event) &&
	       (!glob->source || rs_trace_glob_matches(glob->source, source)) &&
	       rs_trace_glob_matches_event(glob->event, event);
}
