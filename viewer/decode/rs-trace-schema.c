/* SPDX-License-Identifier: MIT */
#include "rs-trace-schema.h"
#include "rs-trace-descriptor-private.h"
#include "rs-trace-escape.h"

#include <ringside/record.h>

#include <stdlib.h>
#include <string.h>

/* A provider with its events. */
typedef struct {
	RsTraceProvider provider; /* first, so that an event's provider can be cast to its Life */
	guint64 desc_offset, desc_size; /* where its descriptors lie, for is_same() */
	gboolean refused;  /* another provider has these bytes, so this one has no events */
	GPtrArray *events; /* owned RsTraceDescriptor, in order of id */
	gsize bytes;       /* memory that all of it takes */
	RsTraceDescriptorPool *pool; /* NULL, or where it counts */
	guint64 born;                /* number of this life, in order of birth */
	guint64 taken;               /* grows too; of two events with one name, the larger counts */
} Life;

#define IDS 64u
/*
 * Of IDS ids, that follow each other: arrays of RsTraceDescriptor, not owned, in order of their
 * providers' start.
 */
typedef struct {
	GPtrArray *events[IDS];
} Ids;

struct _RsTraceSchema {
	GPtrArray *slots; /* of Life, by slot, may hold NULL: the providers that have a slot now */
	GQueue retired;   /* of Life, oldest first: providers that have lost their slot */
	gsize retired_bytes;
	/* By id in two steps, so that one event with a large id costs little. May hold NULL. */
	Ids **by_id;
	guint n_by_id;               /* Ids * that there is room for */
	RsTraceDescriptorPool *pool; /* NULL: its descriptors are its own */
	guint64 n_taken;
	/* Made from `slots` when they are needed. */
	gboolean listed;
	GPtrArray *events; /* of RsTraceDescriptor, not owned, in order of id */
	GTree *by_name;    /* RsTraceEvent → itself: the newest event of each system and name */
};

/* Orders events by system and name. A tree, since a guest could choose names with equal hashes. */
static gint name_order(gconstpointer a, gconstpointer b)
{
	const RsTraceEvent *x = a, *y = b;
	gint order = strcmp(x->system, y->system);

	return order ? order : strcmp(x->name, y->name);
}

static void free_event(gpointer data)
{
	rs_trace_descriptor_free(data);
}

static const Life *life_of(const RsTraceEvent *event)
{
	return (const Life *)event->provider;
}

#define LIFE_MEMORY (sizeof(Life) + 128) /* with what its lists take, but for its events */

static void life_free(gpointer data)
{
	Life *life = data;

	if (!life)
		return;
	if (life->pool)
		*life->pool->used -= LIFE_MEMORY;
	g_ptr_array_unref(life->events);
	g_free(life);
}

RsTraceSchema *rs_trace_schema_new_in(RsTraceDescriptorPool *pool)
{
	RsTraceSchema *schema = g_new0(RsTraceSchema, 1);

	schema->slots = g_ptr_array_new_with_free_func(life_free);
	g_queue_init(&schema->retired);
	schema->events = g_ptr_array_new();
	schema->by_name = g_tree_new(name_order);
	schema->pool = pool;
	return schema;
}

RsTraceSchema *rs_trace_schema_new(void)
{
	return rs_trace_schema_new_in(NULL);
}

static void free_ids(RsTraceSchema *schema)
{
	for (guint i = 0; i < schema->n_by_id; i++) {
		if (!schema->by_id[i])
			continue;
		for (guint k = 0; k < IDS; k++)
			g_clear_pointer(&schema->by_id[i]->events[k], g_ptr_array_unref);
		if (schema->pool)
			*schema->pool->used -= sizeof(Ids);
		g_free(schema->by_id[i]);
	}
	g_free(schema->by_id);
}

void rs_trace_schema_free(RsTraceSchema *schema)
{
	if (!schema)
		return;
	g_tree_unref(schema->by_name);
	free_ids(schema);
	g_ptr_array_unref(schema->events);
	g_queue_clear_full(&schema->retired, life_free);
	if (schema->pool)
		*schema->pool->used -= schema->slots->len * sizeof(gpointer);
	g_ptr_array_unref(schema->slots);
	g_free(schema);
}

/* ---- what an id is ---- */

/* Where the id's events are, or would be. */
static GPtrArray **make_place(RsTraceSchema *schema, guint id)
{
	const guint i = id / IDS;

	if (i >= schema->n_by_id) {
		schema->by_id = g_renew(Ids *, schema->by_id, i + 1);
		while (schema->n_by_id <= i)
			schema->by_id[schema->n_by_id++] = NULL;
	}
	if (!schema->by_id[i]) {
		schema->by_id[i] = g_new0(Ids, 1);
		if (schema->pool)
			*schema->pool->used += sizeof(Ids);
	}
	return &schema->by_id[i]->events[id % IDS];
}

static inline const GPtrArray *events_of_id(const RsTraceSchema *schema, guint id)
{
	const guint i = id / IDS;

	return i < schema->n_by_id && schema->by_id[i] ? schema->by_id[i]->events[id % IDS] : NULL;
}

/* ---- one provider's descriptors ---- */

static gint by_id_order(gconstpointer a, gconstpointer b)
{
	const RsTraceDescriptor *x = *(RsTraceDescriptor *const *)a;
	const RsTraceDescriptor *y = *(RsTraceDescriptor *const *)b;

	return (gint)x->event.id - (gint)y->event.id;
}

/* Takes one whole descriptor. */
static gboolean add_one(RsTraceDescriptorPool *pool, Life *life, GHashTable *ids, GTree *names,
			const guint8 *bytes, gsize size, GError **error)
{
	RsTraceDescriptor *descriptor = rs_trace_descriptor_parse(pool, bytes, size, error);
	const RsTraceProvider *provider = &life->provider;
	const char *why = NULL;
	guint id;

	if (!descriptor)
		return FALSE;
	id = descriptor->event.id;
	if (descriptor->event.slot != provider->slot)
		why = "it belongs to another provider";
	else if (id < provider->first_id || id - provider->first_id >= provider->n_events)
		why = "its id is not its provider's";
	else if (g_hash_table_contains(ids, GUINT_TO_POINTER(id)))
		why = "the id is taken";
	else if (g_tree_lookup(names, &descriptor->event))
		why = "the name is taken";
	if (why) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR, "%s:%s: %s",
			    descriptor->event.system, descriptor->event.name, why);
		rs_trace_descriptor_free(descriptor);
		return FALSE;
	}
	descriptor->event.provider = provider;
	g_hash_table_add(ids, GUINT_TO_POINTER(id));
	g_tree_insert(names, &descriptor->event, &descriptor->event);
	g_ptr_array_add(life->events, descriptor);
	life->bytes += rs_trace_descriptor_memory(descriptor);
	return TRUE;
}

/* Descriptors of which an error says what is wrong. */
#define NAMED_MAX 8u

/* One error of all, since whoever mends one event wants to know of the others. */
static void add_problem(GString *problems, guint nth, const GError *error)
{
	if (nth < NAMED_MAX)
		g_string_append_printf(problems, "%s%s", nth ? "; " : "", error->message);
}

static void report(const GString *problems, guint bad, GError **error)
{
	if (bad > NAMED_MAX)
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR, "%s; and %u more",
			    problems->str, bad - NAMED_MAX);
	else if (bad)
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR,
				    problems->str);
}

/* Takes all descriptors, up to one with an impossible size. Returns the number of invalid ones. */
static guint add_all(RsTraceDescriptorPool *pool, Life *life, const guint8 *data, gsize size,
		     GError **error)
{
	g_autoptr(GHashTable) ids = g_hash_table_new(NULL, NULL);
	g_autoptr(GTree) names = g_tree_new(name_order);
	g_autoptr(GString) problems = g_string_new(NULL);
	guint bad = 0;

	for (gsize at = 0; size - at >= RS_EVENT_DESC_MIN_SIZE;) {
		g_autoptr(GError) local = NULL;
		guint32 bytes;

		memcpy(&bytes, data + at, sizeof(bytes));
		if (bytes < RS_EVENT_DESC_MIN_SIZE || bytes % 8 || bytes > RS_MAX_DESC_SIZE ||
		    bytes > size - at) {
			g_set_error(&local, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR,
				    "descriptor: a size of %u bytes is impossible", bytes);
			at = size; /* nobody knows where the next one starts */
		} else if (add_one(pool, life, ids, names, data + at, bytes, &local)) {
			at += bytes;
			continue;
		} else {
			at += bytes;
		}
		add_problem(problems, bad++, local);
	}
	report(problems, bad, error);
	g_ptr_array_sort(life->events, by_id_order);
	return bad;
}

/* ---- the table ---- */

static Life *life_at(const RsTraceSchema *schema, guint slot)
{
	return slot < schema->slots->len ? schema->slots->pdata[slot] : NULL;
}

/* Of several events with one name, the newest counts. */
static void list_name(RsTraceSchema *schema, RsTraceEvent *event)
{
	const RsTraceEvent *other = g_tree_lookup(schema->by_name, event);

	if (!other || life_at(schema, other->slot)->taken < life_at(schema, event->slot)->taken)
		g_tree_replace(schema->by_name, event, event);
}

static void list(RsTraceSchema *schema)
{
	if (schema->listed)
		return;
	g_ptr_array_set_size(schema->events, 0);
	g_tree_remove_all(schema->by_name);
	for (guint slot = 0; slot < schema->slots->len; slot++) {
		const Life *life = schema->slots->pdata[slot];

		for (guint i = 0; life && i < life->events->len; i++) {
			RsTraceDescriptor *descriptor = life->events->pdata[i];

			g_ptr_array_add(schema->events, descriptor);
			list_name(schema, &descriptor->event);
		}
	}
	g_ptr_array_sort(schema->events, by_id_order);
	schema->listed = TRUE;
}

/* ---- what an id meant, and when ---- */

/* How many of the id's events had begun by then. They are in order of their start. */
static guint count_begun(const GPtrArray *events, const RsTraceMoment *when)
{
	guint from = 0, to = events->len;

	while (from < to) {
		guint middle = from + (to - from) / 2;
		const RsTraceDescriptor *descriptor = events->pdata[middle];

		if (rs_trace_moment_compare(&descriptor->event.provider->since, when) > 0)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/* Of events that began at the same time, the one that was taken last comes last. */
static void number_events(RsTraceSchema *schema, const Life *life)
{
	for (guint i = 0; i < life->events->len; i++) {
		RsTraceDescriptor *descriptor = life->events->pdata[i];
		GPtrArray **events = make_place(schema, descriptor->event.id);

		if (!*events)
			*events = g_ptr_array_new();
		g_ptr_array_insert(*events, (gint)count_begun(*events, &life->provider.since),
				   descriptor);
	}
}

static gint by_start(gconstpointer a, gconstpointer b)
{
	const Life *x = life_of(&(*(RsTraceDescriptor *const *)a)->event);
	const Life *y = life_of(&(*(RsTraceDescriptor *const *)b)->event);

	int order = rs_trace_moment_compare(&x->provider.since, &y->provider.since);

	if (order)
		return order;
	return x->born < y->born ? -1 : x->born > y->born;
}

static void forget_events(RsTraceSchema *schema, const Life *life)
{
	for (guint i = 0; i < life->events->len; i++) {
		gpointer gone = life->events->pdata[i];
		GPtrArray **events = make_place(schema, ((RsTraceDescriptor *)gone)->event.id);
		GPtrArray *array = *events;
		gpointer *at = bsearch(&gone, array->pdata, array->len, sizeof(gpointer), by_start);

		g_ptr_array_remove_index(array, (guint)(at - array->pdata));
		if (!array->len)
			g_clear_pointer(events, g_ptr_array_unref);
	}
}

/* ---- whose bytes ---- */

static gboolean overlap(guint64 a, guint64 a_size, guint64 b, guint64 b_size)
{
	/* Sizes come from a guest, so a sum could wrap. */
	return a_size && b_size && (a < b ? b - a < a_size : a - b < b_size);
}

static const Life *find_overlap(const RsTraceSchema *schema, guint slot,
				const struct rs_provider *entry)
{
	for (guint i = 0; i < schema->slots->len; i++) {
		const Life *life = schema->slots->pdata[i];

		if (life && i != slot && !life->refused &&
		    overlap(life->desc_offset, life->desc_size, entry->desc_offset,
			    entry->desc_size))
			return life;
	}
	return NULL;
}

const RsTraceProvider *rs_trace_schema_overlap(const RsTraceSchema *schema, guint slot,
					       const struct rs_provider *entry)
{
	const Life *life = find_overlap(schema, slot, entry);

	return life ? &life->provider : NULL;
}

static void refuse(Life *life, const RsTraceProvider *other, GError **error)
{
	g_autofree char *name = rs_trace_escape(life->provider.name, -1, NULL);
	g_autofree char *others = rs_trace_escape(other->name, -1, NULL);

	life->refused = TRUE;
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR,
		    "provider '%s' in slot %u: its descriptors lie in bytes that provider '%s' in "
		    "slot %u has",
		    name, life->provider.slot, others, other->slot);
}

/* ---- the table, slot by slot ---- */

static void retire(RsTraceSchema *schema, guint slot)
{
	Life *life = life_at(schema, slot);

	if (!life)
		return;
	schema->slots->pdata[slot] = NULL;
	schema->listed = FALSE;
	/* Nobody saw when it died. So no record after its start is taken for one of its own. */
	if (!life->provider.until.ts && life->provider.is_live) {
		if (life->provider.until.boot == life->provider.since.boot)
			life->provider.until = life->provider.since;
		life->provider.until.ts = MAX(life->provider.until.ts, 1);
	}
	life->provider.is_live = FALSE;
	schema->retired_bytes += life->bytes;
	g_queue_push_tail(&schema->retired, life);
}

static void fill_provider(RsTraceProvider *to, guint slot, const struct rs_provider *from)
{
	to->slot = slot;
	to->since = (RsTraceMoment){from->first_boot, from->since_chain, from->since};
	to->until = (RsTraceMoment){from->last_boot, from->until_chain, from->until};
	to->is_live = from->state == RS_PROVIDER_LIVE;
	to->generation = from->generation;
	to->first_id = from->first_id;
	to->n_events = from->event_count;
	to->owner_pid = from->owner_pid;
	to->image_start = from->image_start;
	to->image_end = from->image_end;
	to->build_id_size = MIN(from->build_id_size, sizeof(to->build_id));
	memcpy(to->build_id, from->build_id, sizeof(to->build_id));
	memcpy(to->name, from->name, sizeof(to->name));
	to->name[sizeof(to->name) - 1] = 0;
}

/* Whether the entry still describes the provider that we know. */
static gboolean is_same(const Life *life, const struct rs_provider *entry)
{
	const RsTraceProvider *provider = &life->provider;

	return provider->since.boot == entry->first_boot &&
	       provider->since.chain == entry->since_chain && provider->since.ts == entry->since &&
	       provider->first_id == entry->first_id && provider->n_events == entry->event_count &&
	       life->desc_offset == entry->desc_offset && life->desc_size == entry->desc_size;
}

gboolean rs_trace_schema_knows(const RsTraceSchema *schema, guint slot,
			       const struct rs_provider *entry)
{
	const Life *life = life_at(schema, slot);

	return entry->state == RS_PROVIDER_FREE || (life && is_same(life, entry));
}

/* NULL: there is no room for it. */
static Life *make_life(RsTraceSchema *schema, guint slot)
{
	const guint more = MAX(slot + 1, schema->slots->len) - schema->slots->len;
	RsTraceDescriptorPool *pool = schema->pool;
	Life *life;

	if (pool && *pool->used >= pool->most) {
		pool->is_full = TRUE;
		return NULL;
	}
	if (more)
		g_ptr_array_set_size(schema->slots, (gint)slot + 1);
	life = g_new0(Life, 1);
	life->bytes = sizeof(*life);
	life->pool = pool;
	if (pool)
		*pool->used += LIFE_MEMORY + more * sizeof(gpointer);
	return life;
}

void rs_trace_schema_take(RsTraceSchema *schema, guint slot, const struct rs_provider *entry,
			  const guint8 *data, gsize size, guint *bad, GError **error)
{
	const RsTraceProvider *other;
	Life *life = life_at(schema, slot);
	guint n_bad = 0;

	if (bad)
		*bad = 0;
	if (entry->state == RS_PROVIDER_FREE) {
		retire(schema, slot);
		return;
	}
	if (life && is_same(life, entry)) {
		/* It is live again, so its names count again. */
		if (life->provider.generation != entry->generation) {
			life->taken = ++schema->n_taken;
			schema->listed = FALSE;
		}
		fill_provider(&life->provider, slot, entry);
		return;
	}
	retire(schema, slot);
	life = make_life(schema, slot);
	if (!life)
		return;
	life->born = life->taken = ++schema->n_taken;
	fill_provider(&life->provider, slot, entry);
	life->desc_offset = entry->desc_offset;
	life->desc_size = entry->desc_size;
	life->events = g_ptr_array_new_with_free_func(free_event);
	other = rs_trace_schema_overlap(schema, slot, entry);
	if (other) {
		refuse(life, other, error);
		n_bad = 1;
	} else {
		n_bad = add_all(schema->pool, life, data, size, error);
	}
	schema->slots->pdata[slot] = life;
	schema->listed = FALSE;
	number_events(schema, life);
	if (bad)
		*bad = n_bad;
}

gsize rs_trace_schema_retired(const RsTraceSchema *schema, guint *n)
{
	*n = schema->retired.length;
	return schema->retired_bytes;
}

void rs_trace_schema_trim(RsTraceSchema *schema, guint keep, gsize keep_bytes)
{
	while (schema->retired.length > keep || schema->retired_bytes > keep_bytes) {
		Life *life = g_queue_pop_head(&schema->retired);

		schema->retired_bytes -= life->bytes;
		forget_events(schema, life);
		life_free(life);
	}
}

/* ---- questions ---- */

guint rs_trace_schema_n_events(RsTraceSchema *schema)
{
	list(schema);
	return schema->events->len;
}

const RsTraceEvent *rs_trace_schema_nth(RsTraceSchema *schema, guint n)
{
	list(schema);
	return n < schema->events->len ? &((RsTraceDescriptor *)schema->events->pdata[n])->event
				       : NULL;
}

const RsTraceEvent *rs_trace_schema_nth_of(const RsTraceSchema *schema, guint slot, guint n)
{
	const Life *life = life_at(schema, slot);

	return life && n < life->events->len ? &((RsTraceDescriptor *)life->events->pdata[n])->event
					     : NULL;
}

const RsTraceProvider *rs_trace_schema_provider(const RsTraceSchema *schema, guint slot)
{
	const Life *life = life_at(schema, slot);

	return life ? &life->provider : NULL;
}

const RsTraceEvent *rs_trace_schema_by_id(const RsTraceSchema *schema, guint id)
{
	const GPtrArray *events = events_of_id(schema, id);

	return events ? &((RsTraceDescriptor *)events->pdata[events->len - 1])->event : NULL;
}

/* Whether a provider that had begun by then had not yet died. */
static gboolean still_lived(const RsTraceProvider *provider, const RsTraceMoment *when)
{
	const RsTraceMoment *until = &provider->until;

	if (!until->ts)
		return when->boot <= until->boot;
	return rs_trace_moment_compare(when, until) <= 0;
}

const RsTraceEvent *rs_trace_schema_lookup(const RsTraceSchema *schema, guint id,
					   RsTraceMoment when)
{
	const GPtrArray *events = events_of_id(schema, id);
	guint begun = events ? count_begun(events, &when) : 0;
	const RsTraceEvent *event;

	if (!begun)
		return NULL;
	event = &((RsTraceDescriptor *)events->pdata[begun - 1])->event;
	return still_lived(event->provider, &when) ? event : NULL;
}

const RsTraceEvent *rs_trace_schema_by_name(RsTraceSchema *schema, const char *system,
					    const char *name)
{
	RsTraceEvent key = {.system = system, .name = name};

	list(schema);
	return g_tree_lookup(schema->by_name, &key);
}
