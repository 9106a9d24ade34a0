/* SPDX-License-Identifier: MIT */
/*
 * Shared by engines.c (which there are), engine_calls.c (what owners ask) and engine_news.c (what
 * the guest tells); private.
 */
#ifndef RS_HV_SESSION_ENGINES_PRIVATE_H
#define RS_HV_SESSION_ENGINES_PRIVATE_H

#include "session/engines.h"
#include "session/private.h"

struct rs_engine {
	struct rs_engine_info info;
	const void *owner; /* NULL: nobody has it, and it is to be detached */
	uint64_t handle;   /* the guest's; 0: not attached yet */
	bool held;         /* by the guest, as far as we know: to be detached, whatever its state */
	guint calls;       /* that wait for the guest */
	bool told;         /* its owner has taken it off the list */
	uint32_t refused;  /* by us, of info.refused */
	GList in_source, in_owner; /* links of their queues */
};

struct rs_engines {
	GHashTable *numbers; /* of all sources: number → struct rs_engine, which it owns */
	GHashTable *owners;  /* owner → GQueue of his, in the order of their numbers */
	GQueue calls;        /* of struct call */
	uint32_t made;
};

/* A new one, which nobody has attached yet. NULL: the source has RS_ENGINES_MAX already. */
struct rs_engine *rs_engine_new(struct rs_source *source, const void *owner);
/* Nobody has it any more: see rs_engine_detach(). */
void rs_engine_leave(struct rs_engine *engine);
void rs_engine_free(struct rs_engine *engine);
/* Frees it if nobody has to do with it any more. */
void rs_engine_purge(struct rs_engine *engine);
/* The guest holds one that nobody has. It is detached, as soon as that can be. */
void rs_engine_detach_unknown(struct rs_source *source, uint64_t handle);
/* The guest has attached it, under this handle. False: another one has that. */
bool rs_engine_hold(struct rs_engine *engine, uint64_t handle);
/* Its owner is told that it is another one now. */
void rs_engine_say(const struct rs_engine *engine);
/* For its owner. */
void rs_engine_be_gone(struct rs_engine *engine);
/* The guest has let go of it. */
void rs_engine_set_gone(struct rs_engine *engine);
/* Detaches an engine that nobody has any more. If that cannot be now, it is tried again later. */
void rs_engine_detach(struct rs_engine *engine);
bool rs_engine_is_unwanted(const struct rs_engine *engine);
/* The guest has done the action `how`. */
void rs_engine_controlled(struct rs_engine *engine, uint64_t how);
/* The thread that a guest describes in `size` bytes. What is missing is zero. */
void rs_engine_take_thread(struct rs_engine *engine, const uint8_t *data, uint32_t size);
/* The one that the guest holds under this handle; NULL: none. */
struct rs_engine *rs_engine_by_handle(const struct rs_source *source, uint64_t handle);
/* The source will be freed: nobody is told. */
void rs_source_drop_engine_calls(struct rs_source *source);

#endif
