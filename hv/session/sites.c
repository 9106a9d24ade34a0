/* SPDX-License-Identifier: MIT */
/* The session's side of the patcher: events in, problems out. */
#include "session/private.h"

#include "patch/patcher.h"
#include "session/rescue.h"
#include <errno.h>
#include <inttypes.h>

static int do_nothing(struct rs_target *target, struct rs_error *err)
{
	return 0;
}

/* A guest that a person has paused is patched as it stands, and stays paused. */
static int commit_wishes(struct rs_session *session, uint32_t *refused, struct rs_error *err)
{
	struct rs_target *target = session->target;
	const struct rs_target_ops *ops = target->ops;
	struct rs_target_ops still = *ops;
	int ret;

	if (!session->paused)
		return rs_patcher_commit(session->patcher, refused, err);
	still.pause = do_nothing;
	still.resume = do_nothing;
	target->ops = &still;
	ret = rs_patcher_commit(session->patcher, refused, err);
	target->ops = ops;
	return ret;
}

int rs_session_sites_init(struct rs_session *session, struct rs_journal_report *report,
			  struct rs_error *err)
{
	struct rs_journal_report rescued;
	int ret;

	if (!report && session->journal) {
		ret = rs_session_rescue_process(session->journal, &rescued, err);
		if (ret)
			return ret;
	}
	return rs_patcher_create(session->target, RS_PATCH_HOST, session->journal, report,
				 &session->patcher, err);
}

void rs_session_sites_fini(struct rs_session *session)
{
	/* No text is left to put right: nor should a journal be that says so. */
	if (session->patcher && session->ended)
		rs_patcher_forget(session->patcher);
	rs_patcher_destroy(session->patcher);
	session->patcher = NULL;
}

int rs_session_sites_set_self(struct rs_session *session, bool self, struct rs_error *err)
{
	return rs_patcher_set_method(session->patcher, self ? RS_PATCH_SELF : RS_PATCH_HOST, err);
}

#define LINES 16u /* a guest may list a million sites that are none, as often as it likes */

/* The newest `count` refusals: a note on each one's event, a line for the caller of the first few. */
static void tell_refusals(struct rs_session *session, size_t count, GPtrArray *problems)
{
	size_t all, told = 0;
	const struct rs_site_refusal *list = rs_patcher_refusals(session->patcher, &all);

	for (size_t i = all - MIN(all, count); i < all; i++) {
		const RsTraceEvent *event = NULL;
		g_autofree char *line = NULL;

		if (list[i].event && list[i].event < session->region->header.event_capacity) {
			struct event_state *state = &session->events[list[i].event];

			event = rs_trace_schema_by_id(session->schema, list[i].event);
			g_free(state->note);
			state->note = g_strdup_printf("refused at %#" PRIx64 ": %s", list[i].at.v,
						      list[i].why);
		}
		if (++told > LINES)
			continue;
		line = g_strdup_printf("site at %#" PRIx64 " of %s%s%s refused: %s", list[i].at.v,
				       event ? event->system : "an unknown event", event ? ":" : "",
				       event ? event->name : "", list[i].why);
		if (problems)
			g_ptr_array_add(problems, g_steal_pointer(&line));
		else
			rs_session_say(session, "%s", line);
	}
	if (count <= LINES)
		return;
	if (problems)
		g_ptr_array_add(problems,
				g_strdup_printf("and %zu sites more refused", count - LINES));
	else
		rs_session_say(session, "and %zu sites more refused", count - LINES);
}

int rs_session_sites_add(struct rs_session *session, uint32_t slot,
			 const struct rs_provider *provider, struct rs_error *err)
{
	uint32_t refused = 0;
	uint64_t root = provider->page_table_root;
	const struct rs_site_list list = {
		.provider = slot + 1,
		.count = provider->site_count,
		.stride = provider->site_stride,
		.at = {provider->sites},
		.root = root ? root : session->info.page_table_root,
	};
	int ret = rs_patcher_add_provider(session->patcher, &list, &refused, err);

	if (!ret && refused)
		tell_refusals(session, refused, NULL);
	return ret;
}

void rs_session_sites_remove(struct rs_session *session, uint32_t slot)
{
	struct rs_error err = {0};
	int ret = rs_patcher_remove_provider(session->patcher, slot + 1, &err);

	if (ret && ret != -ENOENT)
		rs_session_say(session, "a provider's text was not put back: %s", err.message);
}

void rs_session_sites_reset(struct rs_session *session)
{
	rs_patcher_forget(session->patcher);
}

int rs_session_sites_switch(struct rs_session *session, const uint32_t *ids, size_t count, bool on,
			    GPtrArray *problems, struct rs_error *err)
{
	uint32_t refused = 0;
	int ret;

	for (size_t i = 0; i < count; i++)
		rs_patcher_want(session->patcher, (uint16_t)ids[i], on ? 1 : -1);
	ret = commit_wishes(session, &refused, err);
	if (ret && on) {
		for (size_t i = 0; i < count; i++)
			rs_patcher_want(session->patcher, (uint16_t)ids[i], -1);
	}
	if (!ret && refused)
		tell_refusals(session, refused, problems);
	return ret;
}

uint32_t rs_session_sites_of(struct rs_session *session, uint32_t id)
{
	uint32_t known, on;

	rs_patcher_event_sites(session->patcher, (uint16_t)id, &known, &on);
	return known;
}

void rs_session_sites_stat(struct rs_session *session, struct rs_session_stat *out)
{
	struct rs_patcher_stats stats;

	rs_patcher_stats(session->patcher, &stats);
	out->sites = stats.sites;
	out->sites_on = stats.sites_on;
	out->sites_refused = stats.sites_refused;
	out->patches = stats.sites_patched;
	out->batches = stats.batches;
	out->pause_last_ns = stats.pause_last_ns;
	out->pause_max_ns = stats.pause_max_ns;
	out->pause_total_ns = stats.pause_total_ns;
}
