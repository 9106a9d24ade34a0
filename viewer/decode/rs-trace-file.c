/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "rs-trace-bytes-private.h"
#include "rs-trace-crc-private.h"
#include "rs-trace-error.h"
#include "rs-trace-file-private.h"

#include <ringside/region.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define HEADER_MAX (1u << 20)
#define SEARCH (64u << 10) /* bytes that are searched at once */
/* What a search may read for nothing: some at first, and so much for each byte that it passes. */
#define TRIES_FIRST (64u << 20)
#define TRIES_A_BYTE 16u

struct _RsTraceFile {
	RsTraceBytes bytes;
	struct rs_file_header header;
	int origin;       /* the trace.dat of which it is made; -1: none */
	guint64 at;       /* of the next block */
	guint64 data_at;  /* of a file: where the data of the block before begin; 0: nowhere */
	guint64 passed;   /* damaged parts, each time that one comes to them */
	guint64 seen;     /* damage before it was counted */
	guint64 tried;    /* bytes of the last head, as it says */
	GByteArray *head; /* of the last block */
	char *name;
	GBytes *data;
	ZSTD_DCtx *zstd; /* NULL: nothing was compressed so far */
	RsTraceFileDamage damage;
};

/* ---- damage ---- */

static void note_damage(RsTraceFile *file, guint64 at, guint64 end, const char *why)
{
	file->passed++;
	if (at < file->seen)
		return;
	file->seen = end;
	if (!file->damage.gaps++) {
		file->damage.first = at;
		file->damage.why = why;
	}
	file->damage.bytes += end - at;
}

void rs_trace_file_reject(RsTraceFile *file, const RsTraceFileBlock *block, const char *why)
{
	note_damage(file, block->at, block->place.at + block->place.stored, why);
}

const RsTraceFileDamage *rs_trace_file_damage(const RsTraceFile *file)
{
	return &file->damage;
}

/* ---- blocks ---- */

/* What became of reading a block: WRONG is no status of a file, as a search goes on from there. */
typedef enum { WHOLE, WRONG, CUT, FAILED } Found;

ZSTD_DCtx *rs_trace_file_zstd(RsTraceFile *file)
{
	if (!file->zstd)
		file->zstd = ZSTD_createDCtx();
	return file->zstd;
}

static GBytes *unpack(RsTraceFile *file, const guint8 *stored, const RsTraceFilePlace *place)
{
	gsize size, frame = ZSTD_findFrameCompressedSize(stored, place->stored);
	g_autofree guint8 *unpacked = NULL;

	if (ZSTD_isError(frame))
		return NULL;
	unpacked = g_malloc(place->size);
	size = ZSTD_decompressDCtx(rs_trace_file_zstd(file), unpacked, place->size, stored, frame);
	if (ZSTD_isError(size) || size != place->size)
		return NULL;
	return g_bytes_new_take(g_steal_pointer(&unpacked), size);
}

static Found load(RsTraceFile *file, const RsTraceFilePlace *place, GBytes **out, GError **error)
{
	g_autoptr(GError) local = NULL;
	guint8 *stored = rs_trace_bytes_copy(&file->bytes, place->at,
					     place->packed ? place->stored : place->size, &local);

	if (local) {
		g_propagate_error(error, g_steal_pointer(&local));
		return FAILED;
	}
	if (!stored)
		return CUT;
	if (place->checked && !rs_trace_crc_fits(place->crc, stored, place->size)) {
		g_free(stored);
		return WRONG;
	}
	if (!place->packed) {
		*out = g_bytes_new_take(stored, place->size);
		return WHOLE;
	}
	*out = unpack(file, stored, place);
	g_free(stored);
	return *out ? WHOLE : WRONG;
}

GBytes *rs_trace_file_load(RsTraceFile *file, const RsTraceFilePlace *place, GError **error)
{
	GBytes *data = NULL;

	if (load(file, place, &data, error) == WRONG)
		note_damage(file, place->at, place->at + place->stored,
			    "a block's data are damaged");
	return data;
}

/* Finds where data lie. What is wrong with that, or NULL. */
static const char *locate(const struct rs_file_block *block, RsTraceFileBlock *out)
{
	out->place = (RsTraceFilePlace){
		.at = out->at + block->head_size,
		.stored = block->size - block->head_size,
		.size = block->data_size,
		.packed = !!(block->flags & RS_FILE_ZSTD),
		.checked = block->kind != RS_FILE_PAGES,
		.crc = out->crc,
	};
	if (!out->place.packed && out->place.size > out->place.stored)
		return "a block has less data than it says";
	return NULL;
}

/* Takes `size` bytes of the head. */
static Found take_bytes(RsTraceFile *file, guint64 at, gsize size, GError **error)
{
	const guint8 *there;
	gsize got;

	if (at > G_MAXINT64)
		return CUT;
	there = rs_trace_bytes_peek(&file->bytes, at, size, &got, error);
	if (!there)
		return FAILED;
	g_byte_array_set_size(file->head, 0);
	if (got < size)
		return CUT;
	g_byte_array_append(file->head, there, (guint)size);
	return WHOLE;
}

static Found take_head(RsTraceFile *file, guint64 at, gsize most, RsTraceFileBlock *out,
		       const char **wrong, GError **error)
{
	struct rs_file_block block;
	Found found;

	*wrong = NULL;
	file->tried = sizeof(block);
	found = take_bytes(file, at, sizeof(block), error);
	if (found != WHOLE)
		return found;
	memcpy(&block, file->head->data, sizeof(block));
	file->tried = MAX(block.head_size, sizeof(block));
	*wrong = rs_trace_head_judge(&block, file->header.id);
	if (*wrong || block.head_size > most)
		return WRONG;
	found = take_bytes(file, at, block.head_size, error);
	if (found != WHOLE)
		return found;
	*out = (RsTraceFileBlock){.at = at};
	*wrong = rs_trace_head_parse(file->head, out);
	if (!*wrong)
		*wrong = locate(&block, out);
	return *wrong ? WRONG : WHOLE;
}

/* Where before `to` the bytes with which each block begins come next. FALSE: nowhere. */
static gboolean search_start(RsTraceFile *file, guint64 *at, guint64 to, GError **error)
{
	const guint32 start[] = {RS_FILE_BLOCK_MAGIC, file->header.id};
	const guint8 *there, *found;
	gsize got;

	for (; *at < to; *at += got - sizeof(start) + 1) {
		rs_trace_bytes_forget(&file->bytes, *at);
		there = rs_trace_bytes_peek(&file->bytes, *at, SEARCH, &got, error);
		if (!there || got < sizeof(start)) {
			*at += there ? got : 0;
			return FALSE;
		}
		found = memmem(there, got, start, sizeof(start));
		if (!found)
			continue;
		*at += (guint64)(found - there);
		return TRUE;
	}
	return FALSE;
}

/* The first whole head from *at on, which is set to where it is, or to where the search ended. */
static Found search_head(RsTraceFile *file, guint64 *at, guint64 to, RsTraceFileBlock *out,
			 GError **error)
{
	guint64 tries = TRIES_FIRST, before = *at;
	g_autoptr(GError) local = NULL;
	const char *wrong;
	Found found = CUT;

	for (; search_start(file, at, to, &local); before = ++*at) {
		tries += (*at - before) * TRIES_A_BYTE;
		rs_trace_bytes_forget(&file->bytes, *at);
		found = take_head(file, *at, tries, out, &wrong, &local);
		if (found == WHOLE || found == FAILED)
			break;
		tries -= MIN(tries, file->tried);
		found = CUT;
	}
	if (!local)
		return found;
	g_propagate_error(error, g_steal_pointer(&local));
	return FAILED;
}

gboolean rs_trace_file_find(RsTraceFile *file, guint64 *at, guint64 to, RsTraceFileBlock *out)
{
	return search_head(file, at, to, out, NULL) == WHOLE;
}

/*
 * Finds the next whole head behind what is damaged. If bytes are missing in a block's data, the
 * next one begins before the block would end. A pipe is not searched there, since these bytes have
 * gone. A head that the file's end cuts may also be a damaged one: then `why` is NULL, and it
 * counts as damage only if there is one more.
 */
static Found search(RsTraceFile *file, const char *why, RsTraceFileBlock *out, GError **error)
{
	const guint64 at = file->at, from = file->data_at ? file->data_at : at;
	Found found;

	file->at = from == at ? at + 1 : from;
	found = search_head(file, &file->at, G_MAXUINT64, out, error);
	if (why || found == WHOLE)
		note_damage(file, file->at < at ? from : at, file->at,
			    why ? why : "a block has an impossible size");
	return found;
}

#define PACKED_MORE (64u << 10) /* by which packed data may be longer than what they hold */

/* Data that nobody looks at are not read. */
static Found load_of(RsTraceFile *file, const RsTraceFileBlock *block, GError **error)
{
	const gsize most = rs_trace_head_most_data(block->kind);

	if (!block->place.size || !most)
		return WHOLE;
	return load(file, &block->place, &file->data, error);
}

static gboolean is_too_large(const RsTraceFileBlock *block)
{
	const gsize most = rs_trace_head_most_data(block->kind);

	return most && block->place.stored > most + PACKED_MORE;
}

static Found next_block(RsTraceFile *file, gboolean with_data, RsTraceFileBlock *out,
			GError **error)
{
	const char *wrong = NULL;
	guint64 at = file->at;
	Found found;

	rs_trace_bytes_forget(&file->bytes, at);
	found = take_head(file, at, G_MAXSIZE, out, &wrong, error);
	if (found == WRONG || found == CUT)
		found = search(file, wrong, out, error);
	while (found == WHOLE &&
	       !rs_trace_bytes_reach(&file->bytes, out->place.at + out->place.stored)) {
		file->data_at = out->place.at;
		found = search(file, NULL, out, error);
	}
	if (found != WHOLE)
		return found;
	if (is_too_large(out))
		found = WRONG;
	else if (with_data)
		found = load_of(file, out, error);
	if (found != WHOLE && found != WRONG)
		return found;
	out->data = file->data;
	file->at = out->place.at + out->place.stored;
	file->data_at = file->bytes.seekable ? out->place.at : 0;
	if (found == WRONG)
		rs_trace_file_reject(file, out,
				     is_too_large(out)
					     ? "more data than a block of its kind may have"
					     : "a block's data are damaged");
	return found;
}

RsTraceFileStatus rs_trace_file_next(RsTraceFile *file, gboolean with_data, RsTraceFileBlock *out,
				     GError **error)
{
	guint64 passed = file->passed;
	Found found;

	do {
		g_clear_pointer(&file->data, g_bytes_unref);
		found = next_block(file, with_data, out, error);
		if (found == CUT)
			return RS_TRACE_FILE_CUT;
		if (found == FAILED)
			return RS_TRACE_FILE_ERROR;
	} while (found == WRONG || !out->kind || out->kind > RS_FILE_SYMBOLS);
	out->after_gap = file->passed != passed;
	return out->kind == RS_FILE_END ? RS_TRACE_FILE_END : RS_TRACE_FILE_BLOCK;
}

gboolean rs_trace_file_read(RsTraceFile *file, guint64 at, gboolean with_data,
			    RsTraceFileBlock *out)
{
	const char *wrong;

	g_return_val_if_fail(file->bytes.seekable, FALSE);
	g_clear_pointer(&file->data, g_bytes_unref);
	if (take_head(file, at, G_MAXSIZE, out, &wrong, NULL) != WHOLE || is_too_large(out))
		return FALSE;
	if (with_data && load_of(file, out, NULL) != WHOLE)
		return FALSE;
	out->data = file->data;
	return TRUE;
}

void rs_trace_file_seek(RsTraceFile *file, guint64 at)
{
	g_return_if_fail(file->bytes.seekable);
	file->at = at;
	file->data_at = 0;
}

gboolean rs_trace_file_read_part(RsTraceFile *file, guint64 at, guint8 *to, gsize size,
				 GError **error)
{
	return rs_trace_bytes_read(&file->bytes, at, to, size, error);
}

gboolean rs_trace_file_announce(RsTraceFile *file, const RsTraceFilePlace *place)
{
	return rs_trace_bytes_announce(&file->bytes, place->at, place->size);
}

guint64 rs_trace_file_at(const RsTraceFile *file)
{
	return file->at;
}

guint64 rs_trace_file_size(RsTraceFile *file)
{
	return rs_trace_bytes_size(&file->bytes);
}

void rs_trace_file_progress(RsTraceFile *file, guint64 *done, guint64 *total)
{
	*done = file->at;
	*total = rs_trace_bytes_size(&file->bytes);
}

/* ---- the file ---- */

const struct rs_file_header *rs_trace_file_header(const RsTraceFile *file)
{
	return &file->header;
}

gboolean rs_trace_file_is_seekable(const RsTraceFile *file)
{
	return file->bytes.seekable;
}

void rs_trace_file_set_name(RsTraceFile *file, const char *name)
{
	g_free(file->name);
	file->name = g_strdup(name);
}

const char *rs_trace_file_name(const RsTraceFile *file)
{
	return file->name;
}

static const char *why_no_header(const struct rs_file_header *header, gsize size)
{
	if (!size)
		return "the file is empty";
	if (size >= sizeof(header->magic) && header->magic == RS_FILE_MAGIC)
		return "the file ends in its header";
	return "not a trace file of Ringside";
}

static gboolean can_read(const struct rs_file_header *header, GError **error)
{
	const guint64 features = header->features & RS_FEATURES_REQUIRED;

	if (header->abi_major != RS_ABI_MAJOR)
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "a trace file of version %u.%u, which this version cannot read",
			    header->abi_major, header->abi_minor);
	else if (features)
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "the file needs features 0x%" G_GINT64_MODIFIER
			    "x, which this version does not know",
			    features);
	return header->abi_major == RS_ABI_MAJOR && !features;
}

/* The magic first: nothing else is known about what is no trace file. */
static gboolean take_header(RsTraceFile *file, GError **error)
{
	struct rs_file_header *header = &file->header;
	const guint8 *there;
	gsize got;

	there = rs_trace_bytes_peek(&file->bytes, 0, RS_FILE_HEADER_MIN_SIZE, &got, error);
	if (!there)
		return FALSE;
	memcpy(header, there, got);
	if (got < RS_FILE_HEADER_MIN_SIZE || header->magic != RS_FILE_MAGIC) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    why_no_header(header, got));
		return FALSE;
	}
	if (!can_read(header, error))
		return FALSE;
	if (header->header_size < RS_FILE_HEADER_MIN_SIZE || header->header_size > HEADER_MAX ||
	    header->header_size % RS_FILE_ALIGN) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "the file's header has an impossible size");
		return FALSE;
	}
	file->at = header->header_size;
	return TRUE;
}

void rs_trace_file_set_cancellable(RsTraceFile *file, GCancellable *cancellable)
{
	file->bytes.cancellable = cancellable;
}

void rs_trace_file_set_origin(RsTraceFile *file, int fd)
{
	file->origin = fd;
}

int rs_trace_file_origin(const RsTraceFile *file)
{
	return file->origin;
}

gboolean rs_trace_file_replace(RsTraceFile *file, int fd, GError **error)
{
	GCancellable *cancellable = file->bytes.cancellable;

	rs_trace_bytes_deinit(&file->bytes);
	rs_trace_bytes_init_fd(&file->bytes, fd);
	rs_trace_file_set_cancellable(file, cancellable);
	file->damage = (RsTraceFileDamage){0};
	file->passed = file->seen = 0;
	return take_header(file, error);
}

GCancellable *rs_trace_file_cancellable(const RsTraceFile *file)
{
	return file->bytes.cancellable;
}

static RsTraceFile *begin(RsTraceFile *begun, GCancellable *cancellable, GError **error)
{
	g_autoptr(RsTraceFile) file = begun;

	file->head = g_byte_array_new();
	file->origin = -1;
	rs_trace_file_set_cancellable(file, cancellable);
	if (!take_header(file, error))
		return NULL;
	rs_trace_file_set_cancellable(file, NULL);
	return g_steal_pointer(&file);
}

RsTraceFile *rs_trace_file_new(GInputStream *stream, GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = g_new0(RsTraceFile, 1);

	rs_trace_bytes_init(&file->bytes, stream);
	return begin(file, cancellable, error);
}

RsTraceFile *rs_trace_file_new_fd(int fd, GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = g_new0(RsTraceFile, 1);

	rs_trace_bytes_init_fd(&file->bytes, fd);
	return begin(file, cancellable, error);
}

void rs_trace_file_free(RsTraceFile *file)
{
	if (!file)
		return;
	rs_trace_bytes_deinit(&file->bytes);
	if (file->origin >= 0)
		close(file->origin);
	g_byte_array_unref(file->head);
	g_clear_pointer(&file->data, g_bytes_unref);
	ZSTD_freeDCtx(file->zstd);
	g_free(file->name);
	g_free(file);
}
