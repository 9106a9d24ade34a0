/* SPDX-License-Identifier: MIT */
/* The process that runs the guest, and what it leaves. */
#include "rs-test-guest-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WINDOW "50" /* ms, after which what was recorded can be read; see `ringside record` */
#define MESSAGES_MAX 65536u
#define RESULT_MAX 65536u
#define GRACE_MS 15000u /* for a run that was asked to end */
#define PAUSE_US 5000u

/* Exit codes of the command (ringside(1)) that say something of the guest, and not of the run. */
#define CODE_GUEST 4
#define CODE_GUEST_CODE 5

static const char *const files[] = {RS_TEST_TRACE, RS_TEST_SERIAL, RS_TEST_OUTPUT, RS_TEST_MESSAGES,
				    RS_TEST_RESULT};

/* ---- its folder ---- */

static char *file_of(const RsTestGuest *guest, const char *name)
{
	return g_build_filename(guest->folder, name, NULL);
}

static void clear_folder(RsTestGuest *guest)
{
	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = file_of(guest, files[i]);

		g_unlink(path);
	}
}

static gboolean make_folder(RsTestGuest *guest, GError **error)
{
	if (!guest->folder) {
		guest->folder = g_dir_make_tmp("ringside-test-XXXXXX", error);
		guest->is_temporary = guest->folder != NULL;
		return guest->is_temporary;
	}
	if (g_mkdir_with_parents(guest->folder, 0755)) {
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NOT_RUN, "%s: %s", guest->folder,
			    g_strerror(errno));
		return FALSE;
	}
	clear_folder(guest);
	return TRUE;
}

void rs_test_run_clear(RsTestGuest *guest)
{
	if (!guest->is_temporary)
		return;
	clear_folder(guest);
	g_rmdir(guest->folder);
	guest->is_temporary = FALSE;
}

char *rs_test_run_read(RsTestGuest *guest, const char *name, guint64 at, gsize max, gsize *size)
{
	g_autofree char *path = file_of(guest, name), *text = NULL;
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(GFileInputStream) in = g_file_read(file, NULL, NULL);
	g_autoptr(GFileInfo) info = NULL;
	guint64 there;

	if (in)
		info = g_file_input_stream_query_info(in, G_FILE_ATTRIBUTE_STANDARD_SIZE, NULL,
						      NULL);
	there = info ? (guint64)g_file_info_get_size(info) : 0;
	if (at >= there || !g_seekable_seek(G_SEEKABLE(in), (goffset)at, G_SEEK_SET, NULL, NULL))
		return NULL;
	max = (gsize)MIN(max, there - at);
	text = g_malloc0(max + 1);
	if (!g_input_stream_read_all(G_INPUT_STREAM(in), text, max, size, NULL, NULL))
		return NULL;
	return g_steal_pointer(&text);
}

/* ---- its start ---- */

static char *find_command(void)
{
	const char *own = g_getenv("RINGSIDE");

	return own && *own ? g_strdup(own) : g_find_program_in_path("ringside");
}

static void add(GPtrArray *args, const char *option, const char *value)
{
	if (option)
		g_ptr_array_add(args, g_strdup(option));
	if (value)
		g_ptr_array_add(args, g_strdup(value));
}

static void add_file(const RsTestGuest *guest, GPtrArray *args, const char *option,
		     const char *name)
{
	g_autofree char *path = file_of(guest, name);

	add(args, option, path);
}

static void add_guest(const RsTestGuest *guest, GPtrArray *args)
{
	GHashTableIter iter;
	gpointer name, value;

	g_hash_table_iter_init(&iter, guest->options);
	while (g_hash_table_iter_next(&iter, &name, &value)) {
		g_autofree char *option = g_strconcat(
			"--", g_str_equal(name, "memory") ? "mem" : name, "=", value, NULL);

		add(args, option, NULL);
	}
	if (guest->has_serial)
		add_file(guest, args, "--serial", RS_TEST_SERIAL);
	for (char **one = guest->said; one && *one; one++)
		add(args, NULL, *one);
	if (guest->demo)
		add(args, "--demo", NULL);
	if (guest->kernel)
		add(args, NULL, guest->kernel);
	if (guest->hosted)
		add(args, "--hosted", NULL);
	for (char **one = guest->hosted; one && *one; one++)
		add(args, NULL, *one);
}

static GPtrArray *make_args(RsTestGuest *guest, const char *command)
{
	GPtrArray *args = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *seconds = g_strdup_printf("%.3f", (double)guest->timeout_ms / 1000);

	add(args, NULL, command);
	add(args, "run", "-q");
	add(args, "--name", guest->session_name);
	add(args, "--window", WINDOW);
	add(args, "--duration", seconds);
	add_file(guest, args, "-o", RS_TEST_TRACE);
	add_file(guest, args, "--result", RS_TEST_RESULT);
	if (guest->host)
		add(args, "--host", NULL);
	for (guint i = 0; i < guest->globs->len; i++)
		add(args, "-e", guest->globs->pdata[i]);
	for (guint i = 0; i < guest->filters->len; i++)
		add(args, "-f", guest->filters->pdata[i]);
	add_guest(guest, args);
	g_ptr_array_add(args, NULL);
	return args;
}

/* In the child: it ends its guest and itself when we are gone, however we went. */
static void tie(gpointer data)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != GPOINTER_TO_INT(data))
		_exit(1);
	/* A terminal's Ctrl-C is for the test, whose end is that of all its guests. */
	setpgid(0, 0);
}

static int create(const RsTestGuest *guest, const char *name)
{
	g_autofree char *path = file_of(guest, name);

	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

static gboolean spawn(RsTestGuest *guest, GPtrArray *args, GError **error)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int output = create(guest, RS_TEST_OUTPUT);
	const int messages = create(guest, RS_TEST_MESSAGES);
	gboolean started = FALSE;

	if (null >= 0 && output >= 0 && messages >= 0)
		started = g_spawn_async_with_fds(
			NULL, (char **)args->pdata, NULL, G_SPAWN_DO_NOT_REAP_CHILD, tie,
			GINT_TO_POINTER((int)getpid()), &guest->pid, null, output, messages, error);
	else
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NOT_RUN, "%s: %s", guest->folder,
			    g_strerror(errno));
	for (guint i = 0; i < 3; i++) {
		const int fd = i == 0 ? null : i == 1 ? output : messages;

		if (fd >= 0)
			close(fd);
	}
	return started;
}

gboolean rs_test_run_start(RsTestGuest *guest, GError **error)
{
	g_autofree char *command = find_command();
	g_autoptr(GPtrArray) args = NULL;
	GError *why = NULL;

	if (!command) {
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NOT_RUN,
			    "there is no ringside in PATH: install it, or set RINGSIDE");
		return FALSE;
	}
	if (make_folder(guest, &why)) {
		args = make_args(guest, command);
		if (spawn(guest, args, &why))
			return TRUE;
	}
	g_set_error_literal(error, RS_TEST_ERROR, RS_TEST_ERROR_NOT_RUN, why->message);
	g_error_free(why);
	return FALSE;
}

/* ---- its end ---- */

static RsTestEnd end_of(const char *how, gboolean over)
{
	static const struct {
		const char *how;
		RsTestEnd end;
	} ends[] = {
		{"exit", RS_TEST_END_EXIT},
		{"panic", RS_TEST_END_PANIC},
		{"triple-fault", RS_TEST_END_TRIPLE_FAULT},
		{"reset", RS_TEST_END_RESET},
	};

	for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
		if (g_str_equal(how, ends[i].how))
			return ends[i].end;
	}
	if (g_str_equal(how, "killed"))
		return over ? RS_TEST_END_TIMEOUT : RS_TEST_END_STOPPED;
	return RS_TEST_END_FAULT;
}

/* It is the command's own file. One that was killed leaves none. */
static void read_result(RsTestGuest *guest)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	const char *how = "", *text = NULL;
	gboolean over = FALSE;
	g_autofree char *json = NULL;
	JsonNode *root = NULL;
	gsize size = 0;

	json = rs_test_run_read(guest, RS_TEST_RESULT, 0, RESULT_MAX, &size);
	if (json && json_parser_load_from_data(parser, json, (gssize)size, NULL))
		root = json_parser_get_root(parser);
	if (root && JSON_NODE_HOLDS_OBJECT(root)) {
		JsonObject *o = json_node_get_object(root);

		how = json_object_get_string_member_with_default(o, "end", "");
		text = json_object_get_string_member_with_default(o, "text", NULL);
		over = json_object_get_boolean_member_with_default(o, "over", FALSE);
		if (g_str_equal(how, "exit"))
			guest->code = (int)json_object_get_int_member_with_default(o, "code", -1);
	}
	guest->end = end_of(how, over);
	guest->was_stopped = guest->end == RS_TEST_END_TIMEOUT || guest->end == RS_TEST_END_STOPPED;
	guest->end_text = g_strdup_printf("%s%s%s", *how ? how : "its run did not say how",
					  text && *text ? ": " : "", text ? text : "");
	if (guest->end == RS_TEST_END_EXIT && !(text && *text)) {
		g_free(guest->end_text);
		guest->end_text = g_strdup_printf("exit: code %d", guest->code);
	}
}

/* A run that was killed has left its guest, which `ringside stop` finds by the session's name. */
static void end_left_guest(RsTestGuest *guest)
{
	g_autofree char *command = find_command();
	char *argv[] = {command, (char *)"stop", guest->session_name, NULL};

	if (command)
		g_spawn_sync(NULL, argv, NULL,
			     G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
			     NULL, NULL, NULL, NULL);
}

static void take_end(RsTestGuest *guest)
{
	guest->pid = 0;
	guest->has_ended = TRUE;
	g_clear_object(&guest->session);
	if (WIFSIGNALED(guest->status))
		end_left_guest(guest);
	read_result(guest);
}

gboolean rs_test_run_has_ended(RsTestGuest *guest)
{
	pid_t pid;

	if (guest->has_ended || !guest->pid)
		return guest->has_ended;
	do
		pid = waitpid(guest->pid, &guest->status, WNOHANG);
	while (pid < 0 && errno == EINTR);
	/* Somebody else of this process may have reaped it. */
	if (pid < 0)
		guest->status = 0;
	if (pid)
		take_end(guest);
	return guest->has_ended;
}

static gboolean wait_for_end(RsTestGuest *guest, guint ms)
{
	const gint64 deadline = rs_test_deadline(ms);

	while (!rs_test_run_has_ended(guest) && rs_test_pause(guest, deadline))
		;
	return guest->has_ended;
}

void rs_test_run_stop(RsTestGuest *guest)
{
	if (!guest->pid || rs_test_run_has_ended(guest))
		return;
	kill(guest->pid, SIGTERM);
	if (wait_for_end(guest, GRACE_MS))
		return;
	kill(guest->pid, SIGKILL);
	while (!rs_test_run_has_ended(guest))
		g_usleep(PAUSE_US);
}

/* The last line of what the run said, for a terminal; to be freed. */
static char *last_message(RsTestGuest *guest)
{
	gsize size = 0;
	g_autofree char *text = rs_test_run_read(guest, RS_TEST_MESSAGES, 0, MESSAGES_MAX, &size);
	char *line;

	if (!text || !*g_strchomp(text))
		return g_strdup("the run said nothing of why");
	line = strrchr(text, '\n');
	/* How it is used comes after what is wrong. */
	if (line && g_str_has_prefix(line + 1, "usage: ")) {
		*line = 0;
		line = strrchr(text, '\n');
	}
	line = line ? line + 1 : text;
	if (g_str_has_prefix(line, "ringside: "))
		line += strlen("ringside: ");
	return rs_trace_escape(line, -1, NULL);
}

gboolean rs_test_run_check(RsTestGuest *guest, GError **error)
{
	const int code = WIFEXITED(guest->status) ? WEXITSTATUS(guest->status) : -1;
	g_autofree char *said = NULL;

	if (!code || code == CODE_GUEST || code == CODE_GUEST_CODE)
		return TRUE;
	said = last_message(guest);
	g_set_error_literal(error, RS_TEST_ERROR, RS_TEST_ERROR_NOT_RUN, said);
	return FALSE;
}

gboolean rs_test_pause(RsTestGuest *guest, gint64 deadline)
{
	if (g_get_monotonic_time() >= deadline)
		return FALSE;
	/* Signals of the session must not pile up. */
	while (g_main_context_iteration(guest->context, FALSE))
		;
	g_usleep(PAUSE_US);
	return TRUE;
}
