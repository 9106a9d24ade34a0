/* SPDX-License-Identifier: MIT */
/* Switches the gdb stub of a QEMU that is not ours on and off. */
#include "qemu/facts.h"
#include "qemu/private.h"

#include "base/socket.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static JsonObject *with_text(const char *name, const char *text)
{
	JsonObject *object = json_object_new();

	json_object_set_string_member(object, name, text);
	return object;
}

/* QEMU listens on a descriptor of ours, or else makes the socket at the path. */
static JsonObject *address(const struct rs_qemu *qemu, bool passed)
{
	JsonObject *object = with_text("type", passed ? "fd" : "unix");

	json_object_set_object_member(object, "data",
				      passed ? with_text("str", RS_QEMU_STUB)
					     : with_text("path", qemu->gdb_path));
	return object;
}

static JsonObject *chardev(const struct rs_qemu *qemu, bool passed)
{
	JsonObject *arguments = with_text("id", RS_QEMU_STUB);
	JsonObject *backend = with_text("type", "socket"), *data = json_object_new();

	json_object_set_object_member(data, "addr", address(qemu, passed));
	json_object_set_boolean_member(data, "server", TRUE);
	json_object_set_boolean_member(data, "wait", FALSE);
	json_object_set_object_member(backend, "data", data);
	json_object_set_object_member(arguments, "backend", backend);
	return arguments;
}

/* Hands our listening socket over. -ENOTSUP: this monitor carries no descriptors. */
static int pass_socket(struct rs_qemu *qemu, struct rs_error *err)
{
	int fd = rs_socket_listen(qemu->gdb_path, 1, true, err), rc;

	if (fd < 0)
		return fd;
	rc = rs_monitor_call_with(qemu->monitor, "getfd", with_text("fdname", RS_QEMU_STUB), fd,
				  RS_QEMU_TIMEOUT_MS, NULL, err);
	close(fd);
	return rc;
}

int rs_qemu_stub_on(struct rs_qemu *qemu, struct rs_error *err)
{
	g_autofree char *said = NULL;
	int passed = pass_socket(qemu, err), rc = passed;

	if (passed == -ENOTSUP)
		unlink(qemu->gdb_path);
	if (passed == 0 || passed == -ENOTSUP)
		rc = rs_monitor_call(qemu->monitor, "chardev-add", chardev(qemu, passed == 0),
				     RS_QEMU_TIMEOUT_MS, NULL, err);
	if (rc < 0)
		return rc;
	rc = rs_qemu_human(qemu->monitor, "gdbserver chardev:" RS_QEMU_STUB, RS_QEMU_TIMEOUT_MS,
			   &said, err);
	if (rc == 0 && strstr(said, "Could not open"))
		rc = rs_error_set(err, EREMOTEIO, "QEMU cannot open its gdb stub");
	if (rc < 0)
		rs_monitor_call(qemu->monitor, "chardev-remove", with_text("id", RS_QEMU_STUB),
				RS_QEMU_TIMEOUT_MS, NULL, NULL);
	return rc;
}

int rs_qemu_stub_off(struct rs_monitor *monitor, struct rs_error *err)
{
	g_autofree char *said = NULL;
	int rc = rs_qemu_human(monitor, "gdbserver none", RS_QEMU_PATIENCE_MS, &said, err);

	/* That has removed the character device, too, unless its session died before using it. */
	if (rc == 0)
		rs_monitor_call(monitor, "chardev-remove", with_text("id", RS_QEMU_STUB),
				RS_QEMU_TIMEOUT_MS, NULL, NULL);
	return rc;
}
