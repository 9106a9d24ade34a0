/* SPDX-License-Identifier: MIT */
#include "libvirt/monitor.h"

#include "base/json.h"
#include "libvirt/private.h"
#include "target/process.h"
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 64u
/* libvirt has work of its own to do: QEMU may sleep meanwhile. */
#define PATIENT_MS 1000
/* For libvirt, to say why a domain has ended. */
#define END_MS 1000

struct monitor {
	struct rs_monitor monitor; /* first: the monitor is the object */
	struct rs_domain *domain;
	GHashTable *asked; /* of struct question: to be answered */
	bool stopped;      /* as the last STOP or RESUME event said */
	bool ended;        /* libvirt has said that its run has */
	/* It has the domain. */
	bool keeps;
	rs_domain_changed_fn changed;
	void *data;
	GDestroyNotify release;
};

struct question {
	struct monitor *monitor; /* NULL: it is gone */
	gint64 id;
};

static struct monitor *of(struct rs_monitor *monitor)
{
	return (struct monitor *)monitor;
}

/* NULL: it is no JSON object. */
static JsonNode *parse(const char *text)
{
	g_autoptr(JsonParser) parser = json_parser_new_immutable();
	JsonNode *root;

	if (!rs_json_is_shallow(text, strlen(text), DEPTH_MAX) ||
	    !json_parser_load_from_data(parser, text, -1, NULL))
		return NULL;
	root = json_parser_get_root(parser);
	return root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_copy(root) : NULL;
}

/* What stands for QEMU's answer where libvirt has none. */
static JsonNode *refusal(const char *message)
{
	JsonNode *root = json_node_new(JSON_NODE_OBJECT);
	JsonObject *error = json_object_new(), *object = json_object_new();

	json_object_set_string_member(error, "class", "GenericError");
	json_object_set_string_member(error, "desc", message);
	json_object_set_object_member(object, "error", error);
	json_node_take_object(root, object);
	return root;
}

static void on_answer(void *data, const char *reply, const struct rs_error *err)
{
	struct question *question = data;
	g_autoptr(JsonNode) root = NULL;

	if (question->monitor) {
		struct rs_monitor *monitor = &question->monitor->monitor;

		g_hash_table_steal(question->monitor->asked, question);
		root = reply ? parse(reply) : refusal(err->message);
		if (!root)
			root = refusal("libvirt: the answer is no JSON object");
		rs_monitor_heard(monitor);
		if (reply)
			rs_monitor_take_answer(monitor, question->id, root);
		else
			rs_monitor_take_refusal(monitor, question->id, root);
	}
	g_free(question);
}

static void on_event(void *data, const char *event, gint64 at, const char *details)
{
	struct monitor *monitor = data;
	g_autoptr(JsonNode) root = details ? parse(details) : NULL;

	if (g_str_equal(event, "STOP"))
		monitor->stopped = true;
	else if (g_str_equal(event, "RESUME"))
		monitor->stopped = false;
	rs_monitor_heard(&monitor->monitor);
	rs_monitor_take_event(&monitor->monitor, event, at,
			      root ? json_node_get_object(root) : NULL);
}

static char *command_text(const char *command, JsonObject *arguments)
{
	g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
	JsonObject *object = json_object_new();

	json_object_set_string_member(object, "execute", command);
	if (arguments)
		json_object_set_object_member(object, "arguments", json_object_ref(arguments));
	json_node_take_object(root, object);
	return json_to_string(root, FALSE);
}

static int send(struct rs_monitor *base, const char *command, JsonObject *arguments, int fd,
		gint64 id, struct rs_patience *patience, struct rs_error *err)
{
	struct monitor *monitor = of(base);
	g_autofree char *text = command_text(command, arguments);
	struct question *question;
	int ret;

	if (rs_monitor_is_closed(base))
		return rs_error_set(err, EPIPE, "the domain has stopped");
	question = g_new(struct question, 1);
	*question = (struct question){monitor, id};
	ret = rs_domain_command_async(monitor->domain, text, fd, on_answer, question, err);
	if (ret)
		g_free(question);
	else
		g_hash_table_add(monitor->asked, question);
	return ret;
}

static int wait_some(struct rs_monitor *base, struct rs_patience *patience, struct rs_error *err)
{
	gint64 begun = g_get_monotonic_time();
	int ms;

	for (;;) {
		gint64 now = g_get_monotonic_time();

		ms = now - begun < PATIENT_MS * 1000
			     ? (int)CLAMP((patience->deadline - now) / 1000, 0, PATIENT_MS)
			     : rs_patience_ms(patience);
		if (ms <= 0)
			return rs_error_set(err, ETIMEDOUT, "QEMU did not answer libvirt in time");
		if (rs_domain_wait(of(base)->domain, ms))
			return 0;
	}
}

static bool receive(struct rs_monitor *base)
{
	return rs_domain_take(of(base)->domain);
}

/* The answers that are still to come find nobody. */
static void forget(void *key, void *value, void *data)
{
	struct question *question = key;

	question->monitor = NULL;
}

/* QEMU's process has been seen to end before libvirt has said why. */
static void await_end(struct monitor *monitor)
{
	gint64 end = g_get_monotonic_time() + END_MS * G_TIME_SPAN_MILLISECOND;
	pid_t pid = monitor->monitor.pid;

	rs_monitor_listen(&monitor->monitor, NULL);
	while (pid > 0 && !rs_process_living_task(pid) && !monitor->monitor.away &&
	       !monitor->ended && g_get_monotonic_time() < end &&
	       rs_domain_wait(monitor->domain, END_MS))
		rs_domain_take(monitor->domain);
}

static void destroy(struct rs_monitor *base)
{
	struct monitor *monitor = of(base);

	rs_domain_set_monitor(monitor->domain, NULL, NULL);
	g_hash_table_foreach(monitor->asked, forget, NULL);
	g_hash_table_unref(monitor->asked);
	if (monitor->keeps) {
		await_end(monitor);
		rs_domain_unlisten(monitor->domain);
		rs_domain_close(monitor->domain);
		monitor->release(monitor->data);
	}
	g_free(monitor);
}

static const struct rs_monitor_ops ops = {
	.send = send,
	.wait = wait_some,
	.receive = receive,
	.destroy = destroy,
};

static void take_notice(struct monitor *monitor, enum rs_domain_change change)
{
	if (change == RS_DOMAIN_STOPPED || change == RS_DOMAIN_MIGRATED) {
		monitor->ended = true;
		rs_monitor_closed(&monitor->monitor);
	} else if (change == RS_DOMAIN_LOST) {
		monitor->monitor.away = true;
	} else if (change == RS_DOMAIN_FOUND) {
		monitor->monitor.away = false;
	} else if (monitor->monitor.away && change == RS_DOMAIN_SUSPENDED && !monitor->stopped) {
		/* Such events of QEMU come by themselves while the daemon is there. */
		on_event(monitor, "STOP", g_get_monotonic_time(), NULL);
	} else if (monitor->monitor.away && change == RS_DOMAIN_RESUMED && monitor->stopped) {
		on_event(monitor, "RESUME", g_get_monotonic_time(), NULL);
	}
}

static void on_changed(void *data, enum rs_domain_change change, const char *detail)
{
	struct monitor *monitor = data;

	take_notice(monitor, change);
	monitor->changed(monitor->data, change, detail);
}

int rs_domain_monitor_keep(struct rs_monitor *base, rs_domain_changed_fn changed, void *data,
			   GDestroyNotify release, struct rs_error *err)
{
	struct monitor *monitor = of(base);
	int ret;

	monitor->changed = changed;
	monitor->data = data;
	monitor->release = release;
	ret = rs_domain_listen(monitor->domain, on_changed, monitor, err);
	if (ret) {
		rs_domain_unlisten(monitor->domain);
		release(data);
	} else {
		monitor->keeps = true;
	}
	return ret;
}

struct rs_monitor *rs_domain_monitor_new(struct rs_domain *domain,
					 const struct rs_monitor_listener *listener)
{
	struct monitor *monitor = g_new0(struct monitor, 1);

	monitor->monitor.ops = &ops;
	/* libvirt's daemon answers on one thread and tells events on another. */
	monitor->monitor.events_late = true;
	monitor->domain = domain;
	monitor->asked = g_hash_table_new(g_direct_hash, g_direct_equal);
	rs_monitor_listen(&monitor->monitor, listener);
	rs_domain_set_monitor(domain, on_event, monitor);
	return &monitor->monitor;
}
