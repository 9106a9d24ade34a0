/* SPDX-License-Identifier: MIT */
/*
 * A stream that may be cancelled while somebody waits for its bytes who knows of no cancellable. A
 * read that is cancelled fails with G_IO_ERROR_CANCELLED. Thread: any, one at a time.
 */
#ifndef RS_HV_CLI_STOPPABLE_H
#define RS_HV_CLI_STOPPABLE_H

#include <gio/gio.h>

/* Keeps references to both. */
GInputStream *rs_stoppable_new(GInputStream *base, GCancellable *cancellable);

#endif
