/* SPDX-License-Identifier: MIT */
#include "cli/source_args.h"

#include "cli/args.h"
#include "machine/run_domain.h"
#include <errno.h>
#include <string.h>

#define DEFAULT_RING "1M"
/* At full speed it is full after 19 ms. In mode drop, a write to the disk may take no longer. */
#define RECORDED_RING "8M"
#define RECORDED_CPUS_MAX 16 /* with more of them it would be much memory */
#define NOT_GIVEN G_MININT

struct rs_source_args {
	char *name, *memory, *ring_size, *ring_max, *mode, *accel, *initrd, *append, *serial;
	int cpus, users;
	gboolean demo;
	char *domain, *uri; /* of libvirt; NULL: none */
	char *kernel;       /* NULL: a program or domain */
	char **hosted;      /* NULL: a kernel */
};

/* All that follows --hosted belongs to the program, options included. */
static char **split_hosted(int *argc, char **argv)
{
	char **program;

	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return NULL;
		if (strcmp(argv[i], "--hosted"))
			continue;
		program = g_new0(char *, *argc - i);
		for (int k = i + 1; k < *argc; k++)
			program[k - i - 1] = g_strdup(argv[k]);
		*argc = i;
		return program;
	}
	return NULL;
}

static int check_domain(const struct rs_verb *verb, const struct rs_source_args *a)
{
	if (!a->domain)
		return a->uri ? rs_cli_usage(verb, "--connect is for --domain") : 0;
	if (!*a->domain)
		return rs_cli_usage(verb, "--domain needs a name, or a file NAME.xml");
	if (a->accel || a->initrd)
		return rs_cli_usage(verb, "a domain's own XML says its --accel and --initrd");
	if (!rs_machine_is_template(a->domain) &&
	    (a->cpus != NOT_GIVEN || a->memory || a->append || a->serial))
		return rs_cli_usage(verb,
				    "--cpus, --mem, --append and --serial are for a template, "
				    "NAME.xml, and not for a domain that libvirt knows");
	return 0;
}

/* What more than one source was named by. */
static int refuse_several(const struct rs_verb *verb, const struct rs_source_args *a, int argc,
			  char **argv)
{
	const char *option = a->demo ? "--demo" : a->domain ? "--domain" : NULL;
	const char *second = a->demo && a->domain ? "--domain" : "--hosted";

	if (option && argc > 1)
		return rs_cli_usage(verb,
				    "%s is the guest, so '%s' is one too many: leave one of them "
				    "out, or put --and between two guests",
				    option, argv[1]);
	if (a->hosted && argc > 1)
		return rs_cli_usage(verb,
				    "'%s' before --hosted would be another guest: a program and "
				    "its arguments stand after --hosted",
				    argv[1]);
	if (option)
		return rs_cli_usage(verb,
				    "%s and %s are two guests: leave one of them out, or put --and "
				    "between them",
				    option, second);
	return rs_cli_usage(verb,
			    "'%s' and '%s' are two kernels: put --and between them. A program and "
			    "its arguments stand after --hosted",
			    argv[1], argv[2]);
}

static int check(const struct rs_verb *verb, const struct rs_source_args *a, int argc, char **argv)
{
	int sources = argc - 1 + (a->hosted != NULL) + (a->demo != FALSE) + (a->domain != NULL);

	if (a->hosted && !a->hosted[0])
		return rs_cli_usage(verb, "--hosted needs a program");
	if (sources == 0)
		return rs_cli_usage(verb, "one of KERNEL, --demo, --domain and --hosted PROGRAM is "
					  "needed");
	if (sources > 1)
		return refuse_several(verb, a, argc, argv);
	if (a->hosted && (a->initrd || a->append || a->memory || a->accel || a->serial))
		return rs_cli_usage(
			verb, "--accel, --append, --initrd, --mem and --serial are for kernels");
	if (a->cpus != NOT_GIVEN && (a->cpus < 1 || a->cpus > (int)RS_MAX_CPUS))
		return rs_cli_usage(verb, "--cpus is 1 to %u", RS_MAX_CPUS);
	if (a->users != NOT_GIVEN && (a->users < 0 || a->users >= (int)RS_MAX_REGIONS))
		return rs_cli_usage(verb, "--regions is 0 to %u", RS_MAX_REGIONS - 1);
	return check_domain(verb, a);
}

static bool parse(const struct rs_verb *verb, struct rs_source_args *a, const GOptionEntry *more,
		  int *argc, char ***argv, int *code)
{
	gboolean hosted_help = FALSE;
	const GOptionEntry own[] = {
		{"demo", 0, 0, G_OPTION_ARG_NONE, &a->demo, "Run the bundled demo guest", NULL},
		{"hosted", 0, 0, G_OPTION_ARG_NONE, &hosted_help,
		 "Run a program instead; all that follows is the program and its arguments", NULL},
		{"domain", 0, 0, G_OPTION_ARG_STRING, &a->domain,
		 "Start a domain of libvirt, or one made of a template, for this run",
		 "NAME|FILE.xml"},
		{"connect", 'c', 0, G_OPTION_ARG_STRING, &a->uri,
		 "libvirt's daemon for --domain, as virsh has it", "URI"},
		{"source", 0, 0, G_OPTION_ARG_STRING, &a->name,
		 "Name of the source (after the kernel or program)", "NAME"},
		{"cpus", 0, 0, G_OPTION_ARG_INT, &a->cpus, "vCPUs, or rings (2)", "N"},
		{"regions", 0, 0, G_OPTION_ARG_INT, &a->users,
		 "How many other processes with an agent can join (4, with --hosted 16)", "N"},
		{"mem", 0, 0, G_OPTION_ARG_STRING, &a->memory, "Memory of the guest (256M)",
		 "SIZE"},
		{"ring-size", 0, 0, G_OPTION_ARG_STRING, &a->ring_size,
		 "Ring of each vCPU (" DEFAULT_RING "; to record in mode drop " RECORDED_RING ")",
		 "SIZE"},
		{"ring-max", 0, 0, G_OPTION_ARG_STRING, &a->ring_max,
		 "What ringside ring --size may make of it (eight times as much)", "SIZE"},
		{"mode", 0, 0, G_OPTION_ARG_STRING, &a->mode, "When a ring is full (overwrite)",
		 "overwrite|drop"},
		{"accel", 0, 0, G_OPTION_ARG_STRING, &a->accel, "How to run a kernel (auto)",
		 "auto|kvm|tcg"},
		{"initrd", 0, 0, G_OPTION_ARG_FILENAME, &a->initrd, "Initial RAM disk", "FILE"},
		{"append", 0, 0, G_OPTION_ARG_STRING, &a->append, "Kernel command line", "TEXT"},
		{"serial", 0, 0, G_OPTION_ARG_FILENAME, &a->serial,
		 "Serial console: - is standard error (-)", "FILE|-|none"},
		{0}};
	g_autoptr(GArray) all = g_array_new(TRUE, FALSE, sizeof(GOptionEntry));

	g_array_append_vals(all, own, G_N_ELEMENTS(own) - 1);
	for (; more && more->long_name; more++)
		g_array_append_vals(all, more, 1);
	return rs_cli_parse(verb, (const GOptionEntry *)(const void *)all->data, argc, argv, code);
}

struct rs_source_args *rs_source_args_parse(const struct rs_verb *verb, const GOptionEntry *more,
					    int argc, char **argv, int *code)
{
	struct rs_source_args *a = g_new0(struct rs_source_args, 1);

	a->cpus = a->users = NOT_GIVEN;
	a->hosted = split_hosted(&argc, argv);
	argv[argc] = NULL;
	if (parse(verb, a, more, &argc, &argv, code)) {
		*code = check(verb, a, argc, argv);
		a->kernel = g_strdup(argc > 1 ? argv[1] : NULL);
		if (!*code)
			return a;
	}
	rs_source_args_free(a);
	return NULL;
}

void rs_source_args_free(struct rs_source_args *a)
{
	if (!a)
		return;
	g_free(a->name);
	g_free(a->memory);
	g_free(a->ring_size);
	g_free(a->ring_max);
	g_free(a->mode);
	g_free(a->accel);
	g_free(a->initrd);
	g_free(a->append);
	g_free(a->serial);
	g_free(a->kernel);
	g_free(a->domain);
	g_free(a->uri);
	g_strfreev(a->hosted);
	g_free(a);
}

/* A program has a ring for each CPU, if nothing else was asked for. */
static bool has_few_rings(const struct rs_source_args *a)
{
	if (a->cpus == NOT_GIVEN)
		return !a->hosted || g_get_num_processors() <= RECORDED_CPUS_MAX;
	return a->cpus <= RECORDED_CPUS_MAX;
}

static const char *ring_size(const struct rs_source_args *a, bool recorded)
{
	if (a->ring_size)
		return a->ring_size;
	return recorded && g_strcmp0(a->mode, "drop") == 0 && has_few_rings(a) ? RECORDED_RING
									       : DEFAULT_RING;
}

int rs_source_args_fill(const struct rs_source_args *a, bool recorded, struct rs_launch_source *out,
			struct rs_error *err)
{
	struct rs_machine_config *config = &out->config;
	int ret;

	*out = (struct rs_launch_source){.name = a->name};
	/* A domain's memory decides how large its rings are. */
	ret = a->domain && !a->ring_size
		      ? 0
		      : rs_cli_parse_size(ring_size(a, recorded), &config->ring_bytes, err);
	if (!ret && a->ring_max)
		ret = rs_cli_parse_size(a->ring_max, &config->ring_max, err);
	if (!ret && a->memory)
		ret = rs_cli_parse_size(a->memory, &config->memory, err);
	if (!ret && a->name)
		ret = rs_session_check_name(a->name, err);
	if (ret)
		return ret;
	if (!a->mode || strcmp(a->mode, "overwrite") == 0)
		config->ring_mode = RS_MODE_OVERWRITE;
	else if (strcmp(a->mode, "drop") == 0)
		config->ring_mode = RS_MODE_DROP;
	else
		return rs_error_set(err, EINVAL, "--mode is overwrite or drop, not '%s'", a->mode);
	config->hosted = a->hosted;
	config->domain = a->domain;
	config->uri = a->uri;
	config->cpus = a->cpus == NOT_GIVEN ? 0 : (uint32_t)a->cpus;
	config->accel = a->accel ? a->accel : "auto";
	config->initrd = a->initrd;
	config->append = a->append;
	config->serial = a->serial;
	config->users = a->users == NOT_GIVEN ? RS_MACHINE_USERS_DEFAULT : (uint32_t)a->users;
	return 0;
}

int rs_source_args_find(struct rs_source_args *a, struct rs_launch_source *out)
{
	struct rs_error err = {0};

	if (a->demo && rs_cli_find_demo(&a->kernel, &err))
		return rs_cli_fail_error(&err);
	if (a->kernel && !g_file_test(a->kernel, G_FILE_TEST_EXISTS))
		return rs_cli_fail(RS_CLI_FAILED, "%s: no such file", a->kernel);
	out->config.kernel = a->kernel;
	return 0;
}
