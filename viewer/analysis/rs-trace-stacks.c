/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-stacks.h"

#include "rs-trace-escape.h"
#include "rs-trace-stack.h"

#include <string.h>

#define FRAME_MAX 256u /* bytes of a name */

struct _RsTraceStacks {
	GHashTable *counts; /* char * -> guint64 * */
	GString *text;      /* of the record at work */
	gsize bytes;
	guint64 others, without;
};

RsTraceStacks *rs_trace_stacks_new(void)
{
	RsTraceStacks *stacks = g_new0(RsTraceStacks, 1);

	stacks->counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	stacks->text = g_string_new(NULL);
	return stacks;
}

void rs_trace_stacks_free(RsTraceStacks *stacks)
{
	if (!stacks)
		return;
	g_hash_table_unref(stacks->counts);
	g_string_free(stacks->text, TRUE);
	g_free(stacks);
}

/* A name, without what would divide it. */
static void append_name(GString *out, const char *name, gsize size)
{
	gsize from = out->len;

	rs_trace_append_escaped(out, name, MIN(size, FRAME_MAX), NULL);
	for (char *at = out->str + from; *at; at++)
		*at = *at == ';' ? ':' : *at;
}

static void append_frame(GString *out, const RsTraceRecord *record, guint i)
{
	guint64 address = rs_trace_stack_frame(record, i), offset;
	const char *name;

	g_string_append_c(out, ';');
	if (rs_trace_symbols_find_frame(record->symbols, record->when, address, &name, &offset))
		append_name(out, name, strlen(name));
	else
		g_string_append_printf(out, "0x%" G_GINT64_MODIFIER "x", address);
}

void rs_trace_stacks_add(RsTraceStacks *stacks, const RsTraceSample *item)
{
	const RsTraceRecord *record = item->record;
	guint64 *count;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return;
	if (!record->n_stack) {
		stacks->without++;
		return;
	}
	g_string_truncate(stacks->text, 0);
	append_name(stacks->text, item->task->comm, strlen(item->task->comm));
	for (guint i = record->n_stack; i-- > 0;)
		append_frame(stacks->text, record, i);
	count = g_hash_table_lookup(stacks->counts, stacks->text->str);
	if (!count) {
		if (g_hash_table_size(stacks->counts) >= RS_TRACE_STACKS_MAX ||
		    stacks->bytes + stacks->text->len > RS_TRACE_STACKS_BYTES) {
			stacks->others++;
			return;
		}
		stacks->bytes += stacks->text->len;
		count = g_new0(guint64, 1);
		g_hash_table_insert(stacks->counts, g_strdup(stacks->text->str), count);
	}
	++*count;
}

static int compare(gconstpointer a, gconstpointer b)
{
	return strcmp(((const RsTraceStacksRow *)a)->folded, ((const RsTraceStacksRow *)b)->folded);
}

GArray *rs_trace_stacks_result(const RsTraceStacks *stacks)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(RsTraceStacksRow));
	gpointer text, count;
	GHashTableIter iter;

	g_hash_table_iter_init(&iter, stacks->counts);
	while (g_hash_table_iter_next(&iter, &text, &count)) {
		RsTraceStacksRow row = {text, *(guint64 *)count};

		g_array_append_val(rows, row);
	}
	g_array_sort(rows, compare);
	return rows;
}

guint64 rs_trace_stacks_others(const RsTraceStacks *stacks)
{
	return stacks->others;
}

guint64 rs_trace_stacks_without(const RsTraceStacks *stacks)
{
	return stacks->without;
}
