/* SPDX-License-Identifier: MIT */
/*
 * Puts wishes into force. To change wishes, make a plan for each event, change the wishes in the
 * plan, and carry the plans of a source out. Until that succeeds, the event's own state does not
 * change. Only hv/session.
 */
#ifndef RS_HV_SESSION_PLAN_H
#define RS_HV_SESSION_PLAN_H

#include "session/session.h"

/* The planned state of one event. */
struct rs_plan {
	struct rs_source *source;
	uint32_t id;
	const RsTraceEvent *event;
	bool compiled;           /* what is asked for was compiled for this event: `own` */
	struct rs_program *own;  /* NULL: nothing, or no filter of it is left for this event */
	bool taken;              /* the two below are set */
	uint32_t version;        /* of the event's wishes when they were copied */
	struct rs_wishes wishes; /* as they will be */
	bool by_guest;           /* the guest asks for it */
	/* Worked out from the wishes. */
	struct rs_program *program;
	bool on, overfull;
	uint32_t stack;   /* frames; 0: none */
	bool guest_ended; /* no room was left for what the guest wants */
	bool done;        /* carried out: it has given its wishes to the event's state */
};

/* No plans, of one source. To be unreffed. */
GArray *rs_plans_new(void);
static inline struct rs_plan *rs_plan(const GArray *plans, guint i)
{
	return &((struct rs_plan *)(void *)plans->data)[i];
}
/* Adds one for this event, which has no wishes yet. */
struct rs_plan *rs_plans_add(GArray *plans, struct rs_source *source, const RsTraceEvent *event);
/* Whether the plan has the wishes that the event has now, but for what the caller changed. */
bool rs_plan_is_current(const struct rs_plan *plan);
/* Takes over the wishes that the event has now. */
void rs_plan_take_wishes(struct rs_plan *plan);
/*
 * Works out from the wishes what will be in force. -E2BIG: the filters of all owners are too large
 * together. -ENOSPC: the session has no room for them. `lenient`: if they are too large, the event
 * is recorded without a filter, and a message will say so; and they have room.
 */
int rs_plan_decide(struct rs_plan *plan, bool lenient, struct rs_error *err);
/*
 * Puts plans into force, all of which have been decided, and none of which is done. Where that
 * fails nothing changes. `result` (may be NULL): `problems` are added to.
 */
int rs_plans_carry_out(GArray *plans, struct rs_session_result *result, struct rs_error *err);
/* Notes a source in which nothing was changed. */
void rs_result_fail(struct rs_session_result *result, struct rs_source *source, const char *why);
/* Whether its agent, which has reported, takes call stacks. Where it does not, plans have none. */
bool rs_source_takes_stacks(const struct rs_source *source);
/* That they are wanted there. `result` (may be NULL) gets a problem. */
void rs_source_tell_no_stacks(struct rs_source *source, struct rs_session_result *result);
/*
 * Counts the event if other owners than `but` (NULL: of any) want it, without a filter if there is
 * a `but`, and notes their names.
 */
void rs_result_keep(struct rs_session_result *result, const struct rs_plan *plan,
		    const struct rs_owner *but);

#endif
