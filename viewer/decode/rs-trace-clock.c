/* SPDX-License-Identifier: MIT */
#include "rs-trace-clock.h"

#include <string.h>

#define EPOCHS_MAX 65536u /* beyond this the older half is dropped */

struct _RsTraceClock {
	GArray *epochs; /* struct rs_clock_epoch, oldest first, indices without gaps */
	GArray *chains; /* guint: where in `epochs` the chain of each begins */
	guint64 hz;
	struct rs_boot boots[RS_BOOTS];
};

RsTraceClock *rs_trace_clock_new(guint64 hz)
{
	RsTraceClock *clock = g_new0(RsTraceClock, 1);

	clock->epochs = g_array_new(FALSE, FALSE, sizeof(struct rs_clock_epoch));
	clock->chains = g_array_new(FALSE, FALSE, sizeof(guint));
	clock->hz = hz;
	return clock;
}

void rs_trace_clock_free(RsTraceClock *clock)
{
	if (!clock)
		return;
	g_array_unref(clock->epochs);
	g_array_unref(clock->chains);
	g_free(clock);
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
	guint i = clock->epochs->len, chain = i;

	/* If the base went back, CONTINUES is wrong, and a new chain begins here. */
	if (i && epoch->flags & RS_EPOCH_CONTINUES &&
	    epoch->tsc_base >= epoch_at(clock, i - 1)->tsc_base)
		chain = g_array_index(clock->chains, guint, i - 1);
	g_array_append_val(clock->epochs, *epoch);
	g_array_append_val(clock->chains, chain);
}

static void forget_oldest(RsTraceClock *clock)
{
	guint half = clock->epochs->len / 2;

	g_array_remove_range(clock->epochs, 0, half);
	g_array_remove_range(clock->chains, 0, half);
	for (guint i = 0; i < clock->chains->len; i++) {
		guint *chain = &g_array_index(clock->chains, guint, i);

		*chain = *chain > half ? *chain - half : 0;
	}
}

static void forget_all(RsTraceClock *clock)
{
	g_array_set_size(clock->epochs, 0);
	g_array_set_size(clock->chains, 0);
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
		add(clock, epoch);
	}
	if (clock->epochs->len > EPOCHS_MAX)
		forget_oldest(clock);
}

void rs_trace_clock_set_boots(RsTraceClock *clock, const struct rs_boot boots[RS_BOOTS])
{
	memcpy(clock->boots, boots, sizeof(clock->boots));
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

static gboolean is_of(const RsTraceClock *clock, guint i, guint64 ticks)
{
	const struct rs_clock_epoch *epoch = epoch_at(clock, i);
	guint chain = g_array_index(clock->chains, guint, i);

	if (ticks < epoch->tsc_base && chain != i)
		return FALSE;
	return i + 1 == clock->epochs->len || g_array_index(clock->chains, guint, i + 1) != chain ||
	       ticks < epoch_at(clock, i + 1)->tsc_base;
}

/* Where the chain of epoch `i` ends. */
static guint chain_end(const RsTraceClock *clock, guint i)
{
	guint chain = g_array_index(clock->chains, guint, i), end = clock->chains->len;

	while (end - i > 1) {
		guint middle = i + (end - i) / 2;

		if (g_array_index(clock->chains, guint, middle) == chain)
			i = middle;
		else
			end = middle;
	}
	return end;
}

/* The epoch of `ticks` on the chain of epoch `i`: the last one whose base is not above them. */
static guint find(const RsTraceClock *clock, guint i, guint64 ticks)
{
	guint low = g_array_index(clock->chains, guint, i), high = chain_end(clock, i);

	while (high - low > 1) {
		guint middle = low + (high - low) / 2;

		if (epoch_at(clock, middle)->tsc_base <= ticks)
			low = middle;
		else
			high = middle;
	}
	return low;
}

guint64 rs_trace_clock_ns(const RsTraceClock *clock, guint32 *epoch, guint64 ticks)
{
	guint i;

	if (!clock->epochs->len) {
		if (!clock->hz)
			return ticks;
		return saturate((unsigned __int128)ticks * G_GUINT64_CONSTANT(1000000000) /
				clock->hz);
	}
	/* An epoch that was dropped or is not known yet: take the nearest known one. */
	if ((gint32)(*epoch - first_index(clock)) < 0)
		i = 0;
	else
		i = MIN(*epoch - first_index(clock), clock->epochs->len - 1);
	if (!is_of(clock, i, ticks))
		i = find(clock, i, ticks);
	*epoch = first_index(clock) + i;
	return rs_trace_clock_epoch_ns(epoch_at(clock, i), ticks);
}

gboolean rs_trace_clock_boot(const RsTraceClock *clock, guint32 boot, guint64 *ns, guint64 *ts)
{
	const struct rs_boot *at = &clock->boots[boot % RS_BOOTS];
	guint32 epoch = at->epoch;

	if (!boot || at->boot != boot)
		return FALSE;
	*ts = at->ts;
	*ns = rs_trace_clock_ns(clock, &epoch, at->ts);
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
