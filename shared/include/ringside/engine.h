/* SPDX-License-Identifier: MIT */
/*
 * Engines that watch and hold threads: the numbers of events and actions, as guests and the host
 * use them. ringside/utrace.h has the engines, ringside/command.h what the host asks of them.
 */
#ifndef RINGSIDE_ENGINE_H
#define RINGSIDE_ENGINE_H

/* The numbers of events. */
enum rs_utrace_events {
	RS_UTRACE_EVENT_QUIESCE, /* the thread is at a safe point; also before other events */
	RS_UTRACE_EVENT_REAP,    /* its parent has taken notice of its death: the last event */
	RS_UTRACE_EVENT_CLONE,   /* it has made another thread, which does not run yet */
	RS_UTRACE_EVENT_EXEC,    /* it has executed a new program, which does not run yet */
	RS_UTRACE_EVENT_EXIT,    /* it is about to exit, and is all there still */
	RS_UTRACE_EVENT_DEATH,   /* it has died */
	RS_UTRACE_EVENT_SYSCALL_ENTRY, /* it asks for a system call */
	RS_UTRACE_EVENT_SYSCALL_EXIT,  /* it is about to return from one */
	RS_UTRACE_EVENT_SIGNAL,        /* a signal is about to run a handler */
	RS_UTRACE_EVENT_SIGNAL_IGN,    /* ... to be ignored */
	RS_UTRACE_EVENT_SIGNAL_STOP,   /* ... to suspend the process */
	RS_UTRACE_EVENT_SIGNAL_TERM,   /* ... to end it */
	RS_UTRACE_EVENT_SIGNAL_CORE,   /* ... to end it with a core dump */
	RS_UTRACE_EVENT_JCTL,          /* job control has stopped or continued it */
	RS_UTRACE_EVENTS               /* how many there are */
};
/* A mask of one: RS_UTRACE_EVENT(SYSCALL_ENTRY). An engine's events are an OR of these. */
#define RS_UTRACE_EVENT(type) (1u << RS_UTRACE_EVENT_##type)
#define RS_UTRACE_EVENT_SYSCALL (RS_UTRACE_EVENT(SYSCALL_ENTRY) | RS_UTRACE_EVENT(SYSCALL_EXIT))
#define RS_UTRACE_EVENT_SIGNAL_ALL                                                                 \
	(RS_UTRACE_EVENT(SIGNAL) | RS_UTRACE_EVENT(SIGNAL_IGN) | RS_UTRACE_EVENT(SIGNAL_STOP) |    \
	 RS_UTRACE_EVENT(SIGNAL_TERM) | RS_UTRACE_EVENT(SIGNAL_CORE))
#define RS_UTRACE_EVENT_ALL ((1u << RS_UTRACE_EVENTS) - 1)

/* No thread stops at these. QUIESCE is what a stop by an action is; at the others it is dead. */
#define RS_UTRACE_EVENT_NO_STOPS                                                                   \
	(RS_UTRACE_EVENT(QUIESCE) | RS_UTRACE_EVENT(REAP) | RS_UTRACE_EVENT(DEATH))

/*
 * What a thread is to do next, as an engine wants it. Of what its engines want, a thread does the
 * smallest. Only STOP lasts until the engine wants something else. The others are done once.
 */
enum rs_utrace_action {
	RS_UTRACE_STOP,       /* stay where it is */
	RS_UTRACE_INTERRUPT,  /* as REPORT, and a system call that waits comes to an end; with the
			       * event SIGNAL, report_signal is called first */
	RS_UTRACE_REPORT,     /* call report_quiesce once more before it returns to user mode */
	RS_UTRACE_SINGLESTEP, /* run one instruction */
	RS_UTRACE_BLOCKSTEP,  /* run up to the next branch */
	RS_UTRACE_RESUME,     /* go on */
	RS_UTRACE_DETACH,     /* go on; the engine is attached no more */
	RS_UTRACE_ACTIONS
};

/* What becomes of a signal. */
#define RS_UTRACE_SIGNAL_MASK 0x70u
#define RS_UTRACE_SIGNAL_DELIVER 0x00u /* run the handler */
#define RS_UTRACE_SIGNAL_IGN 0x10u
#define RS_UTRACE_SIGNAL_STOP 0x20u
#define RS_UTRACE_SIGNAL_TERM 0x30u
#define RS_UTRACE_SIGNAL_CORE 0x40u
#define RS_UTRACE_SIGNAL_REPORT 0x50u /* only given to report_signal: there is none */
#define RS_UTRACE_SIGNAL_ACTION(value) ((value)&RS_UTRACE_SIGNAL_MASK)

#endif
