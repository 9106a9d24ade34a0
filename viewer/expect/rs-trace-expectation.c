/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-expectation-private.h"

#include "expect/rs-trace-match.h"
#include "filter/filter.h"
#include "filter/rs-trace-event-glob.h"
#include "filter/rs-trace-selection.h"
#include "analysis/rs-trace-column.h"
#include "analysis/rs-trace-latency.h"
#include "rs-trace-error.h"

#include <string.h>

/* Which keys go with which kind. */
static const struct {
	const char *key;
	RsTraceExpectKind kind;
	const char *may[12];
} kinds[] = {
	{"event",
	 RS_TRACE_EXPECT_EVENT,
	 {"count", "rate", "then", "after", "same", "within", "since", "until", "bind"}},
	{"never", RS_TRACE_EXPECT_NEVER, {"within", "since", "until"}},
	{"each",
	 RS_TRACE_EXPECT_EACH,
	 {"then", "after", "same", "open", "within", "since", "until"}},
	{"last", RS_TRACE_EXPECT_LAST, {"is", "since", "until"}},
	{"pair", RS_TRACE_EXPECT_PAIR, {"key", "count", "open", "p50", "p90", "p99", "max"}},
	{"serial", RS_TRACE_EXPECT_SERIAL, {"count"}},
	{"serial-never", RS_TRACE_EXPECT_SERIAL_NEVER, {NULL}},
	{"exit", RS_TRACE_EXPECT_EXIT, {NULL}},
	{"end", RS_TRACE_EXPECT_END, {"text"}},
};

/* What is being read. */
typedef struct {
	const RsTraceSpec *spec;
	const char *group;
	RsTraceExpectation *e;
	GHashTable *bound;  /* names that have a value by then -> itself */
	GHashTable *before; /* names of expectations */
	GError **error;
} Reading;

static void same_clear(gpointer data)
{
	RsTraceExpectSame *same = data;

	g_free(same->of_subject);
	g_free(same->of_partner);
}

static void binding_clear(gpointer data)
{
	RsTraceExpectBinding *binding = data;

	g_free(binding->name);
	g_free(binding->field);
}

static RsTraceExpectation *expectation_new(const char *name)
{
	RsTraceExpectation *e = g_new0(RsTraceExpectation, 1);

	e->name = g_strdup(name);
	e->same = g_array_new(FALSE, FALSE, sizeof(RsTraceExpectSame));
	g_array_set_clear_func(e->same, same_clear);
	e->bind = g_array_new(FALSE, FALSE, sizeof(RsTraceExpectBinding));
	g_array_set_clear_func(e->bind, binding_clear);
	return e;
}

static void expectation_free(gpointer data)
{
	RsTraceExpectation *e = data;

	g_free(e->name);
	g_free(e->subject);
	g_free(e->partner);
	g_array_unref(e->same);
	g_array_unref(e->bind);
	g_free(e->is);
	g_free(e->since);
	g_free(e->until);
	g_free(e->key);
	g_free(e->text);
	g_free(e);
}

/* ---- variables ---- */

char *rs_trace_expect_fill(const char *event, GHashTable *values, char **missing)
{
	g_autoptr(GString) out = g_string_new(NULL);

	while (*event) {
		const char *end = event + 1;
		const char *value;
		g_autofree char *name = NULL;

		if (*event != '$' || *end == '$') {
			g_string_append_c(out, *event);
			event += *event == '$' ? 2 : 1;
			continue;
		}
		while (g_ascii_isalnum(*end) || *end == '_')
			end++;
		name = g_strndup(event + 1, (gsize)(end - event - 1));
		value = g_hash_table_lookup(values, name);
		if (!value) {
			if (missing)
				*missing = g_steal_pointer(&name);
			return NULL;
		}
		g_string_append(out, value);
		event = end;
	}
	return g_string_free(g_steal_pointer(&out), FALSE);
}

/*
 * A "$NAME" in quotes: its value would be a part of a text, and may have quotes itself. NULL: there
 * is none.
 */
static const char *find_quoted(const char *event)
{
	gboolean quoted = FALSE;

	for (; *event; event++) {
		if (*event == '"')
			quoted = !quoted;
		else if (quoted && *event == '\\' && event[1])
			event++;
		else if (*event == '$' && event[1] == '$')
			event++;
		else if (quoted && *event == '$')
			return event;
	}
	return NULL;
}

/* "~ $NAME": what a guest says would be a pattern, such as "*". NULL: there is none. */
static const char *find_pattern(const char *event)
{
	gboolean quoted = FALSE;

	for (; *event; event++) {
		if (quoted && *event == '\\' && event[1])
			event++;
		else if (*event == '"')
			quoted = !quoted;
		else if (!quoted && *event == '~' && event[1 + strspn(event + 1, " \t")] == '$')
			return event + 1 + strspn(event + 1, " \t");
	}
	return NULL;
}

/* ---- events ---- */

/* With numbers in place of variables. That is a value of every kind, so far as the syntax goes. */
static gboolean check_event(Reading *r, const char *key, const char *event)
{
	g_autofree char *missing = NULL, *filled = NULL;
	g_autoptr(RsTraceSelection) selection = NULL;
	g_autoptr(GError) why = NULL;
	g_autofree char *glob = NULL, *expression = NULL;
	struct rs_filter_error mistake = {0};
	const char *quoted;

	quoted = find_quoted(event);
	if (quoted) {
		rs_trace_spec_blame_part(r->spec, r->group, key, quoted, 0, 1,
					 "a variable stands for a whole value, so it has no quotes "
					 "around it; $$ is a $",
					 r->error);
		return FALSE;
	}
	quoted = find_pattern(event);
	if (quoted) {
		rs_trace_spec_blame_part(
			r->spec, r->group, key, quoted, 0, 1,
			"a variable is no pattern, whatever its value is; == compares", r->error);
		return FALSE;
	}
	filled = rs_trace_expect_fill(event, r->bound, &missing);
	if (!filled) {
		rs_trace_spec_blame(r->spec, r->group, key, r->error,
				    "no expectation before this binds '$%s'", missing);
		return FALSE;
	}
	rs_filter_split_event(filled, &glob, &expression);
	if (glob && expression && rs_filter_check(expression, &mistake)) {
		rs_trace_spec_blame_part(r->spec, r->group, key, expression, mistake.at,
					 mistake.length, mistake.message, r->error);
		return FALSE;
	}
	selection = rs_trace_match_select(filled, &why);
	if (!selection)
		rs_trace_spec_blame(r->spec, r->group, key, r->error, "%s", why->message);
	return selection != NULL;
}

static gboolean take_event(Reading *r, const char *key, char **out)
{
	GError *error = NULL;

	*out = rs_trace_spec_get(r->spec, r->group, key, &error);
	if (!*out || !**out) {
		if (error)
			g_propagate_error(r->error, error);
		else
			rs_trace_spec_blame(r->spec, r->group, key, r->error,
					    "this is no event, such as sched:switch");
		return FALSE;
	}
	return check_event(r, key, *out);
}

/* ---- keys ---- */

/* TRUE: the key is not there, or is good. */
static gboolean take_text(Reading *r, const char *key, char **out)
{
	if (!rs_trace_spec_has(r->spec, r->group, key))
		return TRUE;
	*out = rs_trace_spec_get(r->spec, r->group, key, r->error);
	return *out != NULL;
}

static gboolean take_list(Reading *r, const char *key, GStrv *out)
{
	if (!rs_trace_spec_has(r->spec, r->group, key))
		return TRUE;
	*out = rs_trace_spec_list(r->spec, r->group, key, r->error);
	return *out != NULL;
}

static gboolean take_ranges(Reading *r)
{
	RsTraceExpectation *e = r->e;
	const RsTraceSpec *spec = r->spec;

	e->least = 1;
	e->most = G_MAXUINT64;
	e->most_rate = G_MAXUINT64;
	if (rs_trace_spec_has(spec, r->group, "count") &&
	    !rs_trace_spec_range(spec, r->group, "count", &e->least, &e->most, r->error))
		return FALSE;
	return !rs_trace_spec_has(spec, r->group, "rate") ||
	       rs_trace_spec_range(spec, r->group, "rate", &e->least_rate, &e->most_rate, r->error);
}

static gboolean take_limits(Reading *r)
{
	static const RsTraceExpectLimit known[] = {
		{"p50", 50, 0}, {"p90", 90, 0}, {"p99", 99, 0}, {"max", 100, 0}};
	RsTraceExpectation *e = r->e;

	for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
		RsTraceExpectLimit limit = known[i];

		if (!rs_trace_spec_has(r->spec, r->group, limit.key))
			continue;
		if (!rs_trace_spec_duration(r->spec, r->group, limit.key, &limit.most, r->error))
			return FALSE;
		e->limits[e->n_limits++] = limit;
	}
	return TRUE;
}

static gboolean take_open(Reading *r)
{
	return !rs_trace_spec_has(r->spec, r->group, "open") ||
	       rs_trace_spec_number(r->spec, r->group, "open", &r->e->open, r->error);
}

static gboolean take_partner(Reading *r)
{
	RsTraceExpectation *e = r->e;
	gboolean then = rs_trace_spec_has(r->spec, r->group, "then");
	gboolean after = rs_trace_spec_has(r->spec, r->group, "after");

	if (then && after) {
		rs_trace_spec_blame(r->spec, r->group, "after", r->error,
				    "an expectation has one of then and after");
		return FALSE;
	}
	if (e->kind == RS_TRACE_EXPECT_EACH && !then && !after) {
		rs_trace_spec_blame(r->spec, r->group, "each", r->error,
				    "each needs a partner: then or after");
		return FALSE;
	}
	e->before = after;
	if ((then || after) && !take_event(r, then ? "then" : "after", &e->partner))
		return FALSE;
	if (rs_trace_spec_has(r->spec, r->group, "open")) {
		if (!then) {
			rs_trace_spec_blame(r->spec, r->group, "open", r->error,
					    "only what has its partner after it can wait: then");
			return FALSE;
		}
		if (!take_open(r))
			return FALSE;
	}
	if (rs_trace_spec_has(r->spec, r->group, "same") && !e->partner) {
		rs_trace_spec_blame(r->spec, r->group, "same", r->error,
				    "same is of two events: there is neither then nor after");
		return FALSE;
	}
	return TRUE;
}

static gboolean take_since(Reading *r)
{
	RsTraceExpectation *e = r->e;

	e->within = G_MAXUINT64;
	if (!take_text(r, "since", &e->since) || !take_text(r, "until", &e->until))
		return FALSE;
	if (e->since && !g_hash_table_contains(r->before, e->since)) {
		rs_trace_spec_blame(r->spec, r->group, "since", r->error,
				    "no expectation of an event before this has that name");
		return FALSE;
	}
	if (!rs_trace_spec_has(r->spec, r->group, "within"))
		return TRUE;
	if (!e->since && !e->partner) {
		rs_trace_spec_blame(r->spec, r->group, "within", r->error,
				    "within what of it? There is no then, after or since");
		return FALSE;
	}
	return rs_trace_spec_duration(r->spec, r->group, "within", &e->within, r->error);
}

/* What every record has, and no event. */
static gboolean is_own(const char *name)
{
	static const char *const own[] = {"CPU", "PID", "TGID", "COMM", "SOURCE", NULL};

	return g_strv_contains(own, name);
}

RsTraceColumn *rs_trace_expect_column(const char *field, GError **error)
{
	g_autofree char *lower = g_ascii_strdown(field, -1),
			*of_any = g_strconcat("*.", field, NULL);

	if (!*field || strchr(field, '.')) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION, "'%s' is no FIELD%s",
			    field, *field ? ": no event goes before it" : "");
		return NULL;
	}
	return rs_trace_column_new(is_own(field) ? lower : of_any, error);
}

static gboolean check_column(Reading *r, const char *key, const char *name)
{
	g_autoptr(GError) why = NULL;
	g_autoptr(RsTraceColumn) column = rs_trace_expect_column(name, &why);

	if (!column)
		rs_trace_spec_blame(r->spec, r->group, key, r->error, "%s", why->message);
	return column != NULL;
}

static gboolean take_same(Reading *r)
{
	g_auto(GStrv) all = NULL;

	if (!take_list(r, "same", &all))
		return FALSE;
	for (char **one = all; one && *one; one++) {
		g_auto(GStrv) halves = g_strsplit(*one, "=", 2);
		const char *first = g_strstrip(halves[0]);
		const char *second = halves[1] ? g_strstrip(halves[1]) : first;
		RsTraceExpectSame same;

		if (!check_column(r, "same", first) || !check_column(r, "same", second))
			return FALSE;
		same.of_subject = g_strdup(first);
		same.of_partner = g_strdup(second);
		g_array_append_val(r->e->same, same);
	}
	return TRUE;
}

static gboolean is_variable(const char *name)
{
	return *name && !name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_")];
}

static gboolean take_bindings(Reading *r)
{
	g_auto(GStrv) all = NULL;

	if (!take_list(r, "bind", &all))
		return FALSE;
	for (char **one = all; one && *one; one++) {
		g_auto(GStrv) halves = g_strsplit(*one, "=", 2);
		const char *name = g_strstrip(halves[0]);
		const char *field = halves[1] ? g_strstrip(halves[1]) : "";
		RsTraceExpectBinding binding;

		if (!is_variable(name) || !*field) {
			rs_trace_spec_blame(r->spec, r->group, "bind", r->error,
					    "this is no NAME=FIELD");
			return FALSE;
		}
		if (!check_column(r, "bind", field))
			return FALSE;
		if (g_hash_table_contains(r->bound, name)) {
			rs_trace_spec_blame(r->spec, r->group, "bind", r->error,
					    "'$%s' has a value already", name);
			return FALSE;
		}
		g_hash_table_insert(r->bound, g_strdup(name), g_strdup("1"));
		binding.name = g_strdup(name);
		binding.field = g_strdup(field);
		g_array_append_val(r->e->bind, binding);
	}
	return TRUE;
}

static gboolean take_pattern(Reading *r, const char *key, char **out)
{
	g_autoptr(GError) why = NULL;
	g_autoptr(GRegex) regex = NULL;

	*out = rs_trace_spec_get(r->spec, r->group, key, r->error);
	if (!*out)
		return FALSE;
	if (!**out) {
		rs_trace_spec_blame(r->spec, r->group, key, r->error,
				    "an empty pattern is in every line");
		return FALSE;
	}
	/* As the verdict makes it. */
	regex = g_regex_new(*out, RS_TRACE_EXPECT_REGEX, 0, &why);
	if (!regex)
		rs_trace_spec_blame(r->spec, r->group, key, r->error, "%s", why->message);
	return regex != NULL;
}

static gboolean take_pair(Reading *r)
{
	g_autoptr(RsTraceLatency) latency = NULL;
	g_autoptr(GError) why = NULL;

	if (!take_text(r, "key", &r->e->key))
		return FALSE;
	latency = rs_trace_latency_new(r->e->subject, r->e->key, &why);
	if (!latency)
		rs_trace_spec_blame(r->spec, r->group, "pair", r->error, "%s", why->message);
	if (!latency || !take_limits(r) || !take_open(r))
		return FALSE;
	if (r->e->n_limits || rs_trace_spec_has(r->spec, r->group, "count"))
		return TRUE;
	rs_trace_spec_blame(
		r->spec, r->group, "pair", r->error,
		"what of these pairs? It is one or more of count, p50, p90, p99 and max");
	return FALSE;
}

static gboolean take_end(Reading *r, const char *key)
{
	static const char *const ends[] = {"panic", "reset", "triple-fault", "fault", NULL};

	r->e->subject = rs_trace_spec_get(r->spec, r->group, key, r->error);
	if (!r->e->subject)
		return FALSE;
	if (!g_strv_contains(ends, r->e->subject)) {
		rs_trace_spec_blame(r->spec, r->group, key, r->error,
				    "a guest ends badly by one of panic, reset, triple-fault and "
				    "fault");
		return FALSE;
	}
	return !rs_trace_spec_has(r->spec, r->group, "text") ||
	       take_pattern(r, "text", &r->e->text);
}

static gboolean take_rest(Reading *r, const char *key)
{
	RsTraceExpectation *e = r->e;

	switch (e->kind) {
	case RS_TRACE_EXPECT_PAIR:
		e->subject = rs_trace_spec_get(r->spec, r->group, key, r->error);
		return e->subject && take_ranges(r) && take_pair(r);
	case RS_TRACE_EXPECT_SERIAL:
	case RS_TRACE_EXPECT_SERIAL_NEVER:
		return take_ranges(r) && take_pattern(r, key, &e->subject);
	case RS_TRACE_EXPECT_EXIT:
		return rs_trace_spec_range(r->spec, r->group, key, &e->least_code, &e->most_code,
					   r->error);
	case RS_TRACE_EXPECT_END:
		return take_end(r, key);
	default:
		break;
	}
	if (!take_event(r, key, &e->subject) || !take_ranges(r) || !take_partner(r) ||
	    !take_since(r) || !take_same(r) || !take_bindings(r))
		return FALSE;
	if (e->kind != RS_TRACE_EXPECT_LAST)
		return TRUE;
	if (!take_text(r, "is", &e->is))
		return FALSE;
	if (!e->is)
		rs_trace_spec_blame(r->spec, r->group, key, r->error,
				    "the last event needs an expression: is");
	else if (strchr(e->subject, ' '))
		rs_trace_spec_blame(r->spec, r->group, key, r->error,
				    "this is a name, or a glob; the expression goes to 'is'");
	else {
		g_autofree char *both = g_strconcat(e->subject, ": ", e->is, NULL);

		return check_event(r, "is", both);
	}
	return FALSE;
}

/* ---- groups ---- */

static gboolean check_keys(Reading *r, guint kind)
{
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (i != kind && rs_trace_spec_has(r->spec, r->group, kinds[i].key)) {
			rs_trace_spec_blame(r->spec, r->group, kinds[i].key, r->error,
					    "an expectation has one of %s and %s", kinds[kind].key,
					    kinds[i].key);
			return FALSE;
		}
		for (const char *const *key = kinds[i].may; *key; key++) {
			if (!rs_trace_spec_has(r->spec, r->group, *key) ||
			    g_strv_contains(kinds[kind].may, *key))
				continue;
			rs_trace_spec_blame(r->spec, r->group, *key, r->error,
					    "'%s' does not go with '%s'", *key, kinds[kind].key);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean take_group(Reading *r)
{
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (!rs_trace_spec_has(r->spec, r->group, kinds[i].key))
			continue;
		r->e->kind = kinds[i].kind;
		r->e->line = rs_trace_spec_line(r->spec, r->group, kinds[i].key);
		return check_keys(r, i) && take_rest(r, kinds[i].key);
	}
	rs_trace_spec_blame(r->spec, r->group, NULL, r->error,
			    "this says nothing that is expected: event, never, each, last, pair, "
			    "serial, serial-never, exit or end");
	return FALSE;
}

GPtrArray *rs_trace_expectations_new(const RsTraceSpec *spec, GError **error)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(expectation_free);
	g_autoptr(GHashTable) bound =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autoptr(GHashTable) before = g_hash_table_new(g_str_hash, g_str_equal);
	g_auto(GStrv) names = rs_trace_spec_named(spec, "expect");

	for (char **name = names; *name; name++) {
		g_autofree char *group = g_strconcat("expect ", *name, NULL);
		GError *why = NULL;
		Reading reading = {.spec = spec,
				   .group = group,
				   .e = expectation_new(*name),
				   .bound = bound,
				   .before = before,
				   .error = &why};
		gboolean good;

		g_ptr_array_add(all, reading.e);
		good = take_group(&reading);
		if (why) {
			g_propagate_error(error, why);
			return NULL;
		}
		if (!good) {
			rs_trace_spec_blame(spec, group, NULL, error, "this cannot be understood");
			return NULL;
		}
		if (reading.e->kind == RS_TRACE_EXPECT_EVENT)
			g_hash_table_add(before, reading.e->name);
	}
	return rs_trace_expectations_agree(spec, all, error) ? g_steal_pointer(&all) : NULL;
}
