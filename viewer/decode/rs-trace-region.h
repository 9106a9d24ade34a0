/* SPDX-License-Identifier: MIT */
/*
 * A mapped region: its checked header, and its sections. A session holds the region that it laid
 * out (hv/region). An observer opens the descriptor that it was handed. <ringside/region.h> has the
 * layout. A header is checked here and nowhere else, for hv too (docs/adr/0001).
 *
 * Trust: what lies at or above guest_offset is hostile and changes at any time. For an observer the
 * rest is hostile too. In QEMU the guest can write all of it. So everybody goes by `header`, a
 * private copy that was checked once. Nobody reads the shared header again.
 *
 * Threads: a region does not change after it was made. The memory behind it is shared with the
 * guest.
 */
#ifndef RS_TRACE_REGION_H
#define RS_TRACE_REGION_H

#include "rs-trace-error.h"

#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <ringside/region.h>
#include <ringside/ring.h>

G_BEGIN_DECLS

typedef struct {
	struct rs_region_header header; /* private, checked copy; an unknown section has size 0 */
	guint8 *map;                    /* `size` bytes */
	gsize size;
	int fd;            /* owned */
	gboolean writable; /* FALSE: mapped read-only */
} RsTraceRegion;

/*
 * Opens a laid-out region from `fd`, which is taken over on success. BAD_REGION: there is none, or
 * its header contradicts itself; BAD_VERSION; G_IO_ERROR: it cannot be mapped.
 */
RsTraceRegion *rs_trace_region_open(int fd, gboolean writable, GError **error);
void rs_trace_region_free(RsTraceRegion *region);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceRegion, rs_trace_region_free)

/* Checks a private copy of a header against the size in bytes of what it heads. Errors as above. */
gboolean rs_trace_region_check_header(const struct rs_region_header *header, guint64 size,
				      GError **error);

/* A section's memory and size in bytes; NULL and 0 when the region has none. `size` may be NULL. */
void *rs_trace_region_section(const RsTraceRegion *region, guint section, gsize *size);

/* Element `index` of a section that is an array; NULL when there is none. */
void *rs_trace_region_element(const RsTraceRegion *region, guint section, guint index);

/* A private copy of `bytes` bytes of a section from `offset`, cut at its end. Returns the count. */
gsize rs_trace_region_copy(const RsTraceRegion *region, guint section, gsize offset, void *out,
			   gsize bytes);

/*
 * A private copy of what the guest says of itself: both strings are terminated, and every count is
 * cut to what the region can hold. NO_AGENT: no agent has said anything yet. BAD_VERSION: its ABI
 * is not ours.
 */
gboolean rs_trace_region_guest_info(const RsTraceRegion *region, struct rs_guest_info *out,
				    GError **error);

/*
 * A consistent private copy of a provider's entry, its name terminated and its state a known one.
 * FALSE: there is no such slot, or the agent is writing it all the time.
 */
gboolean rs_trace_region_provider(const RsTraceRegion *region, guint slot, struct rs_provider *out);

G_END_DECLS

#endif
