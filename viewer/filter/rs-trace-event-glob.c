/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-event-glob.h"

#include "rs-trace-error.h"
#include "rs-trace-escape.h"
#include "rs-trace-glob.h"

#include <string.h>

#define EXCLUDED '!'
#define BETWEEN ","

typedef struct {
	gboolean excluded;
	RsTraceGlob *source; /* NULL: events of any source */
	RsTraceGlob *event;
	guint level;                      /* 0: any */
	guint64 keyword_any, keyword_all; /* 0: any */
} Part;

struct _RsTraceEventGlob {
	char *text;
	GPtrArray *parts;  /* of Part */
	gboolean includes; /* some part is not excluded; else all are meant but those that are */
};

/* ---- the selection ---- */

static gboolean refuse(GError **error, const char *text, const char *what)
{
	g_autofree char *shown = rs_trace_escape(text, -1, NULL);

	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION, "'%s' is %s", shown, what);
	return FALSE;
}

static gboolean take_level(Part *part, const char *value, GError **error)
{
	if (value[0] < '1' || value[0] > '5' || value[1])
		return refuse(error, value, "no level: 1 (critical) to 5 (verbose)");
	part->level = (guint)(value[0] - '0');
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

static gboolean take_term(Part *part, const char *term, GError **error)
{
	const char *value = strchr(term, '=');
	g_autofree char *key = g_strndup(term, value ? (gsize)(value - term) : strlen(term));
	const gboolean level = strcmp(key, "level") == 0, any = strcmp(key, "keyword") == 0;

	if (!value || (!level && !any && strcmp(key, "keyword-all") != 0))
		return refuse(error, term,
			      "no selection of events: level=N, keyword=MASK or keyword-all=MASK");
	if (level ? part->level : any ? part->keyword_any : part->keyword_all) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION, "%s is given twice",
			    key);
		return FALSE;
	}
	if (level)
		return take_level(part, value + 1, error);
	return take_mask(any ? &part->keyword_any : &part->keyword_all, value + 1, error);
}

static gboolean take_selection(Part *part, const char *text, GError **error)
{
	g_auto(GStrv) terms = g_strsplit(text, ",", 4);
	gboolean good = terms[0] || refuse(error, text, "no selection of events");

	for (char **term = terms; *term && good; term++)
		good = take_term(part, *term, error);
	return good;
}

/* An event of which something is asked that it does not have is not selected. */
static gboolean is_selected(const Part *part, const RsTraceEvent *event)
{
	if (part->level && (event->level < 1 || event->level > part->level))
		return FALSE;
	if (part->keyword_any && !(event->keyword & part->keyword_any))
		return FALSE;
	return (event->keyword & part->keyword_all) == part->keyword_all;
}

/* ---- names ---- */

/* Behind a class at `at`, of characters that names have; else NULL. */
static const char *class_end(const char *at)
{
	at++;
	at += *at == '!' || *at == '^';
	while (g_ascii_isalnum(*at) || (*at && strchr("_-.", *at)))
		at++;
	return *at == ']' ? at + 1 : NULL;
}

/* "SOURCE/SYSTEM:NAME", where the first two may be missing, but not be empty. */
static gboolean may_match(const char *part)
{
	gboolean slash = FALSE, colon = FALSE;
	const char *from = part, *at = part;

	while (at && *at && *at != RS_TRACE_EVENT_GLOB_SELECT) {
		if ((*at == '/' && !slash && !colon) || (*at == ':' && !colon)) {
			if (at == from)
				return FALSE;
			slash |= *at == '/';
			colon |= *at == ':';
			from = ++at;
		} else if (*at == '[') {
			at = class_end(at);
		} else if (g_ascii_isalnum(*at) || strchr("_-.*?\\", *at)) {
			at++;
		} else {
			return FALSE;
		}
	}
	return at && (at > from || from == part);
}

char *rs_trace_event_glob_misnamed(const char *text)
{
	g_auto(GStrv) parts = rs_trace_event_glob_parts(text);

	for (char **part = parts; *part; part++) {
		const char *names = *part + (**part == EXCLUDED);

		if (!may_match(names))
			return g_strdup(names);
	}
	return NULL;
}

/* ---- the whole ---- */

/* Takes `glob` as it is, and tells that there is none. */
static RsTraceGlob *made(RsTraceGlob *glob, GError **error)
{
	if (!glob)
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "a glob has more than %u bytes", RS_TRACE_GLOB_MAX);
	return glob;
}

RsTraceGlob *rs_trace_name_glob_new(const char *text, GError **error)
{
	return made(rs_trace_glob_new(text), error);
}

RsTraceGlob *rs_trace_task_glob_new(const char *text, GError **error)
{
	return made(*text == '!' ? rs_trace_glob_new_inverse(text + 1) : rs_trace_glob_new(text),
		    error);
}

static gboolean take_names(Part *part, const char *names, GError **error)
{
	const char *slash = strchr(names, '/');

	if (slash) {
		g_autofree char *source = g_strndup(names, (gsize)(slash - names));

		part->source = rs_trace_name_glob_new(source, error);
		if (!part->source)
			return FALSE;
	}
	part->event = rs_trace_name_glob_new(slash ? slash + 1 : names, error);
	return part->event != NULL;
}

static void part_free(gpointer data)
{
	Part *part = data;

	rs_trace_glob_free(part->source);
	rs_trace_glob_free(part->event);
	g_free(part);
}

static gboolean take_part(RsTraceEventGlob *glob, const char *text, GError **error)
{
	Part *part = g_new0(Part, 1);
	const char *at = strchr(text, RS_TRACE_EVENT_GLOB_SELECT);
	g_autofree char *names = NULL;

	g_ptr_array_add(glob->parts, part);
	part->excluded = *text == EXCLUDED;
	text += part->excluded;
	names = at ? g_strndup(text, (gsize)(at - text)) : g_strdup(text);
	if (!*names && (at || part->excluded)) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "an event glob is needed %s", at ? "before the '@'" : "after the '!'");
		return FALSE;
	}
	glob->includes |= !part->excluded;
	return (!at || take_selection(part, at + 1, error)) && take_names(part, names, error);
}

/* Goes on with the selection before it, or is the mistake of one. No name has a '='. */
static gboolean is_term(const char *piece)
{
	return !*piece || piece[strcspn(piece, "=@")] == '=';
}

GStrv rs_trace_event_glob_parts(const char *text)
{
	g_autoptr(GStrvBuilder) parts = g_strv_builder_new();
	g_auto(GStrv) pieces = g_strsplit(*text ? text : BETWEEN, BETWEEN, -1);
	gboolean any = FALSE;

	for (char **piece = pieces; *piece;) {
		g_autoptr(GString) part = g_string_new(*piece++);

		while (strchr(part->str, RS_TRACE_EVENT_GLOB_SELECT) && *piece && is_term(*piece))
			g_string_append_printf(part, BETWEEN "%s", *piece++);
		if (!part->len && (any || *piece))
			continue;
		any = TRUE;
		g_strv_builder_add(parts, part->str);
	}
	return g_strv_builder_end(parts);
}

RsTraceEventGlob *rs_trace_event_glob_new(const char *text, GError **error)
{
	g_autoptr(RsTraceEventGlob) glob = g_new0(RsTraceEventGlob, 1);
	g_auto(GStrv) parts = rs_trace_event_glob_parts(text);

	glob->text = g_strdup(text);
	glob->parts = g_ptr_array_new_with_free_func(part_free);
	if (g_strv_length(parts) > RS_TRACE_EVENT_GLOB_PARTS) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "a list has more than %u globs", RS_TRACE_EVENT_GLOB_PARTS);
		return NULL;
	}
	for (char **part = parts; *part; part++)
		if (!take_part(glob, *part, error))
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
	g_ptr_array_unref(glob->parts);
	g_free(glob);
}

static gboolean part_matches(const Part *part, const char *source, const RsTraceEvent *event)
{
	return is_selected(part, event) &&
	       (!part->source || rs_trace_glob_matches(part->source, source ? source : "")) &&
	       rs_trace_glob_matches_event(part->event, event);
}

gboolean rs_trace_event_glob_matches(const RsTraceEventGlob *glob, const char *source,
				     const RsTraceEvent *event)
{
	gboolean found = glob && !glob->includes;

	for (guint i = 0; glob && i < glob->parts->len; i++) {
		const Part *part = glob->parts->pdata[i];

		if ((found && !part->excluded) || !part_matches(part, source, event))
			continue;
		if (part->excluded)
			return FALSE;
		found = TRUE;
	}
	return found;
}

GStrv rs_trace_event_glob_split(const char *text)
{
	g_autoptr(GStrvBuilder) globs = g_strv_builder_new();
	g_autoptr(GString) excluded = g_string_new(NULL);
	g_auto(GStrv) parts = rs_trace_event_glob_parts(text);
	gboolean any = FALSE;

	for (char **part = parts; *part; part++)
		if (**part == EXCLUDED)
			g_string_append_printf(excluded, "%s" BETWEEN, *part);
	for (char **part = parts; *part; part++) {
		g_autofree char *glob = NULL;

		if (**part == EXCLUDED)
			continue;
		any = TRUE;
		glob = g_strconcat(excluded->str, *part, NULL);
		g_strv_builder_add(globs, glob);
	}
	if (!any) {
		g_string_append_c(excluded, '*');
		g_strv_builder_add(globs, excluded->str);
	}
	return g_strv_builder_end(globs);
}
