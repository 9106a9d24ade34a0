/* SPDX-License-Identifier: MIT */
/*
 * What may stand at a place of a filter's expression: names of fields, operators, names of values,
 * and what joins terms. docs/filters.md describes the grammar.
 *
 * Any thread; no state. Trust: the text is anything; fields as rs-viewer-fields.h says.
 */
#ifndef RS_VIEWER_COMPLETE_H
#define RS_VIEWER_COMPLETE_H

#include "app/rs-viewer-fields.h"

G_BEGIN_DECLS

typedef struct {
	char *text;         /* what is to stand there, with a space behind it */
	const char *detail; /* a field's type, or ""; as long as the fields live */
} RsViewerCandidate;

typedef struct {
	gsize start, end;      /* bytes of the text that a candidate takes the place of */
	GPtrArray *candidates; /* RsViewerCandidate, the likeliest first; may be empty */
} RsViewerCompletion;

/* `cursor`: a byte of `text`, not within a character. To be freed. */
RsViewerCompletion *rs_viewer_complete(const char *text, gsize cursor, const GPtrArray *fields);
void rs_viewer_completion_free(RsViewerCompletion *completion);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsViewerCompletion, rs_viewer_completion_free)

G_END_DECLS

#endif
