/* SPDX-License-Identifier: MIT */
/*
 * The fields that a filter can use, read from the format files of events. For completion: what a
 * filter means is for who compiles it to say.
 *
 * Any thread; no state. Trust: names and symbols are a guest's. Lists and lengths are bounded.
 */
#ifndef RS_VIEWER_FIELDS_H
#define RS_VIEWER_FIELDS_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
	RS_VIEWER_FIELD_NUMBER,
	RS_VIEWER_FIELD_TEXT,
	RS_VIEWER_FIELD_OTHER, /* an array: no filter can use it */
} RsViewerFieldKind;

typedef struct {
	char *name;
	char *type; /* as the format has it */
	RsViewerFieldKind kind;
	GPtrArray *symbols; /* char *: names of its values; may be empty */
} RsViewerField;

/*
 * Of one format file or of several, one after the other: each name once, and then those that each
 * event has (COMM, CPU, PID, TGID). A GPtrArray of RsViewerField, to be unreffed.
 */
GPtrArray *rs_viewer_fields_parse(const char *formats);
/* NULL: there is none of that name. `size`: bytes of the name. */
const RsViewerField *rs_viewer_fields_find(const GPtrArray *fields, const char *name, gsize size);

G_END_DECLS

#endif
