/* SPDX-License-Identifier: MIT */
/* Keeps which sites are to be on, see patcher.h. batch.c switches them. */
#include "patch/patcher-private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int open_journal(struct rs_patcher *patcher, const char *path,
			struct rs_journal_report *report, struct rs_error *err)
{
	int ret = rs_journal_open(path, &patcher->journal, err);

	if (ret)
		return ret;
	if (report) {
		ret = rs_journal_recover(patcher->journal, patcher->target, report, err);
		patcher->owed = ret ? rs_journal_count(patcher->journal) : report->kept;
	} else {
		ret = rs_journal_clear(patcher->journal, err);
	}
	return ret;
}

int rs_patcher_create(struct rs_target *target, enum rs_patch_method method, const char *journal,
		      struct rs_journal_report *report, struct rs_patcher **out,
		      struct rs_error *err)
{
	struct rs_patcher *patcher = g_new0(struct rs_patcher, 1);
	int ret;

	patcher->target = target;
	patcher->method = method;
	patcher->sites = g_array_new(FALSE, FALSE, sizeof(struct rs_patch_site));
	patcher->refusals = g_array_new(FALSE, FALSE, sizeof(struct rs_site_refusal));
	patcher->providers = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	patcher->journal_run = 1;
	patcher->pokes = g_ptr_array_new_with_free_func(g_free);
	patcher->wishes = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	patcher->counts = g_array_new(FALSE, TRUE, sizeof(struct rs_site_count));
	if (report)
		memset(report, 0, sizeof(*report));
	if (journal) {
		ret = open_journal(patcher, journal, report, err);
		if (ret) {
			rs_patcher_destroy(patcher);
			return ret;
		}
	}
	*out = patcher;
	return 0;
}

static void end_load(struct rs_patcher *patcher);

void rs_patcher_destroy(struct rs_patcher *patcher)
{
	if (!patcher)
		return;
	end_load(patcher);
	g_array_set_size(patcher->wishes, 0);
	rs_patcher_restore(patcher, NULL);
	rs_journal_close(patcher->journal);
	g_ptr_array_unref(patcher->pokes);
	g_array_free(patcher->sites, TRUE);
	g_array_free(patcher->refusals, TRUE);
	g_clear_pointer(&patcher->called, g_array_unref);
	g_queue_clear(&patcher->due);
	g_hash_table_unref(patcher->providers);
	g_array_free(patcher->wishes, TRUE);
	g_array_free(patcher->counts, TRUE);
	g_free(patcher);
}

int rs_patcher_set_method(struct rs_patcher *patcher, enum rs_patch_method method,
			  struct rs_error *err)
{
	if (patcher->method == method)
		return 0;
	if (patcher->sites_on)
		return rs_error_set(err, EBUSY, "%" PRIu64 " sites are patched", patcher->sites_on);
	if (patcher->pokes->len)
		return rs_error_set(err, EBUSY, "other text is patched");
	patcher->method = method;
	return 0;
}

void rs_patcher_set_watch(struct rs_patcher *patcher, const struct rs_patcher_watch *watch)
{
	patcher->watch = watch;
}

void rs_patcher_set_process(struct rs_patcher *patcher, uint32_t pid, uint64_t start)
{
	if (patcher->journal)
		rs_journal_set_process(patcher->journal, pid, start);
}

void rs_patcher_refuse(struct rs_patcher *patcher, const struct rs_patch_site *site,
		       const char *why)
{
	struct rs_site_refusal refusal = {
		.at = site->at,
		.provider = site->provider,
		.event = site->event,
	};

	patcher->stats.sites_refused++;
	if (patcher->refusals->len >= RS_MAX_REFUSALS)
		return;
	g_strlcpy(refusal.why, why, sizeof(refusal.why));
	g_array_append_val(patcher->refusals, refusal);
}

/* ---- the sites, by provider and event ---- */

struct rs_patch_provider *rs_patcher_provider(const struct rs_patcher *patcher, uint32_t id)
{
	return g_hash_table_lookup(patcher->providers, GUINT_TO_POINTER(id));
}

/* The counts of an event, which has none so far if it is new here. */
static struct rs_site_count *count_of(struct rs_patcher *patcher, uint16_t event)
{
	if (event >= patcher->counts->len)
		g_array_set_size(patcher->counts, event + 1u);
	return &g_array_index(patcher->counts, struct rs_site_count, event);
}

bool rs_patcher_knows(const struct rs_patcher *patcher, uint32_t provider)
{
	return rs_patcher_provider(patcher, provider);
}

static struct rs_patch_site *site_at(struct rs_patcher *patcher, uint32_t i)
{
	return &g_array_index(patcher->sites, struct rs_patch_site, i);
}

void rs_patcher_set_on(struct rs_patcher *patcher, struct rs_patch_site *site, bool on)
{
	struct rs_patch_provider *provider = rs_patcher_provider(patcher, site->provider);

	if (site->on == on)
		return;
	site->on = on;
	count_of(patcher, site->event)->on += on ? 1u : -1u;
	provider->count.on += on ? 1u : -1u;
	patcher->sites_on += on ? 1u : UINT64_MAX;
}

/* All its sites are to be looked at once from now on, for the request of this number. */
static void make_due(struct rs_patcher *patcher, struct rs_patch_provider *provider,
		     uint64_t request)
{
	struct rs_patch_due *due = &provider->due[provider->due[0].oldest ? 1 : 0];

	if (!provider->count.known)
		return;
	if (!provider->due[0].oldest)
		g_queue_push_tail(&patcher->due, provider);
	due->oldest = due->oldest ? due->oldest : request;
	due->newest = request;
	due->until = provider->looked + provider->count.known;
}

/* Drops what is done of what is due. */
static void note_done(struct rs_patch_provider *provider)
{
	while (provider->due[0].oldest && provider->looked >= provider->due[0].until) {
		provider->due[0] = provider->due[1];
		provider->due[1] = (struct rs_patch_due){0};
	}
}

static void remove_provider(struct rs_patcher *patcher, uint32_t id)
{
	g_queue_remove(&patcher->due, rs_patcher_provider(patcher, id));
	g_hash_table_remove(patcher->providers, GUINT_TO_POINTER(id));
}

/* Sites that were read for `provider` have been appended. */
static void count_new(struct rs_patcher *patcher, struct rs_patch_provider *provider)
{
	for (guint i = provider->first + provider->count.known; i < patcher->sites->len; i++) {
		const struct rs_patch_site *site = site_at(patcher, i);

		provider->count.known++;
		provider->count.on += site->on;
		if (site->event) {
			provider->min_event = MIN(provider->min_event, site->event);
			provider->max_event = MAX(provider->max_event, site->event);
		}
		count_of(patcher, site->event)->known++;
		count_of(patcher, site->event)->on += site->on;
		patcher->sites_on += site->on;
	}
}

static void end_load(struct rs_patcher *patcher)
{
	rs_site_load_free(g_steal_pointer(&patcher->load));
}

/* Closes the gap that the sites of a provider leave. */
static void remove_sites(struct rs_patcher *patcher, const struct rs_patch_provider *gone)
{
	struct rs_patch_provider *other;
	GHashTableIter iter;

	if (!gone->count.known)
		return;
	g_array_remove_range(patcher->sites, gone->first, gone->count.known);
	g_hash_table_iter_init(&iter, patcher->providers);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&other)) {
		if (other->first > gone->first)
			other->first -= gone->count.known;
	}
	if (patcher->load)
		rs_site_load_lost(patcher->load, gone->first, gone->count.known);
}

/* What could not be switched off is owed. */
static void drop_provider(struct rs_patcher *patcher, uint32_t id)
{
	struct rs_patch_provider *provider = rs_patcher_provider(patcher, id);

	for (guint i = provider->first; i < provider->first + provider->count.known; i++) {
		const struct rs_patch_site *site = site_at(patcher, i);

		patcher->owed += site->on;
		count_of(patcher, site->event)->known--;
		count_of(patcher, site->event)->on -= site->on;
		patcher->sites_on -= site->on;
	}
	remove_sites(patcher, provider);
	remove_provider(patcher, id);
}

int rs_patcher_begin_provider(struct rs_patcher *patcher, const struct rs_site_list *list,
			      struct rs_error *err)
{
	gpointer key = GUINT_TO_POINTER(list->provider);
	struct rs_patch_provider *provider;
	int ret = 0;

	if (g_hash_table_contains(patcher->providers, key))
		return rs_error_set(err, EEXIST, "provider %" PRIu32 " is known", list->provider);
	if (patcher->load)
		return rs_error_set(err, EBUSY, "another provider's sites are being read");
	if (patcher->method == RS_PATCH_HOST)
		ret = rs_site_load_begin(patcher->target, list, RS_MAX_SITES - patcher->sites->len,
					 &patcher->load, err);
	if (ret)
		return ret;
	patcher->loading = list->provider;
	g_clear_pointer(&patcher->called, g_array_unref);
	provider = g_new0(struct rs_patch_provider, 1);
	provider->first = patcher->sites->len;
	provider->min_event = UINT16_MAX;
	g_hash_table_insert(patcher->providers, key, provider);
	return 0;
}

int rs_patcher_step_provider(struct rs_patcher *patcher, uint32_t count, uint32_t *refused,
			     struct rs_error *err)
{
	struct rs_patch_provider *provider;
	uint64_t before, now;
	int ret;

	if (refused)
		*refused = 0;
	if (!patcher->load)
		return 0;
	provider = rs_patcher_provider(patcher, patcher->loading);
	before = rs_site_load_refused(patcher->load);
	g_array_set_size(patcher->refusals, 0);
	ret = rs_site_load_step(patcher->load, count, patcher->sites, patcher->refusals, err);
	now = rs_site_load_refused(patcher->load);
	patcher->stats.sites_refused += now - before;
	if (refused)
		*refused = (uint32_t)(now - before);
	count_new(patcher, provider);
	if (ret == 1)
		return 1;
	if (!ret)
		patcher->called = g_array_copy((GArray *)rs_site_load_called(patcher->load));
	make_due(patcher, provider, ++patcher->requests);
	if (ret)
		remove_provider(patcher, patcher->loading);
	end_load(patcher);
	rs_patcher_settle(patcher, false);
	return ret;
}

const GArray *rs_patcher_called(const struct rs_patcher *patcher)
{
	return patcher->called;
}

int rs_patcher_add_provider(struct rs_patcher *patcher, const struct rs_site_list *list,
			    uint32_t *refused, struct rs_error *err)
{
	uint32_t all = 0, some;
	int ret = rs_patcher_begin_provider(patcher, list, err);

	if (ret)
		return ret;
	do {
		ret = rs_patcher_step_provider(patcher, UINT32_MAX, &some, err);
		all += some;
	} while (ret == 1);
	if (refused)
		*refused = all;
	return ret;
}

int rs_patcher_leave(struct rs_patcher *patcher, uint32_t id, struct rs_error *err)
{
	struct rs_patch_provider *provider = rs_patcher_provider(patcher, id);

	if (!provider)
		return rs_error_set(err, ENOENT, "provider %" PRIu32 " is not known", id);
	if (patcher->load && patcher->loading == id)
		end_load(patcher);
	provider->leaving = provider->retry = true;
	make_due(patcher, provider, ++patcher->requests);
	if (!provider->count.known)
		drop_provider(patcher, id);
	return 0;
}

bool rs_patcher_leaving(const struct rs_patcher *patcher)
{
	for (const GList *link = patcher->due.head; link; link = link->next) {
		if (((const struct rs_patch_provider *)link->data)->leaving)
			return true;
	}
	return false;
}

int rs_patcher_remove_provider(struct rs_patcher *patcher, uint32_t provider, struct rs_error *err)
{
	int ret = rs_patcher_leave(patcher, provider, err);

	while (!ret && rs_patcher_knows(patcher, provider)) {
		ret = rs_patcher_step(patcher, UINT32_MAX, NULL, err);
		ret = MIN(ret, 0);
	}
	return ret;
}

void rs_patcher_forget(struct rs_patcher *patcher)
{
	end_load(patcher);
	g_array_set_size(patcher->sites, 0);
	g_queue_clear(&patcher->due);
	g_hash_table_remove_all(patcher->providers);
	g_array_set_size(patcher->wishes, 0);
	g_array_set_size(patcher->counts, 0);
	patcher->sites_on = 0;
	g_ptr_array_set_size(patcher->pokes, 0);
	patcher->owed = 0;
	patcher->moved = false;
	if (patcher->journal)
		rs_journal_clear(patcher->journal, NULL);
}

void rs_patcher_want(struct rs_patcher *patcher, uint16_t event, int delta)
{
	uint32_t *wishes;

	if (event >= patcher->wishes->len)
		g_array_set_size(patcher->wishes, event + 1u);
	wishes = &g_array_index(patcher->wishes, uint32_t, event);
	if (delta > 0)
		++*wishes;
	else if (delta < 0 && *wishes)
		--*wishes;
	/* Refused sites are tried again when somebody asks again. */
	patcher->asked_min = patcher->asked_end ? MIN(patcher->asked_min, event) : event;
	patcher->asked_end = MAX(patcher->asked_end, event + 1u);
	patcher->asked_on |= delta > 0;
}

void rs_patcher_ask_all(struct rs_patcher *patcher)
{
	patcher->asked_min = 0;
	patcher->asked_end = RS_MAX_EVENTS;
}

/* The sites of events about which somebody has asked are to be looked at, all of them once. */
static void mark_due(struct rs_patcher *patcher)
{
	struct rs_patch_provider *provider;
	GHashTableIter iter;

	if (!patcher->asked_end)
		return;
	patcher->requests++;
	g_hash_table_iter_init(&iter, patcher->providers);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&provider)) {
		if (provider->min_event >= patcher->asked_end ||
		    provider->max_event < patcher->asked_min)
			continue;
		make_due(patcher, provider, patcher->requests);
		provider->retry = true;
	}
	patcher->asked_min = patcher->asked_end = 0;
}

/* What is due last of a provider is due for this ticket, too. */
uint64_t rs_patcher_ticket(struct rs_patcher *patcher, uint32_t min_event, uint32_t max_event)
{
	mark_due(patcher);
	patcher->requests++;
	for (const GList *link = patcher->due.head; link; link = link->next) {
		struct rs_patch_provider *provider = link->data;

		if (provider->min_event <= max_event && provider->max_event >= min_event)
			provider->due[provider->due[1].oldest ? 1 : 0].newest = patcher->requests;
	}
	return patcher->requests;
}

static bool is_for(const struct rs_patch_due *due, uint64_t request)
{
	return due->oldest && due->oldest <= request && request <= due->newest;
}

bool rs_patcher_is_settled(const struct rs_patcher *patcher, uint64_t ticket)
{
	for (const GList *link = patcher->due.head; link; link = link->next) {
		const struct rs_patch_provider *provider = link->data;

		if (is_for(&provider->due[0], ticket) || is_for(&provider->due[1], ticket))
			return false;
	}
	return ticket <= patcher->requests || patcher->method == RS_PATCH_SELF;
}

/*
 * Those that were in the batch and have more to do come last. After a failure all their sites are
 * looked at again.
 */
static void end_batch(struct rs_patcher *patcher, bool failed)
{
	GList *link = patcher->due.head, *next;

	for (guint n = patcher->due.length; n; n--, link = next) {
		struct rs_patch_provider *provider = link->data;

		next = link->next;
		if (!provider->touched)
			continue;
		provider->touched = false;
		if (failed)
			make_due(patcher, provider, patcher->requests);
		else
			note_done(provider);
		g_queue_unlink(&patcher->due, link);
		if (provider->due[0].oldest)
			g_queue_push_tail_link(&patcher->due, link);
		else
			g_list_free(link);
	}
}

/* Forgets the provider that leaves: it was switched off, or that failed. */
static void let_leave(struct rs_patcher *patcher, const struct rs_patch_provider *leaving)
{
	struct rs_patch_provider *provider;
	GHashTableIter iter;
	gpointer id;

	g_hash_table_iter_init(&iter, patcher->providers);
	while (g_hash_table_iter_next(&iter, &id, (gpointer *)&provider)) {
		if (provider == leaving) {
			drop_provider(patcher, GPOINTER_TO_UINT(id));
			return;
		}
	}
}

/* The guest does it. */
static void forget_due(struct rs_patcher *patcher)
{
	struct rs_patch_provider *first;

	patcher->asked_min = patcher->asked_end = 0;
	while ((first = rs_patcher_first_due(patcher))) {
		if (first->leaving) {
			let_leave(patcher, first);
			continue;
		}
		memset(first->due, 0, sizeof(first->due));
		g_queue_pop_head(&patcher->due);
	}
}

bool rs_patcher_has_due(struct rs_patcher *patcher)
{
	if (patcher->method == RS_PATCH_SELF)
		return false;
	mark_due(patcher);
	return rs_patcher_first_due(patcher);
}

int rs_patcher_step(struct rs_patcher *patcher, uint32_t count, uint32_t *refused,
		    struct rs_error *err)
{
	struct rs_patch_provider *first;
	bool leaves;
	int ret;

	if (refused)
		*refused = 0;
	g_array_set_size(patcher->refusals, 0);
	if (patcher->method == RS_PATCH_SELF) {
		forget_due(patcher);
		return 0;
	}
	mark_due(patcher);
	first = rs_patcher_first_due(patcher);
	leaves = first && first->leaving;
	ret = rs_patcher_batch(patcher, count, refused, err);
	end_batch(patcher, ret != 0);
	if (leaves && (ret || !rs_patch_left(first))) {
		let_leave(patcher, first);
		rs_patcher_settle(patcher, false);
	}
	if (!ret && rs_patcher_first_due(patcher))
		return 1;
	patcher->asked_on = false;
	return ret;
}

int rs_patcher_commit(struct rs_patcher *patcher, uint32_t *refused, struct rs_error *err)
{
	uint32_t all = 0, some;
	int ret;

	do {
		ret = rs_patcher_step(patcher, UINT32_MAX, &some, err);
		all += some;
	} while (ret == 1);
	if (refused)
		*refused = all;
	return ret;
}

void rs_patcher_event_sites(const struct rs_patcher *patcher, uint16_t event, uint32_t *known,
			    uint32_t *on)
{
	const struct rs_site_count none = {0}, *count = &none;

	if (event < patcher->counts->len)
		count = &g_array_index(patcher->counts, struct rs_site_count, event);
	*known = count->known;
	*on = count->on;
}

const struct rs_patch_site *rs_patcher_site(const struct rs_patcher *patcher, uint32_t number)
{
	return number < patcher->sites->len
		       ? &g_array_index(patcher->sites, struct rs_patch_site, number)
		       : NULL;
}

uint32_t rs_patcher_provider_sites_on(const struct rs_patcher *patcher, uint32_t provider)
{
	const struct rs_patch_provider *known = rs_patcher_provider(patcher, provider);

	return known ? known->count.on : 0;
}

void rs_patcher_stats(const struct rs_patcher *patcher, struct rs_patcher_stats *out)
{
	*out = patcher->stats;
	out->sites = patcher->sites->len;
	out->sites_on = patcher->sites_on;
}

bool rs_patcher_is_busy(const struct rs_patcher *patcher)
{
	return patcher->busy;
}

const struct rs_site_refusal *rs_patcher_refusals(const struct rs_patcher *patcher, size_t *count)
{
	*count = patcher->refusals->len;
	return (const struct rs_site_refusal *)patcher->refusals->data;
}
