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

typedef struct {
	RsTraceDistribution *ns;
} Group;

/* A key that has had a BEGIN. */
typedef struct {
	gboolean is_open;
	guint64 ns;
	guint64 losses; /* of its source, by then */
	Group *group;   /* NULL: it has none so far */
} Open;

struct _RsTraceLatency {
	RsTraceGlob *begin, *end;
	RsTraceColumn *keys[2];
	RsTraceColumn *by;   /* NULL: there are no groups */
	RsTraceKeys *groups; /* of Group */
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

/* A key is of its event, unless it names another: a field hides what every record has. */
static RsTraceColumn *new_key(const char *event, const char *key, GError **error)
{
	g_autofree char *name = NULL;

	if (*key && !strchr(key, '.'))
		name = g_strconcat(event, ".", key, NULL);
	return rs_trace_column_new(name ? name : key, error);
}

static gboolean take_keys(RsTraceLatency *latency, const char *pair, const char *key,
			  GError **error)
{
	g_autofree char *of_begin = NULL, *of_end = NULL, *clean = NULL;
	g_autofree char *begin = NULL, *end = NULL;

	split(pair, FALSE, &begin, &end);
	if (!split(key, TRUE, &of_begin, &of_end)) {
		clean = rs_trace_escape(key, -1, NULL);
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "'%s' is no FIELD or FIELD..FIELD", clean);
		return FALSE;
	}
	latency->keys[0] = new_key(begin, of_begin, error);
	latency->keys[1] = latency->keys[0] ? new_key(end, of_end, error) : NULL;
	return latency->keys[1] != NULL;
}

RsTraceLatency *rs_trace_latency_new(const char *pair, const char *key, GError **error)
{
	g_autoptr(RsTraceLatency) latency = g_new0(RsTraceLatency, 1);

	latency->ns = rs_trace_distribution_new();
	latency->open = rs_trace_keys_new(RS_TRACE_LATENCY_OPEN, sizeof(Open), NULL);
	if (!take_pair(latency, pair, error) || (key && !take_keys(latency, pair, key, error)))
		return NULL;
	return g_steal_pointer(&latency);
}

static void group_clear(gpointer data)
{
	rs_trace_distribution_free(((Group *)data)->ns);
}

gboolean rs_trace_latency_group_by(RsTraceLatency *latency, const char *column, GError **error)
{
	latency->by = rs_trace_column_new(column, error);
	if (!latency->by)
		return FALSE;
	latency->groups = rs_trace_keys_new(RS_TRACE_LATENCY_GROUPS, sizeof(Group), group_clear);
	return TRUE;
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
	rs_trace_column_free(latency->by);
	rs_trace_keys_free(latency->groups);
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
	if (rs_trace_column_get(latency->keys[which], item, out)) {
		/* Two events may call the same number different names. */
		if (out->kind != RS_TRACE_CELL_TEXT)
			*out = (RsTraceCell){.number = out->number};
		return TRUE;
	}
	latency->result.without_key++;
	return FALSE;
}

static guint64 losses_of(const RsTraceLatency *latency, guint source)
{
	return latency->losses[source % SOURCES];
}

/* NULL: the record has no such column. */
static Group *group_of(RsTraceLatency *latency, const RsTraceSample *item)
{
	RsTraceCell cell;

	if (!latency->by || !rs_trace_column_get(latency->by, item, &cell))
		return NULL;
	return rs_trace_keys_get(latency->groups, 0, &cell);
}

static void add_pair(RsTraceLatency *latency, Group *group, guint64 ns)
{
	rs_trace_distribution_add(latency->ns, ns);
	latency->result.newest = ns;
	if (!group)
		return;
	if (!group->ns)
		group->ns = rs_trace_distribution_new();
	rs_trace_distribution_add(group->ns, ns);
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
		add_pair(latency, open->group ? open->group : group_of(latency, item),
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
	*open = (Open){TRUE, item->record->ns, losses_of(latency, item->source_index),
		       group_of(latency, item)};
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

guint64 rs_trace_latency_open_since(const RsTraceLatency *latency, guint64 ns)
{
	g_autoptr(GPtrArray) keys = rs_trace_keys_list(latency->open);
	guint64 n = 0;

	for (guint i = 0; i < keys->len; i++) {
		const RsTraceKey *key = keys->pdata[i];
		const Open *open = key->value;

		n += open->is_open && open->ns <= ns &&
		     open->losses == losses_of(latency, key->source);
	}
	return n;
}

static gint compare_groups(gconstpointer a, gconstpointer b)
{
	const RsTraceLatencyGroup *x = a, *y = b;
	const guint64 nx = rs_trace_distribution_count(x->ns);
	const guint64 ny = rs_trace_distribution_count(y->ns);

	if (x->is_other != y->is_other)
		return x->is_other ? 1 : -1;
	return nx != ny ? (nx > ny ? -1 : 1) : strcmp(x->label, y->label);
}

GArray *rs_trace_latency_groups(const RsTraceLatency *latency, GError **error)
{
	g_autoptr(GPtrArray) keys = latency->groups ? rs_trace_keys_list(latency->groups) : NULL;
	GArray *groups;

	if (latency->by && !rs_trace_column_require(latency->by, NULL, error))
		return NULL;
	groups = g_array_new(FALSE, FALSE, sizeof(RsTraceLatencyGroup));
	for (guint i = 0; keys && i < keys->len; i++) {
		const RsTraceKey *key = keys->pdata[i];
		const RsTraceLatencyGroup group = {key->label, key->is_other,
						   ((const Group *)key->value)->ns};

		/* A BEGIN without a partner has a group without a pair. */
		if (group.ns)
			g_array_append_val(groups, group);
	}
	g_array_sort(groups, compare_groups);
	return groups;
}
