/* SPDX-License-Identifier: MIT */
#include "rs-trace-lines.h"
#include "rs-trace-reader-private.h"

#include <stdalign.h>
#include <string.h>

#define BATCH_RECORDS 512u
#define BATCH_BYTES (192u << 10)  /* of stacks, payloads and names */
#define TEXT_MAX ((gsize)1 << 20) /* of a batch, before it waits for its turn to write */

typedef struct {
	RsTraceRecord record; /* stack and payload are in `bytes` */
	RsTraceTask task;     /* so is the name: the reader's own may go with the next window */
} Item;

#define NAMES 16u
#define NAME_ROOM RS_ALIGN_UP(RS_COMM_LEN + 1, sizeof(guint64))

/* The copy that a batch has of a name. */
typedef struct {
	const char *name; /* the reader's */
	const char *copy;
} Copied;

/* What one thread writes for each record lies in no cache line that another one looks at. */
#define OWN_LINE __attribute__((aligned(64)))

typedef struct OWN_LINE {
	Item *items;
	guint n;
	guint8 *bytes;
	guint used; /* of them */
	gpointer state;
	GString *text;
	gboolean is_made; /* and is to be written */
} Batch;

typedef struct {
	RsTraceReader *reader;
	const RsTraceLinesConfig *config;
	guint batch_max;
	GMutex reading OWN_LINE; /* of the reader, and of who fills a batch; taken before `lock` */
	gboolean ended;          /* likewise: there are no more records */
	Copied copied[NAMES];    /* likewise: of the batch, by the place in memory */
	guint64 n_windows;       /* likewise: the reader's as they were copied */
	GMutex lock OWN_LINE;    /* of all that follows */
	GCond changed;
	guint n_waiting; /* for it: who wakes nobody need not ask the kernel to */
	Batch *batches;  /* each is free, or has a number: it is the one at number % n_batches */
	guint n_batches;
	guint64 next;    /* the number of the batch that is filled next */
	guint64 written; /* all before this one have been written */
	gint n_making;   /* atomic: filled, and lines of them are still to be made */
	gboolean is_writing;
	gint stopped OWN_LINE; /* atomic: nobody wants more */
} Pool;

gboolean rs_trace_lines_is_paused(const RsTraceReader *reader)
{
	return rs_trace_reader_is_paused(reader);
}

/* ---- waiting ---- */

/*
 * What one thread waits for here another one has done in a fraction of a batch's time, mostly
 * sooner than the kernel would wake a thread that sleeps. So it looks for a while before it sleeps.
 */
#define LOOKS 300u

static void lock_soon(GMutex *mutex)
{
	for (guint i = 0; i < LOOKS; i++) {
		if (g_mutex_trylock(mutex))
			return;
		g_thread_yield();
	}
	g_mutex_lock(mutex);
}

/* ---- `lock` is locked ---- */

static void await_change(Pool *pool)
{
	pool->n_waiting++;
	g_cond_wait(&pool->changed, &pool->lock);
	pool->n_waiting--;
}

static void tell_change(Pool *pool)
{
	if (pool->n_waiting)
		g_cond_broadcast(&pool->changed);
}

/* ---- filling: `reading` is locked ---- */

static void forget_names(Pool *pool)
{
	memset(pool->copied, 0, sizeof(pool->copied));
	pool->n_windows = pool->reader->shared.n_windows;
}

/* A few tasks have most of the records, so it is mostly there. */
static const char *copy_name(Pool *pool, Batch *batch, const char *name)
{
	Copied *copied = &pool->copied[(guintptr)name / sizeof(guint64) % NAMES];

	if (G_UNLIKELY(pool->n_windows != pool->reader->shared.n_windows))
		forget_names(pool);
	if (copied->name != name) {
		copied->name = name;
		copied->copy = (char *)batch->bytes + batch->used;
		g_strlcpy((char *)batch->bytes + batch->used, name, NAME_ROOM);
		batch->used += (guint)NAME_ROOM;
	}
	return copied->copy;
}

static void keep(Pool *pool, Batch *batch, const RsTraceRecord *record, const RsTraceTask *task)
{
	const guint stack = record->n_stack * (guint)sizeof(guint64);
	const char *comm = copy_name(pool, batch, task->comm);
	Item *item = &batch->items[batch->n++];
	guint8 *to = batch->bytes + batch->used;

	item->record = *record;
	item->task = (RsTraceTask){comm, task->tgid};
	item->record.stack = to;
	item->record.payload = to + stack;
	if (stack)
		memcpy(to, record->stack, stack);
	if (record->size)
		memcpy(to + stack, record->payload, record->size);
	batch->used += (guint)RS_ALIGN_UP(stack + record->size, sizeof(guint64));
}

static gboolean has_room(const Pool *pool, const Batch *batch)
{
	return batch->n < pool->batch_max &&
	       BATCH_BYTES - batch->used >= RS_RING_PAGE_MAX + NAME_ROOM;
}

static void wait_for_lines(Pool *pool)
{
	for (guint i = 0; i < LOOKS && g_atomic_int_get(&pool->n_making); i++)
		g_thread_yield();
	g_mutex_lock(&pool->lock);
	while (g_atomic_int_get(&pool->n_making))
		await_change(pool);
	g_mutex_unlock(&pool->lock);
}

/* The next record. NULL: there is none, or it must be the first of a batch. */
static const RsTraceRecord *next(Pool *pool, const Batch *batch, const RsTraceTask **task)
{
	const RsTraceLinesConfig *config = pool->config;
	const RsTraceRecord *record = config->next(task, config->data);

	if (!record && !batch->n && rs_trace_reader_is_paused(pool->reader)) {
		wait_for_lines(pool);
		rs_trace_reader_set_pausing(pool->reader, FALSE);
		record = config->next(task, config->data);
		rs_trace_reader_set_pausing(pool->reader, TRUE);
	}
	if (!record)
		pool->ended = !rs_trace_reader_is_paused(pool->reader);
	return record;
}

static void fill(Pool *pool, Batch *batch)
{
	const RsTraceRecord *record;
	const RsTraceTask *task;

	batch->n = batch->used = 0;
	forget_names(pool);
	while (has_room(pool, batch) && (record = next(pool, batch, &task))) {
		if (!batch->n && batch->state)
			memcpy(batch->state, pool->config->state, pool->config->state_size);
		keep(pool, batch, record, task);
	}
}

/* Waits for a batch that is free, and fills it. NULL: there is no more. */
static Batch *take(Pool *pool, guint64 *number)
{
	Batch *batch = NULL;

	lock_soon(&pool->reading);
	g_mutex_lock(&pool->lock);
	while (pool->next - pool->written == pool->n_batches)
		await_change(pool);
	g_mutex_unlock(&pool->lock);
	if (!pool->ended && !g_atomic_int_get(&pool->stopped)) {
		batch = &pool->batches[pool->next % pool->n_batches];
		fill(pool, batch);
	}
	if (batch && batch->n) {
		g_mutex_lock(&pool->lock);
		*number = pool->next++;
		g_atomic_int_inc(&pool->n_making);
		g_mutex_unlock(&pool->lock);
	} else {
		batch = NULL;
	}
	g_mutex_unlock(&pool->reading);
	return batch;
}

/* ---- writing: `lock` is locked, and given away meanwhile ---- */

static void write_text(Pool *pool, Batch *batch)
{
	const RsTraceLinesConfig *config = pool->config;

	pool->is_writing = TRUE;
	g_mutex_unlock(&pool->lock);
	if (!g_atomic_int_get(&pool->stopped) &&
	    !config->write(batch->text->str, batch->text->len, config->data))
		g_atomic_int_set(&pool->stopped, TRUE);
	g_string_truncate(batch->text, 0);
	g_mutex_lock(&pool->lock);
	pool->is_writing = FALSE;
}

/* Who has made what comes next writes it, and all behind it that others have made. */
static void write_made(Pool *pool)
{
	Batch *batch;

	while (!pool->is_writing && pool->written < pool->next) {
		batch = &pool->batches[pool->written % pool->n_batches];
		if (!batch->is_made)
			break;
		write_text(pool, batch);
		batch->is_made = FALSE;
		pool->written++;
		tell_change(pool);
	}
}

/* The batch has more text than it may keep: it waits until those before it are written. */
static void write_early(Pool *pool, Batch *batch, guint64 number)
{
	g_mutex_lock(&pool->lock);
	while (pool->written != number || pool->is_writing)
		await_change(pool);
	write_text(pool, batch);
	g_mutex_unlock(&pool->lock);
}

/* ---- making lines ---- */

static void make(Pool *pool, Batch *batch, guint64 number)
{
	const RsTraceLinesConfig *config = pool->config;

	for (guint i = 0; i < batch->n && !g_atomic_int_get(&pool->stopped); i++) {
		const Item *item = &batch->items[i];

		config->line(batch->text, &item->record, &item->task, batch->state, config->data);
		if (batch->text->len >= TEXT_MAX)
			write_early(pool, batch, number);
	}
	g_mutex_lock(&pool->lock);
	batch->is_made = TRUE;
	g_atomic_int_add(&pool->n_making, -1);
	tell_change(pool);
	write_made(pool);
	g_mutex_unlock(&pool->lock);
}

static gpointer work(gpointer data)
{
	Pool *pool = data;
	guint64 number;
	Batch *batch;

	while ((batch = take(pool, &number)))
		make(pool, batch, number);
	return NULL;
}

static void work_together(Pool *pool)
{
	GThread *threads[RS_TRACE_LINES_JOBS_MAX];
	guint n = 0;

	/* With fewer threads than were asked for it only takes longer. */
	while (n + 1 < MIN(pool->config->jobs, RS_TRACE_LINES_JOBS_MAX) &&
	       (threads[n] = g_thread_try_new("lines", work, pool, NULL)))
		n++;
	work(pool);
	while (n)
		g_thread_join(threads[--n]);
}

void rs_trace_lines_make(RsTraceReader *reader, const RsTraceLinesConfig *config)
{
	Pool pool = {.reader = reader, .config = config, .batch_max = BATCH_RECORDS};

	if (config->batch)
		pool.batch_max = MIN(config->batch, BATCH_RECORDS);
	pool.n_batches = 2 * CLAMP(config->jobs, 1, RS_TRACE_LINES_JOBS_MAX);
	pool.batches = g_aligned_alloc0(pool.n_batches, sizeof(Batch), alignof(Batch));
	for (guint i = 0; i < pool.n_batches; i++)
		pool.batches[i] = (Batch){
			.items = g_new(Item, pool.batch_max),
			.bytes = g_malloc(BATCH_BYTES),
			.state = config->state_size ? g_malloc(config->state_size) : NULL,
			.text = g_string_new(NULL),
		};
	g_mutex_init(&pool.reading);
	g_mutex_init(&pool.lock);
	g_cond_init(&pool.changed);
	rs_trace_reader_set_pausing(reader, TRUE);
	work_together(&pool);
	rs_trace_reader_set_pausing(reader, FALSE);
	for (guint i = 0; i < pool.n_batches; i++) {
		g_free(pool.batches[i].items);
		g_free(pool.batches[i].bytes);
		g_free(pool.batches[i].state);
		g_string_free(pool.batches[i].text, TRUE);
	}
	g_aligned_free(pool.batches);
	g_mutex_clear(&pool.reading);
	g_mutex_clear(&pool.lock);
	g_cond_clear(&pool.changed);
}
