/* SPDX-License-Identifier: MIT */
#include "document/rs-trace-flame.h"

#include "export/rs-trace-spans.h"

#include <rs-trace-escape.h>
#include <string.h>

#define TRACKS_MAX 65536u /* on which slices are open */
/* Of more sources, two share a number, and a gap of one is taken for one of both. A power of 2. */
#define SOURCES 1024u

typedef struct _Node Node;
struct _Node {
	char *name;
	Node *parent;
	GHashTable *children; /* by name; NULL: none */
	guint64 self, count;  /* what is in none of its children; how often */
	guint64 total;        /* with its children; once it is summed up */
	gboolean is_counted;  /* or a child is */
};

/* A slice that is open. */
typedef struct {
	Node *node;
	guint64 since;
	guint64 inside; /* what has ended in it */
} Open;

typedef struct {
	GArray *open; /* Open, the outermost first */
	guint source;
	guint64 gaps; /* of the source, when these were opened */
} Track;

struct _RsTraceFlame {
	RsSpans *spans;
	Node *root;
	guint n_nodes;
	GHashTable *tracks;    /* guint64 * -> Track */
	guint64 gaps[SOURCES]; /* losses and boots, by the source's index */
	guint64 broken;
};

/* ---- nodes ---- */

static void node_free(gpointer data)
{
	Node *node = data;

	g_clear_pointer(&node->children, g_hash_table_unref);
	g_free(node->name);
	g_free(node);
}

/* The child of that name; once there are too many nodes, `parent` itself. */
static Node *child_of(RsTraceFlame *flame, Node *parent, const char *name)
{
	Node *node = parent->children ? g_hash_table_lookup(parent->children, name) : NULL;

	if (node)
		return node;
	if (flame->n_nodes == RS_TRACE_FLAME_NODES)
		return parent;
	if (!parent->children)
		parent->children = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, node_free);
	node = g_new0(Node, 1);
	node->name = g_strdup(name);
	node->parent = parent;
	g_hash_table_insert(parent->children, node->name, node);
	flame->n_nodes++;
	return node;
}

static void count_in(Node *node, guint64 self, guint64 times)
{
	node->self += self;
	node->count += times;
	for (; node && !node->is_counted; node = node->parent)
		node->is_counted = TRUE;
}

/* ---- slices ---- */

/* Those in one that is dropped later have been counted by then, and stay so. */
static void close_last(GArray *open, guint64 ns)
{
	const Open *last = &g_array_index(open, Open, open->len - 1);
	const guint64 lasted = ns > last->since ? ns - last->since : 0;
	Open *outer = open->len > 1 ? &g_array_index(open, Open, open->len - 2) : NULL;

	/* One whose node is another's has been counted with that. */
	count_in(last->node, lasted - MIN(last->inside, lasted),
		 !outer || outer->node != last->node);
	if (outer)
		outer->inside += lasted;
	g_array_set_size(open, open->len - 1);
}

static void close_open(GArray *open, guint n, guint64 ns)
{
	while (n-- && open->len)
		close_last(open, ns);
}

static void track_free(gpointer data)
{
	g_array_unref(((Track *)data)->open);
	g_free(data);
}

static guint64 gaps_of(const RsTraceFlame *flame, guint source)
{
	return flame->gaps[source % SOURCES];
}

/* Slices in which records are missing may have ended in the gap: nobody knows how long. */
static void drop_broken(RsTraceFlame *flame, Track *track)
{
	const guint64 gaps = gaps_of(flame, track->source);

	if (track->gaps == gaps)
		return;
	track->gaps = gaps;
	flame->broken += track->open->len;
	g_array_set_size(track->open, 0);
}

static Track *track_of(RsTraceFlame *flame, guint64 number, guint source)
{
	Track *track = g_hash_table_lookup(flame->tracks, &number);

	if (track && track->gaps != gaps_of(flame, source)) {
		drop_broken(flame, track);
		rs_spans_drop(flame->spans, number);
	}
	if (track)
		return track;
	if (g_hash_table_size(flame->tracks) >= TRACKS_MAX)
		g_hash_table_remove_all(flame->tracks);
	track = g_new0(Track, 1);
	track->open = g_array_new(FALSE, FALSE, sizeof(Open));
	track->source = source;
	track->gaps = gaps_of(flame, source);
	g_hash_table_insert(flame->tracks, g_memdup2(&number, sizeof(number)), track);
	return track;
}

static void begin_slice(RsTraceFlame *flame, GArray *open, const RsTraceSample *item,
			const char *name)
{
	g_autofree char *comm = rs_trace_escape(item->task->comm, -1, NULL);
	Open slice = {.since = item->record->ns};
	Node *parent = open->len ? g_array_index(open, Open, open->len - 1).node
				 : child_of(flame, flame->root, comm);

	slice.node = child_of(flame, parent, name);
	g_array_append_val(open, slice);
}

void rs_trace_flame_add(RsTraceFlame *flame, const RsTraceSample *item)
{
	const RsTraceRecord *record = item->record;
	const RsTraceExportItem where = {.record = record, .source_index = item->source_index};
	const RsSpanClass *class;
	RsSpanStep step;
	guint64 number;
	GArray *open;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		flame->gaps[item->source_index % SOURCES]++;
	if (record->kind != RS_TRACE_RECORD_EVENT || !record->event)
		return;
	class = rs_spans_class(flame->spans, record->event);
	if (class->phase == RS_SPAN_INSTANT && !class->is_last)
		return;
	number = rs_track_of(&where);
	open = track_of(flame, number, item->source_index)->open;
	step = rs_spans_step(flame->spans, number, 0, class);
	close_open(open, step.inside + (step.phase == RS_SPAN_END), record->ns);
	if (step.phase == RS_SPAN_BEGIN)
		begin_slice(flame, open, item, class->span);
}

void rs_trace_flame_end(RsTraceFlame *flame, guint64 ns)
{
	GHashTableIter iter;
	gpointer track;

	g_hash_table_iter_init(&iter, flame->tracks);
	while (g_hash_table_iter_next(&iter, NULL, &track)) {
		GArray *open = ((Track *)track)->open;

		drop_broken(flame, track);
		close_open(open, open->len, ns);
	}
}

guint64 rs_trace_flame_broken(const RsTraceFlame *flame)
{
	return flame->broken;
}

/* ---- call stacks ---- */

void rs_trace_flame_add_folded(RsTraceFlame *flame, const char *folded, guint64 count)
{
	g_auto(GStrv) frames = g_strsplit(folded, ";", 2 * RS_STACK_MAX);
	Node *node = flame->root;

	for (char **frame = frames; *frame; frame++) {
		Node *next = child_of(flame, node, *frame);

		if (next == node)
			break;
		node = next;
		node->count += count;
	}
	count_in(node, count, 0);
}

/* ---- boxes ---- */

/* A task's node has only what its slices have. */
static guint64 sum_up(Node *node)
{
	GHashTableIter iter;
	gpointer child;

	node->total = node->self;
	if (!node->children)
		return node->total;
	g_hash_table_iter_init(&iter, node->children);
	while (g_hash_table_iter_next(&iter, NULL, &child))
		node->total += sum_up(child);
	return node->total;
}

static gint compare(gconstpointer a, gconstpointer b)
{
	const Node *x = *(Node *const *)a, *y = *(Node *const *)b;

	return x->total != y->total ? (x->total > y->total ? -1 : 1) : strcmp(x->name, y->name);
}

static void add_child(gpointer name, gpointer child, gpointer children)
{
	g_ptr_array_add(children, child);
}

static void append_boxes(const Node *node, guint depth, guint64 at, GArray *out)
{
	g_autoptr(GPtrArray) children = NULL;
	const RsTraceFlameBox box = {node->name, depth, at, node->total, node->self, node->count};

	if (!node->is_counted) /* all its slices were dropped */
		return;
	if (node->parent)
		g_array_append_val(out, box);
	if (!node->children)
		return;
	children = g_ptr_array_new();
	g_hash_table_foreach(node->children, add_child, children);
	g_ptr_array_sort(children, compare);
	for (guint i = 0; i < children->len; i++) {
		const Node *child = g_ptr_array_index(children, i);

		append_boxes(child, node->parent ? depth + 1 : 0, at, out);
		at += child->total;
	}
}

GArray *rs_trace_flame_boxes(RsTraceFlame *flame)
{
	GArray *out = g_array_new(FALSE, FALSE, sizeof(RsTraceFlameBox));

	sum_up(flame->root);
	append_boxes(flame->root, 0, 0, out);
	return out;
}

/* ---- the whole ---- */

RsTraceFlame *rs_trace_flame_new(const char *const *slices, GError **error)
{
	const RsTraceExportConfig config = {.slices = slices};
	RsSpans *spans = rs_spans_new(&config, NULL, error);
	RsTraceFlame *flame;

	if (!spans)
		return NULL;
	flame = g_new0(RsTraceFlame, 1);
	flame->spans = spans;
	flame->root = g_new0(Node, 1);
	flame->tracks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, track_free);
	return flame;
}

void rs_trace_flame_free(RsTraceFlame *flame)
{
	if (!flame)
		return;
	rs_spans_free(flame->spans);
	node_free(flame->root);
	g_hash_table_unref(flame->tracks);
	g_free(flame);
}
