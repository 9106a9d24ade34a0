/* SPDX-License-Identifier: MIT */
/*
 * An event's print format, step by step: literal text, then a conversion with its field. It is read
 * out of what the image itself says about the event (struct rs_event_info), so it is trusted to be
 * whole. It may still break a rule of event.h, and then a host leaves the event out.
 */
#ifndef RS_TRACEPOINT_PRINT_H
#define RS_TRACEPOINT_PRINT_H

#include <ringside/event.h>

#define RS_PRINT_LEFT (1u << 0)  /* '-' */
#define RS_PRINT_PLUS (1u << 1)  /* '+' */
#define RS_PRINT_SPACE (1u << 2) /* ' ' */
#define RS_PRINT_ALT (1u << 3)   /* '#' */
#define RS_PRINT_ZERO (1u << 4)  /* '0' */
#define RS_PRINT_FLAGS "-+ #0"
#define RS_PRINT_WIDTH_MAX 255 /* of widths and precisions */
#define RS_PRINT_ARGS_MAX 128u

struct rs_print_step {
	const char *literal; /* before the conversion; "%%" stands as it was written */
	uint32_t literal_size;
	const struct rs_field_info *field; /* NULL: the last step has no conversion */
	char conversion;                   /* one of "diuxXocps" */
	uint8_t low_bytes;                 /* that are shown of an integer, 1 or 2; 0: all */
	uint8_t flags;                     /* RS_PRINT_* */
	int16_t width;                     /* 0..RS_PRINT_WIDTH_MAX */
	int16_t precision;                 /* likewise; -1: none */
};

struct rs_print {
	const struct rs_event_info *info;
	const char *at;   /* the rest of the format; NULL: all steps were read */
	const char *args; /* the rest of the arguments; NULL: there are no more */
	uint32_t count;   /* arguments read */
	bool bad;         /* the format breaks a rule */
};

#pragma GCC visibility push(hidden) /* not for who links the agent */

void rs_print_begin(struct rs_print *print, const struct rs_event_info *info);
/* False: that was the last step, or the format is bad. */
bool rs_print_next(struct rs_print *print, struct rs_print_step *step);
/* Whether a host accepts the event. */
bool rs_print_is_good(const struct rs_event_info *info);

/* Whether the field's integer, or the elements of its array, have a sign; are shown in hex. */
static inline bool rs_field_is_signed(const struct rs_field_info *field)
{
	if (field->kind < RS_KIND_ARRAY)
		return field->kind == RS_KIND_SINT;
	return field->flags & RS_FIELD_SIGNED;
}

static inline bool rs_field_is_hex(const struct rs_field_info *field)
{
	return field->kind == RS_KIND_HEX || field->kind == RS_KIND_POINTER ||
	       field->flags & RS_FIELD_HEX;
}

static inline bool rs_field_is_text(const struct rs_field_info *field)
{
	return field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING;
}

static inline bool rs_is_one_of(char c, const char *these)
{
	while (*these && *these != c)
		these++;
	return *these;
}

#pragma GCC visibility pop

#endif
