/* SPDX-License-Identifier: MIT */
/*
 * A flight recorder: it writes nothing until something happens, and then what the rings hold. They
 * hold the newest records in mode overwrite, also of a guest that has ended. Thread: main.
 */
#ifndef RS_HV_CLI_FLIGHT_H
#define RS_HV_CLI_FLIGHT_H

#include "cli/record_session.h"

struct rs_flight_config {
	struct rs_record_config
		record;     /* its files are numbered, unless it is `now`; no rotation */
	bool now;           /* at once, and then it ends */
	bool panic;         /* when a guest panics, its CPU shuts down, or what runs it crashes */
	bool reset;         /* when a guest boots again, or resets the machine */
	bool signal;        /* on SIGUSR1 */
	char **events;      /* as rs_event_bell_new() has them; NULL: none */
	unsigned snapshots; /* it ends after so many; 0: no limit */
	double after;       /* it records so many seconds more */
};

/* Returns an exit code, after messages. */
int rs_flight(RsDBusSession1 *session, const struct rs_flight_config *config);

#endif
