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

static void end_load(struct rs_patcher *patcher)
{
	rs_site_load_free(g_steal_pointer(&patcher->load));
	patcher->loading = 0;
}

void rs_patcher_destroy(struct rs_patcher *patcher)
{
	if (!patcher)
		return;
	end_load(patcher);
	g_array_set_size(patcher->wishes, 0);
	rs_patcher_restore(patcher, NULL);
	rs_journal_close(patcher->journal);
	g_array_free(patcher->sites, TRUE);
	g_array_free(patcher->refusals, TRUE);
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
	patcher->method = method;
	return 0;
}

void rs_patcher_set_process(struct rs_patcher *patcher, uint32_t pid, uint64_t start)
{
	if (patcher->journal)
		rs_journal_set_process(patcher->journal, pid, start);
}

/* Makes room for new refusals: drops the oldest half. */
static void trim_refusals(struct rs_patcher *patcher)
{
	if (patcher->refusals->len >= RS_MAX_REFUSALS)
		g_array_remove_range(patcher->refusals, 0, RS_MAX_REFUSALS / 2);
}

void rs_patcher_refuse(struct rs_patcher *patcher, const struct rs_patch_site *site,
		       const char *why)
{
	struct rs_site_refusal refusal = {
		.at = site->at,
		.provider = site->provider,
		.event = site->event,
	};

	trim_refusals(patcher);
	g_strlcpy(refusal.why, why, sizeof(refusal.why));
	g_array_append_val(patcher->refusals, refusal);
	patcher->stats.sites_refused++;
}

static void clear_count(gpointer provider, gpointer count, gpointer unused)
{
	*(struct rs_site_count *)count = (struct rs_site_count){0};
}

/* The counts of an event, which has none so far if it is new here. */
static struct rs_site_count *count_of(struct rs_patcher *patcher, uint16_t event)
{
	if (event >= patcher->counts->len)
		g_array_set_size(patcher->counts, event + 1u);
	return &g_array_index(patcher->counts, struct rs_site_count, event);
}

static void count_one(struct rs_site_count *count, const struct rs_patch_site *site)
{
	count->known++;
	count->on += site->on;
}

void rs_patcher_count(struct rs_patcher *patcher)
{
	struct rs_site_count *count = NULL;
	uint32_t provider = 0;

	g_array_set_size(patcher->counts, 0);
	g_hash_table_foreach(patcher->providers, clear_count, NULL);
	patcher->sites_on = 0;
	for (guint i = 0; i < patcher->sites->len; i++) {
		const struct rs_patch_site *site =
			&g_array_index(patcher->sites, struct rs_patch_site, i);

		/* The sites of one come together. */
		if (provider != site->provider)
			count = g_hash_table_lookup(patcher->providers,
						    GUINT_TO_POINTER(site->provider));
		provider = site->provider;
		if (count)
			count_one(count, site);
		count_one(count_of(patcher, site->event), site);
		patcher->sites_on += site->on;
	}
}

int rs_patcher_begin_provider(struct rs_patcher *patcher, const struct rs_site_list *list,
			      struct rs_error *err)
{
	gpointer key = GUINT_TO_POINTER(list->provider);
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
	patcher->loading = patcher->load ? list->provider : 0;
	g_hash_table_insert(patcher->providers, key, g_new0(struct rs_site_count, 1));
	return 0;
}

int rs_patcher_step_provider(struct rs_patcher *patcher, uint32_t count, uint32_t *refused,
			     struct rs_error *err)
{
	uint64_t before, now;
	int ret;

	if (refused)
		*refused = 0;
	if (!patcher->load)
		return 0;
	before = rs_site_load_refused(patcher->load);
	trim_refusals(patcher);
	ret = rs_site_load_step(patcher->load, count, patcher->sites, patcher->refusals, err);
	now = rs_site_load_refused(patcher->load);
	patcher->stats.sites_refused += now - before;
	if (refused)
		*refused = (uint32_t)(now - before);
	if (ret == 1)
		return 1;
	if (ret)
		g_hash_table_remove(patcher->providers, GUINT_TO_POINTER(patcher->loading));
	end_load(patcher);
	rs_patcher_settle(patcher, false);
	return ret;
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

int rs_patcher_remove_provider(struct rs_patcher *patcher, uint32_t provider, struct rs_error *err)
{
	gpointer key = GUINT_TO_POINTER(provider);
	const struct rs_site_count *count = g_hash_table_lookup(patcher->providers, key);
	bool any = count && count->known;
	guint kept = 0;
	int ret;

	if (patcher->loading == provider && patcher->load) {
		end_load(patcher);
		any = true;
	}

	if (!g_hash_table_remove(patcher->providers, key))
		return rs_error_set(err, ENOENT, "provider %" PRIu32 " is not known", provider);
	if (!any)
		return 0;
	ret = rs_patcher_batch(patcher, provider, NULL, err);
	for (guint i = 0; i < patcher->sites->len; i++) {
		struct rs_patch_site site = g_array_index(patcher->sites, struct rs_patch_site, i);

		if (site.provider != provider)
			g_array_index(patcher->sites, struct rs_patch_site, kept++) = site;
		else
			patcher->owed += site.on;
	}
	g_array_set_size(patcher->sites, kept);
	rs_patcher_settle(patcher, false);
	return ret;
}

void rs_patcher_forget(struct rs_patcher *patcher)
{
	end_load(patcher);
	g_array_set_size(patcher->sites, 0);
	g_hash_table_remove_all(patcher->providers);
	g_array_set_size(patcher->wishes, 0);
	rs_patcher_count(patcher);
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
	patcher->asked = true;
	patcher->asked_on |= delta > 0;
}

int rs_patcher_commit(struct rs_patcher *patcher, uint32_t *refused, struct rs_error *err)
{
	return rs_patcher_batch(patcher, 0, refused, err);
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

uint32_t rs_patcher_provider_sites_on(const struct rs_patcher *patcher, uint32_t provider)
{
	const struct rs_site_count *count =
		g_hash_table_lookup(patcher->providers, GUINT_TO_POINTER(provider));

	return count ? count->on : 0;
}

void rs_patcher_stats(const struct rs_patcher *patcher, struct rs_patcher_stats *out)
{
	*out = patcher->stats;
	out->sites = patcher->sites->len;
	out->sites_on = patcher->sites_on;
}

const struct rs_site_refusal *rs_patcher_refusals(const struct rs_patcher *patcher, size_t *count)
{
	*count = patcher->refusals->len;
	return (const struct rs_site_refusal *)patcher->refusals->data;
}
