/* SPDX-License-Identifier: MIT */
/*
 * A turn is what the session does before its main loop can serve somebody else. Only so much work
 * is begun in it. Whoever does work counts it here, and does not begin another piece once the turn
 * is over: the next turn goes on with it. So what anybody asks for, or a guest causes, delays
 * others by one turn and one piece at most.
 *
 * A unit of work is what takes about as long as to parse a byte of a descriptor. The largest pieces
 * are the descriptors of one provider, the search for the events that match a glob, and putting
 * into force what was worked out for one source. Only hv/session.
 */
#ifndef RS_HV_SESSION_TURN_H
#define RS_HV_SESSION_TURN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* All sources together: 256 KiB take some 5 to 10 ms. */
#define RS_TURN_WORK (256u << 10)
/* Of that, requests of peers that are still being worked out may take so much. */
#define RS_TURN_ASKS(turn) ((turn)->length / 2)
/* Of that, new events get so much in each turn, whatever else it was used for. */
#define RS_TURN_SHARE(turn) ((turn)->length / 8)

#define RS_WORK_EVENT 256u    /* a plan for an event */
#define RS_WORK_REQUEST 2048u /* a request of a guest, or a slot of its table */
/* A rule whose glob has so many bytes is compared with an event. */
#define RS_WORK_RULE(bytes) (8u * ((uint32_t)(bytes) / 64 + 1))
#define RS_WORK_LOOK 16u     /* a field's name is looked for in an event */
#define RS_WORK_FILTER 8u    /* a byte of an expression is compiled for an event */
#define RS_WORK_NATIVE 4096u /* a filter is compiled to machine code, and checked */
#define RS_WORK_WISH 16u     /* an owner's wish is joined to those of others */
#define RS_WORK_SITE 40u     /* an entry of a list of sites, or the text of a site */
#define RS_WORK_PATCH 80u    /* a site is switched; a look at one that is right counts 1 */
#define RS_WORK_SLOW 65536u  /* of rs_target.slow_reads, one */
#define RS_WORK_MEMBER 64u   /* a region is looked at, whether its process is still there */
#define RS_WORK_LOG 64u      /* a byte of what a guest logs, for all who listen */
#define RS_WORK_RENEW 32768u /* a region is laid out anew */

struct rs_turn {
	uint64_t work;   /* in this turn */
	uint64_t most;   /* in any turn */
	uint64_t end;    /* the turn is over at so much work */
	uint64_t length; /* of a turn: RS_TURN_WORK, less in tests */
};

static inline void rs_turn_begin(struct rs_turn *turn)
{
	turn->work = 0;
	turn->end = turn->length;
}

static inline void rs_turn_add(struct rs_turn *turn, uint64_t work)
{
	turn->work += work;
	turn->most = MAX(turn->most, turn->work);
}

static inline bool rs_turn_over(const struct rs_turn *turn)
{
	return turn->work >= turn->end;
}

/*
 * For work that must get on in each turn, whatever else the turn was used for: up to where it may
 * go on.
 */
static inline uint64_t rs_turn_share(const struct rs_turn *turn)
{
	return MAX(turn->end, turn->work + RS_TURN_SHARE(turn));
}

#endif
