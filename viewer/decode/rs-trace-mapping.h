/* SPDX-License-Identifier: MIT */
/*
 * Mapped memory of files that others may cut short while we use it, such as that of a virtual
 * machine's device. The kernel answers an access beyond a file's end with SIGBUS, which ends a
 * process. In a program that has called rs_trace_region_guard(), such memory becomes zeros instead,
 * all of the mapping, and rs_trace_mapping_is_cut() tells so.
 *
 * Threads: any.
 */
#ifndef RS_TRACE_MAPPING_H
#define RS_TRACE_MAPPING_H

#include <glib.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/* Maps `size` bytes from `offset` of `fd`, shared. NULL: errno says why. */
gpointer rs_trace_mapping_new(int fd, guint64 offset, gsize size, gboolean writable);
/* NULL is nothing. */
void rs_trace_mapping_free(gpointer map, gsize size);
/* Whether somebody has met its end before `size`. For good: it stays zeros. */
gboolean rs_trace_mapping_is_cut(gconstpointer map);
/* Grows after a mapping has become cut. */
guint rs_trace_mapping_cuts(void);

/* rs_trace_region_guard() */
void rs_trace_mapping_guard(void);

#pragma GCC visibility pop
G_END_DECLS
#endif
