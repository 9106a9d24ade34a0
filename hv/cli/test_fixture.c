/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* nftw() */
#include "cli/test_fixture.h"

#include "cli/test_process.h"
#include "expect/rs-trace-spec.h"

#include <errno.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define GROUP "fixture"
#define NS_PER_MS 1000000u
#define LIMIT_NS (60 * G_GUINT64_CONSTANT(1000000000))
#define GRACE_MS 5000u
#define OPEN_FOLDERS 16

enum state { DOWN, COMING, UP, GOING, GONE };

struct waiter {
	void (*over)(void *data);
	void *data;
};

struct rs_test_fixture {
	struct rs_test_fixtures *all;
	RsTraceSpec *spec;
	char *name, *folder;
	unsigned int users;
	enum state state;
	struct rs_test_process *process; /* a command */
	struct rs_test_process *server;  /* NULL: it has none, or that has ended */
	GArray *waiters;                 /* of struct waiter */
	guint idle;
	char *why;
};

struct rs_test_fixtures {
	char *folder;
	bool keep, stopping, failed;
	GHashTable *by_path; /* real path -> struct rs_test_fixture */
	void (*idle)(void *data);
	void *data;
};

/* ---- commands ---- */

static guint64 limit_ns(const struct rs_test_fixture *fixture)
{
	guint64 ns = LIMIT_NS;

	/* It was checked when the file was read. */
	rs_trace_spec_duration(fixture->spec, GROUP, "timeout", &ns, NULL);
	return ns;
}

/* NULL: there is no such command, or it cannot be started. */
static struct rs_test_process *start(struct rs_test_fixture *fixture, const char *key,
				     guint64 limit,
				     void (*done)(struct rs_test_process *process, void *data))
{
	g_autofree char *command = rs_trace_spec_get(fixture->spec, GROUP, key, NULL);
	g_autofree char *cwd = g_path_get_dirname(rs_trace_spec_path(fixture->spec));
	g_autofree char *folder = g_strconcat("RINGSIDE_FOLDER=", fixture->folder, NULL);
	g_autofree char *output = g_strdup_printf("%s/%s.log", fixture->folder, key);
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	const char *const environment[] = {folder, NULL};
	const struct rs_test_process_config config = {.argv = argv,
						      .folder = cwd,
						      .environment = environment,
						      .output = output,
						      .messages = output,
						      .limit_ms = (unsigned int)(limit / 1000000),
						      .grace_ms = GRACE_MS,
						      .done = done,
						      .data = fixture};
	g_autoptr(GError) error = NULL;
	struct rs_test_process *process;

	if (!command)
		return NULL;
	process = rs_test_process_start(&config, &error);
	if (!process && !fixture->why)
		fixture->why = g_strdup(error->message);
	return process;
}

static bool start_command(struct rs_test_fixture *fixture, const char *key,
			  void (*done)(struct rs_test_process *process, void *data))
{
	fixture->process = start(fixture, key, limit_ns(fixture), done);
	return fixture->process != NULL;
}

static void judge(struct rs_test_fixture *fixture, const char *what)
{
	const int code = rs_test_process_code(fixture->process);

	if (code && !fixture->why)
		fixture->why =
			code < 0 ? g_strdup_printf("the %s of fixture %s did not end in time", what,
						   fixture->name)
				 : g_strdup_printf("the %s of fixture %s ended with code %d: %s",
						   what, fixture->name, code, fixture->folder);
	g_clear_pointer(&fixture->process, rs_test_process_free);
}

/* ---- up ---- */

static void tell(struct rs_test_fixture *fixture)
{
	g_autoptr(GArray) waiters = g_steal_pointer(&fixture->waiters);

	fixture->waiters = g_array_new(FALSE, FALSE, sizeof(struct waiter));
	for (guint i = 0; i < waiters->len; i++) {
		const struct waiter waiter = g_array_index(waiters, struct waiter, i);

		waiter.over(waiter.data);
	}
}

static void go_down(struct rs_test_fixture *fixture);

/* Tests that still need it will say so. */
static void on_server_ended(struct rs_test_process *process, void *data)
{
	struct rs_test_fixture *fixture = data;

	if (!fixture->why && fixture->state == UP)
		fixture->why = g_strdup_printf("the server of fixture %s has ended: %s",
					       fixture->name, fixture->folder);
}

static void be_up(struct rs_test_fixture *fixture)
{
	fixture->state = UP;
	if (!fixture->why)
		fixture->server = start(fixture, "server", 0, on_server_ended);
	tell(fixture);
}

static void on_up(struct rs_test_process *process, void *data)
{
	struct rs_test_fixture *fixture = data;

	if (fixture->all->stopping && !fixture->why)
		fixture->why = g_strdup("it was interrupted");
	judge(fixture, "setup");
	be_up(fixture);
	/* Nobody waits for it any more, unless whoever was told has let it go. */
	if (!fixture->users && fixture->state == UP)
		go_down(fixture);
}

static gboolean on_idle(gpointer data)
{
	struct rs_test_fixture *fixture = data;

	fixture->idle = 0;
	if (fixture->state == DOWN) {
		fixture->state = COMING;
		/* It must be ours, since it is removed. */
		if (g_mkdir_with_parents(fixture->all->folder, 0755) ||
		    g_mkdir(fixture->folder, 0755))
			fixture->why =
				g_strdup_printf("%s: %s", fixture->folder, g_strerror(errno));
		else if (start_command(fixture, "setup", on_up))
			return G_SOURCE_REMOVE;
		be_up(fixture);
	} else if (fixture->state == UP) {
		tell(fixture);
	}
	return G_SOURCE_REMOVE;
}

void rs_test_fixture_await(struct rs_test_fixture *fixture, void (*over)(void *data), void *data)
{
	const struct waiter waiter = {.over = over, .data = data};

	g_array_append_val(fixture->waiters, waiter);
	if (!fixture->idle && (fixture->state == DOWN || fixture->state == UP))
		fixture->idle = g_idle_add(on_idle, fixture);
}

const char *rs_test_fixture_why(const struct rs_test_fixture *fixture)
{
	return fixture->why;
}

/* ---- down ---- */

static int remove_one(const char *path, const struct stat *stat, int flag, struct FTW *ftw)
{
	return remove(path);
}

static void remove_folder(const struct rs_test_fixture *fixture)
{
	if (!fixture->all->keep && !fixture->why)
		nftw(fixture->folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Its teardown may have ended it well. */
static void end_server(struct rs_test_fixture *fixture)
{
	g_clear_pointer(&fixture->server, rs_test_process_free);
}

static void on_down(struct rs_test_process *process, void *data)
{
	struct rs_test_fixture *fixture = data;

	judge(fixture, "teardown");
	if (fixture->why) {
		g_printerr("ringside: %s\n", fixture->why);
		fixture->all->failed = true;
	}
	end_server(fixture);
	fixture->state = GONE;
	remove_folder(fixture);
	fixture->all->idle(fixture->all->data);
}

/* Of one that is up. */
static void go_down(struct rs_test_fixture *fixture)
{
	/* Also if its setup has failed: half of it may be there. */
	fixture->state = GOING;
	if (start_command(fixture, "teardown", on_down))
		return;
	end_server(fixture);
	remove_folder(fixture);
	fixture->state = GONE;
}

void rs_test_fixture_release(struct rs_test_fixture *fixture)
{
	/* One that is not up may be needed yet: cases are checked one by one. */
	if (--fixture->users == 0 && fixture->state == UP)
		go_down(fixture);
}

/* ---- all of them ---- */

static void fixture_free(gpointer data)
{
	struct rs_test_fixture *fixture = data;

	g_clear_handle_id(&fixture->idle, g_source_remove);
	rs_test_process_free(fixture->process);
	rs_test_process_free(fixture->server);
	rs_trace_spec_free(fixture->spec);
	g_array_unref(fixture->waiters);
	g_free(fixture->name);
	g_free(fixture->folder);
	g_free(fixture->why);
	g_free(fixture);
}

struct rs_test_fixtures *rs_test_fixtures_new(const char *folder, bool keep,
					      void (*idle)(void *data), void *data)
{
	struct rs_test_fixtures *all = g_new0(struct rs_test_fixtures, 1);

	all->folder = g_canonicalize_filename(folder, NULL);
	all->keep = keep;
	all->idle = idle;
	all->data = data;
	all->by_path = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, fixture_free);
	return all;
}

void rs_test_fixtures_free(struct rs_test_fixtures *all)
{
	if (!all)
		return;
	g_hash_table_unref(all->by_path);
	g_free(all->folder);
	g_free(all);
}

bool rs_test_fixtures_busy(const struct rs_test_fixtures *all)
{
	GHashTableIter iter;
	gpointer fixture;

	g_hash_table_iter_init(&iter, all->by_path);
	while (g_hash_table_iter_next(&iter, NULL, &fixture))
		if (((struct rs_test_fixture *)fixture)->process)
			return true;
	return false;
}

void rs_test_fixtures_stop(struct rs_test_fixtures *all)
{
	GHashTableIter iter;
	gpointer at;

	all->stopping = true;
	g_hash_table_iter_init(&iter, all->by_path);
	while (g_hash_table_iter_next(&iter, NULL, &at)) {
		struct rs_test_fixture *fixture = at;

		if (fixture->state == COMING && fixture->process)
			rs_test_process_stop(fixture->process);
	}
}

bool rs_test_fixtures_failed(const struct rs_test_fixtures *all)
{
	return all->failed;
}

void rs_test_fixtures_kill(struct rs_test_fixtures *all)
{
	GHashTableIter iter;
	gpointer at;

	g_hash_table_iter_init(&iter, all->by_path);
	while (g_hash_table_iter_next(&iter, NULL, &at)) {
		struct rs_test_fixture *fixture = at;

		if (fixture->process)
			rs_test_process_kill(fixture->process);
	}
}

static struct rs_test_fixture *load(struct rs_test_fixtures *all, const char *path, GError **error)
{
	g_autoptr(RsTraceSpec) spec = rs_trace_spec_load_fixture(path, error);
	struct rs_test_fixture *fixture;
	g_autofree char *own = NULL;
	char *dot;
	guint64 ns = LIMIT_NS;

	if (!spec || !rs_trace_spec_check(spec, error))
		return NULL;
	if (rs_trace_spec_has(spec, GROUP, "timeout") &&
	    !rs_trace_spec_duration(spec, GROUP, "timeout", &ns, error))
		return NULL;
	if (ns < NS_PER_MS) {
		rs_trace_spec_blame(spec, GROUP, "timeout", error,
				    "a command takes a millisecond at least");
		return NULL;
	}
	if (!rs_trace_spec_has(spec, GROUP, "setup") && !rs_trace_spec_has(spec, GROUP, "server")) {
		rs_trace_spec_blame(spec, GROUP, NULL, error, "a fixture has a setup or a server");
		return NULL;
	}
	fixture = g_new0(struct rs_test_fixture, 1);
	fixture->all = all;
	fixture->spec = g_steal_pointer(&spec);
	fixture->waiters = g_array_new(FALSE, FALSE, sizeof(struct waiter));
	fixture->name = g_path_get_basename(path);
	dot = strrchr(fixture->name, '.');
	if (dot && dot != fixture->name)
		*dot = 0;
	own = g_strdup_printf("fixture-%s-%d-%u", fixture->name, (int)getpid(),
			      g_hash_table_size(all->by_path) + 1);
	fixture->folder = g_build_filename(all->folder, own, NULL);
	return fixture;
}

struct rs_test_fixture *rs_test_fixture_use(struct rs_test_fixtures *all, const char *path,
					    GError **error)
{
	g_autofree char *real = g_canonicalize_filename(path, NULL);
	struct rs_test_fixture *fixture = g_hash_table_lookup(all->by_path, real);

	if (!fixture) {
		fixture = load(all, path, error);
		if (!fixture)
			return NULL;
		g_hash_table_insert(all->by_path, g_steal_pointer(&real), fixture);
	}
	fixture->users++;
	return fixture;
}

const char *rs_test_fixture_name(const struct rs_test_fixture *fixture)
{
	return fixture->name;
}

const char *rs_test_fixture_folder(const struct rs_test_fixture *fixture)
{
	return fixture->folder;
}
