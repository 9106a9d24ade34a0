/* SPDX-License-Identifier: MIT */
/* The memory of a guest that has ended badly, kept in a file before it goes. */
#include "session/private.h"

#include <errno.h>
#include <unistd.h>

void rs_session_keep_core(struct rs_session *session, const char *path)
{
	g_free(session->core);
	session->core = g_strdup(path);
}

bool rs_session_has_core(const struct rs_session *session)
{
	return session->has_core;
}

static int write_core(struct rs_source *source, const char *path, struct rs_error *err)
{
	struct rs_target *target = source->target;
	g_autofree char *whole = g_canonicalize_filename(path, NULL);
	int ret;

	if (!target->ops->dump)
		return rs_error_set(err, ENOTSUP, "a program has no such memory");
	ret = target->ops->dump(target, whole, err);
	if (ret)
		unlink(whole);
	return ret;
}

/* Of the first guest that asks for it. */
static void keep(struct rs_source *source)
{
	struct rs_session *session = source->session;
	g_autofree char *path = g_steal_pointer(&session->core);
	struct rs_error err = {0};

	if (!path || rs_source_joined(source) || rs_source_is_host(source)) {
		session->core = g_steal_pointer(&path);
		return;
	}
	session->has_core = !write_core(source, path, &err);
	if (session->has_core)
		rs_source_say(source, "the guest's memory is in %s", path);
	else
		rs_source_say(source, "the guest's memory is not kept: %s", err.message);
}

void rs_source_keep_core(struct rs_source *source, enum rs_end_reason reason)
{
	if (reason == RS_END_PANIC || reason == RS_END_TRIPLE_FAULT || reason == RS_END_RESET ||
	    reason == RS_END_FAULT)
		keep(source);
}

void rs_session_keep_core_now(struct rs_session *session)
{
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = session->sources->pdata[i];

		if (source->started && !source->ended)
			keep(source);
	}
}
