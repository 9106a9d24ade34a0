/* SPDX-License-Identifier: MIT */
/*
 * One batch of the patcher: collect the sites that are to change, check them, write the journal,
 * and have apply.c apply the patches. Everything that takes time (page-table walks, decoding, the
 * journal) comes before the pause in apply.c.
 */
#include "patch/apply.h"
#include "patch/patcher-private.h"

#include "base/ticks.h"
#include "target/memory.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct change {
	struct rs_patch_site *site;
	bool on;
};

struct batch {
	struct rs_patcher *patcher;
	struct rs_target *target;
	GArray *changes;               /* struct change */
	struct rs_text_patch *patches; /* one of each change, once they are checked */
	bool asked_on;                 /* somebody asks for sites to go on */
	bool leaving;                  /* of a provider that its agent may not list any more */
	uint32_t refused, written;
	uint64_t paused_ns;
};

static void tell_site(const struct batch *batch, const struct rs_patch_site *site, bool refused)
{
	const struct rs_patcher_watch *watch = batch->patcher->watch;

	if (watch && watch->site)
		watch->site(watch->data, site, refused);
}

static void tell_batch(const struct batch *batch)
{
	const struct rs_patcher_watch *watch = batch->patcher->watch;

	if (watch && watch->batch && (batch->paused_ns || batch->written || batch->refused))
		watch->batch(watch->data, batch->written, batch->refused, batch->paused_ns);
}

static struct change *change_at(struct batch *batch, guint i)
{
	return &g_array_index(batch->changes, struct change, i);
}

/* site->on does not change: a site that cannot be read may still hold our JMP. */
static void refuse(struct batch *batch, struct rs_patch_site *site, const char *what,
		   const struct rs_error *why)
{
	char text[sizeof(((struct rs_site_refusal *)0)->why)];

	g_snprintf(text, sizeof(text), "%s%s%s", what, why && why->code ? ": " : "",
		   why && why->code ? why->message : "");
	rs_patcher_refuse(batch->patcher, site, text);
	site->refused = true;
	batch->refused++;
	tell_site(batch, site, true);
}

static int by_address(gconstpointer a, gconstpointer b)
{
	const struct rs_patch_site *x = ((const struct change *)a)->site;
	const struct rs_patch_site *y = ((const struct change *)b)->site;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return x->at.v < y->at.v ? -1 : x->at.v > y->at.v;
}

/* Sites nearly always come in order, since a linker lists them so. A sort would cost more than all
 * other work of a batch on them. */
static void sort(GArray *changes)
{
	const struct change *all = (const struct change *)changes->data;

	for (guint i = 1; i < changes->len; i++)
		if (by_address(&all[i - 1], &all[i]) > 0) {
			g_array_sort(changes, by_address);
			return;
		}
}

/* How many sites may still be looked at, and be in the batch. */
struct budget {
	uint64_t looks;
	uint32_t changes;
};

/*
 * Whether any event from the first to the last one of the provider's sites is wished. A look at a
 * site costs far more than one at a wish.
 */
static bool any_wished(const struct rs_patcher *patcher, const struct rs_patch_provider *provider,
		       struct budget *budget)
{
	uint32_t event = provider->min_event;

	while (event <= provider->max_event && !rs_patcher_wished(patcher, (uint16_t)event))
		event++;
	if (event > provider->min_event)
		budget->looks -= MIN(budget->looks - 1, (event - provider->min_event) / 16);
	return event <= provider->max_event;
}

/* Goes on where the provider's last batch ended, and round. */
static void collect_of(struct batch *batch, struct rs_patch_provider *provider,
		       struct budget *budget)
{
	struct rs_patcher *patcher = batch->patcher;
	int any = -1; /* whether its gates are to be on; not known yet */

	for (; rs_patch_left(provider) && budget->looks && budget->changes; budget->looks--) {
		struct change change;

		if (provider->next >= provider->count.known)
			provider->next = 0;
		change.site = &g_array_index(patcher->sites, struct rs_patch_site,
					     provider->first + provider->next++);
		provider->looked++;
		provider->touched = true;
		patcher->stats.sites_looked++;
		/* What others wish must not keep a provider's text from being restored. */
		if (!change.site->event && any < 0)
			any = any_wished(patcher, provider, budget);
		change.on = change.site->event ? rs_patcher_wished(patcher, change.site->event)
					       : any > 0;
		change.on &= !provider->leaving;
		if (provider->retry)
			change.site->refused = false;
		if (change.on == change.site->on || change.site->refused)
			continue;
		g_array_append_val(batch->changes, change);
		budget->changes--;
	}
	if (!rs_patch_left(provider))
		provider->retry = false;
}

/* A provider that leaves is alone in its batch, since what fails then is no request's failure. */
static void collect(struct batch *batch, uint32_t count)
{
	struct rs_patcher *patcher = batch->patcher;
	struct budget budget = {.looks = (uint64_t)count * RS_PATCH_LOOKS, .changes = count};
	struct rs_patch_provider *first = rs_patcher_first_due(patcher);

	batch->leaving = first && first->leaving;
	if (batch->leaving) {
		collect_of(batch, first, &budget);
	} else {
		batch->asked_on = patcher->asked_on;
		for (const GList *link = patcher->due.head; link; link = link->next) {
			struct rs_patch_provider *provider = link->data;

			if (!provider->leaving)
				collect_of(batch, provider, &budget);
		}
	}
	patcher->stats.sites_tried += batch->changes->len;
	sort(batch->changes);
}

/* The bytes at the JMP's target were decoded at an earlier look. If they changed, decode again. */
static int check_target(struct rs_page_reader *reader, struct rs_patch_site *site,
			struct rs_error *why)
{
	uint8_t text[RS_INSN_MAX];
	size_t size = site->seen.size;
	int ret;

	if (size && !rs_page_reader_read(reader, site->target, text, size, NULL, NULL) &&
	    !memcmp(text, site->seen.bytes, size))
		return 0;
	size = sizeof(text);
	ret = rs_page_reader_read(reader, site->target, text, size, NULL, why);
	if (ret) {
		size = MIN(size, RS_PAGE_SIZE - site->target.v % RS_PAGE_SIZE);
		ret = rs_page_reader_read(reader, site->target, text, size, NULL, why);
	}
	return ret ? ret : rs_insn_check_target(site->target, text, size, &site->seen, why);
}

/* The patch that switches the site, in the text as it was just read. */
static int make_patch(const struct change *change, bool listed, struct rs_text_patch *patch,
		      struct rs_error *why)
{
	const struct rs_patch_site *site = change->site;

	*patch = (struct rs_text_patch){
		.at = site->at, .at_phys = site->at_phys, .size = RS_SITE_BYTES, .is_site = listed};
	rs_insn_nop(change->on ? patch->old_bytes : patch->new_bytes);
	return rs_insn_jmp(site->at, site->target, change->on ? patch->new_bytes : patch->old_bytes,
			   why);
}

/* True: the site is to be changed. False: it was refused, or is as it should be. */
static bool check(struct batch *batch, struct rs_page_reader *reader, const struct change *change,
		  struct rs_text_patch *patch)
{
	struct rs_patch_site *site = change->site;
	struct rs_error why = {0};
	uint8_t text[RS_SITE_BYTES];
	enum rs_site_text found;

	if (rs_page_reader_read(reader, site->at, text, sizeof(text), &site->at_phys, &why)) {
		refuse(batch, site, "its text cannot be read", &why);
		return false;
	}
	if (site->journalled == batch->patcher->journal_run &&
	    !rs_patcher_journalled(batch->patcher, site))
		batch->patcher->moved = true;
	found = rs_insn_compare(site->at, site->target, text);
	rs_patcher_set_on(batch->patcher, site, found == RS_TEXT_JMP);
	if (found == RS_TEXT_FOREIGN) {
		rs_error_set(&why, EILSEQ, "%02x %02x %02x %02x %02x", text[0], text[1], text[2],
			     text[3], text[4]);
		refuse(batch, site, "its text is neither the NOP nor our JMP", &why);
		return false;
	}
	if (site->on == change->on)
		return false;
	if ((change->on && check_target(reader, site, &why)) ||
	    make_patch(change, !batch->leaving, patch, &why)) {
		refuse(batch, site, "its target", &why);
		return false;
	}
	return true;
}

static int by_place(gconstpointer a, gconstpointer b, gpointer patches)
{
	const struct rs_text_patch *all = patches;
	uint64_t x = all[*(const guint *)a].at_phys.v, y = all[*(const guint *)b].at_phys.v;

	return x < y ? -1 : x > y;
}

/* As text nearly always lies in memory: in the order of its addresses, and nothing twice. */
static bool in_order(const struct batch *batch)
{
	for (guint i = 1; i < batch->changes->len; i++) {
		if (batch->patches[i].at_phys.v < batch->patches[i - 1].at_phys.v + RS_SITE_BYTES)
			return false;
	}
	return true;
}

/*
 * A guest may have one page of text at two addresses, with a site of its own at each of them. Then
 * only one of the two is written. The other is refused, or it is off together with the first.
 */
static void drop_shared(struct batch *batch)
{
	guint n = batch->changes->len, kept = 0;
	g_autofree guint *order = NULL;
	g_autofree bool *drop = NULL;

	if (in_order(batch))
		return;
	order = g_new(guint, n);
	drop = g_new0(bool, n);
	for (guint i = 0; i < n; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)n, sizeof(*order), by_place, batch->patches);
	for (guint i = 1; i < n; i++) {
		guint first = order[i - 1], second = order[i];

		if (batch->patches[second].at_phys.v - batch->patches[first].at_phys.v >=
		    RS_SITE_BYTES)
			continue;
		drop[second] = true;
		if (change_at(batch, second)->on)
			refuse(batch, change_at(batch, second)->site,
			       "its text is that of another site", NULL);
		else
			rs_patcher_set_on(batch->patcher, change_at(batch, second)->site, false);
	}
	for (guint i = 0; i < n; i++) {
		if (drop[i])
			continue;
		*change_at(batch, kept) = *change_at(batch, i);
		batch->patches[kept++] = batch->patches[i];
	}
	g_array_set_size(batch->changes, kept);
}

static void check_all(struct batch *batch)
{
	struct rs_page_reader *reader = rs_page_reader_create(batch->target, 0);
	guint kept = 0;

	batch->patches = g_new(struct rs_text_patch, batch->changes->len);
	for (guint i = 0; i < batch->changes->len; i++) {
		const struct change *change = change_at(batch, i);

		rs_page_reader_set_root(reader, change->site->root);
		if (check(batch, reader, change, &batch->patches[kept]))
			*change_at(batch, kept++) = *change;
	}
	g_array_set_size(batch->changes, kept);
	rs_page_reader_destroy(reader);
	if (batch->target->ops->read_phys)
		drop_shared(batch);
}

void rs_patcher_name_process(struct rs_patcher *patcher)
{
	pid_t pid = patcher->target->pid;

	if (patcher->target->ops->read_phys || pid <= 0 ||
	    rs_journal_process(patcher->journal, NULL) == (uint32_t)pid)
		return;
	rs_journal_set_process(patcher->journal, (uint32_t)pid, rs_process_start_time(pid));
}

/* Leaves out the sites that are to go on, `all` or those that the journal does not know. */
static void drop_on(struct batch *batch, bool all, const struct rs_error *why)
{
	guint kept = 0;

	for (guint i = 0; i < batch->changes->len; i++) {
		const struct change change = *change_at(batch, i);

		if (change.on && all)
			continue;
		if (change.on && !rs_patcher_journalled(batch->patcher, change.site)) {
			refuse(batch, change.site, "it cannot be journalled", why);
			continue;
		}
		*change_at(batch, kept) = change;
		batch->patches[kept++] = batch->patches[i];
	}
	g_array_set_size(batch->changes, kept);
}

/*
 * If the journal cannot be written, no site goes on, and the others go off. This is the failure of
 * whoever asked for sites to go on.
 */
static int write_journal(struct batch *batch, struct rs_error *err)
{
	struct rs_journal_record *records;
	struct rs_error why = {0};
	size_t count = 0;
	int ret;

	if (!batch->patcher->journal)
		return 0;
	rs_patcher_name_process(batch->patcher);
	records = g_new(struct rs_journal_record, batch->changes->len);
	for (guint i = 0; i < batch->changes->len; i++) {
		const struct change *change = change_at(batch, i);

		if (change->on && !rs_patcher_journalled(batch->patcher, change->site))
			records[count++] = rs_journal_record_of(RS_JOURNAL_SITE, change->site->root,
								&batch->patches[i]);
	}
	ret = rs_journal_append(batch->patcher->journal, records, count, &why);
	g_free(records);
	if (ret) {
		drop_on(batch, batch->asked_on, &why);
		if (!batch->asked_on)
			return 0;
		*err = why;
		return ret;
	}
	for (guint i = 0; i < batch->changes->len; i++) {
		struct change *change = change_at(batch, i);

		if (change->on) {
			change->site->journalled = batch->patcher->journal_run;
			change->site->journalled_phys = change->site->at_phys;
		}
	}
	return 0;
}

/* `failed`: the whole batch. */
static void note_outcome(struct batch *batch, const struct change *change,
			 enum rs_apply_outcome outcome, bool failed)
{
	struct rs_patch_site *site = change->site;

	switch (outcome) {
	case RS_APPLY_DONE:
		rs_patcher_set_on(batch->patcher, site, change->on);
		batch->patcher->stats.sites_patched++;
		batch->written++;
		tell_site(batch, site, false);
		break;
	case RS_APPLY_UNREADABLE:
		refuse(batch, site, "its text could not be read again", NULL);
		break;
	case RS_APPLY_CHANGED:
		rs_patcher_set_on(batch->patcher, site, false);
		refuse(batch, site, "its text changed under our eyes", NULL);
		break;
	case RS_APPLY_UNWRITABLE:
		refuse(batch, site, "its text did not keep what was written", NULL);
		break;
	case RS_APPLY_UNCERTAIN:
		/* It may hold our JMP, so keep the journal. */
		rs_patcher_set_on(batch->patcher, site, true);
		if (failed) /* the next batch tries again */
			break;
		refuse(batch, site, "its text was written in part and cannot be put back", NULL);
		break;
	case RS_APPLY_NOT_TRIED:
	case RS_APPLY_TAKEN_BACK:
		break;
	}
}

static int apply(struct batch *batch, struct rs_error *err)
{
	struct rs_patcher_stats *stats = &batch->patcher->stats;
	guint count = batch->changes->len;
	enum rs_apply_outcome *outcomes = g_new(enum rs_apply_outcome, count);
	const bool stands =
		batch->target->pauses != 0; /* for another reason, which takes its time */
	uint64_t paused = 0;
	int ret;

	ret = rs_patch_apply(batch->target, batch->patches, count, outcomes, &paused, err);
	paused = stands ? 0 : paused;
	for (guint i = 0; i < count; i++)
		note_outcome(batch, change_at(batch, i), outcomes[i], ret != 0);
	batch->paused_ns = paused;
	stats->batches += paused || batch->written;
	if (paused) {
		stats->pause_last_ns = paused;
		stats->pause_max_ns = MAX(stats->pause_max_ns, paused);
		stats->pause_total_ns += paused;
	}
	g_free(outcomes);
	return ret;
}

/* All that needs the target's memory. */
static int change_all(struct batch *batch, struct rs_error *err)
{
	const struct rs_target_ops *ops = batch->target->ops;
	struct rs_error other = {0};
	int ret = 0, applied = 0;

	if (ops->hurry)
		ops->hurry(batch->target, true);
	check_all(batch);
	if (batch->changes->len)
		ret = write_journal(batch, err);
	if (batch->changes->len)
		applied = apply(batch, ret ? &other : err);
	if (ops->hurry)
		ops->hurry(batch->target, false);
	return ret ? ret : applied;
}

int rs_patcher_batch(struct rs_patcher *patcher, uint32_t count, uint32_t *refused,
		     struct rs_error *err)
{
	struct batch batch = {.patcher = patcher, .target = patcher->target};
	struct rs_error local = {0};
	uint64_t start = rs_monotonic_ns();
	int ret = 0;

	if (!err)
		err = &local;
	patcher->busy = true;
	batch.changes = g_array_new(FALSE, FALSE, sizeof(struct change));
	collect(&batch, count);
	if (batch.changes->len)
		ret = change_all(&batch, err);
	tell_batch(&batch);
	patcher->busy = false;
	rs_patcher_settle(patcher, false);
	patcher->stats.commit_last_ns = rs_monotonic_ns() - start;
	if (refused)
		*refused = batch.refused;
	g_free(batch.patches);
	g_array_free(batch.changes, TRUE);
	return ret;
}
