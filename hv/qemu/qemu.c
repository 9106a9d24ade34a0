/* SPDX-License-Identifier: MIT */
#include "qemu/private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_AFTER_MS 3000
#define KILL_SILENT_MS 300
#define KILLER_LOOK_MS 50

/* ---- events of QEMU ---- */

/* For how many ms to let it end by itself. Once it has answered, it is only slow. */
static int mercy_ms(struct rs_qemu *qemu)
{
	if (qemu->kill_at && !rs_monitor_owes(qemu->monitor)) {
		qemu->patience = rs_patience_new(qemu->process.pid, qemu->kill_at);
		qemu->kill_at = 0;
	}
	return rs_patience_ms(&qemu->patience);
}

static gboolean on_killer(gpointer data)
{
	struct rs_qemu *qemu = data;

	if (mercy_ms(qemu) > 0)
		return G_SOURCE_CONTINUE;
	rs_qemu_process_signal(&qemu->process, SIGKILL);
	return G_SOURCE_REMOVE;
}

static void start_killer(struct rs_qemu *qemu)
{
	if (qemu->killer)
		return;
	qemu->killer = g_timeout_source_new(KILLER_LOOK_MS);
	g_source_set_callback(qemu->killer, on_killer, qemu, NULL);
	g_source_attach(qemu->killer, qemu->context);
}

/* What is told outside of an event. */
static void tell_soon(struct rs_qemu *qemu)
{
	if (qemu->teller)
		g_source_set_ready_time(qemu->teller, 0);
}

static void on_news(struct rs_qemu *qemu, const char *text)
{
	if (!qemu->borrowed)
		return;
	g_free(qemu->news);
	qemu->news = g_strdup(text);
	tell_soon(qemu);
}

/* One of ours ends then (-no-reboot), unless we have asked for it. */
static void on_reset(struct rs_qemu *qemu, gint64 at)
{
	if (!qemu->borrowed && !qemu->resetting)
		return;
	g_clear_pointer(&qemu->shutdown, g_free);
	qemu->reset = at;
	qemu->panicked = false;
	qemu->panic = 0;
	tell_soon(qemu);
}

/* What follows is a matter of whoever runs it. One of ours ends. */
static void on_panic(struct rs_qemu *qemu, gint64 at)
{
	if (!qemu->borrowed)
		return;
	qemu->panicked = true;
	qemu->panic = at;
	tell_soon(qemu);
}

/* It is about to end. QEMU 7.2 may hang then, if a QMP command comes in that moment. */
static void on_shutdown(struct rs_qemu *qemu, JsonObject *payload)
{
	JsonNode *node = json_object_get_member(payload, "reason");

	if (node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING)
		qemu->shutdown = g_strndup(json_node_get_string(node), 64);
	/* Whoever started it may keep it, and reset it. */
	if (qemu->borrowed && !qemu->owned)
		on_news(qemu, "the guest has shut down");
	if (qemu->killer || qemu->borrowed)
		return;
	qemu->patience =
		rs_patience_new(qemu->process.pid, g_get_monotonic_time() + KILL_AFTER_MS * 1000);
	start_killer(qemu);
}

void rs_qemu_on_event(void *data, const char *event, gint64 at, JsonObject *payload)
{
	struct rs_qemu *qemu = data;

	/* The end of the process will follow, as far as we know the process. */
	if (!event)
		tell_soon(qemu);
	else if (strcmp(event, "STOP") == 0)
		rs_qemu_on_stop(qemu);
	else if (strcmp(event, "RESUME") == 0)
		rs_qemu_on_resume(qemu);
	else if (strcmp(event, "SHUTDOWN") == 0 && payload && !qemu->shutdown)
		on_shutdown(qemu, payload);
	else if (strcmp(event, "RESET") == 0)
		on_reset(qemu, at);
	else if (strcmp(event, "MIGRATION") == 0 && payload)
		rs_qemu_note_migration(qemu, payload);
	else if (strcmp(event, "GUEST_PANICKED") == 0)
		on_panic(qemu, at);
}

/* ---- its end ---- */

static void end_by_panic(struct rs_target_end *end)
{
	end->reason = RS_END_PANIC;
	g_strlcpy(end->text, "the guest reported a panic to QEMU", sizeof(end->text));
}

static void end_by_shutdown(struct rs_qemu *qemu, struct rs_target_end *end)
{
	const char *why = qemu->shutdown;

	if (strcmp(why, "guest-reset") == 0) {
		bool triple = rs_qemu_process_triple_fault(&qemu->process);
		end->reason = triple ? RS_END_TRIPLE_FAULT : RS_END_RESET;
	} else if (strcmp(why, "guest-shutdown") == 0) {
		end->reason = RS_END_EXIT;
		g_strlcpy(end->text, "powered off", sizeof(end->text));
	} else if (strcmp(why, "guest-panic") == 0) {
		end_by_panic(end);
	} else {
		end->reason = RS_END_KILLED;
		g_snprintf(end->text, sizeof(end->text), "QEMU was ended from outside (%s)", why);
	}
}

static void end_by_status(struct rs_qemu *qemu, struct rs_target_end *end)
{
	int status = qemu->process.status;
	g_autofree char *said =
		rs_qemu_process_complaint(&qemu->process, qemu->process.stderr_seen);

	if (!qemu->process.reaped) {
		end->reason = RS_END_GONE;
		g_snprintf(end->text, sizeof(end->text), "the QEMU process went away%s%s",
			   said ? ": " : "", said ? said : "");
	} else if (WIFSIGNALED(status)) {
		end->reason = said ? RS_END_FAULT : RS_END_GONE;
		g_snprintf(end->text, sizeof(end->text), "QEMU was killed by signal %d (%s)%s%s",
			   WTERMSIG(status), strsignal(WTERMSIG(status)), said ? ": " : "",
			   said ? said : "");
	} else if (said && WEXITSTATUS(status) == 1) {
		end->reason = RS_END_FAULT;
		g_snprintf(end->text, sizeof(end->text), "QEMU gave up: %s", said);
	} else if (WEXITSTATUS(status) & 1) { /* isa-debug-exit: value << 1 | 1 */
		end->reason = RS_END_EXIT;
		end->code = WEXITSTATUS(status) >> 1;
	} else {
		end->reason = RS_END_GONE;
		g_snprintf(end->text, sizeof(end->text), "QEMU ended with status %d",
			   WEXITSTATUS(status));
	}
}

static void tell_end(void *data)
{
	struct rs_qemu *qemu = data;

	if (qemu->target.events.ended)
		qemu->target.events.ended(qemu->target.events.data, &qemu->end);
}

static gboolean on_gone(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_qemu *qemu = data;
	struct rs_target_end *end = &qemu->end;

	if (qemu->ended)
		return G_SOURCE_REMOVE;

	rs_qemu_process_wait(&qemu->process, 0);
	rs_monitor_drain(qemu->monitor); /* take its last events */
	qemu->ended = true;
	qemu->running = false;
	rs_gdb_close(g_steal_pointer(&qemu->gdb), false, NULL);
	if (qemu->killer)
		g_source_destroy(qemu->killer);

	if (qemu->killed_why) {
		end->reason = RS_END_KILLED;
		g_strlcpy(end->text, qemu->killed_why, sizeof(end->text));
	} else if (qemu->panicked) {
		end_by_panic(end);
	} else if (qemu->shutdown) {
		end_by_shutdown(qemu, end);
	} else {
		end_by_status(qemu, end);
	}
	rs_qemu_remove_files(qemu);
	if (!qemu->released)
		rs_console_finish(qemu->console, qemu->context, tell_end, qemu);
	return G_SOURCE_REMOVE;
}

/* What one of ours does when it resets itself. */
static int set_reboot(struct rs_qemu *qemu, const char *action, struct rs_error *err)
{
	JsonObject *arguments = json_object_new();

	json_object_set_string_member(arguments, "reboot", action);
	return rs_monitor_call(qemu->monitor, "set-action", arguments, RS_QEMU_PATIENCE_MS, NULL,
			       err);
}

static void tell_news(struct rs_qemu *qemu)
{
	const struct rs_target_events *events = &qemu->target.events;
	g_autofree char *news = g_steal_pointer(&qemu->news);
	gint64 reset = qemu->reset, panic = qemu->panic;

	qemu->reset = qemu->panic = 0;
	if (reset)
		rs_guestmem_forget(qemu->guestmem);
	if (reset && events->reset)
		events->reset(events->data, reset);
	if (panic && events->panicked)
		events->panicked(events->data, panic);
	if (news && events->news)
		events->news(events->data, news);
}

/* News of a QEMU that is not ours, and its end if we do not see its process. */
static gboolean on_tell(gpointer data)
{
	struct rs_qemu *qemu = data;

	g_source_set_ready_time(qemu->teller, -1);
	if (qemu->ended || qemu->released)
		return G_SOURCE_CONTINUE;
	if (qemu->started)
		tell_news(qemu);
	if (qemu->process.pid_fd < 0 && rs_monitor_is_closed(qemu->monitor))
		on_gone(-1, 0, qemu);
	return G_SOURCE_CONTINUE;
}

static gboolean on_trim(gpointer data)
{
	struct rs_qemu *qemu = data;

	rs_qemu_process_trim(&qemu->process);
	return G_SOURCE_CONTINUE;
}

void rs_qemu_watch(struct rs_qemu *qemu)
{
	if (qemu->process.pid_fd >= 0) {
		qemu->watch = g_unix_fd_source_new(qemu->process.pid_fd, G_IO_IN);
		g_source_set_callback(qemu->watch, G_SOURCE_FUNC(on_gone), qemu, NULL);
		g_source_attach(qemu->watch, qemu->context);
	}
	qemu->teller = rs_qemu_source(qemu, on_tell);
	qemu->trimmer = g_timeout_source_new_seconds(1);
	g_source_set_callback(qemu->trimmer, on_trim, qemu, NULL);
	g_source_attach(qemu->trimmer, qemu->context);
	rs_qemu_watch_pauses(qemu);
	rs_qemu_watch_answers(qemu);
}

/* ---- operations ---- */

static int q_start(struct rs_target *target, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	int rc = 0;

	if (!qemu->attached || qemu->left_paused) {
		qemu->resumes++;
		rc = rs_monitor_call(qemu->monitor, "cont", NULL, RS_QEMU_TIMEOUT_MS, NULL, err);
	}
	if (rc < 0)
		return rs_error_prefix(err, "cannot start the guest");
	rs_qemu_mark_pause(qemu, false);
	qemu->left_paused = false;
	qemu->started = true;
	/* What came before. */
	tell_soon(qemu);
	return 0;
}

static void add_exits(JsonObject *vcpu, uint64_t *exits)
{
	JsonNode *node = json_object_get_member(vcpu, "stats");
	JsonArray *stats = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;

	for (guint i = 0; stats && i < json_array_get_length(stats); i++) {
		JsonNode *item = json_array_get_element(stats, i);
		JsonObject *stat = JSON_NODE_HOLDS_OBJECT(item) ? json_node_get_object(item) : NULL;
		JsonNode *name = stat ? json_object_get_member(stat, "name") : NULL;
		JsonNode *value = stat ? json_object_get_member(stat, "value") : NULL;
		if (name && JSON_NODE_HOLDS_VALUE(name) &&
		    g_strcmp0(json_node_get_string(name), "exits") == 0 && value &&
		    JSON_NODE_HOLDS_VALUE(value))
			*exits += (uint64_t)json_node_get_int(value);
	}
}

static void q_stats(struct rs_target *target, struct rs_target_stats *out)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	g_autoptr(JsonNode) reply = NULL;
	JsonObject *arguments;
	JsonArray *list;

	*out = (struct rs_target_stats){.kvm_exits = qemu->kvm_exits};
	rs_console_stats(qemu->console, out);
	/* The next one who asks may have a newer number. */
	if (qemu->ended || strcmp(qemu->kind, "qemu-kvm") != 0 || !rs_qemu_ready(target))
		return;
	arguments = json_object_new();
	json_object_set_string_member(arguments, "target", "vcpu");
	if (rs_monitor_call(qemu->monitor, "query-stats", arguments, RS_QEMU_PATIENCE_MS, &reply,
			    NULL) < 0 ||
	    !JSON_NODE_HOLDS_ARRAY(reply))
		return;
	list = json_node_get_array(reply);
	out->kvm_exits = 0;
	for (guint i = 0; i < json_array_get_length(list); i++) {
		JsonNode *item = json_array_get_element(list, i);
		if (JSON_NODE_HOLDS_OBJECT(item))
			add_exits(json_node_get_object(item), &out->kvm_exits);
	}
	qemu->kvm_exits = out->kvm_exits;
}

/* With both accelerators the guest's counter is the host's minus an unknown offset. */
static uint64_t q_clock_hz(struct rs_target *target)
{
	return rs_ticks_hz(&rs_qemu_of(target)->begun);
}

/* An NMI reaches a vCPU through LINT1 of its APIC, if the guest has set that up. */
static int q_nudge(struct rs_target *target, uint32_t vector, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);

	if (qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	if (vector)
		return rs_error_set(err, ENOTSUP, "QEMU can be asked for NMIs only");
	return rs_monitor_post(qemu->monitor, "inject-nmi", err);
}

static int q_reset(struct rs_target *target, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	int rc = 0;

	if (qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	/* Whoever started another one has said what a reset does to it. */
	if (!qemu->borrowed)
		rc = set_reboot(qemu, "reset", err);
	qemu->resetting = !qemu->borrowed && rc == 0;
	if (rc == 0)
		rc = rs_monitor_call(qemu->monitor, "system_reset", NULL, RS_QEMU_PATIENCE_MS, NULL,
				     err);
	if (rc < 0 && qemu->resetting) {
		qemu->resetting = false;
		set_reboot(qemu, "shutdown", NULL);
	}
	return rc;
}

/* A BIOS that was not loaded anew resets the machine once more. By now it is the guest's. */
static void q_booted(struct rs_target *target)
{
	struct rs_qemu *qemu = rs_qemu_of(target);

	if (qemu->resetting && !qemu->ended)
		set_reboot(qemu, "shutdown", NULL);
	qemu->resetting = false;
}

static void q_stop(struct rs_target *target, const char *why)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	gint64 now = g_get_monotonic_time();

	if (qemu->ended || qemu->killed_why || qemu->released)
		return;
	if (qemu->owned) {
		rs_qemu_end_owned(qemu, why);
		return;
	}
	if (qemu->borrowed) {
		qemu->released = true;
		qemu->end.reason = RS_END_KILLED;
		g_snprintf(qemu->end.text, sizeof(qemu->end.text), "it runs on without us");
		rs_console_finish(NULL, qemu->context, tell_end, qemu);
		return;
	}
	qemu->killed_why = g_strdup(why ? why : "stopped");
	if (rs_monitor_probe(qemu->monitor, "quit", NULL) < 0)
		rs_qemu_process_signal(&qemu->process, SIGTERM);
	else
		qemu->kill_at = now + KILL_AFTER_MS * 1000;
	qemu->patience = rs_patience_new_short(
		qemu->process.pid,
		now + (rs_monitor_is_silent(qemu->monitor) ? KILL_SILENT_MS : RS_QEMU_PATIENCE_MS) *
				1000);
	start_killer(qemu);
}

static void q_destroy(struct rs_target *target)
{
	struct rs_qemu *qemu;
	int ms;

	if (!target)
		return;
	qemu = rs_qemu_of(target);
	qemu->holds = false;
	rs_qemu_resume(target, NULL);
	if (qemu->owned) {
		if (!qemu->ended)
			qemu->owner.release(qemu->owner.data);
		rs_qemu_remove_files(qemu);
	} else if (qemu->borrowed)
		rs_qemu_let_be(qemu);
	else if (!qemu->ended &&
		 (!qemu->started && !qemu->attached)) { /* it never ran, so nothing is lost */
		rs_qemu_process_signal(&qemu->process, SIGKILL);
		rs_qemu_process_wait(&qemu->process, RS_QEMU_TIMEOUT_MS);
		rs_qemu_remove_files(qemu);
	} else if (!qemu->ended &&
		   qemu->killed_why) { /* it was asked to end: make sure that it does */
		while ((ms = mercy_ms(qemu)) > 0 && !rs_qemu_process_wait(&qemu->process, ms))
			;
		rs_qemu_process_signal(&qemu->process, SIGKILL);
		rs_qemu_process_wait(&qemu->process, RS_QEMU_TIMEOUT_MS);
		rs_qemu_remove_files(qemu);
	}
	rs_qemu_free(qemu);
}

void rs_qemu_init_ops(struct rs_qemu *qemu, enum rs_qemu_accel accel)
{
	g_strlcpy(qemu->kind, accel == RS_QEMU_KVM ? "qemu-kvm" : "qemu-tcg", sizeof(qemu->kind));
	qemu->ops = (struct rs_target_ops){
		.kind = qemu->kind,
		.native = accel == RS_QEMU_KVM,
		.writer = "gdb stub",
		.borrowed = qemu->borrowed && !qemu->owned,
		.clock_stops = accel == RS_QEMU_TCG, /* KVM does not write the TSC back */
		.nudges = RS_GUEST_NUDGE_NMI,
		.start = q_start,
		.ready = rs_qemu_ready,
		.pause = rs_qemu_pause,
		.resume = rs_qemu_resume,
		.hold = rs_qemu_hold,
		.read_phys = rs_qemu_read_phys,
		.read_text = qemu->borrowed ? rs_qemu_read_text : NULL,
		.write_text = rs_qemu_write_text,
		.stats = q_stats,
		.clock_hz = q_clock_hz,
		.nudge = q_nudge,
		.dump = qemu->borrowed && !qemu->owned ? NULL : rs_qemu_dump,
		.reset = q_reset,
		.booted = q_booted,
		.stop = q_stop,
		.destroy = q_destroy,
	};
	qemu->target.ops = &qemu->ops;
}
