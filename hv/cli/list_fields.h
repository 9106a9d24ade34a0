/* SPDX-License-Identifier: MIT */
/*
 * Fields of events, for `ringside list -v`. Descriptors are read out of the regions of a session,
 * as an observer does, so the session has no more to tell. Thread: main. Trust: the regions are
 * hostile, and rs-trace-schema.h says what is checked.
 */
#ifndef RS_HV_CLI_LIST_FIELDS_H
#define RS_HV_CLI_LIST_FIELDS_H

#include "cli/verb.h"

#include <rs-trace-schema.h>

struct rs_cli_fields;

/* What is known of the events of all sources now. A source that cannot be read has none. */
struct rs_cli_fields *rs_cli_fields_read(RsDBusSession1 *session);
/* NULL is accepted. */
void rs_cli_fields_free(struct rs_cli_fields *fields);
typedef struct rs_cli_fields rs_cli_fields; /* for g_autoptr() */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(rs_cli_fields, rs_cli_fields_free)

/* What the id means in that source. NULL: it is not known. */
const RsTraceEvent *rs_cli_fields_event(const struct rs_cli_fields *fields, guint32 source,
					guint32 id);
/* "u32", "char[16]", or "char[]" of what has no fixed length. */
const char *rs_cli_field_type(const RsTraceField *field);
/*
 * "name:type". Of an enum or of flags, what some of its values are called follows in parentheses.
 */
void rs_cli_fields_append(GString *out, const RsTraceField *field);

#endif
