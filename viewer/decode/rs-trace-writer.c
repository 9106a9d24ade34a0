/* SPDX-License-Identifier: MIT */
#include "rs-trace-writer.h"
#include "rs-trace-crc-private.h"
#include "rs-trace-file-private.h"
#include "rs-trace-error.h"
#include "rs-trace-page.h"

#include <ringside/region.h>
#include <ringside/ring.h>
#include <errno.h>
#include <gio/gfiledescriptorbased.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

#define GATHER (1u << 20) /* bytes of pages in one block */
#define PLACES 256u       /* in one block of the index, about */
#define PLACES_MAX 65536u /* likewise, however long no window ends */
/* Bytes of a table. */
#define TABLE_MAX                                                                                  \
	(RS_FILE_HEAD_MAX - (guint)(sizeof(struct rs_file_block) + sizeof(struct rs_file_table)))

struct _RsTraceWriter {
	GOutputStream *stream;
	gint compression;
	ZSTD_CCtx *zstd;
	guint32 id;
	guint64 at; /* bytes written */
	guint64 max_bytes;
	RsTraceWriterRefused refused;
	gboolean failed; /* nothing more is written */
	gboolean full;   /* nothing more but the end */
	int fd;          /* of the stream, borrowed; -1: it has none */
	goffset begin;   /* of a regular file: where in it the trace begins; else -1 */
	/* Pages that are being gathered, all of one source: */
	guint source;
	GByteArray *pages;
	GArray *table; /* struct rs_file_page */
	gsize window_bytes;
	guint64 page_bytes; /* of the blocks of pages that are written */
	guint64 windows;
	GArray *places; /* struct rs_file_place, since the last index */
	guint64 index;  /* where the last index lies */
	GByteArray *head;
	GByteArray *packed;
};

/* ---- bytes ---- */

/* A stream of GIO on a descriptor cannot be cut, but its file can. */
static void find_file(RsTraceWriter *writer)
{
	struct stat info;

	writer->fd = -1;
	writer->begin = -1;
	if (!G_IS_FILE_DESCRIPTOR_BASED(writer->stream))
		return;
	writer->fd = g_file_descriptor_based_get_fd(G_FILE_DESCRIPTOR_BASED(writer->stream));
	if (!fstat(writer->fd, &info) && S_ISREG(info.st_mode))
		writer->begin = lseek(writer->fd, 0, SEEK_CUR);
}

/* Takes away the part of a block that was written. The first error is the one to tell. */
static void cut_tail(RsTraceWriter *writer)
{
	const goffset end = writer->begin + (goffset)writer->at;

	if (writer->begin >= 0 && !ftruncate(writer->fd, end))
		lseek(writer->fd, end, SEEK_SET);
}

/* Takes what was written off the vectors. */
static void advance(GOutputVector **vectors, gsize *n, gsize size)
{
	for (; *n && size >= (*vectors)->size; ++*vectors, --*n)
		size -= (*vectors)->size;
	if (!*n)
		return;
	(*vectors)->buffer = (const guint8 *)(*vectors)->buffer + size;
	(*vectors)->size -= size;
}

/* Without GIO, which warns of a full disk when a part of the vectors was written before. */
static gboolean write_fd(int fd, GOutputVector *vectors, gsize n, GError **error)
{
	G_STATIC_ASSERT(sizeof(GOutputVector) == sizeof(struct iovec));
	advance(&vectors, &n, 0);
	while (n) {
		gssize done = writev(fd, (const struct iovec *)(void *)vectors, (int)n);

		if (done >= 0) {
			advance(&vectors, &n, (gsize)done);
		} else if (errno == EAGAIN) {
			struct pollfd poller = {.fd = fd, .events = POLLOUT};

			poll(&poller, 1, -1);
		} else if (errno != EINTR) {
			g_set_error_literal(error, G_IO_ERROR, (gint)g_io_error_from_errno(errno),
					    g_strerror(errno));
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean write_stream(GOutputStream *stream, const GOutputVector *vectors, gsize n,
			     GError **error)
{
	for (gsize i = 0; i < n; i++)
		if (!g_output_stream_write_all(stream, vectors[i].buffer, vectors[i].size, NULL,
					       NULL, error))
			return FALSE;
	return TRUE;
}

static gboolean write_all(RsTraceWriter *writer, GOutputVector *vectors, gsize n, GError **error)
{
	gsize size = 0;

	for (gsize i = 0; i < n; i++)
		size += vectors[i].size;
	if (writer->failed) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "the file could not be written earlier");
		return FALSE;
	}
	if (writer->fd >= 0 ? write_fd(writer->fd, vectors, n, error)
			    : write_stream(writer->stream, vectors, n, error)) {
		writer->at += size;
		return TRUE;
	}
	writer->failed = TRUE;
	cut_tail(writer);
	return FALSE;
}

static void pad(GByteArray *bytes)
{
	static const guint8 zero[RS_FILE_ALIGN];

	g_byte_array_append(bytes, zero, -bytes->len % RS_FILE_ALIGN);
}

/* ---- blocks ---- */

/* Begins a head; the rest is appended to writer->head. */
static void begin_block(RsTraceWriter *writer, guint kind, guint source)
{
	struct rs_file_block block = {
		.magic = RS_FILE_BLOCK_MAGIC,
		.id = writer->id,
		.kind = (guint16)kind,
		.source = source,
	};

	g_byte_array_set_size(writer->head, 0);
	g_byte_array_append(writer->head, (const guint8 *)&block, sizeof(block));
}

static void note_place(RsTraceWriter *writer, const struct rs_file_block *block, guint64 until_ns)
{
	struct rs_file_place place = {
		.at = writer->at,
		.until_ns = until_ns,
		.kind = block->kind,
		.source = block->source,
	};

	if (block->kind != RS_FILE_PAGES && block->kind != RS_FILE_INDEX &&
	    block->kind != RS_FILE_END)
		g_array_append_val(writer->places, place);
}

/* NULL: it does not become smaller. */
static const guint8 *compress_data(RsTraceWriter *writer, const guint8 *data, gsize *size)
{
	gsize room = ZSTD_compressBound(*size), packed;

	g_byte_array_set_size(writer->packed, (guint)room);
	packed = ZSTD_compressCCtx(writer->zstd, writer->packed->data, room, data, *size,
				   writer->compression);
	if (ZSTD_isError(packed) || packed >= *size)
		return NULL;
	*size = packed;
	return writer->packed->data;
}

/* What is needed to end the file at most: a window, two blocks of the index and the end. */
static guint64 end_bytes(const RsTraceWriter *writer)
{
	return 3 * sizeof(struct rs_file_block) + sizeof(struct rs_file_window) +
	       2 * sizeof(struct rs_file_table) +
	       (writer->places->len + 2) * sizeof(struct rs_file_place) + RS_FILE_END_SIZE;
}

static gboolean has_room(RsTraceWriter *writer, const struct rs_file_block *block, GError **error)
{
	if (!writer->max_bytes || block->kind == RS_FILE_WINDOW || block->kind == RS_FILE_INDEX ||
	    block->kind == RS_FILE_END)
		return TRUE;
	writer->full |= writer->at + block->size + end_bytes(writer) > writer->max_bytes;
	if (writer->full)
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_FULL,
				    "the file has all the bytes that it may have");
	return !writer->full;
}

static gboolean finish_block(RsTraceWriter *writer, const guint8 *data, gsize size,
			     guint64 until_ns, GError **error)
{
	static const guint8 zero[RS_FILE_ALIGN];
	struct rs_file_block *block;
	GOutputVector vectors[3];
	const guint8 *packed = NULL;
	gsize stored = size;

	pad(writer->head);
	block = (struct rs_file_block *)(void *)writer->head->data;
	if (writer->head->len > RS_FILE_HEAD_MAX || size > RS_FILE_BLOCK_MAX ||
	    size > rs_trace_head_most_data(block->kind)) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
			    "a block of %" G_GSIZE_FORMAT " bytes is too large for a trace file",
			    writer->head->len + size);
		return FALSE;
	}
	block->head_size = writer->head->len;
	block->data_size = (guint32)size;
	if (block->kind == RS_FILE_PAGES && writer->compression)
		packed = compress_data(writer, data, &stored);
	if (packed)
		block->flags |= RS_FILE_ZSTD;
	block->size = (guint32)(writer->head->len + RS_ALIGN_UP(stored, RS_FILE_ALIGN));
	if (!has_room(writer, block, error))
		return FALSE;
	block->crc = rs_trace_crc(writer->head->data, writer->head->len);
	vectors[0] = (GOutputVector){writer->head->data, writer->head->len};
	vectors[1] = (GOutputVector){packed ? packed : data, stored};
	vectors[2] = (GOutputVector){zero, -stored % RS_FILE_ALIGN};
	note_place(writer, block, until_ns);
	if (!write_all(writer, vectors, size ? 3 : 1, error))
		return FALSE;
	writer->page_bytes += block->kind == RS_FILE_PAGES ? block->size : 0;
	return TRUE;
}

static void append_table(RsTraceWriter *writer, const RsTraceWriterTable *table)
{
	struct rs_file_table head = {
		.arg = table->arg,
		.count = table->count,
		.stride = table->stride,
		.crc = table->data_size ? rs_trace_crc(table->data, table->data_size) : 0,
	};

	g_byte_array_append(writer->head, (const guint8 *)&head, sizeof(head));
	g_byte_array_append(writer->head, table->elements, table->count * table->stride);
}

/* ---- pages ---- */

/* Looks into the pages, which nobody does while they can be written. */
static void refuse(RsTraceWriterRefused *refused, const guint8 *bytes,
		   const struct rs_file_page *page)
{
	refused->pages++;
	refused->records += rs_trace_page_count(bytes, page->from, page->to, NULL);
	refused->lost += page->lost;
}

static void refuse_gathered(const RsTraceWriter *writer, RsTraceWriterRefused *refused)
{
	for (guint i = 0; i < writer->table->len; i++) {
		const struct rs_file_page *page =
			&g_array_index(writer->table, struct rs_file_page, i);

		refuse(refused, writer->pages->data + page->at, page);
	}
}

void rs_trace_writer_refused(const RsTraceWriter *writer, RsTraceWriterRefused *out)
{
	*out = writer->refused;
	if (writer->failed || writer->full)
		refuse_gathered(writer, out);
}

gboolean rs_trace_writer_flush(RsTraceWriter *writer, GError **error)
{
	const RsTraceWriterTable table = {
		.elements = writer->table->data,
		.count = writer->table->len,
		.stride = sizeof(struct rs_file_page),
	};
	gboolean done;

	if (!writer->table->len)
		return TRUE;
	begin_block(writer, RS_FILE_PAGES, writer->source);
	append_table(writer, &table);
	done = finish_block(writer, writer->pages->data, writer->pages->len, 0, error);
	if (!done)
		refuse_gathered(writer, &writer->refused);
	g_array_set_size(writer->table, 0);
	g_byte_array_set_size(writer->pages, 0);
	return done;
}

/* Whether a block of what is gathered, and of one page more, is as large as a block may be. */
static gboolean is_enough(const RsTraceWriter *writer, const struct rs_file_page *page)
{
	const gsize pages = writer->pages->len + page->to;
	const guint64 block = sizeof(struct rs_file_block) + sizeof(struct rs_file_table) +
			      (writer->table->len + 1) * sizeof(*page) + pages;

	return pages > GATHER ||
	       (writer->max_bytes && writer->at + block + end_bytes(writer) > writer->max_bytes);
}

gboolean rs_trace_writer_put_page(RsTraceWriter *writer, guint source, const guint8 *bytes,
				  const struct rs_file_page *page, GError **error)
{
	struct rs_file_page entry = *page;

	if (page->from < RS_RING_PAGE_HEADER || page->from > page->to ||
	    page->to > RS_RING_PAGE_MAX) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "a page cannot be so large");
		return FALSE;
	}
	if ((source != writer->source || is_enough(writer, page)) &&
	    !rs_trace_writer_flush(writer, error)) {
		refuse(&writer->refused, bytes, page);
		return FALSE;
	}
	writer->source = source;
	entry.at = writer->pages->len;
	g_byte_array_append(writer->pages, bytes, page->to);
	entry.crc = rs_trace_crc(writer->pages->data + entry.at, page->to);
	g_array_append_val(writer->table, entry);
	pad(writer->pages);
	writer->window_bytes += writer->pages->len - entry.at;
	return TRUE;
}

/* ---- the rest ---- */

/* Ends what came before it, so pages that were gathered must not follow it. */
static gboolean ends_pages(guint kind)
{
	return kind == RS_FILE_SOURCE || kind == RS_FILE_LEFT || kind == RS_FILE_LOST;
}

static gboolean put_part(RsTraceWriter *writer, guint kind, guint source,
			 const RsTraceWriterTable *table, GError **error)
{
	begin_block(writer, kind, source);
	append_table(writer, table);
	return finish_block(writer, table->data, table->data_size, 0, error);
}

static gboolean put_index(RsTraceWriter *writer, GError **error)
{
	const RsTraceWriterTable table = {
		.arg = writer->index,
		.elements = writer->places->data,
		.count = writer->places->len,
		.stride = sizeof(struct rs_file_place),
	};
	guint64 at = writer->at;

	if (!put_part(writer, RS_FILE_INDEX, 0, &table, error))
		return FALSE;
	g_array_set_size(writer->places, 0);
	writer->index = at;
	return TRUE;
}

static gboolean bound_index(RsTraceWriter *writer, GError **error)
{
	return writer->places->len < PLACES_MAX || put_index(writer, error);
}

gboolean rs_trace_writer_put(RsTraceWriter *writer, guint kind, guint source, gconstpointer body,
			     gsize size, GError **error)
{
	if (ends_pages(kind) && !rs_trace_writer_flush(writer, error))
		return FALSE;
	begin_block(writer, kind, source);
	g_byte_array_append(writer->head, body, (guint)size);
	return finish_block(writer, NULL, 0, 0, error) && bound_index(writer, error);
}

gboolean rs_trace_writer_put_table(RsTraceWriter *writer, guint kind, guint source,
				   const RsTraceWriterTable *table, GError **error)
{
	/* Names say the same in several blocks. */
	guint most = kind == RS_FILE_NAMES ? TABLE_MAX / table->stride : G_MAXUINT;
	RsTraceWriterTable part = *table;

	for (guint left = table->count;; left -= part.count) {
		part.count = MIN(left, most);
		if (!put_part(writer, kind, source, &part, error))
			return FALSE;
		if (part.count == left)
			return bound_index(writer, error);
		part.elements = (const guint8 *)part.elements + (gsize)part.count * part.stride;
	}
}

gsize rs_trace_writer_window_bytes(const RsTraceWriter *writer)
{
	return writer->window_bytes;
}

gboolean rs_trace_writer_end_window(RsTraceWriter *writer, guint64 until_ns, GError **error)
{
	struct rs_file_window window = {.number = ++writer->windows, .until_ns = until_ns};

	writer->window_bytes = 0;
	if (!rs_trace_writer_flush(writer, error))
		return FALSE;
	begin_block(writer, RS_FILE_WINDOW, 0);
	g_byte_array_append(writer->head, (const guint8 *)&window, sizeof(window));
	if (!finish_block(writer, NULL, 0, until_ns, error))
		return FALSE;
	return writer->places->len < PLACES || put_index(writer, error);
}

guint64 rs_trace_writer_size(const RsTraceWriter *writer)
{
	return writer->at + (writer->failed || writer->full ? 0 : writer->pages->len);
}

guint64 rs_trace_writer_page_bytes(const RsTraceWriter *writer)
{
	return writer->page_bytes + (writer->failed || writer->full ? 0 : writer->pages->len);
}

RsTraceWriter *rs_trace_writer_new(GOutputStream *stream, const RsTraceWriterConfig *config,
				   GError **error)
{
	struct rs_file_header header = {
		.magic = RS_FILE_MAGIC,
		.abi_major = RS_ABI_MAJOR,
		.abi_minor = RS_ABI_MINOR,
		.header_size = sizeof(header),
		.origin_ns = config->origin_ns,
		.wall_ns = config->wall_ns,
		.id = g_random_int(),
	};
	GOutputVector vector = {&header, sizeof(header)};
	g_autoptr(RsTraceWriter) writer = g_new0(RsTraceWriter, 1);

	memcpy(header.host_boot, config->host_boot, sizeof(header.host_boot));
	writer->stream = g_object_ref(stream);
	find_file(writer);
	writer->compression = config->compression;
	writer->max_bytes = config->max_bytes;
	writer->zstd = config->compression ? ZSTD_createCCtx() : NULL;
	writer->id = header.id;
	writer->pages = g_byte_array_sized_new(GATHER);
	writer->table = g_array_new(FALSE, FALSE, sizeof(struct rs_file_page));
	writer->places = g_array_new(FALSE, FALSE, sizeof(struct rs_file_place));
	writer->head = g_byte_array_new();
	writer->packed = g_byte_array_new();
	return write_all(writer, &vector, 1, error) ? g_steal_pointer(&writer) : NULL;
}

void rs_trace_writer_free(RsTraceWriter *writer)
{
	if (!writer)
		return;
	g_object_unref(writer->stream);
	g_byte_array_unref(writer->pages);
	g_array_unref(writer->table);
	g_array_unref(writer->places);
	g_byte_array_unref(writer->head);
	g_byte_array_unref(writer->packed);
	ZSTD_freeCCtx(writer->zstd);
	g_free(writer);
}

gboolean rs_trace_writer_close(RsTraceWriter *writer, GError **error)
{
	struct rs_file_end end = {0};

	if (!rs_trace_writer_flush(writer, error) || !put_index(writer, error))
		return FALSE;
	end.index = writer->index;
	return rs_trace_writer_put(writer, RS_FILE_END, 0, &end, sizeof(end), error) &&
	       g_output_stream_close(writer->stream, NULL, error);
}
