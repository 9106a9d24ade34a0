/* SPDX-License-Identifier: MIT */
/* The `ringside` command: a table of verbs. */
#include "base/log.h"
#include "cli/verb.h"
#include "filter/nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <rs-trace-escape.h>
#include <rs-trace-region.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct rs_verb *const verbs[] = {
	&rs_verb_run,    &rs_verb_attach,   &rs_verb_prepare, &rs_verb_ps,     &rs_verb_list,
	&rs_verb_enable, &rs_verb_disable,  &rs_verb_filter,  &rs_verb_format, &rs_verb_trace,
	&rs_verb_record, &rs_verb_snapshot, &rs_verb_report,  &rs_verb_diff,   &rs_verb_export,
	&rs_verb_ktrace, &rs_verb_kdump,    &rs_verb_engine,  &rs_verb_top,    &rs_verb_hist,
	&rs_verb_stat,   &rs_verb_ring,     &rs_verb_pause,   &rs_verb_resume, &rs_verb_trigger,
	&rs_verb_apply,  &rs_verb_inject,   &rs_verb_stop,    &rs_verb_test,   &rs_verb_view,
	&rs_verb_bench,
};

static void print_help(FILE *to)
{
	fputs("usage: ringside VERB [OPTIONS] [ARGUMENTS]\n"
	      "\n"
	      "Traces a virtual machine, or a program, from the host.\n"
	      "\n",
	      to);
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		fprintf(to, "  %-8s  %s\n", verbs[i]->name, verbs[i]->summary);
	fputs("\n"
	      "`ringside VERB --help` tells more; so do ringside(1) and ringside-VERB(1).\n"
	      "Exit codes: 0 done, 1 failed or done in part, 2 wrong usage, 3 no such session or "
	      "event,\n"
	      "4 the guest ended abnormally, 5 the guest ended with a code of its own.\n",
	      to);
}

static bool no_output; /* standard output was closed when we began */

/*
 * If a standard descriptor is closed, the next opened file would get its number and our output.
 * What stands in for standard output refuses it, so that nobody takes what was lost for written.
 */
static void fill_standard_fds(void)
{
	int fd;

	no_output = fcntl(STDOUT_FILENO, F_GETFD) < 0;
	do
		fd = open("/dev/null",
			  no_output && fcntl(STDIN_FILENO, F_GETFD) >= 0 ? O_RDONLY : O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Checks that standard output took everything. If its reader is gone, that is not an error. */
static int flush_output(int code)
{
	if ((!fflush(stdout) && !ferror(stdout)) || code != RS_CLI_OK)
		return code;
	if (no_output)
		return rs_cli_fail(RS_CLI_FAILED, "standard output is closed");
	if (errno == EPIPE)
		return code;
	return rs_cli_fail(RS_CLI_FAILED, "the output could not be written: %s", g_strerror(errno));
}

static int refuse_verb(const char *name)
{
	struct rs_nearest nearest = rs_nearest_to(name);
	g_autofree char *clean = rs_trace_escape(name, -1, NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		rs_nearest_offer(&nearest, verbs[i]->name);
	if (*name == '-')
		return rs_cli_fail(
			RS_CLI_USAGE,
			"options come after the verb: ringside VERB %s (see ringside --help)",
			clean);
	return rs_cli_fail(RS_CLI_USAGE, "no such verb: '%s'%s%s%s (see ringside --help)", clean,
			   nearest.found ? "; did you mean '" : "",
			   nearest.found ? nearest.found : "", nearest.found ? "'?" : "");
}

/* argv[0] is the verb's name. */
static int run_verb(int argc, char **argv)
{
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (strcmp(argv[0], verbs[i]->name) == 0)
			return flush_output(verbs[i]->run(verbs[i], argc, argv));
	return refuse_verb(argv[0]);
}

static int help(int argc, char **argv)
{
	char option[] = "--help";
	char *asked[] = {argv[1], option, NULL};

	if (argc > 2)
		return rs_cli_fail(RS_CLI_USAGE, "help is of one verb: ringside help [VERB]");
	if (argc == 2)
		return run_verb(2, asked);
	print_help(stdout);
	return flush_output(RS_CLI_OK);
}

int main(int argc, char **argv)
{
	fill_standard_fds();
	setlocale(LC_ALL, "");
	/* A closed pipe becomes an error of write(), which is handled there. */
	signal(SIGPIPE, SIG_IGN);
	rs_log_start(STDERR_FILENO);
	rs_trace_region_guard();

	if (argc < 2) {
		print_help(stderr);
		return RS_CLI_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("ringside %s (ABI %u.%u)\n", RS_VERSION, RS_ABI_MAJOR, RS_ABI_MINOR);
		return flush_output(RS_CLI_OK);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	return run_verb(argc - 1, argv + 1);
}
