/* SPDX-License-Identifier: MIT */
/*
 * A thread's engines in the order in which they attached, so that those concerned by something are
 * found without a look at the others: a treap. From left to right numbers grow; from the root down
 * weights fall. Each engine knows what concerns it and all below it.
 *
 * Weights are multiples of the golden ratio, so a tree of engines that are attached in a row is
 * nearly as flat as can be, whatever their number.
 */
#include "utrace-private.h"

#define RS_UTRACE_ANY 0x40000000u /* concerns all */
#define EVENTS_MASK (RS_UTRACE_WISHES - 1u)

enum { LEFT, RIGHT };

static uint64_t weight(const struct rs_utrace_engine *engine)
{
	return engine->number * 0x9e3779b97f4a7c15u;
}

static uint32_t concerns(const struct rs_utrace_engine *engine)
{
	return RS_UTRACE_ANY | engine->events | (engine->due ? RS_UTRACE_DUE : 0) |
	       (engine->wish < RS_UTRACE_RESUME ? RS_UTRACE_WISHES : 0);
}

static uint32_t below(const struct rs_utrace_engine *engine)
{
	return engine ? engine->below : 0;
}

void rs_utrace_note(struct rs_utrace_engine *engine)
{
	if (!engine->attached)
		return;
	for (struct rs_utrace_engine *e = engine; e; e = e->parent) {
		uint32_t mask = concerns(e) | below(e->child[LEFT]) | below(e->child[RIGHT]);

		if (mask == e->below && e != engine)
			break;
		e->below = mask;
	}
}

/* The place of the engine in the tree: what points to it. */
static struct rs_utrace_engine **place_of(struct rs_utrace_thread *thread,
					  const struct rs_utrace_engine *engine)
{
	struct rs_utrace_engine *parent = engine->parent;

	return parent ? &parent->child[parent->child[RIGHT] == engine] : &thread->engines;
}

static void hang(struct rs_utrace_engine **place, struct rs_utrace_engine *parent,
		 struct rs_utrace_engine *engine)
{
	*place = engine;
	if (engine)
		engine->parent = parent;
}

/* Its number is the largest: it comes to the end of the right side. */
void rs_utrace_link(struct rs_utrace_thread *thread, struct rs_utrace_engine *engine)
{
	struct rs_utrace_engine **place = &thread->engines, *parent = NULL;

	while (*place && weight(*place) > weight(engine)) {
		parent = *place;
		place = &parent->child[RIGHT];
	}
	hang(&engine->child[LEFT], engine, *place);
	engine->child[RIGHT] = NULL;
	hang(place, parent, engine);
	engine->below = 0;
	engine->attached = true;
	rs_utrace_note(engine);
}

/* Its place goes to those below it, the heavier ones first. */
void rs_utrace_take_out(struct rs_utrace_thread *thread, struct rs_utrace_engine *engine)
{
	struct rs_utrace_engine *left = engine->child[LEFT], *right = engine->child[RIGHT];
	struct rs_utrace_engine **place = place_of(thread, engine), *parent = engine->parent;

	while (left && right) {
		struct rs_utrace_engine **heavier = weight(left) > weight(right) ? &left : &right;
		int side = heavier == &left ? RIGHT : LEFT;

		hang(place, parent, *heavier);
		parent = *heavier;
		place = &parent->child[side];
		*heavier = *place;
	}
	hang(place, parent, left ? left : right);
	engine->child[LEFT] = engine->child[RIGHT] = engine->parent = NULL;
	engine->attached = false;
	for (; parent; parent = parent->parent)
		parent->below =
			concerns(parent) | below(parent->child[LEFT]) | below(parent->child[RIGHT]);
}

/* The one that comes first, of those in the tree under `engine`, of which one is concerned. */
static struct rs_utrace_engine *first_under(struct rs_utrace_engine *engine, uint32_t mask,
					    int from)
{
	for (;;) {
		if (below(engine->child[from]) & mask)
			engine = engine->child[from];
		else if (concerns(engine) & mask)
			return engine;
		else
			engine = engine->child[!from];
	}
}

struct rs_utrace_engine *rs_utrace_engine_first(const struct rs_utrace_thread *thread,
						uint32_t mask, bool reverse)
{
	mask = mask ? mask : RS_UTRACE_ANY;
	return below(thread->engines) & mask ? first_under(thread->engines, mask, reverse) : NULL;
}

struct rs_utrace_engine *rs_utrace_engine_next(const struct rs_utrace_engine *engine, uint32_t mask,
					       bool reverse)
{
	int from = reverse ? RIGHT : LEFT;

	mask = mask ? mask : RS_UTRACE_ANY;
	if (below(engine->child[!from]) & mask)
		return first_under(engine->child[!from], mask, from);
	for (struct rs_utrace_engine *up; (up = engine->parent); engine = up) {
		if (up->child[from] != engine)
			continue;
		if (concerns(up) & mask)
			return up;
		if (below(up->child[!from]) & mask)
			return first_under(up->child[!from], mask, from);
	}
	return NULL;
}

uint32_t rs_utrace_all_events(const struct rs_utrace_thread *thread)
{
	return below(thread->engines) & EVENTS_MASK;
}
