/* SPDX-License-Identifier: MIT */
#include "session/saved.h"

#include "session/private.h"
#include <ringside/record.h>

struct rs_saved {
	guint refs;
	struct rs_owner *was; /* a copy, in no table, that has the rules */
	GHashTable *wishes;   /* life of an event → struct rs_wishes, of `was` alone */
	uint64_t newest;      /* events of later lives were not there */
};

static void free_wishes(gpointer data)
{
	rs_wishes_clear(data);
	g_free(data);
}

static void give(struct rs_wishes *to, struct rs_owner *owner, const struct rs_wish *wish)
{
	if (wish->wanted)
		rs_wishes_set_stack(to, owner, wish->stack);
	if (wish->filter)
		rs_wishes_set_filter(to, owner, wish->filter, wish->program);
}

static void save_events(struct rs_saved *saved, const struct rs_source *source,
			const struct rs_owner *owner)
{
	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++) {
		const struct event_state *state = &source->events[id];
		const struct rs_wish *wish = rs_wishes_of(&state->wishes, owner);
		struct rs_wishes *copy;

		if (!wish || !state->life)
			continue;
		copy = g_new0(struct rs_wishes, 1);
		give(copy, saved->was, wish);
		g_hash_table_insert(saved->wishes, g_memdup2(&state->life, sizeof(state->life)),
				    copy);
	}
}

struct rs_saved *rs_session_save(struct rs_session *session, const char *name)
{
	const struct rs_owner *owner = rs_owners_find(session->owners, name);
	struct rs_saved *saved = g_new0(struct rs_saved, 1);

	saved->refs = 1;
	saved->was = rs_owner_new(name);
	saved->wishes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_wishes);
	saved->newest = session->lives;
	if (owner)
		rs_owner_copy_rules(saved->was, owner);
	for (guint i = 0; owner && i < session->sources->len; i++)
		save_events(saved, nth_source(session, i), owner);
	return saved;
}

struct rs_saved *rs_saved_ref(struct rs_saved *saved)
{
	saved->refs++;
	return saved;
}

void rs_saved_unref(struct rs_saved *saved)
{
	if (!saved || --saved->refs)
		return;
	g_hash_table_unref(saved->wishes);
	rs_owner_free(saved->was);
	g_free(saved);
}

int rs_session_restore(struct rs_session *session, const void *from, struct rs_saved *saved,
		       struct rs_session_result *result, struct rs_error *err)
{
	const struct rs_session_ask restore = {
		.from = from, .owner = saved->was->name, .kind = RS_ASK_RESTORE, .saved = saved};

	return rs_session_ask(session, &restore, result, err);
}

void rs_saved_give_rules(const struct rs_saved *saved, struct rs_owner *owner)
{
	rs_owner_copy_rules(owner, saved->was);
}

bool rs_saved_knows(const struct rs_saved *saved, uint64_t life)
{
	return life && life <= saved->newest;
}

bool rs_saved_has(const struct rs_saved *saved, uint64_t life)
{
	return g_hash_table_contains(saved->wishes, &life);
}

void rs_saved_give(const struct rs_saved *saved, uint64_t life, struct rs_wishes *wishes,
		   struct rs_owner *owner)
{
	const struct rs_wishes *was = g_hash_table_lookup(saved->wishes, &life);

	rs_wishes_forget(wishes, owner);
	if (was && was->first)
		give(wishes, owner, was->first);
}
