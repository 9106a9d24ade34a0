/* SPDX-License-Identifier: MIT */
/*
 * A node of the tree of events that a session has: a source, a system of it, or an event.
 *
 * Signal: "changed" (): something of it is different now.
 *
 * Thread: main. Trust: names are a guest's; labels are safe to show as text, and no markup.
 */
#ifndef RS_VIEWER_EVENT_H
#define RS_VIEWER_EVENT_H

#include <gio/gio.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_EVENT (rs_viewer_event_get_type())
G_DECLARE_FINAL_TYPE(RsViewerEvent, rs_viewer_event, RS_VIEWER, EVENT, GObject)

typedef enum {
	RS_VIEWER_EVENT_SOURCE,
	RS_VIEWER_EVENT_SYSTEM,
	RS_VIEWER_EVENT_EVENT,
} RsViewerEventKind;

typedef enum {
	RS_VIEWER_EVENT_OFF,
	RS_VIEWER_EVENT_ON,
	RS_VIEWER_EVENT_MIXED, /* some events below it are on */
} RsViewerEventState;

/* What the session tells of an event. Texts may be NULL. */
typedef struct {
	guint sites, stack;
	gboolean enabled;
	gboolean own;       /* the owner that the viewer speaks for wants it */
	const char *filter; /* of all owners together */
	const char *mine;   /* of the owner that the viewer speaks for */
	const char *others; /* who else wants it: "guest, view" */
	const char *note;
} RsViewerEventFacts;

/* `parent`: of a system its source, of an event its system; NULL: none. It is not kept. */
RsViewerEvent *rs_viewer_event_new(RsViewerEventKind kind, RsViewerEvent *parent, const char *name,
				   guint32 source_number, guint32 id);

RsViewerEventKind rs_viewer_event_kind(RsViewerEvent *event);
/* The name of its source, as the session has it. */
const char *rs_viewer_event_source(RsViewerEvent *event);
/* "switch" of an event, "sched" of a system. */
const char *rs_viewer_event_name(RsViewerEvent *event);
/* "sched:switch" of an event; else its name. */
const char *rs_viewer_event_label(RsViewerEvent *event);
guint32 rs_viewer_event_source_number(RsViewerEvent *event);
/* Its children by name; NULL: an event has none. */
GListStore *rs_viewer_event_children(RsViewerEvent *event);
RsViewerEventState rs_viewer_event_state(RsViewerEvent *event);
/* Never NULL: "" if there is none. */
const char *rs_viewer_event_filter(RsViewerEvent *event);
const char *rs_viewer_event_own_filter(RsViewerEvent *event);
/* What people are told below the name: filter, owners, and why sites are not patched. May be "". */
const char *rs_viewer_event_remark(RsViewerEvent *event);
/* FALSE: it is not known how often it came. `rate`: in a second. */
gboolean rs_viewer_event_count(RsViewerEvent *event, guint64 *count, double *rate);
/* A change of it is under way. */
gboolean rs_viewer_event_busy(RsViewerEvent *event);

/* ---- for who keeps the tree (rs-viewer-events.h) ---- */

void rs_viewer_event_set_facts(RsViewerEvent *event, const RsViewerEventFacts *facts);
/* `dt`: seconds since the last one; 0: this is the first. Of an event. */
void rs_viewer_event_set_count(RsViewerEvent *event, guint64 count, double dt);
void rs_viewer_event_set_unknown_count(RsViewerEvent *event);
void rs_viewer_event_set_busy(RsViewerEvent *event, gboolean busy);
/* Of what has children: adds up what they say. */
void rs_viewer_event_sum_up(RsViewerEvent *event);

G_END_DECLS

#endif
