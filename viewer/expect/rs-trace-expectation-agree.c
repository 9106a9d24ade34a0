/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-expectation-private.h"

/* What is being looked at. */
typedef struct {
	const RsTraceSpec *spec;
	GHashTable *by_name; /* of those of events */
	/* Without bounds in time: what must be, and what must not. Text -> expectation. */
	GHashTable *events, *nevers, *serials, *serial_nevers;
	const RsTraceExpectation *exit, *end;
	gboolean has_events;
	GError **error;
} Looking;

static gboolean blame(Looking *l, const RsTraceExpectation *e, const char *key, const char *what)
{
	g_autofree char *group = g_strconcat("expect ", e->name, NULL);

	rs_trace_spec_blame(l->spec, group, key, l->error, "%s", what);
	return FALSE;
}

static gboolean contradicts(Looking *l, const RsTraceExpectation *e, const char *key,
			    const RsTraceExpectation *other)
{
	g_autofree char *group = g_strconcat("expect ", e->name, NULL);

	rs_trace_spec_blame(l->spec, group, key, l->error,
			    "this cannot be as well as '%s' in line %u", other->name, other->line);
	return FALSE;
}

static gboolean look_at_times(Looking *l, const RsTraceExpectation *e)
{
	const RsTraceExpectation *since =
		e->since ? g_hash_table_lookup(l->by_name, e->since) : NULL;

	if (e->until &&
	    (!g_hash_table_contains(l->by_name, e->until) || g_str_equal(e->until, e->name)))
		return blame(l, e, "until", "no other expectation of an event has that name");
	if (e->until && g_strcmp0(e->since, e->until) == 0)
		return blame(l, e, "until", "it would end where it begins");
	if (since && !since->most)
		return blame(l, e, "since", "that one is expected not to happen");
	return TRUE;
}

/* The same text among those that say the opposite. NULL: there is none. */
static const RsTraceExpectation *note(GHashTable *those, GHashTable *opposite,
				      const RsTraceExpectation *e)
{
	g_hash_table_insert(those, e->subject, (gpointer)e);
	return g_hash_table_lookup(opposite, e->subject);
}

static gboolean look_at_texts(Looking *l, const RsTraceExpectation *e)
{
	const RsTraceExpectation *other = NULL;
	const char *key = NULL;

	if (e->since || e->until)
		return TRUE;
	if ((e->kind == RS_TRACE_EXPECT_EVENT && e->least) || e->kind == RS_TRACE_EXPECT_EACH) {
		key = e->kind == RS_TRACE_EXPECT_EACH ? "each" : "event";
		other = note(l->events, l->nevers, e);
	} else if (e->kind == RS_TRACE_EXPECT_NEVER) {
		key = "never";
		other = note(l->nevers, l->events, e);
	} else if (e->kind == RS_TRACE_EXPECT_SERIAL && e->least) {
		key = "serial";
		other = note(l->serials, l->serial_nevers, e);
	} else if (e->kind == RS_TRACE_EXPECT_SERIAL_NEVER) {
		key = "serial-never";
		other = note(l->serial_nevers, l->serials, e);
	}
	return !other || contradicts(l, e, key, other);
}

static gboolean look_at_exit(Looking *l, const RsTraceExpectation *e)
{
	const RsTraceExpectation *other = l->exit;

	if (e->kind == RS_TRACE_EXPECT_END) {
		other = l->exit ? l->exit : l->end;
		l->end = e;
		return !other || (other != l->exit && g_str_equal(other->subject, e->subject)) ||
		       contradicts(l, e, "end", other);
	}
	if (e->kind != RS_TRACE_EXPECT_EXIT)
		return TRUE;
	if (l->end)
		return contradicts(l, e, "exit", l->end);
	l->exit = e;
	return !other || (e->least_code <= other->most_code && other->least_code <= e->most_code) ||
	       contradicts(l, e, "exit", other);
}

/* Of a trace without events nothing can be expected. */
static gboolean look_at_trace(Looking *l, const RsTraceExpectation *e)
{
	return l->has_events || e->kind > RS_TRACE_EXPECT_PAIR ||
	       blame(l, e, NULL, "no event is enabled, by 'enable' of [trace]");
}

gboolean rs_trace_expectations_agree(const RsTraceSpec *spec, const GPtrArray *all, GError **error)
{
	g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) events = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) nevers = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) serials = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) serial_nevers = g_hash_table_new(g_str_hash, g_str_equal);
	g_auto(GStrv) faults = rs_trace_spec_named(spec, "fault");
	Looking looking = {.spec = spec,
			   .by_name = by_name,
			   .events = events,
			   .nevers = nevers,
			   .serials = serials,
			   .serial_nevers = serial_nevers,
			   .has_events = *faults || rs_trace_spec_has(spec, "trace", "enable") ||
					 rs_trace_spec_has(spec, "trace", "host"),
			   .error = error};
	gboolean good = TRUE;

	for (guint i = 0; i < all->len; i++) {
		RsTraceExpectation *e = all->pdata[i];

		if (e->kind == RS_TRACE_EXPECT_EVENT)
			g_hash_table_insert(by_name, e->name, e);
	}
	for (guint i = 0; good && i < all->len; i++)
		good = look_at_trace(&looking, all->pdata[i]) &&
		       look_at_times(&looking, all->pdata[i]) &&
		       look_at_texts(&looking, all->pdata[i]) &&
		       look_at_exit(&looking, all->pdata[i]);
	return good;
}
