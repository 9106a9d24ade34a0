/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-spec.h"

#include "rs-trace-escape.h"

#include <gio/gio.h>
#include <string.h>

/* clang-format off */
G_DEFINE_QUARK(rs-trace-spec-error-quark, rs_trace_spec_error)
/* clang-format on */

#define MATRIX_NAMES 64u

/* Where something stands: a line from 1 on, and bytes of it. */
typedef struct {
	guint line;
	guint at, length;         /* of a group, or of a key's value */
	guint key_at, key_length; /* of the key itself */
} Place;

/* All but what is of one case is shared by the cases. */
struct _RsTraceSpec {
	char *path;          /* a GRefString */
	gboolean is_profile; /* its values have names of the environment alone */
	GPtrArray *lines;
	GKeyFile *file;
	GHashTable *places; /* "GROUP" or "GROUP\nKEY" -> Place */
	GPtrArray *names;   /* of the matrix */
	GPtrArray *values;  /* GStrv of each */
	guint n_cases;
	GHashTable *settings; /* names -> values of who runs it; NULL: none */
	/* Of the case. */
	GHashTable *chosen; /* name of the matrix -> value, which is one of `values` */
	GHashTable *given;  /* other names -> values */
	GString *label;
};

/* What a group may have. One that ends with a space has a name behind it. */
typedef struct {
	const char *group;
	const char *keys[28];
} Group;

static const Group of_specs[] = {
	{"test",
	 {"about", "tags", "timeout", "retries", "setup", "teardown", "fixtures", "boot", "disk"}},
	{"guest",
	 {"kernel", "demo", "hosted", "initrd", "append", "accel", "cpus", "memory", "regions",
	  "domain", "template", "connect"}},
	{"trace", {"enable", "filter", "ring-size", "mode", "host", "loss", "duration", "core"}},
	{"parameters", {NULL}},
	{"matrix", {NULL}},
	{"fault ", {"inject", "at", "on"}},
	{"expect ",
	 {"event", "never", "each",  "last", "pair", "serial", "serial-never", "exit",  "count",
	  "rate",  "then",  "after", "same", "open", "within", "since",        "until", "bind",
	  "is",    "key",   "p50",   "p90",  "p99",  "max",    "end",          "text"}},
	{NULL, {NULL}},
};

static const Group of_fixtures[] = {
	{"fixture", {"about", "setup", "server", "teardown", "timeout"}},
	{NULL, {NULL}},
};

static const Group of_profiles[] = {
	{"events", {"enable", "disable"}},
	{"filter ", {"events", "if"}},
	{"trigger ", {"on", "if", "do", "count"}},
	{"ring", {"mode"}},
	{NULL, {NULL}},
};

/* What GKeyFile takes for blank, within a line. */
#define BLANKS " \t\r\f"

static char *line_at(const RsTraceSpec *spec, guint number)
{
	return spec->lines->pdata[number - 1];
}

/* ---- mistakes ---- */

static void blame_place(const char *path, const char *line, const Place *place, GError **error,
			const char *message)
{
	g_autofree char *clean = rs_trace_escape(path, -1, NULL);
	g_autofree char *before = rs_trace_escape(line, place->at, NULL);
	g_autofree char *text = rs_trace_escape(line, -1, NULL);
	g_autofree char *blank = g_strnfill(strlen(before), ' ');
	g_autofree char *tail = g_strnfill(MAX(place->length, 1) - 1, '~');

	if (strlen(text) > 200)
		g_set_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG, "%s:%u: %s",
			    clean, place->line, message);
	else
		g_set_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG,
			    "%s:%u: %s\n    %s\n    %s^%s", clean, place->line, message, text,
			    blank, tail);
}

static const Place *find_place(const RsTraceSpec *spec, const char *group, const char *key)
{
	g_autofree char *name = key ? g_strconcat(group, "\n", key, NULL) : g_strdup(group);

	return g_hash_table_lookup(spec->places, name);
}

/* A value of [guest] that the matrix has, or who runs it. Takes the message, returns another. */
static char *blame_setting(const RsTraceSpec *spec, const char *key, const Place **place,
			   char *message)
{
	const char *set = spec->settings ? g_hash_table_lookup(spec->settings, key) : NULL;
	g_autofree char *clean = set ? rs_trace_escape(set, -1, NULL) : NULL, *was = message;

	*place = find_place(spec, "matrix", key);
	return set ? g_strdup_printf("--set %s=%s: %s", key, clean, message)
		   : g_steal_pointer(&was);
}

void rs_trace_spec_blame(const RsTraceSpec *spec, const char *group, const char *key,
			 GError **error, const char *format, ...)
{
	const Place *place = find_place(spec, group, key);
	const Place top = {.line = 1};
	g_autofree char *raw = NULL, *message = NULL;
	va_list args;

	va_start(args, format);
	raw = g_strdup_vprintf(format, args);
	va_end(args);
	/* What parses a value quotes it. A filter's message has several lines. */
	message = rs_trace_escape(raw, -1, "\n");
	if (!place && key)
		message = blame_setting(spec, key, &place, message);
	if (!place)
		place = find_place(spec, group, NULL);
	if (!place)
		place = &top;
	blame_place(spec->path, line_at(spec, place->line), place, error, message);
}

void rs_trace_spec_blame_part(const RsTraceSpec *spec, const char *group, const char *key,
			      const char *part, guint at, guint length, const char *message,
			      GError **error)
{
	const Place *whole = find_place(spec, group, key);
	const char *line = whole ? line_at(spec, whole->line) : NULL;
	const char *found = line ? strstr(line + whole->at, part) : NULL;
	Place place;

	if (!found) {
		rs_trace_spec_blame(spec, group, key, error, "%s", message);
		return;
	}
	place = (Place){
		.line = whole->line, .at = (guint)(found - line) + at, .length = MAX(length, 1)};
	place.at = MIN(place.at, (guint)strlen(line));
	blame_place(spec->path, line, &place, error, message);
}

/* That there is this key at all: the caret is below its name. */
static void blame_key(const RsTraceSpec *spec, const char *group, const char *key,
		      const char *message, GError **error)
{
	const Place *value = find_place(spec, group, key);
	Place name;

	if (!value) {
		rs_trace_spec_blame(spec, group, NULL, error, "%s", message);
		return;
	}
	name = (Place){.line = value->line, .at = value->key_at, .length = value->key_length};
	blame_place(spec->path, line_at(spec, name.line), &name, error, message);
}

/* ---- lines ---- */

/* GKeyFile tells no lines, and takes a second group of a name for a part of the first. */
static gboolean note(RsTraceSpec *spec, char *name, Place place, GError **error)
{
	const Place *first = g_hash_table_lookup(spec->places, name);
	g_autofree char *message = NULL;

	if (!first) {
		g_hash_table_insert(spec->places, name, g_memdup2(&place, sizeof(place)));
		return TRUE;
	}
	message = g_strdup_printf("this is in line %u, too", first->line);
	blame_place(spec->path, line_at(spec, place.line), &place, error, message);
	g_free(name);
	return FALSE;
}

static gboolean wrong_line(const RsTraceSpec *spec, guint number, guint at, const char *what,
			   GError **error)
{
	const Place place = {.line = number, .at = at, .length = 1};

	blame_place(spec->path, line_at(spec, number), &place, error, what);
	return FALSE;
}

static gboolean note_group(RsTraceSpec *spec, guint number, char **group, GError **error)
{
	char *line = line_at(spec, number), *begin = strchr(line, '['), *end = strrchr(line, ']');
	guint at = (guint)(begin - line);

	if (!end || end < begin + 2 || end[1 + strspn(end + 1, BLANKS)])
		return wrong_line(spec, number, at, "a group is [NAME]", error);
	g_free(*group);
	*group = g_strndup(begin + 1, (gsize)(end - begin - 1));
	return note(spec, g_strdup(*group),
		    (Place){.line = number, .at = at, .length = (guint)(end - begin + 1)}, error);
}

static gboolean note_key(RsTraceSpec *spec, guint number, const char *group, GError **error)
{
	char *line = line_at(spec, number), *equals = strchr(line, '=');
	guint at = (guint)strspn(line, BLANKS), value;
	g_autofree char *key = NULL;
	gsize length;

	if (!equals)
		return wrong_line(spec, number, at, "this is no KEY = VALUE", error);
	if (!group)
		return wrong_line(spec, number, at, "there is no [GROUP] before this", error);
	key = g_strchomp(g_strndup(line + at, (gsize)(equals - line) - at));
	if (!*key)
		return wrong_line(spec, number, at, "there is no name before the '='", error);
	value = (guint)(equals - line) + 1 + (guint)strspn(equals + 1, BLANKS);
	length = strlen(line + value);
	while (length && g_ascii_isspace(line[value + length - 1]))
		length--;
	return note(spec, g_strconcat(group, "\n", key, NULL),
		    (Place){.line = number,
			    .at = value,
			    .length = (guint)MAX(length, 1),
			    .key_at = at,
			    .key_length = (guint)strlen(key)},
		    error);
}

static gboolean note_places(RsTraceSpec *spec, GError **error)
{
	g_autofree char *group = NULL;
	gboolean good = TRUE;

	for (guint n = 1; good && n <= spec->lines->len; n++) {
		const char *begin = line_at(spec, n) + strspn(line_at(spec, n), BLANKS);

		if (*begin == '[')
			good = note_group(spec, n, &group, error);
		else if (*begin && *begin != '#')
			good = note_key(spec, n, group, error);
	}
	return good;
}

/* ---- what may be said ---- */

static gboolean check_key(const RsTraceSpec *spec, const char *group, const char *const *keys,
			  const char *key, GError **error)
{
	g_autofree char *clean = rs_trace_escape(key, -1, NULL), *message = NULL;
	g_autoptr(GString) all = g_string_new(NULL);

	for (const char *const *one = keys; *one; one++) {
		if (g_str_equal(*one, key))
			return TRUE;
		g_string_append_printf(all, "%s%s", all->len ? ", " : "", *one);
	}
	message = g_strdup_printf("there is no key '%s' here, but %s", clean, all->str);
	blame_key(spec, group, key, message, error);
	return FALSE;
}

static const Group *find_group(const Group *groups, const char *name)
{
	for (; groups->group; groups++) {
		if (g_str_has_suffix(groups->group, " ") ? g_str_has_prefix(name, groups->group)
							 : g_str_equal(name, groups->group))
			return groups;
	}
	return NULL;
}

static gboolean blame_group(const RsTraceSpec *spec, const Group *groups, const char *name,
			    GError **error)
{
	g_autofree char *clean = rs_trace_escape(name, -1, NULL);
	g_autoptr(GString) all = g_string_new(NULL);

	for (; groups->group; groups++)
		g_string_append_printf(all, "%s%s%s", all->len ? ", " : "", groups->group,
				       g_str_has_suffix(groups->group, " ") ? "NAME" : "");
	rs_trace_spec_blame(spec, name, NULL, error, "there is no group '%s', but %s", clean,
			    all->str);
	return FALSE;
}

static gboolean check_group(const RsTraceSpec *spec, const Group *groups, const char *name,
			    GError **error)
{
	g_auto(GStrv) keys = g_key_file_get_keys(spec->file, name, NULL, NULL);
	const Group *group = find_group(groups, name);

	if (!group)
		return blame_group(spec, groups, name, error);
	/* A matrix has the names that it wants, and so have parameters. */
	for (char **key = group->keys[0] ? keys : NULL; key && *key; key++) {
		if (!check_key(spec, name, group->keys, *key, error))
			return FALSE;
	}
	return TRUE;
}

/* The end of the first part: a semicolon that is not in a text of a filter, or the end. */
static const char *end_of_part(const char *value)
{
	gboolean quoted = FALSE;

	for (; *value && (quoted || *value != ';'); value++) {
		if (*value == '"')
			quoted = !quoted;
		else if (quoted && *value == '\\' && value[1])
			value++;
	}
	return value;
}

static GStrv split_list(const char *value)
{
	g_autoptr(GStrvBuilder) list = g_strv_builder_new();

	for (const char *end = value; *end; value = end + 1) {
		g_autofree char *part = NULL;

		end = end_of_part(value);
		part = g_strstrip(g_strndup(value, (gsize)(end - value)));
		if (*part)
			g_strv_builder_add(list, part);
	}
	return g_strv_builder_end(list);
}

/* Where the nth part of a list is that split_list() makes of `value`. NULL: there is none. */
static const char *find_part(const char *value, guint nth, guint *length)
{
	for (const char *end = value; *end; value = end + 1) {
		const char *begin = value + strspn(value, " \t\r");

		end = end_of_part(value);
		*length = (guint)(end - MIN(begin, end));
		while (*length && g_ascii_isspace(begin[*length - 1]))
			(*length)--;
		if (*length && !nth--)
			return begin;
	}
	return NULL;
}

void rs_trace_spec_blame_nth(const RsTraceSpec *spec, const char *group, const char *key, guint nth,
			     const char *message, GError **error)
{
	const Place *whole = find_place(spec, group, key);
	const char *line = whole ? line_at(spec, whole->line) : NULL;
	g_auto(GStrv) list = whole ? rs_trace_spec_list(spec, group, key, NULL) : NULL;
	g_autofree char *clean = rs_trace_escape(message, -1, "\n");
	guint length = 0;
	const char *found = list ? find_part(line + whole->at, nth, &length) : NULL;
	Place place;

	/* A "${NAME}" may have made several parts of one. */
	if (!found || nth >= g_strv_length(list) || strlen(list[nth]) != length ||
	    strncmp(found, list[nth], length)) {
		rs_trace_spec_blame(spec, group, key, error, "%s", message);
		return;
	}
	place = (Place){.line = whole->line, .at = (guint)(found - line), .length = length};
	blame_place(spec->path, line, &place, error, clean);
}

static const char *setting(const RsTraceSpec *spec, const char *name)
{
	return spec->settings ? g_hash_table_lookup(spec->settings, name) : NULL;
}

/* Who runs it may choose. */
static GStrv values_of(const RsTraceSpec *spec, const char *name, GError **error)
{
	const char *own = setting(spec, name);

	return own ? split_list(own) : rs_trace_spec_list(spec, "matrix", name, error);
}

static gboolean read_matrix(RsTraceSpec *spec, GError **error)
{
	g_auto(GStrv) keys = g_key_file_get_keys(spec->file, "matrix", NULL, NULL);

	spec->n_cases = 1;
	if (keys && g_strv_length(keys) > MATRIX_NAMES) {
		rs_trace_spec_blame(spec, "matrix", NULL, error, "this has more than %u names",
				    MATRIX_NAMES);
		return FALSE;
	}
	for (char **key = keys; key && *key; key++) {
		GStrv values = values_of(spec, *key, error);

		if (!values)
			return FALSE;
		g_ptr_array_add(spec->names, g_strdup(*key));
		g_ptr_array_add(spec->values, values);
		if (!*values) {
			rs_trace_spec_blame(spec, "matrix", *key, error, "there is no value");
			return FALSE;
		}
		/* Both are small: a spec has a bounded size. */
		spec->n_cases *= g_strv_length(values);
		if (spec->n_cases > RS_TRACE_SPEC_CASES) {
			rs_trace_spec_blame(spec, "matrix", *key, error,
					    "that makes more than %u cases", RS_TRACE_SPEC_CASES);
			return FALSE;
		}
	}
	return TRUE;
}

/* Whether any value has that name in it. */
static gboolean mentions(const RsTraceSpec *spec, const char *name)
{
	g_auto(GStrv) groups = g_key_file_get_groups(spec->file, NULL);
	g_autofree char *what = g_strdup_printf("${%s}", name);

	for (char **group = groups; *group; group++) {
		g_auto(GStrv) keys = g_key_file_get_keys(spec->file, *group, NULL, NULL);

		for (char **key = keys; key && *key; key++) {
			g_autofree char *value =
				g_key_file_get_value(spec->file, *group, *key, NULL);

			if (value && strstr(value, what))
				return TRUE;
		}
	}
	return FALSE;
}

/* Cases that do not differ would look as if more was tested. */
static gboolean check_matrix(const RsTraceSpec *spec, const Group *groups, GError **error)
{
	const Group *guest = find_group(groups, "guest");

	for (guint i = 0; i < spec->names->len; i++) {
		const char *name = spec->names->pdata[i];
		const gboolean is_key = guest && g_strv_contains(guest->keys, name);

		if (is_key && find_place(spec, "guest", name)) {
			rs_trace_spec_blame(spec, "guest", name, error,
					    "this is a name of the matrix, which says it already");
			return FALSE;
		}
		if (!is_key && !mentions(spec, name)) {
			rs_trace_spec_blame(spec, "matrix", name, error,
					    "nothing uses this name: it is no key of [guest], and "
					    "no value has ${%s}",
					    name);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean check_parameters(const RsTraceSpec *spec, GError **error)
{
	g_auto(GStrv) names = g_key_file_get_keys(spec->file, "parameters", NULL, NULL);

	for (char **name = names; name && *name; name++) {
		if (find_place(spec, "matrix", *name)) {
			rs_trace_spec_blame(spec, "parameters", *name, error,
					    "this is a name of the matrix, too");
			return FALSE;
		}
		if (!mentions(spec, *name)) {
			rs_trace_spec_blame(spec, "parameters", *name, error,
					    "nothing uses this name: no value has ${%s}", *name);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean parse(RsTraceSpec *spec, const Group *may, const char *text, gsize size,
		      GError **error)
{
	g_autoptr(GError) why = NULL;
	g_auto(GStrv) groups = NULL;

	if (!note_places(spec, error))
		return FALSE;
	if (!g_key_file_load_from_data(spec->file, text, size, G_KEY_FILE_NONE, &why)) {
		g_autofree char *clean = rs_trace_escape(why->message, -1, NULL);

		g_set_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG, "%s: %s",
			    spec->path, clean);
		return FALSE;
	}
	groups = g_key_file_get_groups(spec->file, NULL);
	for (char **group = groups; *group; group++) {
		if (!check_group(spec, may, *group, error))
			return FALSE;
	}
	return read_matrix(spec, error) && check_matrix(spec, may, error) &&
	       check_parameters(spec, error);
}

static gboolean is_text(const char *path, const char *text, gsize size, GError **error)
{
	g_autofree char *clean = NULL;

	if (size <= RS_TRACE_SPEC_MAX && !memchr(text, 0, size) &&
	    g_utf8_validate(text, (gssize)size, NULL))
		return TRUE;
	clean = rs_trace_escape(path, -1, NULL);
	g_set_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG,
		    "%s: this is too large, or no text in UTF-8", clean);
	return FALSE;
}

static GPtrArray *split_lines(const char *text, gsize size)
{
	g_autofree char *copy = g_strndup(text, size);
	/* An empty text has no line, and what is wrong with it has one. */
	g_autofree GStrv lines = g_strsplit(*copy ? copy : "\n", "\n", -1);
	GPtrArray *all = g_ptr_array_new_with_free_func(g_free);

	for (char **line = lines; *line; line++)
		g_ptr_array_add(all, *line);
	return all;
}

/* The last name of the matrix changes the fastest. */
static void choose(RsTraceSpec *spec, guint number)
{
	for (guint i = spec->names->len; i-- > 0;) {
		GStrv values = spec->values->pdata[i];
		guint n = g_strv_length(values);

		g_hash_table_insert(spec->chosen, spec->names->pdata[i], values[number % n]);
		number /= n;
	}
	for (guint i = 0; i < spec->names->len; i++) {
		char *name = spec->names->pdata[i];

		g_string_append_printf(spec->label, "%s%s=%s", i ? ", " : "", name,
				       (char *)g_hash_table_lookup(spec->chosen, name));
	}
}

static RsTraceSpec *spec_new(const char *path, const Group *may, GHashTable *settings,
			     const char *text, gsize size, GError **error)
{
	g_autoptr(RsTraceSpec) spec = g_new0(RsTraceSpec, 1);

	spec->path = g_ref_string_new(path);
	spec->is_profile = may == of_profiles;
	spec->file = g_key_file_new();
	spec->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	spec->names = g_ptr_array_new_with_free_func(g_free);
	spec->values = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	spec->lines = split_lines("", 0);
	spec->chosen = g_hash_table_new(g_str_hash, g_str_equal);
	spec->given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	spec->label = g_string_new(NULL);
	spec->settings = settings ? g_hash_table_ref(settings) : NULL;
	if (!is_text(path, text, size, error))
		return NULL;
	g_ptr_array_unref(spec->lines);
	spec->lines = split_lines(text, size);
	if (!parse(spec, may, text, size, error))
		return NULL;
	choose(spec, 0);
	return g_steal_pointer(&spec);
}

static RsTraceSpec *spec_load(const char *path, const Group *may, GHashTable *settings,
			      GError **error)
{
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(GFileInputStream) in = g_file_read(file, NULL, error);
	/* One more than there may be: it might be a device. */
	g_autofree char *text = in ? g_malloc(RS_TRACE_SPEC_MAX + 2) : NULL;
	gsize size;

	if (!in || !g_input_stream_read_all(G_INPUT_STREAM(in), text, RS_TRACE_SPEC_MAX + 1, &size,
					    NULL, error))
		return NULL;
	text[size] = 0;
	return spec_new(path, may, settings, text, size, error);
}

RsTraceSpec *rs_trace_spec_new(const char *path, const char *text, gsize size, GError **error)
{
	return spec_new(path, of_specs, NULL, text, size, error);
}

RsTraceSpec *rs_trace_spec_load(const char *path, GHashTable *settings, GError **error)
{
	return spec_load(path, of_specs, settings, error);
}

RsTraceSpec *rs_trace_spec_load_fixture(const char *path, GError **error)
{
	return spec_load(path, of_fixtures, NULL, error);
}

RsTraceSpec *rs_trace_spec_new_profile(const char *path, const char *text, gsize size,
				       GError **error)
{
	return spec_new(path, of_profiles, NULL, text, size, error);
}

RsTraceSpec *rs_trace_spec_load_profile(const char *path, GError **error)
{
	return spec_load(path, of_profiles, NULL, error);
}

void rs_trace_spec_free(RsTraceSpec *spec)
{
	if (!spec)
		return;
	g_ref_string_release(spec->path);
	g_ptr_array_unref(spec->lines);
	g_key_file_unref(spec->file);
	g_hash_table_unref(spec->places);
	g_ptr_array_unref(spec->names);
	g_ptr_array_unref(spec->values);
	g_hash_table_unref(spec->chosen);
	g_hash_table_unref(spec->given);
	g_clear_pointer(&spec->settings, g_hash_table_unref);
	g_string_free(spec->label, TRUE);
	g_free(spec);
}

const char *rs_trace_spec_path(const RsTraceSpec *spec)
{
	return spec->path;
}

/* ---- cases ---- */

guint rs_trace_spec_n_cases(const RsTraceSpec *spec)
{
	return spec->n_cases;
}

RsTraceSpec *rs_trace_spec_new_case(const RsTraceSpec *spec, guint number)
{
	RsTraceSpec *one = g_new(RsTraceSpec, 1);

	*one = (RsTraceSpec){
		.path = g_ref_string_acquire(spec->path),
		.lines = g_ptr_array_ref(spec->lines),
		.file = g_key_file_ref(spec->file),
		.places = g_hash_table_ref(spec->places),
		.names = g_ptr_array_ref(spec->names),
		.values = g_ptr_array_ref(spec->values),
		.n_cases = spec->n_cases,
		.settings = spec->settings ? g_hash_table_ref(spec->settings) : NULL,
		.chosen = g_hash_table_new(g_str_hash, g_str_equal),
		.given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
		.label = g_string_new(NULL),
	};
	choose(one, number);
	return one;
}

void rs_trace_spec_give(RsTraceSpec *spec, const char *name, const char *value)
{
	g_hash_table_insert(spec->given, g_strdup(name), g_strdup(value));
}

const char *rs_trace_spec_case(const RsTraceSpec *spec)
{
	return spec->label->str;
}

/* ---- values ---- */

gboolean rs_trace_spec_uses(const RsTraceSpec *spec, const char *name)
{
	return find_place(spec, "matrix", name) || find_place(spec, "parameters", name) ||
	       mentions(spec, name);
}

GStrv rs_trace_spec_named(const RsTraceSpec *spec, const char *kind)
{
	g_auto(GStrv) groups = g_key_file_get_groups(spec->file, NULL);
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_autofree char *prefix = g_strconcat(kind, " ", NULL);

	for (char **group = groups; *group; group++) {
		if (g_str_has_prefix(*group, prefix))
			g_strv_builder_add(names, *group + strlen(prefix));
	}
	return g_strv_builder_end(names);
}

gboolean rs_trace_spec_has(const RsTraceSpec *spec, const char *group, const char *key)
{
	return find_place(spec, group, key) != NULL ||
	       (g_str_equal(group, "guest") && g_hash_table_contains(spec->chosen, key));
}

guint rs_trace_spec_line(const RsTraceSpec *spec, const char *group, const char *key)
{
	const Place *place = find_place(spec, group, key);

	return place ? place->line : 0;
}

/* What a name stands for, to be freed. NULL: nothing. */
static char *meaning_of(const RsTraceSpec *spec, const char *name)
{
	const char *is = g_hash_table_lookup(spec->chosen, name);

	if (!is)
		is = g_hash_table_lookup(spec->given, name);
	if (!is)
		is = setting(spec, name);
	if (!is && find_place(spec, "parameters", name))
		return g_strchomp(g_key_file_get_value(spec->file, "parameters", name, NULL));
	return g_strdup(is ? is : g_getenv(name));
}

/* NULL: all is well. Else what is wrong, to be freed. */
static char *append_meaning(const RsTraceSpec *spec, const char *name, GString *out)
{
	g_autofree char *is = meaning_of(spec, name), *clean = NULL;

	if (is && out->len + strlen(is) <= RS_TRACE_SPEC_MAX) {
		g_string_append(out, is);
		return NULL;
	}
	if (is)
		return g_strdup("this becomes too long");
	clean = rs_trace_escape(name, -1, NULL);
	return spec->is_profile
		       ? g_strdup_printf("the environment has no '%s'", clean)
		       : g_strdup_printf("'%s' is no name of the matrix, nor a parameter, nor of "
					 "the environment",
					 clean);
}

static char *expand(const RsTraceSpec *spec, const char *group, const char *key, const char *value,
		    GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const char *const whole = value, *begin, *end;

	for (; (begin = strstr(value, "${")) && (end = strchr(begin, '}')); value = end + 1) {
		g_autofree char *name = g_strndup(begin + 2, (gsize)(end - begin - 2));
		g_autofree char *wrong = NULL;

		g_string_append_len(out, value, begin - value);
		/* "$${NAME}" is for somebody else, such as the shell. */
		if (begin > value && begin[-1] == '$')
			g_string_append_len(out, begin + 1, end - begin);
		else
			wrong = append_meaning(spec, name, out);
		if (!wrong)
			continue;
		rs_trace_spec_blame_part(spec, group, key, whole, (guint)(begin - whole),
					 (guint)(end + 1 - begin), wrong, error);
		return NULL;
	}
	/* In a spec that may be of a shell. */
	begin = spec->is_profile ? strstr(value, "${") : NULL;
	if (begin && (begin == value || begin[-1] != '$')) {
		rs_trace_spec_blame_part(spec, group, key, whole, (guint)(begin - whole),
					 (guint)strlen(begin), "a '}' is missing", error);
		return NULL;
	}
	g_string_append(out, value);
	return g_string_free(g_steal_pointer(&out), FALSE);
}

char *rs_trace_spec_get(const RsTraceSpec *spec, const char *group, const char *key, GError **error)
{
	/* As it is written: patterns have backslashes. */
	g_autofree char *value = g_key_file_get_value(spec->file, group, key, NULL);
	const char *chosen = g_hash_table_lookup(spec->chosen, key);

	/* What a matrix calls like a key of the guest is that key. */
	if (!value && chosen && g_str_equal(group, "guest"))
		return g_strdup(chosen);
	return value ? expand(spec, group, key, g_strchomp(value), error) : NULL;
}

gboolean rs_trace_spec_check(const RsTraceSpec *spec, GError **error)
{
	g_auto(GStrv) groups = g_key_file_get_groups(spec->file, NULL);
	GError *why = NULL;

	for (char **group = groups; !why && *group; group++) {
		g_auto(GStrv) keys = g_key_file_get_keys(spec->file, *group, NULL, NULL);

		for (char **key = keys; !why && key && *key; key++)
			g_free(rs_trace_spec_get(spec, *group, *key, &why));
	}
	if (why)
		g_propagate_error(error, why);
	return !why;
}

GStrv rs_trace_spec_list(const RsTraceSpec *spec, const char *group, const char *key,
			 GError **error)
{
	g_autofree char *value = rs_trace_spec_get(spec, group, key, error);

	return value ? split_list(value) : NULL;
}

static gboolean take_number(const char *text, guint64 *out)
{
	return g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, out, NULL);
}

gboolean rs_trace_spec_number(const RsTraceSpec *spec, const char *group, const char *key,
			      guint64 *out, GError **error)
{
	g_autofree char *value = rs_trace_spec_get(spec, group, key, error);

	if (value && !take_number(value, out)) {
		rs_trace_spec_blame(spec, group, key, error, "this is no number");
		return FALSE;
	}
	return value != NULL;
}

gboolean rs_trace_spec_duration(const RsTraceSpec *spec, const char *group, const char *key,
				guint64 *ns, GError **error)
{
	static const struct {
		const char *name;
		guint64 ns;
	} units[] = {
		{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"min", 60000000000}};
	g_autofree char *value = rs_trace_spec_get(spec, group, key, error);
	char *end;
	double number;

	if (!value)
		return FALSE;
	number = g_ascii_strtod(value, &end);
	/* No exponent, no hexadecimal number. */
	for (guint i = 0; i < G_N_ELEMENTS(units) && g_ascii_isdigit(*value) &&
			  end == value + strspn(value, "0123456789.");
	     i++) {
		if (!g_str_equal(g_strchug(end), units[i].name))
			continue;
		if (number * (double)units[i].ns > 1e15)
			break;
		*ns = (guint64)(number * (double)units[i].ns);
		return TRUE;
	}
	rs_trace_spec_blame(spec, group, key, error,
			    "this is no time, such as 2ms, 1.5s or 100us, of at most 11 days");
	return FALSE;
}

gboolean rs_trace_spec_size(const RsTraceSpec *spec, const char *group, const char *key,
			    guint64 *bytes, GError **error)
{
	static const char units[] = "KMGT";
	g_autofree char *value = rs_trace_spec_get(spec, group, key, error);
	const char *unit = NULL;
	gsize length;
	guint shift;

	if (!value)
		return FALSE;
	length = strlen(value);
	if (length)
		unit = strchr(units, g_ascii_toupper(value[length - 1]));
	if (unit)
		value[length - 1] = 0;
	shift = unit ? 10 * (guint)(unit - units + 1) : 0;
	if (take_number(value, bytes) && !(shift && *bytes >> (64 - shift))) {
		*bytes <<= shift;
		return TRUE;
	}
	rs_trace_spec_blame(spec, group, key, error, "this is no size, such as 512K or 64M");
	return FALSE;
}

gboolean rs_trace_spec_choice(const RsTraceSpec *spec, const char *group, const char *key,
			      const char *const *choices, guint *which, GError **error)
{
	g_autofree char *value = rs_trace_spec_get(spec, group, key, error), *all = NULL;

	if (!value)
		return FALSE;
	for (*which = 0; choices[*which]; (*which)++) {
		if (g_str_equal(choices[*which], value))
			return TRUE;
	}
	all = g_strjoinv(", ", (char **)choices);
	rs_trace_spec_blame(spec, group, key, error, "this is none of %s", all);
	return FALSE;
}

gboolean rs_trace_spec_range(const RsTraceSpec *spec, const char *group, const char *key,
			     guint64 *least, guint64 *most, GError **error)
{
	g_autofree char *value = rs_trace_spec_get(spec, group, key, error);
	char *dots = value ? strstr(value, "..") : NULL;
	gboolean good;

	if (!value)
		return FALSE;
	*least = 0;
	*most = G_MAXUINT64;
	if (!dots) {
		good = take_number(value, least);
		*most = *least;
	} else {
		*dots = 0;
		good = (*value || dots[2]) && (!*value || take_number(value, least)) &&
		       (!dots[2] || take_number(dots + 2, most)) && *least <= *most;
	}
	if (!good)
		rs_trace_spec_blame(spec, group, key, error,
				    "this is no range, such as 3, 1.., ..5 or 1..5");
	return good;
}
