/* SPDX-License-Identifier: MIT */
/* What must be known of a JSON text before it is parsed. Any thread. The text is not trusted. */
#ifndef RS_HV_BASE_JSON_H
#define RS_HV_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether objects and arrays are nested at most `max` deep: json-glib parses by recursion. Of a
 * text that is no JSON the answer may be either.
 */
bool rs_json_is_shallow(const char *text, size_t size, unsigned int max);

#endif
