/* SPDX-License-Identifier: MIT */
/*
 * A mapped region: its checked header, and its sections. A session maps the region that it laid out
 * (hv/region). An observer opens the file descriptor that the session hands over.
 * <ringside/region.h> describes the layout. Only this module checks a header, for hv too
 * (docs/adr/0001).
 *
 * Trust: the memory at and above guest_offset is hostile and changes at any time. For an observer
 * the rest is hostile too. In QEMU the guest can write all of it. So everybody uses `header`, a
 * private copy that was checked once. Of the shared header only two words are read again, by
 * themselves: session_id, and ring_mode.
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
	guint64 offset;    /* where it lies in the file */
	gboolean writable; /* FALSE: mapped read-only */
} RsTraceRegion;

/*
 * Opens the region that was laid out at `offset` of `fd`, and owns `fd` on success. BAD_REGION:
 * there is none, or its header contradicts itself. BAD_VERSION. G_IO_ERROR: it cannot be mapped.
 */
RsTraceRegion *rs_trace_region_open(int fd, guint64 offset, gboolean writable, GError **error);
/*
 * Maps a region for the process that laid it out. Uses `header`, and does not read the header in
 * memory. G_IO_ERROR: it cannot be mapped.
 */
RsTraceRegion *rs_trace_region_map(int fd, guint64 offset, const struct rs_region_header *header,
				   gboolean writable, GError **error);
void rs_trace_region_free(RsTraceRegion *region);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceRegion, rs_trace_region_free)

/*
 * RS_MODE_*, as it is now: the host may change it. `header` has what it was when the region was
 * opened. Under QEMU a guest can change it too, for its own rings.
 */
guint32 rs_trace_region_ring_mode(const RsTraceRegion *region);

/* What rs_trace_live_guard() does. */
void rs_trace_region_guard(void);
/* Whether somebody has met the end of the region's file inside the region. */
gboolean rs_trace_region_is_cut(const RsTraceRegion *region);
/* Grows after that has become so of any region. */
guint rs_trace_region_cuts(void);

/*
 * A private copy of the header at the start of `size` bytes of memory, checked against that size.
 * Errors as above; then `out` holds nothing to go by.
 */
gboolean rs_trace_region_take_header(const void *map, guint64 size, struct rs_region_header *out,
				     GError **error);

/* A section's memory and size in bytes. NULL and 0: the region has none. `size` may be NULL. */
void *rs_trace_region_section(const RsTraceRegion *region, guint section, gsize *size);

/* Element `index` of a section that is an array. NULL: there is none. */
void *rs_trace_region_element(const RsTraceRegion *region, guint section, guint index);

/*
 * A private copy of element `index`, as the `size` bytes of our struct: see <ringside/grow.h>.
 * FALSE: there is none.
 */
gboolean rs_trace_region_take(const RsTraceRegion *region, guint section, guint index, void *out,
			      gsize size);

/* A private copy of `bytes` bytes of a section from `offset`, cut at its end. Returns the count. */
gsize rs_trace_region_copy(const RsTraceRegion *region, guint section, gsize offset, void *out,
			   gsize bytes);

/*
 * A private copy of rs_guest_info. Both strings are terminated, and every count is limited to what
 * the region can hold. NO_AGENT: no agent has reported yet. BAD_VERSION: its ABI is not ours, or
 * it needs a feature that we do not know.
 */
gboolean rs_trace_region_guest_info(const RsTraceRegion *region, struct rs_guest_info *out,
				    GError **error);

/*
 * A consistent private copy of a provider's entry. Its name is terminated, and its state is known.
 * FALSE: there is no such slot, or the agent kept writing it while we tried.
 */
gboolean rs_trace_region_provider(const RsTraceRegion *region, guint slot, struct rs_provider *out);
/*
 * A private copy of the descriptors of slot `slot`, whose entry is `entry`; the caller frees it.
 * NULL: another provider has the slot meanwhile, so the bytes may be its descriptors. The next look
 * at the table tells.
 */
guint8 *rs_trace_region_descriptors(const RsTraceRegion *region, guint slot,
				    const struct rs_provider *entry, gsize *size);

G_END_DECLS

#endif
