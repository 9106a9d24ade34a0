/* SPDX-License-Identifier: MIT */
#include "libvirt/qga.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <stdlib.h>

#define COMMAND_S 15             /* for one answer */
#define CHUNK ((size_t)96 << 10) /* of a file in one command */
#define LOOK_US (50 * 1000)      /* between two looks whether a program has ended */

static gint64 ends_at(int timeout_ms)
{
	return g_get_monotonic_time() + timeout_ms * G_TIME_SPAN_MILLISECOND;
}

static JsonBuilder *begin(const char *command)
{
	JsonBuilder *b = json_builder_new();

	json_builder_begin_object(b);
	json_builder_set_member_name(b, "execute");
	json_builder_add_string_value(b, command);
	json_builder_set_member_name(b, "arguments");
	json_builder_begin_object(b);
	return b;
}

static void add_text(JsonBuilder *b, const char *name, const char *text)
{
	json_builder_set_member_name(b, name);
	json_builder_add_string_value(b, text);
}

static void add_number(JsonBuilder *b, const char *name, gint64 number)
{
	json_builder_set_member_name(b, name);
	json_builder_add_int_value(b, number);
}

/* Frees the builder. *answer is to be freed by free(). */
static int ask(struct rs_domain *domain, JsonBuilder *b, char **answer, struct rs_error *err)
{
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;

	json_builder_end_object(b);
	json_builder_end_object(b);
	root = json_builder_get_root(b);
	text = json_to_string(root, FALSE);
	g_object_unref(b);
	return rs_domain_ask_agent(domain, text, COMMAND_S, answer, err);
}

static int ask_number(struct rs_domain *domain, JsonBuilder *b, const char *member, gint64 *out,
		      struct rs_error *err)
{
	char *answer = NULL;
	int ret = ask(domain, b, &answer, err);

	if (!ret)
		ret = rs_qga_take_number(answer, member, out, err);
	free(answer);
	return ret;
}

int rs_qga_check(struct rs_domain *domain, struct rs_error *err)
{
	static const char *const needed[] = {"guest-exec",       "guest-exec-status",
					     "guest-file-open",  "guest-file-write",
					     "guest-file-close", NULL};
	char *answer = NULL;
	int ret = ask(domain, begin("guest-info"), &answer, err);

	if (!ret)
		ret = rs_qga_check_commands(answer, needed, err);
	free(answer);
	return ret;
}

/* ---- programs ---- */

static int start(struct rs_domain *domain, const char *const *argv, gint64 *pid,
		 struct rs_error *err)
{
	JsonBuilder *b = begin("guest-exec");

	add_text(b, "path", argv[0]);
	json_builder_set_member_name(b, "arg");
	json_builder_begin_array(b);
	for (argv++; *argv; argv++)
		json_builder_add_string_value(b, *argv);
	json_builder_end_array(b);
	json_builder_set_member_name(b, "capture-output");
	json_builder_add_boolean_value(b, TRUE);
	return ask_number(domain, b, "pid", pid, err);
}

static int look(struct rs_domain *domain, gint64 pid, struct rs_qga_run *out, struct rs_error *err)
{
	JsonBuilder *b = begin("guest-exec-status");
	char *answer = NULL;
	int ret;

	add_number(b, "pid", pid);
	ret = ask(domain, b, &answer, err);
	if (!ret)
		ret = rs_qga_take_run(answer, out, err);
	free(answer);
	return ret;
}

int rs_qga_run(struct rs_domain *domain, const char *const *argv, int timeout_ms,
	       struct rs_qga_run *out, struct rs_error *err)
{
	gint64 end = ends_at(timeout_ms), pid;
	struct rs_qga_run run;
	int ret = start(domain, argv, &pid, err);

	while (!ret) {
		ret = look(domain, pid, &run, err);
		if (ret)
			break;
		if (run.exited) {
			*out = run;
			return 0;
		}
		rs_qga_run_clear(&run);
		if (g_get_monotonic_time() > end)
			return rs_error_set(err, ETIMEDOUT,
					    "a program in the guest has not ended after %d s",
					    timeout_ms / 1000);
		g_usleep(LOOK_US);
	}
	return ret;
}

/* ---- files ---- */

static int open_file(struct rs_domain *domain, const char *path, gint64 *handle,
		     struct rs_error *err)
{
	JsonBuilder *b = begin("guest-file-open");

	add_text(b, "path", path);
	add_text(b, "mode", "wb");
	return ask_number(domain, b, NULL, handle, err);
}

static int write_some(struct rs_domain *domain, gint64 handle, const guchar *bytes, size_t size,
		      struct rs_error *err)
{
	g_autofree char *coded = g_base64_encode(bytes, size);
	JsonBuilder *b = begin("guest-file-write");
	gint64 count;
	int ret;

	add_number(b, "handle", handle);
	add_text(b, "buf-b64", coded);
	ret = ask_number(domain, b, "count", &count, err);
	if (!ret && count != (gint64)size)
		ret = rs_error_set(err, EIO, "the guest has no room for a file of ours");
	return ret;
}

static int close_file(struct rs_domain *domain, gint64 handle, struct rs_error *err)
{
	JsonBuilder *b = begin("guest-file-close");
	char *answer = NULL;
	int ret;

	add_number(b, "handle", handle);
	ret = ask(domain, b, &answer, err);
	free(answer);
	return ret;
}

int rs_qga_put(struct rs_domain *domain, const char *path, const void *bytes, size_t size,
	       int timeout_ms, struct rs_error *err)
{
	gint64 end = ends_at(timeout_ms), handle;
	struct rs_error ignored;
	int ret = open_file(domain, path, &handle, err);

	if (ret)
		return ret;
	for (size_t at = 0; !ret && at < size; at += CHUNK) {
		ret = write_some(domain, handle, (const guchar *)bytes + at, MIN(CHUNK, size - at),
				 err);
		if (!ret && g_get_monotonic_time() > end)
			ret = rs_error_set(err, ETIMEDOUT,
					   "the guest agent is too slow: a file "
					   "was not written in %d s",
					   timeout_ms / 1000);
	}
	if (ret)
		close_file(domain, handle, &ignored);
	else
		ret = close_file(domain, handle, err);
	return ret;
}
