/* SPDX-License-Identifier: MIT */
/*
 * Who stops the VM, and who lets it run. Our way is the gdb stub: to connect stops the VM, and so
 * does each packet if the VM runs then. "D" lets it run, whoever has stopped it. To close without
 * "D" leaves it as it is. If some vCPUs are to stay where they are, "vCont" lets the others run,
 * and the connection stays open until the next pause.
 *
 * Others do the same by commands of their own: the VM's user, libvirt, a migration. QEMU tells both
 * by the same events, STOP and RESUME, without a name. So we count those that we have caused, and
 * what remains is theirs. Through libvirt events come later than answers. Then QEMU is asked how it
 * is before a pause, and again when all has been quiet for a while.
 */
#include "qemu/private.h"

#include <errno.h>
#include <string.h>

#define NEWS_MS 50     /* for news that may come */
#define RESUME_MS 1000 /* for some that must come */
#define SETTLE_MS 300  /* after the last pause or news, before QEMU is asked how it is */
#define FREE_AGAIN_US 50000
#define STUB_MS 50 /* for the stub, while others wait */
#define STUB_AGAIN_MS 500
#define AGAIN_US 1000000 /* for one to run that we have let go */

/* ---- what others do ---- */

static void tell(struct rs_qemu *qemu, enum rs_pause_step step)
{
	if (qemu->started && qemu->target.events.pause)
		qemu->target.events.pause(qemu->target.events.data, step);
}

/* It is to be let go, and not here. */
static void owe(struct rs_qemu *qemu)
{
	qemu->owes = true;
	g_source_set_ready_time(qemu->freer, g_get_monotonic_time() + FREE_AGAIN_US);
}

/* Whether it runs is to be looked at once nothing more comes. */
static void settle_later(struct rs_qemu *qemu)
{
	qemu->changed_at = g_get_monotonic_time();
	if (qemu->monitor->events_late)
		g_source_set_ready_time(qemu->settler,
					qemu->changed_at + SETTLE_MS * G_TIME_SPAN_MILLISECOND);
}

static gboolean on_settle(gpointer data)
{
	struct rs_qemu *qemu = data;

	g_source_set_ready_time(qemu->settler, -1);
	if (qemu->ended || qemu->gdb)
		return G_SOURCE_CONTINUE;
	if (!qemu->stray) {
		rs_monitor_probe(qemu->monitor, "query-status", NULL);
	} else if (qemu->monitor->away) { /* nobody will tell of its STOP */
		qemu->stray = false;
		owe(qemu);
	} else {
		settle_later(qemu);
	}
	return G_SOURCE_CONTINUE;
}

/*
 * Of a VM that stands still: whether others let it run in a pause of ours and have stopped it. We
 * had sent the stub nothing for a while then, and nothing since, so it was not us.
 */
static bool is_theirs(const struct rs_qemu *qemu)
{
	return qemu->gdb && qemu->resumed_by_other &&
	       qemu->resumed_at - rs_gdb_sent_at(qemu->gdb) > NEWS_MS * G_TIME_SPAN_MILLISECOND;
}

static void make_theirs(struct rs_qemu *qemu)
{
	qemu->resumed_by_other = qemu->target.let_run = qemu->ours = false;
	qemu->left_paused = qemu->owes = false;
	qemu->target.held = true;
	rs_qemu_mark_pause(qemu, false);
}

void rs_qemu_on_stop(struct rs_qemu *qemu)
{
	settle_later(qemu);
	if (qemu->stops) {
		qemu->stops--;
		return;
	}
	if (is_theirs(qemu))
		make_theirs(qemu);
	/* Of news that come late nobody knows whether they are of this pause. */
	qemu->stop_seen |= !qemu->monitor->events_late;
	if (qemu->pausing)
		return;
	qemu->running = false;
	qemu->target.held |= !rs_qemu_stopped_by(qemu) && !qemu->stray;
	tell(qemu, RS_PAUSE_STOPPED);
	if (!qemu->stray)
		return;
	/* This is what became of a pause that we gave up. An event may only be noted. */
	qemu->stray = false;
	qemu->left_paused = true;
	owe(qemu);
}

/*
 * Its memory is being written elsewhere. Whoever lets it run on then has it run twice. An object
 * without a status: nothing was ever migrated.
 */
void rs_qemu_note_migration(struct rs_qemu *qemu, JsonObject *said)
{
	JsonNode *node = json_object_get_member(said, "status");
	const char *status = node && JSON_NODE_HOLDS_VALUE(node) &&
					     json_node_get_value_type(node) == G_TYPE_STRING
				     ? json_node_get_string(node)
				     : "none";

	qemu->moved = g_str_equal(status, "completed");
	qemu->moving = !g_str_equal(status, "failed") && !g_str_equal(status, "none") &&
		       !g_str_has_prefix(status, "cancel");
}

void rs_qemu_on_resume(struct rs_qemu *qemu)
{
	settle_later(qemu);
	qemu->running = true;
	qemu->stray = qemu->owes = qemu->left_paused = false;
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
	qemu->resumed_at = g_get_monotonic_time();
	qemu->target.let_run = rs_qemu_stopped_by(qemu) != NULL;
	if (!qemu->target.let_run)
		tell(qemu, RS_PAUSE_RESUMED);
}

/* ---- what we do ---- */

bool rs_qemu_take_state(JsonNode *reply, bool *running, bool *moved)
{
	JsonObject *object = JSON_NODE_HOLDS_OBJECT(reply) ? json_node_get_object(reply) : NULL;
	JsonNode *node = object ? json_object_get_member(object, "running") : NULL;
	JsonNode *status = object ? json_object_get_member(object, "status") : NULL;

	if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
	    json_node_get_value_type(node) != G_TYPE_BOOLEAN)
		return false;
	*running = json_node_get_boolean(node);
	/* "postmigrate", "finish-migrate" */
	*moved = status && JSON_NODE_HOLDS_VALUE(status) &&
		 json_node_get_value_type(status) == G_TYPE_STRING &&
		 strstr(json_node_get_string(status), "migrate");
	return true;
}

int rs_qemu_query_running(struct rs_qemu *qemu, bool *running, bool *moved, struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	bool ignored;
	int rc = rs_monitor_call(qemu->monitor, "query-status", NULL, RS_QEMU_PATIENCE_MS, &reply,
				 err);

	if (rc == 0 && !rs_qemu_take_state(reply, running, moved ? moved : &ignored))
		rc = rs_error_set(err, EPROTO, "QEMU's answer to query-status makes no sense");
	return rc;
}

/*
 * Refuses a VM whose memory goes elsewhere meanwhile. One that has gone, or of which an image was
 * made while it stood still, is no different from one that its user has stopped.
 */
static int check_migration(struct rs_qemu *qemu, struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	int rc;

	/*
	 * libvirt tells of migrations, and other QEMUs do not. The end of one may have been missed:
	 * a new daemon of libvirt's gives up what the old one did.
	 */
	if (!qemu->moving && (qemu->monitor->events_late || !qemu->borrowed))
		return 0;
	rc = rs_monitor_call(qemu->monitor, "query-migrate", NULL, RS_QEMU_PATIENCE_MS, &reply,
			     err);
	if (rc < 0)
		return rc;
	if (JSON_NODE_HOLDS_OBJECT(reply))
		rs_qemu_note_migration(qemu, json_node_get_object(reply));
	if (qemu->moving && !qemu->moved)
		return rs_error_set(err, EBUSY, "it is being saved or migrated");
	return 0;
}

/*
 * *before: whether it runs now. If it does not, what others have done before is heard first, so
 * that what is heard later was done later. The guest stands still anyway.
 */
static int look(struct rs_qemu *qemu, bool *before, struct rs_error *err)
{
	struct rs_patience patience;
	int rc;

	*before = qemu->running;
	if (!qemu->monitor->events_late)
		qemu->stops = qemu->resumes = 0; /* all that were to come have come */
	/* Nobody else can stop it while libvirt's daemon is away. */
	if (!qemu->monitor->events_late || qemu->monitor->away)
		return 0;
	rc = rs_qemu_query_running(qemu, before, NULL, err);
	if (rc < 0 || *before)
		return rc;
	patience = rs_patience_new(qemu->process.pid,
				   g_get_monotonic_time() + NEWS_MS * G_TIME_SPAN_MILLISECOND);
	while (rs_monitor_wait(qemu->monitor, &patience, NULL) == 0)
		;
	qemu->stops = qemu->resumes = 0;
	return rs_qemu_query_running(qemu, before, NULL, err);
}

/* Stops the VM, which ran `before`, and finds out whether it was us who stopped it. */
static int stop_and_ask(struct rs_qemu *qemu, bool before, struct rs_error *err)
{
	const bool late = qemu->monitor->events_late, away = qemu->monitor->away;
	bool running = false;
	int rc;

	if (away)
		qemu->stops = qemu->resumes = 0;
	else if (late)
		qemu->stops += before;
	if (qemu->partial)
		rc = rs_gdb_stop(qemu->gdb, err);
	else
		rc = rs_gdb_connect(qemu->gdb_path, qemu->process.pid, RS_QEMU_PATIENCE_MS,
				    &qemu->gdb, err);
	qemu->partial = false;
	if (rc == -ETIMEDOUT) {
		/* A later look at this connection will stop a VM that runs, though we have closed
		 * it. */
		qemu->stray = !away && qemu->running && !qemu->stop_seen;
		rs_monitor_doubt(qemu->monitor);
		/* That it has done so, nobody will tell. */
		if (away && qemu->running)
			owe(qemu);
	}
	if (rc < 0 && late && qemu->stops)
		qemu->stops -= before;
	/* It had stopped when it said something that makes no sense. */
	if (rc < 0 && rc != -ETIMEDOUT && before)
		qemu->stop_seen = true;
	/*
	 * QEMU sends STOP when a running VM stops, and before the answer to this query. If there
	 * was no STOP, somebody else had stopped the VM before.
	 */
	if (rc == 0 && !away)
		rc = rs_qemu_query_running(qemu, &running, NULL, err);
	if (rc == 0 && running) { /* a "cont" came after the stop: nothing is to be undone */
		qemu->stop_seen = qemu->left_paused = qemu->owes = false;
		rc = rs_error_set(err, EBUSY, "somebody lets the guest run on");
	} else if (qemu->gdb && before && !qemu->stop_seen && (late || rc < 0)) {
		/* It was us, whether its STOP comes or not. */
		qemu->stop_seen = true;
		qemu->stops += !late;
	}
	if (rc == 0)
		rc = rs_gdb_set_physical(qemu->gdb, err);
	return rc;
}

/*
 * Lets a VM run on that stands still because of us. Does not wait. The mark stays until QEMU has
 * said that it runs, since we may be gone by then. One that is not ours may have been migrated
 * meanwhile, so it is asked first, and asked again until it runs.
 */
static int let_go(struct rs_qemu *qemu, struct rs_error *err)
{
	int rc = qemu->borrowed ? 0 : rs_monitor_post(qemu->monitor, "cont", err);

	qemu->owes = false;
	if (qemu->borrowed || rc < 0)
		owe(qemu);
	return rc;
}

/*
 * Closes the stub and lets the VM run on by it, which it has done once it has answered. A VM that
 * was migrated or saved meanwhile goes on elsewhere, so it stays as it is. If that cannot be found
 * out now, the VM waits. *runs: it was let run on.
 */
static int run_on(struct rs_qemu *qemu, bool *runs, struct rs_error *err)
{
	bool moved = false;
	int rc = rs_gdb_leave(qemu->gdb, &moved, err), closed;

	closed = rs_gdb_close(g_steal_pointer(&qemu->gdb), rc == 0 && !moved, err);
	rc = rc < 0 ? rc : closed;
	*runs = rc == 0 && !moved;
	if (rc == 0) {
		rs_qemu_mark_pause(qemu, false);
		qemu->owes = qemu->left_paused = false;
	}
	if (moved) {
		qemu->running = false;
		qemu->target.held = true;
	}
	/* The stub may be out of step. QMP works as soon as QEMU looks at its sockets again. */
	if (rc == -ETIMEDOUT)
		rs_monitor_doubt(qemu->monitor);
	return rc < 0 ? let_go(qemu, err) : 0;
}

/*
 * The same of all vCPUs but those that are held. The mark stays, so that whoever comes after us
 * lets them go on. If it cannot be done, all go on.
 */
static int run_some(struct rs_qemu *qemu, bool *runs, struct rs_error *err)
{
	const bool away = qemu->monitor->away;
	bool moved = false, running = false;
	int rc = rs_gdb_leave(qemu->gdb, &moved, err);

	if (rc == 0 && !moved)
		rc = rs_gdb_run_some(qemu->gdb, qemu->target.vcpus, qemu->held, err);
	if (rc < 0 || moved) {
		run_on(qemu, runs, rc < 0 ? NULL : err);
		return rc;
	}
	/* Its news may come with the answer. */
	qemu->resumes += !away;
	if (!away)
		rc = rs_qemu_query_running(qemu, &running, NULL, err);
	if (rc == 0 && !away && !running)
		rc = rs_error_set(err, EPROTO, "QEMU's gdb stub lets no single vCPUs go on");
	if (rc < 0) {
		qemu->resumes -= qemu->resumes > 0;
		run_on(qemu, runs, NULL);
		return rc;
	}
	qemu->partial = true;
	qemu->owes = qemu->left_paused = false;
	return 0;
}

/* Lets a VM run on which a pause that failed has stopped. */
static void give_up(struct rs_qemu *qemu)
{
	bool runs = false;

	if (qemu->gdb && qemu->ours)
		run_on(qemu, &runs, NULL);
	else if (qemu->stop_seen && qemu->ours)
		let_go(qemu, NULL);
	else if (!qemu->stray && !qemu->owes) /* nor will it be stopped later */
		rs_qemu_mark_pause(qemu, false);
	qemu->resumes += runs && !qemu->monitor->away;
	rs_gdb_close(g_steal_pointer(&qemu->gdb), false, NULL);
}

/* While libvirt's daemon is away only the stub can do it, and nobody tells of it. */
static bool free_by_stub(struct rs_qemu *qemu)
{
	bool runs;

	if (rs_gdb_connect(qemu->gdb_path, qemu->process.pid, STUB_MS, &qemu->gdb, NULL) < 0) {
		g_source_set_ready_time(qemu->freer, g_get_monotonic_time() + STUB_AGAIN_MS * 1000);
		return false;
	}
	return run_on(qemu, &runs, NULL) == 0 && runs;
}

/* QEMU has said how a VM is that we owe to let go. */
static void pay(struct rs_qemu *qemu, bool running, bool moved)
{
	if (running || moved) {
		qemu->owes = qemu->left_paused = false;
		qemu->running = running;
		qemu->target.held = moved;
		rs_qemu_mark_pause(qemu, false);
		tell(qemu, running ? RS_PAUSE_RESUMED : RS_PAUSE_STOPPED);
	} else if (rs_monitor_post(qemu->monitor, "cont", NULL) == 0) {
		tell(qemu, RS_PAUSE_RESUMING);
	}
}

/* Asks how it is, or lets it go. Again and again, until it is known to run. */
static gboolean on_free(gpointer data)
{
	struct rs_qemu *qemu = data;

	g_source_set_ready_time(qemu->freer, -1);
	if (qemu->ended || qemu->gdb || !qemu->owes)
		return G_SOURCE_CONTINUE;
	if (qemu->monitor->away && free_by_stub(qemu)) {
		qemu->running = true;
		tell(qemu, RS_PAUSE_RESUMED);
	} else if (!qemu->monitor->away && !qemu->borrowed) {
		let_go(qemu, NULL);
		tell(qemu, RS_PAUSE_RESUMING);
	} else if (!qemu->monitor->away) {
		/* An answer to an earlier question may be of another moment. */
		qemu->asks_to_free = !rs_monitor_owes(qemu->monitor) &&
				     rs_monitor_probe(qemu->monitor, "query-status", NULL) == 0;
		g_source_set_ready_time(qemu->freer,
					g_get_monotonic_time() +
						(qemu->asks_to_free ? AGAIN_US : FREE_AGAIN_US));
	}
	return G_SOURCE_CONTINUE;
}

/* QEMU has said how it is. No event that we have counted is still to come after so long. */
void rs_qemu_learn_state(struct rs_qemu *qemu, bool running, bool moved)
{
	bool known =
		running ? qemu->running && !qemu->target.held : !qemu->running && qemu->target.held;

	if (qemu->gdb || qemu->pausing)
		return;
	if (qemu->owes && qemu->asks_to_free) {
		qemu->asks_to_free = false;
		pay(qemu, running, moved);
		return;
	}
	if (!qemu->monitor->events_late || !qemu->started ||
	    g_get_monotonic_time() - qemu->changed_at < SETTLE_MS * G_TIME_SPAN_MILLISECOND)
		return;
	qemu->stops = qemu->resumes = 0;
	/* What we have left paused ourselves is let go elsewhere. */
	if (known || (!running && (qemu->owes || qemu->stray || qemu->left_paused)))
		return;
	qemu->running = running;
	qemu->target.held = !running;
	tell(qemu, running ? RS_PAUSE_RESUMED : RS_PAUSE_STOPPED);
}

/* Begins a pause that may be begun. */
static int pause_now(struct rs_qemu *qemu, bool before, struct rs_error *err)
{
	int rc;

	rs_qemu_mark_pause(qemu, true);
	qemu->resumed_by_other = qemu->target.let_run = qemu->stop_seen = false;
	qemu->pausing = true;
	rc = stop_and_ask(qemu, before, err);
	qemu->pausing = false;
	qemu->ours = qemu->stop_seen || qemu->left_paused || qemu->owes;
	/* What was heard of one that ran may have been before. */
	if (qemu->ours)
		qemu->resumed_by_other = qemu->target.let_run = false;
	if (rc < 0) {
		give_up(qemu);
		settle_later(qemu);
		return rc;
	}
	qemu->target.held = !qemu->ours;
	qemu->owes = false; /* resume() will pay it */
	if (!qemu->ours)
		rs_qemu_mark_pause(qemu, false);
	return 0;
}

int rs_qemu_pause(struct rs_target *target, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	bool before = false;
	int rc;

	if (qemu->ended || rs_qemu_stopped_by(qemu))
		return 0;
	if (qemu->borrowed && !qemu->stub)
		return rs_error_set(err, EOPNOTSUPP, "%s QEMU's gdb stub",
				    qemu->no_stub ? "this session leaves alone"
						  : "somebody else has");
	rs_monitor_drain(qemu->monitor);
	rc = rs_qemu_await(qemu, err);
	if (rc == 0)
		rc = check_migration(qemu, err);
	if (rc == 0)
		rc = look(qemu, &before, err);
	return rc < 0 ? rc : pause_now(qemu, before, err);
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
	rs_qemu_query_running(qemu, &running, NULL, NULL);
	patience = rs_patience_new(qemu->process.pid,
				   g_get_monotonic_time() + (running ? RESUME_MS : NEWS_MS) *
								    G_TIME_SPAN_MILLISECOND);
	while (qemu->monitor->events_late && !qemu->resumed_by_other &&
	       rs_monitor_wait(qemu->monitor, &patience, NULL) == 0)
		;
	if (!running && is_theirs(qemu))
		make_theirs(qemu);
	return qemu->resumed_by_other && !running;
}

int rs_qemu_resume(struct rs_target *target, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	bool goes = true, runs = false;
	int rc = 0;

	if (qemu->ended || (!qemu->gdb && !qemu->owes))
		return 0;
	rs_monitor_drain(qemu->monitor);
	/* It was paused by hand, perhaps long ago. */
	if (qemu->gdb && qemu->ours && !rs_monitor_is_fresh(qemu->monitor))
		rs_gdb_hurry(qemu->gdb);
	if (qemu->gdb && (!qemu->ours || qemu->resumed_by_other))
		goes = was_resumed(qemu);
	if (!qemu->gdb)
		rc = let_go(qemu, err);
	else if (goes && qemu->holds)
		rc = run_some(qemu, &runs, err);
	else if (goes)
		rc = run_on(qemu, &runs, err);
	else /* any packet would stop a VM that somebody lets run on now */
		rs_gdb_close(g_steal_pointer(&qemu->gdb), false, NULL);
	settle_later(qemu);
	if (rc < 0)
		return rs_error_prefix(err, "cannot resume the guest");
	if (runs)
		qemu->resumes += !qemu->monitor->away;
	if (!goes)
		rs_qemu_mark_pause(qemu, false);
	qemu->left_paused = qemu->target.let_run = false;
	return 0;
}

int rs_qemu_hold(struct rs_target *target, const uint64_t *cpus, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	int rc = 0;

	if (qemu->ended)
		return 0;
	if (!rs_qemu_stopped_by(qemu))
		return rs_error_set(err, EPERM, "vCPUs are held only while paused");
	/* If we are killed meanwhile, nobody else knows that some stand still. */
	if (cpus && qemu->guard_fd < 0)
		rc = rs_qemu_guard_begin(qemu, err);
	if (rc < 0)
		return rc;
	qemu->holds = cpus != NULL;
	if (cpus)
		memcpy(qemu->held, cpus, sizeof(qemu->held));
	return 0;
}

/* ---- sources ---- */

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	return callback(data);
}

static GSourceFuncs source_funcs = {.dispatch = dispatch};

GSource *rs_qemu_source(struct rs_qemu *qemu, GSourceFunc callback)
{
	GSource *source = g_source_new(&source_funcs, sizeof(GSource));

	g_source_set_callback(source, callback, qemu, NULL);
	g_source_attach(source, qemu->context);
	return source;
}

void rs_qemu_watch_pauses(struct rs_qemu *qemu)
{
	qemu->freer = rs_qemu_source(qemu, on_free);
	qemu->settler = rs_qemu_source(qemu, on_settle);
}
