/* SPDX-License-Identifier: MIT */
/*
 * Records as JSON lines, one object each; docs/json.md says every key, type and range:
 *
 *	{"ns":1234,"cpu":0,"pid":7,"tgid":7,"comm":"sh","flags":"d.h1.","system":"sched","event":"switch",
 *	 "fields":{"prev":1,"state":{"value":1,"name":"S"},"mac":[2,0],"why":"done"}}
 *	{"ns":1234,"cpu":1,"lost":214}
 *	{"ns":1234,"boot":2}
 *
 * A value's type follows from the type of its field. Integers are numbers, whatever their value; a pointer
 * is a string. A field that the payload lacks, or one after RS_TRACE_JSON_MAX bytes of others, is null.
 * A cut record has "cut":true. An unknown event has its "id" and, in "raw", its bytes as hex. Strings are
 * escaped by rs_trace_append_json_escaped().
 *
 * Written by hand: json-glib builds a tree for each record, at a twentieth of the speed.
 */
#ifndef RS_TRACE_JSON_H
#define RS_TRACE_JSON_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"

G_BEGIN_DECLS

#define RS_TRACE_JSON_MAX (1u << 20)

/* Appends one object and a newline. `task` as rs_trace_cmdline_lookup() gave it; of an event only. */
void rs_trace_json_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task);

G_END_DECLS

#endif
