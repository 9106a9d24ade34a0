/* SPDX-License-Identifier: MIT */
/* `ringside prepare`: gives a domain of libvirt the device that a trace needs. */
#include "cli/attach_domain.h"
#include "cli/remains.h"
#include "cli/line_diff.h"
#include "cli/list_domains.h"
#include "cli/verb.h"
#include "libvirt/prepare.h"
#include "machine/domain.h"

#include <rs-trace-escape.h>
#include <stdio.h>

struct options {
	char *uri;
	gint64 mib;
	gboolean live, config, remove, dry_run, json, list;
};

/* ---- what was done, for people ---- */

static const char *when(const struct rs_prepared *change)
{
	return change->inactive ? "from its next start" : "now";
}

static char *what(const struct rs_prepared *change, bool dry_run)
{
	static const char *const done[] = {
		[RS_PREPARE_ADDED] = "added",
		[RS_PREPARE_PRESENT] = "already there",
		[RS_PREPARE_REMOVED] = "removed",
		[RS_PREPARE_ABSENT] = "there is none",
	};
	static const char *const would[] = {
		[RS_PREPARE_ADDED] = "would be added",
		[RS_PREPARE_PRESENT] = "already there",
		[RS_PREPARE_REMOVED] = "would be removed",
		[RS_PREPARE_ABSENT] = "there is none",
	};
	const char *text = (dry_run ? would : done)[change->action];

	if (change->err.code)
		return g_strdup_printf("failed: %s", change->err.message);
	if (change->action == RS_PREPARE_ABSENT)
		return g_strdup(text);
	return g_strdup_printf("%s, %" G_GUINT64_FORMAT " MiB%s%s", text, change->mib,
			       change->note ? "; " : "", change->note ? change->note : "");
}

/* The lines of the definition that have changed, or would. */
static char *lines_of(const struct rs_prepared *change)
{
	g_auto(GStrv) lines = NULL;
	GString *out;

	if (change->err.code)
		return g_strdup("");
	if (change->before && change->after)
		return rs_line_diff(change->before, change->after);
	if (!change->element)
		return g_strdup("");
	out = g_string_new(NULL);
	lines = g_strsplit(change->element, "\n", -1);
	for (guint i = 0; lines[i]; i++)
		if (*lines[i])
			g_string_append_printf(out, "%c    %s\n",
					       change->action == RS_PREPARE_REMOVED ? '-' : '+',
					       lines[i]);
	return g_string_free(out, FALSE);
}

static void print_change(const char *name, const struct rs_prepared *change, bool dry_run)
{
	g_autofree char *text = what(change, dry_run), *lines = lines_of(change);
	g_autofree char *shown = rs_trace_escape(lines, -1, "\n");

	if (change->err.code)
		rs_cli_fail(0, "%s, %s: %s", name, when(change), text);
	else
		printf("%s, %s: %s\n", name, when(change), text);
	fputs(shown, stdout);
}

static void print_file(const struct rs_prepared_file *file, bool dry_run)
{
	g_autofree char *name = rs_trace_escape(file->name, -1, NULL);
	g_autofree char *why = rs_trace_escape(file->err.message, -1, NULL);

	if (file->err.code)
		rs_cli_fail(0, "left behind: %s", why);
	else
		printf("/dev/shm/%s: %s\n", name, dry_run ? "would be removed" : "removed");
}

static bool is_there(const struct rs_preparation *done, bool inactive)
{
	for (guint i = 0; i < done->changes->len; i++) {
		const struct rs_prepared *change = done->changes->pdata[i];

		if (change->inactive == inactive && !change->err.code &&
		    change->action <= RS_PREPARE_PRESENT)
			return true;
	}
	return false;
}

/* What comes next. */
static void print_hint(const char *name, const struct rs_preparation *done, const char *uri)
{
	const char *connect = uri ? " -c " : "";

	if (is_there(done, false))
		printf("Load the module ringside in the guest, if it is not there yet. Then:\n");
	else if (is_there(done, true))
		printf("Start the domain, or shut it down and start it again. Then load the module "
		       "ringside\nin the guest, and:\n");
	else
		return;
	printf("    ringside attach%s%s %s\n", connect, uri ? uri : "", name);
}

static void print(struct rs_domain *domain, const struct rs_preparation *done,
		  const struct options *o)
{
	g_autofree char *name = rs_trace_escape(rs_domain_name(domain), -1, NULL);

	for (guint i = 0; i < done->changes->len; i++)
		print_change(name, done->changes->pdata[i], o->dry_run);
	for (guint i = 0; i < done->files->len; i++)
		print_file(done->files->pdata[i], o->dry_run);
	if (!o->remove && !o->dry_run)
		print_hint(name, done, o->uri);
}

/* ---- as JSON ---- */

static void add_bool(JsonBuilder *b, const char *name, bool value)
{
	json_builder_set_member_name(b, name);
	json_builder_add_boolean_value(b, value);
}

static void add_change(JsonBuilder *b, const struct rs_prepared *change)
{
	static const char *const actions[] = {
		[RS_PREPARE_ADDED] = "added",
		[RS_PREPARE_PRESENT] = "present",
		[RS_PREPARE_REMOVED] = "removed",
		[RS_PREPARE_ABSENT] = "absent",
	};
	g_autofree char *lines = lines_of(change);

	json_builder_begin_object(b);
	rs_cli_add_text(b, "definition", change->inactive ? "config" : "live");
	rs_cli_add_text(b, "action", change->err.code ? "failed" : actions[change->action]);
	if (change->name)
		rs_cli_add_text(b, "memory", change->name);
	if (change->mib)
		rs_cli_add_number(b, "size", change->mib << 20);
	if (change->element)
		rs_cli_add_text(b, "element", change->element);
	if (*lines)
		rs_cli_add_text(b, "diff", lines);
	if (change->note)
		rs_cli_add_text(b, "note", change->note);
	if (change->err.code)
		rs_cli_add_text(b, "error", change->err.message);
	json_builder_end_object(b);
}

static void add_file(JsonBuilder *b, const struct rs_prepared_file *file)
{
	g_autofree char *path = g_strconcat("/dev/shm/", file->name, NULL);

	json_builder_begin_object(b);
	rs_cli_add_text(b, "path", path);
	add_bool(b, "removed", !file->err.code);
	if (file->err.code)
		rs_cli_add_text(b, "error", file->err.message);
	json_builder_end_object(b);
}

static void print_json(struct rs_domain *domain, const struct rs_preparation *done,
		       const struct options *o)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_object(b);
	rs_cli_add_text(b, "domain", rs_domain_name(domain));
	rs_cli_add_text(b, "uuid", rs_domain_uuid(domain));
	rs_cli_add_text(b, "uri", rs_domain_uri(domain));
	add_bool(b, "dry_run", o->dry_run);
	json_builder_set_member_name(b, "changes");
	json_builder_begin_array(b);
	for (guint i = 0; i < done->changes->len; i++)
		add_change(b, done->changes->pdata[i]);
	json_builder_end_array(b);
	json_builder_set_member_name(b, "files");
	json_builder_begin_array(b);
	for (guint i = 0; i < done->files->len; i++)
		add_file(b, done->files->pdata[i]);
	json_builder_end_array(b);
	json_builder_end_object(b);
	rs_cli_print_json(b);
}

/* ---- the verb ---- */

/* The device would be taken away under it. */
static int check_sessions(const struct rs_domain *domain, const struct options *o,
			  struct rs_error *err)
{
	g_autofree char *via = rs_machine_domain_via(domain);
	g_autoptr(RsTraceRundirEntry) there = rs_remains_find(via);

	if (!o->remove || o->dry_run || !there || !there->live)
		return 0;
	return rs_error_set(err, EBUSY, "session '%s' traces it: 'ringside stop %s' ends that",
			    there->name, there->name);
}

static int prepare(const char *name, const struct options *o)
{
	struct rs_prepare_wish wish = {
		.mib = (guint64)o->mib,
		.live = o->live,
		.config = o->config,
		.remove = o->remove,
		.dry_run = o->dry_run,
		.waiting = rs_cli_tell_wait,
	};
	struct rs_domain *domain = NULL;
	struct rs_preparation *done = NULL;
	struct rs_error err = {0};
	int code = RS_CLI_OK;

	if (rs_domain_open(o->uri, name, NULL, RS_DOMAIN_TIMEOUT_MS, &domain, &err))
		return rs_cli_fail_error(&err);
	wish.data = domain;
	if (check_sessions(domain, o, &err) || rs_prepare(domain, &wish, &done, &err)) {
		code = rs_cli_fail_error(&err);
	} else {
		if (o->json)
			print_json(domain, done, o);
		else
			print(domain, done, o);
		if (rs_preparation_failed(done, NULL))
			code = RS_CLI_FAILED;
	}
	rs_preparation_free(done);
	rs_domain_close(domain);
	return code;
}

static int check(const struct rs_verb *verb, const struct options *o, int argc)
{
	if (o->list && (argc > 1 || o->mib || o->live || o->config || o->remove || o->dry_run))
		return rs_cli_usage(verb, "--list changes nothing");
	if (o->list)
		return RS_CLI_OK;
	if (argc != 2)
		return rs_cli_usage(verb, "which domain? See ringside prepare --list");
	if (o->remove && o->mib)
		return rs_cli_usage(verb, "--size is for what is added");
	if (o->mib < 0 || o->mib > RS_PREPARE_MIB_MAX)
		return rs_cli_usage(verb, "--size is 1 to %u MiB", RS_PREPARE_MIB_MAX);
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct options o = {0};
	const GOptionEntry options[] = {
		{"connect", 'c', 0, G_OPTION_ARG_STRING, &o.uri,
		 "libvirt's daemon, as virsh has it", "URI"},
		{"size", 0, 0, G_OPTION_ARG_INT64, &o.mib,
		 "The device's memory, a power of two (default: by the vCPUs)", "MIB"},
		{"remove", 0, 0, G_OPTION_ARG_NONE, &o.remove,
		 "Take the device away, and the file that it leaves", NULL},
		{"live", 0, 0, G_OPTION_ARG_NONE, &o.live, "Change the running domain only", NULL},
		{"config", 0, 0, G_OPTION_ARG_NONE, &o.config, "Change its next start only", NULL},
		{"dry-run", 0, 0, G_OPTION_ARG_NONE, &o.dry_run, "Only say what would be done",
		 NULL},
		{"list", 'l', 0, G_OPTION_ARG_NONE, &o.list, "List the domains, and change nothing",
		 NULL},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &o.json, "Print JSON", NULL},
		{0}};
	int code;

	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		code = check(verb, &o, argc);
		if (!code)
			code = o.list ? rs_cli_list_domains(o.uri, o.json) : prepare(argv[1], &o);
	}
	g_free(o.uri);
	return code;
}

const struct rs_verb rs_verb_prepare = {
	.name = "prepare",
	.args = "DOMAIN | --list",
	.summary = "give a domain of libvirt the device that a trace needs",
	.details = "Adds an ivshmem device to the domain as it runs and to its next start, and "
		   "shows what it\n"
		   "changes. A domain that has one stays as it is. --live and --config, as virsh "
		   "has them,\n"
		   "may both be given.",
	.run = run,
};
