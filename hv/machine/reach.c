/* SPDX-License-Identifier: MIT */
#include "machine/reach.h"

#include "target/passive.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SHM "shm:"

char *rs_machine_reach_name(const char *via)
{
	const char *colon = strchr(via, ':');

	return g_path_get_basename(colon ? colon + 1 : via);
}

static int reach_memory(const struct rs_machine_reach *wish, struct rs_machine *out,
			GPtrArray *lines, struct rs_error *err)
{
	struct rs_machine_memory_wish memory = wish->memory;
	struct rs_machine machine = {0};
	int fd = -1, ret;

	memory.path = wish->via + strlen(SHM);
	ret = rs_machine_open_memory(memory.path, &fd, err);
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

int rs_machine_reach(const struct rs_machine_reach *wish, struct rs_machine *out, GPtrArray *lines,
		     struct rs_error *err)
{
	if (g_str_has_prefix(wish->via, SHM))
		return reach_memory(wish, out, lines, err);
	return rs_error_set(err, EINVAL, "no way is known to '%s'", wish->via);
}

bool rs_machine_reach_owed(const char *run_dir, const char *name)
{
	g_autofree char *path = g_strdup_printf("%s/%s.qemu", run_dir, name);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}
