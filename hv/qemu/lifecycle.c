/* SPDX-License-Identifier: MIT */
#include "qemu/private.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "qemu"
#define MEMORY_MAX (1ull << 40)

struct rs_qemu *rs_qemu_new(const char *run_dir, const char *name, GMainContext *context)
{
	struct rs_qemu *qemu = g_new0(struct rs_qemu, 1);

	qemu->process =
		(struct rs_qemu_process){.pid_fd = -1, .ram_fd = -1, .stderr_fd = -1, .log_fd = -1};
	qemu->mark_fd = -1;
	qemu->guard_fd = -1;
	qemu->name = g_strdup(name);
	qemu->qmp_path = g_strdup_printf("%s/%s.qmp", run_dir, name);
	qemu->gdb_path = g_strdup_printf("%s/%s.gdb", run_dir, name);
	qemu->state_path = g_strdup_printf("%s/%s.qemu", run_dir, name);
	qemu->pause_path = g_strdup_printf("%s/%s.pause", run_dir, name);
	qemu->context = context ? g_main_context_ref(context) : g_main_context_ref_thread_default();
	qemu->begun = rs_moment_now();
	return qemu;
}

void rs_qemu_remove_files(struct rs_qemu *qemu)
{
	unlink(qemu->qmp_path);
	unlink(qemu->gdb_path);
	unlink(qemu->state_path);
	unlink(qemu->pause_path);
}

void rs_qemu_free(struct rs_qemu *qemu)
{
	GSource *const sources[] = {qemu->watch,   qemu->killer, qemu->trimmer, qemu->freer,
				    qemu->settler, qemu->asker,  qemu->teller};

	for (guint i = 0; i < G_N_ELEMENTS(sources); i++) {
		if (!sources[i])
			continue;
		g_source_destroy(sources[i]);
		g_source_unref(sources[i]);
	}
	rs_gdb_close(qemu->gdb, false, NULL);
	rs_guestmem_destroy(qemu->guestmem);
	rs_monitor_destroy(qemu->monitor);
	rs_console_free(qemu->console);
	if (qemu->ram)
		munmap(qemu->ram, qemu->memory);
	rs_qemu_process_clear(&qemu->process);
	rs_qemu_guard_end(qemu);
	if (qemu->mark_fd >= 0)
		close(qemu->mark_fd);
	g_main_context_unref(qemu->context);
	g_free(qemu->name);
	g_free(qemu->uuid);
	g_free(qemu->qmp_path);
	g_free(qemu->gdb_path);
	g_free(qemu->state_path);
	g_free(qemu->pause_path);
	g_free(qemu->shutdown);
	g_free(qemu->machine);
	g_free(qemu->via);
	g_free(qemu->news);
	g_free(qemu->killed_why);
	g_free(qemu->region_path);
	g_free(qemu->file);
	g_free(qemu);
}

static int map_ram(struct rs_qemu *qemu, struct rs_error *err)
{
	struct stat st;
	void *ram;

	if (fstat(qemu->process.ram_fd, &st) < 0 || (uint64_t)st.st_size < qemu->memory)
		return rs_error_set(err, EBADMSG, "the guest's memory file is too short");
	ram = mmap(NULL, qemu->memory, PROT_READ, MAP_SHARED, qemu->process.ram_fd, 0);
	if (ram == MAP_FAILED)
		return rs_error_set(err, errno, "cannot map the guest's memory: %s",
				    g_strerror(errno));
	qemu->ram = ram;
	qemu->region_path =
		g_strdup_printf("/proc/%d/fd/%d", (int)qemu->process.pid, RS_QEMU_FD_REGION);
	return 0;
}

static int save(struct rs_qemu *qemu, struct rs_error *err)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	g_key_file_set_integer(file, GROUP, "pid", (int)qemu->process.pid);
	g_key_file_set_string(file, GROUP, "uuid", qemu->uuid);
	g_key_file_set_string(file, GROUP, "kind", qemu->kind);
	g_key_file_set_uint64(file, GROUP, "memory", qemu->memory);
	g_key_file_set_uint64(file, GROUP, "vcpus", qemu->target.vcpus);
	text = g_key_file_to_data(file, NULL, NULL);
	if (!g_file_set_contents_full(qemu->state_path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT,
				      0600, &error))
		return rs_error_set(err, EIO, "%s", error->message);
	return 0;
}

static int check(const struct rs_qemu_config *config, struct rs_error *err)
{
	const char *files[] = {config->kernel, config->initrd};

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] && access(files[i], R_OK) < 0)
			return rs_error_set(err, errno, "cannot read %s: %s", files[i],
					    g_strerror(errno));
	if (!config->kernel)
		return rs_error_set(err, EINVAL, "no kernel");
	if (config->memory < 1u << 20 || config->memory > MEMORY_MAX || config->memory % (1u << 20))
		return rs_error_set(err, EINVAL,
				    "guest memory must be whole MiB, from 1 MiB to 1 TiB");
	if (config->vcpus < 1 || config->vcpus > RS_MAX_CPUS)
		return rs_error_set(err, EINVAL, "1 to %u vCPUs", RS_MAX_CPUS);
	if (config->region_size < RS_PAGE_SIZE || (config->region_size & (config->region_size - 1)))
		return rs_error_set(
			err, EINVAL,
			"in QEMU the region is a PCI BAR: its size must be a power of two");
	if (config->accel == RS_QEMU_KVM && access("/dev/kvm", R_OK | W_OK) < 0)
		return rs_error_set(err, errno, "cannot use /dev/kvm: %s", g_strerror(errno));
	return 0;
}

/* QEMU did not start. Its own message says more than our error, so it replaces ours. */
static int explain(struct rs_qemu *qemu, int rc, struct rs_error *err)
{
	g_autofree char *said = NULL;

	/* Its sockets close before it ends, so wait for its end. */
	rs_qemu_process_wait(&qemu->process, rc == -ETIMEDOUT ? 0 : 2000);
	said = rs_qemu_process_complaint(&qemu->process, 0);
	if (said)
		return rs_error_set(err, ECHILD, "QEMU did not start: %s", said);
	if (qemu->process.reaped)
		return rs_error_set(err, ECHILD, "QEMU ended at once, without a word");
	return rs_error_prefix(err, "QEMU did not start");
}

static int connect_monitor(struct rs_qemu *qemu, int timeout_ms, struct rs_error *err)
{
	const struct rs_monitor_listener listener = {.data = qemu, .event = rs_qemu_on_event};

	return rs_qmp_connect(qemu->qmp_path, qemu->context, timeout_ms, &listener, &qemu->monitor,
			      err);
}

static int spawn_and_connect(struct rs_qemu *qemu, const struct rs_qemu_config *config,
			     struct rs_error *err)
{
	struct rs_qemu_config copy = *config;
	int rc = 0;

	if (config->serial_fd >= 0 && !rs_qemu_process_may_have(config->serial_fd)) {
		rc = rs_console_create(config->serial_fd, &qemu->console, err);
		if (rc == 0)
			copy.serial_fd = rs_console_guest_end(qemu->console);
	}
	if (rc == 0)
		rc = rs_qemu_process_spawn(&copy, qemu->uuid, qemu->qmp_path, qemu->gdb_path,
					   &qemu->process, err);
	if (rc < 0)
		return rc;
	qemu->target.pid = qemu->process.pid;
	/* At once: if we are killed, others find it by this. */
	rc = save(qemu, err);
	if (rc == 0)
		rc = map_ram(qemu, err);
	if (rc < 0)
		return rc;
	rc = connect_monitor(qemu, 2 * RS_QEMU_TIMEOUT_MS, err);
	if (rc < 0)
		return explain(qemu, rc, err);
	rs_monitor_set_process(qemu->monitor, qemu->process.pid);
	qemu->process.stderr_seen = lseek(qemu->process.stderr_fd, 0, SEEK_END);
	return 0;
}

int rs_qemu_create(const struct rs_qemu_config *config, struct rs_target **out,
		   struct rs_error *err)
{
	struct rs_qemu *qemu;
	int rc = check(config, err);

	if (rc < 0)
		return rc;
	qemu = rs_qemu_new(config->run_dir, config->name, config->context);
	qemu->uuid = g_uuid_string_random();
	qemu->memory = config->memory;
	qemu->target.vcpus = config->vcpus;
	rs_qemu_init_ops(qemu, config->accel);
	unlink(qemu->pause_path);

	rc = rs_qemu_reserve_mark(qemu, err);
	if (rc == 0)
		rc = spawn_and_connect(qemu, config, err);
	if (rc == 0)
		rs_qemu_watch(qemu);
	if (rc < 0) {
		if (qemu->process.pid > 0) {
			rs_qemu_process_signal(&qemu->process, SIGKILL);
			rs_qemu_process_wait(&qemu->process, RS_QEMU_TIMEOUT_MS);
		}
		rs_qemu_remove_files(qemu);
		rs_qemu_free(qemu);
		return rc;
	}
	*out = &qemu->target;
	return 0;
}

static int load(struct rs_qemu *qemu, pid_t *pid, struct rs_error *err)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *kind = NULL;

	if (!g_key_file_load_from_file(file, qemu->state_path, G_KEY_FILE_NONE, &error)) {
		if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return rs_error_set(err, ENOENT, "its QEMU has ended");
		return rs_error_set(err, EBADMSG, "%s: %s", qemu->state_path, error->message);
	}
	*pid = g_key_file_get_integer(file, GROUP, "pid", NULL);
	qemu->uuid = g_key_file_get_string(file, GROUP, "uuid", NULL);
	kind = g_key_file_get_string(file, GROUP, "kind", NULL);
	qemu->memory = g_key_file_get_uint64(file, GROUP, "memory", NULL);
	qemu->target.vcpus = (uint32_t)g_key_file_get_uint64(file, GROUP, "vcpus", NULL);
	if (*pid <= 1 || !qemu->uuid || !g_uuid_string_is_valid(qemu->uuid) || qemu->memory == 0 ||
	    qemu->memory > MEMORY_MAX || qemu->target.vcpus < 1 || qemu->target.vcpus > RS_MAX_CPUS)
		return rs_error_set(err, EBADMSG, "%s makes no sense", qemu->state_path);
	rs_qemu_init_ops(qemu, g_strcmp0(kind, "qemu-kvm") == 0 ? RS_QEMU_KVM : RS_QEMU_TCG);
	return 0;
}

static int check_uuid(struct rs_qemu *qemu, struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	JsonNode *node = NULL;
	int rc =
		rs_monitor_call(qemu->monitor, "query-uuid", NULL, RS_QEMU_TIMEOUT_MS, &reply, err);

	if (rc < 0)
		return rc;
	if (JSON_NODE_HOLDS_OBJECT(reply))
		node = json_object_get_member(json_node_get_object(reply), "UUID");
	if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
	    g_strcmp0(json_node_get_string(node), qemu->uuid) != 0)
		return rs_error_set(err, ESRCH, "another VM answers at %s", qemu->qmp_path);
	return 0;
}

static int reconnect(struct rs_qemu *qemu, pid_t pid, struct rs_error *err)
{
	int rc = rs_qemu_process_find(pid, qemu->uuid, &qemu->process, err);

	if (rc < 0)
		return rc;
	qemu->target.pid = pid;
	qemu->process.stderr_seen = lseek(qemu->process.stderr_fd, 0, SEEK_END);
	rc = map_ram(qemu, err);
	if (rc == 0)
		rc = connect_monitor(qemu, RS_QEMU_TIMEOUT_MS, err);
	if (rc == 0)
		rs_monitor_set_process(qemu->monitor, pid);
	if (rc == 0)
		rc = check_uuid(qemu, err);
	if (rc == 0)
		rc = rs_qemu_query_running(qemu, &qemu->running, NULL, err);
	if (rc == 0)
		rs_qemu_watch(qemu);
	if (rc == 0)
		rc = rs_qemu_reserve_mark(qemu, err);
	qemu->left_paused = rc == 0 && !qemu->running && rs_qemu_is_marked(qemu);
	qemu->target.held = rc == 0 && !qemu->running && !qemu->left_paused;
	return rc;
}

int rs_qemu_attach(const char *run_dir, const char *name, GMainContext *context,
		   struct rs_target **out, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_new(run_dir, name, context);
	pid_t pid = 0;
	int rc = load(qemu, &pid, err);

	qemu->attached = true;
	if (rc == 0)
		rc = reconnect(qemu, pid, err);
	if (rc < 0) {
		rs_qemu_free(qemu);
		return rc;
	}
	*out = &qemu->target;
	return 0;
}

const char *rs_qemu_region_path(const struct rs_target *target)
{
	return ((const struct rs_qemu *)target)->region_path;
}

const char *rs_qemu_qmp_path(const struct rs_target *target)
{
	return ((const struct rs_qemu *)target)->qmp_path;
}

const char *rs_qemu_gdb_path(const struct rs_target *target)
{
	return ((const struct rs_qemu *)target)->gdb_path;
}
