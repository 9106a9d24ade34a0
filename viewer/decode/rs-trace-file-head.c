/* SPDX-License-Identifier: MIT */
/* Heads of blocks: what their sizes can be, and where their parts lie. */
#include "rs-trace-crc-private.h"
#include "rs-trace-file-private.h"

#include <ringside/cmdline.h>
#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <ringside/region.h>
#include <string.h>

/* The least size of the elements of a table, 0 for what is no table. */
static gsize element_size(guint kind)
{
	switch (kind) {
	case RS_FILE_BOOTS:
		return RS_FILE_BOOT_MIN_SIZE;
	case RS_FILE_PROVIDER:
		return RS_PROVIDER_MIN_SIZE;
	case RS_FILE_CLOCK:
		return RS_CLOCK_EPOCH_MIN_SIZE;
	case RS_FILE_NAMES:
		return RS_CMDLINE_ENTRY_MIN_SIZE;
	case RS_FILE_PAGES:
		return RS_FILE_PAGE_MIN_SIZE;
	case RS_FILE_INDEX:
		return RS_FILE_PLACE_MIN_SIZE;
	case RS_FILE_SYMBOLS:
		return RS_FILE_SYMBOLS_MIN_SIZE;
	default:
		return 0;
	}
}

static gsize body_size(guint kind)
{
	switch (kind) {
	case RS_FILE_SOURCE:
		return RS_FILE_SOURCE_MIN_SIZE;
	case RS_FILE_LOST:
		return sizeof(struct rs_file_lost);
	case RS_FILE_WINDOW:
		return sizeof(struct rs_file_window);
	case RS_FILE_END:
		return sizeof(struct rs_file_end);
	default:
		return 0;
	}
}

gsize rs_trace_head_most_data(guint kind)
{
	switch (kind) {
	case RS_FILE_PROVIDER:
		return RS_FILE_DESCS_MAX;
	case RS_FILE_PAGES:
		return RS_FILE_PAGES_MAX;
	case RS_FILE_SYMBOLS:
		return RS_FILE_SYMBOLS_MAX;
	default:
		return 0;
	}
}

const char *rs_trace_head_judge(const struct rs_file_block *block, guint32 id)
{
	if (block->magic != RS_FILE_BLOCK_MAGIC || block->id != id)
		return "no block begins here";
	if (block->head_size < sizeof(*block) || block->head_size > block->size ||
	    block->head_size % RS_FILE_ALIGN || block->size % RS_FILE_ALIGN ||
	    block->head_size > RS_FILE_HEAD_MAX || block->data_size > RS_FILE_BLOCK_MAX ||
	    block->size - block->head_size > RS_FILE_BLOCK_MAX ||
	    (block->kind == RS_FILE_PAGES && block->data_size > RS_FILE_PAGES_MAX) ||
	    (block->kind != RS_FILE_PAGES && (block->flags & RS_FILE_ZSTD)))
		return "a block has an impossible size";
	return NULL;
}

static gboolean check(GByteArray *head)
{
	struct rs_file_block *block = (void *)head->data;
	guint32 said = block->crc;

	block->crc = 0;
	return said == rs_trace_crc(head->data, head->len);
}

const char *rs_trace_head_parse(GByteArray *head, RsTraceFileBlock *out)
{
	const struct rs_file_block *block = (const void *)head->data;
	gsize element = element_size(block->kind);
	struct rs_file_table table;

	if (!check(head))
		return "a block's check is wrong";
	out->kind = block->kind;
	out->source = block->source;
	out->body = head->data + sizeof(*block);
	out->body_size = head->len - sizeof(*block);
	if (!element)
		return out->body_size < body_size(block->kind) ? "a block is too short" : NULL;
	if (out->body_size < sizeof(table))
		return "a block is too short";
	memcpy(&table, out->body, sizeof(table));
	out->body_size -= sizeof(table);
	if (!rs_stride_fits(table.stride, element) ||
	    (guint64)table.count * table.stride > out->body_size)
		return "a table does not fit its block";
	out->body = head->data + sizeof(*block) + sizeof(table);
	out->arg = table.arg;
	out->crc = table.crc;
	out->count = table.count;
	out->stride = table.stride;
	return NULL;
}

void rs_trace_file_take(const RsTraceFileBlock *block, guint index, gpointer out, gsize size)
{
	rs_take_record(out, size, (const guint8 *)block->body + (gsize)index * block->stride,
		       block->stride);
}
