/* SPDX-License-Identifier: MIT */
/*
 * How a line tells its time, if not as seconds since the session's start: the option --time. A line
 * is told its time in the order of lines, since one may count from the line before it. Thread: the
 * one that makes lines; rs_line_time_take() and rs_line_time_live() before that.
 */
#ifndef RS_HV_CLI_LINE_TIME_H
#define RS_HV_CLI_LINE_TIME_H

#include "cli/verb.h"

#include <stdint.h>

enum rs_line_time_kind {
	RS_LINE_TIME_SESSION, /* as each trace has it */
	RS_LINE_TIME_RELATIVE,
	RS_LINE_TIME_DELTA,
	RS_LINE_TIME_WALL,
};

struct rs_line_time {
	enum rs_line_time_kind kind;
	bool in_ns;       /* digits of nanoseconds, in place of microseconds */
	uint64_t wall_ns; /* CLOCK_REALTIME of the trace's time 0; 0: not known */
	bool any;         /* there was a line */
	uint64_t base;    /* relative: of the first line; delta: of the one before */
	uint64_t second;  /* whose time of day `day` is */
	char day[16];
};

#define RS_LINE_TIME_OPTION(to)                                                                    \
	{                                                                                          \
		"time", 0, 0, G_OPTION_ARG_STRING, &(to),                                          \
			"Times: session (since its start), relative (since the first line), "      \
			"delta (since the line before) or wall (time of day)",                     \
			"FORMAT"                                                                   \
	}
#define RS_LINE_TIME_MAX 48u

/* `text`: the option's value; NULL: none. RS_CLI_OK, or RS_CLI_USAGE after a message. */
int rs_line_time_take(const struct rs_verb *verb, const char *text, bool in_ns, bool json,
		      struct rs_line_time *out);
/* The trace's time 0 is now running on this host: CLOCK_MONOTONIC then. */
void rs_line_time_live(struct rs_line_time *time, uint64_t origin_ns);
/* The text for a line's time. NULL: as the trace has it. `text` is where it may be put. */
const char *rs_line_time_text(struct rs_line_time *time, uint64_t ns, char text[RS_LINE_TIME_MAX]);

/*
 * Notes that a line has had its text, or will have, from a copy of `time` that was made before:
 * what comes after it may count from it.
 */
void rs_line_time_pass(struct rs_line_time *time, uint64_t ns);

#endif
