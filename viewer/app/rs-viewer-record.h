/* SPDX-License-Identifier: MIT */
/*
 * What a record's details say, as texts: for the details pane, and for the clipboard. Texts are to
 * be freed, and are valid UTF-8. No GTK. Any thread. Trust: rows are hostile, and all is bounded.
 */
#ifndef RS_VIEWER_RECORD_H
#define RS_VIEWER_RECORD_H

#include "timeline/rs-trace-timeline.h"

#include "document/rs-trace-row.h"

G_BEGIN_DECLS

/* What the letters of RsTraceRow.flags mean: "interrupts off; in an interrupt". "": none is set. */
char *rs_viewer_record_flags(const char *flags);
/*
 * 16 bytes in each line: offset, hexadecimal, and what of them is ASCII. After `max` bytes a line
 * says how many more there are.
 */
char *rs_viewer_record_bytes(GBytes *bytes, gsize max);
/* A line for each field: name, type, value and raw value, with tabs between them. */
char *rs_viewer_record_fields(const RsTraceRow *row);
/* A line for each frame: address and name. */
char *rs_viewer_record_stack(const RsTraceRow *row);
/* The first `max` bytes of a text, cut between characters, and "…" if it is longer. */
char *rs_viewer_record_shorten(const char *text, gsize max);

G_END_DECLS

#endif
