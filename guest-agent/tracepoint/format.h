/* SPDX-License-Identifier: MIT */
/* The text of the file `format`, for files.c. */
#ifndef RS_TRACEPOINT_FORMAT_H
#define RS_TRACEPOINT_FORMAT_H

#include <ringside/event.h>

/* What is longer is cut, and the last line says so: "# cut: …". As on the host. */
#define RS_FORMAT_MAX 65536u

/* As rs_tracepoint_read() returns it. */
__attribute__((visibility("hidden"))) int rs_format(const struct rs_event_info *info, uint32_t id,
						    char *out, uint32_t size);

#endif
