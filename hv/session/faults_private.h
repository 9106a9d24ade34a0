/* SPDX-License-Identifier: MIT */
/*
 * Shared by the session's files about faults, and by those that end them: faults.c (which there
 * are, pauses, ends), fault_memory.c (memory and text), fault_calls.c (system calls).
 */
#ifndef RS_HV_SESSION_FAULTS_PRIVATE_H
#define RS_HV_SESSION_FAULTS_PRIVATE_H

#include "session/fault.h"
#include "session/faults.h"
#include "session/private.h"

struct rs_fault_calls;

/* One that is being carried out. Those that last are on the list. */
struct rs_active_fault {
	struct rs_source *source;
	uint32_t number;
	char *text;
	struct rs_fault what;
	GSource *timer;               /* NULL: it has no time of its own */
	bool busy;                    /* it begins or ends just now */
	bool over;                    /* a pause: it holds no vCPU any more … */
	bool late;                    /* … but they do not go on, which was said */
	uint32_t poke;                /* FAIL_FUNCTION: of the patcher */
	struct rs_fault_calls *calls; /* FAIL_SYSCALL */
	GList link;
};

struct rs_faults {
	uint32_t made; /* the number of the newest */
	GQueue active;
};

struct rs_faults *rs_faults_new(void);
void rs_faults_free(struct rs_faults *faults); /* none lasts any more; accepts NULL */

/* faults.c: ends those of a source, and undoes what they did. */
void rs_source_end_faults(struct rs_source *source);
/* The same when there is nothing to undo: it has ended. */
void rs_source_drop_faults(struct rs_source *source);
/* This boot's text and threads are gone. */
void rs_source_forget_text_faults(struct rs_source *source);
/*
 * Records that it begins: while the guest stands still, so that what it does with the fault comes
 * later.
 */
void rs_fault_tell_begin(const struct rs_active_fault *active);
/* It is over by itself. Frees it. */
void rs_fault_over(struct rs_active_fault *active);

/* fault_memory.c: these tell that they begin, once nothing can go wrong any more. */
int rs_fault_flip(const struct rs_active_fault *active, struct rs_error *err);
int rs_fault_fail_function(struct rs_active_fault *active, struct rs_error *err);

/* fault_calls.c: tells that it begins once an engine is attached. */
int rs_fault_fail_calls(struct rs_active_fault *active, struct rs_error *err);
bool rs_fault_calls_begun(const struct rs_fault_calls *calls);
/* The threads go on as they would. */
void rs_fault_end_calls(struct rs_active_fault *active);
/* Deals with threads that have stopped. */
void rs_source_tend_faults(struct rs_source *source);

#endif
