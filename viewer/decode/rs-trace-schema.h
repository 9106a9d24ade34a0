/* SPDX-License-Identifier: MIT */
/*
 * What can be traced: the events and fields that a guest described, parsed from descriptor bytes
 * (shared/include/ringside/descriptor.h) that come from a live region or a trace file. The bytes
 * are hostile: the caller passes a private copy, every string is validated, and a descriptor that
 * makes no sense is left out, counted, and named in the error. What is left holds:
 *   - systems and events are named by letters, digits, '_', '-' and '.', fields by C identifiers,
 *     all shorter than RS_NAME_MAX, each event id and each system:name once, each field once;
 *   - type names are ASCII, symbol names valid UTF-8 without control characters, < RS_NAME_MAX;
 *   - every field lies inside entry_size, with a size that its kind can have;
 *   - the print format's conversions agree with the fields in number and kind, with bounded widths.
 *
 * The one parser of descriptors: hv's session and filter compiler use it too (docs/adr/0001).
 * A schema only ever grows by rs_trace_schema_add(). Events and fields are owned by the schema and
 * stay valid and unchanged until it is freed. One thread at a time.
 */
#ifndef RS_TRACE_SCHEMA_H
#define RS_TRACE_SCHEMA_H

#include "rs-trace-error.h"

#include <ringside/descriptor.h>

G_BEGIN_DECLS

typedef struct {
	guint64 value;
	const char *name;
} RsTraceSymbol;

typedef struct {
	const char *name;
	const char *type;   /* C type as a format file shows it, e.g. "u32", "char[16]" */
	guint kind;         /* RS_KIND_* */
	guint offset;       /* in the payload's fixed part; offset + size <= entry_size */
	guint size;         /* bytes there; 4 for a locator */
	guint elem_size;    /* arrays: 1, 2, 4 or 8 */
	guint elem_count;   /* fixed arrays */
	guint dyn_index;    /* dynamic fields: 0 for the event's first dynamic field … */
	gboolean is_signed; /* the integer, or an array's elements */
	gboolean is_hex;
	guint n_symbols;
	const RsTraceSymbol *symbols;
} RsTraceField;

/*
 * One step of an event's print format, made at parse time: literal text, then (but for the last
 * step) one conversion. Length modifiers are gone: a field knows its own size.
 */
typedef struct {
	const char *literal; /* escaped: fit for a terminal; "%%" has become "%" */
	guint literal_size;
	const RsTraceField *field; /* NULL: nothing to convert, the end */
	char conversion;           /* one of "diuxXocps" */
	guint8 flags;              /* RS_TRACE_PRINT_* */
	gint16 width;              /* 0..RS_TRACE_PRINT_WIDTH_MAX */
	gint16 precision;          /* likewise, -1 for none */
} RsTracePrintStep;
#define RS_TRACE_PRINT_LEFT (1u << 0)  /* '-' */
#define RS_TRACE_PRINT_PLUS (1u << 1)  /* '+' */
#define RS_TRACE_PRINT_SPACE (1u << 2) /* ' ' */
#define RS_TRACE_PRINT_ALT (1u << 3)   /* '#' */
#define RS_TRACE_PRINT_ZERO (1u << 4)  /* '0' */
#define RS_TRACE_PRINT_WIDTH_MAX 255
#define RS_TRACE_PRINT_ARGS_MAX 128

typedef struct {
	guint id;
	guint provider;
	const char *system;
	const char *name;
	/* printf format, never NULL: length modifiers are "ll" for 8-byte integers, none else; an
	 * event that gave none has one made of all its fields, "a=%u b=%s" */
	const char *print;
	guint n_print_args;
	const RsTraceField *const *print_args; /* one per conversion */
	guint n_steps;
	const RsTracePrintStep *steps; /* the same, ready to run */
	guint entry_size;
	guint level;
	guint64 keyword;
	guint n_fields;
	const RsTraceField *fields;
} RsTraceEvent;

typedef struct _RsTraceSchema RsTraceSchema;

RsTraceSchema *rs_trace_schema_new(void);
void rs_trace_schema_free(RsTraceSchema *schema);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSchema, rs_trace_schema_free)

/*
 * Parses descriptors from `size` bytes. Returns how many bytes were consumed (up to the first
 * descriptor whose own size is impossible, after which there is no telling where the next one is).
 * Those that are bad in another way are skipped. `bad` (may be NULL) counts both, `error` (may be
 * NULL) names the first.
 */
gsize rs_trace_schema_add(RsTraceSchema *schema, const guint8 *data, gsize size, guint *bad,
			  GError **error);

guint rs_trace_schema_n_events(const RsTraceSchema *schema);
/* In order of id. */
const RsTraceEvent *rs_trace_schema_nth(const RsTraceSchema *schema, guint n);
const RsTraceEvent *rs_trace_schema_by_id(const RsTraceSchema *schema, guint id);
/* NULL when there is none. */
const RsTraceEvent *rs_trace_schema_by_name(const RsTraceSchema *schema, const char *system,
					    const char *name);
/*
 * "system:name" against a glob of `*`, `?`, `[a-c]`, `[!a]` and `\x`; without a colon in the glob,
 * the system or the name may match; "system:" means all of it. Time is bounded by the product of
 * both lengths.
 */
gboolean rs_trace_event_matches(const RsTraceEvent *event, const char *glob);
const RsTraceField *rs_trace_event_field(const RsTraceEvent *event, const char *name);

/*
 * The event as a Linux format file; for the caller to free. Offsets count from the start of a Linux
 * record, so payload offsets are 8 more here, for the common fields.
 */
char *rs_trace_event_format(const RsTraceEvent *event);

G_END_DECLS

#endif
