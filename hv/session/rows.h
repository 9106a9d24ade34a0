/* SPDX-License-Identifier: MIT */
/*
 * What a session says of itself and its sources, as org.ringside.Session1 carries it: dictionaries,
 * which may grow. For server.c, on the session's thread. All are floating references.
 */
#ifndef RS_HV_SESSION_ROWS_H
#define RS_HV_SESSION_ROWS_H

#include "session/session.h"

/* a{sv} with nothing in it. */
GVariant *rs_row_empty(void);
/* One event of List. */
GVariant *rs_row_event(const struct rs_session_event *event);
/* What Disable and SetFilter say beside their numbers. */
GVariant *rs_row_result(const struct rs_session_result *result);
/* One provider of ListProviders. */
GVariant *rs_row_provider(const struct rs_session_provider *provider);
/* The totals of Stat, of one source. */
GVariant *rs_row_stat(const struct rs_source *source, const struct rs_source_stat *stat);
/* Its rings: aa{sv}. */
GVariant *rs_row_cpus(const struct rs_source *source, const struct rs_source_stat *stat);

#endif
