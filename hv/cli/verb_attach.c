/* SPDX-License-Identifier: MIT */
#include "cli/args.h"
#include "cli/attach_domain.h"
#include "cli/launch.h"
#include "cli/profile.h"
#include "cli/remains.h"
#include "cli/run_faults.h"
#include "cli/run_triggers.h"
#include "cli/run_recording_options.h"
#include "cli/runner.h"
#include "cli/select.h"
#include "cli/verb.h"
#include "machine/inject.h"
#include "machine/process.h"
#include "machine/reach.h"
#include "qemu/cmdline.h"
#include <errno.h>
#include <rs-trace-paths.h>
#include <string.h>

struct options {
	struct rs_runner_config runner;
	struct rs_run_recording_options to;
	struct rs_run_recording_config record;
	RsCliSymbols symbols;
	gint64 count;
	struct rs_printer_style style;
	struct rs_line_time time;
	RsCliChoice choice; /* what is printed */
	gboolean json, quiet, fresh, host;
	/* What somebody else has started. */
	char *shm, *qmp;
	int pid;
	struct rs_cli_domain domain; /* its `name` is NULL: none */
	const char *session;         /* NULL: none */
	char *uri;
	char *name, *ring_size, *ring_max, *mode, *profile, **trigger_lines;
	int cpus, users;
	gboolean new_layout, self_patch, prepare, inject;
};

#define NOT_GIVEN (-1)

static void say_lines(const GPtrArray *lines)
{
	for (guint i = 0; lines && i < lines->len; i++)
		rs_cli_fail(0, "%s", (const char *)lines->pdata[i]);
}

/* The path of ringside-guest, to be freed. */
static char *guest_program(void)
{
	const char *named = g_getenv("RINGSIDE_GUEST"), *folder = g_getenv("RINGSIDE_LIBEXEC");

	return named && *named ? g_strdup(named)
			       : g_build_filename(folder && *folder ? folder : RS_LIBEXEC_DIR,
						  "ringside-guest", NULL);
}

/* Once the session has started: puts a program into its first guest. */
static int inject(struct rs_session *session, struct rs_rundir_claim *claim, struct rs_error *err)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *program = guest_program();
	const char *via = rs_source_via(rs_session_source(session, 0));
	int ret = rs_machine_inject(via ? via : "", program, lines, err);

	say_lines(lines);
	/* Our program is missing, and no event or session. */
	if (ret == -ENOENT)
		err->code = EIO;
	return ret;
}

/* What was asked for of the memory. */
static int fill_memory(const struct options *o, struct rs_machine_memory_wish *memory,
		       struct rs_error *err)
{
	memory->anew = o->new_layout;
	memory->self_patch = o->self_patch;
	if (o->cpus != NOT_GIVEN)
		memory->cpus = (uint32_t)o->cpus;
	if (o->users != NOT_GIVEN)
		memory->users = (uint32_t)o->users;
	if (o->mode)
		memory->ring_mode = strcmp(o->mode, "drop") == 0 ? RS_MODE_DROP : RS_MODE_OVERWRITE;
	if (o->ring_max && rs_cli_parse_size(o->ring_max, &memory->ring_max, err))
		return err->code;
	return o->ring_size ? rs_cli_parse_size(o->ring_size, &memory->ring_bytes, err) : 0;
}

/* A program with an agent, or else a QEMU: it says by itself which of both it is. */
static int via_of_pid(const struct options *o, char **program, char **qmp, struct rs_error *err)
{
	struct rs_error why = {0};
	int ret = rs_machine_process_has_agent(o->pid, &why);

	if (!ret)
		*program = rs_machine_process_via(o->pid);
	if (*program)
		return 0;
	ret = rs_qemu_find_qmp(o->pid, qmp, err);
	if (ret == -ENOTSUP)
		rs_error_prefix(err, "%s, and is no QEMU that can be reached", why.message);
	return ret;
}

static int via_of(const struct options *o, char **out, struct rs_error *err)
{
	g_autofree char *found = NULL, *path = NULL, *program = NULL;
	int ret;

	if (o->domain.name)
		return rs_cli_find_domain(&o->domain, out, err);
	ret = o->shm || o->qmp ? 0 : via_of_pid(o, &program, &found, err);
	if (ret)
		return ret;
	if (program) {
		*out = g_steal_pointer(&program);
		return 0;
	}
	/* A later session may have another directory. */
	path = g_canonicalize_filename(o->shm ? o->shm : o->qmp ? o->qmp : found, NULL);
	*out = g_strdup_printf("%s:%s", o->shm ? "shm" : "qmp", path);
	return 0;
}

/* A name for the session. Where one has died, its own, so that what it left is put right. */
static int claim_name(const struct options *o, const char *via, struct rs_rundir_claim **out,
		      struct rs_error *err)
{
	g_autoptr(RsTraceRundirEntry) there = rs_remains_find(via);
	g_autofree char *what = rs_machine_reach_name(via);

	if (there && there->live)
		return rs_error_set(err, EBUSY, "session '%s' has it already", there->name);
	if (there && rs_remains_of(there) & RS_REMAINS_LIVES)
		return rs_error_set(err, EEXIST,
				    "session '%s' has died there: 'ringside attach %s' takes it up",
				    there->name, there->name);
	return there && !o->name ? rs_rundir_claim(there, out, err)
				 : rs_remains_claim(o->name, what, out, err);
}

/* `code`: why there is no session; 0: there is one. */
static int add_host(bool wanted, int code, struct rs_session *session, struct rs_error *err)
{
	if (code || !wanted)
		return code;
	code = rs_launch_add_host(session, err);
	if (code)
		rs_session_destroy(session);
	return code;
}

/* Programs that were let go of: their ids lead to them. */
static void tell_programs(const RsTraceRundirEntry *old)
{
	for (guint i = 0; i < old->sources->len; i++) {
		const RsTraceRundirSource *source = old->sources->pdata[i];

		if (source->program && rs_machine_process_waits(source->via))
			rs_cli_fail(0, "%s runs on: 'ringside attach --pid %d' traces it again",
				    source->name, (int)rs_machine_process_pid(source->via));
	}
}

/* `ran`: there was a session. */
static unsigned int release(struct rs_rundir_claim *claim, bool ran)
{
	g_autofree char *name = g_strdup(rs_rundir_claim_name(claim));
	const unsigned int remains = rs_remains_release(claim, ran);

	if (remains & RS_REMAINS_TEXT)
		rs_cli_fail(0,
			    "text of a program of '%s' is still patched: 'ringside attach %s' "
			    "tries again",
			    name, name);
	return remains;
}

/* Takes up what a session that died has left. */
static int attach(const char *name, bool host, struct rs_runner_config *runner)
{
	g_autoptr(GPtrArray) lines = NULL;
	g_autoptr(RsTraceRundirEntry) old = NULL;
	struct rs_rundir_claim *claim = NULL;
	struct rs_session *session;
	struct rs_error err = {0};
	GError *error = NULL;
	unsigned int remains;
	bool ran;
	int code;

	old = rs_trace_rundir_find(name, &error);
	if (!old)
		return rs_cli_fail_gerror(error);
	if (rs_rundir_claim(old, &claim, &err))
		return rs_cli_fail_error(&err);
	code = rs_launch_attach(old, &session, &lines, &err);
	say_lines(lines);
	code = add_host(host, code, session, &err);
	runner->claim = claim;
	ran = !code;
	if (ran)
		code = rs_runner_run(session, runner);
	else
		code = rs_cli_fail_error(&err);
	remains = release(claim, ran);
	if (ran && !(remains & RS_REMAINS_KEPT))
		tell_programs(old);
	return code;
}

/*
 * A session that died there, and has left something to be put right. It is taken up, unless more is
 * asked for than that one had.
 */
static RsTraceRundirEntry *find_died(const struct options *o, const char *via)
{
	g_autoptr(RsTraceRundirEntry) there = rs_remains_find(via);
	bool plain = !o->name && !o->ring_size && !o->ring_max && !o->mode &&
		     o->cpus == NOT_GIVEN && o->users == NOT_GIVEN && !o->new_layout &&
		     !o->self_patch;

	return plain && there && !there->live && rs_remains_of(there) & RS_REMAINS_LIVES
		       ? g_steal_pointer(&there)
		       : NULL;
}

/* What somebody else has started. */
static int attach_other(const struct options *o)
{
	struct rs_machine_memory_wish memory = RS_MACHINE_MEMORY_ANY;
	struct rs_runner_config runner = o->runner;
	g_autofree char *via = NULL;
	g_autoptr(GPtrArray) lines = NULL;
	struct rs_rundir_claim *claim = NULL;
	struct rs_session *session;
	struct rs_error err = {0};
	g_autoptr(RsTraceRundirEntry) died = NULL;
	bool ran;
	int code = fill_memory(o, &memory, &err);

	if (!code)
		code = via_of(o, &via, &err);
	if (!code)
		died = find_died(o, via);
	if (died)
		return attach(died->name, o->host, &runner);
	if (!code)
		code = claim_name(o, via, &claim, &err);
	if (code)
		return rs_cli_fail_error(&err);
	/* Whoever attaches a memory alone may well come before its programs. */
	if (!o->shm && !o->inject && !rs_machine_is_process(via))
		runner.agent_hint = "; is the module ringside loaded in the guest?";
	code = rs_launch_reach(via, &memory, claim, &session, &lines, &err);
	say_lines(lines);
	code = add_host(o->host, code, session, &err);
	ran = !code;
	if (code) {
		/* A file or socket is missing, and no event or session. */
		if (code == -ENOENT)
			err.code = EIO;
		code = rs_cli_fail_error(&err);
	} else {
		runner.claim = claim;
		code = rs_runner_run(session, &runner);
	}
	release(claim, ran);
	return code;
}

/* An option says what it is. */
static bool names_itself(const struct options *o)
{
	return o->shm || o->qmp || o->pid;
}

static bool is_other(const struct options *o)
{
	return names_itself(o) || o->domain.name;
}

/* A name is that of a session that died, or else of a domain. */
static void choose(struct options *o, const char *name)
{
	g_autoptr(RsTraceRundirEntry) entry = o->uri ? NULL : rs_trace_rundir_find(name, NULL);

	o->domain.uri = o->uri;
	o->domain.prepare = o->prepare;
	if (entry)
		o->session = name;
	else
		o->domain.name = name;
}

static int check_memory(const struct rs_verb *verb, const struct options *o)
{
	g_autofree char *program = guest_program();
	struct rs_error err = {0};
	uint64_t bytes;

	if (!is_other(o) &&
	    (o->name || o->ring_size || o->ring_max || o->mode || o->cpus != NOT_GIVEN ||
	     o->users != NOT_GIVEN || o->new_layout || o->self_patch))
		return rs_cli_usage(
			verb,
			"%s%s%s--name, --cpus, --regions, --ring-size, --ring-max, "
			"--mode, --new-layout and --self-patch are for --shm, --qmp, --pid and "
			"domains",
			o->session ? "'" : "", o->session ? o->session : "",
			o->session ? "' is a session (-c URI tells a domain from it): " : "");
	if (!o->domain.name && (o->uri || o->prepare))
		return rs_cli_usage(verb, "--connect and --prepare are for a domain");
	if (o->inject && names_itself(o))
		return rs_cli_usage(verb,
				    "--inject needs libvirt, which reaches the guest's agent. "
				    "Elsewhere, start ringside-guest in the guest by hand");
	if (o->inject && access(program, R_OK))
		return rs_cli_fail(RS_CLI_FAILED,
				   "%s: %s (RINGSIDE_LIBEXEC names its folder, if it was not "
				   "installed)",
				   program, g_strerror(errno));
	if (!!o->shm + !!o->qmp + !!o->pid > 1)
		return rs_cli_usage(verb, "one of --shm, --qmp and --pid");
	if (o->pid < 0)
		return rs_cli_usage(verb, "--pid is the id of a process");
	if (o->cpus != NOT_GIVEN && (o->cpus < 1 || o->cpus > (int)RS_MAX_CPUS))
		return rs_cli_usage(verb, "--cpus is 1 to %u", RS_MAX_CPUS);
	if (o->users != NOT_GIVEN && (o->users < 0 || o->users >= (int)RS_MAX_REGIONS))
		return rs_cli_usage(verb, "--regions is 0 to %u", RS_MAX_REGIONS - 1);
	if (o->mode && strcmp(o->mode, "drop") && strcmp(o->mode, "overwrite"))
		return rs_cli_usage(verb, "--mode is overwrite or drop, not '%s'", o->mode);
	if ((o->ring_size && rs_cli_parse_size(o->ring_size, &bytes, &err)) ||
	    (o->ring_max && rs_cli_parse_size(o->ring_max, &bytes, &err)))
		return rs_cli_usage(verb, "%s", err.message);
	return 0;
}

static int add_profile(struct options *o)
{
	struct rs_runner_config *runner = &o->runner;
	const struct rs_profile_options options = {.enable = &runner->enable,
						   .disable = &runner->disable,
						   .filters = &runner->filters,
						   .places = &runner->places,
						   .triggers = runner->triggers,
						   .mode = &runner->mode};

	return rs_profile_add(o->profile, &options);
}

static int check(const struct rs_verb *verb, struct options *o)
{
	struct rs_runner_config *runner = &o->runner;
	int code = rs_cli_check_limits(verb, o->count, runner->duration);

	if (!code)
		code = rs_printer_style_take(verb, &o->style, rs_run_recording_text_fd(&o->to));
	runner->json = o->json;
	runner->style = o->style;
	runner->time = &o->time;
	runner->quiet = o->quiet;
	runner->count = (uint64_t)MAX(o->count, 0);
	runner->from = o->fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST;
	runner->output = o->to.text;
	runner->symbols = o->record.symbols = &o->symbols;
	runner->record = o->to.output ? &o->record : NULL;
	runner->started = o->inject ? inject : NULL;
	rs_cli_select_lists(&(const struct rs_cli_select){0}, &runner->enable);
	if (!code)
		code = add_profile(o);
	if (!code)
		code = rs_line_time_take(verb, o->style.time, o->style.ns, o->json, &o->time);
	if (!code)
		code = rs_cli_choice_take(&o->choice, &runner->view);
	if (!code)
		code = check_memory(verb, o);
	if (!code)
		code = rs_run_recording_options_check(verb, &o->to, o->quiet, &o->record);
	if (!code)
		code = rs_run_faults_check(verb, runner->faults);
	if (!code)
		code = rs_run_triggers_take(verb, o->trigger_lines, runner->triggers);
	return code ? code : rs_cli_symbols_take(verb, &o->symbols);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct options o = {.runner.detach = true,
			    .runner.triggers = rs_trigger_texts_new(),
			    .cpus = NOT_GIVEN,
			    .users = NOT_GIVEN};
	struct rs_runner_config *runner = &o.runner;
	const GOptionEntry options[] = {
		{"enable", 'e', 0, G_OPTION_ARG_STRING_ARRAY, &runner->enable,
		 "Enable these events", "GLOB"},
		{"filter", 'f', 0, G_OPTION_ARG_STRING_ARRAY, &runner->filters,
		 "Filter these events", "'GLOB: EXPR'"},
		RS_RUN_FAULTS_OPTION(runner->faults),
		RS_RUN_TRIGGERS_OPTION(o.trigger_lines),
		RS_PROFILE_OPTION(o.profile),
		RS_CLI_HOST_OPTION(o.host),
		RS_CLI_SYMBOLS_FILE(o.symbols),
		RS_CLI_SYMBOLS_NONE(o.symbols),
		RS_RUN_RECORDING_OPTIONS(o.to),
		{"json", 'j', 0, G_OPTION_ARG_NONE, &o.json, "One JSON object a line", NULL},
		RS_PRINTER_STYLE_OPTIONS(o.style),
		RS_CLI_CHOICE_PRINTED(o.choice),
		{"count", 'n', 0, G_OPTION_ARG_INT64, &o.count,
		 "End after so many events (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &runner->duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &o.fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &o.quiet, "Print no trace and no summary",
		 NULL},
		{"connect", 'c', 0, G_OPTION_ARG_STRING, &o.uri,
		 "libvirt's daemon, as virsh has it: NAME is a domain", "URI"},
		{"prepare", 0, 0, G_OPTION_ARG_NONE, &o.prepare,
		 "Give the domain the device that a trace needs, as `prepare` does", NULL},
		{"inject", 0, 0, G_OPTION_ARG_NONE, &o.inject,
		 "Put ringside-guest into the domain by its guest agent, until the end", NULL},
		{"shm", 0, 0, G_OPTION_ARG_FILENAME, &o.shm,
		 "Trace whatever has an agent in this memory", "PATH"},
		{"qmp", 0, 0, G_OPTION_ARG_FILENAME, &o.qmp,
		 "Trace the guest of the QEMU that listens there", "SOCKET"},
		{"pid", 0, 0, G_OPTION_ARG_INT, &o.pid,
		 "Trace the guest of this QEMU, or this program", "PID"},
		{"name", 0, 0, G_OPTION_ARG_STRING, &o.name, "Name of the session", "NAME"},
		{"cpus", 0, 0, G_OPTION_ARG_INT, &o.cpus, "Rings of the memory, at least", "N"},
		{"regions", 0, 0, G_OPTION_ARG_INT, &o.users,
		 "How many processes with an agent can join", "N"},
		{"ring-size", 0, 0, G_OPTION_ARG_STRING, &o.ring_size,
		 "Ring of each vCPU (what fits)", "SIZE"},
		{"ring-max", 0, 0, G_OPTION_ARG_STRING, &o.ring_max,
		 "What ringside ring --size may make of it (as it is; of a program, eight times)",
		 "SIZE"},
		{"mode", 0, 0, G_OPTION_ARG_STRING, &o.mode, "When a ring is full (overwrite)",
		 "overwrite|drop"},
		{"new-layout", 0, 0, G_OPTION_ARG_NONE, &o.new_layout,
		 "Lay the memory out anew, whatever it holds", NULL},
		{"self-patch", 0, 0, G_OPTION_ARG_NONE, &o.self_patch,
		 "The guest patches its text itself: it is never paused for that", NULL},
		{0}};
	int code;

	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		if (!names_itself(&o) && argc == 2)
			choose(&o, argv[1]);
		code = check(verb, &o);
		if (!code && argc != (names_itself(&o) ? 1 : 2))
			code = rs_cli_usage(verb, "%s",
					    names_itself(&o)
						    ? "either a session, a domain, --shm, --qmp or "
						      "--pid"
						    : "which session or domain? See ringside ps, "
						      "and virsh list");
		if (!code)
			code = is_other(&o) ? attach_other(&o) : attach(argv[1], o.host, runner);
		/* Of what nobody prints, nothing is known. */
		code = rs_cli_choice_finish(runner->quiet && !runner->count ? NULL : runner->view,
					    code);
	}
	rs_trace_selection_free(runner->view);
	rs_cli_choice_clear(&o.choice);
	g_free(o.shm);
	g_free(o.qmp);
	g_free(o.uri);
	g_free(o.name);
	g_free(o.ring_size);
	g_free(o.ring_max);
	g_free(o.mode);
	g_free(o.profile);
	g_strfreev(runner->disable);
	g_strfreev(runner->enable);
	g_strfreev(runner->filters);
	g_strfreev(runner->places);
	g_strfreev(runner->faults);
	g_strfreev(o.trigger_lines);
	g_ptr_array_unref(runner->triggers);
	rs_run_recording_options_clear(&o.to);
	rs_cli_symbols_clear(&o.symbols);
	rs_printer_style_clear(&o.style);
	return code;
}

const struct rs_verb rs_verb_attach = {
	.name = "attach",
	.args = "NAME | [-c URI] DOMAIN | --qmp SOCKET | --pid PID | --shm PATH",
	.summary = "trace what runs already, or take up what a session that died has left",
	.details =
		"Puts the guests' text right by the journals that were left, then traces as `run` "
		"does. The\n"
		"records that the dead session left in the rings come first, and --count counts "
		"them; --new\n"
		"leaves them out. Ctrl-C detaches: the guest runs on, restored, and can be "
		"attached "
		"again.\n"
		"PID is that of a QEMU, or of a program that is linked with ringside-hosted.",
	.run = run,
};
