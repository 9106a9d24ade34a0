/* SPDX-License-Identifier: MIT */
#include "cli/profile.h"

#include "cli/verb.h"
#include "filter/filter.h"
#include "session/event_glob.h"
#include <ringside/region.h>
#include <gio/gio.h>
#include <string.h>

/* What is being read. */
struct reading {
	struct rs_profile *profile;
	const RsTraceSpec *spec;
	GError **error;
};

static void free_item(gpointer data)
{
	struct rs_profile_item *item = data;

	g_free(item->group);
	g_free(item->glob);
	g_free(item->expression);
	rs_trigger_text_free(item->trigger);
	g_free(item);
}

static struct rs_profile_item *add(GPtrArray *items, const char *group, const char *key, guint nth)
{
	struct rs_profile_item *item = g_new0(struct rs_profile_item, 1);

	item->group = g_strdup(group);
	item->key = key;
	item->nth = nth;
	g_ptr_array_add(items, item);
	return item;
}

static bool blame(const struct reading *r, const char *group, const char *key, const char *what)
{
	rs_trace_spec_blame(r->spec, group, key, r->error, "%s", what);
	return false;
}

/* The value of a key that must be there and have one, to be freed. NULL: it was blamed. */
static char *take(const struct reading *r, const char *group, const char *key)
{
	g_autofree char *value = NULL;

	if (!rs_trace_spec_has(r->spec, group, key)) {
		g_autofree char *what = g_strdup_printf("this needs a key '%s'", key);

		blame(r, group, NULL, what);
		return NULL;
	}
	value = rs_trace_spec_get(r->spec, group, key, r->error);
	if (value && !*g_strstrip(value)) {
		blame(r, group, key, "there is nothing here");
		return NULL;
	}
	return g_steal_pointer(&value);
}

/* Names have no blanks, and a list may have some behind its commas. To be freed. */
static char *without_blanks(const char *list)
{
	g_auto(GStrv) parts = g_strsplit(list, ",", -1);

	for (char **part = parts; *part; part++)
		g_strstrip(*part);
	return g_strjoinv(",", parts);
}

/* The events of a filter or a trigger, to be freed. NULL: it was blamed. */
static char *take_glob(const struct reading *r, const char *group, const char *key)
{
	g_autofree char *list = take(r, group, key), *glob = NULL;
	struct rs_error err = {0};

	if (!list)
		return NULL;
	glob = without_blanks(list);
	if (rs_event_glob_check(glob, &err)) {
		blame(r, group, key, err.message);
		return NULL;
	}
	if (!rs_event_glob_check_names(glob, &err))
		return g_steal_pointer(&glob);
	blame(r, group, key,
	      strstr(glob, ": ") ? "this is no glob: an expression goes to 'if'" : err.message);
	return NULL;
}

static bool check_expression(const struct reading *r, const char *group, const char *expression)
{
	struct rs_filter_error mistake = {0};

	if (!rs_filter_check(expression, &mistake))
		return true;
	rs_trace_spec_blame_part(r->spec, group, "if", expression, mistake.at, mistake.length,
				 mistake.message, r->error);
	return false;
}

/* Of an expression, to be freed. NULL: the group has none. */
static char *place_of(const RsTraceSpec *spec, const char *group)
{
	const guint line = rs_trace_spec_line(spec, group, "if");

	return line ? g_strdup_printf("%s:%u", rs_trace_spec_path(spec), line) : NULL;
}

/* ---- [events] ---- */

static bool take_globs(const struct reading *r, const char *key, GPtrArray *items)
{
	g_auto(GStrv) lists = NULL;

	if (!rs_trace_spec_has(r->spec, "events", key))
		return true;
	lists = rs_trace_spec_list(r->spec, "events", key, r->error);
	if (!lists)
		return false;
	if (!*lists)
		return blame(r, "events", key, "there is nothing here");
	for (guint n = 0; lists[n]; n++) {
		g_autofree char *plain = without_blanks(lists[n]);
		g_auto(GStrv) globs = rs_trace_event_glob_split(plain);
		struct rs_error err = {0};

		if (rs_event_glob_check(plain, &err) || rs_event_glob_check_names(plain, &err)) {
			rs_trace_spec_blame_nth(r->spec, "events", key, n, err.message, r->error);
			return false;
		}
		for (char **glob = globs; *glob; glob++)
			add(items, "events", key, n)->glob = g_strdup(*glob);
	}
	return true;
}

/* ---- [filter NAME] ---- */

static bool take_filter(const struct reading *r, const char *group)
{
	g_autofree char *glob = take_glob(r, group, "events");
	g_autofree char *expression = glob ? take(r, group, "if") : NULL;
	struct rs_profile_item *item;

	if (!expression || !check_expression(r, group, expression))
		return false;
	item = add(r->profile->filters, group, "events", 0);
	item->glob = g_steal_pointer(&glob);
	item->expression = g_steal_pointer(&expression);
	return true;
}

/* ---- [trigger NAME] ---- */

/* Without an expression *out stays as it is. */
static bool take_condition(const struct reading *r, const char *group, char **out)
{
	if (!rs_trace_spec_has(r->spec, group, "if"))
		return true;
	*out = take(r, group, "if");
	return *out && check_expression(r, group, *out);
}

static bool take_count(const struct reading *r, const char *group, guint64 *count)
{
	if (!rs_trace_spec_has(r->spec, group, "count"))
		return true;
	if (!rs_trace_spec_number(r->spec, group, "count", count, r->error))
		return false;
	if (*count >= 1 && *count <= G_MAXUINT32)
		return true;
	return blame(r, group, "count", "this is from 1 on, and below 2^32");
}

static bool take_trigger(const struct reading *r, const char *group)
{
	g_autofree char *glob = take_glob(r, group, "on");
	g_autofree char *expression = NULL, *what = NULL;
	g_auto(GStrv) actions = NULL;
	struct rs_trigger_text *text;
	struct rs_error err = {0};
	guint64 count = 0;

	if (!glob || !take_condition(r, group, &expression) || !take_count(r, group, &count))
		return false;
	what = take(r, group, "do");
	actions = what ? rs_trace_spec_list(r->spec, group, "do", r->error) : NULL;
	if (!actions)
		return false;
	if (rs_trigger_text_new(glob, expression, (const char *const *)actions, count, &text, &err))
		return blame(r, group, "do", err.message);
	text->place = place_of(r->spec, group);
	add(r->profile->triggers, group, "on", 0)->trigger = text;
	return true;
}

/* ---- all ---- */

static bool take_named(const struct reading *r, const char *kind,
		       bool (*take_one)(const struct reading *r, const char *group))
{
	g_auto(GStrv) names = rs_trace_spec_named(r->spec, kind);

	for (char **name = names; *name; name++) {
		g_autofree char *group = g_strconcat(kind, " ", *name, NULL);

		if (!take_one(r, group))
			return false;
	}
	return true;
}

static bool take_mode(const struct reading *r)
{
	static const char *const modes[] = {
		[RS_MODE_OVERWRITE] = "overwrite", [RS_MODE_DROP] = "drop", NULL};
	guint mode;

	if (!rs_trace_spec_has(r->spec, "ring", "mode"))
		return true;
	if (!rs_trace_spec_choice(r->spec, "ring", "mode", modes, &mode, r->error))
		return false;
	r->profile->mode = (int)mode;
	return true;
}

/* Takes `spec` over. */
static struct rs_profile *read_spec(RsTraceSpec *spec, GError **error)
{
	g_autoptr(RsProfile) profile = g_new0(struct rs_profile, 1);
	const struct reading r = {profile, spec, error};

	profile->spec = spec;
	profile->enables = g_ptr_array_new_with_free_func(free_item);
	profile->disables = g_ptr_array_new_with_free_func(free_item);
	profile->filters = g_ptr_array_new_with_free_func(free_item);
	profile->triggers = g_ptr_array_new_with_free_func(free_item);
	profile->mode = RS_PROFILE_ANY_MODE;
	if (!rs_trace_spec_check(spec, error) || !take_globs(&r, "enable", profile->enables) ||
	    !take_globs(&r, "disable", profile->disables) ||
	    !take_named(&r, "filter", take_filter) || !take_named(&r, "trigger", take_trigger) ||
	    !take_mode(&r))
		return NULL;
	return g_steal_pointer(&profile);
}

struct rs_profile *rs_profile_new(const char *path, const char *text, gsize size, GError **error)
{
	RsTraceSpec *spec = rs_trace_spec_new_profile(path, text, size, error);

	return spec ? read_spec(spec, error) : NULL;
}

struct rs_profile *rs_profile_load(const char *path, GError **error)
{
	RsTraceSpec *spec = rs_trace_spec_load_profile(path, error);

	return spec ? read_spec(spec, error) : NULL;
}

void rs_profile_free(struct rs_profile *profile)
{
	if (!profile)
		return;
	rs_trace_spec_free(profile->spec);
	g_ptr_array_unref(profile->enables);
	g_ptr_array_unref(profile->disables);
	g_ptr_array_unref(profile->filters);
	g_ptr_array_unref(profile->triggers);
	g_free(profile);
}

struct rs_profile *rs_profile_take(const char *path, int *code)
{
	g_autoptr(GError) error = NULL;
	struct rs_profile *profile = rs_profile_load(path, &error);
	const bool wrong = g_error_matches(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG);

	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND))
		*code = rs_cli_fail(RS_CLI_FAILED, "there is no file '%s'", path);
	else if (!profile)
		*code = rs_cli_fail(wrong ? RS_CLI_USAGE : RS_CLI_FAILED, "%s", error->message);
	return profile;
}

void rs_profile_blame(const struct rs_profile *profile, const struct rs_profile_item *item,
		      enum rs_profile_part part, guint nth, const char *message, GError **error)
{
	switch (part) {
	case RS_PROFILE_GLOB:
		/* Only those of [events] are lists with semicolons. */
		if (item->expression || item->trigger)
			break;
		rs_trace_spec_blame_nth(profile->spec, item->group, item->key, item->nth, message,
					error);
		return;
	case RS_PROFILE_DO:
		rs_trace_spec_blame_nth(profile->spec, item->group, "do", nth, message, error);
		return;
	case RS_PROFILE_IF:
	case RS_PROFILE_ALL:
		break;
	}
	rs_trace_spec_blame(profile->spec, item->group,
			    part == RS_PROFILE_GLOB ? item->key
			    : part == RS_PROFILE_IF ? "if"
						    : NULL,
			    error, "%s", message);
}

/* Puts `items` before the texts that are there, as options have them. */
static void prepend(const GPtrArray *items, char ***texts)
{
	g_auto(GStrv) given = g_steal_pointer(texts);
	g_autoptr(GStrvBuilder) all = g_strv_builder_new();

	for (guint i = 0; i < items->len; i++) {
		const struct rs_profile_item *item = items->pdata[i];
		g_autofree char *text =
			item->expression ? g_strconcat(item->glob, ": ", item->expression, NULL)
					 : g_strdup(item->glob);

		g_strv_builder_add(all, text);
	}
	if (given)
		g_strv_builder_addv(all, (const char **)given);
	if (items->len || given)
		*texts = g_strv_builder_end(all);
}

static char **places_of(const struct rs_profile *profile)
{
	g_autoptr(GStrvBuilder) all = g_strv_builder_new();

	for (guint i = 0; i < profile->filters->len; i++) {
		const struct rs_profile_item *item = profile->filters->pdata[i];
		g_autofree char *place = place_of(profile->spec, item->group);

		g_strv_builder_add(all, place);
	}
	return g_strv_builder_end(all);
}

int rs_profile_add(const char *path, const struct rs_profile_options *options)
{
	int code = RS_CLI_OK;
	g_autoptr(RsProfile) profile = path ? rs_profile_take(path, &code) : NULL;

	*options->mode = profile ? profile->mode : RS_PROFILE_ANY_MODE;
	if (!profile)
		return code;
	prepend(profile->enables, options->enable);
	prepend(profile->disables, options->disable);
	prepend(profile->filters, options->filters);
	*options->places = places_of(profile);
	for (guint i = 0; i < profile->triggers->len; i++) {
		struct rs_profile_item *item = profile->triggers->pdata[i];

		g_ptr_array_add(options->triggers, g_steal_pointer(&item->trigger));
	}
	return RS_CLI_OK;
}
