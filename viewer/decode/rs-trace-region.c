/* SPDX-License-Identifier: MIT */
#include "rs-trace-region.h"

#include <errno.h>
#include <gio/gio.h>
#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <ringside/hypercall.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean power_of_two(guint64 n)
{
	return n && !(n & (n - 1));
}

G_GNUC_PRINTF(2, 3) static gboolean bad(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error)
		*error =
			g_error_new_valist(RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_REGION, format, args);
	va_end(args);
	return FALSE;
}

static gboolean bad_errno(GError **error, const char *what)
{
	int code = errno;

	g_set_error(error, G_IO_ERROR, g_io_error_from_errno(code), "%s: %s", what,
		    g_strerror(code));
	return FALSE;
}

static gboolean check_geometry(const struct rs_region_header *h, GError **error)
{
	if (h->ring_count < 1 || h->ring_count > RS_MAX_CPUS)
		return bad(error, "region header: %u rings", h->ring_count);
	if (!power_of_two(h->ring_page_size) || h->ring_page_size < RS_RING_PAGE_MIN ||
	    h->ring_page_size > RS_RING_PAGE_MAX)
		return bad(error, "region header: ring page size %u", h->ring_page_size);
	if (!power_of_two(h->ring_pages) || h->ring_pages < RS_RING_PAGES_MIN ||
	    h->ring_pages > RS_RING_PAGES_MAX)
		return bad(error, "region header: %u pages a ring", h->ring_pages);
	if (h->ring_mode > RS_MODE_DROP)
		return bad(error, "region header: ring mode %u", h->ring_mode);
	if (h->event_capacity > RS_MAX_EVENTS || h->provider_capacity > 65536)
		return bad(error, "region header: capacity out of range");
	if (!power_of_two(h->cmdline_buckets) || h->cmdline_buckets > 1u << 20)
		return bad(error, "region header: %u cmdline buckets", h->cmdline_buckets);
	return TRUE;
}

static gboolean check_sections(const struct rs_region_header *h, GError **error)
{
	const guint64 need[RS_SEC_COUNT] = {
		[RS_SEC_HEADER] = sizeof(*h),
		[RS_SEC_CONTROL] = sizeof(struct rs_control),
		[RS_SEC_EVENT_CTL] = h->event_capacity * 4ull,
		[RS_SEC_RING_CTL] = h->ring_count * sizeof(struct rs_ring_ctl),
		[RS_SEC_RESPONSE] = h->ring_count * sizeof(struct rs_hcall_response),
		[RS_SEC_GUEST_INFO] = sizeof(struct rs_guest_info),
		[RS_SEC_PROVIDERS] = h->provider_capacity * sizeof(struct rs_provider),
		[RS_SEC_CMDLINE] = h->cmdline_buckets * sizeof(struct rs_cmdline_bucket),
		[RS_SEC_REQUEST] = h->ring_count * sizeof(struct rs_hcall_request),
		[RS_SEC_RING_STATE] = h->ring_count * sizeof(struct rs_ring_state),
		[RS_SEC_RINGS] = (guint64)h->ring_count * h->ring_pages * h->ring_page_size,
	};
	guint64 end = 0;

	for (int i = 0; i < RS_SEC_COUNT; i++) {
		const struct rs_section *s = &h->section[i];
		gboolean guest = i >= RS_SEC_GUEST_INFO;

		if (s->size < need[i])
			return bad(error, "region header: section %d is too small", i);
		if (!s->size)
			continue;
		if (s->offset % RS_PAGE_SIZE || s->size % RS_PAGE_SIZE || s->offset < end ||
		    s->size > h->region_size || s->offset > h->region_size - s->size)
			return bad(error, "region header: section %d lies badly", i);
		end = s->offset + s->size;
		if (guest ? s->offset < h->guest_offset : end > h->guest_offset)
			return bad(error, "region header: section %d is on the wrong side", i);
	}
	return TRUE;
}

gboolean rs_trace_region_check_header(const struct rs_region_header *h, guint64 size,
				      GError **error)
{
	if (h->magic != RS_REGION_MAGIC)
		return bad(error, "no Ringside region: its magic is missing");
	if (h->abi_major != RS_ABI_MAJOR) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "the region has ABI version %u.%u, this is %u.%u", h->abi_major,
			    h->abi_minor, RS_ABI_MAJOR, RS_ABI_MINOR);
		return FALSE;
	}
	if (h->header_size < sizeof(*h) || h->region_size > size ||
	    h->guest_offset % RS_PAGE_SIZE || h->guest_offset > h->region_size)
		return bad(error, "region header: sizes contradict each other");
	return check_geometry(h, error) && check_sections(h, error);
}

RsTraceRegion *rs_trace_region_open(int fd, gboolean writable, GError **error)
{
	struct rs_region_header h = {0};
	RsTraceRegion *region;
	struct stat st;
	void *map;

	if (fstat(fd, &st)) {
		bad_errno(error, "trace region");
		return NULL;
	}
	if (st.st_size < (off_t)sizeof(h)) {
		bad(error, "no Ringside region: only %lld bytes", (long long)st.st_size);
		return NULL;
	}
	map = mmap(NULL, (size_t)st.st_size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
		   MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		bad_errno(error, "cannot map the trace region");
		return NULL;
	}
	/* The acquire pairs with the release in rs_region_create. */
	if (rs_load_acquire((guint64 *)map) == RS_REGION_MAGIC)
		memcpy(&h, map, sizeof(h));
	if (!rs_trace_region_check_header(&h, (guint64)st.st_size, error)) {
		munmap(map, (size_t)st.st_size);
		return NULL;
	}
	region = g_new0(RsTraceRegion, 1);
	region->header = h;
	region->map = map;
	region->size = (gsize)st.st_size;
	region->fd = fd;
	region->writable = writable;
	return region;
}

void rs_trace_region_free(RsTraceRegion *region)
{
	if (!region)
		return;
	munmap(region->map, region->size);
	close(region->fd);
	g_free(region);
}

void *rs_trace_region_section(const RsTraceRegion *region, guint section, gsize *size)
{
	const struct rs_section *s = &region->header.section[section];

	if (size)
		*size = s->size;
	return s->size ? region->map + s->offset : NULL;
}

/*
 * The guest may be writing here: single relaxed loads, so that no word is torn and a look at one (a
 * sequence, say) is not moved by memcpy to where it pleases; what the whole is worth, the caller finds out.
 */
static void copy_shared(void *out, const guint8 *from, gsize bytes)
{
	guint8 *to = out;

	for (; bytes && (uintptr_t)from % sizeof(guint64); bytes--)
		*to++ = rs_load(from++);
	for (; bytes >= sizeof(guint64); bytes -= sizeof(guint64)) {
		guint64 word = rs_load((const guint64 *)(const void *)from);

		memcpy(to, &word, sizeof(word));
		to += sizeof(word);
		from += sizeof(word);
	}
	while (bytes--)
		*to++ = rs_load(from++);
}

gsize rs_trace_region_copy(const RsTraceRegion *region, guint section, gsize offset, void *out,
			   gsize bytes)
{
	gsize size;
	const guint8 *from = rs_trace_region_section(region, section, &size);

	if (!from || offset >= size)
		return 0;
	bytes = MIN(bytes, size - offset);
	copy_shared(out, from + offset, bytes);
	return bytes;
}

gboolean rs_trace_region_guest_info(const RsTraceRegion *region, struct rs_guest_info *out,
				    GError **error)
{
	struct rs_guest_info *shared = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	const struct rs_region_header *h = &region->header;
	struct rs_guest_info info;

	/* Pairs with the agent's release store of its magic. */
	if (rs_load_acquire(&shared->magic) != RS_GUEST_MAGIC) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_AGENT,
				    "the guest's agent has not reported yet");
		return FALSE;
	}
	copy_shared(&info, (const guint8 *)shared, sizeof(info));
	if (info.abi_major != RS_ABI_MAJOR) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "the guest's agent has ABI version %u.%u, this host %u.%u",
			    info.abi_major, info.abi_minor, RS_ABI_MAJOR, RS_ABI_MINOR);
		return FALSE;
	}
	if (info.session_id != h->session_id) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_AGENT,
				    "the guest's agent belongs to another session");
		return FALSE;
	}
	info.agent[sizeof(info.agent) - 1] = 0;
	info.name[sizeof(info.name) - 1] = 0;
	info.cpu_count = MIN(info.cpu_count, h->ring_count);
	info.provider_count = MIN(info.provider_count, h->provider_capacity);
	info.event_bytes = MIN(info.event_bytes, h->section[RS_SEC_EVENTS].size);
	info.event_count = MIN(info.event_count, h->event_capacity);
	*out = info;
	return TRUE;
}
