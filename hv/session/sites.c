/* SPDX-License-Identifier: MIT */
/* The session's side of the patcher: takes events, returns problems. */
#include "session/private.h"

#include "patch/patcher.h"
#include "target/memory.h"
#include <errno.h>
#include <inttypes.h>
#include <rs-trace-escape.h>

int rs_source_sites_init(struct rs_source *source, struct rs_journal_report *report,
			 struct rs_error *err)
{
	return rs_patcher_create(source->target, RS_PATCH_HOST, source->journal, report,
				 &source->patcher, err);
}

void rs_source_sites_fini(struct rs_source *source)
{
	/* No text is left to restore, so the journal must not name any either. */
	if (source->patcher && source->ended)
		rs_patcher_forget(source->patcher);
	rs_patcher_destroy(source->patcher);
	source->patcher = NULL;
}

int rs_source_sites_set_self(struct rs_source *source, bool self, struct rs_error *err)
{
	return rs_patcher_set_method(source->patcher, self ? RS_PATCH_SELF : RS_PATCH_HOST, err);
}

#define LINES 16u /* a guest may list a million invalid sites, as often as it likes */

static void set_note(char **note, const struct rs_site_refusal *refusal)
{
	g_free(*note);
	*note = g_strdup_printf("refused at %#" PRIx64 ": %s", refusal->at.v, refusal->why);
}

/* `problems`: NULL if the provider has just come. */
static void tell(struct rs_source *source, char *line, GPtrArray *problems)
{
	if (problems) {
		g_ptr_array_add(problems, line);
		return;
	}
	rs_source_say(source, "%s", line);
	g_free(line);
}

static void tell_more(struct rs_source *source, size_t count, const char *what, GPtrArray *problems)
{
	if (count > LINES)
		tell(source, g_strdup_printf("and %zu sites more %s", count - LINES, what),
		     problems);
}

/* What was not done with the sites of an event: it goes on, or off. */
static const char *not_done(const struct event_state *state)
{
	return !state || state->on ? "refused" : "not put back";
}

/*
 * The refusals of the last step: a note on each one's event, a line for the caller of the first
 * few. `told` before. `what` was done with the sites; NULL: it depends on the event, and those who
 * wait for it are told, too.
 */
static void tell_refusals(struct rs_source *source, size_t told, const char *what,
			  GPtrArray *problems)
{
	size_t count;
	const struct rs_site_refusal *list = rs_patcher_refusals(source->patcher, &count);

	for (size_t i = 0; i < count; i++) {
		g_autofree char *line = NULL;
		const RsTraceEvent *event = NULL;
		struct event_state *state = NULL;

		if (list[i].event && list[i].event < source->region->header.event_capacity) {
			state = &source->events[list[i].event];
			event = rs_trace_schema_by_id(source->schema, list[i].event);
			set_note(problems ? &state->note : &state->left_out, &list[i]);
		}
		line = g_strdup_printf("site at %#" PRIx64 " of %s%s%s %s: %s", list[i].at.v,
				       event ? event->system : "an unknown event", event ? ":" : "",
				       event ? event->name : "", what ? what : not_done(state),
				       list[i].why);
		if (!what)
			rs_source_note_late(source, list[i].event, line);
		if (++told <= LINES)
			tell(source, g_steal_pointer(&line), problems);
	}
}

int rs_source_sites_add(struct rs_source *source, uint32_t slot, const struct rs_provider *provider,
			struct rs_error *err)
{
	const struct rs_guest_info *info = &source->info;
	uint64_t named =
		provider->page_table_root ? provider->page_table_root : info->page_table_root;
	struct rs_site_list list = {
		.provider = slot + 1,
		.count = provider->site_count,
		.stride = provider->site_stride,
		.at = {provider->sites},
	};
	int ret;

	if (!list.count)
		return 0;
	ret = rs_target_root(source->target, info->arch, info->paging, named, &list.root, err);
	if (!ret)
		ret = rs_patcher_begin_provider(source->patcher, &list, err);
	if (ret)
		return ret;
	source->reading = slot + 1;
	source->left_out = 0;
	rs_source_sites_read_on(source);
	return 0;
}

#define STEP 128u /* sites between two looks at the turn */

bool rs_source_sites_read_on(struct rs_source *source)
{
	struct rs_error err = {0};
	uint32_t refused, slot = source->reading - 1;
	int ret = 1;

	while (ret == 1 && !rs_turn_over(&source->session->turn)) {
		uint64_t slow = source->target->slow_reads;

		rs_turn_add(&source->session->turn, (uint64_t)STEP * RS_WORK_SITE);
		ret = rs_patcher_step_provider(source->patcher, STEP, &refused, &err);
		rs_turn_add(&source->session->turn,
			    (source->target->slow_reads - slow) * RS_WORK_SLOW);
		tell_refusals(source, source->left_out, "refused", NULL);
		source->left_out += refused;
	}
	if (ret == 1)
		return false;
	source->reading = 0;
	tell_more(source, source->left_out, "refused", NULL);
	if (!ret)
		rs_source_find_called(source, slot, rs_patcher_called(source->patcher));
	if (ret) {
		g_autofree char *name = rs_trace_escape(source->providers[slot].name, -1, NULL);

		rs_source_say(source, "provider '%s' cannot be patched: %s", name, err.message);
	}
	return true;
}

/* Sites of one step, in one pause. */
#define PATCH_STEP 1024u

/* While the target is not ready nobody waits for it. It says when: rs_source_sites_ready(). */
static bool may_step(struct rs_source *source)
{
	source->waiting = rs_patcher_has_due(source->patcher) && !rs_target_ready(source->target);
	return !source->waiting;
}

/* One step of patching, counted as work of this turn. As rs_patcher_step(). */
static int step(struct rs_source *source, uint32_t *refused, struct rs_error *err)
{
	struct rs_patcher_stats before, after;
	int ret;

	rs_patcher_stats(source->patcher, &before);
	source->stepping = true;
	ret = rs_patcher_step(source->patcher, PATCH_STEP, refused, err);
	source->stepping = false;
	rs_patcher_stats(source->patcher, &after);
	rs_turn_add(&source->session->turn,
		    after.sites_looked - before.sites_looked +
			    (after.sites_tried - before.sites_tried) * RS_WORK_PATCH);
	return ret;
}

/*
 * Steps until all is done (0), or the turn is over or the target is not ready (1). `once`: one step
 * at most. *told counts refused sites. The rest, as rs_patcher_step() and tell_refusals().
 */
static int patch(struct rs_source *source, bool once, const char *what, size_t *told,
		 GPtrArray *problems, struct rs_error *err)
{
	uint32_t refused;
	int ret;

	do {
		if (!may_step(source))
			return 1;
		ret = step(source, &refused, err);
		tell_refusals(source, *told, what, problems);
		*told += refused;
	} while (ret == 1 && !once && !rs_turn_over(&source->session->turn));
	return ret == 1 && source->ended ? 0 : ret;
}

/* The next turns go on with it. */
static void patch_later(struct rs_source *source, size_t told)
{
	source->patching = true;
	source->failed = false;
	source->patch_told = told;
	rs_session_hurry(source->session);
}

void rs_source_sites_patch_on(struct rs_source *source, bool once)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	struct rs_error err = {0};
	const bool again = source->failed;
	int ret = patch(source, once, NULL, &source->patch_told, lines, &err);

	/* What was left to do when it failed is tried again when somebody asks again. */
	source->patching =
		ret == 1 || (ret && !source->ended && rs_patcher_leaving(source->patcher));
	source->failed = ret < 0;
	if (ret < 0 && !again) {
		g_autofree char *line =
			g_strdup_printf("not all text is as was asked for: %s", err.message);

		rs_source_note_late(source, 0, line);
		g_ptr_array_add(lines, g_steal_pointer(&line));
	}
	if (ret != 1)
		tell_more(source, source->patch_told, "likewise", lines);
	for (guint i = 0; i < lines->len; i++)
		rs_source_say(source, "%s", (char *)lines->pdata[i]);
}

void rs_source_sites_ready(struct rs_source *source)
{
	source->waiting = source->failed = false;
	/* A step that failed, as the target could not be paused, is tried again. */
	source->patching |= rs_patcher_has_due(source->patcher);
	rs_source_retry_natives(source);
	rs_session_hurry(source->session);
}

uint64_t rs_source_sites_ticket(struct rs_source *source, uint32_t min_event, uint32_t max_event)
{
	return rs_patcher_ticket(source->patcher, min_event, max_event);
}

bool rs_source_sites_settled(const struct rs_source *source, uint64_t ticket)
{
	return !source->patching || rs_patcher_is_settled(source->patcher, ticket);
}

bool rs_source_sites_leaving(struct rs_source *source, uint32_t slot)
{
	return rs_patcher_knows(source->patcher, slot + 1);
}

void rs_source_sites_remove(struct rs_source *source, uint32_t slot)
{
	struct rs_error err = {0};
	size_t told = 0;
	int ret;

	if (source->reading == slot + 1)
		source->reading = 0;
	ret = rs_patcher_leave(source->patcher, slot + 1, &err);
	if (!ret && rs_patcher_leaving(source->patcher))
		ret = patch(source, false, "not put back", &told, NULL, &err);
	if (ret == 1)
		patch_later(source, told);
	if (ret >= 0 || ret == -ENOENT)
		return;
	rs_source_say(source, "a provider's text was not put back: %s", err.message);
	/* It is tried again, since whoever takes the slot next waits for it. */
	source->patching |= !source->ended && rs_patcher_leaving(source->patcher);
	source->failed = true;
}

bool rs_source_sites_busy(const struct rs_source *source)
{
	return rs_patcher_is_busy(source->patcher) || source->stepping;
}

void rs_source_sites_tend(struct rs_source *source)
{
	rs_patcher_tend(source->patcher);
}

int rs_source_sites_restore(struct rs_source *source, struct rs_error *err)
{
	return rs_patcher_restore(source->patcher, err);
}

void rs_source_sites_reset(struct rs_source *source)
{
	source->reading = 0;
	source->patching = source->failed = false;
	rs_patcher_forget(source->patcher);
}

/* Whoever switches an event on hears of its sites that can never be. */
static void tell_left_out(struct rs_source *source, const uint32_t *ids, size_t count,
			  GPtrArray *problems)
{
	size_t told = 0;

	for (size_t i = 0; i < count; i++) {
		const RsTraceEvent *event = rs_trace_schema_by_id(source->schema, ids[i]);
		const char *why = source->events[ids[i]].left_out;

		if (!why || !event || ++told > LINES)
			continue;
		g_ptr_array_add(problems,
				g_strdup_printf("%s:%s is recorded, but not at every site: %s",
						event->system, event->name, why));
	}
	if (told > LINES)
		g_ptr_array_add(problems,
				g_strdup_printf("and %zu events more, likewise", told - LINES));
}

int rs_source_sites_switch(struct rs_source *source, const uint32_t *ids, size_t count, bool on,
			   GPtrArray *problems, struct rs_error *err)
{
	const char *what = on ? "refused" : "not put back";
	size_t told = 0;
	int ret;

	/* What was restored for good stays so. */
	if (on && !source_alive(source))
		return rs_error_set(err, ESHUTDOWN, "the session has ended");
	for (size_t i = 0; i < count; i++) {
		rs_patcher_want(source->patcher, (uint16_t)ids[i], on ? 1 : -1);
		g_clear_pointer(&source->events[ids[i]].note, g_free);
	}
	ret = patch(source, false, what, &told, problems, err);
	if (ret == 1) {
		patch_later(source, told);
		ret = 0;
	} else {
		tell_more(source, told, what, problems);
	}
	if (ret && on) {
		for (size_t i = 0; i < count; i++)
			rs_patcher_want(source->patcher, (uint16_t)ids[i], -1);
		/* Those of earlier steps go off again. */
		patch_later(source, 0);
	}
	if (!ret && on && problems)
		tell_left_out(source, ids, count, problems);
	return ret;
}

void rs_source_sites_unwant(struct rs_source *source, uint32_t id)
{
	rs_patcher_want(source->patcher, (uint16_t)id, -1);
}

uint32_t rs_source_sites_of(struct rs_source *source, uint32_t id)
{
	uint32_t known, on;

	rs_patcher_event_sites(source->patcher, (uint16_t)id, &known, &on);
	return known;
}

uint32_t rs_source_sites_on_of(struct rs_source *source, uint32_t id)
{
	uint32_t known, on;

	rs_patcher_event_sites(source->patcher, (uint16_t)id, &known, &on);
	return on;
}

uint32_t rs_source_sites_on_of_provider(struct rs_source *source, uint32_t slot)
{
	return rs_patcher_provider_sites_on(source->patcher, slot + 1);
}

void rs_source_sites_stat(struct rs_source *source, struct rs_source_stat *out)
{
	struct rs_patcher_stats stats;

	rs_patcher_stats(source->patcher, &stats);
	out->sites = stats.sites;
	out->sites_on = stats.sites_on;
	out->sites_refused = stats.sites_refused;
	out->patches = stats.sites_patched;
	out->batches = stats.batches;
	out->pause_last_ns = stats.pause_last_ns;
	out->pause_max_ns = stats.pause_max_ns;
	out->pause_total_ns = stats.pause_total_ns;
}
