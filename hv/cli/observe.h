/* SPDX-License-Identifier: MIT */
/*
 * Observes a running session: tells its sources as they come and go, until the session ends, the
 * user stops it, or the time is over. `trace` and `kdump` print what they get, `record` keeps it.
 * Called on the main thread.
 */
#ifndef RS_HV_CLI_OBSERVE_H
#define RS_HV_CLI_OBSERVE_H

#include <rs-trace-client.h>
#include <rs-trace-ring.h>
#include <stdbool.h>

struct rs_observation {
	/*
	 * A source has come. `region` is the callee's. `name` is escaped. Returns a number for
	 * gone(), or -1 after a message.
	 */
	int (*come)(const char *name, const RsTraceClientSource *source, RsTraceRegion *region,
		    RsTraceFrom from, void *data);
	void (*gone)(int number, void *data);
	/* A source has ended, as RsTraceWatchConfig says. May be NULL. */
	void (*ended)(const char *name, const char *reason, void *data);
	void (*panicked)(const char *name, void *data); /* likewise */
	void (*several)(void *data); /* once: names tell sources apart. May be NULL */
	void (*begin)(void *data);   /* the sources that are there have been told */
	void (*closing)(void *data); /* once: it ends, and messages follow. May be NULL */
	void (*hurry)(void *data);   /* a signal ends it, so nobody waits. May be NULL */
	void *data;
	/* Set by rs_cli_observe() while it runs, for callbacks: quit it to end. */
	GMainLoop *loop;
	/*
	 * By the user, the sources go on. A callback that sets it before begin() returns ends it.
	 */
	bool stopped;
	bool over; /* the session has ended */
	bool lost; /* it went away, and nobody told how it ended */
};

/* Until the end. `duration` in seconds; 0: no limit. */
void rs_cli_observe(RsDBusSession1 *session, RsTraceFrom from, double duration,
		    struct rs_observation *observation);

/*
 * The connection has broken, and nobody told how the session ended: whether it died, or has dropped
 * us. Waits a second at most.
 */
bool rs_cli_session_has_died(RsDBusSession1 *session);

#endif
