/* SPDX-License-Identifier: MIT */
/* For tests of what takes many turns: guests with very many events, which patch themselves. */
#ifndef RS_TEST_SESSION_MANY_H
#define RS_TEST_SESSION_MANY_H

#include "session/session.h"
#include "sham.h"

#define MANY_PROVIDERS 16u
#define MANY_EACH 32u
#define MANY_EVENTS (MANY_PROVIDERS * MANY_EACH)
#define MANY_TERMS 40u         /* that a guest may use */
#define MANY_TURN (256u << 10) /* see session/turn.h */
/* The last piece of work in a turn: at most to put into force what was worked out for a guest. */
#define MANY_PIECE (128u << 10)

/* Adds a guest with room for these events, and for filters of so many bytes; 0: the default. */
struct sham *many_add(struct rs_session *session, uint32_t filter_bytes);
/* Systems s0, s1 …, each with the events e0, e1 … */
void many_describe(struct sham *sham);
/* "GLOB: EXPRESSION" with so many terms, for events of the systems that match; to be freed. */
char *many_filter(const char *systems, guint terms);
/* How many events of all guests are filtered. */
guint many_filtered(struct rs_session *session);
bool many_is_on(struct sham *sham, uint32_t n);
/* No turn was longer than it may be. */
void many_check_work(struct rs_session *session);

#endif
