/* SPDX-License-Identifier: MIT */
/*
 * The directory of a piece of shared memory that holds regions, checked: <ringside/directory.h>. In
 * QEMU a guest can write all of it, so only private copies are gone by. Any thread.
 */
#ifndef RS_TRACE_DIRECTORY_H
#define RS_TRACE_DIRECTORY_H

#include "rs-trace-error.h"

#include <ringside/directory.h>

G_BEGIN_DECLS

/*
 * A private copy of the head of the directory at the start of `size` bytes of memory: entries and
 * claims lie inside and apart. BAD_REGION: there is none, or it contradicts itself; BAD_VERSION.
 */
gboolean rs_trace_directory_take(const void *map, guint64 size, struct rs_directory *head,
				 GError **error);

/*
 * A private copy of the entry at `shared`: the region lies inside, behind the directory. The name
 * is terminated. BAD_REGION.
 */
gboolean rs_trace_directory_take_entry(const struct rs_directory *head, const void *shared,
				       struct rs_directory_entry *entry, GError **error);

/* Where the directory ends, and regions may begin; of a checked head. */
guint64 rs_trace_directory_end(const struct rs_directory *head);

G_END_DECLS

#endif
