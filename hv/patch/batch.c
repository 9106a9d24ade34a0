/* SPDX-License-Identifier: MIT */
/*
 * One batch of the patcher: collect, check, journal, pause, compare, write, resume. Everything that takes
 * time (walks, decoding, the journal) lies before the pause; with the guest stopped there is one
 * read and one write of each site.
 */
#include "patch/patcher-private.h"

#include "target/memory.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

struct change {
	struct rs_patch_site *site;
	bool on;
	uint8_t old_bytes[8];
	uint8_t new_bytes[8];
};

struct batch {
	struct rs_patcher *patcher;
	struct rs_target *target;
	GArray *changes;              /* struct change */
	struct rs_text_write *pieces; /* one for each change */
	uint32_t refused;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct change *change_at(struct batch *batch, guint i)
{
	return &g_array_index(batch->changes, struct change, i);
}

static void refuse(struct batch *batch, struct rs_patch_site *site, const char *what,
		   const struct rs_error *why)
{
	char text[sizeof(((struct rs_site_refusal *)0)->why)];

	g_snprintf(text, sizeof(text), "%s%s%s", what, why && why->code ? ": " : "",
		   why && why->code ? why->message : "");
	rs_patcher_refuse(batch->patcher, site, text);
	site->refused = true;
	site->on = false;
	batch->refused++;
}

static int by_address(gconstpointer a, gconstpointer b)
{
	const struct rs_patch_site *x = ((const struct change *)a)->site;
	const struct rs_patch_site *y = ((const struct change *)b)->site;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return x->at.v < y->at.v ? -1 : x->at.v > y->at.v;
}

static void collect(struct batch *batch, uint32_t leaving)
{
	struct rs_patcher *patcher = batch->patcher;

	for (guint i = 0; i < patcher->sites->len; i++) {
		struct change change = {
			.site = &g_array_index(patcher->sites, struct rs_patch_site, i),
		};

		change.on = patcher->wishes[change.site->event] != 0 &&
			    (!leaving || change.site->provider != leaving);
		if (patcher->asked)
			change.site->refused = false;
		if (change.on != change.site->on && !change.site->refused)
			g_array_append_val(batch->changes, change);
	}
	patcher->asked = false;
	g_array_sort(batch->changes, by_address);
}

/* What the JMP leads to must be what was decoded when the site was read, or decode again. */
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

/* True: to be changed. Else it is settled: refused, or already as it should be. */
static bool check(struct batch *batch, struct rs_page_reader *reader, struct change *change)
{
	struct rs_patch_site *site = change->site;
	struct rs_error why = {0};
	uint8_t text[RS_SITE_BYTES];
	enum rs_site_text found;

	if (rs_page_reader_read(reader, site->at, text, sizeof(text), &site->at_phys, &why)) {
		refuse(batch, site, "its text cannot be read", &why);
		return false;
	}
	found = rs_insn_compare(site->at, site->target, text);
	if (found == RS_TEXT_FOREIGN) {
		rs_error_set(&why, EILSEQ, "%02x %02x %02x %02x %02x", text[0], text[1], text[2],
			     text[3], text[4]);
		refuse(batch, site, "its text is neither the NOP nor our JMP", &why);
		return false;
	}
	if ((found == RS_TEXT_JMP) == change->on) {
		site->on = change->on;
		return false;
	}
	if (change->on && check_target(reader, site, &why)) {
		refuse(batch, site, "its target", &why);
		return false;
	}
	if (rs_insn_jmp(site->at, site->target, change->on ? change->new_bytes : change->old_bytes,
			&why)) {
		refuse(batch, site, "its target", &why);
		return false;
	}
	rs_insn_nop(change->on ? change->old_bytes : change->new_bytes);
	return true;
}

static void check_all(struct batch *batch)
{
	struct rs_page_reader *reader = rs_page_reader_create(batch->target, 0);
	guint kept = 0;

	for (guint i = 0; i < batch->changes->len; i++) {
		struct change *change = change_at(batch, i);

		rs_page_reader_set_root(reader, change->site->root);
		if (check(batch, reader, change))
			*change_at(batch, kept++) = *change;
	}
	g_array_set_size(batch->changes, kept);
	rs_page_reader_destroy(reader);
}

/* A process is looked for by its id and start time; a machine's text by its physical address. */
static void name_process(struct batch *batch)
{
	pid_t pid = batch->target->pid;

	if (batch->target->ops->read_phys || pid <= 0 ||
	    rs_journal_process(batch->patcher->journal, NULL) == (uint32_t)pid)
		return;
	rs_journal_set_process(batch->patcher->journal, (uint32_t)pid, rs_process_start_time(pid));
}

static int write_journal(struct batch *batch, struct rs_error *err)
{
	struct rs_journal_record *records;
	size_t count = 0;
	int ret;

	if (!batch->patcher->journal)
		return 0;
	name_process(batch);
	records = g_new0(struct rs_journal_record, batch->changes->len);
	for (guint i = 0; i < batch->changes->len; i++) {
		const struct change *change = change_at(batch, i);
		struct rs_journal_record *record = &records[count];

		/* Once is enough: putting it back is the same NOP however often it is switched. */
		if (!change->on || change->site->journalled)
			continue;
		record->at = change->site->at.v;
		record->at_phys = change->site->at_phys.v;
		record->root = change->site->root;
		record->size = RS_SITE_BYTES;
		memcpy(record->old_bytes, change->old_bytes, RS_SITE_BYTES);
		memcpy(record->new_bytes, change->new_bytes, RS_SITE_BYTES);
		count++;
	}
	ret = rs_journal_append(batch->patcher->journal, records, count, err);
	g_free(records);
	if (ret)
		return ret;
	for (guint i = 0; i < batch->changes->len; i++)
		if (change_at(batch, i)->on)
			change_at(batch, i)->site->journalled = true;
	return 0;
}

static int read_piece(struct batch *batch, struct rs_text_write *piece)
{
	const struct rs_target_ops *ops = batch->target->ops;

	if (ops->read_phys)
		return ops->read_phys(batch->target, piece->at_phys, piece->bytes, piece->size,
				      NULL);
	return ops->read_virt(batch->target, piece->at, piece->bytes, piece->size, NULL);
}

/* Paused. Reads every site again; what no longer holds what was checked is refused. */
static void compare_all(struct batch *batch)
{
	const struct rs_target_ops *ops = batch->target->ops;
	guint count = batch->changes->len, kept = 0;
	bool have = ops->read_text_batch &&
		    !ops->read_text_batch(batch->target, batch->pieces, count, NULL);

	for (guint i = 0; i < count; i++) {
		struct change *change = change_at(batch, i);

		if (!have && read_piece(batch, &batch->pieces[i])) {
			refuse(batch, change->site, "its text could not be read again", NULL);
			continue;
		}
		if (memcmp(batch->pieces[i].bytes, change->old_bytes, RS_SITE_BYTES)) {
			refuse(batch, change->site, "its text changed under our eyes", NULL);
			continue;
		}
		batch->pieces[kept] = batch->pieces[i];
		memcpy(batch->pieces[kept].bytes, change->new_bytes, RS_SITE_BYTES);
		*change_at(batch, kept++) = *change;
	}
	g_array_set_size(batch->changes, kept);
}

static int write_pieces(struct batch *batch, struct rs_error *err)
{
	const struct rs_target_ops *ops = batch->target->ops;
	int ret = 0;

	if (ops->write_text_batch)
		return ops->write_text_batch(batch->target, batch->pieces, batch->changes->len,
					     err);
	for (guint i = 0; i < batch->changes->len && !ret; i++) {
		const struct rs_text_write *piece = &batch->pieces[i];

		ret = ops->write_text(batch->target, piece->at, piece->at_phys, piece->bytes,
				      piece->size, err);
	}
	return ret;
}

/* Paused, and a write has failed: find out which ones were made, and take them back. */
static void take_back(struct batch *batch)
{
	for (guint i = 0; i < batch->changes->len; i++) {
		struct change *change = change_at(batch, i);
		struct rs_text_write *piece = &batch->pieces[i];

		if (read_piece(batch, piece))
			continue;
		if (!memcmp(piece->bytes, change->new_bytes, RS_SITE_BYTES) &&
		    batch->target->ops->write_text(batch->target, piece->at, piece->at_phys,
						   change->old_bytes, RS_SITE_BYTES, NULL))
			change->site->on = change->on; /* still as we wrote it */
	}
}

/* Paused. */
static int write_all(struct batch *batch, struct rs_error *err)
{
	int ret;

	compare_all(batch);
	if (!batch->changes->len)
		return 0;
	ret = write_pieces(batch, err);
	if (ret) {
		take_back(batch);
		return ret;
	}
	for (guint i = 0; i < batch->changes->len; i++)
		change_at(batch, i)->site->on = change_at(batch, i)->on;
	batch->patcher->stats.sites_patched += batch->changes->len;
	return 0;
}

static int stop_and_write(struct batch *batch, struct rs_error *err)
{
	struct rs_patcher_stats *stats = &batch->patcher->stats;
	uint64_t start;
	int ret, resumed;

	batch->pieces = g_new0(struct rs_text_write, batch->changes->len);
	for (guint i = 0; i < batch->changes->len; i++) {
		batch->pieces[i].at = change_at(batch, i)->site->at;
		batch->pieces[i].at_phys = change_at(batch, i)->site->at_phys;
		batch->pieces[i].size = RS_SITE_BYTES;
	}
	start = now_ns();
	ret = batch->target->ops->pause(batch->target, err);
	if (ret)
		return rs_error_prefix(err, "the guest cannot be paused");
	ret = write_all(batch, err);
	resumed = batch->target->ops->resume(batch->target, ret ? NULL : err);
	stats->pause_last_ns = now_ns() - start;
	stats->pause_max_ns = MAX(stats->pause_max_ns, stats->pause_last_ns);
	stats->pause_total_ns += stats->pause_last_ns;
	stats->batches++;
	return ret ? ret : resumed;
}

static void settle(struct rs_patcher *patcher)
{
	patcher->sites_on = 0;
	for (guint i = 0; i < patcher->sites->len; i++)
		patcher->sites_on += g_array_index(patcher->sites, struct rs_patch_site, i).on;
	if (patcher->sites_on || !patcher->journal || !rs_journal_count(patcher->journal))
		return;
	/* Nothing of ours is left in the text. A file that cannot be cut is merely too long. */
	if (rs_journal_clear(patcher->journal, NULL))
		return;
	for (guint i = 0; i < patcher->sites->len; i++)
		g_array_index(patcher->sites, struct rs_patch_site, i).journalled = false;
}

int rs_patcher_batch(struct rs_patcher *patcher, uint32_t leaving, uint32_t *refused,
		     struct rs_error *err)
{
	struct batch batch = {.patcher = patcher, .target = patcher->target};
	struct rs_error local = {0};
	uint64_t start = now_ns();
	int ret = 0;

	if (refused)
		*refused = 0;
	if (patcher->method == RS_PATCH_SELF)
		return 0;
	if (!err)
		err = &local;
	batch.changes = g_array_new(FALSE, FALSE, sizeof(struct change));
	collect(&batch, leaving);
	if (batch.changes->len)
		check_all(&batch);
	if (batch.changes->len)
		ret = write_journal(&batch, err);
	if (batch.changes->len && !ret)
		ret = stop_and_write(&batch, err);
	settle(patcher);
	patcher->stats.commit_last_ns = now_ns() - start;
	if (refused)
		*refused = batch.refused;
	g_free(batch.pieces);
	g_array_free(batch.changes, TRUE);
	return ret;
}
