/* SPDX-License-Identifier: MIT */
/* Who asks for what: each request becomes one that is worked out in turns (asking.c). */
#include "session/private.h"

#include <errno.h>
#include <string.h>

/* -ENOENT: there is no owner to forget. */
static int find_owner(struct rs_session *session, const struct rs_session_ask *ask,
		      struct rs_owner **out, struct rs_error *err)
{
	/* Also forget owners whose requests failed. */
	rs_owners_prune(session->owners);
	if (ask->kind == RS_ASK_FORGET) {
		*out = rs_owners_find(session->owners, ask->owner);
		return *out ? 0 : -ENOENT;
	}
	if (ask->kind == RS_ASK_REVIEW || strcmp(ask->owner, RS_OWNER_GUEST) == 0)
		return 0;
	return rs_owners_get(session->owners, ask->owner, out, err);
}

/* 1: it is kept, and will be done later. */
static int ask(struct rs_session *session, const struct rs_session_ask *ask,
	       struct rs_session_result *result, struct rs_error *err)
{
	struct rs_asking *asking;
	struct asker asker = {0};
	int ret = find_owner(session, ask, &asker.owner, err);

	if (ret)
		return ask->kind == RS_ASK_FORGET ? 0 : ret;
	/* A peer that goes may leave many owners behind. */
	if (ask->kind != RS_ASK_FORGET)
		rs_turn_begin(&session->turn);
	asking = rs_asking_new(session, &asker, ask);
	ret = rs_later_blocks(session, ask->from, asker.owner)
		      ? 1
		      : rs_asking_go_on(asking, result, err);
	if (ret == 1) {
		result->later = rs_later_ask(session, ask->from, asking);
		return 0;
	}
	if (!ret)
		result->later = rs_later_wait(session, asking, result);
	rs_asking_free(asking);
	return ret;
}

int rs_session_ask(struct rs_session *session, const struct rs_session_ask *what,
		   struct rs_session_result *result, struct rs_error *err)
{
	struct rs_session_result unused = {0};
	int ret = ask(session, what, result ? result : &unused, err);

	rs_session_result_clear(&unused);
	return ret;
}

int rs_session_enable(struct rs_session *session, const char *owner, const char *glob,
		      struct rs_session_result *result, struct rs_error *err)
{
	const struct rs_session_ask enable = {.owner = owner, .kind = RS_ASK_ENABLE, .glob = glob};

	return rs_session_ask(session, &enable, result, err);
}

int rs_session_disable(struct rs_session *session, const char *owner, const char *glob,
		       struct rs_session_result *result, struct rs_error *err)
{
	const struct rs_session_ask disable = {
		.owner = owner, .kind = RS_ASK_DISABLE, .glob = glob};

	return rs_session_ask(session, &disable, result, err);
}

int rs_session_set_filter(struct rs_session *session, const char *owner, const char *glob,
			  const char *expression, struct rs_session_result *result,
			  struct rs_error *err)
{
	const struct rs_session_ask filter = {
		.owner = owner, .kind = RS_ASK_FILTER, .glob = glob, .expression = expression};

	return rs_session_ask(session, &filter, result, err);
}

void rs_session_forget_owner(struct rs_session *session, const char *owner)
{
	const struct rs_session_ask forget = {.owner = owner, .kind = RS_ASK_FORGET};

	rs_session_ask(session, &forget, NULL, NULL);
}

bool rs_session_knows_owner(const struct rs_session *session, const char *owner)
{
	return rs_owners_find(session->owners, owner);
}

static void add_rules(GArray *list, const struct rs_source *source, const struct rs_owner *owner)
{
	for (guint i = 0; i < owner->rules->len; i++) {
		struct rs_session_rule row = {source, owner->name, owner->rules->pdata[i]};

		g_array_append_val(list, row);
	}
}

GArray *rs_session_list_rules(struct rs_session *session)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct rs_session_rule));

	rs_session_refresh(session);
	for (guint i = 0; i < rs_owners_count(session->owners); i++)
		add_rules(list, NULL, rs_owners_nth(session->owners, i));
	for (guint i = 0; i < session->sources->len; i++)
		add_rules(list, nth_source(session, i), nth_source(session, i)->guest);
	return list;
}
