/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-spec.h"

#include "rs-trace-escape.h"

#include <string.h>

#define EXPECT "expect "
#define FAULT "fault "

/* clang-format off */
G_DEFINE_QUARK(rs-trace-spec-error-quark, rs_trace_spec_error)
/* clang-format on */

/* Where something stands: a line from 1 on, and bytes of it. */
typedef struct {
	guint line;
	guint at, length;
} Place;

struct _RsTraceSpec {
	char *path;
	char **lines;
	GKeyFile *file;
	GHashTable *places;  /* "GROUP" or "GROUP\nKEY" -> Place */
	GPtrArray *expected; /* NULL-terminated names */
	GPtrArray *names;    /* of the matrix */
	GPtrArray *values;   /* GStrv of each */
	guint n_cases;
	GHashTable *chosen; /* name of the matrix -> value */
	GString *label;
};

/* What a group may have. */
static const struct {
	const char *group;
	const char *keys[24];
} known[] = {
	{"test", {"about", "tags", "timeout"}},
	{"guest",
	 {"kernel", "demo", "hosted", "initrd", "append", "accel", "cpus", "memory", "regions"}},
	{"trace", {"enable", "filter", "ring-size", "mode", "host", "loss", "duration"}},
	{FAULT, {"inject", "at", "on"}},
	{EXPECT, {"event", "never", "each", "last",  "pair", "serial", "serial-never", "exit",
		  "count", "rate",  "then", "after", "same", "open",   "within",       "since",
		  "bind",  "is",    "key",  "p50",   "p90",  "p99",    "max"}},
};

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
	if (!place)
		place = find_place(spec, group, NULL);
	if (!place)
		place = &top;
	blame_place(spec->path, spec->lines[place->line - 1], place, error, message);
}

void rs_trace_spec_blame_part(const RsTraceSpec *spec, const char *group, const char *key,
			      const char *part, guint at, guint length, const char *message,
			      GError **error)
{
	const Place *whole = find_place(spec, group, key);
	const char *line = whole ? spec->lines[whole->line - 1] : NULL;
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
	blame_place(spec->path, spec->lines[place.line - 1], &place, error, message);
	g_free(name);
	return FALSE;
}

static gboolean wrong_line(const RsTraceSpec *spec, guint number, guint at, const char *what,
			   GError **error)
{
	const Place place = {.line = number, .at = at, .length = 1};

	blame_place(spec->path, spec->lines[number - 1], &place, error, what);
	return FALSE;
}

static gboolean note_group(RsTraceSpec *spec, guint number, char **group, GError **error)
{
	char *line = spec->lines[number - 1], *begin = strchr(line, '['), *end = strrchr(line, ']');
	guint at = (guint)(begin - line);

	if (!end || end < begin + 2 || end[1 + strspn(end + 1, " \t\r")])
		return wrong_line(spec, number, at, "a group is [NAME]", error);
	g_free(*group);
	*group = g_strndup(begin + 1, (gsize)(end - begin - 1));
	if (g_str_has_prefix(*group, EXPECT))
		g_ptr_array_add(spec->expected, g_strdup(*group + strlen(EXPECT)));
	return note(spec, g_strdup(*group),
		    (Place){.line = number, .at = at, .length = (guint)(end - begin + 1)}, error);
}

static gboolean note_key(RsTraceSpec *spec, guint number, const char *group, GError **error)
{
	char *line = spec->lines[number - 1], *equals = strchr(line, '=');
	guint at = (guint)strspn(line, " \t"), value;
	g_autofree char *key = NULL;
	gsize length;

	if (!equals)
		return wrong_line(spec, number, at, "this is no KEY = VALUE", error);
	if (!group)
		return wrong_line(spec, number, at, "there is no [GROUP] before this", error);
	key = g_strchomp(g_strndup(line + at, (gsize)(equals - line) - at));
	if (!*key)
		return wrong_line(spec, number, at, "there is no name before the '='", error);
	value = (guint)(equals - line) + 1 + (guint)strspn(equals + 1, " \t");
	length = strlen(line + value);
	while (length && g_ascii_isspace(line[value + length - 1]))
		length--;
	return note(spec, g_strconcat(group, "\n", key, NULL),
		    (Place){.line = number, .at = value, .length = (guint)MAX(length, 1)}, error);
}

static gboolean note_places(RsTraceSpec *spec, GError **error)
{
	g_autofree char *group = NULL;
	gboolean good = TRUE;

	for (guint n = 1; good && spec->lines[n - 1]; n++) {
		const char *begin = spec->lines[n - 1] + strspn(spec->lines[n - 1], " \t\r");

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
	g_autofree char *clean = rs_trace_escape(key, -1, NULL);
	g_autoptr(GString) all = g_string_new(NULL);

	for (const char *const *one = keys; *one; one++) {
		if (g_str_equal(*one, key))
			return TRUE;
		g_string_append_printf(all, "%s%s", all->len ? ", " : "", *one);
	}
	rs_trace_spec_blame(spec, group, key, error, "there is no key '%s' here, but %s", clean,
			    all->str);
	return FALSE;
}

static const char *const *keys_of(const char *group)
{
	for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
		if (g_str_has_suffix(known[i].group, " ") ? g_str_has_prefix(group, known[i].group)
							  : g_str_equal(group, known[i].group))
			return known[i].keys;
	}
	return NULL;
}

static gboolean check_group(const RsTraceSpec *spec, const char *group, GError **error)
{
	g_auto(GStrv) keys = g_key_file_get_keys(spec->file, group, NULL, NULL);
	const char *const *may = keys_of(group);
	g_autofree char *clean = NULL;

	if (g_str_equal(group, "matrix"))
		return TRUE;
	if (!may) {
		clean = rs_trace_escape(group, -1, NULL);
		rs_trace_spec_blame(spec, group, NULL, error,
				    "there is no group '%s', but test, guest, matrix, trace, "
				    "'fault NAME' and 'expect NAME'",
				    clean);
		return FALSE;
	}
	for (char **key = keys; key && *key; key++) {
		if (!check_key(spec, group, may, *key, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean read_matrix(RsTraceSpec *spec, GError **error)
{
	g_auto(GStrv) keys = g_key_file_get_keys(spec->file, "matrix", NULL, NULL);

	spec->n_cases = 1;
	for (char **key = keys; key && *key; key++) {
		GStrv values = rs_trace_spec_list(spec, "matrix", *key, error);

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

static gboolean parse(RsTraceSpec *spec, const char *text, gsize size, GError **error)
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
		if (!check_group(spec, *group, error))
			return FALSE;
	}
	return read_matrix(spec, error);
}

RsTraceSpec *rs_trace_spec_new(const char *path, const char *text, gsize size, GError **error)
{
	g_autoptr(RsTraceSpec) spec = g_new0(RsTraceSpec, 1);

	spec->path = g_strdup(path);
	spec->file = g_key_file_new();
	spec->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	spec->expected = g_ptr_array_new_with_free_func(g_free);
	spec->names = g_ptr_array_new_with_free_func(g_free);
	spec->values = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	spec->chosen = g_hash_table_new(g_str_hash, g_str_equal);
	spec->label = g_string_new(NULL);
	if (size > RS_TRACE_SPEC_MAX || memchr(text, 0, size) ||
	    !g_utf8_validate(text, (gssize)size, NULL)) {
		g_autofree char *clean = rs_trace_escape(path, -1, NULL);

		g_set_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG,
			    "%s: this is no spec: it is too large, or no text in UTF-8", clean);
		return NULL;
	}
	{
		g_autofree char *copy = g_strndup(text, size);

		/* Of an empty text it would make no line, and what is wrong has one. */
		spec->lines = g_strsplit(*copy ? copy : "\n", "\n", -1);
	}
	if (!parse(spec, text, size, error))
		return NULL;
	g_ptr_array_add(spec->expected, NULL);
	rs_trace_spec_choose(spec, 0);
	return g_steal_pointer(&spec);
}

RsTraceSpec *rs_trace_spec_load(const char *path, GError **error)
{
	g_autofree char *text = NULL;
	gsize size;

	if (!g_file_get_contents(path, &text, &size, error))
		return NULL;
	return rs_trace_spec_new(path, text, size, error);
}

void rs_trace_spec_free(RsTraceSpec *spec)
{
	if (!spec)
		return;
	g_free(spec->path);
	g_strfreev(spec->lines);
	g_key_file_unref(spec->file);
	g_hash_table_unref(spec->places);
	g_ptr_array_unref(spec->expected);
	g_ptr_array_unref(spec->names);
	g_ptr_array_unref(spec->values);
	g_hash_table_unref(spec->chosen);
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

/* The last name of the matrix changes the fastest. */
void rs_trace_spec_choose(RsTraceSpec *spec, guint number)
{
	for (guint i = spec->names->len; i-- > 0;) {
		GStrv values = spec->values->pdata[i];
		guint n = g_strv_length(values);

		g_hash_table_insert(spec->chosen, spec->names->pdata[i], values[number % n]);
		number /= n;
	}
	g_string_truncate(spec->label, 0);
	for (guint i = 0; i < spec->names->len; i++) {
		char *name = spec->names->pdata[i];

		g_string_append_printf(spec->label, "%s%s=%s", i ? ", " : "", name,
				       (char *)g_hash_table_lookup(spec->chosen, name));
	}
}

const char *rs_trace_spec_case(const RsTraceSpec *spec)
{
	return spec->label->str;
}

/* ---- values ---- */

const char *const *rs_trace_spec_expectations(const RsTraceSpec *spec)
{
	return (const char *const *)spec->expected->pdata;
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

static char *expand(const RsTraceSpec *spec, const char *group, const char *key, const char *value,
		    GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const char *begin, *end;

	for (; (begin = strstr(value, "${")) && (end = strchr(begin, '}')); value = end + 1) {
		g_autofree char *name = g_strndup(begin + 2, (gsize)(end - begin - 2));
		const char *is = g_hash_table_lookup(spec->chosen, name);

		g_string_append_len(out, value, begin - value);
		if (!is)
			is = g_getenv(name);
		if (!is) {
			g_autofree char *clean = rs_trace_escape(name, -1, NULL);

			rs_trace_spec_blame(spec, group, key, error,
					    "'%s' is no name of the matrix, nor of the environment",
					    clean);
			return NULL;
		}
		g_string_append(out, is);
		if (out->len > RS_TRACE_SPEC_MAX) {
			rs_trace_spec_blame(spec, group, key, error, "this becomes too long");
			return NULL;
		}
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

GStrv rs_trace_spec_groups(const RsTraceSpec *spec, const char *prefix)
{
	g_auto(GStrv) groups = g_key_file_get_groups(spec->file, NULL);
	GPtrArray *found = g_ptr_array_new();

	for (char **group = groups; *group; group++)
		if (g_str_has_prefix(*group, prefix))
			g_ptr_array_add(found, g_strdup(*group));
	g_ptr_array_add(found, NULL);
	return (GStrv)g_ptr_array_free(found, FALSE);
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
	g_autoptr(GPtrArray) list = g_ptr_array_new();
	g_auto(GStrv) parts = NULL;

	if (!value)
		return NULL;
	parts = g_strsplit(value, ";", -1);
	for (char **part = parts; *part; part++) {
		if (*g_strstrip(*part))
			g_ptr_array_add(list, g_strdup(*part));
	}
	g_ptr_array_add(list, NULL);
	return (GStrv)g_ptr_array_free(g_steal_pointer(&list), FALSE);
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
