/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-event.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

struct _RsViewerEvent {
	GObject object;
	RsViewerEventKind kind;
	char *name, *label, *source;
	guint32 source_number, id;
	GListStore *children;
	guint all, on;
	char *filter, *own_filter, *remark;
	guint64 count;
	double rate;
	gboolean counted;
	guint busy;
};

G_DEFINE_FINAL_TYPE(RsViewerEvent, rs_viewer_event, G_TYPE_OBJECT)

static guint changed_signal;

RsViewerEvent *rs_viewer_event_new(RsViewerEventKind kind, RsViewerEvent *parent, const char *name,
				   guint32 source_number, guint32 id)
{
	RsViewerEvent *event = g_object_new(RS_VIEWER_TYPE_EVENT, NULL);

	event->kind = kind;
	event->source = g_strdup(parent ? parent->source : name);
	event->name = rs_trace_escape(name, -1, NULL);
	event->label = kind == RS_VIEWER_EVENT_EVENT
			       ? g_strconcat(parent->name, ":", event->name, NULL)
			       : g_strdup(event->name);
	event->source_number = source_number;
	event->id = id;
	event->all = kind == RS_VIEWER_EVENT_EVENT;
	if (kind != RS_VIEWER_EVENT_EVENT)
		event->children = g_list_store_new(RS_VIEWER_TYPE_EVENT);
	return event;
}

/* ---- what is told ---- */

RsViewerEventKind rs_viewer_event_kind(RsViewerEvent *event)
{
	return event->kind;
}

const char *rs_viewer_event_source(RsViewerEvent *event)
{
	return event->source;
}

const char *rs_viewer_event_name(RsViewerEvent *event)
{
	return event->name;
}

const char *rs_viewer_event_label(RsViewerEvent *event)
{
	return event->label;
}

guint32 rs_viewer_event_source_number(RsViewerEvent *event)
{
	return event->source_number;
}

GListStore *rs_viewer_event_children(RsViewerEvent *event)
{
	return event->children;
}

RsViewerEventState rs_viewer_event_state(RsViewerEvent *event)
{
	return !event->on                ? RS_VIEWER_EVENT_OFF
	       : event->on == event->all ? RS_VIEWER_EVENT_ON
					 : RS_VIEWER_EVENT_MIXED;
}

const char *rs_viewer_event_filter(RsViewerEvent *event)
{
	return event->filter ? event->filter : "";
}

const char *rs_viewer_event_own_filter(RsViewerEvent *event)
{
	return event->own_filter ? event->own_filter : "";
}

const char *rs_viewer_event_remark(RsViewerEvent *event)
{
	return event->remark ? event->remark : "";
}

gboolean rs_viewer_event_count(RsViewerEvent *event, guint64 *count, double *rate)
{
	*count = event->count;
	*rate = event->rate;
	return event->counted;
}

gboolean rs_viewer_event_busy(RsViewerEvent *event)
{
	return event->busy > 0;
}

/* ---- what changes ---- */

static void tell(RsViewerEvent *event)
{
	g_signal_emit(event, changed_signal, 0);
}

/* Takes `value`. Whether it is another one. */
static gboolean replace(char **text, char *value)
{
	const gboolean other = g_strcmp0(*text, value) != 0;

	g_free(*text);
	*text = value;
	return other;
}

static void add_remark(GString *out, char *text)
{
	g_autofree char *owned G_GNUC_UNUSED = text, *safe = rs_trace_escape(text, -1, NULL);

	g_string_append_printf(out, "%s%s", out->len ? " · " : "", safe);
}

static char *remark_of(const RsViewerEventFacts *facts)
{
	g_autoptr(GString) out = g_string_new(NULL);

	if (facts->filter && *facts->filter)
		add_remark(out, g_strdup_printf(_("if %s"), facts->filter));
	if (facts->stack)
		add_remark(out, g_strdup_printf(ngettext("with %u frame of stack",
							 "with %u frames of stack", facts->stack),
						facts->stack));
	if (facts->others && *facts->others)
		add_remark(out, g_strdup_printf(facts->own ? _("also for %s") : _("for %s"),
						facts->others));
	if (facts->note && *facts->note)
		add_remark(out, g_strdup(facts->note));
	return g_strdup(out->str);
}

void rs_viewer_event_set_facts(RsViewerEvent *event, const RsViewerEventFacts *facts)
{
	const guint on = facts->enabled ? 1 : 0;
	gboolean other = event->on != on;

	event->on = on;
	other |= replace(&event->filter, g_strdup(facts->filter));
	other |= replace(&event->own_filter, g_strdup(facts->mine));
	other |= replace(&event->remark, remark_of(facts));
	if (other)
		tell(event);
}

void rs_viewer_event_set_count(RsViewerEvent *event, guint64 count, double dt)
{
	const guint64 more = count > event->count ? count - event->count : 0;
	const double rate = event->counted && dt > 0 ? (double)more / dt : 0;
	const gboolean other = !event->counted || count != event->count || rate != event->rate;

	event->counted = TRUE;
	event->count = count;
	event->rate = rate;
	if (other)
		tell(event);
}

void rs_viewer_event_set_unknown_count(RsViewerEvent *event)
{
	if (!event->counted)
		return;
	event->counted = FALSE;
	event->count = 0;
	event->rate = 0;
	tell(event);
}

void rs_viewer_event_set_busy(RsViewerEvent *event, gboolean busy)
{
	if (!busy && !event->busy)
		return;
	event->busy += busy ? 1u : -1u;
	tell(event);
}

void rs_viewer_event_sum_up(RsViewerEvent *event)
{
	const RsViewerEvent before = *event;
	const guint n = g_list_model_get_n_items(G_LIST_MODEL(event->children));

	event->all = event->on = 0;
	event->count = 0;
	event->rate = 0;
	event->counted = n > 0;
	for (guint i = 0; i < n; i++) {
		g_autoptr(RsViewerEvent) child =
			g_list_model_get_item(G_LIST_MODEL(event->children), i);

		event->all += child->all;
		event->on += child->on;
		event->count += child->count;
		event->rate += child->rate;
		event->counted &= child->counted;
	}
	if (event->all != before.all || event->on != before.on || event->count != before.count ||
	    event->rate != before.rate || event->counted != before.counted)
		tell(event);
}

/* ---- the object ---- */

static void finalize(GObject *object)
{
	RsViewerEvent *event = RS_VIEWER_EVENT(object);

	g_free(event->name);
	g_free(event->label);
	g_free(event->source);
	g_free(event->filter);
	g_free(event->own_filter);
	g_free(event->remark);
	g_clear_object(&event->children);
	G_OBJECT_CLASS(rs_viewer_event_parent_class)->finalize(object);
}

static void rs_viewer_event_class_init(RsViewerEventClass *class)
{
	G_OBJECT_CLASS(class)->finalize = finalize;
	changed_signal = g_signal_new("changed", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
				      NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void rs_viewer_event_init(RsViewerEvent *event)
{
}
