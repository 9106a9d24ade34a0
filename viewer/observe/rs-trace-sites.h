/* SPDX-License-Identifier: MIT */
/*
 * The sites of a session's events: places in a guest's text that the host switches, with the text
 * around them, as the method Sites tells them.
 *
 * Threads: the callback comes on the caller's. Trust: texts and bytes are a guest's, and hostile.
 */
#ifndef RS_TRACE_SITES_H
#define RS_TRACE_SITES_H

#include <rs-session-dbus.h>

G_BEGIN_DECLS

typedef struct {
	guint32 source_number; /* RsTraceClientSource.number */
	char *source;
	guint32 event;       /* its id; 0: the site leads to those of all events of a provider */
	char *system, *name; /* "" if there is no event */
	guint64 address, target;
	char *state;  /* "on", "off", "refused", or what a later session says */
	guint32 arch; /* RS_ARCH_*; 0: not known */
	guint64 text_address;
	GBytes *text; /* as it is in memory, from text_address on; NULL: it cannot be read */
} RsTraceSite;

typedef struct {
	GPtrArray *sites;   /* RsTraceSite */
	GArray *self_patch; /* guint32: sources whose guests patch themselves: none of theirs */
	gboolean cut;       /* there are more */
} RsTraceSites;
void rs_trace_sites_free(RsTraceSites *sites);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSites, rs_trace_sites_free)

/*
 * The sites of events that match `glob`, all if it is empty, but no more than `most`. Errors: those
 * of a call; a session that is older has no such method (G_DBUS_ERROR_UNKNOWN_METHOD).
 */
void rs_trace_sites_get_async(RsDBusSession1 *session, const char *glob, guint most,
			      GCancellable *cancellable, GAsyncReadyCallback done, gpointer data);
RsTraceSites *rs_trace_sites_get_finish(GAsyncResult *result, GError **error);
/* The same, which waits for the answers. */
RsTraceSites *rs_trace_sites_get(RsDBusSession1 *session, const char *glob, guint most,
				 GError **error);

G_END_DECLS

#endif
