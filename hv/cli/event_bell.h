/* SPDX-License-Identifier: MIT */
/*
 * Events that make a flight recorder write, or a fault begin: an event watch whose one owner is
 * told on the main thread. Thread: main.
 */
#ifndef RS_HV_CLI_EVENT_BELL_H
#define RS_HV_CLI_EVENT_BELL_H

#include <rs-trace-live.h>
#include <rs-trace-region.h>
#include <stdbool.h>

struct rs_event_bell;

/*
 * `texts`: NULL-terminated, each "GLOB", "EXPR" or "GLOB: EXPR". `seen` is called on the main
 * thread after a record that one of them means; several may come to one call. NULL: `error` is set.
 */
struct rs_event_bell *rs_event_bell_new(const char *const *texts, void (*seen)(void *data),
					void *data, GError **error);
/* Looks no more. FALSE: an expression could never be true: `error` says why. */
gboolean rs_event_bell_finish(struct rs_event_bell *bell, GError **error);
/* NULL is accepted. */
void rs_event_bell_free(struct rs_event_bell *bell);

/*
 * Looks at the records of a region from now on, until *reads is false. Its source has this name and
 * number, for globs. Returns a number for rs_event_bell_end(), or -1.
 */
int rs_event_bell_add(struct rs_event_bell *bell, const char *name, uint32_t number,
		      const RsTraceRegion *region, RsTraceLiveFlags flags, bool *reads);
/* The region's source has ended. Once all of it is read, *reads becomes false. */
void rs_event_bell_end(struct rs_event_bell *bell, int number);
void rs_event_bell_start(struct rs_event_bell *bell);

#endif
