/* SPDX-License-Identifier: MIT */
/*
 * What tracing costs the sources of a session now: how many events come, times what one was
 * measured to take on this machine. Thread: main. Trust: as the session's, who says what it likes.
 */
#ifndef RS_HV_CLI_STAT_COST_H
#define RS_HV_CLI_STAT_COST_H

#include "cli/verb.h"

/* The option of Stat that asks for rows of each source, floating. */
GVariant *rs_cli_stat_each(void);

struct rs_cli_cost {
	double rate;     /* events a second, also those that a full ring refused */
	double event_ns; /* of one; negative: it is not known for such a source */
	double share;    /* of one CPU, 0 to 1 and more; negative likewise */
};

struct rs_cli_costs;
typedef struct rs_cli_costs RsCliCosts; /* for g_autoptr() */

#define RS_CLI_COSTS_US 200000 /* long enough for who waits for the answer */

/*
 * Looks at the session, waits for so many us, and looks again. If no event is on it does not wait:
 * nothing comes. Nor does it once *stopped is not 0, if that is given. `sources`:
 * RsTraceClientSource. NULL: the session has gone, or is too old to say it.
 */
struct rs_cli_costs *rs_cli_costs_take(RsDBusSession1 *session, const GPtrArray *sources,
				       gint64 between_us, const gint *stopped);
void rs_cli_costs_free(struct rs_cli_costs *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsCliCosts, rs_cli_costs_free)

/* Of the source with that number. False: it is not known, as the source came meanwhile. */
bool rs_cli_costs_of(const struct rs_cli_costs *costs, guint32 number, struct rs_cli_cost *out);

#endif
