/* SPDX-License-Identifier: MIT */
/* A QEMU that somebody has started for us, and that he ends for us. */
#include "qemu/private.h"

#define CONSOLE "ringside-console" /* the name of the descriptor in QEMU */

static JsonObject *with_text(const char *name, const char *text)
{
	JsonObject *object = json_object_new();

	json_object_set_string_member(object, name, text);
	return object;
}

static JsonObject *with_object(const char *type, JsonObject *data)
{
	JsonObject *object = with_text("type", type);

	json_object_set_object_member(object, "data", data);
	return object;
}

/* The character device stays, and gets another backend: a socket that we have connected. */
static JsonObject *change(const char *id)
{
	JsonObject *arguments = with_text("id", id), *data = json_object_new();

	json_object_set_object_member(data, "addr", with_object("fd", with_text("str", CONSOLE)));
	json_object_set_boolean_member(data, "server", FALSE);
	json_object_set_object_member(arguments, "backend", with_object("socket", data));
	return arguments;
}

/* QEMU may run as another user, who can open no file of ours: so we write it. */
int rs_qemu_take_console(struct rs_qemu *qemu, struct rs_error *err)
{
	int rc;

	if (qemu->owner.serial_fd < 0)
		return 0;
	rc = rs_console_create(qemu->owner.serial_fd, &qemu->console, err);
	if (rc == 0)
		rc = rs_monitor_call_with(qemu->monitor, "getfd", with_text("fdname", CONSOLE),
					  rs_console_guest_end(qemu->console), RS_QEMU_TIMEOUT_MS,
					  NULL, err);
	if (rc == 0)
		rc = rs_monitor_call(qemu->monitor, "chardev-change", change(qemu->owner.serial),
				     RS_QEMU_TIMEOUT_MS, NULL, err);
	return rc < 0 ? rs_error_prefix(err, "the guest's console") : 0;
}

void rs_qemu_end_owned(struct rs_qemu *qemu, const char *why)
{
	qemu->killed_why = g_strdup(why ? why : "stopped");
	qemu->owner.end(qemu->owner.data);
}
