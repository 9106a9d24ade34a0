/* SPDX-License-Identifier: MIT */
#include "rs-trace-region.h"

#include "rs-trace-mapping.h"

#include <errno.h>
#include <gio/gio.h>
#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <ringside/hypercall.h>
#include <string.h>
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

/* How many rings and events there may be follows from the sections that must hold as many. */
static gboolean check_geometry(const struct rs_region_header *h, GError **error)
{
	if (!h->ring_count)
		return bad(error, "region header: no rings");
	if (!power_of_two(h->ring_page_size) || h->ring_page_size < RS_RING_PAGE_MIN ||
	    h->ring_page_size > RS_RING_PAGE_MAX)
		return bad(error, "region header: ring page size %u", h->ring_page_size);
	if (!power_of_two(h->ring_pages) || h->ring_pages < RS_RING_PAGES_MIN ||
	    h->ring_pages > RS_RING_PAGES_MAX)
		return bad(error, "region header: %u pages a ring", h->ring_pages);
	if (!rs_region_room_fits(h))
		return bad(error, "region header: room for %u pages a ring", h->ring_room);
	if (h->ring_mode > RS_MODE_DROP)
		return bad(error, "region header: ring mode %u", h->ring_mode);
	return TRUE;
}

/* Sections that this version knows. */
static const struct {
	guint8 number;
	gboolean optional;
	guint32 least; /* bytes of an element: see ringside/grow.h */
	guint32 most;  /* elements */
} known[] = {
	{RS_SEC_HEADER, FALSE, RS_REGION_HEADER_MIN_SIZE, 1},
	{RS_SEC_CONTROL, FALSE, RS_CONTROL_MIN_SIZE, 1},
	{RS_SEC_EVENT_CTL, FALSE, sizeof(guint32), RS_MAX_EVENTS},
	{RS_SEC_FILTERS, TRUE, 1, G_MAXUINT32},
	{RS_SEC_RING_CTL, FALSE, RS_RING_CTL_MIN_SIZE, RS_MAX_CPUS},
	{RS_SEC_RESPONSE, TRUE, RS_HCALL_RESPONSE_MIN_SIZE, 65536},
	{RS_SEC_CLOCK, TRUE, RS_CLOCK_EPOCH_MIN_SIZE, 65536},
	{RS_SEC_NATIVE, TRUE, sizeof(guint32), RS_MAX_EVENTS},
	{RS_SEC_GUEST_INFO, FALSE, RS_GUEST_INFO_MIN_SIZE, 1},
	{RS_SEC_PROVIDERS, FALSE, RS_PROVIDER_MIN_SIZE, 65536},
	{RS_SEC_EVENTS, FALSE, 1, G_MAXUINT32},
	{RS_SEC_CMDLINE, TRUE, RS_CMDLINE_BUCKET_MIN_SIZE, 1u << 20},
	{RS_SEC_REQUEST, TRUE, RS_HCALL_REQUEST_MIN_SIZE, 65536},
	{RS_SEC_RING_STATE, FALSE, RS_RING_STATE_MIN_SIZE, RS_MAX_CPUS},
	{RS_SEC_RINGS, FALSE, RS_RING_PAGE_MIN, 3 * RS_MAX_CPUS *RS_RING_PAGES_MAX},
};

static gboolean check_section(const struct rs_region_header *h, guint i, GError **error)
{
	const struct rs_section *s = &h->section[known[i].number];
	gboolean guest = known[i].number >= RS_SEC_FIRST_GUEST;

	if (!rs_stride_fits(s->stride, known[i].least) || s->count > known[i].most ||
	    (guint64)s->count * s->stride > s->size)
		return bad(error, "region header: section %u has impossible elements",
			   known[i].number);
	if (s->offset % RS_SECTION_ALIGN || s->size > h->region_size ||
	    !s->offset != (known[i].number == RS_SEC_HEADER) ||
	    s->offset > h->region_size - s->size)
		return bad(error, "region header: section %u lies badly", known[i].number);
	if (guest ? s->offset < h->guest_offset : s->offset + s->size > h->guest_offset)
		return bad(error, "region header: section %u is on the wrong side",
			   known[i].number);
	for (guint k = 0; k < i; k++) {
		const struct rs_section *other = &h->section[known[k].number];

		if (other->size && s->offset < other->offset + other->size &&
		    other->offset < s->offset + s->size)
			return bad(error, "region header: sections %u and %u overlap",
				   known[k].number, known[i].number);
	}
	return TRUE;
}

static gboolean check_counts(const struct rs_region_header *h, GError **error)
{
	const struct rs_section *s = h->section;
	guint32 buckets = s[RS_SEC_CMDLINE].count;

	if (!s[RS_SEC_CONTROL].count || !s[RS_SEC_GUEST_INFO].count ||
	    s[RS_SEC_EVENT_CTL].count < h->event_capacity ||
	    s[RS_SEC_RING_CTL].count < h->ring_count ||
	    s[RS_SEC_RING_STATE].count < h->ring_count ||
	    s[RS_SEC_RINGS].size < rs_region_rings_size(h))
		return bad(error, "region header: a section is too small");
	if (s[RS_SEC_REQUEST].count != s[RS_SEC_RESPONSE].count)
		return bad(error, "region header: %u requests, %u responses",
			   s[RS_SEC_REQUEST].count, s[RS_SEC_RESPONSE].count);
	if (buckets &&
	    (!power_of_two(buckets) || s[RS_SEC_CMDLINE].stride % RS_CMDLINE_STRIDE_ALIGN))
		return bad(error, "region header: %u cmdline buckets of %u bytes", buckets,
			   s[RS_SEC_CMDLINE].stride);
	if (s[RS_SEC_RINGS].stride != h->ring_page_size)
		return bad(error, "region header: ring pages of %u bytes", s[RS_SEC_RINGS].stride);
	return TRUE;
}

static gboolean check_sections(const struct rs_region_header *h, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
		if (!h->section[known[i].number].size) {
			if (known[i].optional)
				continue;
			return bad(error, "region header: section %u is missing", known[i].number);
		}
		if (!check_section(h, i, error))
			return FALSE;
	}
	return check_counts(h, error);
}

/* 1.0 knows no feature. */
static gboolean check_features(guint64 features, const char *whose, GError **error)
{
	guint32 unknown = features & RS_FEATURES_REQUIRED;

	if (unknown)
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "the %s needs features 0x%x, which this version does not know", whose,
			    unknown);
	return !unknown;
}

static gboolean check_version(const struct rs_region_header *h, GError **error)
{
	if (h->magic != RS_REGION_MAGIC)
		return bad(error, "no Ringside region: its magic is missing");
	if (h->abi_major != RS_ABI_MAJOR) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "the region has ABI version %u.%u, this is %u.%u", h->abi_major,
			    h->abi_minor, RS_ABI_MAJOR, RS_ABI_MINOR);
		return FALSE;
	}
	return check_features(h->features, "region", error);
}

gboolean rs_trace_region_take_header(const void *map, guint64 size, struct rs_region_header *out,
				     GError **error)
{
	gboolean fields = rs_region_take_header(out, map, size);

	if (!check_version(out, error))
		return FALSE;
	if (!fields || !rs_region_take_table(out, map, size) || out->region_size > size ||
	    out->guest_offset % RS_REGION_ALIGN)
		return bad(error, "region header: sizes contradict each other");
	return check_geometry(out, error) && check_sections(out, error);
}

/* Clears the sections that nobody has checked, so that nobody can use them. */
static void forget_unchecked(struct rs_region_header *h)
{
	gboolean checked[RS_SEC_COUNT] = {FALSE};

	for (guint i = 0; i < G_N_ELEMENTS(known); i++)
		checked[known[i].number] = h->section[known[i].number].size > 0;
	for (guint number = 0; number < RS_SEC_COUNT; number++)
		if (!checked[number])
			memset(&h->section[number], 0, sizeof(h->section[number]));
}

RsTraceRegion *rs_trace_region_map(int fd, guint64 offset, const struct rs_region_header *header,
				   gboolean writable, GError **error)
{
	RsTraceRegion *region;
	void *map = rs_trace_mapping_new(fd, offset, (gsize)header->region_size, writable);

	if (!map) {
		bad_errno(error, "cannot map the trace region");
		return NULL;
	}
	region = g_new0(RsTraceRegion, 1);
	region->header = *header;
	forget_unchecked(&region->header);
	region->map = map;
	region->size = (gsize)header->region_size;
	region->fd = fd;
	region->offset = offset;
	region->writable = writable;
	return region;
}

static gboolean read_header(int fd, guint64 offset, struct rs_region_header *h, GError **error)
{
	struct stat st;
	gboolean good;
	guint64 left;
	void *map;

	if (fstat(fd, &st))
		return bad_errno(error, "trace region");
	left = (guint64)st.st_size > offset ? (guint64)st.st_size - offset : 0;
	if (left < RS_REGION_HEADER_MIN_SIZE)
		return bad(error, "no Ringside region: only %" G_GUINT64_FORMAT " bytes", left);
	map = rs_trace_mapping_new(fd, offset, (gsize)left, FALSE);
	if (!map)
		return bad_errno(error, "cannot map the trace region");
	/* Acquire: pairs with the release of whoever laid the region out. */
	if (rs_load_acquire((guint64 *)map) == RS_REGION_MAGIC)
		good = rs_trace_region_take_header(map, left, h, error);
	else
		good = bad(error, "no Ringside region: its magic is missing");
	rs_trace_mapping_free(map, (gsize)left);
	return good;
}

RsTraceRegion *rs_trace_region_open(int fd, guint64 offset, gboolean writable, GError **error)
{
	struct rs_region_header h;

	if (!read_header(fd, offset, &h, error))
		return NULL;
	return rs_trace_region_map(fd, offset, &h, writable, error);
}

void rs_trace_region_free(RsTraceRegion *region)
{
	if (!region)
		return;
	rs_trace_mapping_free(region->map, region->size);
	close(region->fd);
	g_free(region);
}

void rs_trace_region_guard(void)
{
	rs_trace_mapping_guard();
}

guint rs_trace_region_cuts(void)
{
	return rs_trace_mapping_cuts();
}

gboolean rs_trace_region_is_cut(const RsTraceRegion *region)
{
	return rs_trace_mapping_is_cut(region->map);
}

guint32 rs_trace_region_ring_mode(const RsTraceRegion *region)
{
	const struct rs_region_header *shared = (const void *)region->map;

	return rs_load_acquire(&shared->ring_mode) == RS_MODE_DROP ? RS_MODE_DROP
								   : RS_MODE_OVERWRITE;
}

void *rs_trace_region_section(const RsTraceRegion *region, guint section, gsize *size)
{
	const struct rs_section *s = &region->header.section[section];

	if (size)
		*size = s->size;
	return s->size ? region->map + s->offset : NULL;
}

void *rs_trace_region_element(const RsTraceRegion *region, guint section, guint index)
{
	const struct rs_section *s = &region->header.section[section];

	return index < s->count ? region->map + s->offset + (guint64)index * s->stride : NULL;
}

/*
 * The guest may be writing here, so this uses single relaxed loads. They tear no word, and unlike
 * memcpy they keep their order with other loads, such as that of a sequence. The words need not
 * belong together: the caller checks that.
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

gboolean rs_trace_region_take(const RsTraceRegion *region, guint section, guint index, void *out,
			      gsize size)
{
	const guint8 *shared = rs_trace_region_element(region, section, index);
	gsize both = rs_known_bytes(region->header.section[section].stride, size);

	if (!shared)
		return FALSE;
	copy_shared(out, shared, both);
	memset((guint8 *)out + both, 0, size - both);
	return TRUE;
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
	rs_trace_region_take(region, RS_SEC_GUEST_INFO, 0, &info, sizeof(info));
	if (info.abi_major != RS_ABI_MAJOR) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "the guest's agent has ABI version %u.%u, this host %u.%u: load the "
			    "one that belongs to this ringside",
			    info.abi_major, info.abi_minor, RS_ABI_MAJOR, RS_ABI_MINOR);
		return FALSE;
	}
	if (!check_features(info.features, "guest's agent", error))
		return FALSE;
	if (info.session_id != h->session_id) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_AGENT,
				    "the guest's agent belongs to another session");
		return FALSE;
	}
	info.agent[sizeof(info.agent) - 1] = 0;
	info.name[sizeof(info.name) - 1] = 0;
	info.cpu_count = MIN(info.cpu_count, h->ring_count);
	info.provider_slots = MIN(info.provider_slots, h->section[RS_SEC_PROVIDERS].count);
	*out = info;
	return TRUE;
}

gboolean rs_trace_region_provider(const RsTraceRegion *region, guint slot, struct rs_provider *out)
{
	const struct rs_provider *shared = rs_trace_region_element(region, RS_SEC_PROVIDERS, slot);
	guint32 before;

	if (!shared)
		return FALSE;
	for (int tries = 0; tries < 8; tries++) {
		/* Pairs with the agent's release once the entry is complete. */
		before = rs_load_acquire(&shared->sequence);
		if (before % 2)
			continue;
		rs_trace_region_take(region, RS_SEC_PROVIDERS, slot, out, sizeof(*out));
		rs_rmb(); /* pairs with the agent's barrier after the odd sequence */
		if (rs_load(&shared->sequence) == before)
			break;
		before |= 1;
	}
	if (before % 2)
		return FALSE;
	out->sequence = before;
	out->name[sizeof(out->name) - 1] = 0;
	if (out->state > RS_PROVIDER_DEAD)
		out->state = RS_PROVIDER_FREE;
	return TRUE;
}

guint8 *rs_trace_region_descriptors(const RsTraceRegion *region, guint slot,
				    const struct rs_provider *entry, gsize *size)
{
	const struct rs_provider *shared = rs_trace_region_element(region, RS_SEC_PROVIDERS, slot);
	gsize want = MIN(entry->desc_size, region->header.section[RS_SEC_EVENTS].size);
	g_autofree guint8 *copy = g_malloc(want + 1);

	*size = rs_trace_region_copy(region, RS_SEC_EVENTS, entry->desc_offset, copy, want);
	rs_rmb(); /* pairs with the agent's barrier after the odd sequence */
	return rs_load(&shared->sequence) == entry->sequence ? g_steal_pointer(&copy) : NULL;
}
