/* SPDX-License-Identifier: MIT */
/*
 * The trace of a session of this process, as it is printed while the session runs, and the summary
 * after it. Thread: main.
 */
#ifndef RS_HV_CLI_RUN_PRINTING_H
#define RS_HV_CLI_RUN_PRINTING_H

#include "cli/run_signals.h"
#include "cli/runner.h"

struct rs_run_printing;

/* Prints nothing yet. `done`: no more is wanted of the trace. What is borrowed outlives it. */
struct rs_run_printing *rs_run_printing_new(struct rs_session *session,
					    const struct rs_runner_config *config,
					    const struct rs_run_signals *signals,
					    void (*done)(void *data), void *data);
/* Accepts NULL. */
void rs_run_printing_free(struct rs_run_printing *printing);

/* Opens where it is printed, and changes nothing there. -EIO: that cannot be. */
int rs_run_printing_open(struct rs_run_printing *printing, struct rs_error *err);
/*
 * Prints from now on, if the trace is to be printed at all, or if nobody else would read rings in
 * mode drop. `recording` (NULL: none) reads the same rings. Returns 0, or an exit code after a
 * message.
 */
int rs_run_printing_begin(struct rs_run_printing *printing, struct rs_run_recording *recording);
/* Likewise. The source is printed too, from there on. */
int rs_run_printing_add(struct rs_run_printing *printing, struct rs_source *source,
			RsTraceFrom from);
/* The source writes no more. */
void rs_run_printing_end(struct rs_run_printing *printing, struct rs_source *source);
/*
 * The rings' mode becomes RS_MODE_*. A quiet session may have nobody who reads its rings, as mode
 * drop needs it. Returns 0, or an exit code after a message.
 */
int rs_run_printing_ring_mode(struct rs_run_printing *printing, uint32_t mode);
/* Lines say from now on which source they are of. */
void rs_run_printing_name_sources(struct rs_run_printing *printing);
void rs_run_printing_wake(struct rs_run_printing *printing);
/* A signal came: nobody waits for who reads the output. */
void rs_run_printing_hurry(struct rs_run_printing *printing);
/* A script reads standard output, as JSON. */
bool rs_run_printing_is_for_script(const struct rs_run_printing *printing);
/* No more is wanted. */
bool rs_run_printing_is_done(const struct rs_run_printing *printing);

/* Prints what the rings still hold. Signals are heard meanwhile: nobody may read the output. */
void rs_run_printing_drain(struct rs_run_printing *printing);
/* After that. Returns 0, or an exit code after a message. */
int rs_run_printing_finish(struct rs_run_printing *printing);
/* After that: the summary, unless the session is quiet. */
void rs_run_printing_summarise(const struct rs_run_printing *printing);

#endif
