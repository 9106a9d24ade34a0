/* SPDX-License-Identifier: MIT */
/*
 * Whether QEMU answers now. A pause is an exchange with its main loop, for which the session's
 * thread waits. So it is asked a question before, and nobody waits for that answer.
 */
#include "qemu/private.h"

#include <errno.h>

/* Asks it, unless it owes an answer already, or has not read what it was asked for so long. */
static bool probe(struct rs_qemu *qemu)
{
	int rc = rs_monitor_owes(qemu->monitor)
			 ? 0
			 : rs_monitor_probe(qemu->monitor, "query-status", NULL);

	return rc == 0 || rc == -EAGAIN;
}

static void look_again(struct rs_qemu *qemu, int ms)
{
	g_source_set_ready_time(qemu->asker, g_get_monotonic_time() + (gint64)ms * 1000);
}

bool rs_qemu_ready(struct rs_target *target)
{
	struct rs_qemu *qemu = rs_qemu_of(target);

	if (qemu->ended || rs_qemu_stopped_by(qemu) || qemu->monitor->away)
		return true;
	/* A pause fails at once then. */
	if (rs_monitor_is_silent(qemu->monitor))
		return qemu->wanted = true;
	if (rs_monitor_is_fresh(qemu->monitor))
		return true;
	qemu->wanted = true;
	if (qemu->asked)
		return false;
	if (!probe(qemu))
		return true;
	qemu->asked = true;
	qemu->answered = false;
	qemu->answer = rs_patience_new(qemu->process.pid,
				       g_get_monotonic_time() + RS_QEMU_ANSWER_MS * 1000);
	look_again(qemu, 0);
	return false;
}

static void tell_ready(struct rs_qemu *qemu)
{
	qemu->asked = false;
	if (qemu->target.events.ready)
		qemu->target.events.ready(qemu->target.events.data);
}

/* It has answered something, or it is time to look whether it still can. */
static gboolean on_ask(gpointer data)
{
	struct rs_qemu *qemu = data;
	int ms = 0;

	g_source_set_ready_time(qemu->asker, -1);
	if (qemu->ended || !qemu->wanted)
		return G_SOURCE_CONTINUE;
	if (rs_monitor_is_fresh(qemu->monitor) || (qemu->asked && qemu->answered)) {
		qemu->wanted = false;
		tell_ready(qemu);
		return G_SOURCE_CONTINUE;
	}
	if (!qemu->asked)
		return G_SOURCE_CONTINUE;
	if (!rs_monitor_is_silent(qemu->monitor))
		ms = rs_patience_ms(&qemu->answer);
	if (ms > 0) {
		look_again(qemu, ms);
		return G_SOURCE_CONTINUE;
	}
	/* Pauses fail from now on. When it answers at last, that is told, too. */
	rs_monitor_doubt(qemu->monitor);
	tell_ready(qemu);
	return G_SOURCE_CONTINUE;
}

static void on_answered(void *data, JsonNode *reply)
{
	struct rs_qemu *qemu = data;
	bool running, moved;

	if (reply && rs_qemu_take_state(reply, &running, &moved))
		rs_qemu_learn_state(qemu, running, moved);
	qemu->answered = true;
	g_source_set_ready_time(qemu->asker, 0);
}

void rs_qemu_watch_answers(struct rs_qemu *qemu)
{
	qemu->asker = rs_qemu_source(qemu, on_ask);
	rs_monitor_listen(qemu->monitor, &(struct rs_monitor_listener){
						 .data = qemu,
						 .event = rs_qemu_on_event,
						 .answered = on_answered,
					 });
}

int rs_qemu_await(struct rs_qemu *qemu, struct rs_error *err)
{
	gint64 deadline = g_get_monotonic_time() + RS_QEMU_PATIENCE_MS * 1000;
	struct rs_patience patience;

	/* The stub is asked without knowing. */
	if (qemu->monitor->away)
		return 0;
	if (rs_monitor_is_silent(qemu->monitor)) {
		qemu->wanted = true;
		return rs_error_set(err, EAGAIN, "QEMU does not answer since an earlier question");
	}
	if (rs_monitor_is_fresh(qemu->monitor))
		return 0;
	qemu->wanted = true;
	if (!probe(qemu))
		return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
	patience = rs_patience_new_short(qemu->process.pid, deadline);
	return rs_monitor_await(qemu->monitor, &patience, err);
}
