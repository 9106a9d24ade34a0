/* SPDX-License-Identifier: MIT */
/*
 * Checks the directory of a piece of shared memory that holds regions: see <ringside/directory.h>.
 *
 * Any thread. Trust: in QEMU a guest can write all of the directory, so everything here works on
 * private copies.
 */
#ifndef RS_TRACE_DIRECTORY_H
#define RS_TRACE_DIRECTORY_H

#include "rs-trace-error.h"

#include <ringside/directory.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/*
 * Takes a private copy of the head of the directory, which lies at the start of `size` bytes of
 * memory. Entries and claims then lie inside the memory and do not overlap. BAD_REGION: there is no
 * directory, or it contradicts itself. BAD_VERSION: its ABI is not ours.
 */
gboolean rs_trace_directory_take(const void *map, guint64 size, struct rs_directory *head,
				 GError **error);

/*
 * Takes a private copy of the entry at `shared`. Its region then lies inside the memory, behind the
 * directory, and its name is terminated. BAD_REGION: the region does not lie there.
 */
gboolean rs_trace_directory_take_entry(const struct rs_directory *head, const void *shared,
				       struct rs_directory_entry *entry, GError **error);

/* The offset where the directory ends and regions may begin. `head` was checked. */
guint64 rs_trace_directory_end(const struct rs_directory *head);

#pragma GCC visibility pop
G_END_DECLS

#endif
