/* SPDX-License-Identifier: MIT */
/*
 * A trigger as text: what is done when an event comes, as docs/triggers.md has it. Here the text
 * becomes a struct; session/triggers.h carries it out. In one line it is
 *
 *     pause; snapshot=/tmp/t.trace; count=1 @ sched:switch: next_comm ~ "lz-*"
 *
 * Trust: the text is hostile. Any thread.
 */
#ifndef RS_HV_SESSION_TRIGGER_TEXT_H
#define RS_HV_SESSION_TRIGGER_TEXT_H

#include "base/error.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RS_TRIGGER_TEXT_MAX 4096u /* bytes of a glob, an expression, or an action */
#define RS_TRIGGER_ACTIONS_MAX 8u
#define RS_TRIGGER_FRAMES 16u    /* frames, if the action "stack" says none */
#define RS_TRIGGER_SNAPSHOTS 16u /* count of one that takes snapshots, if it says none */

enum rs_trigger_act {
	RS_TRIGGER_FREEZE,   /* nothing is recorded any more */
	RS_TRIGGER_PAUSE,    /* the guests stand still */
	RS_TRIGGER_SNAPSHOT, /* what the rings hold goes to a file: `arg`, NULL: any */
	RS_TRIGGER_STACK,    /* the record and who called it are shown: `frames` */
	RS_TRIGGER_ENABLE,   /* events go on: `arg` is their glob */
	RS_TRIGGER_DISABLE,
};

struct rs_trigger_action {
	enum rs_trigger_act act;
	char *arg; /* NULL: none */
	uint32_t frames;
};

struct rs_trigger_text {
	char *glob, *expression; /* of its event; the second is NULL if there is none */
	char *place;             /* of the expression: "FILE:LINE", for messages; NULL: none */
	GArray *actions; /* of struct rs_trigger_action, in the order in which they are done */
	uint64_t count;  /* how often it fires; 0: no limit */
};

/*
 * From its parts. `expression` NULL or empty: there is none. `count` 0: not given. -EINVAL:
 * something is wrong. What the expression says is not looked at.
 */
int rs_trigger_text_new(const char *glob, const char *expression, const char *const *actions,
			uint64_t count, struct rs_trigger_text **out, struct rs_error *err);
/* The same with an event as rs_filter_split_event() takes it apart. */
int rs_trigger_text_new_on(const char *event, const char *const *actions, uint64_t count,
			   struct rs_trigger_text **out, struct rs_error *err);
/* A list of them, which owns what is added to it. To be unreffed. */
GPtrArray *rs_trigger_texts_new(void);
/* From one line. */
int rs_trigger_text_parse(const char *line, struct rs_trigger_text **out, struct rs_error *err);
struct rs_trigger_text *rs_trigger_text_copy(const struct rs_trigger_text *text);
void rs_trigger_text_free(struct rs_trigger_text *text); /* accepts NULL */

/* "GLOB" or "GLOB: EXPR", to be freed. */
char *rs_trigger_text_event(const struct rs_trigger_text *text);
bool rs_trigger_text_has(const struct rs_trigger_text *text, enum rs_trigger_act act);
/* Frames of call stacks that its records need; 0: none. */
uint32_t rs_trigger_text_stack(const struct rs_trigger_text *text);
/* An action as it is written, to be freed. */
char *rs_trigger_action_format(const struct rs_trigger_action *action);
/* All of them, with "; " in between, to be freed. */
char *rs_trigger_text_actions(const struct rs_trigger_text *text);

#endif
