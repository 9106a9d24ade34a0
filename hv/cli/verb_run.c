/* SPDX-License-Identifier: MIT */
#include "cli/args.h"
#include "cli/launch.h"
#include "cli/runner.h"
#include "cli/verb.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DEFAULT_RING "1M"
#define CPUS_NOT_GIVEN G_MININT
#define USERS_NOT_GIVEN G_MININT

struct options {
	char **enable, **filters;
	int cpus, users;
	char *memory, *ring_size, *mode, *name, *accel, *initrd, *append, *serial, *output;
	double duration;
	gint64 count;
	gboolean demo, json, bare, quiet, propagate;
};

/* What stands after --hosted belongs to the program, options and all. */
static char **split_hosted(int *argc, char **argv)
{
	char **program;

	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return NULL;
		if (strcmp(argv[i], "--hosted"))
			continue;
		program = argv + i + 1;
		*argc = i;
		return program;
	}
	return NULL;
}

static int check(const struct rs_verb *verb, const struct options *o, int argc, char **hosted)
{
	if (hosted && !hosted[0])
		return rs_cli_usage(verb, "--hosted needs a program");
	if (hosted ? o->demo || argc > 1 : o->demo ? argc > 1 : argc != 2)
		return rs_cli_usage(verb, "one of KERNEL, --demo and --hosted PROGRAM is needed");
	if (hosted && (o->initrd || o->append || o->memory))
		return rs_cli_usage(verb, "--initrd, --append and --mem are for kernels");
	if (!rs_cli_good_duration(o->duration))
		return rs_cli_usage(verb, "--duration is in seconds, up to a million");
	if (o->cpus != CPUS_NOT_GIVEN && (o->cpus < 1 || o->cpus > (int)RS_MAX_CPUS))
		return rs_cli_usage(verb, "--cpus is 1 to %u", RS_MAX_CPUS);
	if (o->users != USERS_NOT_GIVEN && (o->users < 0 || o->users >= (int)RS_MAX_REGIONS))
		return rs_cli_usage(verb, "--regions is 0 to %u", RS_MAX_REGIONS - 1);
	if (o->count < 0)
		return rs_cli_usage(verb, "--count is a number of events");
	return 0;
}

static int configure(const struct options *o, struct rs_machine_config *machine,
		     struct rs_error *err)
{
	int ret = rs_cli_parse_size(o->ring_size ? o->ring_size : DEFAULT_RING,
				    &machine->ring_bytes, err);

	if (!ret && o->memory)
		ret = rs_cli_parse_size(o->memory, &machine->memory, err);
	if (ret)
		return ret;
	if (!o->mode || strcmp(o->mode, "overwrite") == 0)
		machine->ring_mode = RS_MODE_OVERWRITE;
	else if (strcmp(o->mode, "drop") == 0)
		machine->ring_mode = RS_MODE_DROP;
	else
		return rs_error_set(err, EINVAL, "--mode is overwrite or drop, not '%s'", o->mode);
	machine->cpus = o->cpus == CPUS_NOT_GIVEN ? 0 : (uint32_t)o->cpus;
	machine->accel = o->accel ? o->accel : "auto";
	machine->initrd = o->initrd;
	machine->append = o->append;
	machine->serial = o->serial;
	machine->users =
		o->users == USERS_NOT_GIVEN ? RS_MACHINE_USERS_DEFAULT : (uint32_t)o->users;
	return 0;
}

/* A name for the session, from what runs if none was given. */
static int choose_name(const struct options *o, const char *what, char **out, struct rs_error *err)
{
	g_autofree char *base = NULL;

	if (o->name) {
		*out = g_strdup(o->name);
		return rs_session_check_name(o->name, err);
	}
	base = rs_session_name_for(what);
	return rs_rundir_free_name(base, out, err);
}

/*
 * A guest whose session died may live on in its QEMU, patched. Taking its name would throw away the
 * file and the journal that lead back to it.
 */
static int check_not_lost(const char *name, struct rs_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, NULL);
	bool alive = false;
	int fd = -1;

	if (!entry)
		return 0;
	if (!entry->live && entry->qmp &&
	    g_strlcpy(address.sun_path, entry->qmp, sizeof(address.sun_path)) <
		    sizeof(address.sun_path))
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		/* EAGAIN: it listens, and somebody else is being served. */
		alive = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
			errno == EAGAIN;
		close(fd);
	}
	if (!alive)
		return 0;
	return rs_error_set(err, EEXIST,
			    "the guest of '%s' runs on without its session: 'ringside attach %s' "
			    "takes it up, 'ringside stop %s' ends it",
			    name, name, name);
}

static int run_session(const struct options *o, struct rs_machine_config *machine,
		       struct rs_error *err)
{
	struct rs_runner_config runner = {
		.enable = o->enable,
		.filters = o->filters,
		.json = o->json,
		.short_names = o->bare,
		.quiet = o->quiet,
		.propagate = o->propagate,
		.output = o->output,
		.duration = o->duration,
		.count = (uint64_t)o->count,
		.from = RS_TRACE_FROM_START,
		.started = rs_launch_started,
	};
	RsTraceRundirEntry entry = {.name = (char *)machine->name};
	struct rs_rundir_claim *claim = NULL;
	struct rs_session *session;
	int ret = check_not_lost(machine->name, err);

	if (!ret)
		ret = rs_rundir_claim(&entry, &claim, err);
	if (ret)
		return rs_cli_fail_error(err);
	ret = rs_launch(machine, claim, &session, err);
	if (ret) {
		/* The missing thing is a file, so RS_CLI_NOT_FOUND would be wrong. */
		if (ret == -ENOENT)
			err->code = EIO;
		ret = rs_cli_fail_error(err);
	} else {
		ret = rs_runner_run(session, &runner);
	}
	rs_rundir_release(claim, false);
	return ret;
}

static int prepare_and_run(const struct rs_verb *verb, struct options *o, const char *kernel,
			   char **hosted)
{
	struct rs_machine_config machine = {.hosted = hosted};
	g_autofree char *demo = NULL, *name = NULL;
	struct rs_error err = {0};

	if (o->demo && rs_cli_find_demo(&demo, &err))
		return rs_cli_fail_error(&err);
	machine.kernel = demo ? demo : kernel;
	if (configure(o, &machine, &err))
		return rs_cli_usage(verb, "%s", err.message);
	if (machine.kernel && !g_file_test(machine.kernel, G_FILE_TEST_EXISTS))
		return rs_cli_fail(RS_CLI_FAILED, "%s: no such file", machine.kernel);
	if (choose_name(o, hosted ? hosted[0] : machine.kernel, &name, &err))
		return rs_cli_fail_error(&err);
	machine.name = name;
	return run_session(o, &machine, &err);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct options o = {.cpus = CPUS_NOT_GIVEN, .users = USERS_NOT_GIVEN};
	gboolean hosted_help = FALSE;
	const GOptionEntry options[] = {
		{"demo", 0, 0, G_OPTION_ARG_NONE, &o.demo, "Run the bundled demo guest", NULL},
		{"hosted", 0, 0, G_OPTION_ARG_NONE, &hosted_help,
		 "Run a program instead; all that follows is the program and its arguments", NULL},
		{"enable", 'e', 0, G_OPTION_ARG_STRING_ARRAY, &o.enable, "Enable these events",
		 "GLOB"},
		{"filter", 'f', 0, G_OPTION_ARG_STRING_ARRAY, &o.filters, "Filter these events",
		 "'GLOB: EXPR'"},
		{"name", 0, 0, G_OPTION_ARG_STRING, &o.name, "Name of the session", "NAME"},
		{"cpus", 0, 0, G_OPTION_ARG_INT, &o.cpus, "vCPUs, or rings (2)", "N"},
		{"regions", 0, 0, G_OPTION_ARG_INT, &o.users,
		 "How many other processes with an agent can join (4, with --hosted 16)", "N"},
		{"mem", 0, 0, G_OPTION_ARG_STRING, &o.memory, "Memory of the guest (256M)", "SIZE"},
		{"ring-size", 0, 0, G_OPTION_ARG_STRING, &o.ring_size,
		 "Ring of each vCPU (" DEFAULT_RING ")", "SIZE"},
		{"mode", 0, 0, G_OPTION_ARG_STRING, &o.mode, "When a ring is full (overwrite)",
		 "overwrite|drop"},
		{"accel", 0, 0, G_OPTION_ARG_STRING, &o.accel, "How to run a kernel (auto)",
		 "auto|kvm|tcg"},
		{"initrd", 0, 0, G_OPTION_ARG_FILENAME, &o.initrd, "Initial RAM disk", "FILE"},
		{"append", 0, 0, G_OPTION_ARG_STRING, &o.append, "Kernel command line", "TEXT"},
		{"serial", 0, 0, G_OPTION_ARG_FILENAME, &o.serial,
		 "Serial console: - is standard error (-)", "FILE|-|none"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output, "Write the trace there",
		 "FILE"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &o.json, "One JSON object a line", NULL},
		{"short", 0, 0, G_OPTION_ARG_NONE, &o.bare,
		 "Events without their system: switch in place of sched:switch", NULL},
		{"count", 'n', 0, G_OPTION_ARG_INT64, &o.count, "End after so many events", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &o.duration, "End after so many seconds",
		 "SECONDS"},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &o.quiet, "Print no trace and no summary",
		 NULL},
		{"propagate-exit", 0, 0, G_OPTION_ARG_NONE, &o.propagate,
		 "Exit with the guest's exit code", NULL},
		{0}};
	char **hosted = split_hosted(&argc, argv);
	int code = 0;

	/* GOption moves argv about; the program's part lies behind what it sees. */
	if (hosted)
		hosted = g_strdupv(hosted);
	argv[argc] = NULL;
	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		code = check(verb, &o, argc, hosted);
		if (!code)
			code = prepare_and_run(verb, &o, argc > 1 ? argv[1] : NULL, hosted);
	}
	g_strfreev(hosted);
	g_strfreev(o.enable);
	g_strfreev(o.filters);
	g_free(o.memory);
	g_free(o.ring_size);
	g_free(o.mode);
	g_free(o.name);
	g_free(o.accel);
	g_free(o.initrd);
	g_free(o.append);
	g_free(o.serial);
	g_free(o.output);
	return code;
}

const struct rs_verb rs_verb_run = {
	.name = "run",
	.args = "KERNEL | --demo | --hosted PROGRAM [ARGS…]",
	.summary = "run a guest and print its trace",
	.details =
		"The trace goes to standard output, the guest's console to standard error. Ctrl-C "
		"ends the\n"
		"guest. From another terminal: ringside list, enable, filter, trace, stat, stop …",
	.run = run,
};
