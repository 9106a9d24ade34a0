/* SPDX-License-Identifier: MIT */
#include "cli/launch.h"

#include "patch/journal.h"
#include <errno.h>

static int note_where(struct rs_rundir_claim *claim, const struct rs_session *session,
		      struct rs_error *err)
{
	const struct rs_source *source = rs_session_source(session, 0);
	struct rs_machine_place place = rs_machine_place(rs_source_target(source));
	RsTraceRundirEntry entry = {
		.name = (char *)rs_session_name(session),
		.kind = (char *)rs_source_kind(source),
		.kernel = (char *)rs_source_kernel(source),
		.qmp = (char *)place.qmp,
		.gdb = (char *)place.gdb,
		.region = (char *)place.region,
	};

	return rs_rundir_update(claim, &entry, err);
}

/* Session over machine, which is taken or cleared. */
static int join(const char *name, const struct rs_source_config *config, struct rs_machine *machine,
		struct rs_rundir_claim *claim, struct rs_session **out, struct rs_error *err)
{
	struct rs_session *session = NULL;
	struct rs_source *source;
	int ret = rs_session_create(name, &session, err);

	if (!ret)
		ret = rs_session_add_source(session, config, machine->region, machine->target,
					    &source, err);
	if (ret) {
		rs_machine_clear(machine);
	} else {
		rs_session_add_memory(session, source, machine->regions, machine->same_host);
		ret = note_where(claim, session, err);
	}
	if (ret)
		rs_session_destroy(session);
	else
		*out = session;
	return ret;
}

int rs_launch(const struct rs_machine_config *config, struct rs_rundir_claim *claim,
	      struct rs_session **out, struct rs_error *err)
{
	g_autofree char *run_dir = NULL, *journal = NULL;
	struct rs_machine_config full = *config;
	struct rs_source_config source = {
		.kernel = config->hosted ? config->hosted[0] : config->kernel,
	};
	struct rs_machine machine;
	GError *error = NULL;
	int ret;

	run_dir = rs_trace_rundir_path(&error);
	if (!run_dir)
		return rs_error_take(err, EIO, error);
	ret = rs_rundir_file(config->name, "journal", &journal, err);
	if (ret)
		return ret;
	full.run_dir = run_dir;
	source.journal = journal;
	ret = rs_machine_create(&full, &machine, err);
	return ret ? ret : join(config->name, &source, &machine, claim, out, err);
}

int rs_launch_started(struct rs_session *session, void *data, struct rs_error *err)
{
	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		struct rs_source *source = rs_session_source(session, i);

		if (!rs_machine_can_patch(rs_source_target(source)))
			rs_source_ask_self_patch(source);
	}
	return 0;
}

static char *describe(const struct rs_journal_report *report)
{
	if (!report->records)
		return NULL;
	return g_strdup_printf(
		"journal of the session that died: %u sites, %u put back, %u had not been "
		"changed, %u left alone%s%s",
		report->records, report->restored, report->untouched, report->left_alone,
		*report->first_left ? ": " : "", report->first_left);
}

int rs_launch_attach(const char *name, struct rs_rundir_claim *claim, struct rs_session **out,
		     char **report_text, struct rs_error *err)
{
	g_autofree char *run_dir = NULL, *journal = NULL;
	g_autoptr(RsTraceRundirEntry) old = NULL;
	struct rs_journal_report report = {0};
	struct rs_source_config source = {.report = &report};
	struct rs_machine machine;
	GError *error = NULL;
	int ret;

	run_dir = rs_trace_rundir_path(&error);
	old = run_dir ? rs_trace_rundir_find(name, &error) : NULL;
	if (!old)
		return rs_error_take(err, ENOENT, error);
	ret = rs_rundir_file(name, "journal", &journal, err);
	if (!ret)
		ret = rs_machine_attach(run_dir, name, &machine, err);
	if (ret)
		return ret;
	source.kernel = old->kernel;
	source.journal = journal;
	ret = join(name, &source, &machine, claim, out, err);
	if (!ret)
		*report_text = describe(&report);
	return ret;
}
