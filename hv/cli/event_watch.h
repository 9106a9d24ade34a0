/* SPDX-License-Identifier: MIT */
/*
 * Waits for events: expressions or globs over the records of some sources, which are decoded for
 * that on a thread of its own. It sees what it can keep up with. Thread: main, but for `seen`.
 */
#ifndef RS_HV_CLI_EVENT_WATCH_H
#define RS_HV_CLI_EVENT_WATCH_H

#include <rs-trace-cmdline.h>
#include <rs-trace-decoder.h>
#include <rs-trace-source.h>
#include <stdbool.h>
#include <stdint.h>

struct rs_event_watch;
struct rs_event_wanted;

struct rs_event_watch_config {
	/* A source that was ended is read, and its region may go. May be NULL. */
	void (*ended)(void *source, void *data);
	void *data;
};

struct rs_event_watch *rs_event_watch_new(const struct rs_event_watch_config *config);
/* Ends it at once. NULL is accepted. */
void rs_event_watch_free(struct rs_event_watch *watch);

/*
 * `glob` NULL: of any event; `expression` NULL: any record of it. `seen` is called on the thread of
 * the watch for each such record until it is dropped; nothing of it is called out of there. NULL:
 * `error` is set.
 */
struct rs_event_wanted *
rs_event_watch_want(struct rs_event_watch *watch, const char *glob, const char *expression,
		    void (*seen)(void *data, const RsTraceRecord *record, const RsTraceTask *task),
		    void *data, GError **error);
void rs_event_watch_drop(struct rs_event_watch *watch, struct rs_event_wanted *wanted);

/*
 * Takes `pages` over, of the source of that name and number, which globs may name. `source` is for
 * `ended`. Returns a number for rs_event_watch_end().
 */
int rs_event_watch_join(struct rs_event_watch *watch, const char *name, uint32_t number,
			RsTraceSource *pages, void *source);
/* The source writes no more. */
void rs_event_watch_end(struct rs_event_watch *watch, int number);

/* Begins to read, once. */
void rs_event_watch_start(struct rs_event_watch *watch);
/* Somebody waits for what comes of an event: it is looked for more often. Before the start. */
void rs_event_watch_hurry(struct rs_event_watch *watch);
/* The doorbell rang. */
void rs_event_watch_wake(struct rs_event_watch *watch);
/* Records of any event that were lost before they could be looked at. */
uint64_t rs_event_watch_lost(struct rs_event_watch *watch);
/* Reads no more; `rest`: only once it has read what is there. */
void rs_event_watch_finish(struct rs_event_watch *watch, bool rest);
/* After that. FALSE: an expression could never be true: `error` says why. */
gboolean rs_event_watch_check(const struct rs_event_watch *watch, GError **error);

#endif
