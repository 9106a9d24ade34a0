/* SPDX-License-Identifier: MIT */
/*
 * What a session says of itself and its sources, as org.ringside.Session1 carries it: dictionaries,
 * which may grow. For server.c, on the session's thread. All are floating references.
 */
#ifndef RS_HV_SESSION_ROWS_H
#define RS_HV_SESSION_ROWS_H

#include "session/session.h"

/* One source of Sources. */
GVariant *rs_row_source(const struct rs_source *source);
/* Where a region lies in its file. */
GVariant *rs_row_region(const RsTraceRegion *region);
/* What else Changed says. */
GVariant *rs_row_changes(const struct rs_session *session);
/* a{sv} with nothing in it. */
GVariant *rs_row_empty(void);
/* One event of List. */
GVariant *rs_row_event(const struct rs_session_event *event);
/* What Disable and SetFilter say beside their numbers. */
GVariant *rs_row_result(const struct rs_session_result *result);
/* One provider of ListProviders. */
GVariant *rs_row_provider(const struct rs_session_provider *provider);
/* The totals of Stat. */
GVariant *rs_row_stat(const char *kind, const struct rs_source_stat *stat);
/* Adds a dictionary for each ring of a source. */
void rs_row_add_cpus(GVariantBuilder *all, const struct rs_source *source,
		     const struct rs_source_stat *stat);

#endif
