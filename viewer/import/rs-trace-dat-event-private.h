/* SPDX-License-Identifier: MIT */
/*
 * An event of a trace.dat: its descriptor, and how its records become payloads. Internal to
 * ringside-import.
 *
 * A payload is the fixed part of Linux' record without the common fields, then locators of what we
 * add, then all else of the record, then the event's text, if we cannot make it ourselves.
 */
#ifndef RS_TRACE_DAT_EVENT_PRIVATE_H
#define RS_TRACE_DAT_EVENT_PRIVATE_H

#include <event-parse.h>
#include <glib.h>
#include <ringside/descriptor.h>
#include <trace-seq.h>

G_BEGIN_DECLS

typedef struct {
	struct tep_format_field *tep; /* NULL: the event's text */
	char *name, *type;
	guint kind, flags, size, offset, elem_size, elem_count;
	struct tep_print_flag_sym *symbols; /* NULL: none */
} RsTraceDatField;

/* Events that say something of others. */
typedef enum {
	RS_TRACE_DAT_PLAIN,
	RS_TRACE_DAT_STACK, /* the call stack of the event before */
	RS_TRACE_DAT_BOOT,  /* of our own export: a boot begins */
	RS_TRACE_DAT_END,   /* likewise: there for what was lost before it */
} RsTraceDatRole;

typedef struct {
	struct tep_event *tep;
	RsTraceDatRole role;
	int value_at;                     /* where a STACK has its frames, and a BOOT its number */
	guint id;                         /* ours */
	guint base;                       /* bytes of the common fields */
	guint fixed;                      /* bytes of the other fields in Linux' record */
	guint entry_size;                 /* of the fixed part of the payload */
	GArray *fields;                   /* RsTraceDatField */
	char *print, *args;               /* as a descriptor has them */
	gboolean makes_text;              /* the last field is the event's text */
	int flags_at, preempt_at, pid_at; /* common fields; -1: there is none */
} RsTraceDatEvent;

RsTraceDatEvent *rs_trace_dat_event_new(struct tep_event *tep, guint id);
void rs_trace_dat_event_free(gpointer event);

/* Appends its descriptor. */
void rs_trace_dat_event_describe(const RsTraceDatEvent *event, guint slot, GByteArray *out);
/* Replaces `out` by the payload of a record. `text`: for its text. */
void rs_trace_dat_event_payload(const RsTraceDatEvent *event, struct tep_record *record,
				struct trace_seq *text, GByteArray *out);

/* rs-trace-dat-record.c: of the record's common fields. RS_CTX_*; the task. */
guint16 rs_trace_dat_event_context(const RsTraceDatEvent *event, const struct tep_record *record);
guint32 rs_trace_dat_event_pid(const RsTraceDatEvent *event, const struct tep_record *record);

/* rs-trace-dat-print.c: sets print and args, if they can say what libtraceevent prints. */
gboolean rs_trace_dat_event_translate(RsTraceDatEvent *event);
/* The names of a field's values, if the print format has them: kind becomes ENUM or FLAGS. */
void rs_trace_dat_event_find_symbols(RsTraceDatEvent *event);

G_END_DECLS

#endif
