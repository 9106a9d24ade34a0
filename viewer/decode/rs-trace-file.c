/* SPDX-License-Identifier: MIT */
#include "rs-trace-file.h"
#include "rs-trace-error.h"

#include <ringside/cmdline.h>
#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <ringside/region.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define BUFFER (16u << 10) /* for heads; data are read without it */
#define HEADER_MAX (1u << 20)
#define PIECE (1u << 20) /* a pipe's bytes are read in pieces: its sizes may lie */

struct _RsTraceFile {
	GInputStream *stream; /* buffered */
	gboolean seekable;
	struct rs_file_header header;
	guint64 at; /* of the next block */
	guint64 read_to;
	GByteArray *head; /* of the last block */
	GByteArray *stored;
	GBytes *data;
	ZSTD_DCtx *zstd; /* NULL: nothing was compressed so far */
};

/* ---- bytes ---- */

static RsTraceFileStatus fail(GError **error, guint64 at, const char *what)
{
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
		    "the file is damaged at byte %" G_GUINT64_FORMAT ": %s", at, what);
	return RS_TRACE_FILE_ERROR;
}

/* Appends up to `size` bytes; how many came shows whether the file ended. FALSE: error. */
static gboolean append(RsTraceFile *file, GByteArray *to, gsize size, GError **error)
{
	gsize got = 0, piece;
	guint had;

	while (size) {
		piece = MIN(size, PIECE);
		had = to->len;
		g_byte_array_set_size(to, had + (guint)piece);
		if (!g_input_stream_read_all(file->stream, to->data + had, piece, &got, NULL,
					     error))
			return FALSE;
		g_byte_array_set_size(to, had + (guint)got);
		file->read_to += got;
		if (got < piece)
			return TRUE;
		size -= piece;
	}
	return TRUE;
}

static gboolean go_to(RsTraceFile *file, guint64 at, GError **error)
{
	if (at == file->read_to)
		return TRUE;
	if (file->seekable) {
		if (!g_seekable_seek(G_SEEKABLE(file->stream), (goffset)at, G_SEEK_SET, NULL,
				     error))
			return FALSE;
	} else {
		while (file->read_to < at) {
			gssize n = g_input_stream_skip(
				file->stream, (gsize)MIN(at - file->read_to, PIECE), NULL, error);

			if (n < 0)
				return FALSE;
			if (!n)
				break; /* what is read next finds the end */
			file->read_to += (gsize)n;
		}
		return TRUE;
	}
	file->read_to = at;
	return TRUE;
}

/* ---- heads ---- */

/* The least size of the elements of a table, 0 for what is no table. */
static gsize element_size(guint kind)
{
	switch (kind) {
	case RS_FILE_BOOTS:
		return sizeof(struct rs_boot);
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

/* What is wrong with the first part of a head; NULL: nothing. */
static const char *judge(const RsTraceFile *file, const struct rs_file_block *block)
{
	if (block->magic != RS_FILE_BLOCK_MAGIC || block->id != file->header.id)
		return "no block begins here";
	if (block->head_size < sizeof(*block) || block->head_size > block->size ||
	    block->head_size % RS_FILE_ALIGN || block->size % RS_FILE_ALIGN ||
	    block->head_size > RS_FILE_BLOCK_MAX || block->data_size > RS_FILE_BLOCK_MAX ||
	    block->size - block->head_size > RS_FILE_BLOCK_MAX ||
	    (block->kind == RS_FILE_PAGES && block->data_size > RS_FILE_PAGES_MAX) ||
	    (block->kind != RS_FILE_PAGES && (block->flags & RS_FILE_ZSTD)))
		return "a block has an impossible size";
	return NULL;
}

static gboolean check_head(GByteArray *head)
{
	struct rs_file_block *block = (void *)head->data;
	guint32 said = block->crc;

	block->crc = 0;
	return said == crc32(0, head->data, head->len);
}

/* Finds the parts of a head. Returns what is wrong with it, or NULL. */
static const char *parse(const GByteArray *head, RsTraceFileBlock *out)
{
	const struct rs_file_block *block = (const void *)head->data;
	gsize element = element_size(block->kind);
	struct rs_file_table table;

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
	out->count = table.count;
	out->stride = table.stride;
	return NULL;
}

void rs_trace_file_take(const RsTraceFileBlock *block, guint index, gpointer out, gsize size)
{
	rs_take_record(out, size, (const guint8 *)block->body + (gsize)index * block->stride,
		       block->stride);
}

/* ---- blocks ---- */

static RsTraceFileStatus take_data(RsTraceFile *file, const struct rs_file_block *block,
				   RsTraceFileBlock *out, GError **error)
{
	gsize stored = block->size - block->head_size;
	g_autofree guint8 *unpacked = NULL;

	g_byte_array_set_size(file->stored, 0);
	if (!append(file, file->stored, stored, error))
		return RS_TRACE_FILE_ERROR;
	if (file->stored->len < stored)
		return RS_TRACE_FILE_CUT;
	if (!(block->flags & RS_FILE_ZSTD)) {
		if (block->data_size > stored)
			return fail(error, out->at, "a block has less data than it says");
		g_byte_array_set_size(file->stored, block->data_size);
		file->data = g_byte_array_free_to_bytes(file->stored);
		file->stored = g_byte_array_new();
	} else {
		gsize size, frame = ZSTD_findFrameCompressedSize(file->stored->data, stored);

		if (ZSTD_isError(frame))
			return fail(error, out->at, "compressed data are damaged");
		unpacked = g_malloc(block->data_size);
		if (!file->zstd)
			file->zstd = ZSTD_createDCtx();
		size = ZSTD_decompressDCtx(file->zstd, unpacked, block->data_size,
					   file->stored->data, frame);
		if (ZSTD_isError(size) || size != block->data_size)
			return fail(error, out->at, "compressed data are damaged");
		file->data = g_bytes_new_take(g_steal_pointer(&unpacked), size);
	}
	out->data = file->data;
	return RS_TRACE_FILE_BLOCK;
}

static RsTraceFileStatus take_head(RsTraceFile *file, RsTraceFileBlock *out, GError **error)
{
	struct rs_file_block block;
	const char *wrong;

	g_byte_array_set_size(file->head, 0);
	if (!go_to(file, file->at, error) || !append(file, file->head, sizeof(block), error))
		return RS_TRACE_FILE_ERROR;
	if (file->head->len < sizeof(block))
		return RS_TRACE_FILE_CUT;
	memcpy(&block, file->head->data, sizeof(block));
	wrong = judge(file, &block);
	if (wrong)
		return fail(error, file->at, wrong);
	if (!append(file, file->head, block.head_size - sizeof(block), error))
		return RS_TRACE_FILE_ERROR;
	if (file->head->len < block.head_size)
		return RS_TRACE_FILE_CUT;
	if (!check_head(file->head))
		return fail(error, file->at, "a block's check is wrong");
	*out = (RsTraceFileBlock){.at = file->at};
	wrong = parse(file->head, out);
	return wrong ? fail(error, file->at, wrong) : RS_TRACE_FILE_BLOCK;
}

RsTraceFileStatus rs_trace_file_next(RsTraceFile *file, gboolean with_data, RsTraceFileBlock *out,
				     GError **error)
{
	struct rs_file_block block;
	RsTraceFileStatus status;

	do {
		g_clear_pointer(&file->data, g_bytes_unref);
		status = take_head(file, out, error);
		if (status != RS_TRACE_FILE_BLOCK)
			return status;
		memcpy(&block, file->head->data, sizeof(block));
		if (with_data && block.data_size)
			status = take_data(file, &block, out, error);
		if (status != RS_TRACE_FILE_BLOCK)
			return status;
		file->at += block.size;
	} while (!out->kind || out->kind > RS_FILE_SYMBOLS);
	return out->kind == RS_FILE_END ? RS_TRACE_FILE_END : RS_TRACE_FILE_BLOCK;
}

gboolean rs_trace_file_seek(RsTraceFile *file, guint64 at, GError **error)
{
	g_return_val_if_fail(file->seekable, FALSE);
	file->at = at;
	return go_to(file, at, error);
}

/* ---- the index ---- */

static gboolean read_end(RsTraceFile *file, struct rs_file_end *end)
{
	RsTraceFileBlock block;

	if (!g_seekable_seek(G_SEEKABLE(file->stream), -(goffset)RS_FILE_END_SIZE, G_SEEK_END, NULL,
			     NULL))
		return FALSE;
	file->read_to = file->at = (guint64)g_seekable_tell(G_SEEKABLE(file->stream));
	if (rs_trace_file_next(file, FALSE, &block, NULL) != RS_TRACE_FILE_END)
		return FALSE;
	memcpy(end, block.body, sizeof(*end));
	return TRUE;
}

/* Puts the places of the index at `at` before those that are there. */
static gboolean prepend_index(RsTraceFile *file, GArray *places, guint64 *at, GError **error)
{
	g_autoptr(GArray) these = g_array_new(FALSE, FALSE, sizeof(struct rs_file_place));
	struct rs_file_place place;
	RsTraceFileBlock block;

	if (!rs_trace_file_seek(file, *at, error))
		return FALSE;
	if (rs_trace_file_next(file, FALSE, &block, error) != RS_TRACE_FILE_BLOCK ||
	    block.kind != RS_FILE_INDEX || block.arg >= *at) {
		g_clear_error(error);
		fail(error, *at, "there is no index");
		return FALSE;
	}
	for (guint i = 0; i < block.count; i++) {
		rs_trace_file_take(&block, i, &place, sizeof(place));
		g_array_append_val(these, place);
	}
	g_array_prepend_vals(places, these->data, these->len);
	*at = block.arg;
	return TRUE;
}

static gboolean scan(RsTraceFile *file, GArray *places, GError **error)
{
	RsTraceFileStatus status;
	RsTraceFileBlock block;

	if (!rs_trace_file_seek(file, file->header.header_size, error))
		return FALSE;
	while ((status = rs_trace_file_next(file, FALSE, &block, error)) == RS_TRACE_FILE_BLOCK) {
		struct rs_file_place place = {
			.at = block.at,
			.kind = block.kind,
			.source = block.source,
		};
		struct rs_file_window window;

		if (block.kind == RS_FILE_PAGES || block.kind == RS_FILE_INDEX)
			continue;
		if (block.kind == RS_FILE_WINDOW) {
			memcpy(&window, block.body, sizeof(window));
			place.until_ns = window.until_ns;
		}
		g_array_append_val(places, place);
	}
	return status != RS_TRACE_FILE_ERROR;
}

GArray *rs_trace_file_places(RsTraceFile *file, gboolean *complete, GError **error)
{
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(struct rs_file_place));
	struct rs_file_end end;
	gboolean done = TRUE;

	g_return_val_if_fail(file->seekable, NULL);
	*complete = read_end(file, &end);
	if (!*complete)
		done = scan(file, places, error);
	else
		for (guint64 at = end.index; at && done;)
			done = prepend_index(file, places, &at, error);
	return done ? g_steal_pointer(&places) : NULL;
}

/* ---- the file ---- */

const struct rs_file_header *rs_trace_file_header(const RsTraceFile *file)
{
	return &file->header;
}

gboolean rs_trace_file_is_seekable(const RsTraceFile *file)
{
	return file->seekable;
}

/* The magic first: nothing else is known about what is no trace file. */
static gboolean take_header(RsTraceFile *file, GError **error)
{
	struct rs_file_header *header = &file->header;
	GByteArray *bytes = file->head;

	if (!append(file, bytes, RS_FILE_HEADER_MIN_SIZE, error))
		return FALSE;
	memcpy(header, bytes->data, MIN(bytes->len, RS_FILE_HEADER_MIN_SIZE));
	if (bytes->len < RS_FILE_HEADER_MIN_SIZE || header->magic != RS_FILE_MAGIC) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "not a trace file of Ringside");
		return FALSE;
	}
	if (header->abi_major != RS_ABI_MAJOR || (header->features & RS_FEATURES_REQUIRED)) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "a trace file of version %u.%u, which this version cannot read",
			    header->abi_major, header->abi_minor);
		return FALSE;
	}
	if (header->header_size < RS_FILE_HEADER_MIN_SIZE || header->header_size > HEADER_MAX ||
	    header->header_size % RS_FILE_ALIGN) {
		fail(error, 0, "its header has an impossible size");
		return FALSE;
	}
	file->at = header->header_size;
	return TRUE;
}

RsTraceFile *rs_trace_file_new(GInputStream *stream, GError **error)
{
	g_autoptr(RsTraceFile) file = g_new0(RsTraceFile, 1);

	file->stream = g_buffered_input_stream_new_sized(stream, BUFFER);
	file->seekable = G_IS_SEEKABLE(stream) && g_seekable_can_seek(G_SEEKABLE(stream));
	file->head = g_byte_array_new();
	file->stored = g_byte_array_new();
	return take_header(file, error) ? g_steal_pointer(&file) : NULL;
}

void rs_trace_file_free(RsTraceFile *file)
{
	if (!file)
		return;
	g_object_unref(file->stream);
	g_byte_array_unref(file->head);
	g_byte_array_unref(file->stored);
	g_clear_pointer(&file->data, g_bytes_unref);
	ZSTD_freeDCtx(file->zstd);
	g_free(file);
}
