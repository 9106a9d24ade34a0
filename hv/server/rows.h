/* SPDX-License-Identifier: MIT */
/*
 * Makes the dictionaries of org.ringside.Session1 from what a session knows. Later versions may add
 * keys. org.ringside.Session1.xml describes them. For the server's own files, on the
 * session's thread. All results are floating references.
 */
#ifndef RS_HV_SERVER_ROWS_H
#define RS_HV_SERVER_ROWS_H

#include "session/engines.h"
#include "session/session.h"
#include "session/triggers.h"

/* A row of Sources. */
GVariant *rs_row_source(const struct rs_source *source);
/* Sources' "more": frozen (b), if it is. */
GVariant *rs_row_sources(const struct rs_session *session);
/* A row of ListTriggers. */
GVariant *rs_row_trigger(const struct rs_trigger_info *trigger);
/* ListTriggers' "more": lost (t). */
GVariant *rs_row_triggers(struct rs_session *session);
/* OpenRegion's "more": where the region lies in its file. */
GVariant *rs_row_region(const RsTraceRegion *region);
/* Pause's "more": running (as), names of sources that run on, if there are any. */
GVariant *rs_row_paused(const struct rs_session *session);
/* Changed's "more". */
GVariant *rs_row_changes(const struct rs_session *session);
/* An empty a{sv}. */
GVariant *rs_row_empty(void);
/* A row of List. */
GVariant *rs_row_event(const struct rs_session_event *event);
/* The "more" of Enable, Disable, SetFilter and ClearFilter. */
GVariant *rs_row_result(const struct rs_session_result *result);
/* A row of ListKept. */
GVariant *rs_row_rule(const struct rs_session_rule *rule);
/* A row of Sites. */
GVariant *rs_row_site(const struct rs_session_site *site);
/* Sites' "more": where the next part begins, 0 if there is none, and whose sites are not known. */
GVariant *rs_row_sites(const struct rs_session *session, uint64_t next);
/* A row of ListProviders. */
GVariant *rs_row_provider(const struct rs_session_provider *provider);
/* A row of a source in the totals of Stat, if it is asked for each. */
void rs_row_add_each(GVariantBuilder *all, const struct rs_source *source,
		     const struct rs_source_stat *stat);
/*
 * The totals of Stat: of one source, or of the session if `source` is NULL. `each`: such rows;
 * NULL: they were not asked for.
 */
GVariant *rs_row_stat(const struct rs_source *source, const struct rs_source_stat *stat,
		      GVariant *each);
/* A row of Threads. Its comm has a NUL. */
GVariant *rs_row_thread(const struct rs_source *source, const struct rs_cmd_thread *thread);
/* Threads' "more". */
GVariant *rs_row_threads(bool cut, const GPtrArray *problems);
/* A row of EngineList. */
GVariant *rs_row_engine(const struct rs_engine_info *engine);
/* Ended's "more": which source's end it tells. */
GVariant *rs_row_ended(const struct rs_source *source);
/* Adds the "cpus" of Stat to `all`: a dictionary for each ring of a source. */
void rs_row_add_cpus(GVariantBuilder *all, const struct rs_source *source,
		     const struct rs_source_stat *stat);

#endif
