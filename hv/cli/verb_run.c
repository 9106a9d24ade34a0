/* SPDX-License-Identifier: MIT */
#include "cli/profile.h"
#include "cli/remains.h"
#include "cli/run_recording_options.h"
#include "cli/run_apart.h"
#include "cli/runner.h"
#include "cli/select.h"
#include "cli/run_faults.h"
#include "cli/run_signals.h"
#include "cli/run_triggers.h"
#include "cli/source_args.h"
#include "cli/verb.h"
#include <errno.h>
#include <string.h>

/* Options of the session, and not of one source. */
struct options {
	char **enable, **disable, **filters, **places, **faults, **trigger_lines;
	GPtrArray *triggers; /* of rs_trigger_texts_new() */
	char *profile;
	int mode; /* of the rings, by the profile */
	int stack;
	RsCliSymbols symbols;
	struct rs_cli_select select;
	char *name;
	struct rs_run_recording_options to;
	struct rs_run_recording_config record;
	char *result, *core;
	gboolean core_late;
	double duration;
	gint64 count;
	struct rs_printer_style style;
	struct rs_line_time time;
	RsCliChoice choice; /* what is printed */
	RsTraceSelection *view;
	gboolean json, quiet, propagate, host, check;
	struct rs_run_apart_options apart;
};

/* `background`: this process was made for the session; NULL: it was not. */
static int run_session(struct options *o, GArray *sources, struct rs_background *background)
{
	struct rs_runner_config runner = {
		.enable = o->enable,
		.disable = o->disable,
		.mode = o->mode,
		.stack = (uint32_t)o->stack,
		.symbols = &o->symbols,
		.filters = o->filters,
		.places = o->places,
		.faults = o->faults,
		.triggers = o->triggers,
		.json = o->json,
		.style = o->style,
		.time = &o->time,
		.view = o->view,
		.quiet = o->quiet || o->check || background,
		.check = o->check,
		.propagate = o->propagate,
		.output = o->to.text,
		.record = o->to.output ? &o->record : NULL,
		.result = o->result,
		.core = o->core,
		.core_late = o->core_late,
		/* With --stay it is the view's. */
		.duration = o->apart.stay ? 0 : o->duration,
		.background = background,
		.count = o->apart.stay ? 0 : (uint64_t)o->count,
		.from = RS_TRACE_FROM_START,
		.started = rs_launch_started,
	};
	struct rs_launch_source *first = (struct rs_launch_source *)(void *)sources->data;
	struct rs_rundir_claim *claim = NULL;
	struct rs_session *session;
	struct rs_error err = {0};
	int ret = rs_remains_claim(o->name, rs_launch_what(first), &claim, &err);

	if (ret)
		return rs_cli_fail_error(&err);
	rs_run_signals_expect();
	ret = rs_background_begin(background, rs_rundir_claim_name(claim), o->apart.log, &err);
	if (!ret)
		ret = rs_launch(rs_rundir_claim_name(claim), first, sources->len, claim, &session,
				&err);
	if (!ret && o->host) {
		ret = rs_launch_add_host(session, &err);
		if (ret)
			rs_session_destroy(session);
	}
	if (ret) {
		/*
		 * A file is missing, and no event or session. So RS_CLI_NOT_FOUND would be wrong.
		 */
		if (ret == -ENOENT)
			err.code = EIO;
		ret = rs_cli_fail_error(&err);
	} else {
		runner.claim = claim;
		ret = rs_runner_run(session, &runner);
	}
	rs_remains_release(claim, false);
	/* Of what nobody prints, nothing is known. */
	return rs_cli_choice_finish(runner.quiet && !runner.count ? NULL : o->view, ret);
}

static struct rs_run_apart_view view_of(struct options *o)
{
	return (struct rs_run_apart_view){
		.quiet = o->quiet,
		.propagate = o->propagate,
		.has_text = o->to.text != NULL,
		.core_late = o->core_late,
		.output = o->to.output,
		.symbols = &o->symbols,
		.duration = o->duration,
		.printer = {.fd = STDOUT_FILENO,
			    .json = o->json,
			    .style = o->style,
			    .time = &o->time,
			    .view = o->view,
			    .count = (uint64_t)o->count},
	};
}

/* The session gets a process of its own, before there are threads. */
static int run_apart(const struct rs_verb *verb, struct options *o, GArray *sources)
{
	struct rs_run_apart_view view = view_of(o);
	struct rs_background *background;
	struct rs_error err = {0};
	int ret = rs_background_fork(o->apart.stay, &background, &err);

	if (ret < 0)
		return rs_cli_fail_error(&err);
	if (ret)
		ret = run_session(o, sources, background);
	else
		ret = rs_cli_choice_finish(o->apart.stay ? o->view : NULL,
					   rs_run_apart_wait(verb, &o->apart, &view, background));
	rs_background_free(background);
	return ret;
}

/* The globs of -e get the selection. */
static int select_events(const struct rs_verb *verb, struct options *o)
{
	int code = rs_cli_select_check(verb, &o->select);

	if (code == RS_CLI_OK && o->stack != RS_CLI_NO_STACK && !o->enable)
		return rs_cli_usage(verb, "--stack is for the events of -e");
	if (code == RS_CLI_OK)
		code = rs_cli_stack_check(verb, &o->stack);

	if (code == RS_CLI_OK && rs_cli_select_any(&o->select) && !o->enable)
		return rs_cli_usage(verb, "--level and --keyword are for the events of -e");
	if (code == RS_CLI_OK)
		rs_cli_select_lists(&o->select, &o->enable);
	return code;
}

/* What selects events is for those of -e. */
static int add_profile(struct options *o)
{
	const struct rs_profile_options options = {.enable = &o->enable,
						   .disable = &o->disable,
						   .filters = &o->filters,
						   .places = &o->places,
						   .triggers = o->triggers,
						   .mode = &o->mode};

	return rs_profile_add(o->profile, &options);
}

static int prepare_and_run(const struct rs_verb *verb, struct options *o, GPtrArray *args)
{
	g_autoptr(GArray) sources =
		g_array_sized_new(FALSE, TRUE, sizeof(struct rs_launch_source), args->len);
	struct rs_error err = {0};
	const bool apart = rs_run_apart_asked(&o->apart);
	const struct rs_run_apart_view view = view_of(o);
	int code = rs_cli_check_limits(verb, o->count, o->duration);

	if (!code)
		code = rs_run_apart_check(verb, &o->apart, &view);
	if (!code)
		code = rs_printer_style_take(verb, &o->style, rs_run_recording_text_fd(&o->to));
	if (!code)
		code = select_events(verb, o);
	if (!code)
		code = add_profile(o);
	if (!code)
		code = rs_line_time_take(verb, o->style.time, o->style.ns, o->json, &o->time);
	if (!code)
		code = rs_cli_choice_take(&o->choice, &o->view);
	if (!code)
		code = rs_run_recording_options_check(verb, &o->to, o->quiet || apart, &o->record);
	/* What was recorded is told, if only to a log. */
	o->record.quiet = o->quiet;
	if (!code && o->check && (apart || o->to.output || o->to.text))
		code = rs_cli_usage(verb, "--check neither records nor goes on in the background");
	if (!code && o->core_late && !(o->core && o->duration > 0))
		code = rs_cli_usage(verb, "--core-late goes with --core and --duration");
	if (!code)
		code = rs_run_faults_check(verb, o->faults);
	if (!code)
		code = rs_run_triggers_take(verb, o->trigger_lines, o->triggers);
	if (!code)
		code = rs_cli_symbols_take(verb, &o->symbols);
	if (code)
		return code;
	for (guint i = 0; i < args->len; i++) {
		struct rs_launch_source source;

		if (rs_source_args_fill(args->pdata[i], o->to.output != NULL, &source, &err))
			return rs_cli_usage(verb, "%s", err.message);
		source.config.keep_crashed = o->core != NULL;
		source.config.counts_console = o->result != NULL;
		g_array_append_val(sources, source);
	}
	for (guint i = 0; i < args->len && !code; i++)
		code = rs_source_args_find(args->pdata[i],
					   &g_array_index(sources, struct rs_launch_source, i));
	if (code)
		return code;
	return apart ? run_apart(verb, o, sources) : run_session(o, sources, NULL);
}

/*
 * Returns the number of arguments before the next --and. That --and stands in the place of the
 * verb's name for the part that follows.
 */
static int next_part(int argc, char **argv)
{
	int n = 1;

	while (n < argc && strcmp(argv[n], "--and"))
		n++;
	return n;
}

static gboolean refuse(const char *option, const char *value, gpointer data, GError **error)
{
	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
		    "%s belongs to the session: give it before the first --and", option);
	return FALSE;
}

/* The same options for parts where they are an error. */
static GOptionEntry *refused(const GOptionEntry *options)
{
	GArray *all = g_array_new(TRUE, FALSE, sizeof(*options));

	for (; options->long_name; options++) {
		GOptionEntry entry = *options;

		entry.flags = G_OPTION_FLAG_HIDDEN | G_OPTION_FLAG_OPTIONAL_ARG;
		entry.arg = G_OPTION_ARG_CALLBACK;
		entry.arg_data = (gpointer)refuse;
		g_array_append_val(all, entry);
	}
	return (GOptionEntry *)(void *)g_array_free(all, FALSE);
}

/* False: the verb is done. */
static bool parse(const struct rs_verb *verb, const GOptionEntry *options, int argc, char **argv,
		  GPtrArray *args, int *code)
{
	g_autofree GOptionEntry *not_here = refused(options);

	while (argc > 0) {
		int n = next_part(argc, argv);
		/* A copy, since GOption reorders the arguments and ends them with a NULL. */
		g_autofree char **part = g_memdup2(argv, (gsize)(n + 1) * sizeof(*argv));
		struct rs_source_args *one;

		part[n] = NULL;
		/* Options of the session may stand in the first part only. */
		one = rs_source_args_parse(verb, args->len ? not_here : options, n, part, code);
		if (!one)
			return false;
		g_ptr_array_add(args, one);
		argc -= n;
		argv += n;
	}
	return true;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct options o = {.stack = RS_CLI_NO_STACK,
			    .record.symbols = &o.symbols,
			    .triggers = rs_trigger_texts_new()};
	gboolean and_help = FALSE;
	const GOptionEntry options[] = {
		{"and", 0, 0, G_OPTION_ARG_NONE, &and_help,
		 "Another source follows; the options above may be given for it too", NULL},
		{"enable", 'e', 0, G_OPTION_ARG_STRING_ARRAY, &o.enable, "Enable these events",
		 "GLOB"},
		RS_CLI_STACK_OPTION(o.stack),
		RS_CLI_SYMBOLS_FILE(o.symbols),
		RS_CLI_SYMBOLS_NONE(o.symbols),
		RS_CLI_SELECT_OPTIONS(o.select),
		{"filter", 'f', 0, G_OPTION_ARG_STRING_ARRAY, &o.filters, "Filter these events",
		 "'GLOB: EXPR'"},
		RS_RUN_FAULTS_OPTION(o.faults),
		RS_RUN_TRIGGERS_OPTION(o.trigger_lines),
		RS_PROFILE_OPTION(o.profile),
		RS_CLI_HOST_OPTION(o.host),
		RS_RUN_APART_OPTIONS(o.apart),
		{"name", 0, 0, G_OPTION_ARG_STRING, &o.name, "Name of the session", "NAME"},
		RS_RUN_RECORDING_OPTIONS(o.to),
		{"json", 'j', 0, G_OPTION_ARG_NONE, &o.json, "One JSON object a line", NULL},
		RS_PRINTER_STYLE_OPTIONS(o.style),
		RS_CLI_CHOICE_PRINTED(o.choice),
		RS_CLI_CHOICE_PIDS(o.choice),
		{"count", 'n', 0, G_OPTION_ARG_INT64, &o.count,
		 "End after so many events (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &o.duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"check", 0, 0, G_OPTION_ARG_NONE, &o.check,
		 "End once the events are known, and fail if one is described badly", NULL},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &o.quiet, "Print no trace and no summary",
		 NULL},
		{"result", 0, 0, G_OPTION_ARG_FILENAME, &o.result,
		 "Write there how the guest ended, as one JSON object", "FILE"},
		{"core", 0, 0, G_OPTION_ARG_FILENAME, &o.core,
		 "If a guest panics, resets or faults, write its memory there, as an ELF core",
		 "FILE"},
		{"core-late", 0, 0, G_OPTION_ARG_NONE, &o.core_late,
		 "Also if it has not ended when the --duration is over", NULL},
		{"propagate-exit", 0, 0, G_OPTION_ARG_NONE, &o.propagate,
		 "Exit with the guest's exit code", NULL},
		{0}};
	g_autoptr(GPtrArray) args =
		g_ptr_array_new_with_free_func((GDestroyNotify)rs_source_args_free);
	int code = 0;

	if (parse(verb, options, argc, argv, args, &code))
		code = prepare_and_run(verb, &o, args);
	g_strfreev(o.enable);
	g_strfreev(o.filters);
	g_strfreev(o.places);
	g_strfreev(o.faults);
	rs_cli_choice_clear(&o.choice);
	rs_trace_selection_free(o.view);
	g_strfreev(o.trigger_lines);
	g_ptr_array_unref(o.triggers);
	g_strfreev(o.disable);
	g_free(o.profile);
	rs_cli_select_clear(&o.select);
	rs_cli_symbols_clear(&o.symbols);
	rs_printer_style_clear(&o.style);
	g_free(o.name);
	g_free(o.result);
	g_free(o.core);
	rs_run_recording_options_clear(&o.to);
	rs_run_apart_options_clear(&o.apart);
	return code;
}

const struct rs_verb rs_verb_run = {
	.name = "run",
	.args = "KERNEL | --demo | --domain NAME|FILE.xml | --hosted PROGRAM [ARGS…] [--and …]",
	.summary = "run guests and programs, and print their trace",
	.details =
		"The trace goes to standard output, a guest's console to standard error. Ctrl-C "
		"ends the\n"
		"guest. From another terminal: ringside list, enable, filter, trace, stat, stop …\n"
		"\n"
		"Several kernels and programs in one session have one trace, on one clock:\n"
		"  ringside run -e '*' kernel.elf --and --cpus 1 --hosted server --port 80 --and "
		"--hosted client",
	.run = run,
};
