/* SPDX-License-Identifier: MIT */
/*
 * The providers, events and fields that a guest described, parsed from the bytes of
 * RS_SEC_PROVIDERS and RS_SEC_EVENTS (ringside/descriptor.h), of a live region or of a trace file.
 * The bytes are hostile. The caller passes private copies, and every string is checked. An invalid
 * descriptor is left out, counted, and named in the error. The schema guarantees of all others:
 *   - names, types and symbols are as <ringside/name.h> says; a provider has each id and each
 *     system:name only once, an event has each field only once;
 *   - every field lies inside entry_size, with a size that its kind can have;
 *   - the print format's conversions agree with the fields in number and kind, with bounded widths.
 *
 * Providers come, go and come back, and ids are used again (docs/adr/0006-lives.md). So a lookup
 * needs the event's id, the boot of the page and the time of the record. The schema keeps earlier
 * providers of a slot, for records that were written under them.
 *
 * This is the only parser of descriptors: hv's session and filter compiler use it too
 * (docs/adr/0001). The schema owns events and fields. They stay valid until rs_trace_schema_trim()
 * frees them or the schema is freed. One thread at a time.
 */
#ifndef RS_TRACE_SCHEMA_H
#define RS_TRACE_SCHEMA_H

#include "rs-trace-error.h"
#include "rs-trace-moment.h"

#include <ringside/descriptor.h>

G_BEGIN_DECLS

typedef struct {
	guint64 value;
	const char *name;
} RsTraceSymbol;

typedef struct {
	const char *name;
	const char *type;   /* C type as a format file shows it, e.g. "u32", "char[16]" */
	guint kind;         /* RS_KIND_*; a kind of a later ABI version becomes an array of bytes */
	guint offset;       /* in the payload's fixed part; offset + size <= entry_size */
	guint size;         /* bytes there; 4 for a locator */
	guint elem_size;    /* arrays: 1, 2, 4 or 8 */
	guint elem_count;   /* fixed arrays */
	guint dyn_index;    /* dynamic fields: 0 for the event's first dynamic field … */
	gboolean is_signed; /* the integer, or an array's elements */
	gboolean is_hex;
	gboolean is_later; /* its kind is of a later ABI version, so it is always shown as bytes */
	guint n_symbols;
	const RsTraceSymbol *symbols;
} RsTraceField;

/*
 * One step of an event's print format, made at parse time: literal text, then one conversion. The
 * last step has no conversion. A field knows its own size, so of the length modifiers only hh and h
 * mean something: they show less.
 */
typedef struct {
	const char *literal; /* escaped for a terminal; "%%" is "%" here */
	guint literal_size;
	const RsTraceField *field; /* NULL: no conversion, this is the last step */
	char conversion;           /* one of "diuxXocps" */
	guint8 low_bytes;          /* how many of an integer are shown: 1 or 2; 0: all */
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

/* A provider: what it says about itself, and when its ids meant its events. */
typedef struct {
	guint slot;
	RsTraceMoment since; /* its first life began */
	RsTraceMoment until; /* its last life ended; ts 0: not known when in that boot */
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
	/* Not 0. No other event that this process made has it, even where one lay before. */
	guint64 unique;
	guint id;
	guint slot; /* of its provider */
	const RsTraceProvider *provider;
	const char *system;
	const char *name;
	/* A printf format, never NULL. 8-byte integers have the length modifier "ll", others none.
	 * An event without a format gets one of all its fields, "a=%u b=%s". */
	const char *print;
	guint n_print_args;
	const RsTraceField *const *print_args; /* one per conversion */
	guint n_steps;
	const RsTracePrintStep *steps; /* the print format, ready to run */
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

/* TRUE: the entry is free, or its descriptors are known, so they need not be read. */
gboolean rs_trace_schema_knows(const RsTraceSchema *schema, guint slot,
			       const struct rs_provider *entry);
/*
 * Takes what slot `slot` holds now. `entry` is a consistent private copy of its entry, `data` are
 * `size` bytes of descriptors. They are not needed if rs_trace_schema_knows() the entry. Invalid
 * descriptors are left out: `bad` (may be NULL) counts them, `error` (may be NULL) says of
 * the first eight what is wrong.
 */
void rs_trace_schema_take(RsTraceSchema *schema, guint slot, const struct rs_provider *entry,
			  const guint8 *data, gsize size, guint *bad, GError **error);
/*
 * A provider in another slot whose descriptors share bytes with those of `entry`. NULL: there is
 * none. In a valid table no two providers share bytes, not even with a dead one. So
 * rs_trace_schema_take() refuses such an entry: its provider has no events, and `bad` is 1.
 * Therefore slots that became free must be taken first: see rs-trace-table.h.
 */
const RsTraceProvider *rs_trace_schema_overlap(const RsTraceSchema *schema, guint slot,
					       const struct rs_provider *entry);
/*
 * Providers that lost their slot: sets their number, and returns the bytes of memory that they
 * take.
 */
gsize rs_trace_schema_retired(const RsTraceSchema *schema, guint *n);
/* Frees the oldest of them until no more than `keep` and `keep_bytes` are left. */
void rs_trace_schema_trim(RsTraceSchema *schema, guint keep, gsize keep_bytes);

/* The events of all slots, also of dead providers, in order of id. */
guint rs_trace_schema_n_events(RsTraceSchema *schema);
const RsTraceEvent *rs_trace_schema_nth(RsTraceSchema *schema, guint n);
/* The events of one slot, likewise. NULL: there are no more. Takes constant time. */
const RsTraceEvent *rs_trace_schema_nth_of(const RsTraceSchema *schema, guint slot, guint n);
/* NULL: the slot is free. */
const RsTraceProvider *rs_trace_schema_provider(const RsTraceSchema *schema, guint slot);
/* What the id means now: of all that had it, the event whose provider began last. */
const RsTraceEvent *rs_trace_schema_by_id(const RsTraceSchema *schema, guint id);
/*
 * The event that the id meant at that moment. Of the providers that had the id, the one that began
 * last before it counts, if it still lived. NULL: the event is not
 * known. The result is right only if the caller took the providers after it copied the page: the
 * guest writes a new provider into the table before it writes its first record.
 */
const RsTraceEvent *rs_trace_schema_lookup(const RsTraceSchema *schema, guint id,
					   RsTraceMoment when);
/* The newest event of that name. NULL: there is none. */
const RsTraceEvent *rs_trace_schema_by_name(RsTraceSchema *schema, const char *system,
					    const char *name);
const RsTraceField *rs_trace_event_field(const RsTraceEvent *event, const char *name);

/*
 * The event as a Linux format file; for the caller to free. Offsets count from the start of a Linux
 * record, so payload offsets are 8 more here, for the common fields. An event may name the same
 * strings any number of times. So what is longer than RS_TRACE_FORMAT_MAX bytes is cut, and the
 * last line says so: "# cut: …".
 */
#define RS_TRACE_FORMAT_MAX 65536u
char *rs_trace_event_format(const RsTraceEvent *event);

G_END_DECLS

#endif
