/* SPDX-License-Identifier: MIT */
/*
 * Who asked for what. An owner has a name: "host", "guest", or the name of a client. It has rules,
 * which are its requests by glob, for later events. It also has a wish for each event that it has
 * asked about. An event is on while any owner wants it. It is recorded if it passes the filter of
 * any owner who wants it.
 *
 * Nothing here uses a session, so all of it can be tested without one. Caller: the session, on its
 * thread.
 *
 * Trust: names, globs and expressions come from peers and from the guest. The caller bounds them.
 * Each owner has its own tables, which are bounded here, so nobody can use up another's room.
 */
#ifndef RS_HV_SESSION_OWNERS_H
#define RS_HV_SESSION_OWNERS_H

#include "base/error.h"
#include <glib.h>
#include "session/event_glob.h"
#include "session/program.h"

#define RS_OWNER_HOST "host"   /* who gives no name */
#define RS_OWNER_GUEST "guest" /* the guest's own requests */
#define RS_OWNER_NAME_MAX 32u
#define RS_OWNERS_MAX 32u /* at once in one table */
#define RS_OWNER_MAX_RULES 256u

/* ---- owners ---- */

struct rs_rule;

struct rs_owner {
	char *name;
	GPtrArray *rules;  /* of struct rs_rule, in the order given */
	unsigned int uses; /* wishes that name it */
};

/* `name` has passed rs_owner_check_name(). Never fails. */
struct rs_owner *rs_owner_new(const char *name);
/* No wish may name it any more. Accepts NULL. */
void rs_owner_free(struct rs_owner *owner);
/* [A-Za-z0-9._-], 1 to RS_OWNER_NAME_MAX of them: 0 or -EINVAL. */
int rs_owner_check_name(const char *name, struct rs_error *err);

/* ---- the table of those who speak by name ---- */

struct rs_owners;

struct rs_owners *rs_owners_new(void);
void rs_owners_free(struct rs_owners *owners);
/* NULL: no such owner. */
struct rs_owner *rs_owners_find(const struct rs_owners *owners, const char *name);
/* Finds or makes it. -EINVAL: a bad name; -EUSERS: there are RS_OWNERS_MAX others. */
int rs_owners_get(struct rs_owners *owners, const char *name, struct rs_owner **out,
		  struct rs_error *err);
/* Forgets owners that have neither rules nor wishes. */
void rs_owners_prune(struct rs_owners *owners);
unsigned int rs_owners_count(const struct rs_owners *owners);
/* In order of name; n < rs_owners_count(). */
struct rs_owner *rs_owners_nth(const struct rs_owners *owners, unsigned int n);

/* ---- rules ---- */

enum rs_rule_kind { RS_RULE_ENABLE, RS_RULE_DISABLE, RS_RULE_FILTER };

struct rs_rule {
	enum rs_rule_kind kind;
	char *glob;
	RsTraceEventGlob *match; /* compiled when it is first compared; else NULL */
	char *expression;        /* RS_RULE_FILTER; NULL clears */
	char *place;             /* of the expression, for messages; NULL: none */
	uint32_t stack;          /* RS_RULE_ENABLE: frames of call stacks; 0: none */
	bool early;              /* given before the session was started */
	bool met;                /* an event has come for which it counts */
	bool told;               /* a message said that it does not fit an event */
};

/*
 * Whether rs_owner_add_rule() has room for it: 0 or -ENOSPC. There is always room for a rule on "*"
 * that disables or clears.
 */
int rs_owner_check_room(const struct rs_owner *owner, enum rs_rule_kind kind, const char *glob,
			const char *expression, struct rs_error *err);
/*
 * Adds a rule, for which there is room. The last rule that matches counts. So it replaces older
 * ones on the same glob, and a rule on "*" replaces all of its kind. NULL: it was not kept, since
 * without any rule the result is the same.
 */
struct rs_rule *rs_owner_add_rule(struct rs_owner *owner, enum rs_rule_kind kind, const char *glob,
				  const char *expression);
/* Whether a rule is kept that enables or filters, and that one of this kind and glob replaces. */
bool rs_owner_ends_rule(const struct rs_owner *owner, enum rs_rule_kind kind, const char *glob);
void rs_owner_clear_rules(struct rs_owner *owner);
/* `to` has the rules of `from`, and no others. */
void rs_owner_copy_rules(struct rs_owner *to, const struct rs_owner *from);
/* Whether its rules want an event of the source of that name. */
bool rs_owner_wants(const struct rs_owner *owner, const char *source, const RsTraceEvent *event);
/* The rule by which it does; NULL: it does not. */
const struct rs_rule *rs_owner_enable_of(const struct rs_owner *owner, const char *source,
					 const RsTraceEvent *event);
/* The rule whose expression filters it; NULL: none. */
struct rs_rule *rs_owner_filter_of(const struct rs_owner *owner, const char *source,
				   const RsTraceEvent *event);
/* Frees what its globs were compiled to: a guest's could take megabytes. */
void rs_owner_drop_compiled(struct rs_owner *owner);

/* ---- wishes: of all owners, on one event ---- */

struct rs_wish {
	struct rs_wish *next;
	struct rs_owner *owner;
	bool wanted;
	uint32_t stack;     /* frames of the call stack with each record; 0: none, or not wanted */
	GRefString *filter; /* interned; kept while it is not wanted, too; NULL: none */
	/* What the filter was compiled to; NULL if and only if there is none. */
	struct rs_program *program;
};

/* "host" first, "guest" last, the others by name. A zeroed one is empty. */
struct rs_wishes {
	struct rs_wish *first;
};

void rs_wishes_clear(struct rs_wishes *wishes);
/* `to` is empty. */
void rs_wishes_copy(struct rs_wishes *to, const struct rs_wishes *from);
/* NULL: it has none. */
const struct rs_wish *rs_wishes_of(const struct rs_wishes *wishes, const struct rs_owner *owner);
/* Without call stacks. */
void rs_wishes_set_wanted(struct rs_wishes *wishes, struct rs_owner *owner, bool wanted);
/* Wanted, and with so many frames of the call stack. */
void rs_wishes_set_stack(struct rs_wishes *wishes, struct rs_owner *owner, uint32_t stack);
/* Both NULL: no filter. Text and program are copied and referenced. */
void rs_wishes_set_filter(struct rs_wishes *wishes, struct rs_owner *owner, const char *filter,
			  struct rs_program *program);
void rs_wishes_forget(struct rs_wishes *wishes, const struct rs_owner *owner);

/*
 * A guest's program may take half of the room for an event. So a program of the same size by
 * anybody else always fits beside it.
 */
bool rs_owner_guest_may(const GByteArray *program);

bool rs_wishes_wanted(const struct rs_wishes *wishes);
/* The most frames that any of them wants. */
uint32_t rs_wishes_stack(const struct rs_wishes *wishes);
/*
 * The program that accepts an entry if the filter of any owner who wants `event` accepts it.
 * *joined is a reference; NULL: everything is to be recorded, or nobody wants the event. -E2BIG as
 * rs_filter_join(), with *joined NULL.
 */
int rs_wishes_program(const struct rs_wishes *wishes, const RsTraceEvent *event,
		      GByteArray **joined, struct rs_error *err);
/*
 * The same for people: "(a) || (b)", NULL for everything. While nobody wants the event, it contains
 * all filters that are set. To be freed.
 */
char *rs_wishes_expression(const struct rs_wishes *wishes);

#endif
