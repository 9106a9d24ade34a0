/* SPDX-License-Identifier: MIT */
/*
 * Domains of libvirt, and sessions on them. The `ringside` command is asked, in a process of its
 * own, so nothing here waits for libvirt's daemon.
 *
 * Thread: main. Trust: names may be anything.
 */
#ifndef RS_VIEWER_DOMAINS_H
#define RS_VIEWER_DOMAINS_H

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct {
	char *name, *uuid, *uri;
	char *state;     /* "running", "paused", "off" */
	char *session;   /* that has it; NULL: none */
	gboolean device; /* it has one for traces */
} RsViewerDomain;

RsViewerDomain *rs_viewer_domain_copy(const RsViewerDomain *domain);
void rs_viewer_domain_free(RsViewerDomain *domain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsViewerDomain, rs_viewer_domain_free)

/*
 * Those of the daemon that virsh would take. Finish: of RsViewerDomain, to be unreffed. NULL: the
 * command is not installed, or says why not.
 */
void rs_viewer_domains_list_async(GCancellable *cancellable, GAsyncReadyCallback done,
				  gpointer data);
GPtrArray *rs_viewer_domains_list_finish(GAsyncResult *result, GError **error);

/*
 * Starts a session on a domain that runs, after it was given a device if it has none. The session
 * goes on until rs_viewer_domains_detach_all(), or as long as others let it. Finish: its name, to
 * be freed; NULL: why not.
 */
void rs_viewer_domains_attach_async(const RsViewerDomain *domain, GCancellable *cancellable,
				    GAsyncReadyCallback done, gpointer data);
char *rs_viewer_domains_attach_finish(GAsyncResult *result, GError **error);

/* Ends all sessions that were started here: their guests go on as before. Does not wait. */
void rs_viewer_domains_detach_all(void);

G_END_DECLS

#endif
