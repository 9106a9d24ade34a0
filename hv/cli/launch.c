/* SPDX-License-Identifier: MIT */
#include "cli/launch.h"

#include "cli/remains.h"
#include "machine/process.h"
#include "machine/reach.h"
#include "machine/rescue.h"
#include "patch/journal.h"
#include <errno.h>
#include <string.h>

/* ---- what all sources have in common ---- */

static int note_where(struct rs_rundir_claim *claim, const struct rs_session *session,
		      struct rs_error *err)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_entry_new(rs_session_name(session));

	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		const struct rs_source *source = rs_session_source(session, i);
		const struct rs_target *target = rs_source_target(source);
		struct rs_machine_place place = rs_machine_place(target);
		bool program = rs_source_is_program(source);
		g_autofree char *process = program ? rs_machine_process_via(target->pid) : NULL;

		if (rs_source_joined(source))
			break;

		rs_trace_rundir_entry_add(
			entry, &(RsTraceRundirSource){
				       .name = (char *)rs_source_name(source),
				       .kind = (char *)rs_source_kind(source),
				       .kernel = (char *)rs_source_kernel(source),
				       .qmp = (char *)place.qmp,
				       .gdb = (char *)place.gdb,
				       .region = (char *)place.region,
				       .via = process ? process : (char *)rs_source_via(source),
				       .program = program,
			       });
	}
	return rs_rundir_update(claim, entry, err);
}

/* Before anything there is changed, so that it can be put right whenever we are killed. */
static int note_via(struct rs_rundir_claim *claim, const char *kernel, const char *via,
		    struct rs_error *err)
{
	const char *name = rs_rundir_claim_name(claim);
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_entry_new(name);

	rs_trace_rundir_entry_add(entry,
				  &(RsTraceRundirSource){.name = (char *)name,
							 .kernel = (char *)kernel,
							 .via = (char *)via,
							 .program = rs_machine_is_process(via)});
	return rs_rundir_update(claim, entry, err);
}

/* Gives the machine to the session, or clears it on failure. */
static int add_machine(struct rs_session *session, const struct rs_source_config *config,
		       struct rs_machine *machine, struct rs_error *err)
{
	struct rs_source *source;
	int ret = rs_session_add_source(session, config, machine->region, machine->target, &source,
					err);

	if (ret)
		rs_machine_clear(machine);
	else
		rs_session_add_memory(session, source, machine->regions, machine->same_host);
	return ret;
}

static int find_run_dir(char **out, struct rs_error *err)
{
	GError *error = NULL;

	*out = rs_trace_rundir_path(&error);
	return *out ? 0 : rs_error_take(err, EIO, error);
}

/* Each source has its own files in the run directory: NAME@1.journal and so on. */
static int name_files(const struct rs_session *session, guint number, char **name, char **journal,
		      struct rs_error *err)
{
	*name = rs_trace_rundir_source_name(rs_session_name(session), number);
	return rs_rundir_file(*name, "journal", journal, err);
}

/* ---- new sources ---- */

const char *rs_launch_what(const struct rs_launch_source *source)
{
	const struct rs_machine_config *config = &source->config;

	return config->domain   ? config->domain
	       : config->hosted ? config->hosted[0]
				: config->kernel;
}

static int add_new(struct rs_session *session, const char *run_dir, guint number,
		   const struct rs_launch_source *wish, struct rs_error *err)
{
	g_autofree char *name = NULL, *journal = NULL;
	/* As execvp() finds it. */
	g_autofree char *program = wish->config.hosted
					   ? g_find_program_in_path(wish->config.hosted[0])
					   : g_strdup(wish->config.kernel);
	struct rs_machine_config config = wish->config;
	struct rs_source_config source = {
		.name = wish->name,
		.kernel = rs_launch_what(wish),
		.program = program,
	};
	struct rs_machine machine;
	int ret = name_files(session, number, &name, &journal, err);

	if (ret)
		return ret;
	config.name = name;
	config.run_dir = run_dir;
	/* All sources have the same time 0. */
	if (number > 1)
		config.origin_ns =
			rs_source_region(rs_session_source(session, 0))->header.origin_ns;
	source.journal = journal;
	ret = rs_machine_create(&config, &machine, err);
	if (ret)
		return ret;
	source.via = machine.via;
	source.self_patch = machine.self_patch;
	return add_machine(session, &source, &machine, err);
}

int rs_launch(const char *name, struct rs_launch_source *sources, guint n,
	      struct rs_rundir_claim *claim, struct rs_session **out, struct rs_error *err)
{
	g_autofree char *run_dir = NULL;
	struct rs_session *session = NULL;
	int ret = find_run_dir(&run_dir, err);

	if (!ret)
		ret = rs_remains_rescue(name, err);
	if (!ret)
		ret = rs_session_create(name, &session, err);
	for (guint i = 0; i < n && !ret; i++)
		ret = add_new(session, run_dir, i + 1, &sources[i], err);
	if (!ret)
		ret = note_where(claim, session, err);
	if (!ret)
		*out = session;
	else if (session)
		rs_session_destroy(session);
	return ret;
}

int rs_launch_started(struct rs_session *session, struct rs_rundir_claim *claim,
		      struct rs_error *err)
{
	bool programs = false;

	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		struct rs_source *source = rs_session_source(session, i);

		if (!rs_source_joined(source) && !rs_machine_can_patch(rs_source_target(source)))
			rs_source_ask_self_patch(source);
		programs |= rs_source_is_program(source);
	}
	return programs ? note_where(claim, session, err) : 0;
}

#define HOST_RING_BYTES (256u << 10)

/* It is not in the session's file, since nobody can take it up. */
int rs_launch_add_host(struct rs_session *session, struct rs_error *err)
{
	const struct rs_region_header *first =
		&rs_source_region(rs_session_source(session, 0))->header;
	const struct rs_session_host host = {
		.ring_bytes =
			MIN(first->ring_pages * (uint64_t)first->ring_page_size, HOST_RING_BYTES),
		.ring_mode = first->ring_mode,
	};
	int ret = rs_session_add_host(session, &host, err);

	return ret ? rs_error_prefix(err, "--host") : 0;
}

/* ---- what somebody else has started ---- */

static int reach(struct rs_session *session, const char *run_dir, const char *name, const char *via,
		 const struct rs_machine_memory_wish *memory, struct rs_source_config *source,
		 GPtrArray *lines, struct rs_error *err)
{
	const struct rs_machine_reach wish = {
		.via = via, .run_dir = run_dir, .name = name, .memory = *memory};
	struct rs_machine machine;
	int ret = rs_machine_reach(&wish, &machine, lines, err);

	if (ret)
		return ret;
	source->via = via;
	source->self_patch = machine.self_patch;
	if (machine.label)
		source->kernel = machine.label;
	if (*machine.program)
		source->program = machine.program;
	return add_machine(session, source, &machine, err);
}

int rs_launch_reach(const char *via, const struct rs_machine_memory_wish *memory,
		    struct rs_rundir_claim *claim, struct rs_session **out, GPtrArray **lines,
		    struct rs_error *err)
{
	g_autoptr(GPtrArray) said = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *run_dir = NULL, *name = NULL, *journal = NULL;
	const char *session_name = rs_rundir_claim_name(claim);
	g_autofree char *kernel = rs_machine_reach_name(via);
	struct rs_source_config source = {.kernel = kernel};
	struct rs_session *session = NULL;
	int ret = find_run_dir(&run_dir, err);

	if (!ret)
		ret = rs_remains_rescue(session_name, err);
	if (!ret)
		ret = rs_session_create(session_name, &session, err);
	if (!ret)
		ret = name_files(session, 1, &name, &journal, err);
	source.journal = journal;
	if (!ret)
		ret = note_via(claim, kernel, via, err);
	if (!ret)
		ret = reach(session, run_dir, name, via, memory, &source, said, err);
	if (!ret)
		ret = note_where(claim, session, err);
	*lines = g_steal_pointer(&said);
	if (!ret)
		*out = session;
	else if (session)
		rs_session_destroy(session);
	return ret;
}

/* ---- sources of a session that died ---- */

static void describe(GPtrArray *lines, const char *source, const struct rs_journal_report *report)
{
	if (!report->records)
		return;
	g_ptr_array_add(lines,
			g_strdup_printf("%s: journal of the session that died: %u sites, %u "
					"put back, %u had not been changed, %u left "
					"alone%s%s",
					source, report->records, report->restored,
					report->untouched, report->left_alone,
					*report->first_left ? ": " : "", report->first_left));
}

/*
 * A program that still runs, and that cannot be traced on: its text is restored. `why`: it has been
 * tried.
 */
static int leave_program(const RsTraceRundirSource *source, const char *journal, GPtrArray *lines,
			 const struct rs_error *why, struct rs_error *err)
{
	struct rs_journal_report report;
	int ret = rs_machine_rescue_process(journal, &report, err);

	if (!ret)
		describe(lines, source->name, &report);
	if (!ret && why)
		g_ptr_array_add(lines, g_strdup_printf("%s is not traced any more: %s",
						       source->name, why->message));
	return ret;
}

/* One that lives and whose memory is lost does not keep the others from being traced. */
static int take_up_program(struct rs_session *session, const struct rs_machine_reach *wish,
			   const RsTraceRundirSource *old, struct rs_source_config *source,
			   GPtrArray *lines, struct rs_error *err)
{
	struct rs_error why = {.code = ENOENT};
	int ret = -ENOENT;

	if (old->via)
		ret = reach(session, wish->run_dir, wish->name, old->via, &wish->memory, source,
			    lines, &why);
	if (!ret) {
		describe(lines, old->name, source->report);
		return 0;
	}
	if (leave_program(old, source->journal, lines, *why.message ? &why : NULL, err))
		return -err->code;
	*err = why;
	if (!*why.message)
		rs_error_set(err, ENOENT, "its session died before it could be told of");
	return ret;
}

static int take_up(struct rs_session *session, const char *run_dir, guint number,
		   const RsTraceRundirSource *old, GPtrArray *lines, struct rs_error *err)
{
	g_autofree char *name = NULL, *journal = NULL;
	struct rs_journal_report report = {0};
	struct rs_source_config source = {.name = old->name,
					  .kernel = old->kernel,
					  .program = old->kernel,
					  .report = &report};
	struct rs_machine machine;
	int ret = name_files(session, number, &name, &journal, err);

	if (ret)
		return ret;
	source.journal = journal;
	if (old->program) {
		const struct rs_machine_reach wish = {
			.run_dir = run_dir, .name = name, .memory = RS_MACHINE_MEMORY_ANY};

		return take_up_program(session, &wish, old, &source, lines, err);
	}
	if (!old->via && !old->qmp)
		return rs_error_set(err, ENOENT, "it ended with its session");
	if (old->via) {
		const struct rs_machine_memory_wish any = RS_MACHINE_MEMORY_ANY;

		ret = reach(session, run_dir, name, old->via, &any, &source, lines, err);
	} else {
		ret = rs_machine_attach(run_dir, name, &machine, err);
		if (!ret)
			ret = add_machine(session, &source, &machine, err);
	}
	/* Its regions may be broken. Its text is put right all the same. */
	if (ret && !old->via) {
		struct rs_error why = {0};

		if (rs_remains_has_ended(ret))
			return ret;
		if (rs_machine_rescue_guest(run_dir, name, journal, &report, &why)) {
			g_ptr_array_add(lines, g_strdup_printf("%s: text is not put right: %s",
							       old->name, why.message));
			return ret;
		}
	}
	describe(lines, old->name, &report);
	return ret;
}

/*
 * What fails for one source is told, and the others are taken up. If no guest is left, the first
 * error is returned, one of a guest that still runs before one of a guest that has ended.
 */
static int take_up_all(struct rs_session *session, const char *run_dir,
		       const RsTraceRundirEntry *old, GPtrArray *lines, struct rs_error *err)
{
	struct rs_error first = {.code = ENOENT};

	for (guint i = 0; i < old->sources->len; i++) {
		const RsTraceRundirSource *source = old->sources->pdata[i];
		int ret = take_up(session, run_dir, i + 1, source, lines, err);

		if (!ret)
			continue;
		rs_error_prefix(err, "%s", source->name);
		if (!*first.message ||
		    (rs_remains_has_ended(-first.code) && !rs_remains_has_ended(ret)))
			first = *err;
		if (old->sources->len > 1)
			g_ptr_array_add(lines, g_strdup(err->message));
	}
	if (rs_session_n_sources(session))
		return 0;
	if (!*first.message)
		return rs_error_set(err, ENOENT, "'%s' has left nothing behind", old->name);
	*err = first;
	return -first.code;
}

int rs_launch_attach(const RsTraceRundirEntry *old, struct rs_session **out, GPtrArray **lines,
		     struct rs_error *err)
{
	g_autoptr(GPtrArray) said = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *run_dir = NULL;
	struct rs_session *session = NULL;
	int ret = find_run_dir(&run_dir, err);

	if (!ret)
		ret = rs_session_create(old->name, &session, err);
	if (!ret)
		ret = take_up_all(session, run_dir, old, said, err);
	*lines = g_steal_pointer(&said);
	if (!ret)
		*out = session;
	else if (session)
		rs_session_destroy(session);
	return ret;
}
