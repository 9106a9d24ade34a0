/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL, *source = NULL, *fault = NULL;
	gboolean quiet = FALSE;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"source", 0, 0, G_OPTION_ARG_STRING, &source, "Which of its sources", "NAME"},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "Print no number", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	GVariantDict more;
	GError *error = NULL;
	guint32 number;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc < 2)
		return rs_cli_usage(verb, "which fault?");
	session = rs_cli_connect(verb, name, 1, &argc, argv, &code);
	if (!session)
		return code;
	g_variant_dict_init(&more, NULL);
	if (source) {
		code = rs_cli_find_source(session, source, &number);
		if (code)
			return code;
		g_variant_dict_insert(&more, "source", "u", number);
	}
	fault = g_strjoinv(" ", argv + 1);
	if (!rs_dbus_session1_call_inject_sync(session, fault, g_variant_dict_end(&more), &number,
					       NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	if (!quiet)
		g_print("fault %u\n", number);
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_inject = {
	.name = "inject",
	.args = "[NAME] FAULT…",
	.summary = "let something go wrong in a guest",
	.details = "Faults:\n"
		   "  pause for=TIME [cpu=N,…]          vCPUs stand still\n"
		   "  fail function=PLACE return=N [for=TIME]\n"
		   "                                    a function does nothing but return\n"
		   "  fail syscall=NAME error=ENAME [pid=N | comm=GLOB] [count=N]\n"
		   "                                    system calls fail\n"
		   "  flip at=PLACE|phys=N bit=N|mask=N bits of memory change\n"
		   "  nmi, reboot, kill\n"
		   "A PLACE is SYMBOL, SYMBOL+N or an address.",
	.run = run,
};
