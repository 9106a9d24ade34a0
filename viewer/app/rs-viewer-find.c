/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-find.h"

#include <string.h>

#include "filter/rs-trace-event-glob.h"

#define POLL_MS 50
/* Matches that may have no row in the list, at one go: it has not come that far itself. */
#define TRIES 256u

struct _RsViewerFind {
	GObject parent_instance;
	RsTraceDocument *document;
	RsTraceTimeline *shown; /* in which it looks */
	RsViewerFindKind kind;
	char *what;               /* NULL: nothing */
	RsTraceTimeline *matches; /* of TEXT and FILTER; NULL: none yet */
	RsTraceGlob *glob;        /* of EVENT */

	gboolean busy;
	guint64 row; /* from which it looks */
	gboolean itself, forward;
	GCancellable *cancellable; /* of EVENT */
	guint poll;
};

G_DEFINE_FINAL_TYPE(RsViewerFind, rs_viewer_find, G_TYPE_OBJECT)

enum { CHANGED, FOUND, MISSING, N_SIGNALS };
static guint signals[N_SIGNALS];

static void stop(RsViewerFind *self)
{
	self->busy = FALSE;
	g_cancellable_cancel(self->cancellable);
	g_clear_object(&self->cancellable);
	g_clear_handle_id(&self->poll, g_source_remove);
}

static void end(RsViewerFind *self, guint64 row, gboolean wrapped)
{
	g_autoptr(RsViewerFind) keep G_GNUC_UNUSED = g_object_ref(self);
	g_autoptr(GError) error = NULL;

	stop(self);
	if (self->matches)
		rs_trace_document_pick_progress(self->document, self->matches, &error);
	g_signal_emit(self, signals[CHANGED], 0);
	if (row == G_MAXUINT64)
		g_signal_emit(self, signals[MISSING], 0, error ? error->message : NULL);
	else
		g_signal_emit(self, signals[FOUND], 0, row, wrapped);
}

/* ---- from a match to its row ---- */

/* What a row is in any timeline of the document. */
typedef struct {
	guint source, ring;
	guint64 ns, nth; /* of the shown ones of its ring and time */
} Place;

static gboolean place_of(RsViewerFind *self, guint64 match, Place *place)
{
	const RsTraceTimelineRing *ring = NULL;
	RsTraceTimelineRow at;

	rs_trace_timeline_lock(self->matches);
	if (rs_trace_timeline_rows(self->matches, match, 1, &at))
		ring = rs_trace_timeline_ring(self->matches, at.ring);
	if (ring)
		*place = (Place){ring->source, ring->ring, at.ns, 0};
	rs_trace_timeline_unlock(self->matches);
	if (ring)
		place->nth = rs_trace_document_search_nth(self->document, self->matches,
							  place->source, place->ring, at.index);
	return ring != NULL;
}

/* G_MAXUINT64: it has no such row, or not yet. */
static guint64 row_of(RsTraceTimeline *timeline, const Place *place)
{
	const RsTraceTimelineRing *ring;
	guint64 row = G_MAXUINT64, item, ns;

	rs_trace_timeline_lock(timeline);
	for (guint n = 0; (ring = rs_trace_timeline_ring(timeline, n)); n++) {
		if (ring->source != place->source || ring->ring != place->ring)
			continue;
		item = rs_trace_series_rank(ring->events, place->ns) + place->nth;
		if (rs_trace_series_read(ring->events, item, 1, &ns, NULL) && ns == place->ns)
			row = rs_trace_timeline_row_of(timeline, n, item);
		break;
	}
	rs_trace_timeline_unlock(timeline);
	return row;
}

/* ---- among matches ---- */

/* All classes, but that a filter's losses and boots are no matches. */
static guint32 *wanted_of(RsViewerFind *self, guint *n)
{
	guint32 *wanted;

	*n = RS_TRACE_TIMELINE_CLASSES;
	wanted = g_new(guint32, *n / 32);
	memset(wanted, 0xff, *n / 8);
	if (self->kind == RS_VIEWER_FIND_FILTER)
		wanted[0] &= ~(1u << RS_TRACE_CLASS_LOSS | 1u << RS_TRACE_CLASS_BOOT);
	return wanted;
}

static guint64 next_match(RsViewerFind *self, guint64 match, gboolean forward)
{
	g_autofree guint32 *wanted = NULL;
	guint n;

	wanted = wanted_of(self, &n);
	rs_trace_timeline_lock(self->matches);
	match = rs_trace_timeline_find(self->matches, match, forward, wanted, n);
	rs_trace_timeline_unlock(self->matches);
	return match;
}

static guint64 n_matches(RsViewerFind *self)
{
	guint64 n;

	rs_trace_timeline_lock(self->matches);
	n = rs_trace_timeline_n_rows(self->matches);
	rs_trace_timeline_unlock(self->matches);
	return n;
}

/* Whether a row lies on that side of where it looks from. */
static gboolean is_there(RsViewerFind *self, guint64 row)
{
	if (row == self->row)
		return self->itself;
	return self->forward ? row > self->row : row < self->row;
}

/* Whether there are rows from that time on. */
static gboolean has_from(RsTraceTimeline *timeline, guint64 ns)
{
	gboolean has;

	rs_trace_timeline_lock(timeline);
	has = rs_trace_timeline_rank(timeline, ns) < rs_trace_timeline_n_rows(timeline);
	rs_trace_timeline_unlock(timeline);
	return has;
}

/*
 * The first match from there on that has a row, and one on the right side unless `any`. Of matches
 * with one time the shown rows may have another order: their rings are numbered otherwise.
 */
static guint64 walk(RsViewerFind *self, guint64 match, gboolean any)
{
	guint64 best = G_MAXUINT64, ns = 0;

	for (guint i = 0; i < TRIES; i++) {
		Place place;
		guint64 row;

		match = next_match(self, match, self->forward);
		if (match == G_MAXUINT64 || !place_of(self, match, &place) ||
		    (best != G_MAXUINT64 && place.ns != ns))
			break;
		row = row_of(self->shown, &place);
		/* The list has not come that far: none of those behind it has a row, either. */
		if (row == G_MAXUINT64 && self->forward && !has_from(self->shown, place.ns))
			break;
		if (row != G_MAXUINT64 && (any || is_there(self, row)) &&
		    (best == G_MAXUINT64 || (self->forward ? row < best : row > best))) {
			best = row;
			ns = place.ns;
		}
		if (!self->forward && !match)
			break;
		match += self->forward ? 1 : -1;
	}
	return best;
}

/* When the row was from which it looks; the end's if there is no such row. */
static guint64 moment(RsViewerFind *self)
{
	RsTraceTimelineRow at;
	guint n;

	rs_trace_timeline_lock(self->shown);
	n = rs_trace_timeline_rows(self->shown, self->row, 1, &at);
	rs_trace_timeline_unlock(self->shown);
	return n ? at.ns : G_MAXUINT64;
}

static guint64 rank(RsTraceTimeline *timeline, guint64 ns)
{
	guint64 n;

	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_rank(timeline, ns);
	rs_trace_timeline_unlock(timeline);
	return n;
}

/* More matches come in after the first was found. */
static void on_grown(RsViewerFind *self)
{
	if (self->matches)
		g_signal_emit(self, signals[CHANGED], 0);
}

static gboolean is_complete(RsViewerFind *self)
{
	return rs_trace_document_pick_progress(self->document, self->matches, NULL) >= 1;
}

/* Looks among what there is. FALSE: more must come first. */
static gboolean look(RsViewerFind *self)
{
	gboolean complete = is_complete(self); /* before it looks: what comes later may be missed */
	guint64 ns = moment(self), n = n_matches(self), row = G_MAXUINT64, from;

	if (self->forward) {
		from = rank(self->matches, ns);
		row = from < n ? walk(self, from, FALSE) : G_MAXUINT64;
	} else {
		from = rank(self->matches, ns < G_MAXUINT64 ? ns + 1 : ns);
		/* What is before a moment is known once there is something behind it. */
		if (!complete && from == n)
			return FALSE;
		row = from ? walk(self, from - 1, FALSE) : G_MAXUINT64;
	}
	if (row != G_MAXUINT64) {
		end(self, row, FALSE);
		return TRUE;
	}
	if (!complete)
		return FALSE;
	n = n_matches(self);
	end(self, n ? walk(self, self->forward ? 0 : n - 1, TRUE) : G_MAXUINT64, TRUE);
	return TRUE;
}

static gboolean poll_matches(gpointer data)
{
	RsViewerFind *self = data;
	g_autoptr(RsViewerFind) keep G_GNUC_UNUSED = g_object_ref(self);

	g_signal_emit(self, signals[CHANGED], 0);
	if (self->busy && self->poll)
		look(self);
	return self->poll ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean begin_matches(RsViewerFind *self, GError **error)
{
	gboolean is_text = self->kind == RS_VIEWER_FIND_TEXT;

	g_clear_pointer(&self->matches, rs_trace_timeline_unref);
	self->matches = rs_trace_document_search(self->document, is_text ? NULL : self->what,
						 is_text ? self->what : NULL, error);
	return self->matches != NULL;
}

/* ---- by classes ---- */

typedef struct {
	RsTraceTimeline *timeline;
	guint64 row, found;
	gboolean itself, forward, wrapped;
	guint32 *wanted;
	guint n_wanted;
} Classes;

static void free_classes(gpointer data)
{
	Classes *classes = data;

	rs_trace_timeline_unref(classes->timeline);
	g_free(classes->wanted);
	g_free(classes);
}

static guint64 find_class(const Classes *classes, guint64 from)
{
	guint64 found;

	rs_trace_timeline_lock(classes->timeline);
	found = rs_trace_timeline_find(classes->timeline, from, classes->forward, classes->wanted,
				       classes->n_wanted);
	rs_trace_timeline_unlock(classes->timeline);
	return found;
}

static void find_classes(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	Classes *classes = data;
	guint64 from = classes->row;

	classes->found = G_MAXUINT64;
	if (classes->itself)
		classes->found = find_class(classes, from);
	else if (classes->forward && from < G_MAXUINT64)
		classes->found = find_class(classes, from + 1);
	else if (!classes->forward && from)
		classes->found = find_class(classes, from - 1);
	if (classes->found == G_MAXUINT64) {
		classes->wrapped = TRUE;
		classes->found = find_class(classes, classes->forward ? 0 : G_MAXUINT64 - 1);
	}
	g_task_return_boolean(task, TRUE);
}

static void found_class(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerFind) self = data;
	const Classes *classes = g_task_get_task_data(G_TASK(result));

	if (g_task_propagate_boolean(G_TASK(result), NULL))
		end(self, classes->found, classes->wrapped);
}

static gboolean is_wanted(RsViewerFind *self, guint number, const RsTraceTimelineClass *class)
{
	if (number == RS_TRACE_CLASS_LOSS || number == RS_TRACE_CLASS_BOOT)
		return !g_ascii_strcasecmp(self->what, class->label);
	return rs_trace_glob_matches(self->glob, class->label);
}

static void begin_classes(RsViewerFind *self)
{
	g_autoptr(GTask) task = NULL;
	Classes *classes = g_new0(Classes, 1);
	const RsTraceTimelineClass *class;

	classes->timeline = rs_trace_timeline_ref(self->shown);
	classes->row = self->row;
	classes->itself = self->itself;
	classes->forward = self->forward;
	classes->n_wanted = RS_TRACE_TIMELINE_CLASSES;
	classes->wanted = g_new0(guint32, classes->n_wanted / 32);
	rs_trace_timeline_lock(self->shown);
	for (guint i = 0; (class = rs_trace_timeline_class(self->shown, i)); i++)
		if (i < classes->n_wanted && is_wanted(self, i, class))
			classes->wanted[i / 32] |= 1u << i % 32;
	rs_trace_timeline_unlock(self->shown);
	self->cancellable = g_cancellable_new();
	/* Its source would end in the thread if that is the last that has the task. */
	task = g_task_new(NULL, self->cancellable, found_class, g_object_ref(self));
	g_task_set_task_data(task, classes, free_classes);
	g_task_run_in_thread(task, find_classes);
}

/* ---- the object ---- */

/*
 * Another filter has come: rows have other numbers. Who wants to, searches again. The former filter
 * and the search in it go on as long as somebody has their timelines.
 */
static void on_changed(RsViewerFind *self)
{
	if (!self->shown || self->shown == rs_trace_document_shown(self->document))
		return;
	stop(self);
	g_clear_pointer(&self->matches, rs_trace_timeline_unref);
	g_clear_pointer(&self->shown, rs_trace_timeline_unref);
	g_signal_emit(self, signals[CHANGED], 0);
}

static void look_at_shown(RsViewerFind *self)
{
	if (!self->shown)
		self->shown = rs_trace_timeline_ref(rs_trace_document_shown(self->document));
}

gboolean rs_viewer_find_set(RsViewerFind *self, RsViewerFindKind kind, const char *what,
			    GError **error)
{
	g_autofree char *pattern = NULL;

	if (self->what && self->kind == kind && !strcmp(self->what, what))
		return TRUE;
	stop(self);
	self->kind = kind;
	g_clear_pointer(&self->what, g_free);
	g_clear_pointer(&self->matches, rs_trace_timeline_unref);
	g_clear_pointer(&self->glob, rs_trace_glob_free);
	if (!*what)
		return TRUE;
	if (kind == RS_VIEWER_FIND_EVENT) {
		pattern = strchr(what, ':') ? g_strdup(what) : g_strconcat("*", what, "*", NULL);
		self->glob = rs_trace_name_glob_new(pattern, error);
		if (!self->glob)
			return FALSE;
	}
	self->what = g_strdup(what);
	if (kind == RS_VIEWER_FIND_EVENT)
		return TRUE;
	look_at_shown(self);
	if (begin_matches(self, error))
		return TRUE;
	g_clear_pointer(&self->what, g_free);
	return FALSE;
}

void rs_viewer_find_next(RsViewerFind *self, guint64 row, gboolean itself, gboolean forward)
{
	stop(self);
	if (!self->what)
		return;
	look_at_shown(self);
	self->row = row;
	self->itself = itself;
	self->forward = forward;
	self->busy = TRUE;
	if (self->kind == RS_VIEWER_FIND_EVENT)
		begin_classes(self);
	else if (!self->matches && !begin_matches(self, NULL))
		end(self, G_MAXUINT64, FALSE);
	else if (!look(self))
		self->poll = g_timeout_add(POLL_MS, poll_matches, self);
	g_signal_emit(self, signals[CHANGED], 0);
}

void rs_viewer_find_cancel(RsViewerFind *self)
{
	if (!self->busy && !self->matches)
		return;
	stop(self);
	/* What was found is of another text than the one that is there now. */
	g_clear_pointer(&self->matches, rs_trace_timeline_unref);
	g_signal_emit(self, signals[CHANGED], 0);
}

gboolean rs_viewer_find_is_busy(RsViewerFind *self)
{
	return self->busy;
}

double rs_viewer_find_progress(RsViewerFind *self)
{
	return self->matches ? rs_trace_document_pick_progress(self->document, self->matches, NULL)
			     : -1;
}

gboolean rs_viewer_find_count(RsViewerFind *self, guint64 *count, gboolean *all)
{
	const RsTraceTimelineClass *class;

	if (!self->matches)
		return FALSE;
	*all = is_complete(self);
	*count = n_matches(self);
	if (self->kind != RS_VIEWER_FIND_FILTER)
		return TRUE;
	rs_trace_timeline_lock(self->matches);
	for (guint i = RS_TRACE_CLASS_LOSS; i <= RS_TRACE_CLASS_BOOT; i++) {
		class = rs_trace_timeline_class(self->matches, i);
		*count -= class ? MIN(class->count, *count) : 0;
	}
	rs_trace_timeline_unlock(self->matches);
	return TRUE;
}

RsViewerFind *rs_viewer_find_new(RsTraceDocument *document)
{
	RsViewerFind *self = g_object_new(RS_VIEWER_TYPE_FIND, NULL);

	self->document = g_object_ref(document);
	g_signal_connect_object(document, "grown", G_CALLBACK(on_grown), self, G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "changed", G_CALLBACK(on_changed), self,
				G_CONNECT_SWAPPED);
	return self;
}

static void dispose(GObject *object)
{
	RsViewerFind *self = RS_VIEWER_FIND(object);

	stop(self);
	g_clear_pointer(&self->what, g_free);
	g_clear_pointer(&self->matches, rs_trace_timeline_unref);
	g_clear_pointer(&self->shown, rs_trace_timeline_unref);
	g_clear_pointer(&self->glob, rs_trace_glob_free);
	g_clear_object(&self->document);
	G_OBJECT_CLASS(rs_viewer_find_parent_class)->dispose(object);
}

static void rs_viewer_find_class_init(RsViewerFindClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	signals[CHANGED] = g_signal_new("changed", RS_VIEWER_TYPE_FIND, G_SIGNAL_RUN_LAST, 0, NULL,
					NULL, NULL, G_TYPE_NONE, 0);
	signals[FOUND] = g_signal_new("found", RS_VIEWER_TYPE_FIND, G_SIGNAL_RUN_LAST, 0, NULL,
				      NULL, NULL, G_TYPE_NONE, 2, G_TYPE_UINT64, G_TYPE_BOOLEAN);
	signals[MISSING] = g_signal_new("missing", RS_VIEWER_TYPE_FIND, G_SIGNAL_RUN_LAST, 0, NULL,
					NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void rs_viewer_find_init(RsViewerFind *self)
{
}
