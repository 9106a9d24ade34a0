/* SPDX-License-Identifier: MIT */
/* An event's fields as annotations of Perfetto. */
#ifndef RS_TRACE_PERFETTO_PRIVATE_H
#define RS_TRACE_PERFETTO_PRIVATE_H

#include "perfetto.pb-c.h"
#include "rs-trace-exporter.h"

typedef Perfetto__Protos__DebugAnnotation RsPfNote;

/* Names that are interned before all others. */
enum {
	RS_PF_CPU = 1,
	RS_PF_FLAGS,
	RS_PF_CUT,
	RS_PF_ID,
	RS_PF_RAW,
	RS_PF_NAMES, /* of fields, from here on */
};

#define RS_PF_NOTES_MAX (RS_MAX_FIELDS + 8u)
/* Elements of arrays that one event shows: hostile locators may all name the same bytes. */
#define RS_PF_ELEMENTS_MAX 65536u

/* The annotations of one event. `ptrs` is what protobuf-c takes. */
typedef struct {
	guint n;
	RsPfNote notes[RS_PF_NOTES_MAX];
	RsPfNote *ptrs[RS_PF_NOTES_MAX];
	gsize texts[RS_PF_NOTES_MAX]; /* where the text of a note begins in `text`, + 1; 0: none */
	GByteArray *text;
	GArray *elements;    /* RsPfNote: of arrays */
	GPtrArray *pointers; /* to them */
} RsPfNotes;

void rs_pf_notes_init(RsPfNotes *notes);
void rs_pf_notes_clear(RsPfNotes *notes);
/* Takes all that an event has: its fields, whose names have the numbers from `first_name` on. */
void rs_pf_notes_take(RsPfNotes *notes, const RsTraceRecord *record, guint64 first_name);

#endif
