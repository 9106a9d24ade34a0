/* SPDX-License-Identifier: MIT */
#include "machine/reach.h"

#include "machine/domain.h"
#include "machine/process.h"
#include "qemu/adopt.h"
#include "qemu/qmp.h"
#include "target/passive.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM "shm:"
#define QMP "qmp:"
#define QMP_MS 5000

char *rs_machine_reach_name(const char *via)
{
	static const char *const endings[] = {".sock", ".socket", ".qmp"};
	const char *colon = strchr(via, ':');
	char *name;

	if (g_str_has_prefix(via, RS_VIA_DOMAIN))
		return rs_machine_domain_name(via);
	if (rs_machine_is_process(via))
		return rs_machine_process_name(via);
	name = g_path_get_basename(colon ? colon + 1 : via);
	for (size_t i = 0; i < G_N_ELEMENTS(endings); i++) {
		size_t length = strlen(name), end = strlen(endings[i]);

		if (g_str_has_suffix(name, endings[i]) && length > end)
			name[length - end] = 0;
	}
	return name;
}

static int reach_memory(const struct rs_machine_reach *wish, struct rs_machine *out,
			GPtrArray *lines, struct rs_error *err)
{
	struct rs_machine_memory_wish memory = wish->memory;
	struct rs_machine machine = {0};
	int fd = -1, ret;

	memory.path = wish->via + strlen(SHM);
	ret = rs_machine_open_memory(memory.path, RS_MACHINE_WORD_OURS, &fd, err);
	if (ret)
		return ret;
	ret = rs_machine_take_memory(fd, &memory, &machine.regions, &machine.region, lines, err);
	if (ret) {
		close(fd);
		return ret;
	}
	machine.target = rs_passive_create("memory", "a memory alone",
					   machine.region->header.ring_count, NULL);
	machine.self_patch = true;
	*out = machine;
	return 0;
}

bool rs_machine_reach_same(const char *via, const char *other)
{
	return g_strcmp0(via, other) == 0 || rs_machine_same_domain(via, other);
}

/* ---- a QEMU ---- */

/* QEMU makes such a file readable for everybody, and what the guest does stands there. */
static void keep_private(int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && st.st_mode & (S_IRWXG | S_IRWXO))
		fchmod(fd, st.st_mode & S_IRWXU);
}

/* `path`: where the memory has to lie; NULL: where QEMU says. */
static int open_device(const struct rs_qemu_adopted *found, const char *path, int *out,
		       struct rs_error *err)
{
	enum rs_machine_word word = found->is_open ? RS_MACHINE_WORD_OURS : RS_MACHINE_WORD_GUEST;
	int fd = -1, ret = rs_machine_open_memory(found->region, word, &fd, err);

	if (ret)
		return ret;
	if (found->is_open)
		ret = rs_machine_check_memory(fd, found->user, path, err);
	if (ret) {
		close(fd);
		return ret;
	}
	keep_private(fd);
	*out = fd;
	return 0;
}

/* After the target, whose errors leave all as it was. */
static int take_device(const struct rs_machine_reach *wish, const struct rs_qemu_adopted *found,
		       const char *path, struct rs_machine *machine, GPtrArray *lines,
		       struct rs_error *err)
{
	struct rs_machine_memory_wish memory = wish->memory;
	const struct rs_control *control;
	bool can_patch = false;
	int fd = -1, ret = open_device(found, path, &fd, err);

	if (ret)
		return ret;
	memory.path = found->file;
	memory.size = found->size;
	if (!memory.cpus)
		memory.cpus = machine->target->vcpus;
	ret = rs_machine_take_memory(fd, &memory, &machine->regions, &machine->region, lines, err);
	if (ret) {
		close(fd);
		return ret;
	}
	ret = rs_qemu_take_over(machine->target, &can_patch, lines, err);
	machine->self_patch = !can_patch;
	machine->label = found->name;
	machine->via = found->via;
	control = rs_trace_region_section(machine->region, RS_SEC_CONTROL, NULL);
	if (!ret && can_patch && rs_load(&control->flags) & RS_CONTROL_SELF_PATCH)
		g_ptr_array_add(lines, g_strdup("the guest's kernel patches itself, as an earlier "
						"session has asked it to: --new-layout ends that"));
	return ret;
}

int rs_machine_reach_qemu(struct rs_monitor *monitor, const GArray *pids,
			  const struct rs_machine_device *device, const struct rs_qemu_owner *owner,
			  const struct rs_machine_reach *wish, struct rs_machine *out,
			  GPtrArray *lines, struct rs_error *err)
{
	const struct rs_qemu_adopt_config config = {
		.monitor = monitor,
		.pids = (const pid_t *)(const void *)pids->data,
		.pid_count = pids->len,
		.device = device->alias,
		.memory = device->memory,
		.no_stub = wish->memory.self_patch,
		.owner = owner,
		.via = wish->via,
		.run_dir = wish->run_dir,
		.name = wish->name,
	};
	struct rs_machine machine = {0};
	struct rs_qemu_adopted found;
	int ret = rs_qemu_adopt(&config, &machine.target, &found, lines, err);

	if (ret) {
		rs_monitor_destroy(monitor);
		return ret;
	}
	ret = take_device(wish, &found, device->memory, &machine, lines, err);
	if (ret)
		rs_machine_clear(&machine);
	else
		*out = machine;
	return ret;
}

static int reach_qmp(const struct rs_machine_reach *wish, struct rs_machine *out, GPtrArray *lines,
		     struct rs_error *err)
{
	g_autoptr(GMainContext) context = g_main_context_ref_thread_default();
	const char *path = wish->via + strlen(QMP);
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
	struct rs_monitor *monitor = NULL;
	pid_t pid;
	int ret = rs_qmp_connect(path, context, QMP_MS, NULL, &monitor, err);

	/* One client at a time is served. */
	if (ret == -ETIMEDOUT)
		return rs_error_set(err, ETIMEDOUT,
				    "%s does not answer: QEMU may hang, or another program is "
				    "connected there",
				    path);
	if (ret)
		return ret;
	pid = rs_qmp_peer(monitor);
	if (pid > 0)
		g_array_append_val(pids, pid);
	return rs_machine_reach_qemu(monitor, pids, &(struct rs_machine_device){0}, NULL, wish, out,
				     lines, err);
}

static int reach_domain(const struct rs_machine_reach *wish, struct rs_machine *out,
			GPtrArray *lines, struct rs_error *err)
{
	g_autoptr(GMainContext) context = g_main_context_ref_thread_default();
	struct rs_machine_device device = {0};
	struct rs_monitor *monitor = NULL;
	g_autoptr(GArray) pids = NULL;
	int ret = rs_machine_open_domain(wish->via, context, &monitor, &pids, &device, err);

	if (!ret)
		ret = rs_machine_reach_qemu(monitor, pids, &device, NULL, wish, out, lines, err);
	g_free(device.alias);
	g_free(device.memory);
	return ret;
}

static int reach_process(const struct rs_machine_reach *wish, struct rs_machine *out,
			 GPtrArray *lines, struct rs_error *err)
{
	return rs_machine_reach_process(wish, out, err);
}

/* ---- any of them ---- */

int rs_machine_reach(const struct rs_machine_reach *wish, struct rs_machine *out, GPtrArray *lines,
		     struct rs_error *err)
{
	static const struct {
		const char *kind;
		int (*reach)(const struct rs_machine_reach *wish, struct rs_machine *out,
			     GPtrArray *lines, struct rs_error *err);
	} kinds[] = {{SHM, reach_memory},
		     {QMP, reach_qmp},
		     {RS_VIA_DOMAIN, reach_domain},
		     {RS_VIA_PROCESS, reach_process}};

	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (g_str_has_prefix(wish->via, kinds[i].kind))
			return kinds[i].reach(wish, out, lines, err);
	}
	return rs_error_set(err, EINVAL, "no way is known to '%s'", wish->via);
}

bool rs_machine_reach_memory(const char *via)
{
	return g_str_has_prefix(via, SHM) && !access(via + strlen(SHM), F_OK);
}

bool rs_machine_reach_owed(const char *run_dir, const char *name)
{
	static const char *const files[] = {"qemu", "journal"};

	if (rs_qemu_left_ended(run_dir, name))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_strdup_printf("%s/%s.%s", run_dir, name, files[i]);

		if (g_file_test(path, G_FILE_TEST_EXISTS))
			return true;
	}
	return false;
}
