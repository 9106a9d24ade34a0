/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include <rs-trace-escape.h>
#include <stdio.h>

static GVariant *options_after(guint64 after)
{
	GVariantBuilder builder;

	g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
	if (after)
		g_variant_builder_add(&builder, "{sv}", "after", g_variant_new_uint64(after));
	return g_variant_builder_end(&builder);
}

/* A guest may describe much, so the answer comes in parts. */
static int show(RsDBusSession1 *session, const char *glob)
{
	guint64 after = 0;

	do {
		g_autofree char *text = NULL, *shown = NULL;
		g_autoptr(GVariant) more = NULL;
		GError *error = NULL;

		if (!rs_dbus_session1_call_format_sync(session, glob, options_after(after), &text,
						       &more, NULL, &error))
			return rs_cli_fail_gerror(error);
		/* Only tabs and newlines of a format file are control bytes that belong there. */
		shown = rs_trace_escape(text, -1, "\n\t");
		fputs(shown, stdout);
		after = 0;
		g_variant_lookup(more, "next", "t", &after);
	} while (after && !ferror(stdout));
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"}, {0}};
	g_autoptr(RsDBusSession1) session = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc < 2 || argc > 3)
		return rs_cli_usage(verb, "which event?");
	session = rs_cli_connect(verb, name, 1, &argc, argv, &code);
	if (!session)
		return code;
	if (argc != 2)
		return rs_cli_usage(verb, "one glob, please");
	return show(session, argv[1]);
}

const struct rs_verb rs_verb_format = {
	.name = "format",
	.args = "[NAME] GLOB",
	.summary = "show events as Linux format files",
	.run = run,
};
