/* SPDX-License-Identifier: MIT */
/*
 * What a session of this process records, as `run -o FILE` asks for: all of its sources from their
 * start on, beside what is printed. Thread: main.
 */
#ifndef RS_HV_CLI_RUN_RECORDING_H
#define RS_HV_CLI_RUN_RECORDING_H

#include "cli/recording.h"
#include "cli/symbols.h"
#include "session/session.h"
#include <rs-trace-consumers.h>
#include <rs-trace-ring.h>

struct rs_run_recording;

struct rs_run_recording_config {
	struct rs_recording_file_config file;
	struct rs_recording_config recording; /* its file and callbacks are filled in */
	const struct rs_cli_symbols *symbols; /* NULL: the file gets no names of addresses */
	bool quiet;                           /* say nothing at the end but errors */
	bool alone;                           /* nobody else reads the rings */
};

/* Opens the file. Returns an exit code, after a message. */
int rs_run_recording_open(const struct rs_run_recording_config *config,
			  struct rs_run_recording **out);

/*
 * The functions below accept NULL, and do nothing then.
 *
 * Those who consume a source's rings: the recording, and who else is given this. NULL: nobody else
 * matters.
 */
RsTraceConsumers *rs_run_recording_consumers(struct rs_run_recording *r, struct rs_source *source);
/* Records the source, and holds it until all of it is read. Returns 0, or an exit code. */
int rs_run_recording_add(struct rs_run_recording *r, struct rs_source *source, RsTraceFrom from);
void rs_run_recording_start(struct rs_run_recording *r);
/* The source writes no more. */
void rs_run_recording_end(struct rs_run_recording *r, struct rs_source *source);
/* Whether it reads the rings; false once it has ended by itself. */
bool rs_run_recording_reads(const struct rs_run_recording *r);
/* The rings' mode becomes RS_MODE_*. */
void rs_run_recording_ring_mode(struct rs_run_recording *r, uint32_t mode);
void rs_run_recording_wake(struct rs_run_recording *r);
/* A signal came: nobody waits for who reads the file. */
void rs_run_recording_hurry(struct rs_run_recording *r);
/* Records the rest, says what was recorded, and frees it. Returns an exit code. */
int rs_run_recording_finish(struct rs_run_recording *r);

#endif
