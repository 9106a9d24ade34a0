/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-rows-private.h"

/* What is kept. Each row has three texts of up to 64 KiB, so bytes are counted too. */
#define KEPT_ROWS 4096u
#define KEPT_BYTES (32u << 20)
/* Rows before and behind those in view that are read once these are there. */
#define MARGIN 64u
#define VIEW_MAX 1024u
/* A row of a running session may come later than the timeline has it. */
#define AGAIN_US (300 * 1000)
#define AGAIN_TIMES 20u
/* Who follows a running session sees rows without what they say rather than rows that are older. */
#define LATE_US (1000 * 1000)

typedef struct _Request Request;

/* A record. Numbers of rows shift if one comes late, or earlier than another of its time. */
typedef struct {
	guint64 index;
	guint ring;
} Key;

typedef struct {
	Key key;
	RsTraceRow *row;  /* NULL: it is not there */
	gsize size;       /* bytes, about */
	Request *request; /* under way; NULL: it is not */
	gint64 failed;    /* when; 0: it has not */
	guint failures;
	GList link; /* in rows->used */
} Entry;

/* Rows that are being read. It belongs to the callback, which comes in any case. */
struct _Request {
	RsViewerRows *rows; /* NULL: it was cancelled */
	RsTraceTimeline *timeline;
	GCancellable *cancellable;
	GArray *keys;      /* Key */
	guint64 low, high; /* numbers of the first and the last one when they were asked for */
};

struct _RsViewerRows {
	GObject parent_instance;
	RsTraceDocument *document;
	RsTraceTimeline *timeline;
	gboolean details;
	GHashTable *entries; /* by key */
	GQueue used;         /* the one that was in view last comes first */
	gsize bytes;
	GQueue requests;
	guint64 view_first;
	guint view_n;
	/* Of who follows the end: how many rows there are for it, and how many there will be once
	 * the last of these are read. 0: it does not follow, or nothing is waited for. */
	guint64 followed, ahead;
	GArray *keys_ahead; /* Key, of the last */
	gint64 ahead_since;
};

G_DEFINE_FINAL_TYPE(RsViewerRows, rs_viewer_rows, G_TYPE_OBJECT)

enum { GROWN, REPLACED, READ, N_SIGNALS };
static guint signals[N_SIGNALS];

/* ---- what is kept ---- */

static gsize length_of(const char *text)
{
	return text ? strlen(text) : 0;
}

static gsize size_of(const RsTraceRow *row)
{
	gsize size = sizeof(*row) + length_of(row->line) + length_of(row->json) +
		     length_of(row->text) + length_of(row->format);

	if (row->payload)
		size += 4 * g_bytes_get_size(row->payload); /* and the texts of its fields */
	return size;
}

static void drop(RsViewerRows *self, Entry *entry)
{
	self->bytes -= entry->size;
	g_queue_unlink(&self->used, &entry->link);
	g_hash_table_remove(self->entries, &entry->key);
}

static void free_entry(gpointer data)
{
	Entry *entry = data;

	rs_trace_row_unref(entry->row);
	g_free(entry);
}

static guint key_hash(gconstpointer data)
{
	const Key *key = data;

	return g_int64_hash(&key->index) ^ key->ring * 2654435761u;
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const Key *x = a, *y = b;

	return x->index == y->index && x->ring == y->ring;
}

static Key key_of(const RsTraceTimelineRow *row)
{
	return (Key){row->index, row->ring};
}

static Entry *find(RsViewerRows *self, Key key)
{
	return g_hash_table_lookup(self->entries, &key);
}

static Entry *add(RsViewerRows *self, Key key)
{
	Entry *entry = g_new0(Entry, 1);

	entry->key = key;
	entry->link.data = entry;
	g_queue_push_head_link(&self->used, &entry->link);
	g_hash_table_insert(self->entries, &entry->key, entry);
	return entry;
}

static void touch(RsViewerRows *self, Entry *entry)
{
	g_queue_unlink(&self->used, &entry->link);
	g_queue_push_head_link(&self->used, &entry->link);
}

/* Those under way stay: their number is bound by itself. */
static void tidy(RsViewerRows *self)
{
	GList *next;

	for (GList *link = self->used.tail; link; link = next) {
		Entry *entry = link->data;

		next = link->prev;
		if (self->used.length <= KEPT_ROWS && self->bytes <= KEPT_BYTES)
			return;
		if (!entry->request)
			drop(self, entry);
	}
}

/* ---- requests ---- */

static void forget(RsViewerRows *self, Request *request)
{
	for (guint i = 0; i < request->keys->len; i++) {
		Entry *entry = find(self, g_array_index(request->keys, Key, i));

		if (!entry || entry->request != request)
			continue;
		entry->request = NULL;
		if (!entry->row && !entry->failed)
			drop(self, entry);
	}
	g_queue_remove(&self->requests, request);
}

static void cancel(RsViewerRows *self, Request *request)
{
	forget(self, request);
	request->rows = NULL;
	g_cancellable_cancel(request->cancellable);
}

static void cancel_all(RsViewerRows *self)
{
	while (self->requests.head)
		cancel(self, self->requests.head->data);
}

static void forget_all(RsViewerRows *self)
{
	cancel_all(self);
	g_hash_table_remove_all(self->entries);
	g_queue_init(&self->used);
	self->bytes = 0;
	self->view_n = 0;
	self->followed = self->ahead = 0;
}

static void free_request(Request *request)
{
	rs_trace_timeline_unref(request->timeline);
	g_object_unref(request->cancellable);
	g_array_unref(request->keys);
	g_free(request);
}

static void take(RsViewerRows *self, Entry *entry, RsTraceRow *row)
{
	self->bytes -= entry->size;
	g_clear_pointer(&entry->row, rs_trace_row_unref);
	entry->row = row ? rs_trace_row_ref(row) : NULL;
	entry->size = row ? size_of(row) : 0;
	entry->failed = row ? 0 : g_get_monotonic_time();
	entry->failures += !row;
	self->bytes += entry->size;
}

static void on_read(GObject *document, GAsyncResult *result, gpointer data)
{
	Request *request = data;
	RsViewerRows *self = request->rows;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) read =
		rs_trace_document_read_finish(RS_TRACE_DOCUMENT(document), result, &error);

	if (self) {
		for (guint i = 0; i < request->keys->len; i++) {
			Entry *entry = find(self, g_array_index(request->keys, Key, i));

			if (entry && entry->request == request)
				take(self, entry,
				     read && i < read->len ? g_ptr_array_index(read, i) : NULL);
		}
		forget(self, request);
		tidy(self);
		g_signal_emit(self, signals[READ], 0);
	}
	free_request(request);
}

/* Whether it is to be asked for now. */
static gboolean is_missing(RsViewerRows *self, const RsTraceTimelineRow *row)
{
	Entry *entry = find(self, key_of(row));

	if (!entry)
		return TRUE;
	if (entry->row || entry->request)
		return FALSE;
	return rs_trace_document_state(self->document) == RS_TRACE_DOCUMENT_LIVE &&
	       entry->failures < AGAIN_TIMES && g_get_monotonic_time() - entry->failed > AGAIN_US;
}

/* Asks for what is missing of these rows, at once. `rows`: all `n` of them. FALSE: nothing is. */
static gboolean ask(RsViewerRows *self, guint64 first, const RsTraceTimelineRow *rows, guint n)
{
	g_autoptr(GArray) wanted = g_array_new(FALSE, FALSE, sizeof(RsTraceTimelineRow));
	Request *request;

	for (guint i = 0; i < n; i++)
		if (is_missing(self, &rows[i]))
			g_array_append_val(wanted, rows[i]);
	if (!wanted->len)
		return FALSE;
	request = g_new0(Request, 1);
	request->rows = self;
	request->timeline = rs_trace_timeline_ref(self->timeline);
	request->cancellable = g_cancellable_new();
	request->keys = g_array_new(FALSE, FALSE, sizeof(Key));
	request->low = G_MAXUINT64;
	g_queue_push_head(&self->requests, request);
	for (guint i = 0; i < n; i++) {
		const Key key = key_of(&rows[i]);
		Entry *entry;

		if (!is_missing(self, &rows[i]))
			continue;
		entry = find(self, key);
		if (!entry)
			entry = add(self, key);
		entry->request = request;
		g_array_append_val(request->keys, key);
		request->low = MIN(request->low, first + i);
		request->high = first + i;
	}
	rs_trace_document_read_async(self->document, self->timeline,
				     (const RsTraceTimelineRow *)(void *)wanted->data, wanted->len,
				     self->details, request->cancellable, on_read, request);
	return TRUE;
}

/* Whether some of rows [low, high] are those that are waited for. */
static gboolean is_ahead(RsViewerRows *self, guint64 low, guint64 high)
{
	return self->ahead && low < self->ahead && high >= self->ahead - self->keys_ahead->len;
}

/* Requests of which nothing is within reach of the view. */
static void cancel_far(RsViewerRows *self, guint64 first, guint n)
{
	GList *next;

	for (GList *link = self->requests.head; link; link = next) {
		Request *request = link->data;
		next = link->next;
		if ((request->high < first || request->low >= first + n) &&
		    !is_ahead(self, request->low, request->high))
			cancel(self, request);
	}
}

/* Once all in view is there: what is just before and behind it. */
static void ask_around(RsViewerRows *self)
{
	g_autofree RsTraceTimelineRow *rows = g_new(RsTraceTimelineRow, MARGIN);
	guint64 before = self->view_first - MIN(self->view_first, MARGIN);
	guint64 behind = self->view_first + self->view_n;
	guint n;

	rs_trace_timeline_lock(self->timeline);
	n = rs_trace_timeline_rows(self->timeline, behind, MARGIN, rows);
	rs_trace_timeline_unlock(self->timeline);
	if (ask(self, behind, rows, n) || before == self->view_first)
		return;
	rs_trace_timeline_lock(self->timeline);
	n = rs_trace_timeline_rows(self->timeline, before, (guint)(self->view_first - before),
				   rows);
	rs_trace_timeline_unlock(self->timeline);
	ask(self, before, rows, n);
}

/* ---- lines ---- */

/* Wants the timeline's lock. `line` has number and row. */
static void fill(RsViewerRows *self, RsViewerLine *line)
{
	Entry *entry = find(self, key_of(&line->row));

	if (entry) {
		touch(self, entry);
		line->read = entry->row ? rs_trace_row_ref(entry->row) : NULL;
		line->failed = entry->failed && !entry->row;
	}
	rs_viewer_line_fill(line, self->timeline);
}

/* Also one row before the first, if there is one: its time is at out[0].before. */
static guint fill_lines(RsViewerRows *self, guint64 first, guint n, RsTraceTimelineRow *rows,
			RsViewerLine *out)
{
	guint64 before;

	rs_trace_timeline_lock(self->timeline);
	if (!first || !rs_trace_timeline_rows(self->timeline, first - 1, 1, rows))
		rows[0].ns = G_MAXUINT64;
	before = rows[0].ns;
	n = rs_trace_timeline_rows(self->timeline, first, n, rows);
	for (guint i = 0; i < n; i++) {
		out[i] = (RsViewerLine){.number = first + i,
					.row = rows[i],
					.before = i ? rows[i - 1].ns : MIN(before, rows[i].ns)};
		fill(self, &out[i]);
	}
	rs_trace_timeline_unlock(self->timeline);
	return n;
}

guint rs_viewer_rows_view(RsViewerRows *self, guint64 first, guint n, RsViewerLine *out)
{
	g_autofree RsTraceTimelineRow *rows = NULL;

	n = MIN(n, VIEW_MAX);
	rows = g_new(RsTraceTimelineRow, n + 1);
	n = fill_lines(self, first, n, rows, out);
	self->view_first = first;
	self->view_n = n;
	cancel_far(self, first - MIN(first, MARGIN), n + 2 * MARGIN);
	if (!ask(self, first, rows, n) && !self->requests.head)
		ask_around(self);
	return n;
}

gboolean rs_viewer_rows_peek(RsViewerRows *self, guint64 number, RsViewerLine *out)
{
	RsTraceTimelineRow row;

	return fill_lines(self, number, 1, &row, out) == 1;
}

/* ---- the end of a running session ---- */

/* They say what they say, as far as it can be read. */
static gboolean has_come(RsViewerRows *self)
{
	for (guint i = 0; i < self->keys_ahead->len; i++) {
		Entry *entry = find(self, g_array_index(self->keys_ahead, Key, i));

		if (!entry || (!entry->row && !entry->failed))
			return FALSE;
	}
	return TRUE;
}

static void look_ahead(RsViewerRows *self, guint64 count, guint n)
{
	g_autofree RsTraceTimelineRow *rows = NULL;
	guint64 first;

	n = (guint)MIN(MIN(n, VIEW_MAX), count);
	first = count - n;
	rows = g_new(RsTraceTimelineRow, MAX(n, 1));
	rs_trace_timeline_lock(self->timeline);
	n = rs_trace_timeline_rows(self->timeline, first, n, rows);
	rs_trace_timeline_unlock(self->timeline);
	self->ahead = count;
	self->ahead_since = g_get_monotonic_time();
	g_array_set_size(self->keys_ahead, 0);
	for (guint i = 0; i < n; i++) {
		const Key key = key_of(&rows[i]);

		g_array_append_val(self->keys_ahead, key);
	}
	ask(self, first, rows, n);
}

guint64 rs_viewer_rows_follow(RsViewerRows *self, guint n)
{
	const guint64 count = rs_viewer_rows_count(self);

	if (rs_trace_document_state(self->document) != RS_TRACE_DOCUMENT_LIVE || !self->followed) {
		self->ahead = 0;
		return self->followed = count;
	}
	if (self->ahead &&
	    (has_come(self) || g_get_monotonic_time() - self->ahead_since > LATE_US)) {
		self->followed = self->ahead;
		self->ahead = 0;
	}
	if (!self->ahead && self->followed < count)
		look_ahead(self, count, n);
	return self->followed;
}

void rs_viewer_rows_unfollow(RsViewerRows *self)
{
	self->followed = self->ahead = 0;
}

/* ---- numbers ---- */

guint64 rs_viewer_rows_count(RsViewerRows *self)
{
	guint64 count;

	rs_trace_timeline_lock(self->timeline);
	count = rs_trace_timeline_n_rows(self->timeline);
	rs_trace_timeline_unlock(self->timeline);
	return count;
}

guint64 rs_viewer_rows_at(RsViewerRows *self, guint64 ns)
{
	guint64 rank;

	rs_trace_timeline_lock(self->timeline);
	rank = rs_trace_timeline_rank(self->timeline, ns);
	rs_trace_timeline_unlock(self->timeline);
	return rank;
}

gboolean rs_viewer_rows_get(RsViewerRows *self, guint64 number, RsTraceTimelineRow *row)
{
	guint n;

	rs_trace_timeline_lock(self->timeline);
	n = rs_trace_timeline_rows(self->timeline, number, 1, row);
	rs_trace_timeline_unlock(self->timeline);
	return n == 1;
}

guint64 rs_viewer_rows_number(RsViewerRows *self, const RsTraceTimelineRow *row)
{
	guint64 number;

	rs_trace_timeline_lock(self->timeline);
	number = rs_trace_timeline_row_of(self->timeline, row->ring, row->index);
	rs_trace_timeline_unlock(self->timeline);
	return number;
}

gboolean rs_viewer_rows_ns(RsViewerRows *self, guint64 number, guint64 *ns)
{
	RsTraceTimelineRow row;

	if (!rs_viewer_rows_get(self, number, &row))
		return FALSE;
	*ns = row.ns;
	return TRUE;
}

/* ---- the object ---- */

void rs_viewer_rows_set_details(RsViewerRows *self, gboolean details)
{
	if (self->details == details)
		return;
	self->details = details;
	forget_all(self);
	g_signal_emit(self, signals[READ], 0);
}

RsTraceDocument *rs_viewer_rows_document(RsViewerRows *self)
{
	return self->document;
}

RsTraceTimeline *rs_viewer_rows_timeline(RsViewerRows *self)
{
	return self->timeline;
}

/* Another filter makes another timeline. */
static void follow_document(RsViewerRows *self)
{
	RsTraceTimeline *timeline = rs_trace_document_shown(self->document);

	if (timeline == self->timeline) {
		g_signal_emit(self, signals[GROWN], 0);
		return;
	}
	forget_all(self);
	rs_trace_timeline_unref(self->timeline);
	self->timeline = rs_trace_timeline_ref(timeline);
	g_signal_emit(self, signals[REPLACED], 0);
}

RsViewerRows *rs_viewer_rows_new(RsTraceDocument *document)
{
	RsViewerRows *self = g_object_new(RS_VIEWER_TYPE_ROWS, NULL);

	self->document = g_object_ref(document);
	self->timeline = rs_trace_timeline_ref(rs_trace_document_shown(document));
	g_signal_connect_object(document, "grown", G_CALLBACK(follow_document), self,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "changed", G_CALLBACK(follow_document), self,
				G_CONNECT_SWAPPED);
	return self;
}

static void dispose(GObject *object)
{
	RsViewerRows *self = RS_VIEWER_ROWS(object);

	cancel_all(self);
	G_OBJECT_CLASS(rs_viewer_rows_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerRows *self = RS_VIEWER_ROWS(object);

	g_hash_table_unref(self->entries);
	g_array_unref(self->keys_ahead);
	rs_trace_timeline_unref(self->timeline);
	g_clear_object(&self->document);
	G_OBJECT_CLASS(rs_viewer_rows_parent_class)->finalize(object);
}

static void rs_viewer_rows_class_init(RsViewerRowsClass *class)
{
	static const char *const names[N_SIGNALS] = {"grown", "replaced", "read"};

	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	for (guint i = 0; i < N_SIGNALS; i++)
		signals[i] = g_signal_new(names[i], RS_VIEWER_TYPE_ROWS, G_SIGNAL_RUN_LAST, 0, NULL,
					  NULL, NULL, G_TYPE_NONE, 0);
}

static void rs_viewer_rows_init(RsViewerRows *self)
{
	self->entries = g_hash_table_new_full(key_hash, key_equal, NULL, free_entry);
	self->keys_ahead = g_array_new(FALSE, FALSE, sizeof(Key));
	g_queue_init(&self->used);
	g_queue_init(&self->requests);
}
