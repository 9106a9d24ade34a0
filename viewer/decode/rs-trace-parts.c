/* SPDX-License-Identifier: MIT */
#include "rs-trace-parts-private.h"

#include <string.h>
#include <zstd.h>

#define PART (8u << 10) /* bytes, unpacked */
#define LEVEL (-3)      /* of zstd: fast */

struct _RsTraceParts {
	gsize size; /* unpacked */
	guint n;
	guint8 *all;    /* the parts */
	guint32 ends[]; /* where each of them ends */
};

static gsize part_size(const RsTraceParts *parts, guint i)
{
	return MIN(PART, parts->size - (gsize)i * PART);
}

/* FALSE: there is no room for it. */
static gboolean append(RsTraceParts *parts, guint i, const guint8 *part, ZSTD_CCtx *zstd,
		       GByteArray *all, gsize room)
{
	const guint before = all->len;
	gsize most = ZSTD_compressBound(PART), packed;

	g_byte_array_set_size(all, before + (guint)most);
	packed =
		ZSTD_compressCCtx(zstd, all->data + before, most, part, part_size(parts, i), LEVEL);
	if (ZSTD_isError(packed) || before + packed > room)
		return FALSE;
	g_byte_array_set_size(all, before + (guint)packed);
	parts->ends[i] = all->len;
	return TRUE;
}

RsTraceParts *rs_trace_parts_new(const guint8 *bytes, gsize size, gsize room)
{
	const guint n = (guint)((size + PART - 1) / PART);
	RsTraceParts *parts = g_malloc0(sizeof(*parts) + n * sizeof(*parts->ends));
	g_autoptr(GByteArray) all = g_byte_array_new();
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	gboolean fits = TRUE;

	parts->size = size;
	parts->n = n;
	for (guint i = 0; i < n && fits; i++)
		fits = append(parts, i, bytes + (gsize)i * PART, zstd, all, room);
	ZSTD_freeCCtx(zstd);
	/* An array that has grown has more room than it needs. */
	parts->all = fits ? g_memdup2(all->data, all->len) : NULL;
	if (fits && rs_trace_parts_size(parts) <= room)
		return parts;
	rs_trace_parts_free(parts);
	return NULL;
}

void rs_trace_parts_free(RsTraceParts *parts)
{
	if (parts)
		g_free(parts->all);
	g_free(parts);
}

gsize rs_trace_parts_size(const RsTraceParts *parts)
{
	return sizeof(*parts) + parts->n * sizeof(*parts->ends) +
	       (parts->n ? parts->ends[parts->n - 1] : 0);
}

void rs_trace_parts_copy(const RsTraceParts *parts, ZSTD_DCtx *zstd, gsize at, guint8 *to,
			 gsize size)
{
	guint8 part[PART];

	for (gsize done = 0, n; done < size; done += n) {
		const guint i = (guint)((at + done) / PART);
		const guint32 from = i ? parts->ends[i - 1] : 0;
		const gsize skip = (at + done) % PART;

		n = MIN(size - done, part_size(parts, i) - skip);
		ZSTD_decompressDCtx(zstd, part, sizeof(part), parts->all + from,
				    parts->ends[i] - from);
		memcpy(to + done, part + skip, n);
	}
}
