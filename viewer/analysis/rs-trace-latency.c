/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-latency.h"

#include "analysis/rs-trace-keys.h"
#include "rs-trace-error.h"
#include "rs-trace-escape.h"
#include "rs-trace-glob.h"

#include <string.h>

#define RECENT 256u /* events of which it is known what they are; a power of 2 */
#define IS_BEGIN 1u
#define IS_END 2u
/*
 * Of more sources, two share a number, and a loss of one is taken for one of both. A power of 2.
 */
#define SOURCES 1024u

/* A key that has had a BEGIN. */
typedef struct {
	gboolean is_open;
	guint64 ns;
	guint64 losses; /* of its source, by then */
} Open;

struct _RsTraceLatency {
	RsTraceGlob *begin, *end;
	RsTraceColumn *keys[2];
	RsTraceDistribution *ns;
	RsTraceKeys *open;       /* of Open */
	guint n_open;            /* that are open */
	guint64 losses[SOURCES]; /* how many gaps, by the source's index */
	RsTraceLatencyResult result;
	struct {
		guint64 unique;
		guint role; /* IS_* */
	} recent[RECENT];
};

/* Both halves of "A..B", or of "A" if one is enough. */
static gboolean split(const char *text, gboolean one_is_enough, char **first, char **second)
{
	const char *dots = strstr(text, "..");

	if (!dots && !one_is_enough)
		return FALSE;
	*first = dots ? g_strndup(text, (gsize)(dots - text)) : g_strdup(text);
	*second = g_strdup(dots ? dots + 2 : text);
	return **first && **second;
}

static gboolean take_pair(RsTraceLatency *latency, const char *pair, GError **error)
{
	g_autofree char *begin = NULL, *end = NULL, *clean = NULL;

	if (split(pair, FALSE, &begin, &end)) {
		latency->begin = rs_trace_glob_new(begin);
		latency->end = rs_trace_glob_new(end);
		if (latency->begin && latency->end)
			return TRUE;
	}
	clean = rs_trace_escape(pair, -1, NULL);
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
		    "'%s' is no pair of events, such as sched:wakeup..sched:switch", clean);
	return FALSE;
}

static gboolean take_keys(RsTraceLatency *latency, const char *key, GError **error)
{
	g_autofree char *of_begin = NULL, *of_end = NULL, *clean = NULL;

	if (!split(key, TRUE, &of_begin, &of_end)) {
		clean = rs_trace_escape(key, -1, NULL);
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "'%s' is no FIELD or FIELD..FIELD", clean);
		return FALSE;
	}
	latency->keys[0] = rs_trace_column_new(of_begin, error);
	latency->keys[1] = latency->keys[0] ? rs_trace_column_new(of_end, error) : NULL;
	return latency->keys[1] != NULL;
}

RsTraceLatency *rs_trace_latency_new(const char *pair, const char *key, GError **error)
{
	g_autoptr(RsTraceLatency) latency = g_new0(RsTraceLatency, 1);

	latency->ns = rs_trace_distribution_new();
	latency->open = rs_trace_keys_new(RS_TRACE_LATENCY_OPEN, sizeof(Open), NULL);
	if (!take_pair(latency, pair, error) || (key && !take_keys(latency, key, error)))
		return NULL;
	return g_steal_pointer(&latency);
}

void rs_trace_latency_free(RsTraceLatency *latency)
{
	if (!latency)
		return;
	rs_trace_glob_free(latency->begin);
	rs_trace_glob_free(latency->end);
	rs_trace_column_free(latency->keys[0]);
	rs_trace_column_free(latency->keys[1]);
	rs_trace_distribution_free(latency->ns);
	rs_trace_keys_free(latency->open);
	g_free(latency);
}

/* ---- records ---- */

static guint role_of(RsTraceLatency *latency, const RsTraceEvent *event)
{
	const guint at = event->unique % RECENT;

	if (latency->recent[at].unique != event->unique) {
		latency->recent[at].unique = event->unique;
		latency->recent[at].role =
			(rs_trace_glob_matches_event(latency->begin, event) ? IS_BEGIN : 0) |
			(rs_trace_glob_matches_event(latency->end, event) ? IS_END : 0);
	}
	return latency->recent[at].role;
}

static gboolean take_key(RsTraceLatency *latency, guint which, const RsTraceSample *item,
			 RsTraceCell *out)
{
	if (!latency->keys[which]) {
		*out = (RsTraceCell){.kind = RS_TRACE_CELL_NAMED, .number = item->record->pid};
		return TRUE;
	}
	if (rs_trace_column_get(latency->keys[which], item, out))
		return TRUE;
	latency->result.without_key++;
	return FALSE;
}

static guint64 losses_of(const RsTraceLatency *latency, guint source)
{
	return latency->losses[source % SOURCES];
}

static void end(RsTraceLatency *latency, const RsTraceSample *item, const RsTraceCell *key)
{
	Open *open = rs_trace_keys_find(latency->open, item->source_index, key);

	if (!open || !open->is_open) {
		latency->result.ends++;
		return;
	}
	open->is_open = FALSE;
	latency->n_open--;
	if (open->losses != losses_of(latency, item->source_index))
		latency->result.spanning++;
	else
		rs_trace_distribution_add(latency->ns,
					  item->record->ns - MIN(open->ns, item->record->ns));
}

/* Forgets the keys that are not open, if that makes room for as many again. */
static gboolean make_room(RsTraceLatency *latency)
{
	g_autoptr(GPtrArray) keys = NULL;

	if (latency->n_open > RS_TRACE_LATENCY_OPEN / 2)
		return FALSE;
	keys = rs_trace_keys_list(latency->open);
	for (guint i = 0; i < keys->len; i++) {
		Open *open = ((RsTraceKey *)keys->pdata[i])->value;

		if (!open->is_open)
			rs_trace_keys_remove(latency->open, open);
	}
	return TRUE;
}

static void begin(RsTraceLatency *latency, const RsTraceSample *item, const RsTraceCell *key)
{
	Open *open = rs_trace_keys_find(latency->open, item->source_index, key);

	if (!open) {
		if (rs_trace_keys_n(latency->open) >= RS_TRACE_LATENCY_OPEN &&
		    !make_room(latency)) {
			latency->result.refused++;
			return;
		}
		open = rs_trace_keys_get(latency->open, item->source_index, key);
	}
	if (open->is_open)
		latency->result.begins++;
	else
		latency->n_open++;
	*open = (Open){TRUE, item->record->ns, losses_of(latency, item->source_index)};
}

void rs_trace_latency_add(RsTraceLatency *latency, const RsTraceSample *item)
{
	const RsTraceRecord *record = item->record;
	RsTraceCell key;
	guint role;

	if (record->kind == RS_TRACE_RECORD_LOSS)
		latency->losses[item->source_index % SOURCES]++;
	if (record->kind != RS_TRACE_RECORD_EVENT || !record->event)
		return;
	role = role_of(latency, record->event);
	if ((role & IS_END) && take_key(latency, 1, item, &key))
		end(latency, item, &key);
	if ((role & IS_BEGIN) && take_key(latency, 0, item, &key))
		begin(latency, item, &key);
}

void rs_trace_latency_result(const RsTraceLatency *latency, RsTraceLatencyResult *out)
{
	*out = latency->result;
	out->ns = latency->ns;
	out->begins += latency->n_open;
}
