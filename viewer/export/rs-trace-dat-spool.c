/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-private.h"

#include <errno.h>
#include <unistd.h>

#define EXTENT (256u << 10)

struct _RsTraceDatSpool {
	int fd;
	guint32 n_extents;
};

RsTraceDatSpool *rs_trace_dat_spool_new(int fd)
{
	RsTraceDatSpool *spool = g_new0(RsTraceDatSpool, 1);

	spool->fd = fd;
	return spool;
}

void rs_trace_dat_spool_free(RsTraceDatSpool *spool)
{
	if (!spool)
		return;
	close(spool->fd);
	g_free(spool);
}

static gboolean fail(GError **error, int saved_errno)
{
	g_set_error(error, G_IO_ERROR, g_io_error_from_errno(saved_errno),
		    "a temporary file cannot be used: %s", g_strerror(saved_errno));
	return FALSE;
}

static off_t place(const RsTraceDatChain *chain, guint64 at)
{
	guint32 extent = g_array_index(chain->extents, guint32, at / EXTENT);

	return (off_t)extent * EXTENT + (off_t)(at % EXTENT);
}

/* Room behind the chain's end, which reads as zeros. */
static gboolean make_room(RsTraceDatSpool *spool, RsTraceDatChain *chain, GError **error)
{
	if (!chain->extents)
		chain->extents = g_array_new(FALSE, FALSE, sizeof(guint32));
	if (chain->size / EXTENT < chain->extents->len)
		return TRUE;
	if (ftruncate(spool->fd, (off_t)(spool->n_extents + 1) * EXTENT))
		return fail(error, errno);
	g_array_append_val(chain->extents, spool->n_extents);
	spool->n_extents++;
	return TRUE;
}

gboolean rs_trace_dat_spool_put(RsTraceDatSpool *spool, RsTraceDatChain *chain, const guint8 *bytes,
				gsize size, GError **error)
{
	if (!make_room(spool, chain, error))
		return FALSE;
	for (gsize done = 0; done < size;) {
		ssize_t n = pwrite(spool->fd, bytes + done, size - done,
				   place(chain, chain->size) + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(error, n < 0 ? errno : ENOSPC);
		done += (gsize)n;
	}
	return TRUE;
}

gboolean rs_trace_dat_spool_get(RsTraceDatSpool *spool, const RsTraceDatChain *chain, guint8 *bytes,
				gsize size, GError **error)
{
	for (gsize done = 0; done < size;) {
		ssize_t n = pread(spool->fd, bytes + done, size - done,
				  place(chain, chain->size) + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(error, n < 0 ? errno : EIO);
		done += (gsize)n;
	}
	return TRUE;
}

gboolean rs_trace_dat_spool_copy(RsTraceDatSpool *spool, const RsTraceDatChain *chain,
				 GOutputStream *out, GCancellable *cancellable, GError **error)
{
	g_autofree guint8 *bytes = g_malloc(EXTENT);

	for (guint64 at = 0; at < chain->size;) {
		gsize want = MIN(EXTENT - at % EXTENT, chain->size - at);
		ssize_t n = pread(spool->fd, bytes, want, place(chain, at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(error, n < 0 ? errno : EIO);
		if (!g_output_stream_write_all(out, bytes, (gsize)n, NULL, cancellable, error))
			return FALSE;
		at += (guint64)n;
	}
	return TRUE;
}
