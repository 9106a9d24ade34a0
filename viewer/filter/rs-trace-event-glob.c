/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-event-glob.h"

#include "rs-trace-error.h"
#include "rs-trace-escape.h"
#include "rs-trace-glob.h"

#include <string.h>

struct _RsTraceEventGlob {
	char *text;
	RsTraceGlob *source; /* NULL: events of any source */
	RsTraceGlob *event;  /* NULL: the text is wrong or too long, and nothing matches */
	guint level;         /* 0: any */
	guint64 keyword_any, keyword_all; /* 0: any */
};

/* ---- the selection ---- */

static gboolean refuse(GError **error, const char *text, const char *what)
{
	g_autofree char *shown = rs_trace_escape(text, -1, NULL);

	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION, "'%s' is %s", shown, what);
	return FALSE;
}

static gboolean take_level(RsTraceEventGlob *glob, const char *value, GError **error)
{
	if (value[0] < '1' || value[0] > '5' || value[1])
		return refuse(error, value, "no level: 1 (critical) to 5 (verbose)");
	glob->level = (guint)(value[0] - '0');
	return TRUE;
}

/* g_ascii_string_to_unsigned() takes no "0x", but it takes "\v6". */
static gboolean take_mask(guint64 *mask, const char *value, GError **error)
{
	const gboolean hex = g_ascii_strncasecmp(value, "0x", 2) == 0;
	guint64 number;

	if (!g_ascii_isxdigit(value[hex ? 2 : 0]) ||
	    !g_ascii_string_to_unsigned(value + (hex ? 2 : 0), hex ? 16 : 10, 1, G_MAXUINT64,
					&number, NULL) ||
	    (hex && g_ascii_strncasecmp(value + 2, "0x", 2) == 0))
		return refuse(error, value,
			      "no mask of keywords, such as 6 or 0x6; it has 64 bits");
	*mask = number;
	return TRUE;
}

static gboolean take_term(RsTraceEventGlob *glob, const char *term, GError **error)
{
	const char *value = strchr(term, '=');
	g_autofree char *key = g_strndup(term, value ? (gsize)(value - term) : strlen(term));
	const gboolean level = strcmp(key, "level") == 0, any = strcmp(key, "keyword") == 0;

	if (!value || (!level && !any && strcmp(key, "keyword-all") != 0))
		return refuse(error, term,
			      "no selection of events: level=N, keyword=MASK or keyword-all=MASK");
	if (level ? glob->level : any ? glob->keyword_any : glob->keyword_all) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION, "%s is given twice",
			    key);
		return FALSE;
	}
	if (level)
		return take_level(glob, value + 1, error);
	return take_mask(any ? &glob->keyword_any : &glob->keyword_all, value + 1, error);
}

static gboolean take_selection(RsTraceEventGlob *glob, const char *text, GError **error)
{
	g_auto(GStrv) terms = g_strsplit(text, ",", 4);
	gboolean good = terms[0] || refuse(error, text, "no selection of events");

	for (char **term = terms; *term && good; term++)
		good = take_term(glob, *term, error);
	return good;
}

/* An event of which something is asked that it does not have is not selected. */
static gboolean is_selected(const RsTraceEventGlob *glob, const RsTraceEvent *event)
{
	if (glob->level && (event->level < 1 || event->level > glob->level))
		return FALSE;
	if (glob->keyword_any && !(event->keyword & glob->keyword_any))
		return FALSE;
	return (event->keyword & glob->keyword_all) == glob->keyword_all;
}

/* ---- the whole ---- */

RsTraceGlob *rs_trace_name_glob_new(const char *text, GError **error)
{
	RsTraceGlob *glob = rs_trace_glob_new(text);

	if (!glob)
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "a glob has more than %u bytes", RS_TRACE_GLOB_MAX);
	return glob;
}

static gboolean take_names(RsTraceEventGlob *glob, const char *names, GError **error)
{
	const char *slash = strchr(names, '/');

	if (slash) {
		g_autofree char *source = g_strndup(names, (gsize)(slash - names));

		glob->source = rs_trace_name_glob_new(source, error);
		if (!glob->source)
			return FALSE;
	}
	glob->event = rs_trace_name_glob_new(slash ? slash + 1 : names, error);
	return glob->event != NULL;
}

RsTraceEventGlob *rs_trace_event_glob_new(const char *text, GError **error)
{
	g_autoptr(RsTraceEventGlob) glob = g_new0(RsTraceEventGlob, 1);
	const char *at = strchr(text, RS_TRACE_EVENT_GLOB_SELECT);
	g_autofree char *names = at ? g_strndup(text, (gsize)(at - text)) : g_strdup(text);

	glob->text = g_strdup(text);
	if (at == text) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
				    "an event glob is needed before the '@'");
		return NULL;
	}
	if ((at && !take_selection(glob, at + 1, error)) || !take_names(glob, names, error))
		return NULL;
	return g_steal_pointer(&glob);
}

const char *rs_trace_event_glob_text(const RsTraceEventGlob *glob)
{
	return glob->text;
}

void rs_trace_event_glob_free(RsTraceEventGlob *glob)
{
	if (!glob)
		return;
	g_free(glob->text);
	rs_trace_glob_free(glob->source);
	rs_trace_glob_free(glob->event);
	g_free(glob);
}

gboolean rs_trace_event_glob_matches(const RsTraceEventGlob *glob, const char *source,
				     const RsTraceEvent *event)
{
	return glob && is_selected(glob, event) &&
	       (!glob->source || rs_trace_glob_matches(glob->source, source ? source : "")) &&
	       rs_trace_glob_matches_event(glob->event, event);
}

/* ---- lists ---- */

/* What goes on with a glob's selection rather than being a glob. */
static gboolean is_term(const char *text)
{
	return g_str_has_prefix(text, "level=") || g_str_has_prefix(text, "keyword=") ||
	       g_str_has_prefix(text, "keyword-all=");
}

GPtrArray *rs_trace_event_globs_new(const char *text, GError **error)
{
	g_autoptr(GPtrArray) globs =
		g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_event_glob_free);
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	for (char **part = parts; *part;) {
		g_autoptr(GString) whole = g_string_new(*part++);
		RsTraceEventGlob *glob;

		if (!whole->len)
			continue;
		while (strchr(whole->str, RS_TRACE_EVENT_GLOB_SELECT) && *part && is_term(*part))
			g_string_append_printf(whole, ",%s", *part++);
		glob = rs_trace_event_glob_new(whole->str, error);
		if (!glob)
			return NULL;
		g_ptr_array_add(globs, glob);
	}
	return g_steal_pointer(&globs);
}
