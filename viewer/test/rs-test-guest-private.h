/* SPDX-License-Identifier: MIT */
/* What the parts of RsTestGuest know of each other. */
#ifndef RS_TEST_GUEST_PRIVATE_H
#define RS_TEST_GUEST_PRIVATE_H

#include "rs-test-guest.h"
#include "rs-test-trace-private.h"

#include <rs-trace-client.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/* Somebody who does not answer for so long is dead: machines may be very busy. */
#define RS_TEST_SILENT_MS 30000u

/* What was asked for events, in its order. */
typedef struct {
	RsTraceEventGlob *glob;
	gboolean on;
} RsTestWish;

struct _RsTestGuest {
	GObject parent_instance;
	/* What was said of it. */
	char *kernel;
	gboolean demo, host, may_lose;
	GStrv hosted;
	GStrv said;          /* by a spec: arguments of `ringside run`; NULL: none */
	gboolean has_serial; /* its console is a file of ours */
	GHashTable *options; /* name -> value */
	char *wrong;         /* the name of an option that there is not */
	GPtrArray *globs;    /* of what is enabled at the boot */
	GPtrArray *filters;  /* "GLOB: EXPR" */
	GPtrArray *wishes;   /* RsTestWish */
	guint timeout_ms;
	char *folder;
	gboolean is_temporary; /* the folder */
	/* Its process. */
	char *session_name;
	GPid pid; /* 0: none, or reaped */
	gboolean has_booted, has_ended;
	gboolean was_stopped; /* at a moment of ours */
	int status;           /* of the process that ended, as waitpid() has it */
	RsTestEnd end;
	int code;
	char *end_text;
	GMainContext *context;
	RsDBusSession1 *session; /* NULL: none, or not any more */
	GHashTable *engines;     /* thread -> engine, of threads that are held */
	RsTestTrace *trace;
	guint64 serial_at; /* behind the last line that was taken */
};

/* ---- rs-test-run.c ---- */

/* Names of files in the folder. */
#define RS_TEST_TRACE "trace"
#define RS_TEST_SERIAL "serial"
#define RS_TEST_OUTPUT "output"
#define RS_TEST_MESSAGES "messages"
#define RS_TEST_RESULT "result"

/* Makes the folder and starts the process. FALSE: NOT_RUN. */
gboolean rs_test_run_start(RsTestGuest *guest, GError **error);
/* Whether the process has ended; how is looked up then. */
gboolean rs_test_run_has_ended(RsTestGuest *guest);
/* Ends the process and its guest, and waits for that. */
void rs_test_run_stop(RsTestGuest *guest);
/* FALSE: NOT_RUN, the process that ended says that something of it failed. */
gboolean rs_test_run_check(RsTestGuest *guest, GError **error);
/* Removes what was temporary. */
void rs_test_run_clear(RsTestGuest *guest);
/* What is in one of its files, from byte `at` on and `max` bytes at most; NULL: nothing. Freed. */
char *rs_test_run_read(RsTestGuest *guest, const char *name, guint64 at, gsize max, gsize *size);

/* Takes `why`, of whatever domain: it becomes one of RS_TEST_ERROR. Returns FALSE. */
gboolean rs_test_fail(GError **error, GError *why);
/* FALSE: WRONG_TIME. */
gboolean rs_test_is_booted(RsTestGuest *guest, GError **error);

/* ---- waiting ---- */

static inline gint64 rs_test_deadline(guint ms)
{
	return g_get_monotonic_time() + (gint64)ms * 1000;
}

/* Lets some time pass in which something may happen. FALSE: the deadline is over. */
gboolean rs_test_pause(RsTestGuest *guest, gint64 deadline);

/* ---- rs-test-session.c ---- */

/* Waits until the agent has reported, or the guest has ended. */
gboolean rs_test_session_connect(RsTestGuest *guest, GError **error);
/* Its session. NULL: ENDED, or WRONG_TIME. The guest's. */
RsDBusSession1 *rs_test_session_get(RsTestGuest *guest, GError **error);

#pragma GCC visibility pop
G_END_DECLS

#endif
