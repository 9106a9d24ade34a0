/* SPDX-License-Identifier: MIT */
#include "cli/options.h"
#include "cli/verb.h"

#include "base/say.h"
#include "filter/filter.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HINT_MAX 60u /* bytes of globs in a hint, and one more */

bool rs_cli_parse(const struct rs_verb *verb, const GOptionEntry *entries, int *argc, char ***argv,
		  int *code)
{
	gboolean help = FALSE;
	const GOptionEntry common[] = {
		{"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this help", NULL}, {0}};
	GOptionContext *context = g_option_context_new(*verb->args ? verb->args : NULL);
	g_autofree char *program = g_strdup_printf("ringside %s", verb->name);
	g_autoptr(GError) error = NULL;
	static char **split; /* the verb's, until the next one is parsed */
	bool go_on = false;

	g_free(split);
	split = rs_cli_split_values(entries, *argc, *argv);
	*argv = split;
	*argc = (int)g_strv_length(split);
	/* Without GOption's own --help, which exits. */
	g_option_context_set_help_enabled(context, FALSE);
	g_option_context_set_summary(context, verb->summary);
	g_option_context_set_description(context, verb->details);
	if (entries)
		g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_add_main_entries(context, common, NULL);
	g_set_prgname(program);
	if (!g_option_context_parse(context, argc, argv, &error)) {
		*code = rs_cli_usage(verb, "%s", error->message);
	} else if (help) {
		g_autofree char *text = g_option_context_get_help(context, FALSE, NULL);

		fputs(text, stdout);
		*code = RS_CLI_OK;
	} else {
		/* Remove "--", which has ended the options. */
		if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
			memmove(*argv + 1, *argv + 2, (size_t)(*argc - 1) * sizeof(**argv));
			(*argc)--;
		}
		go_on = true;
	}
	g_option_context_free(context);
	return go_on;
}

static void complain(const char *format, va_list args)
{
	g_autofree char *raw = g_strdup_vprintf(format, args);
	g_autofree char *text = rs_trace_escape(raw, -1, "\n");

	g_autofree char *line = g_strdup_printf("ringside: %s\n", text);

	fflush(stdout);
	rs_say(line);
}

int rs_cli_fail(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	return code;
}

int rs_cli_usage(const struct rs_verb *verb, const char *format, ...)
{
	g_autofree char *line = NULL;
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	line = g_strdup_printf("usage: ringside %s%s%s\n", verb->name, *verb->args ? " " : "",
			       verb->args);
	rs_say(line);
	return RS_CLI_USAGE;
}

int rs_cli_fail_error(const struct rs_error *err)
{
	int code = RS_CLI_FAILED;

	if (err->code == ENOENT)
		code = RS_CLI_NOT_FOUND;
	else if (err->code == EBADMSG || err->code == EINVAL)
		code = RS_CLI_USAGE;
	return rs_cli_fail(code, "%s", err->message);
}

int rs_cli_fail_gerror(GError *error)
{
	static const struct {
		RsTraceSessionError error;
		int code;
	} codes[] = {
		{RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT, RS_CLI_NOT_FOUND},
		{RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION, RS_CLI_NOT_FOUND},
		{RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, RS_CLI_NOT_FOUND},
		{RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE, RS_CLI_NOT_FOUND},
		{RS_TRACE_SESSION_ERROR_BAD_FILTER, RS_CLI_USAGE},
		{RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, RS_CLI_USAGE},
	};
	int code = RS_CLI_FAILED;

	rs_trace_client_fix_error(&error);
	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
		if (g_error_matches(error, RS_TRACE_SESSION_ERROR, (gint)codes[i].error))
			code = codes[i].code;
	rs_cli_fail(code, "%s", error->message);
	g_error_free(error);
	return code;
}

void rs_cli_print_pending(const char *glob, bool ahead)
{
	printf("%s: %s\n", glob,
	       ahead ? "no event matches yet; kept for what comes"
		     : "kept until the guest has come up");
}

int rs_cli_fail_wish(GError *error)
{
	GError *hinted;

	if (!g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT))
		return rs_cli_fail_gerror(error);
	rs_trace_client_fix_error(&error);
	hinted = g_error_new(error->domain, error->code, "%s (--ahead keeps it for what comes)",
			     error->message);
	g_error_free(error);
	return rs_cli_fail_gerror(hinted);
}

GVariant *rs_cli_owner_options(const char *owner)
{
	return rs_cli_wish_options(owner, false);
}

GVariant *rs_cli_wish_options(const char *owner, bool ahead)
{
	GVariantDict dict;

	g_variant_dict_init(&dict, NULL);
	if (owner)
		g_variant_dict_insert(&dict, "owner", "s", owner);
	if (ahead)
		g_variant_dict_insert(&dict, "ahead", "b", TRUE);
	return g_variant_dict_end(&dict);
}

void rs_cli_print_kept(GVariant *more, const char *what_one, const char *what_many,
		       const char *what_thawed)
{
	g_autofree char **names = NULL;
	g_autofree char *list = NULL;
	guint kept;

	if (!g_variant_lookup(more, "kept", "u", &kept) ||
	    !g_variant_lookup(more, "kept_for", "^a&s", &names))
		return;
	list = g_strjoinv(", ", names);
	if (rs_cli_says_frozen(more))
		what_one = what_many = what_thawed;
	printf("; %u %s %s", kept, kept == 1 ? what_one : what_many, list);
}

const char *rs_cli_suggestion(GVariant *more)
{
	const char *suggestion = "";

	g_variant_lookup(more, "suggestion", "&s", &suggestion);
	return suggestion;
}

void rs_cli_tell_doubt(const char *expression)
{
	g_autofree char *doubt = rs_filter_doubt(expression);

	if (doubt)
		rs_cli_fail(0, "%s", doubt);
}

bool rs_cli_tell_problems(char **problems)
{
	for (char **problem = problems; *problem; problem++)
		rs_cli_fail(0, "%s", *problem);
	return *problems;
}

bool rs_cli_says_frozen(GVariant *more)
{
	gboolean frozen = FALSE;

	return g_variant_lookup(more, "frozen", "b", &frozen) && frozen;
}

bool rs_cli_is_frozen(RsDBusSession1 *session)
{
	g_autoptr(GVariant) sources = NULL, more = NULL;

	return rs_dbus_session1_call_sources_sync(session, rs_trace_client_no_options(), &sources,
						  &more, NULL, NULL) &&
	       rs_cli_says_frozen(more);
}

void rs_cli_tell_frozen(const char *session)
{
	rs_cli_fail(0, "frozen: nothing is recorded until ringside ring --thaw %s", session);
}

bool rs_cli_is_paused(RsDBusSession1 *session)
{
	return g_strcmp0(rs_dbus_session1_get_state(session), "paused") == 0;
}

void rs_cli_tell_paused(const char *session)
{
	rs_cli_fail(0, "paused: the guest stands still until ringside resume %s", session);
}

void rs_cli_tell_still(RsDBusSession1 *session)
{
	const char *name = rs_dbus_session1_get_name(session);

	if (rs_cli_is_frozen(session))
		rs_cli_tell_frozen(name);
	if (rs_cli_is_paused(session))
		rs_cli_tell_paused(name);
}

/* "'irq:*', 'sched:*', 3 more", as globs that a shell leaves alone. "" if there are none. */
static char *name_systems(const GPtrArray *systems)
{
	g_autoptr(GTree) set = g_tree_new((GCompareFunc)strcmp);
	GString *out = g_string_new(NULL);
	gint left;

	for (guint i = 0; i < systems->len; i++)
		g_tree_insert(set, systems->pdata[i], NULL);
	left = g_tree_nnodes(set);
	for (GTreeNode *node = g_tree_node_first(set); node && out->len < HINT_MAX;
	     node = g_tree_node_next(node), left--)
		g_string_append_printf(out, "%s'%s:*'", out->len ? ", " : "",
				       (const char *)g_tree_node_key(node));
	if (left)
		g_string_append_printf(out, ", and %d more", left);
	return g_string_free(out, FALSE);
}

void rs_cli_hint_off(const char *session, const GPtrArray *systems, bool runs)
{
	g_autofree char *names = name_systems(systems);

	rs_cli_fail(0,
		    "no event is on, so nothing is traced. %s: ringside enable %s GLOB%s\n"
		    "GLOB is '*' for all%s%s; ringside list %s shows each",
		    runs ? "Next time -e GLOB; now, from another terminal" : "To switch some on",
		    session, runs ? "" : ", from another terminal", *names ? ", or one of " : "",
		    names, session);
}

int rs_cli_check_limits(const struct rs_verb *verb, gint64 count, double duration)
{
	if (count < 0)
		return rs_cli_usage(verb, "--count is a number of events; 0: no limit");
	if (!(duration >= 0 && duration <= 1e6)) /* not a number fails both */
		return rs_cli_usage(verb, "--duration is in seconds, up to a million; 0: no limit");
	return RS_CLI_OK;
}

const char *rs_cli_plural(uint64_t n, const char *ending)
{
	return n == 1 ? "" : ending;
}

static void print_line(JsonNode *node)
{
	g_autofree char *text = json_to_string(node, FALSE);

	puts(text);
}

void rs_cli_print_json(JsonBuilder *builder)
{
	g_autoptr(JsonNode) root = json_builder_get_root(builder);
	g_autoptr(GList) rows = NULL;

	if (!JSON_NODE_HOLDS_ARRAY(root)) {
		print_line(root);
		return;
	}
	rows = json_array_get_elements(json_node_get_array(root));
	for (GList *row = rows; row; row = row->next)
		print_line(row->data);
}

void rs_cli_add_text(JsonBuilder *builder, const char *name, const char *text)
{
	json_builder_set_member_name(builder, name);
	if (*text)
		json_builder_add_string_value(builder, text);
	else
		json_builder_add_null_value(builder);
}

void rs_cli_add_number(JsonBuilder *builder, const char *name, uint64_t value)
{
	json_builder_set_member_name(builder, name);
	/* json-glib's largest number: a guest may claim any count. */
	json_builder_add_int_value(builder, (gint64)MIN(value, (uint64_t)G_MAXINT64));
}

void rs_cli_add_variant(JsonBuilder *builder, const char *name, GVariant *value)
{
	if (g_variant_is_of_type(value, G_VARIANT_TYPE_UINT64)) {
		rs_cli_add_number(builder, name, g_variant_get_uint64(value));
		return;
	}
	json_builder_set_member_name(builder, name);
	if (g_variant_is_of_type(value, G_VARIANT_TYPE_UINT32))
		json_builder_add_int_value(builder, g_variant_get_uint32(value));
	else if (g_variant_is_of_type(value, G_VARIANT_TYPE_INT32))
		json_builder_add_int_value(builder, g_variant_get_int32(value));
	else if (g_variant_is_of_type(value, G_VARIANT_TYPE_BOOLEAN))
		json_builder_add_boolean_value(builder, g_variant_get_boolean(value));
	else if (g_variant_is_of_type(value, G_VARIANT_TYPE_STRING))
		json_builder_add_string_value(builder, g_variant_get_string(value, NULL));
	else
		json_builder_add_null_value(builder);
}
