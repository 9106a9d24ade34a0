/* SPDX-License-Identifier: MIT */
/*
 * A monitor: the way by which a machine that runs in another process takes commands, answers them,
 * and tells events. The vocabulary is QEMU's, whoever carries it: a QMP socket (hv/qemu/qmp.h) or
 * another connection. An implementation carries commands there, and answers and events back.
 * monitor.c knows the rest: for which answer somebody waits, and whether the peer answers at all.
 *
 * Thread: the one whose GMainContext the implementation was made for. An implementation that has
 * threads of its own hands over by itself. Trust: a guest may have taken over the peer. The caller
 * checks all that answers and events hold.
 *
 * Errors: -ETIMEDOUT no answer in time; -EAGAIN the peer owes an answer since an earlier question,
 * or takes nothing more; -EPIPE the peer has closed; -EREMOTEIO it refused the command, and the
 * message is its own; -EPROTO its answer makes no sense.
 */
#ifndef RS_HV_TARGET_MONITOR_H
#define RS_HV_TARGET_MONITOR_H

#include "base/error.h"
#include "target/patience.h"
#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>

struct rs_monitor;

struct rs_monitor_listener {
	void *data;
	/*
	 * An event came. `name` NULL: the peer has closed, and nothing more comes. `payload` is its
	 * data, NULL: none. Both are valid only during the call. `at`: when it was, as the peer
	 * says, g_get_monotonic_time(); it may be told seconds later. The context calls it, or any
	 * function below, so it must not call these functions: it may only note the event.
	 */
	void (*event)(void *data, const char *name, gint64 at, JsonObject *payload);
	/*
	 * By the same rules, for each answer for which no function below waits. `reply`: what the
	 * command returned, valid only during the call; NULL: it failed. May be NULL.
	 */
	void (*answered)(void *data, JsonNode *reply);
};

/* Replaces the listener; NULL: nobody listens. */
void rs_monitor_listen(struct rs_monitor *monitor, const struct rs_monitor_listener *listener);

/* Says which process answers; 0: unknown. If it has been stopped, nobody waits long for it. */
void rs_monitor_set_process(struct rs_monitor *monitor, pid_t pid);

/*
 * Carries out one command and waits for its answer. Takes over `arguments` (may be NULL). `reply`
 * (may be NULL) gets what the command returned; free it with json_node_unref(). -ETIMEDOUT: no
 * answer came. From then on the peer is silent until it says anything, and nobody waits for it a
 * second time: -EAGAIN at once, and the command is not sent.
 */
int rs_monitor_call(struct rs_monitor *monitor, const char *command, JsonObject *arguments,
		    int timeout_ms, JsonNode **reply, struct rs_error *err);

/*
 * The same for a command with a descriptor, which stays the caller's. -ENOTSUP: this monitor
 * carries none.
 */
int rs_monitor_call_with(struct rs_monitor *monitor, const char *command, JsonObject *arguments,
			 int fd, int timeout_ms, JsonNode **reply, struct rs_error *err);

/* Sends a command without arguments and does not wait: its answer is ignored. */
int rs_monitor_post(struct rs_monitor *monitor, const char *command, struct rs_error *err);

/* The same for a command whose answer is to tell that the peer answers. */
int rs_monitor_probe(struct rs_monitor *monitor, const char *command, struct rs_error *err);
/* Whether answers to probes are still to come, as far as what has arrived tells. */
bool rs_monitor_owes(struct rs_monitor *monitor);
/*
 * Whether the peer has answered any command within this time, as far as what has arrived tells.
 * Then its main loop is at work, and whoever asks it something will not wait long.
 */
#define RS_MONITOR_FRESH_MS 200
bool rs_monitor_is_fresh(struct rs_monitor *monitor);
/* Waits until it has, or cannot be asked. -ETIMEDOUT: it is silent from now on. */
int rs_monitor_await(struct rs_monitor *monitor, struct rs_patience *patience,
		     struct rs_error *err);

/* Waits for news until there are some. -ETIMEDOUT; -EPIPE: the peer has closed. */
int rs_monitor_wait(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err);

/* Whether the peer is silent, as far as what has arrived tells. */
bool rs_monitor_is_silent(struct rs_monitor *monitor);
/* It did not answer a probe, or did not answer elsewhere: it is silent until it answers here. */
void rs_monitor_doubt(struct rs_monitor *monitor);

/* Delivers the events that have arrived, without waiting. */
void rs_monitor_drain(struct rs_monitor *monitor);

/* NULL is accepted. */
void rs_monitor_destroy(struct rs_monitor *monitor);

/* ---- for implementations ---- */

struct rs_monitor_ops {
	/*
	 * Sends a command. `arguments` and `fd` stay the caller's; NULL, -1: none. `id` comes back
	 * with the answer. Waits for room as long as `patience` allows; NULL: -EAGAIN if there is
	 * none. -ENOTSUP: no descriptors go this way. -EPIPE: the peer has closed, and
	 * rs_monitor_closed() has been called.
	 */
	int (*send)(struct rs_monitor *monitor, const char *command, JsonObject *arguments, int fd,
		    gint64 id, struct rs_patience *patience, struct rs_error *err);
	/* Waits until something has arrived. -ETIMEDOUT. */
	int (*wait)(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err);
	/*
	 * Hands over some of what has arrived, by the functions below. Never waits, and its work is
	 * bounded. False: nothing has arrived. The implementation's own source calls
	 * rs_monitor_receive() when something arrives.
	 */
	bool (*receive)(struct rs_monitor *monitor);
	void (*destroy)(struct rs_monitor *monitor);
};

struct rs_monitor { /* an implementation's object begins with it, zeroed but for `ops` */
	const struct rs_monitor_ops *ops;
	struct rs_monitor_listener listener;
	pid_t pid;
	/*
	 * Of the implementation: somebody carries events and answers on who does not keep their
	 * order, so an event may come after the answer to a later question.
	 */
	bool events_late;
	/*
	 * Of the implementation: whoever carries commands is away. Each is refused at once, and no
	 * events come, but the peer may be well.
	 */
	bool away;
	/* Only monitor.c looks at the rest. */
	bool closed;
	bool silent;    /* it owes an answer, and has said nothing since that was late */
	gint64 waiting; /* id of the command for whose answer we wait, 0: none */
	gint64 last_id;
	JsonNode *answer; /* object with "return" or "error" */
	unsigned probes;  /* unanswered */
	gint64 heard_at;  /* when it last answered anything; 0: never */
};

/* As ops->receive(), for some rounds. False: the peer has closed. */
bool rs_monitor_receive(struct rs_monitor *monitor);
bool rs_monitor_is_closed(const struct rs_monitor *monitor);

/* Anything has arrived, whatever it is. */
void rs_monitor_heard(struct rs_monitor *monitor);
/*
 * The answer to command `id` has arrived: `root` is an object with "return" or "error", and stays
 * the caller's. False: nobody has asked that.
 */
bool rs_monitor_take_answer(struct rs_monitor *monitor, gint64 id, JsonNode *root);
/* The same for a command that never reached the peer: `root` says why, as an error. */
bool rs_monitor_take_refusal(struct rs_monitor *monitor, gint64 id, JsonNode *root);
/* `at`: as the listener gets it; see rs_monitor_moment(). */
void rs_monitor_take_event(struct rs_monitor *monitor, const char *name, gint64 at,
			   JsonObject *payload);
/*
 * The moment of an event that has arrived now, as g_get_monotonic_time(), from its time of day.
 * Now, if that lies ahead or makes no sense.
 */
gint64 rs_monitor_moment(gint64 seconds, gint64 micros);
/* The peer has closed. */
void rs_monitor_closed(struct rs_monitor *monitor);

#endif
