/* SPDX-License-Identifier: MIT */
/* Makes the records of a small guest, as a reader hands them out. */
#ifndef RS_TEST_RECORDS_H
#define RS_TEST_RECORDS_H

#include "timeline/rs-trace-timeline.h"

typedef struct {
	RsTraceTimeline *timeline;
	struct rs_file_source info[3];
	RsTraceOrigin *origins[3]; /* 1 is a process in the machine of 0 */
} Guest;

void guest_init(Guest *guest);
void guest_clear(Guest *guest);

/* An event of system "test". `name` 0 to 25: "a" to "z". */
void guest_event(Guest *guest, guint source, guint ring, guint64 ns, guint32 pid, guint name);
/* test:lasts, whose last field is "host_ns". */
void guest_lasts(Guest *guest, guint ring, guint64 ns, guint32 pid, guint64 duration);
/* An event of a class of its own for each `number`, which is freed at once. */
void guest_new_event(Guest *guest, guint ring, guint64 ns, guint32 pid, guint number);
/* sched:switch of Linux. */
void guest_switch(Guest *guest, guint ring, guint64 ns, guint32 pid, guint32 state, guint32 next,
		  const char *comm);
void guest_wakeup(Guest *guest, guint ring, guint64 ns, guint32 pid, guint32 woken);
void guest_loss(Guest *guest, guint ring, guint64 ns, guint64 lost);
void guest_boot(Guest *guest, guint ring, guint64 ns, guint32 boot);
/* Under the lock: what is known by then. */
void guest_flush(Guest *guest);

/* "10:7 20:- " for each item of a series from `from` on: time and tag, "-" for none. */
char *series_text(const RsTraceSeries *series);

#endif
