/* SPDX-License-Identifier: MIT */
#include "qemu/adopt.h"

#include "qemu/facts.h"
#include "qemu/guestmem.h"
#include "qemu/private.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "qemu"

/* ---- whose process it is ---- */

/* A QEMU says the ids of its vCPUs' threads. Its process has such a thread. */
static bool is_process(pid_t pid, pid_t thread)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d", (int)pid, (int)thread);

	return pid > 1 && thread > 0 && g_file_test(path, G_FILE_TEST_EXISTS);
}

static bool runs_stub(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid);
	g_autofree char *text = NULL;
	gsize size = 0;

	if (pid <= 0 || !g_file_get_contents(path, &text, &size, NULL))
		return false;
	for (gsize at = 0; at < size; at += strlen(text + at) + 1) {
		if (strcmp(text + at, "-gdb") == 0 || strcmp(text + at, "--gdb") == 0)
			return true;
	}
	return false;
}

/* Whether QEMU may write through that descriptor. Who opens it by /proc could in any case. */
static bool is_writable(pid_t pid, const char *number)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fdinfo/%s", (int)pid, number);
	g_autofree char *text = NULL;
	const char *flags;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return false;
	flags = strstr(text, "flags:");
	return flags && (g_ascii_strtoull(flags + strlen("flags:"), NULL, 8) & O_ACCMODE) == O_RDWR;
}

static bool find_user(pid_t pid, uid_t *out)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
	g_autofree char *text = NULL;
	const char *line;
	unsigned int uid;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return false;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line, "\nUid: %*u %u", &uid) != 1)
		return false;
	*out = uid;
	return true;
}

/* Whether it belongs to the process's user. Root has all files. */
static bool is_own(pid_t pid, const char *link)
{
	struct stat st;
	uid_t uid;

	return find_user(pid, &uid) && (!uid || (!stat(link, &st) && st.st_uid == uid));
}

/* Whether that descriptor is one of the file at `path`, or that it had when it was opened. */
static bool is_file(const char *link, const char *target, const char *path)
{
	g_autofree char *gone = g_strdup_printf("%s (deleted)", path);
	struct stat one, other;

	if (g_strcmp0(target, path) == 0 || g_strcmp0(target, gone) == 0)
		return true;
	/* The path may lead over links. */
	return !stat(link, &one) && !stat(path, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/*
 * The device's memory as QEMU has it open: another file may have taken its path. NULL: it has none.
 * *known: what it has open can be seen.
 */
static char *find_open_file(pid_t pid, const char *path, bool *known)
{
	static const char own[] = "/proc/self/fd/"; /* a path that means a descriptor of QEMU's */
	const char *number = g_str_has_prefix(path, own) ? path + strlen(own) : NULL;
	g_autofree char *folder = g_strdup_printf("/proc/%d/fd", (int)pid);
	GDir *dir = pid > 0 ? g_dir_open(folder, 0, NULL) : NULL;
	char *found = NULL;
	const char *name;

	*known = false;
	while (dir && !found && (name = g_dir_read_name(dir))) {
		g_autofree char *link = g_build_filename(folder, name, NULL);
		g_autofree char *target = g_file_read_link(link, NULL);

		*known |= target != NULL;
		if ((number ? strcmp(name, number) == 0 : is_file(link, target, path)) &&
		    is_writable(pid, name) && is_own(pid, link))
			found = g_steal_pointer(&link);
	}
	if (dir)
		g_dir_close(dir);
	return found;
}

static int find_region(struct rs_qemu *qemu, const char *expected, struct rs_error *err)
{
	bool known;

	if (expected && strcmp(qemu->file, expected))
		return rs_error_set(err, ENOTSUP,
				    "QEMU says that the device's memory is %s, and its owner %s",
				    qemu->file, expected);
	qemu->region_path = find_open_file(qemu->process.pid, qemu->file, &known);
	qemu->region_open = qemu->region_path != NULL;
	if (qemu->region_open && !find_user(qemu->process.pid, &qemu->user))
		return rs_error_set(err, ESRCH, "QEMU has ended");
	if (qemu->region_path)
		return 0;
	if (known)
		return rs_error_set(err, ENOTSUP,
				    "QEMU says that the device's memory is %s, and does not have "
				    "a file of its own there open for writing",
				    qemu->file);
	qemu->region_path = g_strdup(qemu->file);
	return 0;
}

/* ---- the file for a later session ---- */

static int save(struct rs_qemu *qemu, const char *via, struct rs_error *err)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	g_key_file_set_string(file, GROUP, "via", via);
	g_key_file_set_integer(file, GROUP, "pid", (int)qemu->process.pid);
	g_key_file_set_uint64(file, GROUP, "start", rs_process_start_time(qemu->process.pid));
	text = g_key_file_to_data(file, NULL, NULL);
	if (!g_file_set_contents_full(qemu->state_path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT,
				      0600, &error))
		return rs_error_set(err, EIO, "%s", error->message);
	return 0;
}

/*
 * Whether an earlier session has left its files, and they are about this process. Of one that is
 * not known nobody can tell.
 */
static bool is_left(const struct rs_qemu *qemu)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	pid_t pid = qemu->process.pid;

	return pid > 0 &&
	       g_key_file_load_from_file(file, qemu->state_path, G_KEY_FILE_NONE, NULL) &&
	       g_key_file_get_integer(file, GROUP, "pid", NULL) == (int)pid &&
	       g_key_file_get_uint64(file, GROUP, "start", NULL) == rs_process_start_time(pid);
}

bool rs_qemu_left_ended(const char *run_dir, const char *name)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *path = g_strdup_printf("%s/%s.qemu", run_dir, name);
	pid_t pid;

	if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
		return false;
	pid = g_key_file_get_integer(file, GROUP, "pid", NULL);
	return pid > 0 &&
	       (!rs_process_living_task(pid) ||
		rs_process_start_time(pid) != g_key_file_get_uint64(file, GROUP, "start", NULL));
}

void rs_qemu_forget_left(const char *run_dir, const char *name)
{
	struct rs_qemu *qemu = rs_qemu_new(run_dir, name, NULL);

	rs_qemu_remove_files(qemu);
	rs_qemu_free(qemu);
}

/* ---- adopting it ---- */

static void G_GNUC_PRINTF(2, 3) say(GPtrArray *lines, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_ptr_array_add(lines, g_strdup_vprintf(format, ap));
	va_end(ap);
}

static void say_facts(const struct rs_qemu *qemu, const struct rs_qemu_facts *facts,
		      GPtrArray *lines)
{
	if (!facts->assigned)
		say(lines,
		    "the guest has given device %s no address so far. If it has booted, the "
		    "device may be too large for the port that it is at: 2 MiB fit everywhere",
		    facts->device);
	if (!rs_guestmem_is_direct(qemu->guestmem))
		say(lines, "QEMU's memory cannot be read from here: the guest's is read by its "
			   "monitor, which takes longer");
}

/* The stub is off when this returns 0 and qemu->stub is not set: it is somebody else's. */
static int take_stub(struct rs_qemu *qemu, GPtrArray *lines, struct rs_error *err)
{
	bool ours, other;
	int rc = rs_qemu_facts_stub(qemu->monitor, &ours, &other, err);

	/* Whoever has the device's memory is the only session, so this one is of a dead one. */
	if (rc == 0 && ours)
		rc = rs_qemu_stub_off(qemu->monitor, err);
	if (rc < 0 || qemu->no_stub)
		return rc;
	if (other || (!ours && runs_stub(qemu->process.pid))) {
		say(lines, "somebody else has QEMU's gdb stub: the guest is asked to patch itself");
		return 0;
	}
	rc = rs_qemu_stub_on(qemu, err);
	qemu->stub = rc == 0;
	return rc;
}

/* None of them may be it. */
static int find_process(struct rs_qemu *qemu, const struct rs_qemu_adopt_config *config,
			const struct rs_qemu_facts *facts, struct rs_error *err)
{
	for (size_t i = 0; i < config->pid_count; i++)
		if (is_process(config->pids[i], facts->thread))
			return rs_qemu_process_watch(config->pids[i], &qemu->process, err);
	return 0;
}

/* Notes what is done before it is done. */
int rs_qemu_take_over(struct rs_target *target, bool *can_patch, GPtrArray *lines,
		      struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	bool moved = false;
	int rc;

	qemu->left = is_left(qemu);
	rc = rs_qemu_reserve_mark(qemu, err);
	if (rc == 0 && !qemu->left)
		rs_qemu_mark_pause(qemu, false);
	if (rc == 0)
		rc = save(qemu, qemu->via, err);
	if (rc == 0)
		rc = take_stub(qemu, lines, err);
	/* One of ours does not go on without us. */
	if (rc == 0 && qemu->stub && !qemu->owned)
		rc = rs_qemu_guard_begin(qemu, err);
	if (rc == 0 && qemu->owned)
		rc = rs_qemu_take_console(qemu, err);
	if (rc == 0)
		rc = rs_qemu_query_running(qemu, &qemu->running, &moved, err);
	qemu->left_paused = rc == 0 && !qemu->running && !moved &&
			    (qemu->owned || (qemu->left && rs_qemu_is_marked(qemu)));
	qemu->target.held = rc == 0 && !qemu->running && !qemu->left_paused;
	*can_patch = qemu->stub;
	return rc;
}

static int adopt(struct rs_qemu *qemu, const struct rs_qemu_adopt_config *config,
		 const struct rs_qemu_facts *facts, GPtrArray *lines, struct rs_error *err)
{
	int rc = find_process(qemu, config, facts, err);

	if (rc < 0)
		return rc;
	qemu->target.pid = qemu->process.pid;
	qemu->target.vcpus = facts->vcpus;
	qemu->no_stub = config->no_stub;
	qemu->machine = g_strdup(facts->name);
	qemu->via = g_strdup(config->via);
	qemu->file = g_strdup(facts->memory);
	rc = find_region(qemu, config->memory, err);
	if (rc < 0)
		return rc;
	qemu->monitor = config->monitor;
	rs_monitor_set_process(qemu->monitor, qemu->process.pid);
	qemu->guestmem =
		rs_guestmem_create(qemu->monitor, qemu->process.pid, &qemu->target.slow_reads);
	rs_qemu_init_ops(qemu, facts->accel);
	rs_qemu_watch(qemu);
	/* A guest that has not begun yet has given nothing an address. */
	if (!qemu->owned)
		say_facts(qemu, facts, lines);
	return 0;
}

int rs_qemu_adopt(const struct rs_qemu_adopt_config *config, struct rs_target **out,
		  struct rs_qemu_adopted *found, GPtrArray *lines, struct rs_error *err)
{
	struct rs_qemu_facts facts;
	struct rs_qemu *qemu;
	int rc = rs_qemu_facts_find(config->monitor, config->device, &facts, err);

	if (rc < 0)
		return rc;
	qemu = rs_qemu_new(config->run_dir, config->name, config->context);
	qemu->attached = qemu->borrowed = true;
	qemu->owned = config->owner != NULL;
	rc = adopt(qemu, config, &facts, lines, err);
	if (rc < 0) {
		rs_monitor_listen(config->monitor, NULL);
		qemu->monitor = NULL;
		rs_qemu_free(qemu);
	} else {
		if (qemu->owned)
			qemu->owner = *config->owner;
		*found = (struct rs_qemu_adopted){
			.name = qemu->machine,
			.via = qemu->via,
			.region = qemu->region_path,
			.is_open = qemu->region_open,
			.user = qemu->user,
			.file = qemu->file,
			.size = facts.size,
		};
		*out = &qemu->target;
	}
	rs_qemu_facts_clear(&facts);
	return rc;
}

void rs_qemu_let_be(struct rs_qemu *qemu)
{
	struct rs_error err = {0};
	/* What a dead session has left and we could not take over stays for the next one. */
	bool done = qemu->ended || qemu->stub || !qemu->left;

	/* The next one has to know that it was not its user who stopped it. */
	done &= qemu->ended || qemu->started || !qemu->left_paused;

	if (!qemu->ended && qemu->stub && rs_qemu_stub_off(qemu->monitor, &err)) {
		g_warning("QEMU's gdb stub is still on: %s", err.message);
		done = false;
	}
	qemu->stub = false;
	/* The guard needs it to let the VM go. */
	if (done || !rs_qemu_is_marked(qemu))
		unlink(qemu->gdb_path);
	if (done)
		rs_qemu_remove_files(qemu);
}
