/* SPDX-License-Identifier: MIT */
/*
 * Records as JSON lines, one object each. docs/json.md describes every key, type and range:
 *
 *	{"ns":1234,"cpu":0,"pid":7,"tgid":7,"comm":"sh","flags":"d.h1.","system":"sched",
 *	 "event":"switch","fields":{"prev":1,"state":{"value":1,"name":"S"},"mac":[2,0],"why":"x"}}
 *	{"ns":1234,"cpu":1,"lost":214}
 *	{"ns":1234,"boot":2}
 *
 * A record with a call stack has "stack", and maybe "symbols": rs-trace-stack.h.
 *
 * The type of a value depends only on the type of its field. An integer is a number, whatever its
 * value. A pointer is a string. A field that the payload lacks is null, and so is a field after
 * RS_TRACE_JSON_MAX bytes of others. A cut record has "cut":true. An unknown event has its "id"
 * and, in "raw", its bytes as hex. rs_trace_append_json_escaped() escapes the strings.
 *
 * The writer does not use json-glib, which builds a tree for each record and is 20 times slower.
 */
#ifndef RS_TRACE_JSON_H
#define RS_TRACE_JSON_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"

G_BEGIN_DECLS

#define RS_TRACE_JSON_MAX (1u << 20)

/*
 * Appends one object and a newline. `task`: from rs_trace_cmdline_lookup(), for events only. The
 * object says the source if the record's origin has a name.
 */
void rs_trace_json_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task);
/* Appends only the object of an event's fields: of an unknown event, its "id" and "raw". */
void rs_trace_json_fields(GString *out, const RsTraceRecord *record);
/* Appends one field's value. `field` is of the record's event. */
void rs_trace_json_value(GString *out, const RsTraceField *field, const RsTraceRecord *record);

G_END_DECLS

#endif
