/* SPDX-License-Identifier: MIT */
/*
 * Turns ticks of the event clock into nanoseconds, by the epochs of RS_SEC_CLOCK.
 * ringside/control.h says which epoch a time belongs to, and what a chain is. If no epoch is known,
 * a plain rate replaces it. If there is no rate either, a tick counts as a nanosecond. The clock
 * also knows when each boot began.
 *
 * The numbers may come from a trace file or from pages that a guest could write. No value does
 * harm. One thread at a time.
 */
#ifndef RS_TRACE_CLOCK_H
#define RS_TRACE_CLOCK_H

#include <glib.h>
#include <ringside/control.h>
#include <ringside/region.h>
#include <ringside/trace_file.h>

#include "rs-trace-moment.h"

G_BEGIN_DECLS

typedef struct _RsTraceClock RsTraceClock;

/* `hz`: the plain rate; 0: unknown. */
RsTraceClock *rs_trace_clock_new(guint64 hz);
void rs_trace_clock_free(RsTraceClock *clock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceClock, rs_trace_clock_free)

/* Sets the plain rate, unless one was given before. */
gsize rs_trace_clock_size(const RsTraceClock *clock); /* bytes of memory, about */
void rs_trace_clock_set_hz(RsTraceClock *clock, guint64 hz);
/*
 * Takes over epochs from a private copy of the section's `n` entries. `epoch_count` epochs have
 * begun so far. Call it again whenever there may be new ones. It keeps the epochs that it knows.
 */
void rs_trace_clock_take(RsTraceClock *clock, const struct rs_clock_epoch *table, guint n,
			 guint32 epoch_count);
/* Takes over rs_guest_info.boots; likewise as a trace file has them. */
void rs_trace_clock_set_boots(RsTraceClock *clock, const struct rs_boot boots[RS_BOOTS]);
void rs_trace_clock_set_file_boots(RsTraceClock *clock, const struct rs_file_boot boots[RS_BOOTS]);

/*
 * The time of `ticks` in `chain`, as a page or time mark names it. `epoch` may be NULL, or becomes
 * the epoch to which they belong. Saturates at both ends of 64 bits.
 *
 * Ticks are never shown by the line of another chain. If the epochs of their chain were overwritten
 * before they were read, their time is where the first known epoch begins. If their chain is not
 * known yet, it is where the newest epoch begins. Then `epoch` becomes that one.
 */
guint64 rs_trace_clock_ns(RsTraceClock *clock, guint32 chain, guint64 ticks, guint32 *epoch);
/* When the boot began. FALSE: it is not known. */
gboolean rs_trace_clock_boot(RsTraceClock *clock, guint32 boot, guint64 *ns, RsTraceMoment *when);

/* The factor by which ticks of `hz` (not 0) become ns: mult and shift of `epoch`. */
void rs_trace_clock_rate(guint64 hz, struct rs_clock_epoch *epoch);
/* The time of `ticks` by this one epoch, also before its base. Saturates. */
guint64 rs_trace_clock_epoch_ns(const struct rs_clock_epoch *epoch, guint64 ticks);

G_END_DECLS

#endif
