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
 * Checks a private copy of a directory's head against the size in bytes of the memory that it
 * begins: entries and claims lie inside and apart. BAD_REGION: there is none, or it contradicts
 * itself; BAD_VERSION.
 */
gboolean rs_trace_directory_check(const struct rs_directory *head, guint64 size, GError **error);

/*
 * Checks a private copy of one of its entries: the region lies inside, behind the directory. The
 * name is terminated. BAD_REGION.
 */
gboolean rs_trace_directory_check_entry(const struct rs_directory *head,
					struct rs_directory_entry *entry, GError **error);

/* Where the directory ends, and regions may begin; of a checked head. */
guint64 rs_trace_directory_end(const struct rs_directory *head);

G_END_DECLS

#endif
