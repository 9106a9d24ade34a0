/* SPDX-License-Identifier: MIT */
/*
 * Glob patterns: * ? [a-c] [!a] [^a], a backslash before a special character takes it literally.
 * Bytes, not characters: ? is one byte. Inside viewer/filter only.
 */
#ifndef RS_FILTER_ROOM_GLOB_H
#define RS_FILTER_ROOM_GLOB_H

#include <glib.h>
#include <ringside/filter.h>

enum rs_glob_shape {
	RS_GLOB_EXACT,  /* no special character: `literal` */
	RS_GLOB_PREFIX, /* literal* */
	RS_GLOB_SUFFIX, /* *literal */
	RS_GLOB_INSIDE, /* *literal*, if it is too long for a table */
	RS_GLOB_ALL,    /* * */
	RS_GLOB_TABLE,  /* anything else */
};

struct rs_glob_element {
	bool star;
	uint64_t accepts[4]; /* one bit a byte; not for a star */
};

struct rs_glob {
	enum rs_glob_shape shape;
	GString *literal; /* owned; of EXACT, PREFIX, SUFFIX, INSIDE */
	GArray *elements; /* owned; struct rs_glob_element, stars never side by side */
};

/* NULL, or what is wrong at byte *at of the pattern (a constant string). */
const char *rs_glob_parse(const char *pattern, size_t size, struct rs_glob *out, size_t *at);
void rs_glob_clear(struct rs_glob *glob);
/* Appends the table and the text of RS_OP_STR_SUB. At most RS_FILTER_MAX_STRING bytes. */
void rs_glob_emit_inside(const struct rs_glob *glob, GByteArray *pool);
/* Appends a struct rs_filter_glob and its rows to `pool`. At most RS_FILTER_MAX_GLOB elements. */
void rs_glob_emit(const struct rs_glob *glob, GByteArray *pool);

#endif
