/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-describe.h"
#include "app/rs-viewer-time.h"
#include "rs-trace-escape.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

void rs_viewer_lost_add(RsViewerLost *lost, const RsTraceTimelineRing *ring, guint64 from,
			guint64 until)
{
	const RsTraceTimelineLoss *losses = (const RsTraceTimelineLoss *)ring->losses->data;
	guint i = rs_trace_timeline_loss_rank(ring, from);

	for (; i < ring->losses->len && losses[i].since < until && lost->room; i++) {
		lost->room--;
		lost->n += losses[i].lost;
		lost->beyond |= losses[i].since < from || losses[i].ns > until;
	}
}

static void describe_losses(GString *out, const RsTraceTimelineRing *ring, guint64 from,
			    guint64 until)
{
	RsViewerLost lost = {.room = RS_VIEWER_LOSSES_MAX};

	g_autofree char *number = NULL;

	rs_viewer_lost_add(&lost, ring, from, until);
	number = rs_viewer_number(lost.n);
	if (lost.n > 0)
		g_string_append_printf(
			out,
			ngettext("\n%s event lost here", "\n%s events lost here", (gulong)lost.n),
			number);
}

static void append_task(GString *out, const RsTraceTimelineTask *task)
{
	g_autofree char *comm = rs_trace_escape(task->comm, (gssize)strnlen(task->comm, 64), NULL);

	g_string_append_printf(out, "\n%s %u", comm, task->pid);
}

/* A span that lies at a moment. `until` G_MAXUINT64: it is the last one. */
typedef struct {
	guint64 from, until;
	guint32 tag;
} Span;

/* Before the first one it has the tag `none`, and begins at 0. */
static Span span_at(const RsTraceSeries *series, guint64 at, guint32 none)
{
	const guint64 index = rs_trace_series_rank(series, at + (at < G_MAXUINT64));
	Span span = {0, G_MAXUINT64, none};

	if (index > 0)
		rs_trace_series_read(series, index - 1, 1, &span.from, &span.tag);
	rs_trace_series_read(series, index, 1, &span.until, NULL);
	return span;
}

/* How long it is, if that is known. */
static void append_duration(GString *out, const Span *span)
{
	g_autofree char *duration = NULL;

	if (span->from == 0 || span->until == G_MAXUINT64)
		return;
	duration = rs_viewer_time_duration(span->until - span->from);
	g_string_append_printf(out, " · %s", duration);
}

/* Which task has the vCPU at that moment, and since when. */
static void describe_holder(GString *out, const RsTraceTimeline *all,
			    const RsTraceTimelineRing *ring, guint64 at)
{
	const Span span = span_at(ring->tasks, at, RS_TRACE_TASK_TAG_UNKNOWN);
	const RsTraceTimelineTask *task = rs_trace_timeline_task_of_tag(all, span.tag);

	if (task)
		append_task(out, task);
	else
		g_string_append_printf(
			out, "\n%s",
			span.tag == RS_TRACE_TASK_TAG_IDLE ? _("idle") : _("not known who had it"));
	append_duration(out, &span);
}

/* What an event says to have lasted at that moment, and how long. FALSE: there is none. */
static gboolean describe_lasting(GString *out, const RsTraceTimeline *all,
				 const RsTraceTimelineRing *ring, guint64 at)
{
	const guint64 index = rs_trace_series_rank(ring->lasting, at + (at < G_MAXUINT64));
	const RsTraceTimelineClass *class = NULL;
	g_autofree char *label = NULL, *duration = NULL;
	guint64 ns[2];
	guint32 tags[2];

	if (index > 0 && rs_trace_series_read(ring->lasting, index - 1, 2, ns, tags) == 2)
		class = rs_trace_timeline_class(all, tags[0]);
	if (!class)
		return FALSE;
	label = rs_trace_escape(class->label, -1, NULL);
	duration = rs_viewer_time_duration(ns[1] - ns[0]);
	g_string_append_printf(out, "\n%s · %s", label, duration);
	return TRUE;
}

void rs_viewer_describe_ring(GString *out, const RsTraceTimeline *timeline,
			     const RsTraceTimelineRing *ring, guint64 from, guint64 until)
{
	if (!describe_lasting(out, timeline, ring, from))
		describe_lasting(out, timeline, ring, until - 1);
	describe_holder(out, timeline, ring, from);
	describe_losses(out, ring, from, until);
}

/* Of all rings on which tasks of that machine may be. */
static guint64 count_lost_of(const RsTraceTimeline *all, guint machine, const Span *span)
{
	const RsTraceTimelineSource *source = NULL;
	const RsTraceTimelineRing *ring;
	RsViewerLost lost = {.room = RS_VIEWER_LOSSES_MAX};

	for (guint i = 0; (ring = rs_trace_timeline_ring(all, i)); i++) {
		if (ring->losses->len == 0)
			continue;
		if (!source || source->index != ring->source)
			source = rs_trace_timeline_source_of(all, ring->source);
		if (source && source->machine == machine)
			rs_viewer_lost_add(&lost, ring, span->from, span->until);
	}
	return lost.n;
}

void rs_viewer_describe_task(GString *out, const RsTraceTimeline *timeline,
			     const RsTraceTimelineTask *task, guint64 at)
{
	static const char *const states[RS_TRACE_STATES] = {N_("state not known"), N_("running"),
							    N_("runnable"),        N_("blocked"),
							    N_("stopped"),         N_("dead")};
	const Span span = span_at(task->states, at, RS_TRACE_STATE_UNKNOWN);
	g_autofree char *number = NULL;
	guint64 lost = 0;

	if (span.tag >= RS_TRACE_STATES)
		return;
	g_string_append_printf(out, "\n%s", _(states[span.tag]));
	append_duration(out, &span);
	if (span.tag == RS_TRACE_STATE_UNKNOWN)
		lost = count_lost_of(timeline, task->machine, &span);
	number = rs_viewer_number(lost);
	if (lost > 0)
		g_string_append_printf(out,
				       ngettext("\n%s event of this time was lost",
						"\n%s events of this time were lost", (gulong)lost),
				       number);
}
