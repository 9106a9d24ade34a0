/* SPDX-License-Identifier: MIT */
#include "target/monitor.h"

#include <errno.h>

#define POSTED (-1)   /* id of a command for whose answer nobody waits */
#define PROBE (-2)    /* id of one whose answer tells that it answers */
#define AT_ONCE 16    /* rounds of receive(): a peer that never stops sending starves nobody */
#define DRAIN_MAX 256 /* likewise */

/* ---- from the implementation ---- */

void rs_monitor_heard(struct rs_monitor *monitor)
{
	monitor->silent = false;
}

bool rs_monitor_is_closed(const struct rs_monitor *monitor)
{
	return monitor->closed;
}

void rs_monitor_closed(struct rs_monitor *monitor)
{
	if (monitor->closed)
		return;
	monitor->closed = true;
	if (monitor->listener.event)
		monitor->listener.event(monitor->listener.data, NULL, g_get_monotonic_time(), NULL);
}

void rs_monitor_take_event(struct rs_monitor *monitor, const char *name, gint64 at,
			   JsonObject *payload)
{
	if (!monitor->closed && monitor->listener.event)
		monitor->listener.event(monitor->listener.data, name, at, payload);
}

gint64 rs_monitor_moment(gint64 seconds, gint64 micros)
{
	gint64 now = g_get_real_time(), age = 0;

	if (seconds >= 0 && seconds <= now / G_USEC_PER_SEC && micros >= 0 &&
	    micros < G_USEC_PER_SEC)
		age = MAX(now - seconds * G_USEC_PER_SEC - micros, 0);
	return MAX(g_get_monotonic_time() - age, 1);
}

static JsonNode *member(JsonNode *answer, const char *name)
{
	return JSON_NODE_HOLDS_OBJECT(answer)
		       ? json_object_get_member(json_node_get_object(answer), name)
		       : NULL;
}

bool rs_monitor_take_refusal(struct rs_monitor *monitor, gint64 id, JsonNode *root)
{
	bool known = id == POSTED;

	if (monitor->waiting && id == monitor->waiting) {
		monitor->waiting = 0;
		monitor->answer = json_node_copy(root);
		return true;
	}
	if (id == PROBE && monitor->probes) {
		monitor->probes--;
		known = true;
	}
	if (monitor->listener.answered)
		monitor->listener.answered(monitor->listener.data, member(root, "return"));
	return known;
}

bool rs_monitor_take_answer(struct rs_monitor *monitor, gint64 id, JsonNode *root)
{
	monitor->heard_at = g_get_monotonic_time();
	return rs_monitor_take_refusal(monitor, id, root);
}

static bool receive_some(struct rs_monitor *monitor)
{
	return !monitor->closed && monitor->ops->receive(monitor);
}

bool rs_monitor_receive(struct rs_monitor *monitor)
{
	for (int i = 0; i < AT_ONCE && receive_some(monitor); i++)
		;
	return !monitor->closed;
}

void rs_monitor_drain(struct rs_monitor *monitor)
{
	for (int i = 0; i < DRAIN_MAX && receive_some(monitor); i++)
		;
}

/* ---- whether it answers ---- */

bool rs_monitor_is_silent(struct rs_monitor *monitor)
{
	if (monitor->silent)
		rs_monitor_drain(monitor);
	return monitor->silent;
}

bool rs_monitor_owes(struct rs_monitor *monitor)
{
	if (monitor->probes)
		rs_monitor_drain(monitor);
	return monitor->probes && !monitor->closed;
}

static bool is_fresh(const struct rs_monitor *monitor)
{
	return monitor->heard_at &&
	       g_get_monotonic_time() - monitor->heard_at < (gint64)RS_MONITOR_FRESH_MS * 1000;
}

bool rs_monitor_is_fresh(struct rs_monitor *monitor)
{
	if (!is_fresh(monitor))
		rs_monitor_drain(monitor);
	return is_fresh(monitor);
}

static int refuse_closed(struct rs_error *err)
{
	return rs_error_set(err, EPIPE, "QEMU has closed its monitor");
}

int rs_monitor_wait(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err)
{
	int rc = monitor->closed ? refuse_closed(err) : monitor->ops->wait(monitor, patience, err);

	if (rc == 0)
		receive_some(monitor);
	return rc;
}

int rs_monitor_await(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err)
{
	int rc = 0;

	while (rc == 0 && !is_fresh(monitor) && !monitor->away) {
		rc = rs_monitor_wait(monitor, patience, err);
		if (rc == -EPIPE)
			return rc;
	}
	monitor->silent |= rc == -ETIMEDOUT;
	return rc;
}

void rs_monitor_doubt(struct rs_monitor *monitor)
{
	int rc = 0;

	if (rs_monitor_is_silent(monitor))
		return;
	if (!rs_monitor_owes(monitor))
		rc = rs_monitor_probe(monitor, "query-status", NULL);
	/* If it takes nothing more, it owes answers to what it has been sent. */
	monitor->silent = !monitor->closed && (rc == 0 || rc == -EAGAIN);
}

/* ---- commands ---- */

static int await_answer(struct rs_monitor *monitor, gint64 deadline, struct rs_error *err)
{
	int rc = 0;

	while (rc == 0 && !monitor->answer) {
		struct rs_patience patience = rs_patience_new(monitor->pid, deadline);

		rc = rs_monitor_wait(monitor, &patience, err);
	}
	return rc;
}

/* What the answer says: the reply, or an error. */
static int take_reply(JsonNode *answer, const char *command, JsonNode **reply, struct rs_error *err)
{
	JsonNode *failure = member(answer, "error"), *returned = member(answer, "return");

	if (failure && JSON_NODE_HOLDS_OBJECT(failure)) {
		JsonNode *why = member(failure, "desc");
		bool said = why && JSON_NODE_HOLDS_VALUE(why) &&
			    json_node_get_value_type(why) == G_TYPE_STRING;

		return rs_error_set(err, EREMOTEIO, "QEMU refused %s: %s", command,
				    said ? json_node_get_string(why) : "?");
	}
	if (!returned)
		return rs_error_set(err, EPROTO, "QEMU's answer to %s makes no sense", command);
	if (reply)
		*reply = json_node_ref(returned);
	return 0;
}

/* Sends a command and waits for its answer. */
static int ask(struct rs_monitor *monitor, const char *command, JsonObject *arguments, int fd,
	       int timeout_ms, JsonNode **answer, struct rs_error *err)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	struct rs_patience patience = rs_patience_new(monitor->pid, deadline);
	int rc;

	if (monitor->closed)
		return refuse_closed(err);
	if (rs_monitor_is_silent(monitor))
		return rs_error_set(err, EAGAIN,
				    "QEMU still owes an answer to an earlier question");
	monitor->waiting = ++monitor->last_id;
	rc = monitor->ops->send(monitor, command, arguments, fd, monitor->waiting, &patience, err);
	if (rc == 0)
		rc = await_answer(monitor, deadline, err);
	monitor->waiting = 0;
	*answer = g_steal_pointer(&monitor->answer);
	monitor->silent = rc == -ETIMEDOUT;
	return rc;
}

int rs_monitor_call(struct rs_monitor *monitor, const char *command, JsonObject *arguments,
		    int timeout_ms, JsonNode **reply, struct rs_error *err)
{
	return rs_monitor_call_with(monitor, command, arguments, -1, timeout_ms, reply, err);
}

int rs_monitor_call_with(struct rs_monitor *monitor, const char *command, JsonObject *arguments,
			 int fd, int timeout_ms, JsonNode **reply, struct rs_error *err)
{
	g_autoptr(JsonNode) answer = NULL;
	int rc = ask(monitor, command, arguments, fd, timeout_ms, &answer, err);

	g_clear_pointer(&arguments, json_object_unref);
	return rc < 0 ? rc : take_reply(answer, command, reply, err);
}

static int post(struct rs_monitor *monitor, const char *command, gint64 id, struct rs_error *err)
{
	if (monitor->closed)
		return refuse_closed(err);
	return monitor->ops->send(monitor, command, NULL, -1, id, NULL, err);
}

int rs_monitor_post(struct rs_monitor *monitor, const char *command, struct rs_error *err)
{
	return post(monitor, command, POSTED, err);
}

int rs_monitor_probe(struct rs_monitor *monitor, const char *command, struct rs_error *err)
{
	int rc = post(monitor, command, PROBE, err);

	monitor->probes += rc == 0;
	return rc;
}

/* ---- life ---- */

void rs_monitor_listen(struct rs_monitor *monitor, const struct rs_monitor_listener *listener)
{
	monitor->listener = listener ? *listener : (struct rs_monitor_listener){0};
}

void rs_monitor_set_process(struct rs_monitor *monitor, pid_t pid)
{
	monitor->pid = pid;
}

void rs_monitor_destroy(struct rs_monitor *monitor)
{
	if (!monitor)
		return;
	monitor->closed = true;
	g_clear_pointer(&monitor->answer, json_node_unref);
	monitor->ops->destroy(monitor);
}
