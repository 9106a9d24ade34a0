/* SPDX-License-Identifier: MIT */
/*
 * Text that belongs to no site which the patcher knows, but may hold our JMPs. The journal has it.
 */
#include "patch/hash-private.h"
#include "patch/patcher-private.h"

#include "base/ticks.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>

#define RETRY_SHARE 100u /* at most one part in so many of the time goes into tries in vain */

/* ---- the records of known sites ---- */

static guint hash_site(gconstpointer key)
{
	const struct rs_patch_site *site = key;
	static struct rs_hash_seed seed;

	if (!seed.word[0])
		seed = rs_hash_seed_new();
	return rs_hash_pair(&seed, site->at.v, site->at_phys.v);
}

static gboolean same_site(gconstpointer a, gconstpointer b)
{
	const struct rs_patch_site *x = a, *y = b;

	return x->at.v == y->at.v && x->at_phys.v == y->at_phys.v;
}

/* The sites that batches restore, and those whose records are needed again. */
static GHashTable *known_sites(const struct rs_patcher *patcher)
{
	GHashTable *known = g_hash_table_new(hash_site, same_site);

	for (guint i = 0; i < patcher->sites->len; i++) {
		struct rs_patch_site *site =
			&g_array_index(patcher->sites, struct rs_patch_site, i);

		if (site->on || rs_patcher_journalled(patcher, site))
			g_hash_table_add(known, site);
	}
	for (guint i = 0; i < patcher->pokes->len; i++)
		g_hash_table_add(known, &((struct rs_poke *)patcher->pokes->pdata[i])->place);
	return known;
}

static bool is_known(const void *known, const struct rs_journal_record *record)
{
	const struct rs_patch_site site = {.at = {record->at}, .at_phys = {record->at_phys}};

	return g_hash_table_contains((GHashTable *)known, &site);
}

/* ---- trying again ---- */

static void restore_owed(struct rs_patcher *patcher)
{
	g_autoptr(GHashTable) known = known_sites(patcher);
	const struct rs_journal_exempt exempt = {is_known, known};
	struct rs_journal_report report;
	uint64_t start = rs_monotonic_ns(), end;

	patcher->busy = true;
	if (!rs_journal_recover_but(patcher->journal, patcher->target, &exempt, &report, NULL)) {
		patcher->moved = false;
		patcher->owed = report.kept;
	}
	patcher->busy = false;
	end = rs_monotonic_ns();
	patcher->retry_ns = end + RETRY_SHARE * (end - start);
}

void rs_patcher_settle(struct rs_patcher *patcher, bool now)
{
	bool moved;

	if (!patcher->journal || !rs_journal_count(patcher->journal))
		return;
	/* A guest may have moved a page of its text since we patched it. Then the journal knows
	 * where it was. */
	moved = patcher->moved && !patcher->sites_on;
	if ((moved || patcher->owed) &&
	    (now || (rs_monotonic_ns() >= patcher->retry_ns && rs_target_ready(patcher->target))))
		restore_owed(patcher);
	if (patcher->sites_on || patcher->owed || patcher->moved || patcher->pokes->len)
		return;
	/* Nothing of ours is left in the text. If the file cannot be cut, it is only too long. */
	if (rs_journal_count(patcher->journal) && rs_journal_clear(patcher->journal, NULL))
		return;
	/* Each site must be written into the journal anew before it is patched. */
	patcher->journal_run++;
}

void rs_patcher_tend(struct rs_patcher *patcher)
{
	if (patcher->owed || patcher->moved)
		rs_patcher_settle(patcher, false);
}

/* Whether the target is a process that has ended. Nobody may have told us yet. */
static bool has_ended(const struct rs_target *target)
{
	return !target->ops->read_phys && target->pid > 0 && !rs_process_living_task(target->pid);
}

int rs_patcher_restore(struct rs_patcher *patcher, struct rs_error *err)
{
	uint64_t left;
	int ret = 0;

	if (patcher->method == RS_PATCH_SELF)
		return 0;
	ret = rs_patcher_unpoke_all(patcher, err);
	rs_patcher_ask_all(patcher); /* refused sites too */
	if (patcher->sites_on) {
		int failed = rs_patcher_commit(patcher, NULL, ret ? NULL : err);

		ret = ret ? ret : failed;
	}
	rs_patcher_settle(patcher, true);
	left = patcher->sites_on + patcher->owed;
	if (ret || !left || has_ended(patcher->target))
		return ret;
	return rs_error_set(err, EIO,
			    "%" PRIu64 " %s still patched, since the text cannot be put back. The "
			    "next session of this name tries again",
			    left, left == 1 ? "site is" : "sites are");
}
