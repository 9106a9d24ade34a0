/* SPDX-License-Identifier: MIT */
/* The guest's memory as a core: QEMU writes it, or its owner, or we, where we have the memory. */
#include "qemu/private.h"

#include "target/core.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define CORE "ringside-core" /* the name of the descriptor in QEMU */
#define DUMP_MS 120000

static int dump_by_qemu(struct rs_qemu *qemu, int fd, struct rs_error *err)
{
	JsonObject *name = json_object_new(), *dump = json_object_new();
	int rc;

	json_object_set_string_member(name, "fdname", CORE);
	json_object_set_boolean_member(dump, "paging", FALSE);
	json_object_set_string_member(dump, "protocol", "fd:" CORE);
	rc = rs_monitor_call_with(qemu->monitor, "getfd", name, fd, RS_QEMU_TIMEOUT_MS, NULL, err);
	if (rc == 0)
		rc = rs_monitor_call(qemu->monitor, "dump-guest-memory", json_object_ref(dump),
				     DUMP_MS, NULL, err);
	json_object_unref(dump);
	return rc < 0 ? rc : rs_core_tidy(fd, err);
}

/* Machine `pc`, as text.c knows it. The registers have gone with QEMU. */
static int dump_ram(struct rs_qemu *qemu, int fd, struct rs_error *err)
{
	const uint64_t low = rs_qemu_low_ram(qemu);
	const struct rs_core_memory memory[] = {
		{0, qemu->ram, low},
		{1ull << 32, qemu->ram + low, qemu->memory - low},
	};
	const struct rs_core core = {.memory = memory, .n_memory = qemu->memory > low ? 2 : 1};

	return rs_core_write(fd, &core, err);
}

/* Of one of ours. */
static int dump(struct rs_qemu *qemu, int fd, struct rs_error *err)
{
	if (!qemu->ended && dump_by_qemu(qemu, fd, err) == 0)
		return 0;
	return dump_ram(qemu, fd, err);
}

/* Somebody else has made the file. If we may not write it, it is right all the same. */
static int tidy(const char *path, struct rs_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), rc = 0;

	if (fd >= 0)
		rc = rs_core_tidy(fd, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

int rs_qemu_dump(struct rs_target *target, const char *path, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	int fd = -1, rc;

	if (qemu->owned && qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended, and the guest's memory with it");
	if (qemu->owned) {
		unlink(path);
		rc = qemu->owner.dump(qemu->owner.data, path, err);
		return rc < 0 ? rc : tidy(path, err);
	}
	rc = rs_core_create(path, &fd, err);
	if (rc == 0)
		rc = dump(qemu, fd, err);
	if (fd >= 0)
		close(fd);
	return rc;
}
