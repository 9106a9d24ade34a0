/* SPDX-License-Identifier: MIT */
/*
 * A `format` file of tracefs becomes the description of an event: its fields lie where they lie in
 * the record, less the common ones. One thread. Trust: the kernel's text, but each number is
 * bounded and each name checked, since kernels change.
 */
#ifndef RS_BRIDGE_FORMAT_H
#define RS_BRIDGE_FORMAT_H

#include <ringside/agent.h>

struct bridge_format {
	uint32_t id; /* the kernel's */
	struct rs_event_info info;
};

/*
 * `text` is the file, NUL-terminated, which changes and is no more needed. Names that we cannot
 * have are left out with their field. False: it is no format, or its event's name cannot be ours.
 * `out` is then empty, else for bridge_format_deinit() to free.
 */
bool bridge_format_parse(struct bridge_format *out, const char *system, const char *name,
			 char *text);
void bridge_format_deinit(struct bridge_format *format);

#endif
