/* SPDX-License-Identifier: MIT */
/* What `ringside top` shows: rows of rs-trace-top.h as a page, a block or JSON. Thread: main. */
#ifndef RS_HV_CLI_TOP_H
#define RS_HV_CLI_TOP_H

#include "analysis/rs-trace-top.h"

#include <stdbool.h>
#include <stdint.h>

/* What the session says of a source, by the source's number. */
struct rs_top_source {
	char *kind;
	uint64_t paused_ns; /* in all, for batches of patches */
};

struct rs_top_view {
	const char *session;
	RsTraceTopBy by;
	RsTraceTopSort sort;
	unsigned rows;       /* at most; 0: all */
	double event_ns;     /* what an event costs; negative: it could not be measured */
	GHashTable *sources; /* number → struct rs_top_source */
	bool color;
	bool frozen, paused; /* the session is */
};

/* By which names they are asked for, and shown. */
extern const char *const rs_top_by_names[RS_TRACE_TOP_KINDS];

void rs_top_append_json(const struct rs_top_view *view, const RsTraceTopPage *page, GString *out);
/* A line of sums and the table, and an empty line. */
void rs_top_append_block(const struct rs_top_view *view, const RsTraceTopPage *page, GString *out);
/* As much as such a terminal shows. `held`: the page stands still. `help`: the keys. */
void rs_top_append_page(const struct rs_top_view *view, const RsTraceTopPage *page, unsigned height,
			unsigned width, bool held, bool help, GString *out);

#endif
