/* SPDX-License-Identifier: MIT */
/* Records a running session from now to its end. Thread: main. */
#ifndef RS_HV_CLI_RECORD_SESSION_H
#define RS_HV_CLI_RECORD_SESSION_H

#include "cli/recording.h"
#include "cli/symbols.h"
#include <rs-trace-client.h>
#include <rs-trace-ring.h>

struct rs_record_config {
	struct rs_recording_config recording; /* its callbacks are not used */
	const struct rs_cli_symbols *symbols; /* NULL: the file gets no names of addresses */
	RsTraceFrom from;
	double duration; /* seconds; 0: no limit */
	bool progress;   /* show it */
	bool quiet;      /* say nothing at the end */
	bool json;       /* say it in JSON on standard output */
};

/* What the session says of a source, for the file. */
void rs_record_describe(struct rs_file_source *out, uint32_t number, const char *name,
			const char *kind, uint32_t machine);
/*
 * Says how a recording ended. `why` (may be NULL) is what it was made for. Returns an exit code:
 * `error` (NULL: none) is told, and freed.
 */
int rs_record_tell(const struct rs_record_config *config, const char *why,
		   const RsTraceRecorderStats *stats, double seconds, GError *error);

/* Returns an exit code, after messages. */
int rs_record_session(RsDBusSession1 *session, const struct rs_record_config *config);

#endif
