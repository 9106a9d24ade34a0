/* SPDX-License-Identifier: MIT */
#include "cli/run_check.h"

#include "cli/ends.h"
#include "cli/verb.h"
#include <inttypes.h>
#include <stdio.h>

static int check_source(const char *name, struct rs_source *source)
{
	struct rs_source_stat stat;

	rs_source_stat(source, &stat);
	if (stat.bad_descriptors)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %" PRIu64 " event%s described badly", name,
				   stat.bad_descriptors,
				   stat.bad_descriptors == 1 ? " is" : "s are");
	if (!stat.events)
		return rs_cli_fail(RS_CLI_FAILED, "%s has no events", name);
	printf("%s: %" PRIu64 " event%s described well\n", name, (uint64_t)stat.events,
	       stat.events == 1 ? " is" : "s are");
	return RS_CLI_OK;
}

int rs_run_check_events(struct rs_session *session)
{
	int code = RS_CLI_OK;

	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		struct rs_source *source = rs_session_source(session, i);
		int failed = RS_CLI_OK;

		if (!rs_source_is_host(source))
			failed = check_source(rs_source_name(source), source);
		code = code ? code : failed;
	}
	return code;
}
