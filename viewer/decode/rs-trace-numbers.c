/* SPDX-License-Identifier: MIT */
#include "rs-trace-kept.h"
#include "rs-trace-reader-private.h"

typedef struct {
	guint64 at;
	guint file;
	guint index;
} Joined;

struct _RsTraceNumbers {
	gatomicrefcount refs;
	GMutex lock;
	GHashTable *known; /* Joined -> itself */
	guint next;
};

static guint hash(gconstpointer key)
{
	const Joined *joined = key;

	return g_int64_hash(&joined->at) ^ joined->file;
}

static gboolean is_same(gconstpointer a, gconstpointer b)
{
	const Joined *x = a, *y = b;

	return x->at == y->at && x->file == y->file;
}

RsTraceNumbers *rs_trace_numbers_new(void)
{
	RsTraceNumbers *numbers = g_new0(RsTraceNumbers, 1);

	g_atomic_ref_count_init(&numbers->refs);
	g_mutex_init(&numbers->lock);
	numbers->known = g_hash_table_new_full(hash, is_same, g_free, NULL);
	return numbers;
}

RsTraceNumbers *rs_trace_numbers_ref(RsTraceNumbers *numbers)
{
	g_atomic_ref_count_inc(&numbers->refs);
	return numbers;
}

void rs_trace_numbers_unref(RsTraceNumbers *numbers)
{
	if (!numbers || !g_atomic_ref_count_dec(&numbers->refs))
		return;
	g_hash_table_unref(numbers->known);
	g_mutex_clear(&numbers->lock);
	g_free(numbers);
}

guint rs_trace_numbers_get(RsTraceNumbers *numbers, guint file, guint64 at)
{
	Joined *joined = g_new(Joined, 1), *known;
	guint index;

	*joined = (Joined){.at = at, .file = file};
	g_mutex_lock(&numbers->lock);
	known = g_hash_table_lookup(numbers->known, joined);
	if (known) {
		index = known->index;
		g_free(joined);
	} else {
		index = joined->index = numbers->next++;
		/* A source beyond this many is another one each time. */
		if (g_hash_table_size(numbers->known) < RS_TRACE_NUMBERS_MAX)
			g_hash_table_add(numbers->known, joined);
		else
			g_free(joined);
	}
	g_mutex_unlock(&numbers->lock);
	return index;
}

void rs_trace_reader_share_numbers(RsTraceReader *reader, RsTraceNumbers *numbers)
{
	reader->shared.numbers = rs_trace_numbers_ref(numbers);
}
