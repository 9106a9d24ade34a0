/* SPDX-License-Identifier: MIT */
/*
 * What can be traced: the providers, events and fields that a guest described, parsed from the bytes
 * of RS_SEC_PROVIDERS and RS_SEC_EVENTS (ringside/descriptor.h), of a live region or of a trace file.
 * The bytes are hostile: the caller passes private copies, every string is validated, and a
 * descriptor that makes no sense is left out, counted, and named in the error. What is left holds:
 *   - systems and events are named by letters, digits, '_', '-' and '.', fields by C identifiers,
 *     all shorter than RS_NAME_MAX; within a provider each id and each system:name is there once,
 *     within an event each field;
 *   - type names are ASCII, symbol names valid UTF-8 without control characters, < RS_NAME_MAX;
 *   - every field lies inside entry_size, with a size that its kind can have;
 *   - the print format's conversions agree with the fields in number and kind, with bounded widths.
 *
 * Providers come, go and come back, and ids are used again (docs/adr/0006-lives.md). So an event is
 * looked up by its id, the boot of the page and the time of the record. What a slot held before is
 * kept for the records of before.
 *
 * The one parser of descriptors: hv's session and filter compiler use it too (docs/adr/0001). Events
 * and fields are owned by the schema. They stay valid until rs_trace_schema_trim() lets them go or
 * the schema is freed. One thread at a time.
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
	guint kind;         /* RS_KIND_*; a kind of a later version is an array of bytes */
	guint offset;       /* in the payload's fixed part; offset + size <= entry_size */
	guint size;         /* bytes there; 4 for a locator */
	guint elem_size;    /* arrays: 1, 2, 4 or 8 */
	guint elem_count;   /* fixed arrays */
	guint dyn_index;    /* dynamic fields: 0 for the event's first dynamic field … */
	gboolean is_signed; /* the integer, or an array's elements */
	gboolean is_hex;
	gboolean is_later; /* of a kind of a later version: shown as bytes, always */
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

/* A provider: what it says of itself, and when its events' ids meant what they mean. */
typedef struct {
	guint slot;
	guint32 first_boot, last_boot; /* it lived in these, and in none outside */
	guint64 since;                 /* event clock of first_boot */
	guint64 until;                 /* event clock of last_boot; 0: not known */
	gboolean is_live;
	guint32 generation; /* lives so far */
	guint first_id, n_events;
	guint32 owner_pid; /* 0: a kernel's */
	guint64 image_start, image_end;
	guint8 build_id[32];
	guint build_id_size;    /* 0: not known */
	char name[RS_NAME_MAX]; /* any bytes, NUL-terminated: escape before printing */
} RsTraceProvider;

typedef struct {
	guint id;
	guint slot; /* of its provider */
	const RsTraceProvider *provider;
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

/* Whether the entry's descriptors need not be read: it is free, or they are known. */
gboolean rs_trace_schema_knows(const RsTraceSchema *schema, guint slot,
			       const struct rs_provider *entry);
/*
 * Takes what slot `slot` holds now: a consistent private copy of its entry, and of `size` bytes of
 * descriptors (none where rs_trace_schema_knows() it). Descriptors that make no sense are left out;
 * `bad` (may be NULL) counts them, `error` (may be NULL) names the first.
 */
void rs_trace_schema_take(RsTraceSchema *schema, guint slot, const struct rs_provider *entry,
			  const guint8 *data, gsize size, guint *bad, GError **error);
/* Frees the oldest providers whose slot is another's now, but for `keep`, with their events. */
void rs_trace_schema_trim(RsTraceSchema *schema, guint keep);

/* The events of all slots, also of dead providers, in order of id. */
guint rs_trace_schema_n_events(const RsTraceSchema *schema);
const RsTraceEvent *rs_trace_schema_nth(const RsTraceSchema *schema, guint n);
/* NULL: the slot is free. */
const RsTraceProvider *rs_trace_schema_provider(const RsTraceSchema *schema, guint slot);
/* What the id means now. */
const RsTraceEvent *rs_trace_schema_by_id(const RsTraceSchema *schema, guint id);
/*
 * What it meant in a page of that boot, at event clock `ts`; NULL: nothing is known of it. For this to be
 * right, the providers must be looked at after the page was copied: a new one is in the table before
 * its first record is in a page.
 */
const RsTraceEvent *rs_trace_schema_lookup(const RsTraceSchema *schema, guint32 boot, guint id,
					   guint64 ts);
/* The newest of that name. */
/* NULL when there is none. */
const RsTraceEvent *rs_trace_schema_by_name(const RsTraceSchema *schema, const char *system,
					    const char *name);
/* A glob of `*`, `?`, `[a-c]`, `[!a]` and `\x`. Time is bounded by the product of both lengths. */
gboolean rs_trace_glob_matches(const char *glob, const char *text);
/*
 * "system:name" against a glob; without a colon in the glob, the system or the name may match;
 * "system:" means all of it.
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
