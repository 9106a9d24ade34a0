/* SPDX-License-Identifier: MIT */
#include "rs-trace-clock.h"

#include <string.h>

#define EPOCHS_MAX 65536u /* beyond this the older half is dropped */

struct _RsTraceClock {
	/*
	 * struct rs_clock_epoch, oldest first, indices without gaps, so in the order of their
	 * chains, and inside a chain of their bases. Indices never wrap in here.
	 */
	GArray *epochs;
	guint last; /* where a time was found: the next one is mostly there too; any number */
	guint64 hz;
	struct rs_boot boots[RS_BOOTS];
};

RsTraceClock *rs_trace_clock_new(guint64 hz)
{
	RsTraceClock *clock = g_new0(RsTraceClock, 1);

	clock->epochs = g_array_new(FALSE, FALSE, sizeof(struct rs_clock_epoch));
	clock->hz = hz;
	return clock;
}

void rs_trace_clock_free(RsTraceClock *clock)
{
	if (!clock)
		return;
	g_array_unref(clock->epochs);
	g_free(clock);
}

gsize rs_trace_clock_size(const RsTraceClock *clock)
{
	gsize room = 1;

	/* An array grows by powers of two. */
	while (room < clock->epochs->len * sizeof(struct rs_clock_epoch))
		room *= 2;
	return sizeof(*clock) + sizeof(GArray) + room;
}

void rs_trace_clock_set_hz(RsTraceClock *clock, guint64 hz)
{
	if (!clock->hz)
		clock->hz = hz;
}

static const struct rs_clock_epoch *epoch_at(const RsTraceClock *clock, guint i)
{
	return &g_array_index(clock->epochs, struct rs_clock_epoch, i);
}

static guint32 first_index(const RsTraceClock *clock)
{
	return clock->epochs->len ? epoch_at(clock, 0)->index : 0;
}

static void add(RsTraceClock *clock, const struct rs_clock_epoch *epoch)
{
	struct rs_clock_epoch kept = *epoch;

	if (clock->epochs->len) {
		const struct rs_clock_epoch *before = epoch_at(clock, clock->epochs->len - 1);

		/* Else the table contradicts itself. */
		if (kept.chain != before->chain || kept.tsc_base < before->tsc_base)
			kept.chain = kept.index;
	}
	kept.chain = MIN(kept.chain, kept.index);
	g_array_append_val(clock->epochs, kept);
}

static void forget_oldest(RsTraceClock *clock)
{
	g_array_remove_range(clock->epochs, 0, clock->epochs->len / 2);
}

static void forget_all(RsTraceClock *clock)
{
	g_array_set_size(clock->epochs, 0);
}

void rs_trace_clock_take(RsTraceClock *clock, const struct rs_clock_epoch *table, guint n,
			 guint32 epoch_count)
{
	guint32 known = first_index(clock) + clock->epochs->len, next;

	if (!n || epoch_count == known)
		return;
	/* Epochs in between were overwritten before we read them: start again after the gap. */
	next = epoch_count - known > n ? epoch_count - n : known;
	if (next != known)
		forget_all(clock);
	for (; next != epoch_count; next++) {
		const struct rs_clock_epoch *epoch = &table[next % n];

		/* Another epoch began while the table was being copied. */
		if ((gint32)(epoch->index - next) > 0) {
			forget_all(clock);
			continue;
		}
		if (epoch->index != next || !epoch->mult || epoch->shift > 63)
			break;
		/* The numbering begins anew: chains would not be in order any more. */
		if (!next)
			forget_all(clock);
		add(clock, epoch);
	}
	if (clock->epochs->len > EPOCHS_MAX)
		forget_oldest(clock);
}

void rs_trace_clock_set_boots(RsTraceClock *clock, const struct rs_boot boots[RS_BOOTS])
{
	memcpy(clock->boots, boots, sizeof(clock->boots));
}

void rs_trace_clock_set_file_boots(RsTraceClock *clock, const struct rs_file_boot boots[RS_BOOTS])
{
	for (guint i = 0; i < RS_BOOTS; i++)
		clock->boots[i] = (struct rs_boot){boots[i].boot, boots[i].chain, boots[i].ts};
}

static guint64 saturate(unsigned __int128 value)
{
	return value > G_MAXUINT64 ? G_MAXUINT64 : (guint64)value;
}

guint64 rs_trace_clock_epoch_ns(const struct rs_clock_epoch *epoch, guint64 ticks)
{
	unsigned __int128 span;

	if (ticks < epoch->tsc_base) {
		span = (unsigned __int128)(epoch->tsc_base - ticks) * epoch->mult >> epoch->shift;
		return span > epoch->ns_base ? 0 : epoch->ns_base - (guint64)span;
	}
	span = (unsigned __int128)(ticks - epoch->tsc_base) * epoch->mult >> epoch->shift;
	return saturate(span + epoch->ns_base);
}

/* Whether epoch `i` comes after the time: its chain is later, or its base is and not its chain. */
static gboolean is_after(const RsTraceClock *clock, guint i, guint32 chain, guint64 ticks)
{
	const struct rs_clock_epoch *epoch = epoch_at(clock, i);

	return epoch->chain != chain ? epoch->chain > chain : epoch->tsc_base > ticks;
}

/* The time lies in epoch `i`, and neither before its chain nor in a later epoch. */
static gboolean is_of(const RsTraceClock *clock, guint i, guint32 chain, guint64 ticks)
{
	return i < clock->epochs->len && epoch_at(clock, i)->chain == chain &&
	       !is_after(clock, i, chain, ticks) &&
	       (i + 1 == clock->epochs->len || is_after(clock, i + 1, chain, ticks));
}

/*
 * The last epoch that is not after the time. If that is of another chain, the time lies before the
 * first epoch of its own, or its chain is not known. Then it is the first epoch if that is of a
 * later chain, or the last one of an earlier chain.
 */
static guint find(const RsTraceClock *clock, guint32 chain, guint64 ticks)
{
	guint low = 0, high = clock->epochs->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (is_after(clock, middle, chain, ticks))
			high = middle;
		else
			low = middle + 1;
	}
	if (low && epoch_at(clock, low - 1)->chain == chain)
		return low - 1;
	if (low < clock->epochs->len && epoch_at(clock, low)->chain == chain)
		return low;
	return low ? low - 1 : 0;
}

guint64 rs_trace_clock_ns(RsTraceClock *clock, guint32 chain, guint64 ticks, guint32 *epoch)
{
	const struct rs_clock_epoch *found;

	if (!clock->epochs->len) {
		if (epoch)
			*epoch = chain;
		if (!clock->hz)
			return ticks;
		return saturate((unsigned __int128)ticks * G_GUINT64_CONSTANT(1000000000) /
				clock->hz);
	}
	if (!is_of(clock, clock->last, chain, ticks))
		clock->last = find(clock, chain, ticks);
	found = epoch_at(clock, clock->last);
	if (epoch)
		*epoch = found->index;
	/* Another chain's line says nothing about these ticks. */
	if (found->chain != chain)
		return found->ns_base;
	return rs_trace_clock_epoch_ns(found, ticks);
}

gboolean rs_trace_clock_boot(RsTraceClock *clock, guint32 boot, guint64 *ns, RsTraceMoment *when)
{
	const struct rs_boot *at = &clock->boots[boot % RS_BOOTS];

	if (!boot || at->boot != boot)
		return FALSE;
	*when = (RsTraceMoment){boot, at->chain, at->ts};
	*ns = rs_trace_clock_ns(clock, at->chain, at->ts, NULL);
	return TRUE;
}

void rs_trace_clock_rate(guint64 hz, struct rs_clock_epoch *epoch)
{
	unsigned __int128 mult;

	/* The largest shift with which the factor fits in 32 bits. */
	for (epoch->shift = 32;; epoch->shift--) {
		mult = ((unsigned __int128)1000000000u << epoch->shift) / hz;
		if (mult <= G_MAXUINT32)
			break;
	}
	epoch->mult = (guint32)mult;
}
