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
#define NEWS_MS 50     /* for news that may come */
#define RESUME_MS 1000 /* for some that must come */
#define FREE_AGAIN_US 50000

/* ---- events of QEMU ---- */

static void tell(struct rs_qemu *qemu, enum rs_pause_step step)
{
	if (qemu->started && qemu->target.events.pause)
		qemu->target.events.pause(qemu->target.events.data, step);
}

/*
 * Lets a VM run on that stands still because of us. Does not wait, and is repeated until it could
 * be sent. The mark stays until the RESUME event says that QEMU has done it, since we may be gone
 * by then.
 */
static int let_go(struct rs_qemu *qemu, struct rs_error *err)
{
	int rc = rs_monitor_post(qemu->monitor, "cont", err);

	qemu->owes = rc < 0;
	if (rc < 0)
		g_source_set_ready_time(qemu->freer, g_get_monotonic_time() + FREE_AGAIN_US);
	return rc;
}

static gboolean on_free(gpointer data)
{
	struct rs_qemu *qemu = data;

	g_source_set_ready_time(qemu->freer, -1);
	if (qemu->ended || qemu->gdb || !qemu->owes || let_go(qemu, NULL) < 0)
		return G_SOURCE_CONTINUE;
	qemu->left_paused = false;
	qemu->target.held = false;
	tell(qemu, RS_PAUSE_RESUMING);
	return G_SOURCE_CONTINUE;
}

static void on_stop(struct rs_qemu *qemu)
{
	if (qemu->stops) {
		qemu->stops--;
		return;
	}
	/* Of news that come late nobody knows whether they are of this pause. */
	qemu->stop_seen |= !qemu->monitor->events_late;
	if (qemu->pausing)
		return;
	qemu->running = false;
	qemu->target.held |= !qemu->gdb && !qemu->stray;
	tell(qemu, RS_PAUSE_STOPPED);
	if (!qemu->stray)
		return;
	/* This is what became of a pause that we gave up. An event may only be noted. */
	qemu->stray = false;
	qemu->left_paused = qemu->owes = true;
	g_source_set_ready_time(qemu->freer, 0);
}

/* Its memory is being written elsewhere. Whoever lets it run on then has it run twice. */
static void on_migration(struct rs_qemu *qemu, JsonObject *payload)
{
	JsonNode *node = json_object_get_member(payload, "status");
	const char *status = node && JSON_NODE_HOLDS_VALUE(node) &&
					     json_node_get_value_type(node) == G_TYPE_STRING
				     ? json_node_get_string(node)
				     : "";

	qemu->moved = g_str_equal(status, "completed");
	qemu->moving = !g_str_equal(status, "failed") && !g_str_equal(status, "cancelled");
}

static void on_resume(struct rs_qemu *qemu)
{
	qemu->running = true;
	qemu->stray = qemu->owes = false;
	if (!qemu->gdb)
		rs_qemu_mark_pause(qemu, false);
	qemu->target.held = false;
	/* After a snapshot of its memory it goes on here. */
	if (qemu->moved)
		qemu->moving = qemu->moved = false;
	if (qemu->resumes) {
		qemu->resumes--;
		return;
	}
	qemu->resumed_by_other = true;
	qemu->target.let_run = qemu->gdb != NULL;
	if (!qemu->gdb)
		tell(qemu, RS_PAUSE_RESUMED);
}

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

/* One of ours ends then (-no-reboot). */
static void on_reset(struct rs_qemu *qemu)
{
	if (!qemu->borrowed)
		return;
	g_clear_pointer(&qemu->shutdown, g_free);
	qemu->reset = true;
	qemu->panicked = qemu->panic = false;
	tell_soon(qemu);
}

/* What follows is a matter of whoever runs it. One of ours ends. */
static void on_panic(struct rs_qemu *qemu)
{
	if (!qemu->borrowed)
		return;
	qemu->panicked = qemu->panic = true;
	tell_soon(qemu);
}

/* It is about to end. QEMU 7.2 may hang then, if a QMP command comes in that moment. */
static void on_shutdown(struct rs_qemu *qemu, JsonObject *payload)
{
	JsonNode *node = json_object_get_member(payload, "reason");

	if (node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING)
		qemu->shutdown = g_strndup(json_node_get_string(node), 64);
	/* Whoever started it may keep it, and reset it. */
	if (qemu->borrowed)
		on_news(qemu, "the guest has shut down");
	if (qemu->killer || qemu->borrowed)
		return;
	qemu->patience =
		rs_patience_new(qemu->process.pid, g_get_monotonic_time() + KILL_AFTER_MS * 1000);
	start_killer(qemu);
}

void rs_qemu_on_event(void *data, const char *event, JsonObject *payload)
{
	struct rs_qemu *qemu = data;

	/* The end of the process will follow, as far as we know the process. */
	if (!event)
		tell_soon(qemu);
	else if (strcmp(event, "STOP") == 0)
		on_stop(qemu);
	else if (strcmp(event, "RESUME") == 0)
		on_resume(qemu);
	else if (strcmp(event, "SHUTDOWN") == 0 && payload && !qemu->shutdown)
		on_shutdown(qemu, payload);
	else if (strcmp(event, "RESET") == 0)
		on_reset(qemu);
	else if (strcmp(event, "MIGRATION") == 0 && payload)
		on_migration(qemu, payload);
	else if (strcmp(event, "GUEST_PANICKED") == 0)
		on_panic(qemu);
}

int rs_qemu_query_running(struct rs_qemu *qemu, bool *running, struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	JsonNode *node = NULL;
	int rc = rs_monitor_call(qemu->monitor, "query-status", NULL, RS_QEMU_PATIENCE_MS, &reply,
				 err);

	if (rc < 0)
		return rc;
	if (JSON_NODE_HOLDS_OBJECT(reply))
		node = json_object_get_member(json_node_get_object(reply), "running");
	if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
	    json_node_get_value_type(node) != G_TYPE_BOOLEAN)
		return rs_error_set(err, EPROTO, "QEMU's answer to query-status makes no sense");
	*running = json_node_get_boolean(node);
	return 0;
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

/* News of a QEMU that is not ours, and its end if we do not see its process. */
static gboolean on_tell(gpointer data)
{
	struct rs_qemu *qemu = data;
	const struct rs_target_events *events = &qemu->target.events;
	g_autofree char *news = g_steal_pointer(&qemu->news);
	bool reset = qemu->reset, panic = qemu->panic;

	g_source_set_ready_time(qemu->teller, -1);
	if (qemu->ended || qemu->released)
		return G_SOURCE_CONTINUE;
	qemu->reset = qemu->panic = false;
	if (reset)
		rs_guestmem_forget(qemu->guestmem);
	if (reset && qemu->started && events->reset)
		events->reset(events->data);
	if (panic && qemu->started && events->panicked)
		events->panicked(events->data);
	if (news && qemu->started && events->news)
		events->news(events->data, news);
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

static gboolean dispatch_free(GSource *source, GSourceFunc callback, gpointer data)
{
	return callback(data);
}

static GSourceFuncs freer_funcs = {.dispatch = dispatch_free};

void rs_qemu_watch(struct rs_qemu *qemu)
{
	if (qemu->process.pid_fd >= 0) {
		qemu->watch = g_unix_fd_source_new(qemu->process.pid_fd, G_IO_IN);
		g_source_set_callback(qemu->watch, G_SOURCE_FUNC(on_gone), qemu, NULL);
		g_source_attach(qemu->watch, qemu->context);
	}
	qemu->teller = g_source_new(&freer_funcs, sizeof(GSource));
	g_source_set_callback(qemu->teller, on_tell, qemu, NULL);
	g_source_attach(qemu->teller, qemu->context);
	qemu->trimmer = g_timeout_source_new_seconds(1);
	g_source_set_callback(qemu->trimmer, on_trim, qemu, NULL);
	g_source_attach(qemu->trimmer, qemu->context);
	qemu->freer = g_source_new(&freer_funcs, sizeof(GSource));
	g_source_set_callback(qemu->freer, on_free, qemu, NULL);
	g_source_attach(qemu->freer, qemu->context);
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
	return 0;
}

/* Stops the VM, and finds out whether it was us who stopped it. */
static int stop_and_ask(struct rs_qemu *qemu, struct rs_error *err)
{
	const bool late = qemu->monitor->events_late, away = qemu->monitor->away;
	/* Nobody else can stop it while libvirt's daemon is away. */
	bool before = qemu->running, running = false;
	int rc = late && !away ? rs_qemu_query_running(qemu, &before, err) : 0;

	if (rc < 0)
		return rc;
	if (away)
		qemu->stops = qemu->resumes = 0;
	else if (late)
		qemu->stops += before;
	rc = rs_gdb_connect(qemu->gdb_path, qemu->process.pid, RS_QEMU_PATIENCE_MS, &qemu->gdb,
			    err);
	if (rc == -ETIMEDOUT) {
		/* A later look at this connection will stop a VM that runs, though we have closed
		 * it. */
		qemu->stray = qemu->running && !qemu->stop_seen;
		rs_monitor_doubt(qemu->monitor);
	}
	if (rc < 0 && late && qemu->stops)
		qemu->stops -= before;
	/*
	 * QEMU sends STOP when a running VM stops, and before the answer to this query. If there
	 * was no STOP, somebody else had stopped the VM before.
	 */
	if (rc == 0 && !away)
		rc = rs_qemu_query_running(qemu, &running, err);
	if (rc == 0 && running) { /* a "cont" came after the stop: nothing is to be undone */
		qemu->stop_seen = qemu->left_paused = qemu->owes = false;
		rc = rs_error_set(err, EBUSY, "somebody lets the guest run on");
	} else if (qemu->gdb && before && !qemu->stop_seen && (late || rc < 0)) {
		/* Its STOP comes some time, or never: it was us all the same. */
		qemu->stop_seen = true;
		qemu->stops += !late;
	}
	if (rc == 0)
		rc = rs_gdb_set_physical(qemu->gdb, true, err);
	return rc;
}

/* Lets the VM run on by the stub, which is closed. It has done it once that has answered. */
static int run_on(struct rs_qemu *qemu, struct rs_error *err)
{
	int rc;

	/* The mode belongs to QEMU, not to the connection. A later debugger expects it off. */
	rs_gdb_set_physical(qemu->gdb, false, NULL);
	rc = rs_gdb_close(g_steal_pointer(&qemu->gdb), true, err);
	if (rc == 0) {
		rs_qemu_mark_pause(qemu, false);
		qemu->owes = qemu->left_paused = false;
	}
	/* After a failed write the stub may be out of step. QMP works as soon as QEMU looks at its
	 * sockets again. */
	if (rc == -ETIMEDOUT)
		rs_monitor_doubt(qemu->monitor);
	return rc < 0 ? let_go(qemu, err) : 0;
}

/* Lets a VM run on which a pause that failed has stopped. */
static void give_up(struct rs_qemu *qemu)
{
	if (qemu->gdb && qemu->ours)
		qemu->resumes += run_on(qemu, NULL) == 0 && !qemu->monitor->away;
	else if (qemu->stop_seen && qemu->ours)
		qemu->resumes += let_go(qemu, NULL) == 0;
	else if (!qemu->stray) /* nor will it be stopped later */
		rs_qemu_mark_pause(qemu, false);
	rs_gdb_close(g_steal_pointer(&qemu->gdb), false, NULL);
}

static int q_pause(struct rs_target *target, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	int rc;

	if (qemu->ended || qemu->gdb)
		return 0;
	if (qemu->borrowed && !qemu->stub)
		return rs_error_set(
			err, EOPNOTSUPP, "the guest cannot be paused: %s QEMU's gdb stub",
			qemu->no_stub ? "this session leaves alone" : "somebody else has");
	rs_monitor_drain(qemu->monitor);
	if (qemu->moving)
		return rs_error_set(err, EBUSY,
				    "the guest cannot be paused: it is being saved or migrated");
	rc = rs_qemu_await(qemu, err);
	if (rc < 0)
		return rs_error_prefix(err, "cannot pause the guest");
	rs_qemu_mark_pause(qemu, true);
	qemu->stop_seen = false;
	qemu->pausing = true;
	rc = stop_and_ask(qemu, err);
	qemu->pausing = false;
	qemu->ours = qemu->stop_seen || qemu->left_paused || qemu->owes;
	qemu->resumed_by_other = qemu->target.let_run = false;
	if (rc < 0) {
		give_up(qemu);
		return rs_error_prefix(err, "cannot pause the guest");
	}
	qemu->target.held = !qemu->ours;
	qemu->owes = false; /* resume() will pay it */
	if (!qemu->ours)
		rs_qemu_mark_pause(qemu, false);
	return 0;
}

/*
 * Whether somebody else has let the VM run on since we connected. What we have asked the stub since
 * has stopped it again, and then only we can let it go. Its news may be under way still; they are
 * waited for, since the guest stands still anyway.
 */
static bool was_resumed(struct rs_qemu *qemu)
{
	struct rs_patience patience;
	bool running = false;

	rs_monitor_drain(qemu->monitor);
	if (qemu->monitor->away || rs_monitor_is_silent(qemu->monitor))
		return qemu->resumed_by_other;
	rs_qemu_query_running(qemu, &running, NULL);
	patience = rs_patience_new(qemu->process.pid,
				   g_get_monotonic_time() + (running ? RESUME_MS : NEWS_MS) *
								    G_TIME_SPAN_MILLISECOND);
	while (qemu->monitor->events_late && !qemu->resumed_by_other &&
	       rs_monitor_wait(qemu->monitor, &patience, NULL) == 0)
		;
	return qemu->resumed_by_other && !running;
}

static int q_resume(struct rs_target *target, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	bool goes = true;
	int rc = 0;

	if (qemu->ended || (!qemu->gdb && !qemu->owes))
		return 0;
	/* It was paused by hand, perhaps long ago. */
	if (qemu->gdb && qemu->ours && !rs_monitor_is_fresh(qemu->monitor))
		rs_gdb_hurry(qemu->gdb);
	if (qemu->gdb && (!qemu->ours || qemu->resumed_by_other))
		goes = was_resumed(qemu);
	if (!qemu->gdb)
		rc = let_go(qemu, err);
	else if (goes)
		rc = run_on(qemu, err);
	else /* any packet would stop a VM that somebody lets run on now */
		rs_gdb_close(g_steal_pointer(&qemu->gdb), false, NULL);
	if (rc < 0)
		return rs_error_prefix(err, "cannot resume the guest");
	if (goes)
		qemu->resumes += !qemu->monitor->away;
	else
		rs_qemu_mark_pause(qemu, false);
	qemu->left_paused = qemu->target.let_run = false;
	return 0;
}

/* The offset of a guest-physical range in the RAM file, -1: not in RAM. For machine `pc`. */
static int64_t ram_at(const struct rs_qemu *qemu, uint64_t gpa, size_t size)
{
	uint64_t low = qemu->memory < 0xe0000000ull ? qemu->memory : 0xc0000000ull;
	uint64_t high = qemu->memory - low;

	if (gpa < low && size <= low - gpa)
		return (int64_t)gpa;
	if (gpa >= 1ull << 32 && gpa - (1ull << 32) < high && size <= high - (gpa - (1ull << 32)))
		return (int64_t)(low + (gpa - (1ull << 32)));
	return -1;
}

static int read_guest(struct rs_qemu *qemu, uint64_t at, void *out, size_t size,
		      struct rs_error *err)
{
	int64_t offset;

	if (qemu->borrowed)
		return rs_guestmem_read(qemu->guestmem, qemu->gdb, at, out, size, err);
	offset = ram_at(qemu, at, size);
	if (offset < 0)
		return rs_error_set(err, EFAULT, "no memory at guest-physical 0x%" PRIx64, at);
	memcpy(out, qemu->ram + offset, size);
	return 0;
}

static int q_read_phys(struct rs_target *target, rs_gpa_t at, void *out, size_t size,
		       struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);

	if (qemu->borrowed && qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	return read_guest(qemu, at.v, out, size, err);
}

/* The gdb stub's writes of all patches. */
struct writes {
	struct rs_gdb_write *list; /* two for each patch at most */
	size_t *patch;             /* of each write */
	bool *bad;                 /* of each write */
	size_t count;
};

/* A patch outside the RAM is bad, and has no writes. */
static void list_patch(const struct rs_qemu *qemu, struct writes *writes, size_t index,
		       const struct rs_text_patch *patch, bool *bad)
{
	struct rs_text_piece pieces[2];
	unsigned int n = rs_text_pieces(patch, pieces);

	/* Of a guest that is not ours, what was compared just now is memory. */
	for (unsigned int k = 0; k < n && !qemu->borrowed; k++)
		*bad |= ram_at(qemu, pieces[k].at.v, pieces[k].size) < 0;
	for (unsigned int k = 0; k < n && !*bad; k++) {
		writes->patch[writes->count] = index;
		writes->list[writes->count++] = (struct rs_gdb_write){
			pieces[k].at.v, patch->new_bytes + pieces[k].offset, pieces[k].size};
	}
}

/* Reads what all these addresses hold. Without our memory or QEMU's, in one exchange. */
static int read_back(struct rs_qemu *qemu, const struct rs_gdb_read *reads, size_t count, bool *bad,
		     struct rs_error *err)
{
	if (qemu->borrowed && !rs_guestmem_is_direct(qemu->guestmem))
		return rs_gdb_read(qemu->gdb, reads, count, bad, err);
	for (size_t i = 0; i < count; i++)
		bad[i] = read_guest(qemu, reads[i].address, reads[i].out, reads[i].size, NULL) < 0;
	return 0;
}

/* The stub says OK also for memory that ignores the write. */
static int check_written(struct rs_qemu *qemu, const struct rs_gdb_write *writes, size_t count,
			 bool *bad, struct rs_error *err)
{
	g_autofree struct rs_gdb_read *reads = g_new(struct rs_gdb_read, count);
	g_autofree uint8_t *now = g_malloc(count * RS_TEXT_MAX);
	int rc;

	for (size_t i = 0; i < count; i++)
		reads[i] = (struct rs_gdb_read){writes[i].address, now + i * RS_TEXT_MAX,
						writes[i].size};
	rc = read_back(qemu, reads, count, bad, err);
	for (size_t i = 0; i < count && rc == 0; i++)
		bad[i] |= memcmp(reads[i].out, writes[i].bytes, writes[i].size) != 0;
	return rc;
}

static int write_all(struct rs_qemu *qemu, const struct rs_text_patch *patches, size_t count,
		     bool *bad, struct rs_error *err)
{
	g_autofree struct rs_gdb_write *list = g_new(struct rs_gdb_write, 2 * count);
	g_autofree size_t *patch = g_new(size_t, 2 * count);
	g_autofree bool *failed = g_new0(bool, 2 * count), *other = g_new0(bool, 2 * count);
	struct writes writes = {list, patch, failed, 0};
	int rc;

	for (size_t i = 0; i < count; i++)
		list_patch(qemu, &writes, i, &patches[i], &bad[i]);
	rc = rs_gdb_write(qemu->gdb, list, writes.count, failed, err);
	if (rc == 0)
		rc = check_written(qemu, list, writes.count, other, err);
	for (size_t i = 0; i < writes.count && rc == 0; i++)
		bad[patch[i]] |= failed[i] || other[i];
	return rc;
}

/* Only of a guest that is not ours. */
static int q_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		       uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	g_autofree struct rs_gdb_read *reads = g_new(struct rs_gdb_read, 2 * count);
	g_autofree bool *bad = g_new0(bool, 2 * count);
	size_t n = 0;
	int rc;

	if (qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	for (size_t i = 0; i < count; i++) {
		struct rs_text_piece pieces[2];
		unsigned int parts = rs_text_pieces(&patches[i], pieces);

		for (unsigned int k = 0; k < parts; k++)
			reads[n++] = (struct rs_gdb_read){pieces[k].at.v, now[i] + pieces[k].offset,
							  pieces[k].size};
	}
	if (qemu->gdb) {
		rc = read_back(qemu, reads, n, bad, err);
	} else {
		rc = 0;
		for (size_t i = 0; i < n && rc == 0; i++)
			rc = read_guest(qemu, reads[i].address, reads[i].out, reads[i].size, err);
	}
	for (size_t i = 0; i < n && rc == 0; i++)
		if (bad[i])
			rc = rs_error_set(err, EFAULT, "no memory at guest-physical 0x%" PRIx64,
					  reads[i].address);
	return rc;
}

static int q_write_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			bool *bad, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);

	if (qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	if (!qemu->gdb)
		return rs_error_set(err, EPERM, "text is written only while paused");
	rs_monitor_drain(qemu->monitor);
	if (qemu->resumed_by_other)
		return rs_error_set(err, EBUSY,
				    "somebody let the guest run on while it was patched");
	return write_all(qemu, patches, count, bad, err);
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

static void q_stop(struct rs_target *target, const char *why)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	gint64 now = g_get_monotonic_time();

	if (qemu->ended || qemu->killed_why || qemu->released)
		return;
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
	q_resume(target, NULL);
	if (qemu->borrowed)
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
		.writer = "gdb stub",
		.borrowed = qemu->borrowed,
		.clock_stops = accel == RS_QEMU_TCG, /* KVM does not write the TSC back */
		.nudges = RS_GUEST_NUDGE_NMI,
		.start = q_start,
		.ready = rs_qemu_ready,
		.pause = q_pause,
		.resume = q_resume,
		.read_phys = q_read_phys,
		.read_text = qemu->borrowed ? q_read_text : NULL,
		.write_text = q_write_text,
		.stats = q_stats,
		.clock_hz = q_clock_hz,
		.nudge = q_nudge,
		.stop = q_stop,
		.destroy = q_destroy,
	};
	qemu->target.ops = &qemu->ops;
}
