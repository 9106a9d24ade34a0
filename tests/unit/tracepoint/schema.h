/* SPDX-License-Identifier: MIT */
/*
 * Events with random fields, formats and payloads, for tests and a fuzzer which compare the text
 * that the guest makes with the host's.
 */
#ifndef RS_TEST_TRACEPOINT_SCHEMA_H
#define RS_TEST_TRACEPOINT_SCHEMA_H

#include <glib.h>
#include <ringside/event.h>
#include <rs-trace-schema.h>

#define SCHEMA_FIELDS 8u
#define SCHEMA_SYMBOLS 4u

/* Where random choices come from: a number below `below`, which is at least 1. */
typedef guint (*schema_draw)(gpointer data, guint below);

struct schema {
	struct rs_event_info info;
	struct rs_field_info fields[SCHEMA_FIELDS];
	struct rs_symbol_info symbols[SCHEMA_FIELDS][SCHEMA_SYMBOLS];
	GString *print, *args;
	RsTraceSchema *host; /* as the host reads the event's descriptor */
	gboolean refused;    /* the host leaves it out */
};

void schema_make(struct schema *schema, schema_draw draw, gpointer data);
/* Sets `host` and `refused`: what the host reads of what the agent writes about `info`. */
void schema_describe(struct schema *schema);
void schema_clear(struct schema *schema);
/* NULL: refused. */
const RsTraceEvent *schema_event(struct schema *schema);
/* A payload that fits, or nearly. */
GByteArray *schema_payload(const struct schema *schema, schema_draw draw, gpointer data);

#endif
